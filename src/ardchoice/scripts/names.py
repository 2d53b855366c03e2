"""Names of a script, its functions, and the calls that it makes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ardchoice.scripts.forms import Form, UnreadableError

MOST_STEPS = 60_000
"""Statements and expressions followed; a longer way has no model at its end."""
MOST_CALLS = 25
"""Functions within functions."""
LONGEST_LIST = 2_000
LONGEST_TEXT = 10_000
MISTAKES = (UnreadableError, KeyError, TypeError, ValueError, IndexError, AttributeError)
"""What following a script that makes no sense ends in."""


class TooLongError(Exception):
    """The budget of steps is used up."""


class ReturnedError(Exception):
    """A function of the script has its value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class LoopLeftError(Exception):
    """A loop of the script is left, or goes on to its next round."""

    def __init__(self, *, is_break: bool) -> None:
        self.is_break = is_break


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the script."""

    parameters: tuple[str, ...]
    defaults: Mapping[str, ast.expr]
    body: tuple[ast.stmt, ...]
    names: Names


@dataclass(eq=False)
class Names:
    """Names and what they stand for, in a function or in the whole script."""

    values: dict[str, Any] = field(default_factory=dict)
    outer: Names | None = None

    def find(self, name: str) -> Any:
        """What a name stands for; `KeyError` where it is not defined."""
        if name in self.values:
            return self.values[name]
        if self.outer is None:
            raise KeyError(name)
        return self.outer.find(name)


@dataclass(frozen=True)
class CallMade:
    """A call with its arguments worked out."""

    name: str
    on: Any
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    line: int
    text: str

    def get(self, position: int, *names: str, default: Any = None) -> Any:
        """An argument by position or name."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.arguments[position] if 0 <= position < len(self.arguments) else default


def plain(form: Form) -> Any:
    """A constant as a number, anything else as it is."""
    only = form.monomials.get((), None)
    if set(form.monomials) <= {()}:
        value = getattr(only, "value", None) if only is not None else 0.0
        if isinstance(value, bool):
            return value
        if isinstance(value, float):
            return int(value) if value.is_integer() and abs(value) < 1e15 else value
    return form


def function_of(node: ast.FunctionDef, names: Names) -> Function:
    """A function with the defaults of its arguments."""
    arguments = node.args
    every = tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args))
    defaults = dict(
        zip(every[len(every) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    defaults |= {
        a.arg: d
        for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if d is not None
    }
    return Function(every, defaults, tuple(node.body), names)


def reason_of(error: Exception) -> str:
    """Why a statement was not followed."""
    if isinstance(error, UnreadableError):
        return str(error)
    return "this is not understood"
