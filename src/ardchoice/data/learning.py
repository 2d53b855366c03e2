"""What all rows of a table decide, learned part by part: kinds of columns, and levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.batches import Files
from ardchoice.data.checks import Draft
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.distinct import add_values
from ardchoice.data.recode import (
    CODE_LEVELS,
    Categorical,
    Cut,
    Numeric,
    Recoding,
    Role,
    default_role,
    factorise,
    learn_recoding,
    mostly_numbers,
)
from ardchoice.data.source import Source
from ardchoice.data.tables import Series, Table
from ardchoice.errors import ArdchoiceError

Start = int | npt.NDArray[np.intp]
"""The number of the first row, or of every row."""
MOST_LEVELS = 1_000_000
"""Different values of a category: beyond, it is surely none."""


def numbered(start: Start, n: int) -> npt.NDArray[np.intp]:
    """The numbers of n rows."""
    return start + np.arange(n) if isinstance(start, int) else start


@dataclass(frozen=True, eq=False)
class ToLearn:
    """What a part of a table tells about something that all rows decide.

    Attributes
    ----------
    kind, name, role
    series
        Its columns (one per alternative, in a wide table), as far as they count.
    positions
        The alternatives that have it, where columns tell.
    present
        Labels of the alternatives that have it here, where rows tell.
    """

    kind: Literal["alternatives", "attribute", "covariate"]
    name: str
    role: Role | None
    series: tuple[Series, ...]
    positions: tuple[int, ...] = ()
    present: tuple[str, ...] = ()


class Asked(Protocol):
    """What `read_wide` or `read_long` was asked."""

    @property
    def situation(self) -> str | None:
        """A column whose equal values must not be torn apart."""

    @property
    def drop_invalid(self) -> bool:
        """Whether rows with errors are left out."""

    def draft(
        self, source: Table, like: ChoiceData | None, *, learning: bool, start: Start = 0
    ) -> tuple[Draft, Source]:
        """Put together a part of the table."""

    def to_learn(self, source: Table) -> Iterator[ToLearn]:
        """The columns whose kind or levels all rows decide."""

    def names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The alternatives, when the table has these."""

    def label_of(self, name: str) -> str:
        """How an alternative stands in the table."""

    def columns(self) -> dict[str, str]:
        """Role -> column, of what is not learned."""


class _Seen:
    """The different values of one column, as far as they matter, and how often each occurs."""

    def __init__(self, name: str, role: Role | None, *, covariate: bool) -> None:
        self.name, self.role, self.covariate = name, role, covariate
        self.numeric: bool | None = None
        self.whole = True
        self.missing = 0
        self.order: dict[object, None] | None = None
        self.texts: dict[object, int] = {}
        self.values, self.counts = np.empty(0), np.empty(0, dtype=np.int64)
        self.rounded = False

    def add(self, series: Series) -> None:
        """One more part of the column."""
        here = ~series.missing()
        self.missing += len(here) - int(here.sum())
        values = series.values[here]
        if series.order is not None:
            self.order = {**(self.order or {}), **dict.fromkeys(series.order)}
        if not len(values):
            return
        if self.numeric not in (None, series.is_numeric):
            raise _MixedError(self.name)
        self.numeric = series.is_numeric
        if not series.is_numeric:
            for value, n in pd.Series(values).value_counts(sort=False).items():
                self.texts[value] = self.texts.get(value, 0) + int(n)
            most = len(self.texts)
        else:
            self.whole = self.whole and values.dtype.kind in "iu"
            if not self._enough():
                self.values, self.counts, self.rounded = add_values(
                    self.values, self.counts, values.astype(float), self.rounded
                )
            most = len(self.values) if isinstance(self.role, Categorical) else 0
        if most > MOST_LEVELS:
            raise ArdchoiceError(
                f"Column {self.name!r} has more than {MOST_LEVELS:,} different values: too many "
                "for a category. Take it as Numeric(), cut it, or leave it out."
            )

    def _enough(self) -> bool:
        """Whether more values would change nothing."""
        if isinstance(self.role, Categorical | Cut):
            return False
        # Numbers are numbers; only a covariate that nobody spoke of may be codes.
        return self.role is not None or not self.covariate or len(self.values) > CODE_LEVELS

    def series(self) -> tuple[Series, npt.NDArray[np.int64]]:
        """Each value once, one that is missing if some are, and how often each occurs."""
        values: npt.NDArray[Any]
        if self.numeric:
            whole = self.whole and not self.missing and not self.rounded
            values = self.values.astype(np.int64) if whole else self.values
            counts, absent = self.counts, np.array([np.nan])
        else:
            values = np.empty(len(self.texts), dtype=object)
            values[:] = list(self.texts)
            counts = np.array(list(self.texts.values()), dtype=np.int64)
            absent = np.array([None], dtype=object)
        if self.missing:
            values = np.concatenate([values, absent])
            counts = np.append(counts, self.missing)
        order = None if self.order is None else tuple(self.order)
        return Series(self.name, values, order), counts


class _MixedError(Exception):
    """A column of a text file is numbers in one part and text in another."""


