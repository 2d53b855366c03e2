"""Covariates that membership of classes depends on, selected by relevance.

At the estimates, a score test of every covariate in one pass: with the gradient s_n of person n by
all parameters, those of a candidate at zero among them, T = g' (Σ s_n s_n')⁻¹ g, g = Σ s_n. The
most promising is estimated and stays if BIC over persons falls; then each is dropped if BIC falls
without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import TYPE_CHECKING

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design
from ardchoice.families.estimate import climb
from ardchoice.families.latent.estimate import SEARCH_STEPS, SEARCH_TOLERANCE, Starts, class_pass
from ardchoice.families.latent.kernel import ClassArrays, class_arrays, evaluate_with_scores
from ardchoice.numerics import map_reduce

if TYPE_CHECKING:
    from ardchoice.families.latent.family import LatentClass

TRIED_CANDIDATES = 3
"""The most promising that are estimated, until one is accepted."""
LEAST_PROMISE = 0.5
"""Share of its price that the score test of a covariate must reach to be estimated at all."""


@dataclass(frozen=True, eq=False)
class Membership:
    """Covariates found, and the estimates with them.

    Attributes
    ----------
    covariates
        In the order of the data.
    starts
        As of the classes without covariates, at the new estimates.
    arrays
    n_parameters
    dropped
        Candidates that did not pay.
    varying
        Covariates that are not constant over the answers of a person.
    """

    covariates: tuple[str, ...]
    starts: Starts
    arrays: ClassArrays
    n_parameters: int
    dropped: tuple[str, ...]
    varying: tuple[str, ...]


def constant_in_persons(data: ChoiceData) -> tuple[list[str], list[str]]:
    """Covariates of two levels or more, or numbers, that no person changes; and the others."""
    constant: list[str] = []
    varying: list[str] = []
    for name, covariate in data.covariates.items():
        if covariate.levels is not None and len(covariate.levels) < 2:
            continue
        same = data.person is None or _is_constant(covariate.values, data.person)
        (constant if same else varying).append(name)
    return constant, varying


def _is_constant(values: Floats | Ints, person: Ints) -> bool:
    first = np.empty(int(person.max()) + 1, dtype=values.dtype)
    first[person[::-1]] = values[::-1]
    return bool((first[person] == values).all())


@dataclass(frozen=True, eq=False)
class _SomeCovariates:
    """Blocks with some of their covariates of persons, by row."""

    blocks: Iterable[Block]
    rows: Ints

    def __iter__(self) -> Iterator[Block]:
        for block in self.blocks:
            inside = None if block.covariates is None else block.covariates[self.rows]
            yield replace(block, covariates=inside if len(self.rows) else None)


@dataclass(frozen=True, eq=False)
class _ScoreSums:
    """Σ s_n and Σ s_n s_n'."""

    gradient: Floats
    outer: Floats

    def __add__(self, other: _ScoreSums) -> _ScoreSums:
        return _ScoreSums(self.gradient + other.gradient, self.outer + other.outer)


