"""`read_wide`, `read_long` and `read_like`: the public functions, which warn of what was found."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from ardchoice._types import Ints
from ardchoice.data.choices import ChoiceData
from ardchoice.data.long import situation_ids
from ardchoice.data.recode import Categorical, Numeric
from ardchoice.data.roles import missing_labels
from ardchoice.data.source import (
    Alternatives,
    Covariates,
    Layout,
    Pattern,
    ReadingOptions,
    WeightKind,
    shared_options,
)
from ardchoice.data.stream import read_table
from ardchoice.data.tables import open_table
from ardchoice.data.units import check_units
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning


def read_wide(
    table: object,
    *,
    alternatives: Alternatives,
    choice: str | None,
    attributes: Mapping[str, Pattern | Numeric | Categorical],
    covariates: Covariates | None = None,
    availability: Pattern | None = None,
    person: str | None = None,
    weight: str | None = None,
    weight_kind: WeightKind = "sampling",
    drop_invalid: bool = False,
    missing_values: Sequence[object] | Mapping[str, Sequence[object]] = (),
    derive: Mapping[str, str] | None = None,
    where: str | None = None,
    max_levels: int = 50,
    units: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    comment: str | None = None,
    skip_rows: int = 0,
    like: ChoiceData | None = None,
    stream: bool | None = None,
) -> ChoiceData:
    """Read choices from a table with one row per choice situation.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet, Excel, Stata, SPSS, a folder of Parquet files; separator,
        encoding and decimal sign are detected) or a data frame (pandas, polars, pyarrow).
    alternatives
        Name -> its code in the choice column; or a list, when the codes are the names.
    choice
        The column with the chosen alternative's code; None for situations to be predicted.
    attributes
        Name -> a pattern such as ``"{alt}_TT"``, or a dict alternative -> column. An alternative
        without such a column does not have the attribute. `Categorical` or `Numeric` around the
        pattern sets how it is read.
    covariates
        Columns that describe the person, or a dict name -> column or role (`Categorical`,
        `Numeric`, `Cut`).
    availability
        Pattern or dict of columns with 1 where the alternative could be chosen. Default: always
        available.
    person, weight
        Columns with the person's id (for panels: repeated choices) and the weight.
    weight_kind
        ``"sampling"``: weights are scaled to a mean of one, so that statistics do not depend on
        their sum, which is noted. ``"frequency"``: weights are counts, and every row is read as
        often as its count says. Default: ``"sampling"``.
    drop_invalid
        Drop the rows with errors, with a warning, instead of raising an error.
    missing_values
        Values that stand for missing ones in the columns of attributes and covariates, such as
        ``[99999, -99]``; or a dict column -> values, with ``"*"`` for all other columns.
    derive
        New column -> an expression over columns, such as
        ``{"TRAIN_CO": "TRAIN_CO * (GA == 0)"}``, in order; a column of the table may be replaced.
        The grammar is ours: nothing is ever evaluated as code.
    where
        A condition over columns, such as ``"PURPOSE in (1, 3) and CHOICE != 0"``: rows where it
        does not hold, or is missing, are dropped. Situations to be predicted are not filtered.
    max_levels
        The most levels that a categorical variable may have unless they are listed; more are an
        error, as are nearly as many as there are rows. Default: 50.
    units
        Attribute or covariate -> its unit, such as ``{"TT": "min", "CO": "CHF"}``: shown in tables,
        figures and reports, which put willingness to pay for time per hour. Default: none.
    labels
        Attribute or covariate -> what reports and figures call it, such as
        ``{"TT": "travel time"}``. Default: its name.
    separator, encoding, decimal
        Of a text table. Default: detected.
    comment
        Of a text table: a character; what follows it on a line is ignored. Default: none.
    skip_rows
        Of a text table: how many lines come before the header. Default: none.
    like
        Earlier data whose recoding of levels is applied again (for prediction).
    stream
        Whether a file is read part by part into compact columns on disk, which are cached for the
        next time, instead of into memory. Default: where it might not fit in memory.

    Returns
    -------
    ChoiceData
    """
    options = _options("wide", locals())
    return _announced(read_table(table, options, like, stream))


def read_long(
    table: object,
    *,
    situation: str | Sequence[str],
    alternative: str,
    chosen: str | None,
    attributes: Sequence[str] | Mapping[str, str | Numeric | Categorical],
    covariates: Covariates | None = None,
    alternatives: Alternatives | None = None,
    person: str | None = None,
    weight: str | None = None,
    weight_kind: WeightKind = "sampling",
    drop_invalid: bool = False,
    missing_values: Sequence[object] | Mapping[str, Sequence[object]] = (),
    derive: Mapping[str, str] | None = None,
    where: str | None = None,
    max_levels: int = 50,
    units: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    comment: str | None = None,
    skip_rows: int = 0,
    like: ChoiceData | None = None,
    stream: bool | None = None,
) -> ChoiceData:
    """Read choices from a table with one row per choice situation and alternative.

    An alternative without a row in a situation was not available there: choice sets may be ragged.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet, Excel, Stata, SPSS, a folder of Parquet files) or a data frame
        (pandas, polars, pyarrow).
    situation, alternative
        Columns with the id of the choice situation and the alternative's name or code. Where only
        several columns together identify the situations: a list, ``["person", "task"]``.
    chosen
        The column that is 1 (or true, yes) in the row of the chosen alternative; None for
        situations to be predicted.
    attributes
        Columns that describe the alternative, or a dict name -> column or role. An alternative
        that has only missing values does not have the attribute.
    covariates
        Columns that describe the person: the same in all rows of a situation.
    alternatives
        The alternatives in the order wanted, or a dict name -> code. Default: those of `like`, or
        else those of the table, sorted.
    person, weight
        Columns with the person's id (for panels: repeated choices) and the weight.
    weight_kind
        ``"sampling"``: weights are scaled to a mean of one, so that statistics do not depend on
        their sum, which is noted. ``"frequency"``: weights are counts, and every row is read as
        often as its count says. Default: ``"sampling"``.
    drop_invalid
        Drop the situations with errors, with a warning, instead of raising an error.
    missing_values
        Values that stand for missing ones in the columns of attributes and covariates, such as
        ``[99999, -99]``; or a dict column -> values, with ``"*"`` for all other columns.
    derive
        New column -> an expression over columns, such as
        ``{"TRAIN_CO": "TRAIN_CO * (GA == 0)"}``, in order; a column of the table may be replaced.
        The grammar is ours: nothing is ever evaluated as code.
    where
        A condition over columns, such as ``"PURPOSE in (1, 3) and CHOICE != 0"``: rows where it
        does not hold, or is missing, are dropped. Situations to be predicted are not filtered.
    max_levels
        The most levels that a categorical variable may have unless they are listed; more are an
        error, as are nearly as many as there are rows. Default: 50.
    units
        Attribute or covariate -> its unit, such as ``{"TT": "min", "CO": "CHF"}``: shown in tables,
        figures and reports, which put willingness to pay for time per hour. Default: none.
    labels
        Attribute or covariate -> what reports and figures call it, such as
        ``{"TT": "travel time"}``. Default: its name.
    separator, encoding, decimal
        Of a text table. Default: detected.
    comment
        Of a text table: a character; what follows it on a line is ignored. Default: none.
    skip_rows
        Of a text table: how many lines come before the header. Default: none.
    like
        Earlier data whose recoding of levels is applied again (for prediction).
    stream
        Whether a file is read part by part into compact columns on disk, which are cached for the
        next time, instead of into memory. Default: where it might not fit in memory. The rows of a
        situation must then be consecutive.

    Returns
    -------
    ChoiceData
    """
    given = {**locals(), "situation": _situation_columns(situation), "choice": chosen}
    options = _options("long", given)
    return _announced(read_table(table, options, like, stream))


def _options(layout: Layout, arguments: Mapping[str, Any]) -> ReadingOptions:
    """The arguments of `read_wide` or `read_long` that are fields of the options."""
    named = {f.name for f in fields(ReadingOptions)}
    given = {name: value for name, value in arguments.items() if name in named}
    given["missing_values"] = missing_labels(given["missing_values"])
    for name in ("derive", "units", "labels"):
        given[name] = {} if given[name] is None else given[name]
    options = ReadingOptions(layout=layout, **given)
    known = {**options.named_attributes(), **options.named_covariates()}
    check_units(options.units, options.labels, known)
    return options


def _announced(data: ChoiceData) -> ChoiceData:
    """Warn of what was found, pointing at the caller of read_wide or read_long."""
    for problem in data.warnings:
        if problem.severity == "warning":
            warnings.warn(problem.message, ArdchoiceWarning, stacklevel=3)
    return data


def _situation_columns(situation: str | Sequence[str]) -> str | tuple[str, ...]:
    if isinstance(situation, str):
        return situation
    columns = tuple(situation) if isinstance(situation, Sequence) else ()
    if not columns or not all(isinstance(c, str) for c in columns):
        raise ArdchoiceError(
            f"situation is a column or a list of columns, such as ['person', 'task'], not "
            f"{situation!r}."
        )
    return columns[0] if len(columns) == 1 else columns


def read_like(
    table: object,
    data: ChoiceData,
    *,
    only: Mapping[str, Collection[str]] | Collection[str] | None = None,
    drop_invalid: bool | None = None,
    observed: bool = False,
) -> ChoiceData:
    """Read another table like the one that data were read from; its notes are on the result.

    Parameters
    ----------
    table
        A path or a data frame with the same columns.
    data
        Earlier data, whose columns, alternatives and recoding are used again.
    only
        The attributes and covariates that are needed. Default: all. As a mapping, of an attribute
        only the alternatives that need it.
    drop_invalid
        Default: as the earlier data were read.
    observed
        Whether to read choices, persons and weights too. Default: situations to be predicted.

    Returns
    -------
    ChoiceData
    """
    source = data.source
    if source is None:
        raise ArdchoiceError(
            "It is not known from which columns these data were read, so that another table "
            "cannot be read alike: read it with ac.read_wide or ac.read_long, and like=."
        )
    unknown = ("choice", "person", "weight", "where")
    changes: dict[str, Any] = {} if observed else dict.fromkeys(unknown)
    if drop_invalid is not None:
        changes["drop_invalid"] = drop_invalid
    columns: dict[str, Any] = {}
    for name, by in source.attributes.items():
        if only is None or name in only:
            needed = only[name] if isinstance(only, Mapping) else by
            columns[name] = {a: column for a, column in by.items() if a in needed}
            if source.layout == "long":
                columns[name] = next(iter(by.values()))
    options = ReadingOptions(
        alternatives=source.alternatives,
        attributes=columns,
        covariates={n: c for n, c in source.covariates.items() if only is None or n in only},
        availability=source.availability or None,
        **shared_options(source) | changes,
    )
    return read_table(table, options, data)


def dropped_situations(read: ChoiceData) -> Ints:
    """Positions in the table of the situations that reading dropped."""
    rows = [p.rows for p in read.warnings if p.code == "dropped"]
    return np.array(sorted({row for some in rows for row in some}), dtype=np.intp)


def every_situation(table: object, read: ChoiceData) -> list[object]:
    """The ids of the situations of a table in order, those dropped in reading among them."""
    dropped = dropped_situations(read)
    source = read.source
    if not len(dropped):
        return list(read.situation.tolist())
    if source is None or source.layout == "wide":
        return list(range(len(read) + len(dropped)))
    ids = situation_ids(open_table(table, source), source.situation or "").values
    return list(pd.Series(pd.unique(ids)).dropna().tolist())
