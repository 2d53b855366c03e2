"""Scores of the log-likelihood summed by person, for sandwiches and clustered tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.design import Block
from ardchoice.families.family import Family
from ardchoice.families.parameters import ParameterLayout
from ardchoice.numerics import Sums, map_reduce

MOST_SUMS = 1 << 24
"""Persons times coefficients up to which a sum is kept for each: 128 MB."""
PIECE = 1 << 20
"""Persons, or rows, that are looked at together."""


@dataclass(frozen=True, eq=False)
class ScoredSums(Sums):
    """Sums with those of the outer products of scores s.

    Attributes
    ----------
    meat
        Σ s s' over situations; shape (D, D).
    clustered
        The same with scores summed per person; None without persons.
    """

    meat: Floats
    clustered: Floats | None


def scored_pass(
    family: Family,
    layout: ParameterLayout,
    theta: Floats,
    blocks: Iterable[Block],
    person: npt.NDArray[np.integer[Any]] | None,
    *,
    clustered_only: bool = False,
) -> ScoredSums:
    """The pass that estimation ends with: all that the covariances need, at once.

    The rows of a person may stand anywhere. Where sums for all persons would not fit, persons
    whose rows follow each other are done with when their block is; else persons take turns, in as
    many passes as it needs.

    Parameters
    ----------
    family
    layout
        In block order.
    theta
        Shape (P,).
    blocks
        Of a design.
    person
        Shape (N,); None without persons.
    clustered_only
        Whether Σ s s' over situations may be skipped (empty) where there are persons.
    """
    if person is None or family.panel:
        found = map_reduce(partial(_scored, _Who(family, layout, theta)), blocks)
        return found.ended(None if person is None else found.clustered())
    count = int(person.max()) + 1
    large = count * len(theta) > MOST_SUMS
    if not large or _in_runs(person, count):
        who = _Who(family, layout, theta, (0, count), large, clustered_only)
        found = map_reduce(partial(_scored, who), blocks)
        return found.ended(found.clustered())
    turns = -(-count * len(theta) // MOST_SUMS)
    edges = np.linspace(0, count, turns + 1).astype(int).tolist()
    each = [
        map_reduce(
            partial(_scored, _Who(family, layout, theta, here, False, clustered_only)), blocks
        )
        for here in itertools.pairwise(edges)
    ]
    return each[0].ended(sum((one.clustered() for one in each[1:]), each[0].clustered()))


def _in_runs(person: npt.NDArray[np.integer[Any]], count: int) -> bool:
    """Whether the rows of every person follow each other."""
    runs = 1
    for start in range(0, len(person), PIECE):
        runs += int(np.count_nonzero(np.diff(person[start : start + PIECE + 1])))
    return runs == count


@dataclass(frozen=True, eq=False)
class _Who:
    """Whose scores: coefficients, a range of persons (None for none), whether rows are in runs."""

    family: Family
    layout: ParameterLayout
    theta: Floats
    persons: tuple[int, int] | None = None
    in_runs: bool = False
    clustered_only: bool = False


@dataclass(frozen=True, eq=False)
class _Scored:
    """Sums, and products of scores.

    Attributes
    ----------
    sums
    robust
        Σ s s' over situations; shape (D, D).
    done
        The same over persons who are complete.
    codes, scores
        Persons who are not, piece by piece, ascending, and their scores so far; (M,) and (M, D).
    """

    sums: Sums
    robust: Floats
    done: Floats
    codes: tuple[npt.NDArray[np.integer[Any]], ...] = ()
    scores: tuple[Floats, ...] = ()

    def __add__(self, other: _Scored) -> _Scored:
        codes, scores = (*self.codes, *other.codes), (*self.scores, *other.scores)
        # Pieces that pile up are made one as soon as they are much longer than the longest.
        if len(codes) > 1 and sum(map(len, codes)) > 3 * max(map(len, codes)) + PIECE:
            codes, scores = _merged(codes, scores)
        robust, done = self.robust + other.robust, self.done + other.done
        return _Scored(self.sums + other.sums, robust, done, codes, scores)

    def clustered(self) -> Floats:
        """Σ s s' over persons; shape (D, D)."""
        if not self.scores:
            return self.done
        (scores,) = _merged(self.codes, self.scores)[1]
        return np.asarray(self.done + scores.T @ scores)

    def ended(self, clustered: Floats | None) -> ScoredSums:
        """All of it together."""
        sums = self.sums
        return ScoredSums(sums.loglik, sums.gradient, sums.curvature, self.robust, clustered)


def _merged(
    codes: Sequence[npt.NDArray[np.integer[Any]]], sums: Sequence[Floats]
) -> tuple[tuple[npt.NDArray[np.integer[Any]]], tuple[Floats]]:
    """Pieces as one, each person once."""
    if len(codes) == 1:
        return (codes[0],), (sums[0],)
    every = np.concatenate(codes)
    known, place = np.unique(every, return_inverse=True)
    out = np.zeros((len(known), sums[0].shape[1]))
    start = 0
    for piece in sums:
        # No person is twice in a piece.
        out[place[start : start + len(piece)]] += piece
        start += len(piece)
    return (known,), (out,)


def _scored(who: _Who, block: Block) -> _Scored:
    """Of one block."""
    scored = who.family.scores(who.theta, block, who.layout)
    found, s = scored.sums, scored.each
    done = np.zeros((len(s), len(s)))
    robust = np.empty((0, 0)) if who.clustered_only else s @ s.T
    person = block.person
    if who.family.panel:
        # Its units are persons, and blocks hold whole ones.
        return _Scored(found, robust, robust)
    if who.persons is None or person is None:
        return _Scored(found, robust, done)
    low, high = who.persons
    ends = person[0], person[-1]
    if low > person.min() or high <= person.max():
        inside = np.flatnonzero((person >= low) & (person < high))
        if not len(inside):
            return _Scored(found, robust, done)
        person, s = person[inside], s[:, inside]
    if (person[1:] < person[:-1]).any():
        order = np.argsort(person, kind="stable")
        person, s = person[order], s[:, order]
    starts = np.append(0, 1 + np.flatnonzero(person[1:] != person[:-1]))
    codes, sums = person[starts], _sums_of_runs(s, starts).T
    if who.in_runs and len(codes) > 2:
        # In the order of the rows, only the first and the last can have rows elsewhere.
        edge = np.isin(codes, ends)
        done = sums[~edge].T @ sums[~edge]
        codes, sums = codes[edge], sums[edge]
    return _Scored(found, robust, done, (codes,), (sums,))


def _sums_of_runs(s: Floats, starts: npt.NDArray[np.intp]) -> Floats:
    """Sums over the runs of columns that begin at `starts`, ascending; shape (D, M)."""
    length = s.shape[1] // len(starts)
    if np.array_equal(starts, np.arange(0, s.shape[1], length)):
        # Every person was asked equally often, as in most experiments: a product is faster.
        return np.asarray(s.reshape(len(s), len(starts), length) @ np.ones(length))
    return np.asarray(np.add.reduceat(s, starts, axis=1))
