"""The number of valid sets of every size, against all sets one by one."""

import math
from itertools import combinations

import numpy as np
import pytest
from selection_support import made, usual

import ardchoice as ac
from ardchoice.selection import compile_structure, counting
from ardchoice.selection.counting import log_valid_sets

STRUCTURES = {
    "usual": ac.Structure(),
    "none": None,
    "everywhere": ac.Structure(one_form="everywhere"),
    "no heredity": ac.Structure(heredity=False),
    "many": ac.Structure(
        force="B: TT",
        forbid="C: CO",
        exclusive=[["A: TT x *", "B: TT x *"]],
        together=[["A: CO", "B: CO"]],
    ),
}


@pytest.fixture(scope="module")
def space() -> ac.SearchSpace:
    data = made(200, 2, usual)
    return ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"], remove=["C: * x *"])


@pytest.mark.parametrize("name", STRUCTURES)
def test_valid_sets_are_counted_as_one_by_one(space: ac.SearchSpace, name: str) -> None:
    constraints = compile_structure(STRUCTURES[name], space)
    found = np.exp(log_valid_sets(constraints))
    for q in range(6):
        sets = combinations(range(len(space)), q)
        expected = sum(constraints.is_valid(frozenset(s)) for s in sets)
        assert found[q] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_without_rules_these_are_all_sets(space: ac.SearchSpace) -> None:
    found = log_valid_sets(compile_structure(None, space))
    p = len(space)
    assert len(found) == p + 1
    expected = [math.log(math.comb(p, q)) for q in range(p + 1)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_would_take_too_long_is_counted_as_if_nothing_forbade_it(
    space: ac.SearchSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = log_valid_sets(compile_structure(ac.Structure(), space))
    monkeypatch.setattr(counting, "MOST_BRANCHES", 0)
    monkeypatch.setattr(counting._Budget, "__init__", lambda self: setattr(self, "branches", 0))
    rough = log_valid_sets(compile_structure(ac.Structure(), space))
    assert (rough[2 : len(exact)] >= exact[2:] - 1e-9).all()
