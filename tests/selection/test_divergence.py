"""Specifications whose estimates diverge give way to those with finite ones."""

import warnings

import numpy as np
import pandas as pd
import pytest
from selection_support import made, read, table, usual

import ardchoice as ac

ROWS = 30


@pytest.fixture(scope="module")
def separated() -> ac.ChoiceData:
    """Whoever has the level 'w' of G, a few rows, chose A."""
    frame = table(600, 1, usual)
    frame.loc[: ROWS - 1, ["G", "PICK"]] = ["w", "A"]
    return read(frame)


def test_terms_whose_estimates_diverge_are_out_and_say_so(separated: ac.ChoiceData) -> None:
    space = ac.SearchSpace(separated, by=["G"])
    with pytest.raises(ac.SeparationError, match=r"A: ASC x G \[w\]"):
        ac.fit_mnl(separated, "A: ASC + TT + ASC x G\nB: ASC + TT\nC: TT")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = ac.specify(separated, space)
    # It would raise where one diverges.
    by_hand = ac.fit_mnl(separated, study.specification)
    assert by_hand.loglik == pytest.approx(study.result.loglik, abs=1e-6)
    assert not study.result.is_infinite.any()
    out = [t for t, why in study.specification.reasons.items() if "its estimate diverges" in why]
    assert "A: ASC x G" in map(str, out)
    assert all("G" in t.by for t in out)
    assert any(t.what == "TT" for t in study.specification.terms)


def test_what_does_not_diverge_is_searched_as_before() -> None:
    data = made(600, 1, usual)
    found = ac.specify(data, ac.SearchSpace(data, by=["G"])).specification
    assert not any("diverges" in why for why in found.reasons.values())


def test_what_must_be_in_may_diverge_with_a_warning(separated: ac.ChoiceData) -> None:
    space = ac.SearchSpace(separated, by=["G"])
    with pytest.warns(ac.ArdchoiceWarning, match="no finite maximum"):
        study = ac.specify(separated, space, structure=ac.Structure(force=["A: ASC x G"]))
    assert "A: ASC x G" in map(str, study.specification.terms)
    assert study.result.is_infinite.any()


@pytest.mark.parametrize("sample", [0, 400])
@pytest.mark.parametrize("generic_only", [False, True])
def test_a_term_that_constants_repeat_is_out_and_says_so(generic_only: bool, sample: int) -> None:
    solver = ac.Newton(sample=sample)
    rng = np.random.default_rng(0)
    n = 800
    frame = pd.DataFrame({f"TT_{name}": rng.uniform(5, 40, n) for name in "ABC"})
    # What drives A and C is the same in every row: with B's levels, it is B's constant.
    frame["FUEL_A"] = frame["FUEL_C"] = "none"
    frame["FUEL_B"] = rng.choice(["petrol", "electric"], n)
    utility = -0.1 * frame[["TT_A", "TT_B", "TT_C"]].to_numpy()
    utility[:, 1] += 1.5 * (frame["FUEL_B"] == "electric")
    frame["PICK"] = np.array(list("ABC"))[(utility + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    data = ac.read_wide(
        frame,
        alternatives=list("ABC"),
        choice="PICK",
        attributes={"TT": "TT_{alt}", "FUEL": "FUEL_{alt}"},
    )
    space = ac.SearchSpace(data, generic=True, specific=not generic_only)
    if generic_only:
        study = ac.specify(data, space, solver=solver)
    else:
        with pytest.warns(ac.ArdchoiceWarning, match=r"no row has such a case: B: FUEL \[none\]"):
            study = ac.specify(data, space, solver=solver)
        (never,) = np.flatnonzero(study.result.is_fixed)
        assert study.result.names[never] == "B: FUEL [none]"
        assert study.result.coefficients[never] == 0
        by_hand = ac.fit_mnl(data, study.specification, fixed={"B: FUEL [none]": 0.0})
        assert study.result.loglik == pytest.approx(by_hand.loglik, abs=1e-9)
    why = study.specification.reasons[ac.parse_term("*: FUEL")]
    # With a sample, the specific coefficient takes its place before it is seen to be collinear.
    if generic_only or not sample:
        assert "collinear with 'B: ASC'" in why
    assert [str(t) for t in study.specification if t.what == "FUEL"] == (
        [] if generic_only else ["B: FUEL"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)  # the level that does not occur
        free = ac.specify(data, space, structure=ac.Structure(constants=False))
    assert free.result.bic <= study.result.bic + 1e-9
    assert any(t.what == "FUEL" for t in free.specification)
