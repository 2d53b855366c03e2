"""Derived columns and filters of a table as code of Python and R.

Missing values stay missing as in ours: a comparison with one is missing, ``and`` and ``or`` are
known where one side decides, and a number that is not finite is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ardchoice.exports.quoting import number, python, r
from ardchoice.expressions import Call, Column, Expression, Literal, Operation

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
INFINITE = ("/", "%", "**", "log", "log1p", "sqrt", "exp")
"""What may have no finite value."""
QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
"""A text in Python or R."""


def is_text(expression: Expression, texts: Collection[str]) -> bool:
    """Whether an expression has texts, given the columns that have."""
    if isinstance(expression, Literal):
        return isinstance(expression.value, str)
    if isinstance(expression, Column):
        return expression.name in texts
    if isinstance(expression, Call) and expression.function == "if":
        return all(is_text(a, texts) for a in expression.arguments[1:])
    return False


@dataclass(frozen=True)
class Language:
    """How one language writes what expressions are made of."""

    column: Callable[[str, str], str]
    literal: Callable[[object], str]
    missing: str
    operators: Mapping[str, str]
    functions: Mapping[str, str]
    compared: Callable[[str, list[str]], str]
    among: Callable[[str, str, bool], str]
    together: Callable[[str, str, str], str]
    negated: Callable[[str], str]
    chosen: Callable[[str, str, str], str]
    is_missing: Callable[[str], str]


def written(expression: Expression, language: Language, texts: Collection[str]) -> str:
    """An expression over the columns of ``table`` as code."""
    if isinstance(expression, Literal):
        return _literal(expression, language)
    if isinstance(expression, Column):
        kind = "labels" if expression.name in texts else "numbers"
        return language.column(kind, expression.name)
    if isinstance(expression, Call):
        return _call(expression, language, texts)
    operator = expression.operator
    parts = [written(o, language, texts) for o in expression.operands]
    if operator in COMPARISONS:
        return _compared(operator, expression.operands, parts, language)
    if operator == "in":
        return _among(expression, parts, language)
    if operator in ("and", "or"):
        return language.together(operator, *parts)
    if operator == "not":
        return language.negated(parts[0])
    if operator == "negative":
        return f"-({parts[0]})"
    text = f" {language.operators.get(operator, operator)} ".join(map(_bracketed, parts))
    divisor = expression.operands[1]
    safe = operator not in INFINITE or (
        operator == "/" and isinstance(divisor, Literal) and bool(divisor.value)
    )
    return text if safe else f"finite({text})"


def _literal(literal: Literal, language: Language) -> str:
    if literal.value is None:
        return language.missing
    if isinstance(literal.value, bool):
        return str(int(literal.value))
    if isinstance(literal.value, float) and literal.value.is_integer():
        return str(int(literal.value))
    return language.literal(literal.value)


def _bracketed(text: str) -> str:
    """In parentheses where it has more than one part; brackets in texts and names do not count."""
    depth = 0
    for c in QUOTED.sub("", text):
        depth += (c in "([") - (c in ")]")
        if c == " " and depth == 0:
            return f"({text})"
    return f"({text})" if text.startswith("-") else text


def _compared(
    operator: str, operands: tuple[Expression, ...], parts: list[str], language: Language
) -> str:
    text = f" {operator} ".join(map(_bracketed, parts))
    pairs = zip(operands, parts, strict=True)
    known = [p for o, p in pairs if not isinstance(o, Literal) or o.value is None]
    return language.compared(text, known)


def _among(expression: Operation, parts: list[str], language: Language) -> str:
    """``x in (1, 2)``: plain values as a list, anything else one by one."""
    first, *others = expression.operands
    if all(isinstance(o, Literal) and o.value is not None for o in others):
        return language.among(parts[0], ", ".join(parts[1:]), is_text(others[0], ()))
    each = [
        _compared("==", (first, o), [parts[0], p], language)
        for o, p in zip(others, parts[1:], strict=True)
    ]
    text = each[0]
    for one in each[1:]:
        text = language.together("or", text, one)
    return text


def _call(call: Call, language: Language, texts: Collection[str]) -> str:
    parts = [written(a, language, texts) for a in call.arguments]
    if call.function == "is_missing":
        return language.is_missing(parts[0])
    if call.function == "if":
        return language.chosen(*parts)
    function = language.functions[call.function]
    text = parts[0]
    if call.function in ("min", "max"):
        for part in parts[1:]:
            text = f"{function}({text}, {part})"
        return text
    text = f"{function}({text})"
    return f"finite({text})" if call.function in INFINITE else text


PYTHON = Language(
    column=lambda kind, name: f"{kind}(table[{python(name)}])",
    literal=python,
    missing="np.nan",
    operators={},
    functions={
        **{name: f"np.{name}" for name in ("abs", "ceil", "exp", "floor", "log", "log1p", "sqrt")},
        "round": "np.round",
        "max": "np.maximum",
        "min": "np.minimum",
    },
    compared=lambda text, known: f"known({', '.join([text, *known])})",
    among=lambda value, listed, text: (
        f"known({'one_of' if text else 'np.isin'}({value}, [{listed}]), {value})"
    ),
    together=lambda word, a, b: f"{'both' if word == 'and' else 'either'}({a}, {b})",
    negated=lambda a: f"(1 - {_bracketed(a)})",
    chosen=lambda test, a, b: f"chosen({test}, {a}, {b})",
    is_missing=lambda a: f"pd.isna({a}).astype(float)",
)
R = Language(
    column=lambda kind, name: f"{'labels_of' if kind == 'labels' else kind}(table[[{r(name)}]])",
    literal=lambda value: r(value) if isinstance(value, str) else number(float(str(value))),
    missing="NA",
    operators={"**": "^", "%": "%%"},
    functions={
        **{name: name for name in ("abs", "exp", "floor", "log", "log1p", "sqrt", "round")},
        "ceil": "ceiling",
        "max": "pmax",
        "min": "pmin",
    },
    compared=lambda text, known: f"as.numeric({text})",
    among=lambda value, listed, text: (
        f"ifelse(is.na({value}), NA, as.numeric({value} %in% c({listed})))"
    ),
    together=lambda word, a, b: f"as.numeric({a} {'&' if word == 'and' else '|'} {b})",
    negated=lambda a: f"(1 - {_bracketed(a)})",
    chosen=lambda test, a, b: f"ifelse({_bracketed(test)} == 1, {a}, {b})",
    is_missing=lambda a: f"as.numeric(is.na({a}))",
)
