"""Rows by person: whether they stand together, and ranges of rows that cut no person apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray, Ints

if TYPE_CHECKING:
    from ardchoice.data.choices import ChoiceData

LARGEST_WHOLE_ID = 2**53
"""Up to which every whole number has a float of its own."""


def person_codes(ids: AnyArray) -> Ints:
    """Persons numbered from 0 in the order of their ids, wherever their rows are; shape (N,).

    What is drawn by person (halves, folds, integration nodes) then does not depend on the order of
    the rows.
    """
    return np.asarray(pd.factorize(ids, sort=True)[0].astype(np.intp))


def distinct_ids(ids: AnyArray) -> AnyArray:
    """The id of every person, in the order of `person_codes`: numbers, else text; shape (persons,).

    Parameters
    ----------
    ids
        As they are in the table; shape (N,).
    """
    found = np.asarray(pd.factorize(ids, sort=True)[1])
    is_small = found.dtype.kind == "f" and (np.abs(found) <= LARGEST_WHOLE_ID).all()
    if is_small and np.array_equal(found, np.rint(found)):
        return found.astype(np.int64)
    if found.dtype.kind in "iufU":
        return found
    return np.array([str(one) for one in found], dtype=np.str_)


def person_starts(data: ChoiceData) -> Ints | None:
    """The first row of every person; None without persons, or where their rows are scattered."""
    return data.cached("person_starts", lambda: _person_starts(data))


def _person_starts(data: ChoiceData) -> Ints | None:
    person = data.person
    if person is None or not len(person):
        return None
    starts = np.append(0, 1 + np.flatnonzero(person[1:] != person[:-1]))
    is_once_each = len(np.unique(person[starts])) == len(starts)
    return starts.astype(np.intp) if is_once_each else None


def grouped_by_person(data: ChoiceData) -> ChoiceData:
    """The same situations with those of every person together.

    Where they are together already, or without persons, these are the data themselves.
    """
    if data.person is None or not len(data) or person_starts(data) is not None:
        return data
    order = np.argsort(data.person, kind="stable")
    return data.cached("grouped_by_person", lambda: data.take(order))


def whole_person_ranges(data: ChoiceData, size: int) -> list[slice]:
    """All rows in ranges of at most `size` that hold whole persons, where persons are together.

    A person with more rows than that is a range of their own. Without persons, or where their
    rows are scattered, every range has `size` rows.
    """
    n, starts = len(data), person_starts(data)
    if starts is None:
        return [slice(a, min(a + size, n)) for a in range(0, n, size)]
    edges = np.append(starts, n)
    ranges: list[slice] = []
    place = 0
    while place < len(edges) - 1:
        furthest = int(np.searchsorted(edges, edges[place] + size, side="right")) - 1
        following = max(furthest, place + 1)
        ranges.append(slice(int(edges[place]), int(edges[following])))
        place = following
    return ranges
