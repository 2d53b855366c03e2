"""What is summed over blocks while a mixed logit is estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import Block
from ardchoice.families.mixed.kernel import Rule, simulate
from ardchoice.families.mixed.persons import persons_of
from ardchoice.families.mixed.structure import Structure
from ardchoice.numerics import Sums


@dataclass(frozen=True, eq=False)
class SimulationMeasure:
    """Sums over a block by coefficients and loadings; can be sent to another process.

    Attributes
    ----------
    structure, phi, rule, order, anchor
        As in `simulate`.
    outer
        Whether the curvature is the sum of products of the persons' scores in place of the Hessian.
    """

    structure: Structure
    phi: Floats
    rule: Rule
    order: int = 2
    anchor: Floats | None = None
    outer: bool = False

    def __call__(self, block: Block) -> Sums:
        """Of one block."""
        found = simulate(
            block,
            self.structure,
            self.phi,
            self.rule,
            self.order,  # type: ignore[arg-type]
            self.anchor,
        )
        weight = unit_weights(block, self.structure)
        gradient = found.scores @ weight if self.order else np.empty(0)
        curvature = found.curvature
        if self.outer:
            curvature = (found.scores * weight) @ found.scores.T
        return Sums(float(weight @ found.loglik), gradient, curvature)


def unit_weights(block: Block, structure: Structure) -> Floats:
    """Of the persons of a block; shape (U,)."""
    return persons_of(block, structure.keys).weight


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums over persons of E[z] and E[z z'] given their choices, and of weights."""

    mean: Floats
    square: Floats
    weight: float

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.mean + other.mean, self.square + other.square, self.weight + other.weight
        )


@dataclass(frozen=True, eq=False)
class MomentMeasure:
    """`Moments` of a block; can be sent to another process."""

    structure: Structure
    phi: Floats
    rule: Rule

    def __call__(self, block: Block) -> Moments:
        """Of one block."""
        found = simulate(block, self.structure, self.phi, self.rule, 0)
        weight = float(unit_weights(block, self.structure).sum())
        return Moments(found.node_mean, found.node_square, weight)
