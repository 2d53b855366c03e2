"""Recoding at the door: levels of a category, merging and pooling them, cutting a number.

What a recoding learns from one table (levels, pooled levels, quantile edges) it applies unchanged
to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.tables import Series
from ardchoice.errors import ArdchoiceError, did_you_mean

CODE_LEVELS = 12
"""A numeric covariate with at most this many distinct whole values is taken for codes."""

POOLED = "other"


@dataclass(frozen=True)
class Numeric:
    """Take a column as a number.

    Parameters
    ----------
    column
        Column name (or a pattern with ``{alt}``, for an attribute); the role's own name if absent.
    """

    column: str | Mapping[str, str] | None = None


@dataclass(frozen=True)
class Categorical:
    """Take a column as a category, recoding its levels on the way.

    Parameters
    ----------
    column
        Column name (or a pattern with ``{alt}``, for an attribute); the role's own name if absent.
    levels
        The levels in the order wanted; values beyond them are an error.
    reference
        The level that gets no column: the last unless told.
    merge
        New level -> the old levels it unites, such as ``{"work": [1, 3], "leisure": [4, 8]}``.
    pool_below
        Levels with a smaller share of the rows than this become one level, ``"other"``.
    missing
        A level for missing values, which are an error otherwise.
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
        Column name; the role's own name if absent.
    edges
        Inner edges, ascending. ``[30, 60]`` makes three classes: ``<30``, ``30-60``, ``>=60``.
    quantiles
        Instead of edges: how many classes of equal size.
    labels
        Names for the classes, one more than edges.
    reference
        The class that gets no column: the last unless told.
    """

    column: str | None = None
    edges: Sequence[float] = ()
    quantiles: int | None = None
    labels: Sequence[str] | None = None
    reference: object = None


Role = Numeric | Categorical | Cut


@dataclass(frozen=True)
class Coded:
    """A column after recoding: numbers, or codes into `levels` (-1 where missing or not allowed).

    `recoding` repeats it on other data; None for numbers.
    """

    values: npt.NDArray[Any]
    levels: tuple[str, ...] | None
    reference: int
    recoding: Recoding | None
    not_allowed: tuple[str, ...] = ()


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
        if self.edges:
            return Coded(_cut_codes(series, self.edges), self.levels, self.reference, self)
        raw, labels = factorise(series)
        missing = [self.missing] if self.missing is not None else []
        named = [self.to_level.get(label, label) for label in labels] + missing
        new = tuple(dict.fromkeys(n for n in named if n not in self.levels))
        levels = self.levels if self.closed else self.levels + new
        index = {level: i for i, level in enumerate(levels)}
        lookup = np.array([index.get(n, -1) for n in named] + ([] if missing else [-1]), dtype=int)
        # `raw` is -1 where missing, so the last entry of the lookup answers for it.
        codes = lookup[raw].astype(np.int32)
        return Coded(codes, levels, self.reference, self, new if self.closed else ())


def label(value: object) -> str:
    """The text of a level: 1.0 is ``1``, True is ``True``, strings are themselves."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def factorise(series: Series) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Codes of the distinct values (-1 where missing) and their labels, in the natural order."""
    if series.order is not None:
        present = set(series.values)
        ordered = [v for v in series.order if v in present]
        position = {v: i for i, v in enumerate(ordered)}
        codes = np.array([position.get(v, -1) for v in series.values], dtype=np.intp)
        return codes, [label(v) for v in ordered]
    try:
        codes, values = pd.factorize(series.values, sort=True)
    except TypeError:  # mixed types do not sort; their labels do
        text = np.array([None if v is None else label(v) for v in series.values], dtype=object)
        codes, values = pd.factorize(text, sort=True)
    return np.asarray(codes, dtype=np.intp), [label(v) for v in values]


def default_role(series: Series) -> Role:
    """Category or number, by what the column looks like."""
    if not series.is_numeric:
        return Categorical()
    present = series.values[np.isfinite(series.values)]
    if np.any(present % 1 != 0):
        return Numeric()
    few = len(np.unique(present)) <= CODE_LEVELS
    return Categorical() if few else Numeric()


