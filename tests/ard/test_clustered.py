"""Clustered score tests and design effects, against persons one by one and against estimates."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ardchoice as ac
from ardchoice.ard.clustered import (
    _given_parents,
    _Tester,
    _without_rivals,
    clustered_meat,
    term_prices,
)
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.quadratic import expand
from ardchoice.ard.result import _parents, _rivals
from ardchoice.design import Design
from ardchoice.design import design as design_module
from ardchoice.families import evaluate_with_scores

EXACT = 1e-5
"""Relative: the columns are not centred, so that constants are close to collinear with them."""
TEXT = "TRAIN: ASC + TT + CO + TT x GA + CO x AGE\nSM: ASC + TT + CO\nCAR: TT + TT x AGE"


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    every = ac.datasets.swissmetro_choices("real").take(np.arange(2700))
    return every.take(np.random.default_rng(1).permutation(len(every)))


@pytest.fixture(scope="module")
def result(data: ac.ChoiceData) -> ac.Result:
    return ac.fit_mnl(data, TEXT)


@pytest.fixture(scope="module")
def tester(data: ac.ChoiceData, result: ac.Result) -> _Tester:
    """At the estimates of all terms."""
    design = Design(data, result.encoding)
    zero, one = np.zeros(design.n_columns), np.ones(design.n_columns)
    likelihood = FamilyLikelihood(design, zero, one)
    meat, _ = clustered_meat(likelihood, result.coefficients)
    quadratic = expand(likelihood.sums(result.coefficients), result.coefficients)
    counts = [t.n_columns for t in result.encoding.terms]
    return _Tester(quadratic, meat, Groups(np.repeat(np.arange(len(counts)), counts), len(counts)))


def test_terms_of_the_model_have_the_wald_test_of_the_sandwich(
    tester: _Tester, result: ac.Result
) -> None:
    found = tester.given(np.ones(tester.groups.n, dtype=bool))
    for t, columns in enumerate(tester.groups.columns):
        beta = result.coefficients[columns]
        cluster = result.covariances["cluster"][np.ix_(columns, columns)]
        classical = result.covariances["classical"][np.ix_(columns, columns)]
        wald = float(beta @ np.linalg.solve(cluster, beta))
        effect = np.trace(np.linalg.solve(classical, cluster)) / len(columns)
        assert found.statistic[t] == pytest.approx(wald, rel=EXACT)
        assert found.design_effect[t] == pytest.approx(effect, rel=EXACT)
        assert found.p_value[t] == pytest.approx(stats.chi2.sf(wald, len(columns)), rel=1e-4)


def test_other_terms_have_the_score_test_of_persons_one_by_one(
    tester: _Tester, data: ac.ChoiceData, result: ac.Result
) -> None:
    inside = np.ones(tester.groups.n, dtype=bool)
    out = [t for t, term in enumerate(result.encoding.terms) if term.term.by]
    inside[out] = False
    found = tester.given(inside)
    design = Design(data, result.encoding)
    block = design.block(slice(0, len(data)))
    s = evaluate_with_scores(result.coefficients[design.order], block)[1][design.position]
    each = np.stack([s[:, data.person == p].sum(axis=1) for p in range(data.n_persons)])
    rest = np.flatnonzero(inside[tester.groups.of])
    h, b = tester.h, tester.b
    for t in out:
        k = tester.groups.columns[t]
        a = np.linalg.solve(h[np.ix_(rest, rest)], h[np.ix_(rest, k)])
        u = each[:, k] - each[:, rest] @ a
        q, j = b[k] - a.T @ b[rest], u.T @ u
        left = h[np.ix_(k, k)] - h[np.ix_(k, rest)] @ a
        assert found.statistic[t] == pytest.approx(q @ np.linalg.solve(j, q), rel=EXACT)
        assert found.gain[t] == pytest.approx(q @ np.linalg.solve(left, q), rel=EXACT)
        effect = np.trace(np.linalg.solve(left, j)) / len(k)
        assert found.design_effect[t] == pytest.approx(effect, rel=EXACT)


def test_an_interaction_is_tested_given_its_main_term_in_the_model_or_not(
    tester: _Tester, result: ac.Result
) -> None:
    terms = [t.term for t in result.encoding.terms]
    child = next(t for t, term in enumerate(terms) if str(term) == "TRAIN: CO x AGE")
    main = terms.index(terms[child].main)
    none = np.zeros(tester.groups.n, dtype=bool)
    alone, given = none.copy(), none.copy()
    alone[0] = True
    given[[0, main]] = True
    found = _given_parents(tester, tester.given(alone), _parents(tuple(terms)))
    expected, without = tester.given(given), tester.given(alone)
    for name in ("gain", "statistic", "degrees", "design_effect"):
        values = getattr(found, name)
        assert values[child] == pytest.approx(getattr(expected, name)[child])
        assert values[main] == getattr(without, name)[main]
    assert abs(found.statistic[child] - without.statistic[child]) > 1


def test_in_place_of_a_rival_a_term_has_the_design_effect_that_it_has_without_it(
    tester: _Tester, result: ac.Result
) -> None:
    terms = tuple(t.term for t in result.encoding.terms)
    child, rival = (
        next(t for t, term in enumerate(terms) if str(term) == name)
        for name in ("TRAIN: TT x GA", "TRAIN: CO x AGE")
    )
    assert not any(_rivals(terms))
    inside = np.ones(tester.groups.n, dtype=bool)
    given = tester.given(inside)
    rivals = [frozenset({rival}) if t == child else frozenset[int]() for t in range(len(terms))]
    found = _without_rivals(tester, given, _parents(terms), rivals).substitute_effect
    inside[rival] = False
    without = tester.given(inside).design_effect[child]
    assert found[child] == pytest.approx(max(without, given.design_effect[child]))
    np.testing.assert_array_equal(np.delete(found, child), np.delete(given.design_effect, child))


def test_rivals_have_the_same_covariates_at_the_same_place() -> None:
    texts = ["A: TT x G", "A: ASC x G", "B: TT x G", "*: CO x G", "A: TT x H", "A: TT"]
    terms = tuple(ac.parse_specification(text).terms[0] for text in texts)
    assert _rivals(terms) == [{1, 3}, {0, 3}, {3}, {0, 1, 2}, set(), set()]


def test_a_copy_of_a_column_of_the_model_has_nothing_to_test(tester: _Tester) -> None:
    h = np.block([[tester.h, tester.h[:, :1]], [tester.h[:1], tester.h[:1, :1]]])
    meat = np.block([[tester.meat, tester.meat[:, :1]], [tester.meat[:1], tester.meat[:1, :1]]])
    groups = Groups(np.append(tester.groups.of, tester.groups.n), tester.groups.n + 1)
    quadratic = type("Q", (), {"curvature": h, "b": np.append(tester.b, tester.b[0])})()
    inside = np.append(np.ones(tester.groups.n, dtype=bool), False)
    found = _Tester(quadratic, meat, groups).given(inside)
    assert found.degrees[-1] == 0
    assert found.p_value[-1] == 1.0
    assert found.design_effect[-1] == 1.0


@pytest.mark.parametrize("streamed", [False, True])
def test_streamed_tests_are_those_in_memory(
    data: ac.ChoiceData, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["GA"], base="CAR")
    expected = ac.fit_ard(data, space).relevance()
    if streamed:
        monkeypatch.setattr(design_module, "KEEP_BYTES", 0)
        monkeypatch.setattr(design_module, "BLOCK_BYTES", 1 << 16)
    order = np.random.default_rng(0).permutation(len(data))
    found = ac.fit_ard(data.take(order), space, solver=ac.Newton(sample=0)).relevance()
    for column in ("statistic", "p_value", "design_effect"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-4, atol=1e-12)


def test_the_design_effect_of_repeated_answers_is_their_number() -> None:
    rng = np.random.default_rng(3)
    n, times = 400, 5
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=["t_a", "t_b", "z_a", "z_b"])
    utility = rng.gumbel(size=(n, 2)) - frame[["t_a", "t_b"]].to_numpy()
    frame["choice"] = np.array(["a", "b"])[utility.argmax(axis=1)]
    frame["id"] = np.arange(n)
    options = {"alternatives": ["a", "b"], "choice": "choice", "person": "id"}
    attributes = {"t": "t_{alt}", "z": "z_{alt}"}
    once = ac.read_wide(frame, attributes=attributes, **options)
    copied = pd.concat([frame] * times)
    often = ac.read_wide(copied, attributes=attributes, **options)
    one, many = (ac.fit_ard(d, ac.SearchSpace(d)) for d in (once, often))
    assert not one.persons_repeat
    assert many.persons_repeat
    ratio = many.tests.design_effect / one.tests.design_effect
    np.testing.assert_allclose(ratio, times, rtol=0.05)
    # Answers that were only copied make nothing more significant.
    tested = one.tests.p_value > 1e-8
    np.testing.assert_allclose(many.tests.p_value[tested], one.tests.p_value[tested], atol=0.05)


@pytest.mark.parametrize(("k", "d"), [(1, 1.0), (1, 4.0), (3, 1.5), (4, 6.0)])
def test_noise_pays_a_price_as_rarely_as_one_column_on_fewer_answers(k: int, d: float) -> None:
    n = 10_000
    price = term_prices(n, np.array([k]), np.array([d]))[0]
    chance = stats.chi2.sf(price / d, k)
    bar = stats.chi2.sf(np.log(n / d), 1)
    assert chance <= bar * (1 + 1e-9)
    assert price == pytest.approx(k * np.log(n)) or chance == pytest.approx(bar)
    assert price >= k * np.log(n) * (1 - 1e-12)
