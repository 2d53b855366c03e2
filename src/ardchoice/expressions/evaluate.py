"""The values of an expression on the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray, Bools, Floats
from ardchoice.errors import first_few
from ardchoice.expressions.syntax import (
    Call,
    Column,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Place,
)

Lookup = Callable[[str], AnyArray]
"""Name of a column -> its values; shape (rows,). Raises where there is no such column."""


class NumberReader(Protocol):
    """Reads text as numbers: float64, NaN where missing, and where a text is no number."""

    def __call__(self, texts: AnyArray, /) -> tuple[Floats, Bools]: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The values of an expression.

    Attributes
    ----------
    values
        Shape (rows,): float64 with NaN where missing, or texts with None.
    is_condition
        Whether the values are 1 where it holds and 0 where it does not.
    notes
        Where operations had no value: ``log of numbers that are not positive: missing in 3 rows``.
    """

    values: AnyArray
    is_condition: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return self.values.dtype == object


def evaluate(
    expression: Expression, lookup: Lookup, rows: int, numbers: NumberReader | None = None
) -> Evaluated:
    """The values of an expression.

    Missing values stay missing: an operation on one has none, nor has a comparison; ``and`` and
    ``or`` have one where the other side decides.

    Parameters
    ----------
    expression
    lookup
        Name of a column -> its values, numbers (NaN where missing) or objects (None).
    rows
        How many.
    numbers
        How texts are read as numbers where an operation needs some. Default: as Python does.

    Raises
    ------
    ExpressionError
        Where texts meet numbers, with the place.
    """
    evaluator = _Evaluator(lookup, rows, numbers or plain_numbers)
    found = evaluator.value(expression)
    values = found.values
    if values.shape != (rows,):
        values = np.full(rows, values[()], dtype=values.dtype)
    return Evaluated(values, found.is_condition, tuple(evaluator.notes()))


def evaluate_condition(
    expression: Expression, lookup: Lookup, rows: int, numbers: NumberReader | None = None
) -> Bools:
    """Where a condition holds; not where it is missing. Shape (rows,)."""
    evaluator = _Evaluator(lookup, rows, numbers or plain_numbers)
    holds = evaluator.condition(expression) == 1
    return np.asarray(np.broadcast_to(holds, (rows,)))


def plain_numbers(texts: AnyArray) -> tuple[Floats, Bools]:
    """Texts as numbers, and where they are none."""
    values = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(dtype=float)
    return values, np.isnan(values) & ~np.asarray(pd.isna(texts), dtype=bool)


