"""Derived columns and filters: expressions over the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ardchoice._types import AnyArray, Ints
from ardchoice.data.source import ReadingOptions
from ardchoice.data.tables import Table
from ardchoice.errors import ArdchoiceError
from ardchoice.expressions import (
    Expression,
    ExpressionError,
    column_names,
    evaluate_condition,
    parse_expression,
)


def parsed_derivations(derive: Mapping[str, str]) -> dict[str, Expression]:
    """Name of a column -> the expression that makes it."""
    if not isinstance(derive, Mapping):
        raise ArdchoiceError(
            "derive is a dict name -> expression, such as {'TT_H': 'TT / 60'}, not "
            f"{type(derive).__name__}."
        )
    return {str(name): _parsed(f"derive[{name!r}]", text) for name, text in derive.items()}


def _parsed(what: str, text: str) -> Expression:
    try:
        return parse_expression(text)
    except ExpressionError as error:
        raise ExpressionError(f"{what}, {error}") from None


def with_derived(table: Table, options: ReadingOptions) -> Table:
    """The table with its derived columns, which are computed when they are asked for."""
    if not options.derive:
        return table
    return replace(table, derived=tuple(parsed_derivations(options.derive).items()))


def filtered(table: Table, options: ReadingOptions, numbers: Ints) -> tuple[Table, Ints]:
    """The rows where `options.where` holds, and their numbers.

    Parameters
    ----------
    table
        With its derived columns.
    options
    numbers
        Of the rows; shape (rows,).
    """
    if options.where is None or not len(table):
        return table, numbers
    condition = _parsed("where", options.where)
    try:
        holds = evaluate_condition(condition, values_of_column(table), len(table))
    except ExpressionError as error:
        raise ExpressionError(f"where, {error}") from None
    if holds.all():
        return table, numbers
    rows = np.flatnonzero(holds)
    return replace(table, frame=table.frame[rows.tolist()]), numbers[rows]


def values_of_column(table: Table) -> _Lookup:
    """How expressions look up the columns of a table."""
    return _Lookup(table)


class _Lookup:
    """Name of a column -> its values."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __call__(self, name: str) -> AnyArray:
        return self.table.column(name).values


def needed_columns(options: ReadingOptions, wanted: list[str]) -> list[str]:
    """The columns of the table itself from which these, and the filter, can be made."""
    expressions = parsed_derivations(options.derive)
    out: dict[str, None] = {}
    waiting = list(wanted)
    if options.where is not None:
        waiting += column_names(_parsed("where", options.where))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        if name in expressions:
            needed = column_names(expressions[name])
            waiting += [n for n in needed if n != name]
            if name in needed:
                out[name] = None
        else:
            out[name] = None
    return list(out)
