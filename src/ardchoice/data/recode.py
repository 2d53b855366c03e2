"""Recoding: levels of a categorical variable, merging and pooling them, cutting a number.

What a recoding learns from one table (levels, pooled levels, quantile edges) it applies unchanged
to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice._types import AnyArray
from ardchoice.data.distinct import Values, weighted_quantiles
from ardchoice.data.number_text import NumberFormat, read_numbers, recognise
from ardchoice.data.tables import Series
from ardchoice.data.tables import label as label
from ardchoice.errors import ArdchoiceError, did_you_mean

CODE_LEVELS = 12
"""A numeric covariate with at most this many distinct whole values is read as codes."""

ROWS_TOGETHER = 512
"""Rows of columns that stand side by side copied at a time: few enough to stay in a cache."""
POOLED_LEVEL = "other"
"""The level that rare ones are pooled into."""
TRUE_WORDS = {"1", "true", "yes", "y", "t"}
FALSE_WORDS = {"0", "false", "no", "n", "f"}


@dataclass(frozen=True)
class Numeric:
    """Read a column as a number.

    Parameters
    ----------
    column
        Column name (or a pattern with ``{alt}``, for an attribute). Default: the role's own name.
    """

    column: str | Mapping[str, str] | None = None


@dataclass(frozen=True)
class Categorical:
    """Read a column as a categorical variable, and recode its levels.

    Parameters
    ----------
    column
        Column name (or a pattern with ``{alt}``, for an attribute). Default: the role's own name.
    levels
        The levels in the order wanted; values beyond them are an error.
    reference
        The level that gets no dummy. Default: the last.
    merge
        New level -> the old levels it unites, such as ``{"work": [1, 3], "leisure": [4, 8]}``.
    pool_below
        Levels with a smaller share of the rows than this become one level, ``"other"``.
    missing
        A level for missing values, which are an error otherwise. It may be merged and pooled like
        any other.
    """

    column: str | Mapping[str, str] | None = None
    levels: Sequence[object] | None = None
    reference: object = None
    merge: Mapping[str, Sequence[object]] = field(default_factory=dict)
    pool_below: float = 0.0
    missing: str | None = None


@dataclass(frozen=True)
class Cut:
    """Cut a number into classes ``[edge, next edge)``.

    Parameters
    ----------
    column
        Column name. Default: the role's own name.
    edges
        Inner edges, ascending. ``[30, 60]`` makes three classes: ``<30``, ``30-60``, ``>=60``.
    quantiles
        Instead of edges: how many classes of equal size.
    labels
        Names for the classes, one more than edges.
    reference
        The class that gets no dummy. Default: the last.
    missing
        A level for missing values, which are an error otherwise.
    """

    column: str | None = None
    edges: Sequence[float] = ()
    quantiles: int | None = None
    labels: Sequence[str] | None = None
    reference: object = None
    missing: str | None = None


Role = Numeric | Categorical | Cut


@dataclass(frozen=True)
class NumericText(Numeric):
    """Read a column as numbers that are written as text in some format."""

    written: NumberFormat = field(default_factory=NumberFormat)


@dataclass(frozen=True)
class Coded:
    """A column after recoding: numbers (NaN where missing), or codes into `levels` (-1 there).

    `recoding` repeats it on other data; None for numbers. `refused` marks the values that are no
    number or not among the levels listed. They hold 0, so that they do not count as missing too:
    their rows are refused or dropped anyway. `written` is how numbers are written as text.
    """

    values: npt.NDArray[Any]
    levels: tuple[str, ...] | None
    reference: int
    recoding: Recoding | None
    refused: npt.NDArray[np.bool_]
    written: NumberFormat | None = None


@dataclass(frozen=True)
class Recoding:
    """What was learned: raw label -> level, or edges -> class, and the reference level."""

    levels: tuple[str, ...]
    reference: int
    to_level: Mapping[str, str]
    edges: tuple[float, ...] = ()
    missing: str | None = None
    closed: bool = False
    """Values without a level are not allowed (the levels were listed), instead of new levels."""

    def apply(self, series: Series) -> Coded:
        """Recode another column the same way; a value never seen becomes a level of its own."""
        absent = -1 if self.missing is None else self.levels.index(self.missing)
        if self.edges:
            return self._cut(series, absent)
        raw, labels = factorise(series)
        named = [self.to_level.get(text, text) for text in labels]
        new = () if self.closed else dict.fromkeys(n for n in named if n not in self.levels)
        levels = (*self.levels, *new)
        index = {level: i for i, level in enumerate(levels)}
        # `raw` is -1 where missing, so the last entry of the lookup answers for it.
        lookup = np.array([index.get(n, -2) for n in named] + [absent], dtype=np.int32)
        codes = lookup[raw]
        refused = codes == -2
        codes[refused] = 0
        return Coded(codes, levels, self.reference, self, refused)

    def _cut(self, series: Series, absent: int) -> Coded:
        values, refused = as_numbers(series)
        refused |= np.isinf(values)
        codes = np.digitize(values, self.edges).astype(np.int32)
        codes += self.missing is not None  # the level for missing comes first
        codes[np.isnan(values)] = absent
        codes[refused] = 0
        return Coded(codes, self.levels, self.reference, self, refused)


def factorise(series: Series) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Codes of the distinct values (-1 where missing) and their labels, in the natural order.

    That is the order the column declares, or else the order of size, also for numbers that are
    written as text, or else the alphabet.
    """
    if series.order is not None:
        declared = pd.Categorical(series.values, categories=list(series.order))
        used = declared.remove_unused_categories()
        return np.asarray(used.codes, dtype=np.intp), [label(v) for v in used.categories]
    try:
        codes, values = pd.factorize(series.values, sort=True)
    except TypeError:  # mixed types do not sort; their labels do
        text = np.array([None if v is None else label(v) for v in series.values], dtype=object)
        codes, values = pd.factorize(text, sort=True)
    labels = [label(v) for v in values]
    sizes = pd.to_numeric(pd.Series(labels, dtype=object), errors="coerce").to_numpy(dtype=float)
    if series.is_numeric or np.isnan(sizes).any():
        return np.asarray(codes, dtype=np.intp), labels
    by_size = np.argsort(sizes, kind="stable")
    place = np.append(np.argsort(by_size), -1)
    return place[codes], [labels[i] for i in by_size]