_ARITHMETIC: Mapping[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "%": np.mod,
    "**": np.power,
    "negative": np.negative,
}
_FUNCTIONS: Mapping[str, Any] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log1p": np.log1p,
    "max": np.maximum,
    "min": np.minimum,
    "round": np.round,
    "sqrt": np.sqrt,
}
_COMPARISONS: Mapping[str, Any] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class _Evaluator:
    """The values of one expression; remembers where operations had none."""

    def __init__(self, lookup: Lookup, rows: int, numbers: NumberReader) -> None:
        self.lookup, self.rows, self.read_numbers = lookup, rows, numbers
        self.undefined: dict[str, int] = {}

    def notes(self) -> list[str]:
        """What had no value, and in how many rows."""
        return [
            f"{what} has no finite value in {n} row{'s' * (n != 1)}: missing there"
            for what, n in self.undefined.items()
        ]

    def value(self, expression: Expression) -> Evaluated:
        """Its values; of a constant, shape ()."""
        if isinstance(expression, Literal):
            return self._literal(expression)
        if isinstance(expression, Column):
            return self._column(expression)
        if isinstance(expression, Call):
            return self._call(expression)
        operator = expression.operator
        if operator in _ARITHMETIC:
            each = [self.number(o) for o in expression.operands]
            return Evaluated(self._finite(expression, _ARITHMETIC[operator], each))
        if operator in _COMPARISONS:
            return self._compared(operator, expression.operands, expression.place)
        if operator == "in":
            first, *others = expression.operands
            each = [self._compared("==", (first, o), expression.place).values for o in others]
            return Evaluated(_either(each), True)
        each = [self.condition(o) for o in expression.operands]
        if operator == "not":
            return Evaluated(1.0 - each[0], True)
        return Evaluated(
            _either(each) if operator == "or" else 1.0 - _either([1.0 - e for e in each]), True
        )

    def number(self, expression: Expression) -> Floats:
        """Its values as numbers, or an error at its place."""
        found = self.value(expression)
        return self._numbers(found, expression)

    def condition(self, expression: Expression) -> Floats:
        """1 where it holds, 0 where not, NaN where missing; or an error at its place."""
        found = self.value(expression)
        values = self._numbers(found, expression)
        others = values[~np.isin(values, (0.0, 1.0)) & ~np.isnan(values)]
        if len(others := np.unique(others)):
            raise _place(expression).error(
                f"a condition is wanted here, such as {expression} == {others[0]:g}; this has "
                f"values beyond 0 and 1 ({first_few(f'{v:g}' for v in others)})"
            )
        return values

    def _numbers(self, found: Evaluated, expression: Expression) -> Floats:
        if not found.is_text:
            return found.values
        values, refused = self.read_numbers(np.atleast_1d(found.values))
        if refused.any():
            texts = pd.unique(np.atleast_1d(found.values)[refused])
            raise _place(expression).error(
                f"a number is wanted here, and {expression} has texts such as "
                f"{first_few(map(repr, texts), 3)}"
            )
        return values.reshape(found.values.shape)

    def _literal(self, literal: Literal) -> Evaluated:
        if isinstance(literal.value, str):
            return Evaluated(np.array(literal.value, dtype=object))
        value = np.nan if literal.value is None else float(literal.value)
        return Evaluated(np.array(value), isinstance(literal.value, bool))

    def _column(self, column: Column) -> Evaluated:
        try:
            values = np.asarray(self.lookup(column.name))
        except ExpressionError:
            raise
        except Exception as error:
            if type(error).__module__.split(".")[0] != "ardchoice":
                raise
            raise column.place.error(str(error)) from None
        if values.dtype.kind in "biuf":
            return Evaluated(values.astype(float), values.dtype.kind == "b")
        values = values.astype(object)
        present = values[~np.asarray(pd.isna(values), dtype=bool)]
        if all(isinstance(v, bool | int | float | np.number | np.bool_) for v in present):
            return Evaluated(
                pd.to_numeric(pd.Series(values)).to_numpy(dtype=float, na_value=np.nan)
            )
        texts = [None if pd.isna(v) else str(v) for v in values]
        out = np.empty(len(texts), dtype=object)
        out[:] = texts
        return Evaluated(out)

    def _call(self, call: Call) -> Evaluated:
        if call.function == "is_missing":
            return Evaluated(
                np.asarray(pd.isna(self.value(call.arguments[0]).values), dtype=float), True
            )
        if call.function == "if":
            return self._chosen(call)
        each = [self.number(a) for a in call.arguments]
        return Evaluated(self._finite(call, _FUNCTIONS[call.function], each))

    def _chosen(self, call: Call) -> Evaluated:
        """One value where a condition holds, another where it does not, none where missing."""
        holds = self.condition(call.arguments[0])
        yes, no = (self.value(a) for a in call.arguments[1:])
        if yes.is_text and no.is_text:
            one, other = yes.values, no.values
            empty = None
        else:
            one, other = (
                self._numbers(v, a) for v, a in zip((yes, no), call.arguments[1:], strict=True)
            )
            empty = np.nan
        values = np.where(
            np.isnan(holds), np.array(empty, dtype=one.dtype), np.where(holds == 1, one, other)
        )
        return Evaluated(values, yes.is_condition and no.is_condition)

    def _finite(self, what: Expression, function: Any, each: list[Floats]) -> Floats:
        """A function of numbers; missing, and counted, where it has no finite value."""
        with np.errstate(all="ignore"):
            values = each[0] if len(each) > 1 else function(each[0])
            for other in each[1:]:
                values = function(values, other)
        known = np.all([np.isfinite(np.broadcast_to(e, np.shape(values))) for e in each], axis=0)
        lost = known & ~np.isfinite(values)
        n = int(np.count_nonzero(lost)) if np.ndim(values) else self.rows * int(lost)
        if n:
            short = str(what) if len(str(what)) <= 40 else f"{str(what)[:37]}..."
            self.undefined[short] = max(self.undefined.get(short, 0), n)
            values = np.where(lost, np.nan, values)
        return np.asarray(values)

    def _compared(self, operator: str, operands: tuple[Expression, ...], place: Place) -> Evaluated:
        left, right = (self.value(o) for o in operands)
        if left.is_text and right.is_text:
            if operator not in ("==", "!="):
                raise place.error(
                    f"texts are compared with == and !=, not with {operator}, and "
                    f"{operands[0]} and {operands[1]} are texts"
                )
            missing = pd.isna(left.values) | pd.isna(right.values)
            equal = np.asarray(left.values == right.values, dtype=float)
            holds = equal if operator == "==" else 1.0 - equal
            return Evaluated(np.where(missing, np.nan, holds), True)
        for text, other in (operands, operands[::-1]):
            if isinstance(text, Literal) and isinstance(text.value, str):
                raise text.place.error(
                    f"{other} has numbers, and {text} is a text: write a number without quotes"
                )
        one, other_values = (
            self._numbers(v, o) for v, o in zip((left, right), operands, strict=True)
        )
        holds = _COMPARISONS[operator](one, other_values).astype(float)
        return Evaluated(np.where(np.isnan(one) | np.isnan(other_values), np.nan, holds), True)


def _either(each: list[Floats]) -> Floats:
    """Whether one of several conditions holds; missing where none does and some are."""
    holds = np.any([e == 1 for e in np.broadcast_arrays(*each)], axis=0)
    missing = np.any([np.isnan(e) for e in np.broadcast_arrays(*each)], axis=0)
    return np.where(holds, 1.0, np.where(missing, np.nan, 0.0))


def _place(expression: Expression) -> Place:
    """Where an expression begins."""
    places = [expression.place]
    if isinstance(expression, Operation):
        places += [_place(o) for o in expression.operands[:1]]
    return min(places, key=lambda p: p.at)
