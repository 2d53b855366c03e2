"""`ReadingOptions`: what each column of a table is; `Source`: the same, resolved, and the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ardchoice.data.recode import Role
from ardchoice.data.roles import named_columns
from ardchoice.data.text_format import TextFormat, TextOptions
from ardchoice.errors import ArdchoiceError

Layout = Literal["wide", "long"]
Alternatives = Mapping[str, object] | Sequence[object]
Pattern = str | Mapping[str, str]
Attributes = Mapping[str, Pattern | Role | None] | Sequence[str]
Covariates = Mapping[str, str | Role | None] | Sequence[str]


WeightKind = Literal["sampling", "frequency"]
MissingValues = tuple[str, ...] | Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(TextOptions):
    """The arguments of `read_wide` and `read_long`, which document them.

    Attributes
    ----------
    layout
        ``"wide"``: one row per situation; ``"long"``: one per situation and alternative.
    alternatives, attributes, covariates
    choice
        The column with the choice (wide), or with a mark in the chosen row (long); None for
        situations to be predicted.
    availability
        Of a wide table. Default: always available.
    situation, alternative
        Columns of a long table; several where only together they identify the situations.
    person, weight
        Columns.
    weight_kind
        ``"sampling"``: weights are scaled to a mean of one. ``"frequency"``: they are counts, and
        every row is read as often as its count says. Default: ``"sampling"``.
    drop_invalid
        Whether rows with errors are dropped.
    missing_values
        Labels of values that stand for missing ones in attributes and covariates; or column ->
        labels, with ``"*"`` for all other columns. Default: none.
    derive
        New column -> expression over columns, in order. Default: none.
    where
        A condition over columns; rows where it does not hold are dropped. Default: none.
    max_levels
        The most levels of a category whose levels are not listed. Default: 50.
    units
        Attribute or covariate -> its unit, such as ``min`` or ``CHF``. Default: none.
    labels
        Attribute or covariate -> what reports and figures call it. Default: its name.
    """

    layout: Layout
    alternatives: Alternatives | None
    attributes: Attributes
    covariates: Covariates | None = None
    choice: str | None = None
    availability: Pattern | None = None
    situation: str | tuple[str, ...] | None = None
    alternative: str | None = None
    person: str | None = None
    weight: str | None = None
    weight_kind: WeightKind = "sampling"
    drop_invalid: bool = False
    missing_values: MissingValues = ()
    derive: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    max_levels: int = 50
    units: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def situation_unit(self) -> str:
        """What messages call a situation: ``"row"`` or ``"situation"``."""
        return "row" if self.layout == "wide" else "situation"

    def named_attributes(self) -> dict[str, Any]:
        """Name -> column, pattern or role."""
        if self.layout == "wide" and not isinstance(self.attributes, Mapping):
            raise ArdchoiceError(
                "attributes is a dict name -> pattern or columns, such as {'TT': '{alt}_TT'}, "
                f"not {self.attributes!r}."
            )
        return named_columns(self.attributes, "attributes")

    def named_covariates(self) -> dict[str, Any]:
        """Name -> column or role."""
        return named_columns(self.covariates, "covariates")

    def role_columns(self) -> dict[str, Any]:
        """Argument -> its column or columns, of all but attributes, covariates, availability."""
        every = {
            "situation": self.situation,
            "alternative": self.alternative,
            "choice" if self.layout == "wide" else "chosen": self.choice,
            "person": self.person,
            "weight": self.weight,
        }
        return {role: column for role, column in every.items() if column is not None}


@dataclass(frozen=True, kw_only=True)
class Source(ReadingOptions):
    """The file that choices were read from, and the options with patterns resolved into columns.

    Attributes
    ----------
    path
        The file, absolute; None for a data frame.
    text
        The format of a text table; None for Parquet and data frames.
    alternatives
        Name -> label of its code in the table.
    attributes
        Name -> alternative -> column; in a long table the same column for all.
    covariates
        Name -> column.
    availability
        Alternative -> column; empty for long tables and where all are always available.
    roles
        Attribute or covariate -> its role, where one was given.
    """

    path: str | None
    text: TextFormat | None
    alternatives: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, str]]
    covariates: Mapping[str, str]
    availability: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)


def shared_options(options: ReadingOptions) -> dict[str, Any]:
    """Option -> value, of those that reading leaves as they are given."""
    resolved = {"alternatives", "attributes", "covariates", "availability"}
    names = {option.name for option in fields(ReadingOptions)} - resolved
    return {name: getattr(options, name) for name in names}
