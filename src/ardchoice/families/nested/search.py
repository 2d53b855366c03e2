"""Which nests the data support: a local search of structures, confirmed by fits.

The criterion of a structure is -2 LL + Σ_m deff_m (ln(N / deff_m) + 2 ln C(J, k_m)) over its nests
m of k_m alternatives: BIC, with N / deff_m the number of independent answers the data are worth
for this scale (persons at worst), and, as in EBIC, the number of nests of that size that were
candidates. Structures with a scale below 1 are inadmissible and never chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, log

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import CachedBlocks, Design, StreamedBlocks
from ardchoice.families.estimate import climb
from ardchoice.families.family import Family, family_pass
from ardchoice.families.mnl import Mnl
from ardchoice.families.nested.screening import (
    Screened,
    Subset,
    candidate_subsets,
    screen_nests,
)
from ardchoice.families.nested.structure import SCALE_BOUNDS
from ardchoice.families.parameters import ParameterLayout
from ardchoice.numerics import Sums

SEARCH_TOLERANCE = 1e-3
"""Log-likelihood still to be gained at which a fit of the search stops."""
MOST_ADDED = 12
"""Candidate nests that are confirmed by fits in a step, the most promising first."""
MOST_EXTENDED = 12
"""Alternatives that a nest is extended by in a step, the most promising first."""
LEAST_Z = 1.0
"""Of a candidate that is worth a fit."""
MOST_STEPS = 50
"""Of the search: it ends by itself long before."""
JOINED_NAMES = 3
"""Alternatives up to which a nest is named after them."""

Structure = frozenset[Subset]
"""Nests that do not overlap."""


@dataclass(frozen=True)
class FoundNests:
    """The outcome of a search.

    Attributes
    ----------
    nests
        Name -> alternatives; empty where no nest is supported.
    loglik, mnl_loglik
        Of the structure, and of the multinomial logit.
    fits
        Structures that were estimated.
    diverging
        Alternatives of nests that would have been found if their scale did not diverge.
    """

    nests: dict[str, tuple[str, ...]]
    loglik: float
    mnl_loglik: float
    fits: int
    diverging: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class _Fit:
    loglik: float
    beta: Floats
    scales: dict[Subset, float]
    criterion: float
    refused: float = np.inf
    """The criterion, where a scale diverges: then the structure is none to choose."""


@dataclass(eq=False)
class _Search:
    """Structures estimated so far, on one design."""

    design: Design
    blocks: CachedBlocks | StreamedBlocks
    equal: bool
    screened: Screened
    total: float
    fits: dict[Structure, _Fit] = field(default_factory=dict)

    def fit(self, structure: Structure, near: _Fit) -> _Fit:
        """Estimate a structure from nearby estimates, once."""
        if structure not in self.fits:
            self.fits[structure] = self._fit(structure, near)
        return self.fits[structure]

    def _fit(self, structure: Structure, near: _Fit) -> _Fit:
        from ardchoice.families.nested.family import Nested

        ordered = sorted(structure)
        names = self.design.encoding.alternatives
        nests = {str(k): [names[j] for j in nest] for k, nest in enumerate(ordered)}
        family = Nested(nests, equal=self.equal)
        layout = family.layout(self.design.encoding).reordered(self.design.order)
        starts = [near.scales.get(nest, self._start(nest)) for nest in ordered]
        scales = starts[:1] if self.equal else starts
        found = climb(
            family,
            layout,
            self._evaluate(family, layout),
            np.concatenate([near.beta, scales]),
            tolerance=SEARCH_TOLERANCE,
        )
        mu = found.beta[layout.n_columns :]
        all_scales = dict(zip(ordered, np.broadcast_to(mu, (len(ordered),)), strict=True))
        criterion = refused = np.inf
        if found.converged and bool((mu > 1).all()):
            criterion = -2 * found.loglik + self.price(ordered)
        if bool((mu >= SCALE_BOUNDS[1]).any()):
            criterion, refused = np.inf, criterion
        beta = found.beta[: layout.n_columns]
        return _Fit(found.loglik, beta, all_scales, criterion, refused)

    def diverging(self, best: float) -> tuple[Subset, ...]:
        """Nests whose scale diverges in the best of the structures that were refused for it."""
        worst = min(self.fits.values(), key=lambda fit: fit.refused)
        if worst.refused >= best:
            return ()
        return tuple(nest for nest, mu in worst.scales.items() if mu >= SCALE_BOUNDS[1])

    def _evaluate(self, family: Family, layout: ParameterLayout) -> Callable[[Floats, bool], Sums]:
        def evaluate(theta: Floats, last: bool) -> Sums:
            return family_pass(family, layout, theta, self.blocks)

        return evaluate

    def _start(self, nest: Subset) -> float:
        """μ after one step of the screening, kept within what a step can know."""
        place = self._place(nest)
        return 1.2 if place is None else float(np.clip(self.screened.scale[place], 1.1, 2.0))

    def _place(self, nest: Subset) -> int | None:
        return self._places.get(nest)

    def __post_init__(self) -> None:
        self._places = {subset: k for k, subset in enumerate(self.screened.subsets)}

    def price(self, nests: list[Subset]) -> float:
        """What the nests of a structure cost on the scale of -2 LL."""
        n = len(self.design.encoding.alternatives)
        prices = []
        for nest in nests:
            effect = self.design_effect(nest)
            prices.append(effect * (log(self.total / effect) + 2 * log(comb(n, len(nest)))))
        if self.equal and prices:
            # One parameter, though several nests were candidates.
            effects = [self.design_effect(nest) for nest in nests]
            once = max(e * log(self.total / e) for e in effects)
            each = [e * log(self.total / e) for e in effects]
            return sum(prices) - sum(each) + once
        return sum(prices)

    def design_effect(self, nest: Subset) -> float:
        """Of its screening; of one that was not screened, the largest of its pairs."""
        place = self._place(nest)
        if place is not None:
            return float(self.screened.design_effect[place])
        pairs = [self._place((a, b)) for a in nest for b in nest if a < b]
        return max(float(self.screened.design_effect[p]) for p in pairs if p is not None)

    def promise(self, a: int, b: int) -> float:
        """The z of a pair."""
        place = self._place((min(a, b), max(a, b)))
        return 0.0 if place is None else float(self.screened.z[place])

    def neighbours(self, structure: Structure) -> Iterator[Structure]:
        """Structures one move away."""
        used = {j for nest in structure for j in nest}
        yield from self._added(structure, used)
        for nest in structure:
            rest = structure - {nest}
            yield rest
            yield from (rest | {part} for part in _without_one(nest))
            yield from (rest | set(parts) for parts in _split(nest))
            yield from self._extended(nest, rest)
            yield from (
                structure - {nest, other} | {tuple(sorted((*nest, *other)))}
                for other in rest
                if len(nest) + len(other) < len(self.design.encoding.alternatives)
            )

    def _added(self, structure: Structure, used: set[int]) -> Iterator[Structure]:
        z = self.screened.z
        count = 0
        for place in np.argsort(-z, kind="stable"):
            if z[place] < LEAST_Z or count == MOST_ADDED:
                return
            nest = self.screened.subsets[place]
            if used.isdisjoint(nest):
                count += 1
                yield structure | {nest}

    def _extended(self, nest: Subset, rest: Structure) -> Iterator[Structure]:
        """A nest with one alternative more, taken from where it is."""
        others = [j for j in range(len(self.design.encoding.alternatives)) if j not in nest]
        if len(others) < 2:
            return
        others.sort(key=lambda j: -max(self.promise(i, j) for i in nest))
        for j in others[:MOST_EXTENDED]:
            left = {tuple(k for k in other if k != j) if j in other else other for other in rest}
            kept = frozenset(other for other in left if len(other) > 1)
            yield kept | {tuple(sorted((*nest, j)))}


def _without_one(nest: Subset) -> Iterator[Subset]:
    if len(nest) > 2:
        yield from (tuple(k for k in nest if k != j) for j in nest)


def _split(nest: Subset) -> Iterator[tuple[Subset, Subset]]:
    """A pair and the rest, both nests."""
    if len(nest) >= 4:
        for pair in combinations(nest, 2):
            yield pair, tuple(k for k in nest if k not in pair)


def find_nests(design: Design, *, equal: bool = False) -> FoundNests:
    """Search the nests that the data support.

    Parameters
    ----------
    design
        Of the columns, with rows that keep persons together.
    equal
        Whether nests share one scale.
    """
    blocks, names = design.blocks(), design.encoding.alternatives
    mnl = Mnl()
    layout = mnl.layout(design.encoding).reordered(design.order)
    plain = climb(
        mnl,
        layout,
        lambda theta, last: family_pass(mnl, layout, theta, blocks),
        np.zeros(design.n_columns),
        tolerance=SEARCH_TOLERANCE * SEARCH_TOLERANCE,
    )
    screened = screen_nests(plain.beta, blocks, candidate_subsets(len(names)), len(names))
    search = _Search(design, blocks, equal, screened, design.data.total_weight)
    here: Structure = frozenset()
    best = _Fit(plain.loglik, plain.beta, {}, -2 * plain.loglik)
    search.fits[here] = best
    for _ in range(MOST_STEPS):
        tried = {s: search.fit(s, best) for s in dict.fromkeys(search.neighbours(here))}
        if not tried:
            break
        there = min(tried, key=lambda s: tried[s].criterion)
        if tried[there].criterion >= best.criterion:
            break
        here, best = there, tried[there]
    return FoundNests(
        _named(sorted(here), names),
        best.loglik,
        plain.loglik,
        len(search.fits) - 1,
        tuple(tuple(names[j] for j in nest) for nest in search.diverging(best.criterion)),
    )


def _named(nests: list[Subset], names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    out = {}
    for k, nest in enumerate(nests, 1):
        members = tuple(names[j] for j in nest)
        out["+".join(members) if len(members) <= JOINED_NAMES else f"nest {k}"] = members
    return out
