"""The valid neighbours of a set of terms, all scored on a surrogate.

One term more, one less, one for another; a term with what it needs; an attribute in another form
with all its interactions; a shared coefficient split, or specific ones joined; a covariate
interacted in several places at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.selection.constraints import Constraints, TermSet
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.surrogate import Surrogate

NOTHING = -1
IRREPLACEABLE_LOGLIK = 30.0
"""Log-likelihood that nothing but another form of a term is expected to make up for."""
PENALTY_SHARE_ALONE = 0.3
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

    bases: list[TermSet]
    base: npt.NDArray[np.intp]
    term: npt.NDArray[np.intp]
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def at(self, i: int) -> TermSet:
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
    selected: TermSet,
    surrogate: Surrogate,
    constraints: Constraints,
    criterion: Criterion,
    *,
    wrong_sign_terms: TermSet = frozenset(),
    thorough: bool = False,
    enough: float = -np.inf,
) -> Neighbours:
    """Every valid neighbour of a valid set that may be better.

    Parameters
    ----------
    selected
    surrogate, constraints, criterion
    wrong_sign_terms
        Terms that may have to leave, however much they would be missed.
    thorough
        Also those that cannot be: with a term gone for which nothing could make up, or with one
        that gains nothing.
    enough
        Where a criterion below this is predicted for one term more, less or for another, several at
        once are not looked at: a step on the way need not be the best there is.
    """
    missed, promise = (np.inf, -1.0) if thorough else (IRREPLACEABLE_LOGLIK, PENALTY_SHARE_ALONE)
    found = _Found([], [], [], [])
    losses = surrogate.losses(selected)
    # 1 · One more; one less, and one less with another in its place.
    may_leave = [t for t in sorted(selected) if losses[t] <= missed or t in wrong_sign_terms]
    left = (constraints.without(selected, [t]) for t in may_leave)
    bases = [selected, *dict.fromkeys(base for base in left if base is not None)]
    reached, gains = surrogate.exchanges(selected, bases)
    counts, costs = _sums(bases, constraints)
    kept = np.array(list(selected), dtype=np.intp)
    for r, base in enumerate(bases):
        mask = constraints.addable(base)
        if base is selected:
            simple = mask
        mask[kept] = False
        terms = np.flatnonzero(mask)
        penalty = criterion.penalty(
            counts[r] + constraints.columns[terms],
            constraints.searched(base) + constraints.is_searched[terms],
        )
        values = penalty + constraints.costs[terms] + costs[r] - 2 * (reached[r] + gains[r, terms])
        found.extend(base, terms, values)
    found.add(bases[1:], _values(bases[1:], reached[1:], constraints, criterion))
    if min(map(_smallest, found.values)) < enough:
        return found.collect()
    # 2 · Several at once.
    several = [
        *constraints.reshaped(selected),
        *constraints.regrouped(selected),
        *constraints.bundled(selected),
        *constraints.reformed(selected, [t for t in selected if losses[t] > missed]),
    ]
    strong = 2 * gains[0] > promise * criterion.per_coefficient * constraints.columns
    for u in np.flatnonzero(strong & ~simple).tolist():
        if u not in selected and u not in constraints.impossible:
            several += constraints.completions(selected, u)
    several = [s for s in dict.fromkeys(several) if s != selected]
    found.add(several, _values(several, surrogate.reached(several), constraints, criterion))
    return found.collect()


def _smallest(values: Floats) -> float:
    return float(values.min(initial=np.inf))


def _sums(sets: Sequence[TermSet], constraints: Constraints) -> tuple[Floats, Floats]:
    """Coefficients of every set, and what its forms cost."""
    counts = [constraints.count(s) for s in sets]
    return np.array(counts, dtype=float), np.array([constraints.cost(s) for s in sets])


def _values(
    sets: Sequence[TermSet], logliks: Floats, constraints: Constraints, criterion: Criterion
) -> Floats:
    """`predict` for many."""
    counts, costs = _sums(sets, constraints)
    terms = np.array([constraints.searched(s) for s in sets])
    return criterion.penalty(counts, terms) + costs - 2 * logliks


def predict(
    selected: TermSet, loglik: float, constraints: Constraints, criterion: Criterion
) -> float:
    """The criterion of a set of terms that reaches a log-likelihood, with what its forms cost."""
    value = criterion.value(loglik, constraints.count(selected), constraints.searched(selected))
    return value + constraints.cost(selected)


@dataclass
class _Found:
    bases: list[TermSet]
    base: list[npt.NDArray[np.intp]]
    term: list[npt.NDArray[np.intp]]
    values: list[Floats]

    def add(self, sets: list[TermSet], values: Floats) -> None:
        """Whole sets."""
        self.base.append(len(self.bases) + np.arange(len(sets)))
        self.term.append(np.full(len(sets), NOTHING))
        self.values.append(values)
        self.bases += sets

    def extend(self, base: TermSet, terms: npt.NDArray[np.intp], values: Floats) -> None:
        """One set with one of several terms more."""
        self.base.append(np.full(len(terms), len(self.bases)))
        self.term.append(terms)
        self.values.append(values)
        self.bases.append(base)

    def collect(self) -> Neighbours:
        return Neighbours(
            self.bases,
            np.concatenate(self.base),
            np.concatenate(self.term),
            np.concatenate(self.values),
        )
