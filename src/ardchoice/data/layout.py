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
from ardchoice.data.recode import (
    Categorical,
    Counted,
    Numeric,
    Recoding,
    Role,
    default_role,
    learn_recoding,
    mostly_numbers,
    pooled,
)
from ardchoice.data.roles import as_role, column_of, must_have, with_missing_values
from ardchoice.data.source import ReadingOptions
from ardchoice.data.tables import Series, Table
from ardchoice.errors import Problem


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
        return Numeric() if earlier.recoding is None else earlier.recoding

    def learn_recoding(self, each: Sequence[Counted]) -> Recoding | Numeric:
        """Its kind, and its levels, from the values of its columns."""
        role = self.role
        if role is None and self.kind == "covariate":
            role = default_role(each[0].series)
        elif role is None:
            role = Numeric() if all(mostly_numbers(one.series) for one in each) else Categorical()
        return role if isinstance(role, Numeric) else learn_recoding(pooled(each), role)


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
