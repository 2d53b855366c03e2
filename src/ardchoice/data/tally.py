"""What the warnings about a table are told from: counts that add up over its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ardchoice._types import Bools
from ardchoice.errors import FIRST_ROWS, first_few

SENTINELS = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)
LARGEST = 1e100
"""Larger numbers are as good as infinite: sums of their squares would be."""
MOST_CODES = 60
"""Beyond this many distinct whole numbers a covariate is surely not a code."""
NOBODY = -1
"""Stands for the alternative of what belongs to none."""

Key = TypeVar("Key")
Value = TypeVar("Value", bound=Any)


@dataclass(frozen=True)
class Rows:
    """How many rows, and the names of the first few."""

    n: int = 0
    names: tuple[str, ...] = ()

    def __add__(self, other: Rows) -> Rows:
        return Rows(self.n + other.n, (*self.names, *other.names)[: FIRST_ROWS + 1])

    def text(self, unit: str) -> str:
        """``3 rows (12, 40, 77)``."""
        return f"{self.n} {unit}{'s' if self.n != 1 else ''} ({first_few(self.names)})"


def some(mask: Bools, names: npt.NDArray[Any]) -> Rows:
    """The rows where a mask is true."""
    rows = np.flatnonzero(mask)
    return Rows(len(rows), tuple(str(s) for s in names[rows[: FIRST_ROWS + 1]]))


@dataclass(frozen=True)
class Spread:
    """Count, mean and squared deviations."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Spread) -> Spread:
        n = self.n + other.n
        if not n:
            return self
        away, share = other.mean - self.mean, other.n / n
        squares = self.squares + other.squares + away**2 * self.n * share
        return Spread(n, self.mean + away * share, squares)

    @property
    def sd(self) -> float:
        """Standard deviation; zero of nothing."""
        return float(np.sqrt(self.squares / self.n)) if self.n else 0.0


@dataclass(frozen=True)
class Numbers:
    """Finite numbers of a column.

    Attributes
    ----------
    low, high
        Of all.
    others
        Least and most of those that are no usual code for missing.
    codes
        Such codes -> the rows that have them.
    spread
    distinct
        Different whole numbers, up to one more than could be codes; empty where some are not whole
        or nobody asked.
    fractions
        Whether some are not whole.
    """

    low: float
    high: float
    others: tuple[float, float]
    codes: Mapping[int, Rows]
    spread: Spread
    distinct: frozenset[float] = frozenset()
    fractions: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether several are all the same."""
        return self.spread.n > 1 and self.low == self.high

    def __add__(self, other: Numbers) -> Numbers:
        fractions = self.fractions or other.fractions
        distinct = frozenset() if fractions else self.distinct | other.distinct
        return Numbers(
            min(self.low, other.low),
            max(self.high, other.high),
            (min(self.others[0], other.others[0]), max(self.others[1], other.others[1])),
            merged(self.codes, other.codes),
            self.spread + other.spread,
            frozenset(sorted(distinct)[: MOST_CODES + 1]),
            fractions,
        )


def count_numbers(
    values: npt.NDArray[Any], use: Bools | None, names: npt.NDArray[Any], *, distinct: bool = False
) -> Numbers:
    """Of the finite values among those to be used."""
    finite = np.abs(values) <= LARGEST
    if use is not None:
        finite &= use
    x = values[finite]
    is_code = np.isin(x, SENTINELS)
    codes = {}
    if is_code.any():
        codes = {
            code: some(finite & (values == code), names)
            for code in SENTINELS
            if (x[is_code] == code).any()
        }
    others = x[~is_code] if codes else x
    mean = float(x.mean()) if len(x) else 0.0
    known: frozenset[float] = frozenset()
    fractions = False
    if distinct:
        once = np.unique(x)
        fractions = bool(np.any(once % 1 != 0))
        known = frozenset() if fractions else frozenset(once[: MOST_CODES + 1].tolist())
    return Numbers(
        float(x.min(initial=np.inf)),
        float(x.max(initial=-np.inf)),
        (float(others.min(initial=np.inf)), float(others.max(initial=-np.inf))),
        codes,
        Spread(len(x), mean, float(((x - mean) ** 2).sum())),
        known,
        fractions,
    )


def merged(a: Mapping[Key, Value], b: Mapping[Key, Value]) -> dict[Key, Value]:
    """Entries of both, added where both have one."""
    out = dict(a)
    for key, value in b.items():
        out[key] = out[key] + value if key in out else value
    return out


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts over the rows of a table.

    Attributes
    ----------
    available, chosen
        How often each alternative is; shape (J,). An unavailable choice does not count.
    single
        Rows with one alternative only.
    numbers
        (Name, alternative) -> what the numbers are like; NOBODY for covariates.
    levels
        Name -> how often each level occurs.
    weighted
        Whether some weight is not zero.
    """

    available: npt.NDArray[np.intp]
    chosen: npt.NDArray[np.intp]
    single: Rows
    numbers: Mapping[tuple[str, int], Numbers]
    levels: Mapping[str, npt.NDArray[np.intp]] = field(default_factory=dict)
    weighted: bool = True

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.available + other.available,
            self.chosen + other.chosen,
            self.single + other.single,
            merged(self.numbers, other.numbers),
            merged(self.levels, other.levels),
            self.weighted or other.weighted,
        )
