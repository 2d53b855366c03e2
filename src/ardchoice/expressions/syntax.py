"""The parts of an expression, as small frozen records, and how they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ardchoice.errors import ArdchoiceError

WORDS = ("and", "or", "not", "in", "true", "false", "missing")
"""Words of the grammar; a column of that name stands in back quotes."""
PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")
"""A name that needs no back quotes."""
FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "exp": (1, 1),
    "floor": (1, 1),
    "if": (3, 3),
    "is_missing": (1, 1),
    "log": (1, 1),
    "log1p": (1, 1),
    "max": (2, None),
    "min": (2, None),
    "round": (1, 1),
    "sqrt": (1, 1),
}
"""Function -> the fewest and the most arguments it takes; None: any number."""
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
BINDING = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys((*COMPARISONS, "in"), 4),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys("*/%", 6),
    "negative": 7,
    "**": 8,
}
"""How tightly an operator binds; the tightest is applied first."""


class ExpressionError(ArdchoiceError):
    """An expression cannot be read, or does not fit the columns; shows the place."""


@dataclass(frozen=True)
class Place:
    """Where a part stands: the text of the whole expression and the position in it, from 0."""

    text: str = ""
    at: int = 0

    def error(self, message: str) -> ExpressionError:
        """An error that points to the place."""
        line = self.text.replace("\n", " ").replace("\t", " ")
        return ExpressionError(
            f"column {self.at + 1}: {message.rstrip('.')}.\n  {line}\n  {' ' * self.at}^"
        )


@dataclass(frozen=True)
class Literal:
    """A number, a text, true, false, or None for ``missing``."""

    value: float | str | bool | None
    place: Place = Place()

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return json.dumps(self.value, ensure_ascii=False)
        if self.value is None:
            return "missing"
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        return str(int(self.value)) if self.value.is_integer() else repr(self.value)


@dataclass(frozen=True)
class Column:
    """A column by its name."""

    name: str
    place: Place = Place()

    def __str__(self) -> str:
        if PLAIN_NAME.fullmatch(self.name) and self.name not in WORDS:
            return self.name
        return "`" + self.name.replace("\\", "\\\\").replace("`", "\\`") + "`"


@dataclass(frozen=True)
class Operation:
    """An operator of `BINDING` and its operands: one for ``not`` and ``negative``, else two.

    ``in`` has the value first and then each value that it is compared with.
    """

    operator: str
    operands: tuple[Expression, ...]
    place: Place = Place()

    def __str__(self) -> str:
        if self.operator == "in":
            listed = ", ".join(map(str, self.operands[1:]))
            return f"{self._operand(0)} in ({listed})"
        if self.operator == "not":
            return f"not {self._operand(0)}"
        if self.operator == "negative":
            return f"-{self._operand(0)}"
        return f"{self._operand(0)} {self.operator} {self._operand(1)}"

    def _operand(self, which: int) -> str:
        """An operand, in parentheses where it would be read otherwise."""
        operand = self.operands[which]
        own = BINDING[self.operator]
        inner = (
            BINDING[operand.operator]
            if isinstance(operand, Operation)
            else max(BINDING.values()) + 1
        )
        # Operators of one kind are applied from the left; powers and comparisons are not chained.
        same_side = which == 0 and self.operator not in ("**", "in", *COMPARISONS)
        same_side = same_side or (len(self.operands) == 1)
        return str(operand) if inner > own or (inner == own and same_side) else f"({operand})"


@dataclass(frozen=True)
class Call:
    """A function of `FUNCTIONS` and its arguments."""

    function: str
    arguments: tuple[Expression, ...]
    place: Place = Place()

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


Expression = Literal | Column | Operation | Call


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and all parts of it."""
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, Operation):
            waiting += reversed(one.operands)
        elif isinstance(one, Call):
            waiting += reversed(one.arguments)


def column_names(expression: Expression) -> tuple[str, ...]:
    """The columns that an expression needs, each once, in the order of their first use."""
    return tuple(dict.fromkeys(p.name for p in parts(expression) if isinstance(p, Column)))