@dataclass(frozen=True, eq=False)
class _ScoreMeasure:
    """Of a block; can be sent to another process."""

    theta: Floats
    arrays: ClassArrays

    def __call__(self, block: Block) -> _ScoreSums:
        each = evaluate_with_scores(self.theta, block, self.arrays, 1)[1]
        return _ScoreSums(each.sum(axis=1), each @ each.T)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Estimates with some covariates."""

    names: tuple[str, ...]
    theta: Floats
    loglik: float
    bic: float


class _Search:
    """Covariates in and out, with the coefficients of classes estimated along."""

    def __init__(self, family: LatentClass, design: Design, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.design = design.with_covariates(self.names)
        self.family = replace(family, membership=None)
        self.blocks = self.design.blocks()
        self.persons = design.data.n_persons or len(design.data)
        widths = [len(one.names) for one in self.design.encoding.persons]
        ends = np.cumsum(widths)
        self.rows = {
            name: np.arange(end - width, end)
            for name, width, end in zip(self.names, widths, ends.tolist(), strict=True)
        }

    def columns(self, names: Sequence[str]) -> Ints:
        """Rows of the covariates of blocks."""
        return np.concatenate([np.empty(0, np.intp), *(self.rows[name] for name in names)])

    def arrays(self, width: int) -> tuple[ClassArrays, int]:
        """With so many columns of covariates, and the number of parameters."""
        plain = self.family.layout(replace(self.design.encoding, persons=()))
        inside = class_arrays(plain.reordered(self.design.order), self.family.classes or 1)
        n_other = len(plain.parameters) - len(inside.membership)
        q = len(inside.membership)
        places = n_other + np.arange(q * (1 + width), dtype=np.intp).reshape(q, 1 + width)
        return ClassArrays(inside.place, places), n_other + places.size

    def widened(self, fit: _Fit, names: Sequence[str]) -> tuple[Floats, ClassArrays]:
        """θ of other covariates, zero for new ones."""
        before, _ = self.arrays(len(self.columns(fit.names)))
        after, size = self.arrays(len(self.columns(names)))
        out = np.zeros(size)
        n_other = size - after.membership.size
        out[:n_other] = fit.theta[:n_other]
        out[after.membership[:, 0]] = fit.theta[before.membership[:, 0]]
        old, new = self.columns(fit.names).tolist(), self.columns(names).tolist()
        for place, column in enumerate(new, 1):
            if column in old:
                out[after.membership[:, place]] = fit.theta[
                    before.membership[:, 1 + old.index(column)]
                ]
        return out, after

    def fit(self, near: _Fit, names: Sequence[str]) -> _Fit:
        """Newton's method from estimates with other covariates."""
        names = tuple(name for name in self.names if name in names)
        start, arrays = self.widened(near, names)
        blocks = _SomeCovariates(self.blocks, self.columns(names))
        at = partial(class_pass, blocks, arrays)
        family = replace(self.family, membership=names)
        encoding = replace(
            self.design.encoding,
            persons=tuple(p for p in self.design.encoding.persons if p.name in names),
        )
        found = climb(
            family,
            family.layout(encoding).reordered(self.design.order),
            lambda theta, last: at(theta),
            start,
            max_iterations=SEARCH_STEPS,
            tolerance=SEARCH_TOLERANCE,
        )
        return _Fit(names, found.beta, found.loglik, self.bic(found.loglik, len(start)))

    def bic(self, loglik: float, size: int) -> float:
        """Over persons."""
        return -2 * loglik + size * log(self.persons)

    def promises(self, fit: _Fit) -> list[tuple[float, str]]:
        """Score statistic minus price of every covariate that is not in, the largest first."""
        out = [name for name in self.names if name not in fit.names]
        ordered = (*fit.names, *out)
        theta, arrays = self.widened(fit, ordered)
        blocks = _SomeCovariates(self.blocks, self.columns(ordered))
        sums = map_reduce(_ScoreMeasure(theta, arrays), blocks)
        n_other = len(theta) - arrays.membership.size
        columns = self.columns(ordered).tolist()
        inside = [0, *(1 + columns.index(c) for name in fit.names for c in self.rows[name])]
        known = [*range(n_other), *arrays.membership[:, inside].ravel().tolist()]
        found = []
        for name in out:
            own = arrays.membership[:, [1 + columns.index(c) for c in self.rows[name]]].ravel()
            at = np.array([*known, *own])
            outer = sums.outer[np.ix_(at, at)]
            gradient = np.where(np.arange(len(at)) < len(known), 0.0, sums.gradient[at])
            statistic = float(gradient @ np.linalg.pinv(outer, hermitian=True) @ gradient)
            price = len(own) * log(self.persons)
            if statistic >= LEAST_PROMISE * price:
                found.append((statistic - price, name))
        return sorted(found, reverse=True)


def select_membership(
    family: LatentClass, design: Design, starts: Starts, arrays: ClassArrays
) -> Membership:
    """The covariates of persons that membership depends on.

    Parameters
    ----------
    family
        With its number of classes.
    design
        Of the columns.
    starts, arrays
        Estimates without covariates.
    """
    names, varying = constant_in_persons(design.data)
    search = _Search(family, design, names)
    size = len(starts.best)
    here = _Fit((), starts.best, starts.loglik, search.bic(starts.loglik, size))
    while True:
        promising = search.promises(here)[:TRIED_CANDIDATES]
        tried = (search.fit(here, (*here.names, name)) for _, name in promising)
        better = next((fit for fit in tried if fit.bic < here.bic), None)
        if better is None:
            break
        here = better
    for name in here.names:
        without = search.fit(here, [other for other in here.names if other != name])
        here = without if without.bic < here.bic else here
    final, size = search.arrays(len(search.columns(here.names)))
    ended = class_pass(
        _SomeCovariates(search.blocks, search.columns(here.names)), final, here.theta
    )
    gained = here.loglik - starts.loglik
    found = Starts(
        here.theta,
        tuple(value + gained for value in starts.logliks),
        ended.complete,
        ended.share / ended.share.sum(),
    )
    dropped = tuple(name for name in names if name not in here.names)
    return Membership(here.names, found, final, size, dropped, tuple(varying))
