"""Everything that can go wrong, in words by which a modeller can fix it."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

FIRST_ROWS = 5
"""How many offending rows a message lists."""
MAX_LISTED_MISTAKES = 30
"""How many mistakes of a study file a message lists."""


class ArdchoiceError(Exception):
    """Base of every error that a user can fix."""


class DataError(ArdchoiceError):
    """The table is not a set of choices; carries every problem found, not only the first.

    Attributes
    ----------
    problems : tuple of Problem
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        errors = [p for p in self.problems if p.severity == "error"]
        count = "1 problem" if len(errors) == 1 else f"{len(errors)} problems"
        lines = [f"The data have {count} that would make any model wrong:"]
        lines += [f"  {i}. {problem.message}" for i, problem in enumerate(errors, 1)]
        if any(problem.rows for problem in errors):
            lines.append(
                "Rows are counted from 0: row 0 is line 2 of a text file, row 100 line 102. "
                "Situations go by their own ids."
            )
        super().__init__("\n".join(lines))


class SettingsError(ArdchoiceError):
    """Settings of a study cannot be used; carries every mistake found, not only the first.

    Attributes
    ----------
    mistakes : tuple of Mistake
    """

    def __init__(self, mistakes: Sequence[Mistake], name: str = "The settings") -> None:
        self.mistakes, self.name = tuple(mistakes), name
        if len(mistakes) == 1:
            super().__init__(f"{name}: {mistakes[0]}")
            return
        lines = [f"{name}: {len(mistakes)} mistakes"]
        lines += [
            f"  {i}. {mistake}" for i, mistake in enumerate(mistakes[:MAX_LISTED_MISTAKES], 1)
        ]
        if len(mistakes) > MAX_LISTED_MISTAKES:
            lines.append(f"  ... and {len(mistakes) - MAX_LISTED_MISTAKES} more")
        super().__init__("\n".join(lines))


class SpecificationError(ArdchoiceError):
    """A term or a specification cannot be read, or does not fit the data."""


class TransformError(ArdchoiceError):
    """A transform cannot be applied to the values it was given."""


class IdentificationError(ArdchoiceError):
    """Some coefficients are not identified: their columns are collinear in this design.

    Attributes
    ----------
    collinear
        Of every direction in which no probability changes, the numbers of the terms involved, in
        the order of the specification.
    without_cases
        Names of coefficients that are zero in every row, if there is no other reason: levels that
        do not occur.
    """

    def __init__(
        self,
        message: str,
        collinear: Sequence[frozenset[int]] = (),
        without_cases: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.collinear, self.without_cases = tuple(collinear), tuple(without_cases)


class SeparationError(ArdchoiceError):
    """The likelihood has no finite maximum: an estimate diverges (separation)."""


class FileError(ArdchoiceError):
    """A file cannot be written: no space, no right to."""


class ArdchoiceWarning(UserWarning):
    """Something a modeller should know, though the work can continue."""


class ConvergenceWarning(ArdchoiceWarning):
    """An iterative method stopped before it converged: do not use what it returned."""


@dataclass(frozen=True)
class Problem:
    """One thing found while checking a table of choices.

    Attributes
    ----------
    severity
        ``"error"`` where a model would be wrong, ``"warning"`` where work can continue, ``"note"``
        where something was done that a modeller may want to know.
    code
        A short fixed name of the kind of problem, such as ``"chosen-unavailable"``.
    message
        What, where (column, alternative, how many rows, the first of them), and what to do.
    rows
        Every choice situation concerned, by position in the table (wide) or among the
        situations (long), so that it can be looked up or excluded.
    """

    severity: Literal["error", "warning", "note"]
    code: str
    message: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Mistake:
    """One mistake in the settings of a study.

    Attributes
    ----------
    key
        Such as ``("data", "attributes", "TT")``; empty for the file as a whole.
    message
        What is wrong, what is allowed, what to do.
    line
        In the file, from 1; None where there is none.
    """

    key: tuple[str | int, ...]
    message: str
    line: int | None = None

    def __str__(self) -> str:
        where = [] if self.line is None else [f"line {self.line}"]
        where += [key_text(self.key)] if self.key else []
        return f"{', '.join(where)}: {self.message}" if where else self.message


def key_text(key: Sequence[str | int]) -> str:
    """A key as a study file writes it: ``data.attributes."in vehicle"``, ``space.by[2]``."""
    out = ""
    for part in key:
        if isinstance(part, int):
            out += f"[{part + 1}]"
            continue
        plain = re.fullmatch(r"[A-Za-z0-9_-]+", part)
        out += ("." if out else "") + (part if plain else json.dumps(part, ensure_ascii=False))
    return out


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest known names, then all of them (or the first twenty)."""
    known = list(known)
    folded = {k.casefold(): k for k in reversed(known)}
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    if not close:
        near = difflib.get_close_matches(name.casefold(), list(folded), n=2, cutoff=0.6)
        close = [folded[k] for k in near]
    if not close:
        # CAR_TT against TT_CAR: the same pieces in another order.
        pieces = sorted(name.casefold().replace("-", "_").split("_"))
        close = [k for k in known if sorted(k.casefold().replace("-", "_").split("_")) == pieces]
    guess = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    if not known:
        return guess + "There are none."
    shown = ", ".join(known[:20]) + (f", ... ({len(known)} in all)" if len(known) > 20 else "")
    return f"{guess}There are: {shown}."


def first_few(items: Iterable[object], limit: int = FIRST_ROWS) -> str:
    """The first few of many, as text: ``3, 17, 42, ...``."""
    items = list(items)
    return ", ".join(str(i) for i in items[:limit]) + (", ..." if len(items) > limit else "")
