"""`Captured`: the model that a script describes, whatever package it is written for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ardchoice.expressions import Expression, column_names
from ardchoice.scripts.forms import Form, Obscure, Parameter, Symbol, UnreadableError
from ardchoice.scripts.values import Doubt, Mapped, Table, Unknown, as_form

EVERY = "*"
"""The code of all alternatives together, where they are not known and need not be."""


@dataclass
class Captured:
    """What a script says of its model.

    Attributes
    ----------
    package
    utilities
        Code of an alternative -> utility.
    names
        Code -> the name of the alternative, where the script has one.
    availability
        Code -> the condition under which it can be chosen; those missing always can.
    choice
        The column with the choice: the code (wide), or a mark in the chosen row (long).
    codes
        Value in the table -> code, where the script replaced values.
    table
    parameters
        Name -> its starting value and whether it is fixed there.
    layout, situation, alternative
        As in `ac.read_long`.
    person, weight
        Columns.
    labels
        Text of an expression -> the name that the script gave it.
    covariates
        Columns that do not differ between alternatives.
    random
        Parameter -> distribution.
    exponents
        Parameters that are exponents of a Box-Cox form.
    doubts, notes
    drop_invalid
        Whether rows without a known choice are not used.
    hints
        Parameter -> a name for what it multiplies.
    lines
        Code -> the line of the utility.
    assumed
        Names that the script does not define, taken for columns -> the line of the first use.
    """

    package: str
    utilities: dict[Any, Form] = field(default_factory=dict)
    names: dict[Any, str] = field(default_factory=dict)
    availability: dict[Any, Expression] = field(default_factory=dict)
    choice: Expression | None = None
    codes: Mapping[Any, Any] = field(default_factory=dict)
    table: Table = field(default_factory=Table)
    parameters: dict[str, Start] = field(default_factory=dict)
    layout: str = "wide"
    situation: str | None = None
    alternative: str | None = None
    person: str | None = None
    weight: Expression | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    covariates: set[str] = field(default_factory=set)
    random: dict[str, str] = field(default_factory=dict)
    exponents: set[str] = field(default_factory=set)
    doubts: list[Doubt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    drop_invalid: bool = False
    hints: dict[str, str] = field(default_factory=dict)
    assumed: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[Any, int] = field(default_factory=dict)

    @property
    def is_long(self) -> bool:
        """Whether the table of the file has a row per situation and alternative."""
        return self.layout == "long" and self.table.wide is None


@dataclass(frozen=True)
class Start:
    """Where a parameter starts, and whether it stays there."""

    value: float = 0.0
    is_fixed: bool = False


def with_choice(captured: Captured, value: Any, line: int, text: str) -> None:
    """The column of the choice, and its codes where they were replaced."""
    if isinstance(value, Mapped):
        captured.codes = dict(value.by)
        value = value.of
    elif (name := column_name(value)) is not None and name in captured.table.mapped:
        captured.codes = dict(captured.table.mapped[name])
    try:
        choice = as_form(value).pure("the choice")
        if not column_names(choice):  # the probability of one alternative, in a simulation
            raise UnreadableError(f"{choice} is no column: the script does not say which has it")
        captured.choice = choice
    except UnreadableError as error:
        captured.doubts.append(Doubt(line, text, f"the choice: {error}"))


def is_code(value: object) -> bool:
    """Whether a value can be the code of an alternative."""
    return isinstance(value, int | float | str)


def column_name(value: Any) -> str | None:
    """The name of a plain column."""
    from ardchoice.expressions import Column

    if isinstance(value, str):
        return value
    if isinstance(value, Form) and isinstance(only := value.monomials.get(()), Column):
        return only.name
    return None


def without_obscure(form: Form, doubts: list[Doubt]) -> Form:
    """A utility without what was not understood, which is added to the doubts."""
    kept: dict[tuple[Symbol, ...], Expression] = {}
    for key, expression in form.monomials.items():
        hidden = [one for one in key if isinstance(one, Obscure)]
        for one in hidden:
            doubt = Doubt(one.line, one.text, one.reason)
            if doubt not in doubts:
                doubts.append(doubt)
        if not hidden:
            kept[key] = expression
    return Form(kept)


def known_utilities(value: Any, doubts: list[Doubt]) -> dict[Any, Form]:
    """A dict of utilities, without what was not understood."""
    out: dict[Any, Form] = {}
    if isinstance(value, Unknown):
        doubts.append(value.doubt)
    if isinstance(value, dict):
        for code, utility in value.items():
            try:
                out[code] = without_obscure(as_form(utility), doubts)
            except UnreadableError as error:
                doubts.append(Doubt(0, "", f"the utility of {code}: {error}"))
                out[code] = Form()
    return out


def parameter(value: Any) -> str | None:
    """The name of a parameter, where a value is one."""
    if isinstance(value, Form) and len(value.monomials) == 1:
        ((key, _),) = value.monomials.items()
        if len(key) == 1 and isinstance(key[0], Parameter):
            return key[0].name
    return None
