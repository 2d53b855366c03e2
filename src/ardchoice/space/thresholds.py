"""Forms whose thresholds the choices decide: pieces and classes between estimated cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice.data import Counts, weighted_quantiles
from ardchoice.data import Values as Known
from ardchoice.errors import SpecificationError, TransformError
from ardchoice.space.pieces import Classes, Piecewise
from ardchoice.space.transforms import (
    TRANSFORMS,
    Parameters,
    ShapeParameter,
    Transform,
    Values,
)

MAX_THRESHOLDS = 3
"""More are better looked for with a spline."""
OUTER_SHARE = 0.02
"""Of the values on either side, among which no threshold is looked for."""


@dataclass(frozen=True)
class Thresholds(Transform):
    """Continuous and linear between thresholds that the choices decide, with a slope per piece.

    Like `Piecewise`, but its knots are estimated with the coefficients.

    Parameters
    ----------
    k
        How many thresholds, 1 to 3.
    """

    name = "thresholds"
    k: int = 1

    def __post_init__(self) -> None:
        _must_be_few(self.name, self.k, 1, "thresholds", "thresholds(v, 1)")

    @classmethod
    def of_arguments(cls, arguments: tuple[float, ...]) -> Transform:
        """With as many thresholds; one without a number."""
        if len(arguments) > 1 or not all(float(a).is_integer() for a in arguments):
            raise SpecificationError(
                "thresholds takes how many there are: thresholds(v, 1). Where they are known, "
                "write piecewise(v, 60, 120)."
            )
        return cls(*map(int, arguments))

    def arguments(self) -> tuple[float, ...]:
        """How many thresholds."""
        return (self.k,)

    def learn(self, x: Values, counts: Counts | None = None) -> Parameters:
        """Where the estimation of thresholds starts: quantiles."""
        return _first_cuts(self.name, x, counts, self.k, 2 * (self.k + 1))

    def shapes(self) -> tuple[ShapeParameter, ...]:
        """Every threshold."""
        return tuple(ShapeParameter(i, "threshold", 1) for i in range(self.k))

    def shape_limits(
        self, x: Values, parameters: Parameters, counts: Counts | None = None
    ) -> tuple[tuple[float, float], ...]:
        """Between the smallest and the largest values: every piece has some."""
        return (_inner_range(x, counts),) * self.k

    def labels(self, parameters: Parameters) -> tuple[str, ...]:
        """The pieces, from 1."""
        return tuple(str(i + 1) for i in range(len(parameters) + 1))

    def apply(self, x: Values, parameters: Parameters) -> Values:
        """How far each piece is run through; the columns add up to x."""
        return Piecewise(parameters).apply(x, ())

    def slope(self, x: Values, parameters: Parameters) -> Values:
        """One inside the piece, zero elsewhere."""
        return Piecewise(parameters).slope(x, ())


@dataclass(frozen=True)
class Steps(Classes):
    """K classes between cuts that the choices decide."""

    name = "steps"

    def __post_init__(self) -> None:
        _must_be_few(self.name, self.k, 2, "classes", "steps(v, 2)")

    def learn(self, x: Values, counts: Counts | None = None) -> Parameters:
        """Where the estimation of cuts starts: quantiles."""
        return _first_cuts(self.name, x, counts, self.k - 1, self.k)

    def shapes(self) -> tuple[ShapeParameter, ...]:
        """Every cut."""
        return tuple(ShapeParameter(i, "threshold", 0) for i in range(self.k - 1))

    def shape_limits(
        self, x: Values, parameters: Parameters, counts: Counts | None = None
    ) -> tuple[tuple[float, float], ...]:
        """Between the smallest and the largest values: every class has some."""
        return (_inner_range(x, counts),) * (self.k - 1)


def _must_be_few(name: str, k: float, least: int, what: str, example: str) -> None:
    most = MAX_THRESHOLDS + least - 1
    if not (least <= k <= most and float(k).is_integer()):
        raise SpecificationError(
            f"{name} needs a whole number of {what}, from {least} to {most}: {example}."
        )


def _first_cuts(name: str, x: Values, counts: Counts | None, k: int, distinct: int) -> Parameters:
    """K cuts between different values, at quantiles."""
    known = np.unique(x)
    if len(known) < distinct:
        raise TransformError(
            f"{name} needs {distinct} distinct values to place {k} threshold"
            f"{'s' if k > 1 else ''}, and there {'are' if len(known) > 1 else 'is'} {len(known)}."
        )
    values = np.sort(x) if counts is None else x
    wanted = weighted_quantiles(Known(values, counts), np.arange(1, k + 1) / (k + 1))
    # Between neighbours, each at another place, with a value on either side.
    places = np.clip(np.searchsorted(known, wanted, side="right"), 1, len(known) - 1)
    for i in range(1, k):
        places[i] = max(places[i], places[i - 1] + 1)
    for i in reversed(range(k)):
        places[i] = min(places[i], len(known) - (k - i))
    return tuple((0.5 * (known[places - 1] + known[places])).tolist())


def _inner_range(x: Values, counts: Counts | None) -> tuple[float, float]:
    """Where a threshold has values on both sides; all values but the outer ones."""
    known = np.unique(x)
    values = np.sort(x) if counts is None else x
    tails = [OUTER_SHARE, 1 - OUTER_SHARE]
    low, high = weighted_quantiles(Known(values, counts), np.array(tails))
    inside = 0.5 * (known[1:] + known[:-1])
    return float(max(low, inside[0])), float(min(high, inside[-1]))


TRANSFORMS.update({how.name: how.of_arguments for how in (Thresholds, Steps)})
