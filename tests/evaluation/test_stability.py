"""Stability: selections on complementary halves of the persons."""

import sys

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from selection.selection_support import made, read, table, usual

PAIRS = 2


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(600, 1, usual)


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, by=["G"])


@pytest.fixture(scope="module")
def stable(data: ac.ChoiceData, space: ac.SearchSpace) -> pd.DataFrame:
    return ac.stability(data, space, pairs=PAIRS, seed=3)


def test_shares_are_shares_of_halves_and_of_pairs(
    stable: pd.DataFrame, space: ac.SearchSpace
) -> None:
    assert set(stable["term"]) == {str(t) for t in space.terms}
    assert stable["selected"].between(0, 1).all()
    np.testing.assert_allclose((stable["selected"] * 2 * PAIRS) % 1, 0, atol=1e-9)
    np.testing.assert_allclose((stable["both"] * PAIRS) % 1, 0, atol=1e-9)
    assert (stable["both"] <= stable["selected"]).all()
    assert (stable["both"] >= 2 * stable["selected"] - 1 - 1e-9).all()
    assert stable["selected"].is_monotonic_decreasing


def test_strong_terms_are_always_selected_and_noise_hardly_ever(stable: pd.DataFrame) -> None:
    selected = stable.set_index("term")["selected"]
    for term in ("A: ASC", "B: ASC", "A: TT", "B: TT", "A: CO", "B: CO", "C: CO"):
        assert selected[term] == 1.0
    noise = [name for name in selected.index if name.endswith(("CO x G", "ASC x G"))]
    assert selected[noise].mean() < 0.25


def test_the_same_seed_gives_the_same_table(
    stable: pd.DataFrame, data: ac.ChoiceData, space: ac.SearchSpace
) -> None:
    pd.testing.assert_frame_equal(ac.stability(data, space, pairs=PAIRS, seed=3), stable)


def test_halves_are_complementary_and_selections_those_of_select(
    data: ac.ChoiceData, space: ac.SearchSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[ac.ChoiceData] = []
    heard: list[tuple[int, int]] = []

    def listening(part: ac.ChoiceData, *arguments: object, **options: object) -> ac.ArdFit:
        seen.append(part)
        return ac.fit_ard(part, *arguments, **options)  # type: ignore[arg-type]

    # The function has the name of its module, so the module is looked up where all of them are.
    monkeypatch.setattr(sys.modules["ardchoice.evaluation.stability"], "fit_ard", listening)
    rules = {"rule": ac.LambdaAbove(), "structure": None}
    table = ac.stability(
        data, space, pairs=2, seed=5, progress=lambda *step: heard.append(step), **rules
    )
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]
    kept = pd.Series(0.0, index=[str(t) for t in space.terms])
    for one, other in (seen[:2], seen[2:]):
        rows = [set(half.situation) for half in (one, other)]
        assert not rows[0] & rows[1]
        assert rows[0] | rows[1] == set(data.situation)
        # Three answers each, so persons are whole when their answers are.
        assert all(len({r // 3 for r in half}) * 3 == len(half) for half in rows)
        for half in (one, other):
            specification = ac.select(ac.fit_ard(half, space), **rules)  # type: ignore[arg-type]
            kept[[str(t) for t in specification]] += 1
    np.testing.assert_allclose(table.set_index("term")["selected"][kept.index], kept / 4)


def test_no_pairs_are_refused(data: ac.ChoiceData, space: ac.SearchSpace) -> None:
    with pytest.raises(ac.ArdchoiceError, match="At least one pair"):
        ac.stability(data, space, pairs=0)


def test_a_level_that_one_half_lacks_is_no_obstacle() -> None:
    frame = table(600, 0, lambda f: {"A": 3.0 * (f["H"] == "p")})
    frame["H"] = np.where(frame["H"] == "q", "r", frame["H"])
    frame.loc[frame["ID"] == 7, "H"] = "q"
    data = read(frame)
    shares = ac.stability(data, ac.SearchSpace(data, by=["H"]), pairs=1)
    assert shares.set_index("term").loc["A: ASC x H", "selected"] == 1.0
