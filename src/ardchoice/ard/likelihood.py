"""What a solver sees of the data: sums over all of it or over a batch, on standardised columns.

The solvers know no family: any likelihood that answers these calls will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from operator import add
from typing import Protocol

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import (
    Block,
    CachedBlocks,
    Design,
    Part,
    Standardizer,
    StreamedBlocks,
)
from ardchoice.errors import ArdchoiceError
from ardchoice.families import Family, Mnl, evaluate_at, family_pass, one_pass, utilities
from ardchoice.numerics import Order, Sums, profile


class Batch(Protocol):
    """Some of the data."""

    @property
    def n(self) -> int:
        """How many situations."""

    def sums(self, beta: Floats, order: Order) -> Sums:
        """Sums over the batch at given coefficients; shape (D,)."""

    def expected(self, mean: Floats, variance: Floats, rng: np.random.Generator) -> Sums:
        """Sums over the batch, averaged over coefficients ~ N(mean, variance), by sampling."""


class Likelihood(Protocol):
    """All of the data."""

    @property
    def n(self) -> int:
        """How many situations."""

    @property
    def size(self) -> float:
        """How many they count for: the sum of their weights."""

    def sums(self, beta: Floats, *, rough: bool = False) -> Sums:
        """One pass: log-likelihood, gradient and curvature; beta has shape (D,).

        A `rough` curvature is one of five digits.
        """

    def restrict(self, terms: Sequence[int]) -> Likelihood:
        """The same data with the columns of some terms only."""

    def batches(self, rng: np.random.Generator, count: int) -> Iterator[Batch]:
        """All data once, in `count` random batches, none empty."""


class FamilyLikelihood:
    """The likelihood of a family and a design on standardised columns, (x - centre) / scale.

    What a family has besides coefficients (a scale, say) is profiled out: it is at its best
    wherever the coefficients are.

    Parameters
    ----------
    design
        D columns.
    centre, scale
        In the order of the terms; shape (D,).
    family
        Default: `Mnl()`.
    extras
        Parameters besides coefficients, by name, near their best. Default: where the family
        starts.
    """

    def __init__(
        self,
        design: Design,
        centre: Floats,
        scale: Floats,
        family: Family = Mnl(),  # noqa: B008 - frozen
        extras: Mapping[str, float] | None = None,
    ) -> None:
        self.design, self.centre, self.scale, self.family = design, centre, scale, family
        self.layout = family.layout(design.encoding).reordered(design.order)
        self._extra_values = self.layout.extra_values(extras or {})

    @property
    def n(self) -> int:
        """Choice situations, N."""
        return len(self.design.data)

    @property
    def size(self) -> float:
        """Σ w."""
        return self.design.data.total_weight

    @property
    def extras(self) -> dict[str, float]:
        """Parameters besides coefficients, at their best where the last pass was."""
        names = (p.name for p in self.layout.extras)
        return dict(zip(names, self._extra_values.tolist(), strict=True))

    def theta(self, beta: Floats) -> Floats:
        """All parameters in block order, from coefficients in that order; shape (P,)."""
        return np.concatenate([beta, self._extra_values])

    def sums(self, beta: Floats, *, rough: bool = False) -> Sums:
        """One pass over all blocks; with parameters to be profiled out, a few."""
        inside, d = beta[self.design.order], self.layout.n_columns

        def evaluate(extra_values: Floats) -> Sums:
            theta = np.concatenate([inside, extra_values])
            return family_pass(self.family, self.layout, theta, self.blocks, single_precision=rough)

        if not len(self._extra_values):
            return ordered(evaluate(self._extra_values), self.design)
        bounds = None if self.layout.bounds is None else self.layout.bounds[:, d:]
        found, self._extra_values = profile(evaluate, self._extra_values, d, bounds)
        return ordered(found, self.design)

    def restrict(self, terms: Sequence[int]) -> FamilyLikelihood:
        """A new design from the same data and fewer terms."""
        encoding = self.design.encoding
        columns = encoding.columns_of(terms)
        design = Design(self.design.data, encoding.restrict(terms), execution=self.design.execution)
        return FamilyLikelihood(
            design, self.centre[columns], self.scale[columns], self.family, self.extras
        )

    def batches(self, rng: np.random.Generator, count: int) -> Iterator[LogitBatch]:
        """All rows once, in random batches; of a design too large to keep, in random ranges."""
        if not isinstance(self.family, Mnl):
            raise ArdchoiceError(
                "Dsvi() is for the multinomial logit and for mixed logits with normal, "
                "uncorrelated tastes, Dsvi.paper() for the multinomial logit; for this "
                f"{self.family.title.lower()} use solver=Newton()."
            )
        count = max(1, min(count, self.n))
        if isinstance(self.blocks, CachedBlocks):
            for rows in np.array_split(rng.permutation(self.n), count):
                yield LogitBatch([self._whole.take(np.sort(rows))], self.design)
            return
        edges = np.linspace(0, self.n, count + 1).astype(int)
        step = self.design.block_rows()
        for i in rng.permutation(count):
            first, last = int(edges[i]), int(edges[i + 1])
            parts = [slice(a, min(a + step, last)) for a in range(first, last, step)]
            yield LogitBatch(_Ranges(self.blocks, parts), self.design)

    @cached_property
    def blocks(self) -> CachedBlocks | StreamedBlocks:
        """All rows, standardised: kept if small, expanded again in every pass if large."""
        order = self.design.order
        return self.design.blocks(Standardizer(self.centre[order], self.scale[order]))

    @cached_property
    def _whole(self) -> Block:
        """All blocks as one, for drawing rows at random."""
        blocks = list(self.blocks)
        if len(blocks) == 1:
            return blocks[0]
        first, data = blocks[0], self.design.data
        parts = tuple(
            Part(p.alternatives, p.columns, np.concatenate([b.parts[i].x for b in blocks], axis=2))
            for i, p in enumerate(first.parts)
        )
        available = None if data.always(range(len(data.alternatives))) else data.available
        choice = np.asarray(data.chosen(), dtype=np.intp)
        return Block(parts, available, choice, data.weight, data.available.shape)


class _Ranges:
    """Ranges of rows, expanded one after the other in every pass."""

    def __init__(self, blocks: StreamedBlocks, ranges: Sequence[slice]) -> None:
        self.blocks, self.ranges = blocks, ranges

    def __iter__(self) -> Iterator[Block]:
        return map(self.blocks.block, self.ranges)


class LogitBatch:
    """Some rows of a logit likelihood, standardised, in one block or several."""

    def __init__(self, blocks: Iterable[Block], design: Design) -> None:
        self.blocks, self.design = blocks, design

    @cached_property
    def n(self) -> int:
        """Choice situations in the batch."""
        if isinstance(self.blocks, _Ranges):
            return sum(rows.stop - rows.start for rows in self.blocks.ranges)
        return sum(block.shape[1] for block in self.blocks)

    def sums(self, beta: Floats, order: Order) -> Sums:
        """At given coefficients."""
        return ordered(one_pass(beta[self.design.order], self.blocks, order), self.design)

    def expected(self, mean: Floats, variance: Floats, rng: np.random.Generator) -> Sums:
        """Averaged over q by a pair of antithetic draws of the utilities.

        Under q every utility is Gaussian, so utilities are drawn rather than coefficients: a draw
        for every row instead of one for all, which averages out over the rows. Coefficients that
        alternatives share are drawn themselves, because they tie utilities together.
        """
        order = self.design.order
        draw = partial(_expected, mean[order], variance[order], rng)
        return ordered(reduce(add, map(draw, self.blocks)), self.design)


def _expected(mean: Floats, variance: Floats, rng: np.random.Generator, block: Block) -> Sums:
    middle = utilities(mean, block)
    spread = np.zeros(block.shape)
    together = np.zeros(len(mean))
    for part in block.parts:
        if len(part.alternatives) == 1:
            x = part.x[:, 0]
            spread[part.alternatives[0]] += np.einsum("k,kb,kb->b", variance[part.columns], x, x)
        else:
            k = part.columns
            together[k] = np.sqrt(variance[k]) * rng.standard_normal(len(variance[k]))
    away = np.sqrt(spread) * rng.standard_normal(block.shape)
    if together.any():
        away += utilities(together, block)
    # The curvature varies little between draws and costs most, so one of the pair will do.
    up, down = evaluate_at(middle + away, block, 2), evaluate_at(middle - away, block, 1)
    return Sums(0.5 * (up.loglik + down.loglik), 0.5 * (up.gradient + down.gradient), up.curvature)


def ordered(sums: Sums, design: Design) -> Sums:
    """From the order of the blocks to the order of the terms."""
    back = design.position
    gradient = sums.gradient[back] if sums.gradient.size else sums.gradient
    curvature = sums.curvature[np.ix_(back, back)] if sums.curvature.size else sums.curvature
    return Sums(sums.loglik, gradient, curvature)
