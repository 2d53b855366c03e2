"""Terms and random coefficients obey every rule, whatever the data, and depend on no order."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from selection_support import obeys
from test_joint import ALTERNATIVES, frame, read, space_of
from test_property import structures

import ardchoice as ac
from ardchoice.selection import JointSelection, compile_structure, confirm, select_jointly

calmly = settings(
    deadline=None, max_examples=12, derandomize=True, phases=[Phase.explicit, Phase.generate]
)


def jointly(
    data: ac.ChoiceData, space: ac.SearchSpace, structure: ac.Structure | None
) -> JointSelection:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        fit = ac.fit_ard(data, space)
        mnl = ac.select(fit, structure=structure)
        return select_jointly(fit, mnl, structure=structure)


def choices(seed: int, sd: float, *, weighted: bool, thinned: bool) -> ac.ChoiceData:
    """Persons with one to thirteen answers; perhaps weights, and half of them with one answer."""
    table = frame(seed, sd, persons=70)
    if thinned:
        later = table.duplicated("ID") & (table["ID"] % 2 == 0)
        table = table[~later].reset_index(drop=True)
    return read(table, weight="W" if weighted else None)


def has_its_mean(name: str, terms: tuple[ac.Term, ...]) -> bool:
    """A random coefficient of an attribute: its form is a term in all of its alternatives."""
    taste = ac.parse_specification(name).terms[0]
    if taste.what is None:
        return True
    mains = [t for t in terms if not t.by and (t.what, t.how) == (taste.what, taste.how)]
    covered = {a for t in mains for a in t.where or ALTERNATIVES}
    return bool(mains) and set(taste.where or covered) <= covered


@given(
    st.integers(0, 10_000),
    st.sampled_from([0.0, 1.0, 2.5]),
    st.booleans(),
    st.booleans(),
    st.data(),
)
@calmly
def test_every_joint_specification_satisfies_every_rule(
    seed: int, sd: float, weighted: bool, thinned: bool, draws: st.DataObject
) -> None:
    data = choices(seed, sd, weighted=weighted, thinned=thinned)
    space = space_of(data)
    structure = draws.draw(structures(space))
    try:
        compile_structure(structure, space)
    except ac.SpecificationError:
        assume(False)  # contradictions have tests of their own
    found = jointly(data, space, structure)
    kept = found.specification.terms
    assert obeys(structure, space, kept)
    assert set(found.specification.reasons) == set(space.terms)
    for term, reason in found.specification.reasons.items():
        assert reason.startswith("kept: " if term in kept else "dropped: ")
    assert all(has_its_mean(name, kept) for name in found.random)
    candidates = [c.name for c in found.candidates]
    assert len(candidates) == len(set(candidates))
    assert set(found.explained) <= {str(t) for t in found.mnl.terms} - {str(t) for t in kept}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        confirmed = confirm(data, found, family=ac.Mixed(nodes=16)).selection
    assert confirmed.specification.terms == kept
    assert all(has_its_mean(name, kept) for name in confirmed.random)


@pytest.mark.parametrize("weight", [None, "W"])
def test_the_order_of_persons_rows_and_alternatives_changes_nothing(weight):
    table = frame(persons=120)
    order = ("C", "A", "B")
    rng = np.random.default_rng(2)
    mixed = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    mixed["ID"] = rng.permutation(120)[mixed["ID"]]
    before = read(table, weight=weight)
    after = read(mixed, weight=weight, alternatives=list(order))
    first, again = (jointly(data, space_of(data), ac.Structure()) for data in (before, after))
    assert {str(t) for t in again.specification.terms} == {
        str(t) for t in first.specification.terms
    }
    assert set(again.random) == set(first.random) != set()
    assert again.design_effect_left == pytest.approx(first.design_effect_left, rel=1e-3)
    a, b = (
        ac.fit(data, ac.Specification(found.specification.terms), family=ac.Mixed(found.random))
        for data, found in ((before, first), (after, again))
    )
    # Nodes of a person move with the number of the person.
    assert b.loglik == pytest.approx(a.loglik, abs=1.0)


def test_persons_with_one_answer_stand_among_others():
    table = frame(persons=200)
    single = frame(seed=4, persons=150).drop_duplicates("ID").assign(ID=lambda t: t["ID"] + 1000)
    data = read(pd.concat([table, single], ignore_index=True))
    found = jointly(data, space_of(data), ac.Structure())
    assert "B: ASC" in found.random
    assert any(": TT" in name for name in found.random)
    assert found.persons == 350
