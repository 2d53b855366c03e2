"""Specifications whose estimates diverge give way to those with finite ones."""

import warnings

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
