"""Choices assembled from a table but not checked yet, and how messages name their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ardchoice._types import AnyArray, Bools, Ints
from ardchoice.data.choices import ChoiceData
from ardchoice.data.source import Source
from ardchoice.errors import FIRST_ROWS, Problem, first_few

FIX_OR_DROP = "Fix these rows, or drop them (drop_invalid=True)."
"""What to do about rows with errors."""


@dataclass(frozen=True)
class RowCount:
    """How many rows, and the ids of the first few; counts of parts of a table add up."""

    n: int = 0
    ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Ints, ids: AnyArray) -> RowCount:
        """The rows at these positions."""
        return cls(len(rows), tuple(str(s) for s in ids[rows[: FIRST_ROWS + 1]]))

    def __add__(self, other: RowCount) -> RowCount:
        return RowCount(self.n + other.n, (*self.ids, *other.ids)[: FIRST_ROWS + 1])

    def text(self, unit: str) -> str:
        """``3 rows (12, 40, 77)``."""
        return f"{self.n} {unit}{'s' if self.n != 1 else ''} ({first_few(self.ids)})"


def rows_text(rows: Ints, ids: AnyArray, unit: str) -> str:
    """``3 rows (12, 40, 77)``: how many and the ids of the first few."""
    return RowCount.of(rows, ids).text(unit)


@dataclass(frozen=True)
class RowsProblem(Problem):
    """A problem of some rows.

    Attributes
    ----------
    what
        What is wrong and where (column, alternative), without the rows.
    """

    what: str = ""


@dataclass(frozen=True, eq=False)
class SituationIndex:
    """The choice situation of every row of a column.

    Attributes
    ----------
    position
        Among the N situations; shape (rows,).
    ids
        Of the situations in the table; shape (N,).
    unit
        What a situation is to the user: ``"row"`` or ``"situation"``.
    """

    position: Ints
    ids: AnyArray
    unit: str

    def errors(self, code: str, mask: Bools, what: str, fix: str = FIX_OR_DROP) -> list[Problem]:
        """One problem of the rows where the mask is true, counted by situation; none if nowhere."""
        if not mask.any():
            return []
        rows = np.unique(self.position[mask])
        text = f"{what}: {rows_text(rows, self.ids, self.unit)}. {fix}"
        return [RowsProblem("error", code, text, tuple(rows.tolist()), what)]


@dataclass(frozen=True, eq=False)
class Draft:
    """Choices assembled from a table, or from a part of one, but not checked yet.

    Attributes
    ----------
    data
        Invalid values included: -1 for unknown choices, levels and persons, NaN for numbers.
    source
        Where they were read from and how.
    learning
        Whether a model is to be estimated from the data, rather than to predict them.
    found
        Problems met while assembling.
    person_ids
        As they are in the table; shape (N,).
    """

    data: ChoiceData
    source: Source
    learning: bool = True
    found: tuple[Problem, ...] = ()
    person_ids: AnyArray | None = None

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: Ints) -> Draft:
        """Some rows, with the levels as they are and no problems found."""
        ids = None if self.person_ids is None else self.person_ids[rows]
        return replace(self, data=self.data.take(rows), found=(), person_ids=ids)

    def errors(self, code: str, mask: Bools, what: str, fix: str = FIX_OR_DROP) -> list[Problem]:
        """One problem of the situations where the mask is true; none if nowhere."""
        unit = self.source.situation_unit
        return SituationIndex(np.arange(len(mask)), self.data.situation, unit).errors(
            code, mask, what, fix
        )


def with_variables(data: ChoiceData, change: Callable[[Any], Any]) -> ChoiceData:
    """The data with every attribute and covariate changed by a function."""
    return replace(
        data,
        attributes={name: change(a) for name, a in data.attributes.items()},
        covariates={name: change(c) for name, c in data.covariates.items()},
    )
