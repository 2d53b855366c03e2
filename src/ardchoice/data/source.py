"""`Source`: where choices were read from and how, enough to read the same table again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ardchoice.data.recode import Role
from ardchoice.data.tables import TextFormat

Layout = Literal["wide", "long"]


@dataclass(frozen=True)
class Source:
    """What `read_wide` or `read_long` was told, with every pattern resolved into columns.

    Attributes
    ----------
    layout
        One row per situation, or one per situation and alternative.
    path
        The file, absolute; None for a data frame.
    text
        How a text table is written; None for Parquet and data frames.
    alternatives
        Name -> label of its code in the table.
    attributes
        Name -> alternative -> column; in a long table the same column for all.
    covariates
        Name -> column.
    roles
        Attribute or covariate -> how it was to be taken, where that was said.
    choice
        The column with the choice (wide), or with a mark in the chosen row (long).
    availability
        Alternative -> column; empty where all are always available, or rows say so.
    situation, alternative
        Columns of a long table; several where only together they number the situations.
    person, weight
        Columns.
    drop_invalid
        Whether rows with errors were left out.
    missing_values
        Labels of values that stood for missing ones in attributes and covariates.
    """

    layout: Layout
    path: str | None
    text: TextFormat | None
    alternatives: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, str]]
    covariates: Mapping[str, str]
    roles: Mapping[str, Role] = field(default_factory=dict)
    choice: str | None = None
    availability: Mapping[str, str] = field(default_factory=dict)
    situation: str | tuple[str, ...] | None = None
    alternative: str | None = None
    person: str | None = None
    weight: str | None = None
    drop_invalid: bool = False
    missing_values: tuple[str, ...] = ()
