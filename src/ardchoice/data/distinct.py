"""The values of an attribute: all of them, or each once with how often, where there are too many.

What is learned of values (an exponent, classes, quantiles) depends on which there are and how
often, so that nothing is lost where the different ones fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats

if TYPE_CHECKING:
    from ardchoice.data.choices import Attribute, ChoiceData

Counts = npt.NDArray[np.int64]

MOST_VALUES = 1 << 24
"""Values that are simply put one behind the other: 128 MB."""
MOST_DISTINCT = 1 << 22
"""Different values that are distinguished; beyond, they are rounded to about five digits."""
ROUNDED = np.int64(-1) << np.int64(36)
"""The bits of a float64 that are kept then: sign, exponent and the first 16 of the fraction."""


@dataclass(frozen=True, eq=False)
class Values:
    """Some values.

    Attributes
    ----------
    values
        In any order, or ascending where they have counts; shape (n,).
    counts
        How often each occurs; None for once. Shape (n,).
    """

    values: Floats
    counts: Counts | None = None

    def __len__(self) -> int:
        return len(self.values)


def values_of(data: ChoiceData, attribute: Attribute, alternatives: tuple[int, ...]) -> Values:
    """All values of an attribute where these alternatives are available."""
    key = ("values", attribute.name, alternatives)
    if len(data) * len(alternatives) <= MOST_VALUES:
        every = [attribute.of(j)[data.available[j]] for j in alternatives]
        return Values(np.concatenate(every))
    return data.cached(key, lambda: _distinct(data, attribute, alternatives))


def _distinct(data: ChoiceData, attribute: Attribute, alternatives: tuple[int, ...]) -> Values:
    """Each value once, ascending, piece by piece."""
    rounded = False
    values, counts = np.empty(0), np.empty(0, dtype=np.int64)
    for rows in data.ranges():
        for j in alternatives:
            here = attribute.of(j, rows)[data.available[j, rows]]
            values, counts, rounded = add_values(values, counts, here, rounded)
    return Values(values, counts)


def add_values(
    values: Floats, counts: Counts, new: Floats, rounded: bool
) -> tuple[Floats, Counts, bool]:
    """Each value once, ascending, with how often, and some more; and whether they are rounded."""
    # Minus zero is zero: it would sort anywhere.
    some, times = np.unique(_rounded(new) if rounded else new + 0.0, return_counts=True)
    values, counts = _union(values, counts, some, times.astype(np.int64))
    if len(values) > MOST_DISTINCT and not rounded:
        values, counts = _union(np.empty(0), counts[:0], _rounded(values), counts)
        rounded = True
    return values, counts, rounded


def _union(a: Floats, n: Counts, b: Floats, m: Counts) -> tuple[Floats, Counts]:
    """Each value of both once, and how often it occurs in both together."""
    if len(b) <= len(a):
        at = np.searchsorted(a, b)
        if (at < len(a)).all() and np.array_equal(a[at], b):  # nothing new, as is usual
            n[at] += m
            return a, n
    values, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, place, np.concatenate([n, m]))
    return values, counts


def _rounded(values: Floats) -> Floats:
    """To 17 binary digits, ties away from zero."""
    half = np.int64(1) << np.int64(35)
    bits = (values + 0.0).view(np.int64) + half
    return np.asarray((bits & ROUNDED).view(np.float64))


def weighted_quantiles(values: Values, shares: Floats) -> Floats:
    """As `numpy.quantile`, of values that count several times; shape of `shares`."""
    if values.counts is None:
        return np.asarray(np.quantile(values.values, shares))
    until = np.cumsum(values.counts)
    place = shares * (until[-1] - 1)
    low = np.floor(place)
    a = values.values[np.searchsorted(until, low, side="right")]
    b = values.values[np.searchsorted(until, np.minimum(low + 1, until[-1] - 1), side="right")]
    t = place - low
    return np.asarray(np.where(t < 0.5, a + (b - a) * t, b - (b - a) * (1 - t)))
