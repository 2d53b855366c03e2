"""What wide and long tables have in common once their rows are placed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ardchoice._types import AnyArray, Bools, Ints
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.derived import filtered, with_derived
from ardchoice.data.draft import SituationIndex
from ardchoice.data.number_text import AmbiguousNumbersError, NumberFormat
from ardchoice.data.recode import (
    CODE_LEVELS,
    Categorical,
    Counted,
    Numeric,
    NumericText,
    Recoding,
    Role,
    default_role,
    learn_recoding,
    mostly_numbers,
    number_format,
    pooled,
)
from ardchoice.data.roles import as_role, column_of, must_have, with_missing_values
from ardchoice.data.source import ReadingOptions
from ardchoice.data.tables import Series, Table
from ardchoice.errors import DataError, Problem, first_few

NEARLY_ALL_ROWS = 0.5
"""A variable with as many levels as this share of its values is an id, not a category."""
Decimals = tuple[str | None, str | None]
"""The decimal sign that the options give, and the one that the file shows."""


@dataclass(frozen=True, eq=False)
class RawVariable:
    """The columns of one attribute or covariate in a table, or in a part of one.

    Attributes
    ----------
    kind, name, role
    series
        Its values where available: in a wide table one column per alternative that has it.
    labels, index
        What messages call each of these columns, and the situations of its rows.
    columns
        Alternative -> column; ``""`` for the alternative of a covariate.
    present
        Alternatives that have the attribute.
    """

    kind: Literal["attribute", "covariate"]
    name: str
    role: Role | None
    series: tuple[Series, ...]
    labels: tuple[str, ...]
    index: tuple[SituationIndex, ...]
    columns: Mapping[str, str]
    present: tuple[str, ...] = ()

    def known_recoding(self, known: ChoiceData | None) -> Recoding | Numeric | None:
        """How earlier data coded the variable; None where they do not have it."""
        if known is None:
            return None
        variables: Mapping[str, Any] = (
            known.attributes if self.kind == "attribute" else known.covariates
        )
        earlier: Attribute | Covariate | None = variables.get(self.name)
        if earlier is None:
            return None
        if earlier.levels is not None and earlier.recoding is None:
            return Recoding(earlier.levels, earlier.reference, {})
        if earlier.recoding is None:
            return Numeric() if earlier.written is None else NumericText(written=earlier.written)
        return earlier.recoding

    def learn_recoding(self, each: Sequence[Counted], decimals: Decimals) -> Recoding | Numeric:
        """Its kind, and its levels or how its numbers are written, from the values of its columns.

        Raises
        ------
        DataError
            Some columns hold numbers and others text; numbers can be read in two ways.
        """
        role = self.role
        if role is None and self.kind == "covariate":
            role = default_role(each[0].series)
        elif role is None:
            role = self._attribute_role(each, decimals)
        if not isinstance(role, Numeric):
            return learn_recoding(pooled(each), role)
        written = self._written(each, decimals)
        return role if written is None else NumericText(role.column, written)

    def _attribute_role(self, each: Sequence[Counted], decimals: Decimals) -> Role:
        """Numbers or categories, the same for all alternatives."""
        numeric = [mostly_numbers(one.series) for one in each]
        if not all(numeric):
            # Perhaps numbers that only all columns together show how to read, or that can be read
            # in two ways, which is another error.
            written = self._written(each, decimals)
            numeric = [
                n or mostly_numbers(e.series, written) for n, e in zip(numeric, each, strict=True)
            ]
        known = [len(one.series.values) > 0 and not one.series.missing().all() for one in each]
        if len({n for n, k in zip(numeric, known, strict=True) if k}) > 1:
            raise DataError([self._mixed_kinds(each, numeric)])
        return Numeric() if all(numeric) else Categorical()

    def _mixed_kinds(self, each: Sequence[Counted], numeric: Sequence[bool]) -> Problem:
        def shown(wanted: bool) -> str:
            one, label = next(
                (e.series, label)
                for e, label, n in zip(each, self.labels, numeric, strict=True)
                if n is wanted
            )
            values = first_few((repr(v) for v in one.values[~one.missing()]), 3)
            return f"{label} (column {one.name!r}: {values})"

        return Problem(
            "error",
            "mixed-kinds",
            f"{self.name} is a number in {shown(True)} and text in {shown(False)}. Make it the "
            "same in all: fix the column, give it the role Numeric() or Categorical(), or give "
            "the two different names.",
        )

    def _written(self, each: Sequence[Counted], decimals: Decimals) -> NumberFormat | None:
        """How numbers are written as text, in all columns together."""
        texts = [one for one in each if not one.series.is_numeric]
        if not texts:
            return None
        try:
            return number_format(pooled(texts).series, *decimals)
        except AmbiguousNumbersError as error:
            names = first_few(dict.fromkeys(repr(one.series.name) for one in texts))
            message = f"{self.name} (column {names}) has {error}."
            raise DataError([Problem("error", "ambiguous-numbers", message)]) from None


class PlacedRows:
    """Which situation and alternative every row of a table, or of a part of one, belongs to.

    Attributes
    ----------
    options, table
    known
        Data that decide which alternatives there are and which attributes each has.
    start
        The number of the first row, or of every row; a parameter only.
    checking
        Whether to look for problems of single situations.
    codes, names
        Alternative -> label of its code; the alternatives.
    index
        Of columns with one value per situation.
    available
        Shape (J, N).
    availability
        Alternative -> column.
    found
        Problems so far.
    unlisted
        The column that names the alternatives where they are to be learned from it.
    """

    codes: dict[str, str]
    index: SituationIndex
    available: Bools
    unlisted: Series | None = None

    def __init__(
        self,
        options: ReadingOptions,
        table: Table,
        known: ChoiceData | None,
        start: int | Ints = 0,
        *,
        checking: bool = False,
    ) -> None:
        self.options, self.known, self.checking = options, known, checking
        numbers = start + np.arange(len(table)) if isinstance(start, int) else start
        table = with_missing_values(with_derived(table, options), options)
        self.table, numbers = filtered(table, options, numbers)
        self.availability: dict[str, str] = {}
        self.found: list[Problem] = []
        self.place(numbers)

    def learn_recoding(self, variable: RawVariable, each: Sequence[Counted]) -> Recoding | Numeric:
        """The kind of a variable and its levels, from all values of its columns.

        Raises
        ------
        DataError
            It has too many levels to be a category.
        """
        text = self.table.text
        likely = None if text is None else text.likely_decimal
        recoding = variable.learn_recoding(each, (self.options.decimal, likely))
        if isinstance(recoding, Numeric) or recoding.closed or recoding.edges:
            return recoding
        n = sum(one.n_present for one in each)
        levels, most = len(recoding.levels), self.options.max_levels
        guessed = variable.role is None
        nearly_all = guessed and levels > CODE_LEVELS and levels >= NEARLY_ALL_ROWS * n
        if levels <= most and not nearly_all:
            return recoding
        examples = first_few(map(repr, recoding.levels), 3)
        columns = first_few(dict.fromkeys(repr(c) for c in variable.columns.values()))
        allow = ", or list them" if levels <= most else f", or allow them: max_levels = {levels}"
        message = (
            f"{variable.name} (column {columns}) has {levels:,} different values in {n:,} "
            f"({examples}): too many for a dummy variable each. If it is an id, remove it; if it "
            "is a number, fix what is not, or read it as Numeric(); if it is a category, merge or "
            f"pool its levels, Categorical(pool_below=0.05){allow}."
        )
        raise DataError([Problem("error", "many-levels", message)])

    def place(self, numbers: Ints) -> None:
        """Place the rows of these numbers; DataError where some belong nowhere."""
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """The alternatives."""
        return tuple(self.codes)

    def variables(self) -> Iterator[RawVariable]:
        """Attributes and covariates, one at a time."""
        yield from self.attributes()
        for name, value in self.options.named_covariates().items():
            role = as_role(value, name)
            series = must_have(self.table, str(column_of(value, name)), f"covariate {name}")
            one = self.per_situation(series, f"Covariate {name}")
            yield RawVariable(
                "covariate", name, role, (one,), (name,), (self.index,), {"": series.name}
            )

    def attributes(self) -> Iterator[RawVariable]:
        """The attributes, one at a time."""
        raise NotImplementedError

    def per_situation(self, series: Series, what: str) -> Series:
        """One value per situation of a column that describes persons."""
        return series

    def grid(self, positions: tuple[int, ...], values: AnyArray, fill: float) -> AnyArray:
        """Values of an attribute as (A, N), `fill` where the alternative is unavailable."""
        raise NotImplementedError

    def choice(self) -> Ints | None:
        """Positions of the chosen alternatives, -1 where unknown; shape (N,)."""
        raise NotImplementedError
