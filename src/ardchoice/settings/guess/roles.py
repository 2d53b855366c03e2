"""What was guessed: a value, why, and what else it could be."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

MIN_CONFIDENCE = 0.8
"""Confidence from which a guess is used without being confirmed."""


@dataclass(frozen=True)
class Finding:
    """One guess.

    Attributes
    ----------
    value
        A column, a pattern, a word; None where nothing was found.
    why
        Reasons, for the comment beside it.
    instead
        Other values that it could be, the likeliest first.
    confidence
        From 0 to 1, by what speaks for it: its name, its values, both or neither. A guess below
        `MIN_CONFIDENCE` is left open, for the user to confirm.
    """

    value: str | None
    why: str = ""
    instead: tuple[str, ...] = ()
    confidence: float = 1.0

    @property
    def sure(self) -> bool:
        """Whether it needs no confirmation."""
        return self.confidence >= MIN_CONFIDENCE


@dataclass(frozen=True)
class Variable:
    """A guessed attribute or covariate.

    Attributes
    ----------
    name
    how
        Its settings: column, kind and so on.
    why
        For the comment beside it.
    columns
        Coefficients that one term of it takes: one less than its levels, 1 for a number.
    lost_rows
        Rows that are dropped if it is read, since it is missing there.
    """

    name: str
    how: dict[str, object]
    why: str = ""
    columns: int = 1
    lost_rows: int = 0

    def columns_in(self, names: Collection[str]) -> set[str]:
        """Columns of a table that it is read from."""
        return expand_pattern(self.how.get("column", self.name), names)


def expand_pattern(where: object, names: Collection[str]) -> set[str]:
    """Which of a table's columns a column, a pattern or alternative -> column means."""
    if isinstance(where, dict):
        return set(where.values()) & set(names)
    before, is_pattern, after = str(where).partition("{alt}")
    if not is_pattern:
        return {before} & set(names)
    return {name for name in names if name.startswith(before) and name.endswith(after)}


@dataclass(frozen=True)
class Roles:
    """The role of every column of a table.

    Attributes
    ----------
    layout
    alternatives
        Name -> code.
    findings
        Role (choice, situation, alternative, chosen, availability, person, weight, alternatives)
        -> what was guessed.
    attributes, covariates
    left_out
        Column -> why it is not used.
    availability
        A pattern, or alternative -> column; None where there is none.
    labelled
        Whether the alternatives have names that mean something.
    apart
        Alternatives unlike the others: none of these, the status quo.
    doubts
        What the file must say at its top, a sentence each.
    suspects
        Values that look like codes for missing ones.
    pair
        Two columns that only together number the situations of a long table.
    """

    layout: Finding
    alternatives: dict[str, str]
    findings: dict[str, Finding]
    attributes: tuple[Variable, ...]
    covariates: tuple[Variable, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    availability: str | dict[str, str] | None = None
    labelled: bool = True
    apart: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    suspects: tuple[int, ...] = ()
    pair: tuple[str, ...] = ()

    def column(self, role: str) -> str | None:
        """The column of a role."""
        found = self.findings.get(role)
        return None if found is None else found.value