def yes_or_no(series: Series) -> npt.NDArray[np.int8]:
    """1 where the value is 1, true or yes, 0 where it is 0, false or no, -1 elsewhere."""
    raw, labels = factorise(series)
    words = [text.strip().casefold() for text in labels]
    lookup = [1 if w in TRUE_WORDS else 0 if w in FALSE_WORDS else -1 for w in words]
    return np.array([*lookup, -1], dtype=np.int8)[raw]


def as_numbers(
    series: Series, written: NumberFormat | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Values as float64 (NaN where missing) and where they are no numbers (0 there).

    Texts such as ``12 min`` are numbers too, in the format given or recognised.
    """
    if series.is_numeric:
        return np.array(series.values, dtype=float), np.zeros(len(series.values), dtype=bool)
    values, refused = read_numbers(series.values, written)
    values[refused] = 0.0
    return values, refused


def stacked_numbers(columns: Sequence[AnyArray]) -> npt.NDArray[np.float64]:
    """Columns of numbers one behind the other, as float64.

    Columns of one table often stand side by side in memory, row by row: they are then copied some
    rows at a time, so that what is fetched for one is still there for its neighbours.
    """
    out = np.empty(sum(map(len, columns)))
    if len(columns) > 1 and len({len(one) for one in columns}) == 1:
        grid, rows = out.reshape(len(columns), -1), len(columns[0])
        beside = any(one.strides != (one.itemsize,) for one in columns)
        step = ROWS_TOGETHER if beside else max(rows, 1)
        for first in range(0, rows, step):
            here = slice(first, first + step)
            for target, one in zip(grid, columns, strict=True):
                target[here] = one[here]
        return out
    start = 0
    for one in columns:
        out[start : start + len(one)] = one
        start += len(one)
    return out


def number_format(
    series: Series, decimal: str | None, likely: str | None = None
) -> NumberFormat | None:
    """How the numbers of a column are written as text; None where all are plain, or none are.

    Raises
    ------
    AmbiguousNumbersError
        Where they can be read in two ways.
    """
    if series.is_numeric or series.order is not None:
        return None
    distinct = _distinct(series).values
    plain = pd.to_numeric(pd.Series(distinct, dtype=object), errors="coerce")
    if not plain.isna().any():
        return None
    return recognise(map(str, distinct), decimal, likely)


def mostly_numbers(series: Series, written: NumberFormat | None = None) -> bool:
    """Whether a column holds numbers, or text of which more than half are numbers."""
    if series.is_numeric or series.order is not None:
        return series.is_numeric
    refused = as_numbers(_distinct(series), written)[1]
    return bool(2 * refused.sum() < max(len(refused), 1))


def default_role(series: Series) -> Role:
    """Category or number, by what the column looks like."""
    values, refused = as_numbers(_distinct(series))
    few = len(values) <= CODE_LEVELS
    if not series.is_numeric:
        # A column of numbers turns into text when one cell is not a number: better reported.
        stray = refused.any() and not few and mostly_numbers(series)
        # Or all of its numbers are written as text, such as 1,234 or 12 min.
        plain = pd.to_numeric(pd.Series(_distinct(series).values, dtype=object), errors="coerce")
        as_text = not few and not refused.any() and bool(plain.isna().any())
        return Numeric() if stray or as_text else Categorical()
    whole = np.isfinite(values).all() and not np.any(values % 1)
    return Categorical() if few and whole else Numeric()


def _distinct(series: Series) -> Series:
    return replace(series, values=pd.unique(series.values[~series.missing()]))


def recode(series: Series, role: Role) -> Coded:
    """Turn a column into numbers or codes as its role says, learning what the role leaves open."""
    if isinstance(role, Numeric):
        written = role.written if isinstance(role, NumericText) else None
        values, refused = as_numbers(series, written)
        return Coded(values, None, 0, None, refused, written)
    return learn_recoding(Counted(series), role).apply(series)


@dataclass(frozen=True, eq=False)
class Counted:
    """Values of a column, and how often each occurs; None where they are all values."""

    series: Series
    counts: npt.NDArray[np.int64] | None = None

    @property
    def n_present(self) -> int:
        """How many values are not missing."""
        here = ~self.series.missing()
        return int(here.sum() if self.counts is None else self.counts[here].sum())


def pooled(each: Sequence[Counted]) -> Counted:
    """Columns one behind the other: the levels of an attribute are those of all alternatives."""
    if len(each) == 1:
        return each[0]
    orders = [one.series.order for one in each]
    declared = dict.fromkeys(value for order in orders for value in order or ())
    order = None if None in orders else tuple(declared)
    values: AnyArray = np.concatenate([one.series.values for one in each])
    counts = [one.counts for one in each if one.counts is not None]
    series = Series(each[0].series.name, values, order)
    return Counted(series, np.concatenate(counts) if counts else None)


def learn_recoding(counted: Counted, role: Categorical | Cut) -> Recoding:
    """What a role leaves open, from all values or from each once with how often."""
    if isinstance(role, Cut):
        return _learn_cut(counted.series, role, counted.counts)
    return _learn_levels(counted.series, role, counted.counts)


def _learn_levels(
    series: Series, role: Categorical, counts: npt.NDArray[np.int64] | None
) -> Recoding:
    codes, labels = factorise(series)
    listed = [label(v) for v in role.levels] if role.levels is not None else None
    absent = role.missing if role.missing is not None and series.missing().any() else None
    known = [*labels, *(listed or ())]
    to_level = _merged(series.name, role, known, labels)
    order = list(dict.fromkeys(to_level[v] for v in (listed or labels)))
    if absent is not None and to_level[absent] not in order:
        order.insert(0, to_level[absent])
    if role.pool_below > 0:
        # Where missing, the code is -1: the last of the labels here.
        each = [*(to_level[v] for v in labels), *([] if absent is None else [to_level[absent]])]
        number = np.bincount(codes % (len(labels) + 1), counts, minlength=len(labels) + 1)
        shares = pd.Series(number[: len(each)] / max(number.sum(), 1)).groupby(each).sum()
        rare = {v for v in order if shares.get(v, 0.0) < role.pool_below}
        # Pooled levels come first, so that the last level, the usual reference, stays what it was.
        order = [v for v in order if v not in rare]
        order = [POOLED_LEVEL, *order] if rare and POOLED_LEVEL not in order else order
        to_level = {old: POOLED_LEVEL if new in rare else new for old, new in to_level.items()}
    missing = None if role.missing is None else to_level[role.missing]
    return Recoding(
        levels=tuple(order),
        reference=_reference(series.name, order, role.reference),
        to_level={old: to_level[old] for old in known},
        missing=missing if missing in order else None,
        closed=listed is not None,
    )


def _merged(name: str, role: Categorical, known: list[str], labels: list[str]) -> dict[str, str]:
    """Old level -> the level that it is merged into, or itself."""
    to_level = {old: old for old in [*known, *([] if role.missing is None else [role.missing])]}
    for new, olds in role.merge.items():
        for old in map(label, olds):
            if old not in to_level:
                raise ArdchoiceError(
                    f"Column {name!r}: level {old!r}, to be merged into {new!r}, does not "
                    f"occur. {did_you_mean(old, labels)}"
                )
            if to_level[old] != old:
                raise ArdchoiceError(
                    f"Column {name!r}: level {old!r} is to be merged into both "
                    f"{to_level[old]!r} and {new!r}; keep it in one."
                )
            to_level[old] = str(new)
    return to_level


def _learn_cut(series: Series, role: Cut, number: npt.NDArray[np.int64] | None) -> Recoding:
    values, refused = as_numbers(series)
    may = np.isfinite(values) & ~refused
    usable = values[may]
    edges = [float(e) for e in role.edges]
    if role.quantiles is not None and len(usable):
        grid = np.arange(1, role.quantiles) / role.quantiles
        known = Values(usable)
        if number is not None:
            order = np.argsort(usable)
            known = Values(usable[order], number[may][order])
        edges = np.unique(weighted_quantiles(known, grid)).tolist()
        edges = [e for e in edges if e > usable.min()]  # ties would leave the first class empty
    if not edges or sorted(set(edges)) != edges:
        raise ArdchoiceError(
            f"Column {series.name!r}: a cut needs ascending inner edges such as [30, 60], or "
            f"quantiles=4 of a column with different values; got edges={list(role.edges)!r}, "
            f"quantiles={role.quantiles!r}."
        )
    labels = list(role.labels) if role.labels is not None else _interval_labels(edges)
    if len(set(labels)) != len(edges) + 1:
        raise ArdchoiceError(
            f"Column {series.name!r}: {len(edges)} edges make {len(edges) + 1} classes, but "
            f"{len(set(labels))} different labels were given."
        )
    missing = role.missing if series.missing().any() else None
    levels = labels if missing is None else [missing, *labels]
    reference = _reference(series.name, levels, role.reference)
    return Recoding(tuple(levels), reference, {}, edges=tuple(edges), missing=missing)


def _interval_labels(edges: Sequence[float]) -> list[str]:
    text = [label(e) if e.is_integer() else f"{e:g}" for e in edges]
    if len(set(text)) < len(text):
        text = [repr(e) for e in edges]
    inner = [f"{a}-{b}" for a, b in pairwise(text)]
    return [f"<{text[0]}", *inner, f">={text[-1]}"]


def _reference(name: str, levels: Sequence[str], wanted: object) -> int:
    if wanted is None:
        return len(levels) - 1
    if label(wanted) not in levels:
        raise ArdchoiceError(
            f"Column {name!r} has no level {label(wanted)!r} to be the reference. "
            f"{did_you_mean(label(wanted), levels)}"
        )
    return list(levels).index(label(wanted))
