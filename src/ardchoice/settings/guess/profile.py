"""What a column looks like: enough to guess its role, without its values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice._types import Floats
from ardchoice.data import (
    FALSE_WORDS,
    TRUE_WORDS,
    Series,
    Table,
    as_numbers,
    factorise,
    mostly_numbers,
    one_spelling,
    other_spellings,
)

MAX_LABELS = 1000
"""Beyond this many distinct values their labels are of no use."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Attributes
    ----------
    name
    position
        In the table, from 0.
    rows
        Of the table.
    distinct
        Different values, missing ones aside.
    missing
        Rows without a value.
    numeric, whole
        Whether values are numbers, and all of them whole.
    low, high
        Of numbers; NaN of text.
    labels, shares
        The different values in their natural order, and the share of all rows that have each;
        empty where there are very many.
    codes
        Which value every row has, -1 where missing; shape (rows,).
    numbers
        The values of a numeric column, NaN where missing; empty of text; shape (rows,).
    """

    name: str
    position: int
    rows: int
    distinct: int
    missing: int
    numeric: bool
    whole: bool
    low: float
    high: float
    labels: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    codes: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    numbers: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def is_constant(self) -> bool:
        """Whether there is nothing to tell rows apart by."""
        return self.distinct < 2

    @property
    def is_mark(self) -> bool:
        """Whether all values say yes or no."""
        said = {text.strip().casefold() for text in self.labels}
        return 0 < len(said) <= 2 and said <= TRUE_WORDS | FALSE_WORDS

    @property
    def marked(self) -> npt.NDArray[np.bool_]:
        """Where a mark says yes; shape (rows,)."""
        yes = [text.strip().casefold() in TRUE_WORDS for text in self.labels]
        return np.array([*yes, False], dtype=bool)[self.codes]


def profile_table(table: Table) -> list[Column]:
    """A profile of every column."""
    return [profile_column(table.column(name), i) for i, name in enumerate(table.columns)]


def profile_column(series: Series, position: int = 0) -> Column:
    """A profile of one column."""
    rows = len(series.values)
    missing = int(series.missing().sum())
    codes, labels = _codes(series)
    numeric = mostly_numbers(series) and missing < rows
    low = high = np.nan
    whole = False
    values = np.empty(0)
    if numeric:
        values, refused = as_numbers(series)
        values = np.where(refused | ~np.isfinite(values), np.nan, values)
        usable = values[np.isfinite(values)]
        if len(usable):
            low, high = float(usable.min()), float(usable.max())
            whole = bool(np.all(usable % 1 == 0))
    few = len(labels) <= MAX_LABELS
    counts = np.bincount(codes[codes >= 0], minlength=len(labels)) if few else np.empty(0)
    return Column(
        name=series.name,
        position=position,
        rows=rows,
        distinct=len(labels),
        missing=missing,
        numeric=numeric,
        whole=whole,
        low=low,
        high=high,
        labels=tuple(labels) if few else (),
        shares=tuple(float(c) / max(rows, 1) for c in counts),
        codes=codes,
        numbers=values,
    )


def with_one_spelling(column: Column) -> Column:
    """The column with values that differ by blanks around or capital letters taken for one.

    The most frequent spelling stays, as where choices are read.
    """
    if column.numeric or not column.labels:
        return column
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
    labels = one_spelling(column.labels, counts)
    other = other_spellings(column.labels, labels)
    if not other:
        return column
    place = {text: i for i, text in enumerate(labels)}
    new = np.array([*(place[other.get(text, text)] for text in column.labels), -1], dtype=np.intp)
    shares = np.zeros(len(labels))
    np.add.at(shares, new[:-1], column.shares)
    return replace(
        column,
        distinct=len(labels),
        labels=tuple(labels),
        shares=tuple(map(float, shares)),
        codes=new[column.codes],
    )


def _codes(series: Series) -> tuple[npt.NDArray[np.intp], list[str]]:
    if series.is_numeric and len(pd.unique(series.values)) > MAX_LABELS:
        codes, values = pd.factorize(series.values)
        return np.asarray(codes, dtype=np.intp), [""] * len(values)
    return factorise(series)


def named(columns: Iterable[Column], name: str | None) -> Column | None:
    """The column of a name."""
    return next((c for c in columns if c.name == name), None)