def recode(series: Series, role: Role) -> Coded:
    """Turn a column into numbers or codes as its role says, learning what the role leaves open."""
    if isinstance(role, Numeric):
        return Coded(_as_numbers(series), None, 0, None)
    learned = _learn_cut(series, role) if isinstance(role, Cut) else _learn_levels(series, role)
    return learned.apply(series)


def _as_numbers(series: Series) -> npt.NDArray[np.float64]:
    if series.is_numeric:
        return np.asarray(series.values, dtype=float)
    numbers = pd.to_numeric(pd.Series(series.values, dtype=object), errors="coerce")
    wrong = np.flatnonzero(np.asarray(numbers.isna()) & ~series.missing())
    if len(wrong):
        raise ArdchoiceError(
            f"Column {series.name!r} should hold numbers but has {series.values[wrong[0]]!r} "
            f"in row {wrong[0]} ({len(wrong)} such rows). Mend them, or take the column as "
            "Categorical."
        )
    return np.asarray(numbers, dtype=float)


def _learn_levels(series: Series, role: Categorical) -> Recoding:
    codes, labels = factorise(series)
    listed = [label(v) for v in role.levels] if role.levels is not None else None
    to_level = {old: old for old in labels}
    for new, olds in role.merge.items():
        for old in map(label, olds):
            if old not in to_level and old not in (listed or ()):
                raise ArdchoiceError(
                    f"Column {series.name!r}: level {old!r}, to be merged into {new!r}, does not "
                    f"occur. {did_you_mean(old, labels)}"
                )
            to_level[old] = str(new)
    order = list(dict.fromkeys(to_level.get(v, v) for v in (listed or labels)))
    if role.pool_below > 0:
        counts = np.bincount(codes[codes >= 0], minlength=len(labels))
        shares = pd.Series(counts / max(len(codes), 1)).groupby([to_level[v] for v in labels]).sum()
        rare = {v for v in order if shares.get(v, 0.0) < role.pool_below}
        # Pooled levels come first, so that the last level, the usual reference, stays what it was.
        order = ([POOLED] if rare else []) + [v for v in order if v not in rare]
        to_level = {old: POOLED if new in rare else new for old, new in to_level.items()}
    if role.missing is not None and series.missing().any() and role.missing not in order:
        order.insert(0, role.missing)
    return Recoding(
        levels=tuple(order),
        reference=_reference(series.name, order, role.reference),
        to_level=to_level,
        missing=role.missing if role.missing in order else None,
        closed=listed is not None,
    )


def _learn_cut(series: Series, role: Cut) -> Recoding:
    values = _as_numbers(series)
    edges = [float(e) for e in role.edges]
    if role.quantiles is not None:
        grid = np.arange(1, role.quantiles) / role.quantiles
        edges = np.unique(np.quantile(values[np.isfinite(values)], grid)).tolist()
    if not edges or sorted(set(edges)) != edges:
        raise ArdchoiceError(
            f"Column {series.name!r}: a cut needs ascending inner edges such as [30, 60], or "
            f"quantiles=4; got edges={list(role.edges)!r}, quantiles={role.quantiles!r}."
        )
    labels = list(role.labels) if role.labels is not None else _interval_labels(edges)
    if len(labels) != len(edges) + 1:
        raise ArdchoiceError(
            f"Column {series.name!r}: {len(edges)} edges make {len(edges) + 1} classes, but "
            f"{len(labels)} labels were given."
        )
    reference = _reference(series.name, labels, role.reference)
    return Recoding(tuple(labels), reference, {}, edges=tuple(edges))


def _interval_labels(edges: Sequence[float]) -> list[str]:
    text = [f"{e:g}" for e in edges]
    inner = [f"{a}-{b}" for a, b in pairwise(text)]
    return [f"<{text[0]}", *inner, f">={text[-1]}"]


def _cut_codes(series: Series, edges: tuple[float, ...]) -> npt.NDArray[np.int32]:
    values = _as_numbers(series)
    codes = np.digitize(values, edges).astype(np.int32)
    codes[~np.isfinite(values)] = -1
    return codes


def _reference(name: str, levels: Sequence[str], wanted: object) -> int:
    if wanted is None:
        return len(levels) - 1
    if label(wanted) not in levels:
        raise ArdchoiceError(
            f"Column {name!r} has no level {label(wanted)!r} to be the reference. "
            f"{did_you_mean(label(wanted), levels)}"
        )
    return list(levels).index(label(wanted))
