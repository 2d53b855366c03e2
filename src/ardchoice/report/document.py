"""Tables and figures as reports know them: raw values, and how to write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from ardchoice.record import Note
from ardchoice.text import number, p_value

Cell = str | float | int | bool | None
Mark = Literal["true", "missed"]
"""Bold (a true term, a selected one, the best), or underlined (the λ of a true term missed)."""
FIGURES, P_VALUE = "figures", "p"
"""Formats besides those of Python: four significant figures; a p-value."""


@dataclass(frozen=True)
class Table:
    """Raw values, and how to write them.

    Attributes
    ----------
    name
        Unique in the document.
    caption
    head
        Names of the columns.
    formats
        How the numbers of a column are written, such as ``",.1f"``, `FIGURES` or `P_VALUE`; empty
        for text.
    rows
        A missing value is None.
    marks
        ``"row,column"`` -> how the cell stands out.
    shown
        Rows that a page shows before it is asked for more. Default: all.
    note
        A sentence below.
    """

    name: str
    caption: str
    head: list[str]
    formats: list[str]
    rows: list[list[Cell]]
    marks: dict[str, Mark] = field(default_factory=dict)
    shown: int | None = None
    note: str = ""


def frame_table(
    name: str,
    caption: str,
    frame: pd.DataFrame,
    columns: Mapping[str, tuple[str, str]],
    **options: Any,
) -> Table:
    """Columns of a frame as a table: column -> (head, format)."""
    heads, formats = [head for head, _ in columns.values()], [how for _, how in columns.values()]
    rows = [list(row) for row in zip(*(frame[c].tolist() for c in columns), strict=True)]
    return Table(name, caption, heads, formats, rows, **options)


def bold(rows: list[int], *columns: int) -> dict[str, Mark]:
    """Marks of some cells."""
    return {f"{r},{c}": "true" for r in rows for c in columns or (0,)}


@dataclass(frozen=True)
class Figure:
    """A picture by its name, as PNG, SVG or PDF."""

    name: str
    caption: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Verbatim:
    """Text to be copied, as it is."""

    text: str
    caption: str = ""


Part = Text | Note | Table | Figure | Verbatim


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it, in order.

    Attributes
    ----------
    item
        Unique in the document; letters only.
    title
    parts
    """

    item: str
    title: str
    parts: list[Part]

    @property
    def tables(self) -> list[Table]:
        """Its tables."""
        return [part for part in self.parts if isinstance(part, Table)]

    @property
    def figures(self) -> list[Figure]:
        """Its figures."""
        return [part for part in self.parts if isinstance(part, Figure)]


def show(value: Cell, how: str) -> str:
    """A cell as text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) or not how:
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if how == FIGURES:
        return number(value).replace("-", "−")
    if how == P_VALUE:
        return p_value(value)
    return format(value, how).replace("-", "−")
