"""Terms and random coefficients decided together: found again, valid, and the same in any order."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.selection import JointSelection, compile_structure, select_jointly
from ardchoice.selection.joint import TasteRefits
from ardchoice.selection.joint.prices import (
    design_effects_left,
    effective_rows,
    remaining_shares,
)
from ardchoice.selection.joint.tastes import candidate_tastes, in_other_forms

ALTERNATIVES = ("A", "B", "C")
PERSONS, ANSWERS = 250, 7


def frame(seed: int = 0, sd: float = 1.5, persons: int = PERSONS) -> pd.DataFrame:
    """A random constant of B and a taste for time; an interaction of cost; unbalanced persons."""
    rng = np.random.default_rng(seed)
    answers = rng.integers(1, 2 * ANSWERS, persons)
    who = np.repeat(np.arange(persons), answers)
    n = len(who)
    out = pd.DataFrame({"ID": who})
    for name in ALTERNATIVES:
        out[f"{name}_TT"] = rng.gamma(4.0, 0.5, n).round(3)
        out[f"{name}_CO"] = rng.uniform(0.0, 3.0, n).round(3)
    out["G"] = rng.choice(["u", "v"], persons)[who]
    out["H"] = rng.choice(["p", "q", "r"], persons)[who]
    out["W"] = rng.uniform(0.5, 1.5, persons)[who].round(3)
    constant, time = sd * rng.standard_normal((2, persons))
    value = rng.gumbel(size=(n, 3))
    cost = -1.0 - 0.8 * (out["G"] == "u").to_numpy()
    for j, name in enumerate(ALTERNATIVES):
        value[:, j] += (-1.2 + time[who]) * out[f"{name}_TT"] + cost * out[f"{name}_CO"]
    value[:, 1] += 0.5 + constant[who]
    out["PICK"] = np.array(ALTERNATIVES)[value.argmax(axis=1)]
    return out


def read(table: pd.DataFrame, **options: object) -> ac.ChoiceData:
    arguments: dict[str, object] = {
        "alternatives": list(ALTERNATIVES),
        "choice": "PICK",
        "attributes": {"TT": "{alt}_TT", "CO": "{alt}_CO"},
        "covariates": {
            "G": ac.Categorical(reference="v"),
            "H": ac.Categorical(reference="r"),
        },
        "person": "ID",
    }
    return ac.read_wide(table, **(arguments | options))  # type: ignore[arg-type]


def space_of(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, transforms=["linear", "log1p"], by=["G", "H"], base="C")


DEFAULT = ac.Structure()


def decided(data: ac.ChoiceData, structure: ac.Structure | None = DEFAULT) -> JointSelection:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        fit = ac.fit_ard(data, space_of(data))
        mnl = ac.select(fit, structure=structure)
        return select_jointly(fit, mnl, structure=structure)


@pytest.fixture(scope="module")
def found() -> JointSelection:
    return decided(read(frame()))


def test_random_coefficients_and_interactions_of_the_truth_are_found(found):
    assert set(found.random) >= {"B: ASC"}
    assert any(name.endswith(": TT") for name in found.random)
    assert not any(": CO" in name or "log" in name for name in found.random)
    texts = {str(t) for t in found.specification.terms}
    assert any("CO x G" in text for text in texts)
    assert not any("ASC x" in text or "TT x" in text or "x H" in text for text in texts)


def test_every_candidate_has_a_reason(found):
    assert set(found.specification.reasons) == set(space_of(read(frame())).terms)
    assert {c.name for c in found.candidates} >= {"A: ASC", "B: ASC", "C: ASC"}
    assert all(c.reason for c in found.candidates)


def test_design_effect_is_explained_by_the_random_coefficients(found):
    assert found.design_effect > 1.3
    assert 0.8 < found.design_effect_left < 1.2


@pytest.mark.parametrize(
    "structure",
    [
        ac.Structure(),
        ac.Structure(forbid=["B: *TT*"], force=["A: CO x H"]),
        ac.Structure(max_terms=6),
    ],
)
def test_the_specification_obeys_every_rule(structure):
    data = read(frame(persons=120))
    selection = decided(data, structure)
    space = space_of(data)
    constraints = compile_structure(structure, space)
    place = {t: k for k, t in enumerate(space.terms)}
    terms = {place[t] for t in selection.specification.terms}
    assert not constraints.broken(terms)
    # A taste has a mean: every term that it needs is in.
    kept = {(t.what, t.how) for t in selection.specification.terms if not t.by}
    for name in selection.random:
        term = ac.parse_specification(name.replace("*:", "A:")).terms[0]
        assert term.what is None or (term.what, term.how) in kept


def test_the_order_of_persons_and_rows_does_not_matter(found):
    table = frame()
    rng = np.random.default_rng(5)
    mixed = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    mixed["ID"] = rng.permutation(PERSONS)[mixed["ID"]]
    again = decided(read(mixed))
    assert again.random == found.random
    assert set(again.specification.terms) == set(found.specification.terms)


def test_equal_weights_change_nothing_and_persons_of_weight_zero_are_not_there():
    table = frame(persons=80)
    plain = decided(read(table))
    rest = frame(seed=9, persons=30).assign(ID=lambda t: t["ID"] + 1000, W=0.0)
    weighted = pd.concat([table.assign(W=3.0), rest], ignore_index=True)
    again = decided(read(weighted, weight="W"))
    assert again.random == plain.random
    assert set(again.specification.terms) == set(plain.specification.terms)


def test_without_persons_that_repeat_nothing_is_random():
    table = frame(persons=150).drop_duplicates("ID").reset_index(drop=True)
    table = pd.concat([table] * 3, ignore_index=True).assign(ID=lambda t: np.arange(len(t)))
    selection = decided(read(table))
    assert selection.random == {}
    assert "No person answers more than once" in selection.specification.notes[-1]


def test_without_heterogeneity_there_are_the_terms_of_the_mnl():
    data = read(frame(sd=0.0, seed=2))
    selection = decided(data)
    assert selection.random == {}
    assert set(selection.specification.terms) == set(selection.mnl.terms)


def test_a_taste_takes_the_form_that_its_attribute_takes():
    data = read(frame(persons=40))
    fit = ac.fit_ard(data, space_of(data))
    place = {str(t): k for k, t in enumerate(fit.terms)}
    refits = TasteRefits.with_tastes(fit)

    def candidates(*names: str):
        selected = frozenset(place[name] for name in names)
        columns, scale = refits.columns, refits.scale_in_blocks
        return candidate_tastes(fit.terms, selected, columns, scale, ALTERNATIVES)

    before = candidates("A: ASC", "A: TT", "B: TT", "C: TT")
    tastes = [t for t in before if t.name in ("B: ASC", "*: TT")]
    mixed = candidates("A: ASC", "A: log1p(TT)", "B: log1p(TT)", "C: TT")
    moved = [(t.name, k) for t, k in in_other_forms(tastes, mixed)]
    assert moved == [("B: ASC", 0), ("A+B: log1p(TT)", 1), ("C: TT", 1)]
    gone = [(t.name, k) for t, k in in_other_forms(tastes, candidates("A: ASC"))]
    assert gone == [("B: ASC", 0)]


def test_rules_that_are_no_criterion_are_refused():
    data = read(frame(persons=40))
    fit = ac.fit_ard(data, space_of(data))
    with pytest.raises(ac.ArdchoiceError, match="by a criterion"):
        select_jointly(fit, ac.select(fit), ac.LambdaAbove())


def test_a_mixed_study_is_estimated_saved_and_summarised(tmp_path):
    data = read(frame(persons=120))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        study = ac.specify(data, space_of(data), family=ac.Mixed(nodes=32))
    assert study.result.family.tag == "mixed"
    assert study.joint is not None
    assert study.result.loglik > study.joint.mnl_result.loglik + 20
    study.save(tmp_path / "saved")
    loaded = ac.load(tmp_path / "saved")
    assert loaded.joint.selection.random == study.joint.selection.random
    assert loaded.joint.mnl_result.loglik == study.joint.mnl_result.loglik
    text = study.summary()
    assert "design effect" in text.lower()
    own, spreads = study.result.encoding.n_columns, len(study.joint.selection.random)
    assert f", {own} of {study.fit.encoding.n_columns} coefficients and {spreads} more" in text
    for name in study.joint.selection.random:
        assert name in text


# -- Variances ----------------------------------------------------------------------------------


def test_variances_grow_to_where_the_likelihood_has_its_maximum():
    """Larger or smaller ones have a lower likelihood, and the exact estimates are near."""
    data = read(frame(persons=150))
    fit = ac.fit_ard(data, space_of(data))
    place = {str(t): k for k, t in enumerate(fit.terms)}
    names = ["A: ASC", "B: ASC", *(f"{a}: {x}" for a in ALTERNATIVES for x in ("TT", "CO"))]
    selected = frozenset(place[name] for name in names)
    refits = TasteRefits.with_tastes(fit)
    fitted = refits.refit(selected)
    tastes = candidate_tastes(
        fit.terms, selected, refits.columns, refits.scale_in_blocks, ALTERNATIVES
    )
    some = [t for t in tastes if t.name in ("B: ASC", "*: TT")]
    refits.set_tastes(some, np.full(2, 0.1))
    first = refits.refit(selected, fitted.beta)
    grown = refits.grow(first)
    wide = refits.widen(grown)
    assert first.loglik < grown.loglik < wide.loglik
    best, people = refits.variance.copy(), refits.people.copy()
    for factor in (0.5, 2.0):
        refits.set_tastes(some, best * factor, people)
        assert refits.refit(selected, wide.beta).loglik < wide.loglik
    exact = ac.fit(
        data,
        ac.Specification(tuple(fit.terms[t] for t in sorted(selected))),
        family=ac.Mixed({t.name: t.distribution for t in some}),
    )
    sd = {t.name: np.sqrt(v) / t.scale for t, v in zip(some, best, strict=True)}
    for name, value in sd.items():
        assert value == pytest.approx(exact.estimates[f"sd({name})"], rel=0.15)
    assert wide.loglik == pytest.approx(exact.loglik, abs=0.01 * abs(exact.loglik))


# -- Prices --------------------------------------------------------------------------------------


def test_information_that_remains_is_a_share_by_hand():
    conditional = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])
    marginal = conditional - np.diag([1.0, 0.5, 0.0])
    columns = [np.array([0]), np.array([1]), np.array([2])]
    shares = remaining_shares(conditional, marginal, columns, frozenset({0, 2}))

    def given(h: np.ndarray, t: int, rest: list[int]) -> float:
        cross = h[np.ix_(rest, [t])]
        return float((h[t, t] - cross.T @ np.linalg.solve(h[np.ix_(rest, rest)], cross)).item())

    for t, rest in ((0, [2]), (1, [0, 2]), (2, [0])):
        assert shares[t] == pytest.approx(given(marginal, t, rest) / given(conditional, t, rest))
    np.testing.assert_allclose(
        effective_rows(np.array([0.0, 0.5, 1.0]), 900, 100), [100.0, 450.0, 900.0]
    )


def test_design_effect_is_one_where_scores_vary_as_the_information_says():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    h = root @ root.T + np.eye(5)
    columns = [np.array([0, 1]), np.array([2]), np.array([3, 4])]
    np.testing.assert_allclose(
        design_effects_left(h, 3.0 * h, columns, frozenset({0, 1})), 3.0, rtol=1e-8
    )
