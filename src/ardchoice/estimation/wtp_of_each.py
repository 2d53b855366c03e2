"""Willingness to pay of every situation, and its mean: where the cost is not linear.

With ln(cost), a unit of time is worth more on a dear trip than on a cheap one. What all would pay
together is the mean of what each would pay, Σ w r / Σ w with r = ∂V/∂attribute / ∂V/∂cost. The
ratio of mean marginal utilities would be that of the cheapest trips, where 1 / cost is largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ardchoice._types import Bools, Floats
from ardchoice.data import ChoiceData
from ardchoice.estimation.elasticities import segments
from ardchoice.estimation.mean_tastes import Tastes


class Rows(NamedTuple):
    """Some situations, and the columns of utility differences in them.

    Attributes
    ----------
    rows
    columns
        Level (empty for a slope), alternative -> shape (D, B).
    """

    rows: slice
    columns: Callable[[str, int], Floats]


class Ratio(NamedTuple):
    """What a unit is worth, and its gradient by the parameters; shape (P,)."""

    value: float
    gradient: Floats


class _Sum:
    """Σ w r of a segment at every θ, and its gradient by coefficients where tastes do not vary."""

    def __init__(self, columns: int, points: int) -> None:
        self.values, self.gradient = np.zeros(points), np.zeros(columns)
        self.weight, self.lowest, self.highest = 0.0, np.inf, -np.inf

    def add(self, top: Floats, bottom: Floats, w: Floats) -> None:
        """Marginal utilities at every θ, (M, B)."""
        self.lowest = min(self.lowest, float(bottom.min(initial=np.inf)))
        self.highest = max(self.highest, float(bottom.max(initial=-np.inf)))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.values += (top / bottom) @ w
        self.weight += float(w.sum())

    @property
    def is_defined(self) -> bool:
        """Whether money has utility of one sign in all situations."""
        return self.weight > 0 and (self.highest < 0 or self.lowest > 0)


def mean_ratios(
    data: ChoiceData,
    tastes: Tastes,
    tops: Callable[[], Iterator[Rows]],
    bottoms: Callable[[], Iterator[Rows]],
    levels: Sequence[str],
    group: Sequence[int],
    by: Sequence[str],
    where: Callable[[int, slice], Bools],
) -> dict[str, dict[str, Ratio]]:
    """Level -> segment -> mean of r; without segments in which the utility of money changes sign.

    Parameters
    ----------
    data, tastes
    tops, bottoms
        Of the attribute and of the cost.
    levels
        Of the attribute; one empty text for a slope.
    group
        Alternatives whose situations are averaged together.
    by
        Covariates to segment by.
    where
        Which situations count for an alternative.
    """
    pieces, shape = list(segments(data, by)), tastes.shape
    sums = {level: {name: _Sum(*shape) for name, _ in pieces} for level in levels}
    for top, bottom in zip(tops(), bottoms(), strict=True):
        rows = top.rows
        weights, means = data.weights_of(rows), tastes.of(rows)
        for j in group:
            allowed = where(j, rows)
            below = bottom.columns("", j)
            for level in levels:
                above = top.columns(level, j)
                for name, inside in pieces:
                    use = allowed & inside[rows] & (weights > 0)
                    if use.any():
                        _add(sums[level][name], tastes, above, below, means, weights, use)
    return {
        level: {name: _ratio(s, tastes) for name, s in each.items() if s.is_defined}
        for level, each in sums.items()
    }


def _add(
    total: _Sum,
    tastes: Tastes,
    above: Floats,
    below: Floats,
    means: Floats | None,
    weights: Floats,
    use: Bools,
) -> None:
    """The situations of one alternative on top of a sum."""
    z, x, w = above[:, use], below[:, use], weights[use]
    if means is None:
        top, bottom = tastes.model.beta @ z, tastes.model.beta @ x
        total.add(top[None], bottom[None], w)
        if total.is_defined:
            r = top / bottom
            total.gradient += z @ (w / bottom) - x @ (w * r / bottom)
        return
    of_use = means if means.shape[2] == 1 else means[:, :, use]
    if of_use.shape[2] == 1:
        total.add(of_use[:, :, 0] @ z, of_use[:, :, 0] @ x, w)
    else:
        top, bottom = (np.einsum("mdb,db->mb", of_use, each, optimize=True) for each in (z, x))
        total.add(top, bottom, w)


def _ratio(total: _Sum, tastes: Tastes) -> Ratio:
    values = total.values / total.weight
    if tastes.vary:
        return Ratio(float(values[0]), tastes.gradient(values))
    # What a family has besides coefficients does not change marginal utilities.
    extras = np.zeros(len(tastes.model.theta) - len(tastes.model.beta))
    return Ratio(float(values[0]), np.concatenate([total.gradient / total.weight, extras]))