@dataclass
class _Learned:
    """What is known of one attribute, covariate or column of alternatives."""

    what: ToLearn
    seen: tuple[_Seen, ...]
    present: dict[str, None] = field(default_factory=dict)


def learn(
    files: Files, asked: Asked, like: ChoiceData | None, columns: list[str]
) -> tuple[ChoiceData, Files]:
    """Data without rows that have every kind and level; and how the files are to be read."""
    while True:
        try:
            return _template(_go_through(files, asked, columns), asked, like), files
        except _MixedError as error:
            if files.text is None:
                raise ArdchoiceError(
                    f"Column {error} holds numbers in some of the files of {files.name} and text "
                    "in others. Write it alike in all."
                ) from None
            # As in memory, where a single cell of text makes text of all.
            files = replace(files, as_text=files.as_text | {str(error)})


def _go_through(files: Files, asked: Asked, columns: list[str]) -> dict[str, _Learned]:
    learned: dict[str, _Learned] = {}
    for _, frame in whole_situations(files, asked, columns):
        for what in asked.to_learn(files.table(frame)):
            key = f"{what.kind} {what.name}"
            if key not in learned:
                is_covariate = what.kind == "covariate"
                role = Categorical() if what.kind == "alternatives" else what.role
                seen = tuple(_Seen(s.name, role, covariate=is_covariate) for s in what.series)
                learned[key] = _Learned(what, seen)
            known = learned[key]
            for one, series in zip(known.seen, what.series, strict=True):
                one.add(series)
            known.present |= dict.fromkeys(what.present)
    return learned


def _template(learned: Mapping[str, _Learned], asked: Asked, like: ChoiceData | None) -> ChoiceData:
    labels: list[str] = []
    attributes, covariates = {}, {}
    for known in learned.values():
        if known.what.kind == "alternatives":
            labels = factorise(known.seen[0].series()[0])[1]
    names = like.alternatives if like is not None and labels else asked.names(labels)
    for known in learned.values():
        name = known.what.name
        if known.what.kind == "attribute":
            positions = known.what.positions
            earlier = None if like is None else like.attributes.get(name)
            if labels:
                # Labels of codes, in the order of the alternatives.
                have = [asked.label_of(a) in known.present for a in names]
                if earlier is not None and like is not None:
                    had = {like.alternatives[j] for j in earlier.alternatives}
                    have = [a in had for a in names]
                positions = tuple(int(j) for j in np.flatnonzero(have))
            if not positions:
                continue  # missing everywhere, which the first part says
            attributes[name] = Attribute(
                name, positions, np.empty((len(positions), 0)), *_levels_of(known, earlier)
            )
        elif known.what.kind == "covariate":
            before = None if like is None else like.covariates.get(name)
            covariates[name] = Covariate(name, np.empty(0), *_levels_of(known, before))
    return ChoiceData(
        alternatives=names,
        available=np.empty((len(names), 0), dtype=bool),
        choice=None,
        attributes=attributes,
        covariates=covariates,
        person=None,
        weight=None,
        situation=np.empty(0),
    )


def _levels_of(
    known: _Learned, earlier: Attribute | Covariate | None
) -> tuple[tuple[str, ...] | None, int, Recoding | None]:
    """Levels, reference and recoding; none for numbers."""
    each = [seen.series() for seen in known.seen]
    series, counts = _pooled(each)
    if earlier is not None:
        if earlier.levels is None or earlier.recoding is None:
            return None, 0, None
        coded = earlier.recoding.apply(series)
        levels = coded.levels or ()
        return levels, coded.reference, replace(earlier.recoding, levels=levels)
    role = known.what.role
    if role is None and known.what.kind == "covariate":
        role = default_role(series)
    elif role is None:
        role = Numeric() if all(mostly_numbers(one) for one, _ in each) else Categorical()
    if isinstance(role, Numeric):
        return None, 0, None
    recoding = learn_recoding(series, role, counts)
    return recoding.levels, recoding.reference, recoding


def _pooled(
    each: Sequence[tuple[Series, npt.NDArray[np.int64]]],
) -> tuple[Series, npt.NDArray[np.int64]]:
    if len(each) == 1:
        return each[0]
    order: dict[object, None] = {}
    for one, _ in each:
        order |= dict.fromkeys(one.order or ())
    known = tuple(order) if all(one.order is not None for one, _ in each) else None
    values = np.concatenate([one.values for one, _ in each])
    return Series(each[0][0].name, values, known), np.concatenate([n for _, n in each])


def whole_situations(
    files: Files, asked: Asked, columns: list[str]
) -> Iterator[tuple[int, pd.DataFrame]]:
    """Parts that tear no situation apart, and the number of the first row of each."""
    if asked.situation is None:
        yield from files.batches(columns)
        return
    left: pd.DataFrame | None = None
    start = 0
    for _, frame in files.batches(columns):
        if left is not None:
            frame = pd.concat([left, frame], ignore_index=True)
        ids = frame[asked.situation]
        differ = np.flatnonzero((ids != ids.iloc[-1]).to_numpy())
        cut = int(differ[-1]) + 1 if len(differ) else 0
        left = frame.iloc[cut:]
        if cut:
            yield start, frame.iloc[:cut]
        start += cut
    if left is not None and len(left):
        yield start, left
