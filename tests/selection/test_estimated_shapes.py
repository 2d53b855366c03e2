"""Exponents and thresholds among the candidates of a search."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.families import shape_search
from ardchoice.selection import compile_structure


def drawn(utility, n=3000, seed=1):
    """Two labelled alternatives with time and cost; utility of time is given, of cost -1 each."""
    rng = np.random.default_rng(seed)
    time, cost = rng.uniform(0.2, 10, size=(2, 2, n))
    sex = rng.choice(["f", "m"], n)
    v = utility(time, sex == "m") - cost + np.array([[0.5], [0.0]]) + rng.gumbel(size=time.shape)
    table = pd.DataFrame({"sex": sex, "choice": np.where(v[0] > v[1], "a", "b")})
    for j, name in enumerate("ab"):
        table[f"time_{name}"], table[f"cost_{name}"] = time[j], cost[j]
    return ac.read_wide(
        table,
        alternatives=["a", "b"],
        choice="choice",
        attributes={"time": "time_{alt}", "cost": "cost_{alt}"},
        covariates=["sex"],
    )


FORMS = {"time": ["linear", "log", "boxcox", "thresholds"]}


def broken(time, man):
    return -1.5 * np.minimum(time, 4.0) - 0.1 * np.maximum(time - 4.0, 0.0)


@pytest.fixture(scope="module")
def threshold_study():
    data = drawn(broken)
    space = ac.SearchSpace(data, FORMS, by=["sex"], generic=True, specific=False)
    return ac.specify(data, space, structure=ac.Structure(signs={"time": "-", "cost": "-"}))


def test_the_search_finds_a_threshold_where_there_is_one(threshold_study):
    text = threshold_study.specification.to_text()
    assert "thresholds(time, 1)" in text
    assert "x sex" not in text
    result = threshold_study.result
    assert abs(result.shapes.values[0] - 4.0) < 0.3
    assert result.n_parameters == len(result.names) + 1


def test_a_candidate_has_the_exponent_of_a_plain_model_around_it(threshold_study):
    """Constants, cost as it is, time in that form: estimated by hand."""
    for form in ("boxcox(time)", "thresholds(time, 1)"):
        by_hand = ac.fit_mnl(threshold_study.data, f"a: ASC\n*: cost + {form}")
        encoded = {str(t.term): t for t in threshold_study.fit.encoding.terms}
        plain, interacted = encoded[f"*: {form}"], encoded[f"*: {form} x sex"]
        assert plain.parameters == interacted.parameters
        assert plain.parameters[0] == pytest.approx(by_hand.shapes.values[0], abs=1e-3)


def test_exponents_and_thresholds_are_paid_for_once(threshold_study):
    space = threshold_study.space
    counted = compile_structure(ac.Structure(), space).columns
    columns = {str(t): int(k) for t, k in zip(space.terms, space.columns, strict=True)}
    paid = {str(t): int(k) for t, k in zip(space.terms, counted, strict=True)}
    assert paid["*: boxcox(time)"] == columns["*: boxcox(time)"] + 1 == 2
    assert paid["*: thresholds(time, 1)"] == 3
    assert paid["*: boxcox(time) x sex"] == columns["*: boxcox(time) x sex"] == 1
    assert paid["*: log(time)"] == 1


def test_the_criterion_counts_the_threshold(threshold_study):
    """BIC of the search is that of the estimated model with one parameter more than columns."""
    data = threshold_study.data
    fit = ac.fit_ard(data, threshold_study.space)
    spec = ac.select(fit, ac.Bic(), structure=threshold_study.structure)
    result = ac.fit_mnl(data, spec)
    assert spec.criterion == pytest.approx(result.bic, abs=0.05)


def test_signs_hold_on_both_sides_of_a_threshold():
    """Without the rule, utility would rise beyond the threshold."""
    data = drawn(lambda t, _: -1.5 * np.minimum(t, 4.0) + 0.3 * np.maximum(t - 4.0, 0.0))
    space = ac.SearchSpace(data, FORMS, generic=True, specific=False)
    free = ac.specify(data, space)
    assert "thresholds(time, 1)" in free.specification.to_text()
    assert free.result.coefficients[-1] > 0 or (free.result.coefficients > 0.1).any()
    bound = ac.specify(data, space, structure=ac.Structure(signs={"time": "-"}))
    assert "thresholds" not in bound.specification.to_text()
    assert bound.result.elasticities("time")["estimate"].iloc[0] < 0


def test_the_simpler_form_stays_where_it_is_true():
    found = []
    for seed in range(5):
        data = drawn(lambda t, _: -0.8 * t, n=1500, seed=seed)
        space = ac.SearchSpace(data, FORMS, generic=True, specific=False)
        found.append(ac.specify(data, space).specification.to_text())
    assert sum("boxcox" in text or "thresholds" in text for text in found) == 0


def test_an_interaction_needs_the_form_whose_threshold_it_shares():
    data = drawn(lambda t, man: broken(t, man) * np.where(man, 1.6, 0.6), n=4000)
    space = ac.SearchSpace(data, {"time": ["thresholds"]}, by=["sex"], generic=True, specific=False)
    study = ac.specify(data, space)
    terms = [str(t) for t in study.specification.terms]
    assert "*: thresholds(time, 1) x sex" in terms and "*: thresholds(time, 1)" in terms
    assert len(study.result.shapes.names) == 1
    assert abs(study.result.shapes.values[0] - 4.0) < 0.4


def test_held_out_persons_have_no_part_in_the_threshold():
    data = drawn(broken, n=900)
    spec = "a: ASC\n*: cost + thresholds(time)"
    score = ac.held_out(data, spec, folds=3, seed=1)
    by_hand = 0.0
    for train, test in data.folds(3, seed=1):
        by_hand += ac.fit_mnl(train, spec).score(test).loglik
    assert score.loglik == pytest.approx(by_hand, abs=1e-3)


@pytest.mark.parametrize("form", ["boxcox(time)", "thresholds(time)", "steps(time, 2)"])
def test_large_data_begin_with_some_of_their_rows_and_end_on_all(monkeypatch, form):
    data = drawn(broken, n=4000)
    whole = ac.fit_mnl(data, f"a: ASC\n*: cost + {form}")
    monkeypatch.setattr(shape_search, "MOST_ROWS", 500)
    some = ac.fit_mnl(data, f"a: ASC\n*: cost + {form}")
    assert some.loglik == pytest.approx(whole.loglik, abs=1e-5)
    assert some.shapes.values[0] == pytest.approx(whole.shapes.values[0], abs=1e-3)
