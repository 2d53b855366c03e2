"""The grammar of expressions, and its parser.

::

    condition   = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | comparison
    comparison  = sum { ("==" | "!=" | "<" | "<=" | ">" | ">=") sum }
                | sum ["not"] "in" "(" value { "," value } ")"
    sum         = product { ("+" | "-") product }
    product     = signed { ("*" | "/" | "%") signed }
    signed      = ("-" | "+") signed | power
    power       = primary [ "**" signed ]
    primary     = number | "text" | 'text' | "true" | "false" | "missing" | name
                | function "(" condition { "," condition } ")" | "(" condition ")"
    name        = letters, digits, "_", "." | back-quoted text

``1 < x < 3`` means ``1 < x and x < 3``. Nothing a user writes is ever evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ardchoice.errors import did_you_mean
from ardchoice.expressions.syntax import (
    COMPARISONS,
    FUNCTIONS,
    WORDS,
    Call,
    Column,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    Place,
)

MAX_CHARACTERS = 4000
"""A longer expression is something else."""
MAX_NESTING = 40
"""Parentheses, signs and powers within each other, while parsing."""
MAX_DEPTH = 120
"""Operations within operations; a sum of more terms would exhaust the stack."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<quoted>`(?:[^`\\]|\\.)*`)
    | (?P<name>[^\W\d][\w.]*)
    | (?P<sign>\*\*|==|!=|<=|>=|[-+*/%<>(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_HINTS = {
    "=": "write '==' to compare",
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not', or '!=' for different",
    "^": "write '**' for a power",
    "~": "write 'not'",
    "[": "lists stand in parentheses: x in (1, 3)",
    "{": "lists stand in parentheses: x in (1, 3)",
    "`": "a name in back quotes needs a second back quote",
    '"': "a text needs a second quote",
    "'": "a text needs a second quote",
}


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def parse_expression(text: str) -> Expression:
    """Read an expression over columns.

    Parameters
    ----------
    text
        Such as ``"TRAIN_CO * (GA == 0)"`` or ``"PURPOSE in (1, 3) and CHOICE != 0"``.

    Returns
    -------
    Expression

    Raises
    ------
    ExpressionError
        With what was expected, and where.

    Examples
    --------
    >>> str(parse_expression("max(0, TT-60)/60"))
    'max(0, TT - 60) / 60'
    """
    if not isinstance(text, str):
        raise ExpressionError(
            f"An expression is text such as 'TRAIN_CO * (GA == 0)', not {type(text).__name__}."
        )
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(
            f"An expression has at most {MAX_CHARACTERS:,} characters, not {len(text):,}; derive "
            "it in several steps."
        )
    if not text.strip():
        raise ExpressionError("The expression is empty. Write, for instance, 'TT / 60'.")
    parser = _Parser(text)
    found = parser.condition(0)
    if parser.next.kind != "end":
        raise parser.unexpected("an operator, or the end")
    if _depth(found) > MAX_DEPTH:
        raise ExpressionError(
            f"An expression has at most {MAX_DEPTH} operations within each other; derive it in "
            "several steps."
        )
    return found


def _depth(expression: Expression) -> int:
    """How many parts are within each other."""
    deepest, waiting = 0, [(expression, 1)]
    while waiting:
        one, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner = one.operands if isinstance(one, Operation) else ()
        inner = one.arguments if isinstance(one, Call) else inner
        waiting += [(part, depth + 1) for part in inner]
    return deepest


def _tokens(text: str) -> list[_Token]:
    out, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if not found:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            hint = _HINTS.get(text[start], "names with spaces or signs stand in back quotes")
            raise Place(text, start).error(f"{text[start]!r} cannot stand here: {hint}")
        kind = str(found.lastgroup)
        token = _Token(kind, found[kind], found.start(kind))
        at = found.end()
        if kind == "number" and re.match(r"[\w.]", text[at:]):
            raise Place(text, token.at).error(
                "a number ends in letters; a name that begins with a digit stands in back quotes"
            )
        out.append(token)
    return [*out, _Token("end", "", len(text.rstrip()))]


def _unescaped(text: str) -> str:
    """The content of a text or name in quotes."""
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


class _Parser:
    """Tokens, read from left to right; every method reads one kind of part, `depth` deep."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, _tokens(text), 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def place(self, at: int | None = None) -> Place:
        return Place(self.text, self.next.at if at is None else at)

    def take(self, *signs: str) -> _Token | None:
        """The next token if it is one of these signs or words."""
        token = self.next
        if token.kind not in ("sign", "name") or token.text not in signs:
            return None
        self.at += 1
        return token

    def expect(self, sign: str, what: str) -> None:
        if not self.take(sign):
            raise self.unexpected(what)

    def unexpected(self, what: str) -> ExpressionError:
        token = self.next
        here = "the end" if token.kind == "end" else repr(token.text)
        hint = ""
        if token.kind == "name" and token.text.lower() in WORDS and token.text not in WORDS:
            hint = f"; write {token.text.lower()!r} in small letters"
        return self.place().error(f"expected {what} here, not {here}{hint}")

    def deeper(self, depth: int, at: int) -> int:
        if depth >= MAX_NESTING:
            raise self.place(at).error(
                f"parts are nested more than {MAX_NESTING} deep; derive it in several steps"
            )
        return depth + 1

    def chain(self, read: Callable[[int], Expression], depth: int, *operators: str) -> Expression:
        """Operands joined by operators that are applied from the left."""
        left = read(depth)
        while token := self.take(*operators):
            left = Operation(token.text, (left, read(depth)), self.place(token.at))
        return left

    def condition(self, depth: int) -> Expression:
        return self.chain(self.conjunction, self.deeper(depth, self.next.at), "or")

    def conjunction(self, depth: int) -> Expression:
        return self.chain(self.negation, depth, "and")

    def negation(self, depth: int) -> Expression:
        token = self.take("not")
        if not token:
            return self.comparison(depth)
        inner = self.negation(self.deeper(depth, token.at))
        return Operation("not", (inner,), self.place(token.at))

    def comparison(self, depth: int) -> Expression:
        left = self.sum(depth)
        place = self.place()
        if self.take("in"):
            return self.membership(left, place, depth)
        if self.next.text == "not" and self.tokens[self.at + 1].text == "in":
            self.at += 2
            return Operation("not", (self.membership(left, place, depth),), place)
        found: Expression | None = None
        while token := self.take(*COMPARISONS):
            right = self.sum(depth)
            one = Operation(token.text, (left, right), self.place(token.at))
            found = one if found is None else Operation("and", (found, one), one.place)
            left = right
        return left if found is None else found

    def membership(self, value: Expression, place: Place, depth: int) -> Expression:
        self.expect("(", "'(' and a list of values, as in x in (1, 3),")
        listed = self.arguments(self.deeper(depth, place.at), "a value")
        return Operation("in", (value, *listed), place)

    def arguments(self, depth: int, what: str) -> list[Expression]:
        """Parts separated by commas, up to the closing parenthesis."""
        if self.take(")"):
            raise self.place(self.tokens[self.at - 1].at).error(f"expected {what} here, not ')'")
        out = [self.condition(depth)]
        while self.take(","):
            out.append(self.condition(depth))
        self.expect(")", "',' or ')'")
        return out

    def sum(self, depth: int) -> Expression:
        return self.chain(self.product, depth, "+", "-")

    def product(self, depth: int) -> Expression:
        return self.chain(self.signed, depth, "*", "/", "%")

    def signed(self, depth: int) -> Expression:
        token = self.take("-", "+")
        if not token:
            return self.power(depth)
        inner = self.signed(self.deeper(depth, token.at))
        if token.text == "+":
            return inner
        if isinstance(inner, Literal) and isinstance(inner.value, float):
            return replace(inner, value=-inner.value)
        return Operation("negative", (inner,), self.place(token.at))

    def power(self, depth: int) -> Expression:
        base = self.primary(depth)
        token = self.take("**")
        if not token:
            return base
        exponent = self.signed(self.deeper(depth, token.at))
        return Operation("**", (base, exponent), self.place(token.at))

    def primary(self, depth: int) -> Expression:
        token, place = self.next, self.place()
        what = "a number, a column, a function or '('"
        if token.kind == "end" or (token.kind == "sign" and token.text != "("):
            raise self.unexpected(what)
        if token.kind == "name" and token.text in ("and", "or", "not", "in"):
            raise self.unexpected(what)
        self.at += 1
        if token.kind == "sign":
            inner = self.condition(depth)
            self.expect(")", "')'")
            return inner
        if token.kind == "number":
            return Literal(float(token.text), place)
        if token.kind == "text":
            return Literal(_unescaped(token.text), place)
        if token.kind == "quoted":
            return Column(_unescaped(token.text), place)
        if token.text in ("true", "false"):
            return Literal(token.text == "true", place)
        if token.text == "missing":
            return Literal(None, place)
        if self.take("("):
            return self.call(token, place, depth)
        return Column(token.text, place)

    def call(self, token: _Token, place: Place, depth: int) -> Expression:
        if token.text not in FUNCTIONS:
            raise place.error(
                f"there is no function {token.text!r}. {did_you_mean(token.text, FUNCTIONS)}"
            )
        arguments = self.arguments(depth, "an argument")
        fewest, most = FUNCTIONS[token.text]
        if not fewest <= len(arguments) <= (most or len(arguments)):
            wanted = str(fewest) if fewest == most else f"at least {fewest}"
            raise place.error(
                f"{token.text} takes {wanted} argument{'s' * (wanted != '1')}, not {len(arguments)}"
            )
        return Call(token.text, tuple(arguments), place)
