"""What names of a script stand for while it is read: tables, names of other modules, and doubts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ardchoice.expressions import Column, Expression, Literal, Place
from ardchoice.scripts.forms import (
    Form,
    Obscure,
    UnreadableError,
    of,
    operation,
    substituted,
    symbol,
)

LATER = Place("in the database")
"""Where columns stand that are looked up in the table once the whole script is read."""
MOST_FILTERS = 50


@dataclass(frozen=True)
class Doubt:
    """Something in a script that was not understood.

    Attributes
    ----------
    line
        From 1; 0 for the script as a whole.
    text
        What stands there.
    reason
    """

    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        place = f"line {self.line}" if self.line else "the script"
        return f"{place}: {self.reason}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True)
class Unknown:
    """A value that the reader could not work out."""

    doubt: Doubt


@dataclass(frozen=True)
class Foreign:
    """A module, function or object of somebody else: ``biogeme.models.loglogit``."""

    path: str
    name: str = ""

    @property
    def last(self) -> str:
        """The name without what it belongs to; of a name alone, all of it."""
        return self.name or self.path.rpartition(".")[2]


@dataclass(frozen=True)
class Mapped:
    """A column whose values were replaced: what it was, and value -> value."""

    of: Form
    by: Mapping[Any, Any]


@dataclass(frozen=True)
class Selected:
    """Several columns of a table, in order."""

    names: tuple[str, ...]
    table: Table | None = field(default=None, compare=False)


@dataclass
class Record:
    """An object of a package with what it was made of."""

    kind: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass
class Table:
    """A table of a script: its columns are expressions over those of the file.

    Attributes
    ----------
    path
        The file, as the script names it.
    columns
        Derived column -> what it is made of.
    mapped
        Column -> value -> value, where its codes were replaced.
    filters
        Conditions that hold in every row.
    person
    codes
        Of the alternatives, once the table has a row for each.
    number
        The column with the alternative of a row, then.
    varying
        Column of the long table -> code -> column of the wide one, then.
    wide
        The wide table, then.
    """

    path: str | None = None
    columns: dict[str, Expression] = field(default_factory=dict)
    mapped: dict[str, Mapping[Any, Any]] = field(default_factory=dict)
    filters: list[Expression] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    person: str | None = None
    codes: tuple[Any, ...] = ()
    number: str | None = None
    varying: dict[str, dict[Any, str]] = field(default_factory=dict)
    wide: Table | None = None
    by_position: bool = False

    def copy(self) -> Table:
        """Another one like it."""
        return Table(
            self.path, dict(self.columns), dict(self.mapped), list(self.filters), list(self.doubts),
            self.person, self.codes, self.number, dict(self.varying), self.wide, self.by_position,
        )  # fmt: skip

    def doubted(self, doubt: Doubt) -> Table:
        """The same with a doubt."""
        out = self.copy()
        out.doubts.append(doubt)
        return out

    def column(self, name: str) -> Form:
        """A column by its name."""
        return of(self.columns.get(name, Column(name)))

    def filtered(self, condition: Expression) -> Table:
        """The rows where a condition holds."""
        out = self.copy()
        if len(out.filters) >= MOST_FILTERS:
            raise UnreadableError("the table is filtered too often")
        if condition != Literal(True):
            out.filters.append(condition)
        return out

    def resolved(self, expression: Expression) -> Expression:
        """With columns that were to be looked up later replaced by what they are made of."""

        def now(column: Column) -> Expression:
            if column.place != LATER:
                return column
            if set(self.mapped.get(column.name, ())) == {None}:
                doubt = self.mapped[column.name][None]
                raise UnreadableError(f"column {column.name}: {getattr(doubt, 'reason', '')}")
            return self.columns.get(column.name, Column(column.name))

        return substituted(expression, now)

    def in_alternative(self, expression: Expression, code: Any) -> Expression:
        """An expression over the rows of a long table as one over the wide table."""
        wide = self.wide
        if wide is None:
            return expression

        def here(column: Column) -> Expression:
            if column.name == self.number:
                return literal(code)
            if column.name in self.varying:
                name = self.varying[column.name].get(code)
                return Literal(0.0) if name is None else wide.columns.get(name, Column(name))
            return wide.columns.get(column.name, Column(column.name))

        return substituted(expression, here)


def literal(value: Any) -> Expression:
    """A number or a text as a constant."""
    if isinstance(value, bool | str):
        return Literal(value)
    if isinstance(value, int | float):
        return Literal(float(value))
    raise UnreadableError(f"{type(value).__name__} cannot stand in an expression")


def later(name: str) -> Form:
    """A column of the database, whatever it will have been made of."""
    return of(Column(name, LATER))


def as_form(value: Any) -> Form:
    """A value as a form."""
    if isinstance(value, Form):
        return value
    if isinstance(value, bool | int | float | str):
        return of(literal(value))
    if isinstance(value, list | tuple) and len(value) == 1:
        return as_form(value[0])
    if isinstance(value, Unknown):
        return symbol(Obscure(value.doubt.line, value.doubt.text, value.doubt.reason))
    if isinstance(value, Foreign):
        raise UnreadableError(f"{value.path} is not defined in the script")
    raise UnreadableError(f"a {type(value).__name__.lower()} stands where a number was expected")


def negated(expression: Expression) -> Expression:
    """The condition that does not hold where this one does."""
    return operation("not", expression)


Handler = Callable[..., Any]
