"""Forms with several columns: classes between cuts, pieces between knots, splines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ardchoice.data import Counts, weighted_quantiles
from ardchoice.data import Values as Known
from ardchoice.errors import SpecificationError, TransformError
from ardchoice.space.kmeans import kmeans_cuts
from ardchoice.space.transforms import TRANSFORMS, Parameters, Transform, Values, number_text

MAX_CLASSES = 100
"""Each class is a column; beyond this many, something else was meant."""
MAX_SPLINE_COLUMNS = 20
"""More columns follow the noise."""


@dataclass(frozen=True)
class Classes(Transform):
    """Classes between cuts; the last class has no column."""

    is_classes = True
    k: int = 0

    def __post_init__(self) -> None:
        if not (2 <= self.k <= MAX_CLASSES and float(self.k).is_integer()):
            raise SpecificationError(
                f"{self.name} needs a whole number of classes, from 2 to {MAX_CLASSES}: "
                f"{self.name}(v, 4)."
            )

    @classmethod
    def of_arguments(cls, arguments: tuple[float, ...]) -> Transform:
        """With as many classes."""
        if len(arguments) != 1 or not arguments[0].is_integer():
            raise SpecificationError(f"{cls.name} takes the number of classes: {cls.name}(v, 4).")
        return cls(int(arguments[0]))

    def arguments(self) -> tuple[float, ...]:
        """How many classes."""
        return (self.k,)

    def labels(self, parameters: Parameters) -> tuple[str, ...]:
        """The classes from 1, without the last."""
        return tuple(str(i + 1) for i in range(len(parameters)))

    def _sorted(self, x: Values, counts: Counts | None) -> Values:
        values = np.sort(x) if counts is None else x
        distinct = 1 + np.count_nonzero(np.diff(values))
        if distinct < self.k:
            raise TransformError(
                f"{self.name} cannot make {self.k} classes of {distinct} distinct "
                f"value{'s' if distinct > 1 else ''}."
            )
        return values

    def codes(self, x: Values, parameters: Parameters) -> npt.NDArray[np.int32]:
        """The class of every value, from 0; shape (n,)."""
        return np.searchsorted(np.array(parameters), x, side="right").astype(np.int32)

    def apply(self, x: Values, parameters: Parameters) -> Values:
        """One where the value is in the class; shape (classes - 1, n)."""
        inside = self.codes(x, parameters) == np.arange(len(parameters))[:, None]
        return np.asarray(inside, dtype=float)

    def slope(self, x: Values, parameters: Parameters) -> Values:
        """Zero: classes are steps."""
        return np.zeros((len(parameters), len(x)))


@dataclass(frozen=True)
class Segments(Classes):
    """K classes found by one-dimensional k-means, in ascending order."""

    name = "segments"

    def learn(self, x: Values, counts: Counts | None = None) -> Parameters:
        """The cuts between the classes."""
        return tuple(kmeans_cuts(self._sorted(x, counts), self.k, counts).tolist())


@dataclass(frozen=True)
class Quantiles(Classes):
    """K classes of (nearly) equal size."""

    name = "quantiles"

    def learn(self, x: Values, counts: Counts | None = None) -> Parameters:
        """The cuts between the classes; fewer when values repeat so much that cuts coincide."""
        values = self._sorted(x, counts)
        cuts = weighted_quantiles(Known(values, counts), np.arange(1, self.k) / self.k)
        # A cut before the first value, or with no value since the last cut, makes no class.
        cuts = cuts[np.diff(np.searchsorted(values, cuts), prepend=0) > 0]
        if not len(cuts):
            raise TransformError(
                f"{self.name} cannot make {self.k} classes of equal size: the smallest value, "
                f"{values[0]:g}, is too frequent."
            )
        return tuple(cuts.tolist())


@dataclass(frozen=True)
class Piecewise(Transform):
    """Continuous and linear between knots, with a slope per piece."""

    name = "piecewise"
    knots: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in pairwise(self.knots))
        if not self.knots or not ascending or not np.isfinite(self.knots).all():
            raise SpecificationError(
                "piecewise needs ascending knots, as in piecewise(v, 60, 120)."
            )

    @classmethod
    def of_arguments(cls, arguments: tuple[float, ...]) -> Transform:
        """With these knots."""
        return cls(arguments)

    def arguments(self) -> tuple[float, ...]:
        """The knots."""
        return self.knots

    def labels(self, parameters: Parameters) -> tuple[str, ...]:
        """The pieces by their ends."""
        k = [number_text(knot) for knot in self.knots]
        return (f"<{k[0]}", *(f"{a}-{b}" for a, b in pairwise(k)), f">{k[-1]}")

    def apply(self, x: Values, parameters: Parameters) -> Values:
        """How far each piece is run through; the columns add up to x."""
        low = np.array([-np.inf, *self.knots])[:, None]
        high = np.array([*self.knots, np.inf])[:, None]
        out = np.clip(x, low, high)
        out[1:] -= low[1:]
        return np.asarray(out)

    def slope(self, x: Values, parameters: Parameters) -> Values:
        """One inside the piece, zero elsewhere."""
        piece = np.searchsorted(np.array(self.knots), x, side="right")
        inside = piece == np.arange(len(self.knots) + 1)[:, None]
        return np.asarray(inside, dtype=float)


@dataclass(frozen=True)
class Spline(Transform):
    """Natural cubic spline with knots at quantiles: smooth, and linear beyond the outer knots.

    With knots ξ_1 < ... < ξ_K, K = k + 1, the columns are x and, for j = 1, ..., K - 2,
    (d_j(x) - d_{K-1}(x)) / (ξ_K - ξ_1)² with d_j(x) = ((x - ξ_j)₊³ - (x - ξ_K)₊³) / (ξ_K - ξ_j).

    Parameters
    ----------
    k
        Columns, 2 to 20.
    """

    name = "spline"
    k: int = 3

    def __post_init__(self) -> None:
        if not (2 <= self.k <= MAX_SPLINE_COLUMNS and float(self.k).is_integer()):
            raise SpecificationError(
                f"spline needs a whole number of columns, from 2 to {MAX_SPLINE_COLUMNS}: "
                "spline(v, 3)."
            )

    @classmethod
    def of_arguments(cls, arguments: tuple[float, ...]) -> Transform:
        """With as many columns."""
        if len(arguments) != 1 or not float(arguments[0]).is_integer():
            raise SpecificationError("spline takes the number of its columns: spline(v, 3).")
        return cls(int(arguments[0]))

    def arguments(self) -> tuple[float, ...]:
        """How many columns."""
        return (self.k,)

    def learn(self, x: Values, counts: Counts | None = None) -> Parameters:
        """The knots: the ends, and quantiles between them."""
        values = np.sort(x) if counts is None else x
        inside = weighted_quantiles(Known(values, counts), np.arange(1, self.k) / self.k)
        knots = np.unique([values[0], *inside, values[-1]])
        if len(knots) < self.k + 1:
            raise TransformError(
                f"spline cannot place {self.k + 1} knots: values repeat so much that quantiles "
                f"coincide. Use fewer columns, such as spline(v, {max(2, len(knots) - 1)})."
            )
        return tuple(knots.tolist())

    def labels(self, parameters: Parameters) -> tuple[str, ...]:
        """The columns, from 1."""
        return tuple(str(i + 1) for i in range(len(parameters) - 1))

    def apply(self, x: Values, parameters: Parameters) -> Values:
        """The value, and how the curve bends at every knot; shape (k, n)."""
        return self._columns(x, parameters, lambda away: np.maximum(away, 0.0) ** 3, x)

    def slope(self, x: Values, parameters: Parameters) -> Values:
        """Their derivatives; shape (k, n)."""
        return self._columns(
            x, parameters, lambda away: 3 * np.maximum(away, 0.0) ** 2, np.ones_like(x)
        )

    def _columns(
        self, x: Values, parameters: Parameters, cube: Callable[[Values], Values], first: Values
    ) -> Values:
        knots = np.array(parameters)
        last = cube(x - knots[-1])
        d = [(cube(x - knot) - last) / (knots[-1] - knot) for knot in knots[:-1]]
        scale = (knots[-1] - knots[0]) ** 2
        return np.stack([first, *((one - d[-1]) / scale for one in d[:-1])])


TRANSFORMS.update({how.name: how.of_arguments for how in (Segments, Quantiles, Piecewise, Spline)})
