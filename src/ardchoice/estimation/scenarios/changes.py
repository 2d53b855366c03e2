"""The grammar of changes, such as ``TRAIN: CO * 1.1``, and its parser.

::

    changes = change { ";" change }
    change  = [ where ":" ] target [ "where" condition ]
    where   = "*" | name { "+" name }
    target  = "available" | "unavailable" | name operator value
    operator = "*" | "/" | "+" | "-" | "="
    value   = number [ "%" ] | level
    name, level = letters, digits, "_", "." | back-quoted text

With a place before the colon an attribute changes, without one a covariate. Nothing a user writes
is ever evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ardchoice.errors import SpecificationError
from ardchoice.expressions import Expression, parse_expression
from ardchoice.space import quoted

Operator = Literal["*", "/", "+", "-", "=", "available", "unavailable"]
OPERATORS: tuple[Operator, ...] = ("*", "/", "+", "-", "=")
EXAMPLE = "'TRAIN: CO * 1.1', '*: TT - 5', 'SM: unavailable' or 'INCOME = 3'"
MAX_CHARACTERS = 4000
"""A longer change is something else."""
MAX_NUMBER = 1e12
"""Numbers beyond it are typing errors, and their products overflow."""
PERCENT = 100.0

QUOTES = "A name with spaces or signs stands in back quotes, as in '*: `travel-time` * 1.1'"
_NAME = re.compile(r"\w[\w.]*")
_QUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`|\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_WHERE = re.compile(r"where\b")
_PIECE = re.compile(r"`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^;]", re.DOTALL)
_UNESCAPE = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Change:
    """One thing that differs from what was observed. Prints in the grammar.

    Attributes
    ----------
    name
        The attribute or covariate; empty for a change of availability.
    operator
    value
        A number, or the level that is set.
    where
        The alternatives; empty for all that have the attribute. None for a covariate.
    condition
        In which situations; None for all.

    Examples
    --------
    >>> from ardchoice.estimation import parse_changes
    >>> [str(change) for change in parse_changes("TRAIN: CO + 10%; SM: unavailable")]
    ['TRAIN: CO * 1.1', 'SM: unavailable']
    """

    name: str
    operator: Operator
    value: float | str | None = None
    where: tuple[str, ...] | None = None
    condition: Expression | None = None

    @property
    def is_covariate(self) -> bool:
        """Whether it changes a fact about the person or the situation."""
        return self.where is None

    @property
    def place(self) -> str:
        """``TRAIN``, ``TRAIN+SM`` or ``*``; empty for a covariate."""
        if self.where is None:
            return ""
        return "+".join(map(quoted, self.where)) or "*"

    def __str__(self) -> str:
        target: str = self.operator
        if self.name:
            value = quoted(self.value) if isinstance(self.value, str) else f"{self.value:.12g}"
            target = f"{quoted(self.name)} {self.operator} {value}"
        place = f"{self.place}: " if self.place else ""
        condition = "" if self.condition is None else f" where {self.condition}"
        return f"{place}{target}{condition}"


@dataclass(frozen=True)
class ScenarioOptions:
    """A scenario as a study describes it.

    Attributes
    ----------
    changes
        Such as ``"TRAIN: CO * 1.1"``.
    by
        Categorical covariates to segment by. Default: none.
    where
        A condition for all changes that have none of their own. Default: none.
    """

    changes: tuple[str, ...]
    by: tuple[str, ...] = ()
    where: str | None = None


def parse_changes(
    *given: str | Change | Iterable[str | Change], where: str | None = None
) -> tuple[Change, ...]:
    """Read changes, one or several in a text, separated by semicolons.

    Parameters
    ----------
    given
        Such as ``"TRAIN: CO * 1.1"``, or ``"SM: unavailable; INCOME = 3"``.
    where
        A condition for all that have none of their own, such as ``"PURPOSE == 1"``.
    """
    changes: list[Change] = []
    for one in given:
        if isinstance(one, Change):
            changes.append(one)
        elif isinstance(one, str):
            changes += [_Reader(piece).change() for piece in _pieces(one)]
        elif isinstance(one, Iterable):
            changes += parse_changes(*one)
        else:
            raise SpecificationError(f"A change is text such as {EXAMPLE}, not {one!r:.80}.")
    if not changes:
        raise SpecificationError(f"A scenario has no change. Write some, such as {EXAMPLE}.")
    if where is None:
        return tuple(changes)
    condition = parse_expression(where)
    return tuple(
        change if change.condition is not None else _under(change, condition) for change in changes
    )


def _under(change: Change, condition: Expression) -> Change:
    return Change(change.name, change.operator, change.value, change.where, condition)


def _pieces(text: str) -> list[str]:
    """The text between semicolons that do not stand in quotes."""
    if len(text) > MAX_CHARACTERS:
        raise SpecificationError(
            f"A change has at most {MAX_CHARACTERS} characters, this one has {len(text)}: "
            f"write changes such as {EXAMPLE}."
        )
    pieces, at = [""], 0
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:  # a semicolon, or a quote that is not closed: the reader complains
            if text[at] == ";":
                pieces.append("")
            at += 1
            continue
        pieces[-1] += found[0]
        at = found.end()
    return [piece for piece in pieces if piece.strip()]


class _Reader:
    """One change, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text.strip(), 0

    def error(self, expected: str) -> SpecificationError:
        """What was expected, at a position that a caret points to."""
        self.skip_blanks()
        shown = re.sub(r"\s", " ", self.text)
        return SpecificationError(
            f"In the change at column {self.at + 1}: {expected}.\n  {shown}\n  "
            f"{' ' * min(self.at, len(shown))}^"
        )

    def skip_blanks(self) -> int:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        return self.at

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.skip_blanks())
        if found:
            self.at = found.end()
        return found

    def take(self, sign: str) -> bool:
        if not self.text.startswith(sign, self.skip_blanks()):
            return False
        self.at += len(sign)
        return True

    def name(self, what: str) -> tuple[str, bool]:
        """A name or a level, and whether it stood in quotes."""
        found = self.match(_QUOTED)
        if found:
            inside = next(g for g in found.groups() if g is not None)
            plain = re.sub(r"\\(.)", lambda m: _UNESCAPE.get(m[1], m[1]), inside, flags=re.DOTALL)
            return plain, True
        found = self.match(_NAME)
        if not found:
            raise self.error(f"expected {what}, as in {EXAMPLE}")
        return found[0], False

    def change(self) -> Change:
        where = self.where()
        if where is not None:
            start = self.skip_blanks()
            name, in_quotes = self.name("an attribute, 'available' or 'unavailable'")
            if name in ("available", "unavailable") and not in_quotes and not self.operator():
                kind: Operator = "available" if name == "available" else "unavailable"
                return Change("", kind, None, where, self.condition())
            self.at = start
        name, _ = self.name("an attribute or a covariate")
        operator = self.operator()
        if operator is None:
            raise self.error(f"expected *, /, +, - or = after {name!r}, as in {EXAMPLE}. {QUOTES}")
        value: float | str = self.value(operator)
        if isinstance(value, float) and self.take("%"):
            operator, value = self._percent(operator, value)
        return Change(name, operator, value, where, self.condition())

    def where(self) -> tuple[str, ...] | None:
        """The alternatives before a colon; None where there is no colon."""
        start = self.skip_blanks()
        if self.take("*"):
            if self.take(":"):
                return ()
            raise self.error("expected ':' after '*', as in '*: TT - 5'")
        names: list[str] = []
        while True:
            name, _ = self.name("an alternative, an attribute or a covariate")
            if name in names:
                raise self.error(f"the alternative {name!r} is named twice")
            names.append(name)
            if self.take(":"):
                return tuple(names)
            if not self.take("+") or not (self.match_ahead(_NAME) or self.match_ahead(_QUOTED)):
                self.at = start
                return None

    def match_ahead(self, pattern: re.Pattern[str]) -> bool:
        return pattern.match(self.text, self.skip_blanks()) is not None

    def operator(self) -> Operator | None:
        for sign in OPERATORS:
            if self.take(sign):
                if self.text[self.at : self.at + 1] == sign:
                    raise self.error(f"a change is written with one {sign!r}, as in {EXAMPLE}")
                return sign
        return None

    def value(self, operator: Operator) -> float | str:
        found = self.match(_NUMBER)
        if found:
            number = float(found[0])
            if abs(number) > MAX_NUMBER:
                raise self.error(f"numbers up to {MAX_NUMBER:g} are allowed")
            if operator == "/" and not number:
                raise self.error("nothing can be divided by zero")
            return number
        if operator != "=":
            raise self.error(f"expected a number after {operator!r}. {QUOTES}")
        return self.name("a number or a level")[0]

    def _percent(self, operator: Operator, value: float) -> tuple[Operator, float]:
        """``+ 10%`` is ``* 1.1``."""
        if operator in ("+", "-"):
            share = (PERCENT + value) if operator == "+" else (PERCENT - value)
            return "*", share / PERCENT
        if operator == "*":
            return "*", value / PERCENT
        raise self.error("a percentage is added or subtracted: 'CO + 10%'")

    def condition(self) -> Expression | None:
        """What stands behind ``where``; an error when something else does."""
        if self.skip_blanks() == len(self.text):
            return None
        if self.match(_WHERE):
            return parse_expression(self.text[self.at :].strip())
        raise self.error("expected the end of the change, ';' before another, or 'where'")
