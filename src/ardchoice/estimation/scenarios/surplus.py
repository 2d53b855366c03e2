"""Change of consumer surplus: differences of logsums, in money where a cost is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Bools, Floats
from ardchoice.design import Block, Design
from ardchoice.errors import SpecificationError
from ardchoice.estimation.elasticities import attribute_terms
from ardchoice.estimation.scenarios.apply import ChangedData
from ardchoice.estimation.scenarios.simulator import Segments, Simulator
from ardchoice.families import Logsum

UTILITY = "utility"
"""The unit of a surplus that is not in money."""
DIFFERENCE_STEP = 1e-5
"""Relative step of central differences by a parameter."""
DIFFERENCE_SCALE = 1e-3
"""Least size of a parameter that the step is relative to."""


@dataclass(frozen=True, eq=False)
class Surplus:
    """Change of consumer surplus.

    Attributes
    ----------
    unit
        The cost it is measured in, or ``utility``.
    total, gradient
        Summed over every segment, and its gradient in the order of the terms; (S,) and (S, P).
    weight, counts
        Of the situations that it could be computed for; shape (S,) each.
    note
        Why it is not in money, or not of all situations; empty otherwise.
    """

    unit: str
    total: Floats
    gradient: Floats
    weight: Floats
    counts: Floats
    note: str = ""


def surplus_of(
    simulator: Simulator, changed: ChangedData, segments: Segments, cost: str | None
) -> Surplus:
    """Σ_n w_n (L_n' - L_n) / α_n with logsums L and the marginal utility of money α.

    α_n is minus the mean of ∂V_nj/∂cost over the alternatives that have the cost, weighted by
    their probabilities as observed: what a unit more for everything on offer would take away. With
    a linear, generic cost it is minus its coefficient. A family whose tastes vary has L and α of
    every class or draw.
    """
    _must_have_logsums(simulator)
    measure = _Measure(simulator, changed, segments, cost)
    first = measure(simulator.inside.theta)
    note, unit = "", cost or UTILITY
    if cost is not None and first.n_wrong:
        note = (
            f"The surplus is in utility, not in money: utility does not fall with {cost} in "
            f"{first.n_wrong:,} situations."
        )
        unit, measure = UTILITY, _Measure(simulator, changed, segments, None)
        first = measure(simulator.inside.theta)
    left_out = int(segments.counts[0] - first.counts[0])
    if unit != UTILITY and left_out:
        note = (
            f"{left_out:,} situations have no available alternative with a {cost}: they are not in "
            "the surplus."
        )
    return Surplus(unit, first.total, measure.gradient(), first.weight, first.counts, note)


def _must_have_logsums(simulator: Simulator) -> None:
    inside, piece = simulator.inside, next(simulator.pieces())
    if inside.family.logsums(inside.theta, piece.block, inside.layout) is None:
        raise SpecificationError(
            f"{inside.family.title} has no formula for the expected maximum utility, so that "
            "scenarios have no surplus."
        )


@dataclass(frozen=True, eq=False)
class _Sums:
    """By segment: surplus, weight and number of situations; and where utility rises with cost."""

    total: Floats
    weight: Floats
    counts: Floats
    n_wrong: int

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.total + other.total,
            self.weight + other.weight,
            self.counts + other.counts,
            self.n_wrong + other.n_wrong,
        )


class _Measure:
    """The surplus as a function of θ, in block order."""

    def __init__(
        self, simulator: Simulator, changed: ChangedData, segments: Segments, cost: str | None
    ) -> None:
        self.simulator, self.segments = simulator, segments
        self.changed, self.cost = changed, cost
        self.pairs = list(simulator.pairs(changed))
        self.slopes: list[Block] | None = None
        self.paid = np.zeros(len(simulator.data.alternatives), dtype=bool)
        if cost is not None:
            encoding = simulator.model.encoding
            for term in attribute_terms(encoding, cost):
                self.paid[list(term.alternatives)] = True
            design = Design(simulator.data, encoding, of="slope", attribute=cost)
            self.slopes = [design.block(piece.rows) for piece, _ in self.pairs]

    def __call__(self, theta: Floats) -> _Sums:
        found = [self._of_piece(theta, k) for k in range(len(self.pairs))]
        return sum(found[1:], found[0])

    def gradient(self) -> Floats:
        """By central differences, in the order of the terms; shape (S, P)."""
        theta = self.simulator.inside.theta
        out = np.empty((len(self.segments.names), len(theta)))
        for k, value in enumerate(theta):
            step = DIFFERENCE_STEP * max(abs(value), DIFFERENCE_SCALE)
            up, down = theta.copy(), theta.copy()
            up[k], down[k] = value + step, value - step
            out[:, k] = (self(up).total - self(down).total) / (2 * step)
        gradient = self.simulator.in_term_order(out)
        more = []
        for above, below, width in self.simulator.moved:
            ends = [
                _Measure(end, self.changed, self.segments, self.cost)(theta).total
                for end in (above, below)
            ]
            more.append((ends[0] - ends[1]) / width)
        return np.column_stack([gradient, *more])

    def _of_piece(self, theta: Floats, k: int) -> _Sums:
        piece, after = self.pairs[k]
        inside = self.simulator.inside
        before = piece.block
        kinds = zip(
            inside.family.logsums(theta, before, inside.layout) or (),
            inside.family.logsums(theta, after, inside.layout) or (),
            strict=True,
        )
        gain = np.zeros(before.shape[1])
        wrong = np.zeros(before.shape[1], dtype=bool)
        p = None
        if self.slopes is not None:
            p = inside.family.probabilities(theta, before, inside.layout)
        for old, new in kinds:
            difference = new.weight * new.value - old.weight * old.value
            if p is not None and self.slopes is not None:
                money = self._marginal_utility(old, self.slopes[k], before, p)
                wrong |= money <= 0
                with np.errstate(divide="ignore", invalid="ignore"):
                    difference = difference / money
            gain += difference
        use = np.isfinite(gain) | wrong
        weights = self.segments.weights[:, piece.rows] * use
        inside_segment = (self.segments.weights[:, piece.rows] > 0) & use
        inside_segment[0] = use
        return _Sums(
            weights @ np.where(use & ~wrong, gain, 0.0),
            weights.sum(axis=1),
            inside_segment.sum(axis=1),
            int(wrong.sum()),
        )

    def _marginal_utility(self, kind: Logsum, slopes: Block, block: Block, p: Floats) -> Floats:
        """α, not a number where no alternative has the cost; shape (B,)."""
        slope = np.zeros(block.shape)
        for part in slopes.parts:
            beta = kind.beta[part.columns]
            pattern = "k,kab->ab" if beta.ndim == 1 else "kb,kab->ab"
            slope[list(part.alternatives)] += np.einsum(pattern, beta, part.x)
        use: Bools = np.broadcast_to(self.paid[:, None], block.shape)
        if block.available is not None:
            use = use & block.available
        share = np.where(use, p, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            money = -(share * np.where(use, slope, 0.0)).sum(axis=0) / share.sum(axis=0)
        # A square root is infinitely steep at zero: nobody trades money there.
        return np.where(np.isfinite(money), money, np.nan)
