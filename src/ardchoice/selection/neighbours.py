"""The valid neighbours of a set of terms, all scored on a surrogate.

One term more, one less, one for another; a term with what it needs; an attribute in another form
with all its interactions; a shared coefficient split, or specific ones joined; a covariate
interacted in several places at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice.selection.constraints import Chosen, Constraints
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.surrogate import Surrogate

Floats = npt.NDArray[np.float64]
NOTHING = -1
MISSED = 30.0
"""Log-likelihood that nothing but another form of a term is expected to make up for."""
PROMISE = 0.3
"""Share of its penalty that a term must gain alone for what it needs to be tried with it."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Sets next to a set, with their predicted criterion.

    Attributes
    ----------
    bases
        Sets of terms.
    base, term
        Each neighbour is `bases[base]` and one term more (`NOTHING` for none); shape (M,).
    values
        Shape (M,).
    """

    bases: list[Chosen]
    base: npt.NDArray[np.intp]
    term: npt.NDArray[np.intp]
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def at(self, i: int) -> Chosen:
        """The terms of one neighbour."""
        base, term = self.bases[int(self.base[i])], int(self.term[i])
        return base if term == NOTHING else base | {term}

    def best(self, most: int) -> list[int]:
        """The most promising ones, best first."""
        most = min(most, len(self.values))
        if not most:
            return []
        some = np.argpartition(self.values, most - 1)[:most]
        order = some[np.argsort(self.values[some], kind="stable")]
        return [int(i) for i in order]


def neighbours(
    chosen: Chosen,
    surrogate: Surrogate,
    constraints: Constraints,
    criterion: Criterion,
    *,
    guilty: Chosen = frozenset(),
    thorough: bool = False,
) -> Neighbours:
    """Every valid neighbour of a valid set that may be better.

    Parameters
    ----------
    chosen
    surrogate, constraints, criterion
    guilty
        Terms that may have to leave, however much they would be missed.
    thorough
        Also those that cannot be: with a term gone for which nothing could make up, or with one
        that gains nothing.
    """
    missed, promise = (np.inf, -1.0) if thorough else (MISSED, PROMISE)
    found = _Found([], [], [], [])
    # 1 · One more.
    gains = _with_one_more(found, chosen, chosen, surrogate, constraints, criterion)
    # 2 · One less, and one less with another in its place.
    losses = surrogate.losses(chosen)
    for t in sorted(chosen):
        may_leave = losses[t] <= missed or t in guilty
        left = constraints.without(chosen, [t]) if may_leave else None
        if left is not None:
            _with_one_more(found, left, chosen, surrogate, constraints, criterion)
    # 3 · Several at once.
    simple = constraints.addable(chosen)
    several = [
        *constraints.reshaped(chosen),
        *constraints.regrouped(chosen),
        *constraints.bundled(chosen),
        *constraints.reformed(chosen, [t for t in chosen if losses[t] > missed]),
    ]
    worth = 2 * gains > promise * criterion.per_coefficient * constraints.columns
    for u in np.flatnonzero(worth & ~simple).tolist():
        if u not in chosen and u not in constraints.impossible:
            several += constraints.completions(chosen, u)
    several = [s for s in dict.fromkeys(several) if s != chosen]
    if several:
        found.add(several, np.array([predict(s, 0.0, constraints, criterion) for s in several]))
        found.values[-1] -= 2 * surrogate.reached(several)
    return found.collect()


def predict(chosen: Chosen, loglik: float, constraints: Constraints, criterion: Criterion) -> float:
    """The criterion of a set of terms that reaches a log-likelihood, with what its forms cost."""
    value = criterion.value(loglik, constraints.count(chosen), len(chosen))
    return value + constraints.cost(chosen)


@dataclass
class _Found:
    bases: list[Chosen]
    base: list[npt.NDArray[np.intp]]
    term: list[npt.NDArray[np.intp]]
    values: list[Floats]

    def add(self, sets: list[Chosen], values: Floats) -> None:
        """Whole sets."""
        self.base.append(len(self.bases) + np.arange(len(sets)))
        self.term.append(np.full(len(sets), NOTHING))
        self.values.append(values)
        self.bases += sets

    def extend(self, base: Chosen, terms: npt.NDArray[np.intp], values: Floats) -> None:
        """One set with one of several terms more."""
        self.base.append(np.full(len(terms), len(self.bases)))
        self.term.append(terms)
        self.values.append(values)
        self.bases.append(base)

    def collect(self) -> Neighbours:
        if not self.values:
            none = np.empty(0, dtype=np.intp)
            return Neighbours([], none, none, np.empty(0))
        return Neighbours(
            self.bases,
            np.concatenate(self.base),
            np.concatenate(self.term),
            np.concatenate(self.values),
        )


def _with_one_more(
    found: _Found,
    base: Chosen,
    origin: Chosen,
    surrogate: Surrogate,
    constraints: Constraints,
    criterion: Criterion,
) -> Floats:
    """A set (unless it is where we come from) and the set with any one term more.

    Returns what every term would gain, whether it may come in or not; shape (T,).
    """
    reached, gains = surrogate.additions(base)
    count, cost = constraints.count(base), constraints.cost(base)
    if base != origin:
        found.add([base], np.array([criterion.value(reached, count, len(base)) + cost]))
    mask = constraints.addable(base)
    mask[list(origin)] = False
    terms = np.flatnonzero(mask)
    if len(terms):
        penalty = criterion.penalty(count + constraints.columns[terms], len(base) + 1)
        values = -2 * (reached + gains[terms]) + penalty + constraints.costs[terms] + cost
        found.extend(base, terms, values)
    return gains
