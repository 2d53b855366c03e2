"""What all rows of a table decide, learned part by part: kinds of variables, and levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray, Ints
from ardchoice.data.assemble import LAYOUTS, no_rows_left, refuse_single_alternative
from ardchoice.data.batches import Files
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.derived import filtered, with_derived
from ardchoice.data.distinct import add_values
from ardchoice.data.layout import PlacedRows, RawVariable
from ardchoice.data.number_text import NumberFormat
from ardchoice.data.recode import (
    CODE_LEVELS,
    Categorical,
    Counted,
    Cut,
    Numeric,
    NumericText,
    Recoding,
    Role,
    factorise,
    pooled,
)
from ardchoice.data.roles import with_missing_values
from ardchoice.data.source import ReadingOptions
from ardchoice.data.tables import Series
from ardchoice.errors import ArdchoiceError, DataError

MOST_DISTINCT_LEVELS = 1_000_000
"""A column with more distinct values is no category."""
MOST_INVALID_ROWS = 1_000_000
"""Rows with errors that are remembered; with more, reading stops."""

# -- Values of one column, part by part ------------------------------------------------------------


class _ColumnValues:
    """The distinct values of a column, as far as they matter, and how often each occurs."""

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
            raise _MixedKindsError(self.name)
        self.numeric = series.is_numeric
        if not series.is_numeric:
            for value, n in pd.Series(values).value_counts(sort=False).items():
                self.texts[value] = self.texts.get(value, 0) + int(n)
            most = len(self.texts)
        else:
            self.whole = self.whole and values.dtype.kind in "iu"
            if not self._is_decided():
                self.values, self.counts, self.rounded = add_values(
                    self.values, self.counts, values.astype(float), self.rounded
                )
            most = len(self.values) if isinstance(self.role, Categorical) else 0
        if most > MOST_DISTINCT_LEVELS:
            raise ArdchoiceError(
                f"Column {self.name!r} has more than {MOST_DISTINCT_LEVELS:,} distinct values: too "
                "many for a category. Read it as Numeric(), cut it, or remove it."
            )

    def _is_decided(self) -> bool:
        """Whether more values would change nothing."""
        if isinstance(self.role, Categorical | Cut):
            return False
        # Numbers are numbers; only a covariate without an explicit role may be codes.
        return self.role is not None or not self.covariate or len(self.values) > CODE_LEVELS

    def counted(self) -> Counted:
        """Each value once, one that is missing if some are, and how often each occurs."""
        values: AnyArray
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
        return Counted(Series(self.name, values, order), counts)


class _MixedKindsError(Exception):
    """A column of a text file is numbers in one part and text in another."""


# -- All variables of a table ----------------------------------------------------------------------


@dataclass
class _VariableValues:
    """What is known of one attribute or covariate."""

    variable: RawVariable
    columns: tuple[_ColumnValues, ...]
    present: dict[str, None] = field(default_factory=dict)


def learn(
    files: Files, options: ReadingOptions, like: ChoiceData | None, columns: list[str] | None
) -> tuple[ChoiceData, Files]:
    """Data without rows that have every kind and level; and how the files are to be read."""
    while True:
        try:
            return _learn_once(files, options, like, columns), files
        except _MixedKindsError as error:
            if files.text is None:
                raise ArdchoiceError(
                    f"Column {error} holds numbers in some of the files of {files.name} and text "
                    "in others. Write it alike in all."
                ) from None
            # As in memory, where a single cell of text makes text of all.
            files = replace(files, as_text=files.as_text | {str(error)})


def _learn_once(
    files: Files, options: ReadingOptions, like: ChoiceData | None, columns: list[str] | None
) -> ChoiceData:
    learned: dict[tuple[str, str], _VariableValues] = {}
    names: _ColumnValues | None = None
    misplaced: list[tuple[Ints, pd.DataFrame]] = []
    rows: PlacedRows | None = None
    for numbers, frame in whole_situations(files, options, columns):
        try:
            rows = LAYOUTS[options.layout](options, files.table(frame), like, numbers)
        except DataError:
            misplaced.append((numbers, frame))
            if sum(len(some) for _, some in misplaced) > MOST_INVALID_ROWS:
                break
            continue
        if rows.unlisted is not None:
            names = names or _ColumnValues(rows.unlisted.name, Categorical(), covariate=False)
            names.add(rows.unlisted)
        for variable in rows.variables():
            known = learned.setdefault((variable.kind, variable.name), _no_values(variable))
            for column, series in zip(known.columns, variable.series, strict=True):
                column.add(series)
            known.present |= dict.fromkeys(variable.present)
    if misplaced:
        # Once more, all together, to report all such rows in one message.
        numbers = np.concatenate([some for some, _ in misplaced])
        frame = pd.concat([some for _, some in misplaced], ignore_index=True)
        LAYOUTS[options.layout](options, files.table(frame), like, numbers)
    if rows is None:
        raise ArdchoiceError(no_rows_left(files.name, options))
    alternatives = rows.names if names is None else tuple(factorise(names.counted().series)[1])
    refuse_single_alternative(alternatives, options)
    return _template(alternatives, learned, like, rows)


def _no_values(variable: RawVariable) -> _VariableValues:
    is_covariate = variable.kind == "covariate"
    columns = (
        _ColumnValues(s.name, variable.role, covariate=is_covariate) for s in variable.series
    )
    return _VariableValues(replace(variable, series=(), index=()), tuple(columns))


def _template(
    names: tuple[str, ...],
    learned: Mapping[tuple[str, str], _VariableValues],
    like: ChoiceData | None,
    rows: PlacedRows,
) -> ChoiceData:
    attributes, covariates = {}, {}
    for (kind, name), known in learned.items():
        levels = _levels(known, like, rows)
        if kind == "covariate":
            covariates[name] = Covariate(name, np.empty(0), *levels)
            continue
        positions = tuple(j for j, a in enumerate(names) if a in known.present)
        if positions:  # else missing everywhere, which every part reports
            empty = np.empty((len(positions), 0))
            attributes[name] = Attribute(name, positions, empty, *levels)
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


def _levels(
    known: _VariableValues, like: ChoiceData | None, rows: PlacedRows
) -> tuple[tuple[str, ...] | None, int, Recoding | None, NumberFormat | None]:
    """Levels, reference and recoding, or how numbers are written as text."""
    each = [column.counted() for column in known.columns]
    recoding = known.variable.known_recoding(like)
    if isinstance(recoding, Recoding):
        coded = recoding.apply(pooled(each).series)
        recoding = replace(recoding, levels=coded.levels or ())
    elif recoding is None:
        recoding = rows.learn_recoding(known.variable, each)
    if isinstance(recoding, Numeric):
        return None, 0, None, recoding.written if isinstance(recoding, NumericText) else None
    return recoding.levels, recoding.reference, recoding, None


def whole_situations(
    files: Files, options: ReadingOptions, columns: list[str] | None
) -> Iterator[tuple[Ints, pd.DataFrame]]:
    """Parts of the rows that the options want, holding whole situations; and the rows' numbers."""
    if options.situation is None:
        yield from wanted_rows(files, options, columns)
        return
    left: pd.DataFrame | None = None
    before = np.empty(0, dtype=np.intp)
    for numbers, frame in wanted_rows(files, options, columns):
        if left is not None:
            frame = pd.concat([left, frame], ignore_index=True)
        numbers = np.concatenate([before, numbers])
        ids = frame[options.situation]
        differ = np.flatnonzero((ids != ids.iloc[-1]).to_numpy())
        cut = int(differ[-1]) + 1 if len(differ) else 0
        left, before = frame.iloc[cut:], numbers[cut:]
        if cut:
            yield numbers[:cut], frame.iloc[:cut]
    if left is not None and len(left):
        yield before, left


def wanted_rows(
    files: Files, options: ReadingOptions, columns: list[str] | None
) -> Iterator[tuple[Ints, pd.DataFrame]]:
    """Parts without the rows that a filter leaves out, and the numbers of their rows."""
    for start, frame in files.batches(columns):
        numbers = start + np.arange(len(frame))
        if options.where is not None:
            table = with_missing_values(with_derived(files.table(frame), options), options)
            numbers = filtered(table, options, numbers)[1]
            frame = frame.iloc[numbers - start].reset_index(drop=True)
        if len(frame):
            yield numbers, frame
