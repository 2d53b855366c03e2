"""Counts over the rows of a table, from which the checks are made; counts of its parts add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ardchoice._types import AnyArray, Bools, Ints
from ardchoice.data.choices import Attribute, Covariate
from ardchoice.data.draft import Draft, RowCount

SENTINEL_VALUES = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)
"""Usual codes for missing values."""
LARGEST_FINITE = 1e100
"""Larger numbers count as infinite: sums of their squares would be."""
MOST_CODE_VALUES = 60
"""A covariate with more distinct whole numbers than this is not a code."""
NO_ALTERNATIVE = -1
"""Position of the alternative of covariates, which belong to none."""

Key = TypeVar("Key")
Value = TypeVar("Value", bound=Any)


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        if not n:
            return self
        difference, share = other.mean - self.mean, other.n / n
        squares = self.squares + other.squares + difference**2 * self.n * share
        return Moments(n, self.mean + difference * share, squares)

    @property
    def sd(self) -> float:
        """Standard deviation; zero of no values."""
        return float(np.sqrt(self.squares / self.n)) if self.n else 0.0


@dataclass(frozen=True)
class NumberSummary:
    """The finite numbers of a column.

    Attributes
    ----------
    low, high
        Minimum and maximum.
    others
        Minimum and maximum of those that are no sentinel value.
    codes
        Sentinel value -> the rows that have it.
    moments
    distinct
        Distinct whole numbers, up to one more than could be codes; empty where some are not whole
        or they were not asked for.
    fractions
        Whether some are not whole.
    """

    low: float
    high: float
    others: tuple[float, float]
    codes: Mapping[int, RowCount]
    moments: Moments
    distinct: frozenset[float] = frozenset()
    fractions: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether there are several and all are equal."""
        return self.moments.n > 1 and self.low == self.high

    def __add__(self, other: NumberSummary) -> NumberSummary:
        fractions = self.fractions or other.fractions
        distinct = frozenset() if fractions else self.distinct | other.distinct
        return NumberSummary(
            min(self.low, other.low),
            max(self.high, other.high),
            (min(self.others[0], other.others[0]), max(self.others[1], other.others[1])),
            _added(self.codes, other.codes),
            self.moments + other.moments,
            frozenset(sorted(distinct)[: MOST_CODE_VALUES + 1]),
            fractions,
        )


def count_numbers(
    values: AnyArray, use: Bools | None, ids: AnyArray, *, distinct: bool = False
) -> NumberSummary:
    """Summarise the finite values of a column where `use` is true (None: everywhere)."""
    finite = np.abs(values) <= LARGEST_FINITE
    if use is not None:
        finite &= use
    x = values[finite]
    is_sentinel = np.isin(x, SENTINEL_VALUES)
    codes = {
        code: RowCount.of(np.flatnonzero(finite & (values == code)), ids)
        for code in (SENTINEL_VALUES if is_sentinel.any() else ())
        if (x[is_sentinel] == code).any()
    }
    others = x[~is_sentinel] if codes else x
    mean = float(x.mean()) if len(x) else 0.0
    known: frozenset[float] = frozenset()
    fractions = False
    if distinct:
        unique = np.unique(x)
        fractions = bool(np.any(unique % 1 != 0))
        known = frozenset() if fractions else frozenset(unique[: MOST_CODE_VALUES + 1].tolist())
    return NumberSummary(
        float(x.min(initial=np.inf)),
        float(x.max(initial=-np.inf)),
        (float(others.min(initial=np.inf)), float(others.max(initial=-np.inf))),
        codes,
        Moments(len(x), mean, float(((x - mean) ** 2).sum())),
        known,
        fractions,
    )


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts over the rows of a table.

    Attributes
    ----------
    available, chosen
        How often each alternative is; shape (J,). An unavailable choice does not count.
    single
        Situations with one available alternative only.
    numbers
        (Name, alternative) -> summary; `NO_ALTERNATIVE` for covariates.
    levels
        Name -> how often each level occurs.
    weighted
        Whether some weight is not zero.
    """

    available: Ints
    chosen: Ints
    single: RowCount
    numbers: Mapping[tuple[str, int], NumberSummary]
    levels: Mapping[str, Ints] = field(default_factory=dict)
    weighted: bool = True

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.available + other.available,
            self.chosen + other.chosen,
            self.single + other.single,
            _added(self.numbers, other.numbers),
            _added(self.levels, other.levels),
            self.weighted or other.weighted,
        )


def _added(a: Mapping[Key, Value], b: Mapping[Key, Value]) -> dict[Key, Value]:
    """Entries of both, added where both have one."""
    return {**a, **{key: a[key] + value if key in a else value for key, value in b.items()}}


@dataclass(frozen=True, eq=False)
class VariableColumn:
    """The values of an attribute for one alternative, or of a covariate (`NO_ALTERNATIVE`).

    `where` names it in messages; `values` are used where `available`; shape (N,).
    """

    variable: Attribute | Covariate
    alternative: int
    where: str
    values: AnyArray
    available: Bools

    @property
    def key(self) -> tuple[str, int]:
        """Under which `Tally.numbers` has it."""
        return self.variable.name, self.alternative


def variable_columns(draft: Draft) -> Iterator[VariableColumn]:
    """Every column of the attributes, then of the covariates."""
    data, source = draft.data, draft.source
    for attribute in data.attributes.values():
        for j, values in zip(attribute.alternatives, attribute.values, strict=True):
            name = data.alternatives[j]
            column = source.attributes[attribute.name][name]
            where = f"{attribute.name} of {name} (column {column!r})"
            yield VariableColumn(attribute, j, where, values, data.available[j])
    always = np.ones(len(data), dtype=bool)
    for covariate in data.covariates.values():
        where = f"{covariate.name} (column {source.covariates[covariate.name]!r})"
        yield VariableColumn(covariate, NO_ALTERNATIVE, where, covariate.values, always)


def count(draft: Draft) -> Tally:
    """Count what the checks need over all rows of a draft."""
    data = draft.data
    available, ids = data.available, data.situation
    chosen = np.zeros(len(data.alternatives), dtype=np.intp)
    if data.choice is not None and len(data):
        known = data.choice >= 0
        picked = np.where(known, data.choice, 0)
        known &= available[picked, np.arange(len(picked))]
        chosen += np.bincount(picked[known], minlength=len(chosen))
    numbers: dict[tuple[str, int], NumberSummary] = {}
    levels: dict[str, Ints] = {}
    for column in variable_columns(draft):
        name, here = column.variable.name, column.available
        if column.variable.levels is None:
            guessed = isinstance(column.variable, Covariate) and name not in draft.source.roles
            guessed = guessed and column.variable.written is None
            numbers[column.key] = count_numbers(column.values, here, ids, distinct=guessed)
            continue
        codes = column.values[here & (column.values >= 0)]
        each = np.bincount(codes, minlength=len(column.variable.levels))
        levels[name] = levels.get(name, 0) + each
    return Tally(
        available=np.count_nonzero(available, axis=1),
        chosen=chosen,
        single=RowCount.of(np.flatnonzero(available.sum(axis=0) == 1), ids),
        numbers=numbers,
        levels=levels,
        weighted=data.weight is None or bool(data.weight.any()),
    )
