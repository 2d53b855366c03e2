"""A small parser of R, for scripts for Apollo: statements as nodes of Python's `ast`.

The same `Reader` then follows scripts in both languages. Assignments, calls, lists, functions,
conditions and loops are read; anything else is an error with its line.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from ardchoice.scripts.forms import UnreadableError

MOST_NESTING = 60
_TOKEN = re.compile(
    r"""[ \t\r\f\ufeff]*(?:
      (?P<comment>\#[^\n]*)
    | (?P<newline>\n)
    | (?P<number>0[xX][0-9a-fA-F]+L?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?)
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<quoted>`[^`]*`)
    | (?P<name>[^\W\d][\w.]*|\.[^\W\d][\w.]*|\.)
    | (?P<sign>%[^%\n]*%
        |<<-|->>|\|>|<-|->|<=|>=|==|!=|&&|\|\||:::|::|\[\[|[-+*/^<>=!&|~?:$@()\[\]{},;\\])
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = {"TRUE": True, "FALSE": False, "T": True, "F": False, "NULL": None, "NA": None}
_BINDING = {
    **dict.fromkeys(("|", "||"), 3),
    **dict.fromkeys(("&", "&&"), 4),
    **dict.fromkeys(("==", "!=", "<", ">", "<=", ">="), 6),
    **dict.fromkeys("+-", 7),
    **dict.fromkeys("*/", 8),
    "|>": 9,
    ":": 10,
    "^": 12,
}
_OPERATORS: dict[str, Any] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "^": ast.Pow,
    "|": ast.BitOr,
    "||": ast.BitOr,
    "&": ast.BitAnd,
    "&&": ast.BitAnd,
}
_COMPARED: dict[str, Any] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    ">": ast.Gt,
    "<=": ast.LtE,
    ">=": ast.GtE,
}
_ASSIGN = ("<-", "<<-", "=", "->", "->>")
_OPEN = {"(": ")", "[": "]", "[[": "]]", "{": "}"}


class RFunction(ast.expr):
    """``function(x, y = 1) { ... }``; a node of its own."""

    parameters: tuple[str, ...]
    defaults: dict[str, ast.expr]
    body: tuple[ast.stmt, ...]


class RBlock(ast.expr):
    """Statements in braces where an expression is wanted."""

    body: tuple[ast.stmt, ...]


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def parse_r(text: str) -> list[ast.stmt]:
    """The statements of a script.

    Raises
    ------
    UnreadableError
        With the line, where the script is not R as this parser knows it.
    """
    return _Parser(_tokens(text)).program()


def _tokens(text: str) -> list[_Token]:
    out: list[_Token] = []
    at, line = 0, 1
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    end = len(text.rstrip(" \t\f\ufeff"))
    while at < end:
        found = _TOKEN.match(text, at)
        if not found:
            raise UnreadableError(f"line {line}: {text[at : at + 20].split(chr(10))[0]!r} is not R")
        kind = str(found.lastgroup)
        token = found[kind]
        if kind != "comment":
            out.append(_Token(kind, token, line))
        line += token.count("\n")
        at = found.end()
    return [*out, _Token("end", "", line)]


class _Parser:
    """Tokens, read from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0
        self.inside: list[str] = []

    # -- Tokens -----------------------------------------------------------------------------

    @property
    def next(self) -> _Token:
        """The next token; ends of lines do not count within parentheses."""
        if self.inside and self.inside[-1] != "{":
            self.skip_lines()
        return self.tokens[self.at]

    def skip_lines(self) -> None:
        """Go on to what is no end of a line."""
        while self.tokens[self.at].kind == "newline":
            self.at += 1

    def is_sign(self, *signs: str) -> bool:
        """Whether the next token is one of these."""
        return self.next.kind == "sign" and self.next.text in signs

    def is_word(self, word: str) -> bool:
        """Whether the next token is this word."""
        return self.next.kind == "name" and self.next.text == word

    def take(self) -> _Token:
        """The next token."""
        token = self.next
        if token.kind != "end":
            self.at += 1
        return token

    def expect(self, sign: str) -> None:
        """The next token must be this sign; ``]]`` is two of them."""
        for one in ("]", "]") if sign == "]]" else (sign,):
            if not self.is_sign(one):
                raise self.error(f"expected {sign!r}")
            self.at += 1

    def error(self, what: str) -> UnreadableError:
        """What was expected, and where."""
        token = self.next
        here = "the end" if token.kind == "end" else repr(token.text[:20])
        return UnreadableError(f"line {token.line}: {what}, not {here}")

    def at_line(self, node: Any, line: int) -> Any:
        """A node with its line."""
        node.lineno, node.col_offset = line, 0
        node.end_lineno, node.end_col_offset = line, 0
        return node

    # -- Statements -------------------------------------------------------------------------

    def program(self) -> list[ast.stmt]:
        """Statements up to the end."""
        out = self.statements()
        if self.next.kind != "end":
            raise self.error("expected a statement")
        return out

    def statements(self) -> list[ast.stmt]:
        """Statements up to a closing brace or the end."""
        out: list[ast.stmt] = []
        while True:
            while self.tokens[self.at].kind == "newline" or self.is_sign(";"):
                self.at += 1
            if self.next.kind == "end" or self.is_sign("}"):
                return out
            out += self.statement()
            ends = self.tokens[self.at].kind in ("newline", "end") or self.is_sign(";", "}")
            if not ends:
                raise self.error("expected the end of the statement")

    def statement(self) -> list[ast.stmt]:
        """One statement; a block in braces gives several."""
        line = self.next.line
        if self.is_sign("{"):
            return self.braces()
        if self.next.kind == "name" and self.next.text in ("if", "for", "while", "repeat"):
            return [self.at_line(getattr(self, f"_{self.take().text}")(), line)]
        value = self.expression(0)
        targets: list[ast.expr] = []
        while self.is_sign(*_ASSIGN):
            sign = self.take().text
            self.skip_lines()
            other = self.expression(0)
            if sign in ("->", "->>"):
                targets.append(other)
            else:
                targets.append(value)
                value = other
        if targets:
            return [self.at_line(ast.Assign([_stored(t) for t in targets], value), line)]
        if isinstance(value, ast.Call) and _called(value) in ("return", "invisible"):
            inner = value.args[0] if value.args else None
            return [self.at_line(ast.Return(inner), line)]
        if isinstance(value, ast.Name) and value.id in ("next", "break"):
            left = ast.Continue() if value.id == "next" else ast.Break()
            return [self.at_line(left, line)]
        return [self.at_line(ast.Expr(value), line)]

    def braces(self) -> list[ast.stmt]:
        """Statements in braces."""
        self.nest("{")
        self.expect("{")
        out = self.statements()
        self.unnest()
        self.expect("}")
        return out

    def nest(self, sign: str) -> None:
        """Enter a bracket, of which the sign itself is still to be taken."""
        self.depth += 1
        if self.depth > MOST_NESTING:
            raise self.error(f"expected fewer than {MOST_NESTING} brackets within each other")
        token = self.next
        if token.kind != "sign" or token.text != sign:
            raise self.error(f"expected {sign!r}")
        self.inside.append(sign)

    def unnest(self) -> None:
        """Leave a bracket, whose end is the next token."""
        self.skip_lines()
        self.depth -= 1
        self.inside.pop()

    def body(self) -> list[ast.stmt]:
        """What a condition or a loop governs."""
        self.skip_lines()
        return self.statement() or [ast.Pass()]

    def _if(self) -> ast.stmt:
        test = self.parenthesised()
        body = self.body()
        start = self.at
        if self.inside:
            self.skip_lines()
        if not self.is_word("else"):
            self.at = start
            return ast.If(test, body, [])
        self.take()
        return ast.If(test, body, self.body())

    def _for(self) -> ast.stmt:
        self.nest("(")
        self.expect("(")
        name = self.take()
        if name.kind != "name" or not self.is_word("in"):
            raise self.error("expected 'name in values'")
        self.take()
        values = self.expression(0)
        self.unnest()
        self.expect(")")
        return ast.For(ast.Name(name.text, ast.Store()), values, self.body(), [])

    def _while(self) -> ast.stmt:
        return ast.While(self.parenthesised(), self.body(), [])

    def _repeat(self) -> ast.stmt:
        return ast.While(ast.Constant(True), self.body(), [])

    def parenthesised(self) -> ast.expr:
        """An expression in parentheses."""
        self.nest("(")
        self.expect("(")
        value = self.expression(0)
        self.unnest()
        self.expect(")")
        return value

    # -- Expressions ------------------------------------------------------------------------

    def expression(self, least: int) -> ast.expr:
        """Operators that bind at least so tightly."""
        self.depth += 1
        if self.depth > MOST_NESTING:
            raise self.error(f"expected fewer than {MOST_NESTING} parts within each other")
        left = self.unary()
        while True:
            token = self.next
            binding = _BINDING.get(token.text, 9 if token.text[:1] == "%" else -1)
            if token.kind != "sign" or binding < max(least, 0):
                break
            self.take()
            self.skip_lines()
            right = self.expression(binding if token.text == "^" else binding + 1)
            left = self.at_line(self.joined(token, left, right), token.line)
        self.depth -= 1
        return left

    def joined(self, token: _Token, left: ast.expr, right: ast.expr) -> ast.expr:
        """Two operands and their operator."""
        if token.text in _OPERATORS:
            return ast.BinOp(left, _OPERATORS[token.text](), right)
        if token.text in _COMPARED:
            return ast.Compare(left, [_COMPARED[token.text]()], [right])
        if token.text == "%in%":
            return ast.Compare(left, [ast.In()], [right])
        if token.text in ("%>%", "|>"):  # the first argument of what follows
            if isinstance(right, ast.Call):
                return ast.Call(right.func, [left, *right.args], right.keywords)
            return ast.Call(_function_name(right), [left], [])
        if token.text == "%%":
            return ast.BinOp(left, ast.Mod(), right)
        name = "colon" if token.text == ":" else "operator"
        function = self.at_line(ast.Name(name, ast.Load()), token.line)
        return ast.Call(function, [left, right], [])

    def unary(self) -> ast.expr:
        """Signs, and what they stand before."""
        token = self.next
        if token.kind == "sign" and token.text in ("-", "+", "!", "~", "?"):
            self.take()
            if token.text in "~?":
                raise UnreadableError(f"line {token.line}: formulas are not read")
            inner = self.expression(5 if token.text == "!" else 11)
            sign = {"-": ast.USub, "+": ast.UAdd, "!": ast.Not}[token.text]()
            return self.at_line(ast.UnaryOp(sign, inner), token.line)  # type: ignore[no-any-return]
        return self.postfix(self.primary())

    def postfix(self, value: ast.expr) -> ast.expr:
        """Calls and parts of a value."""
        while True:
            token = self.next
            if token.kind != "sign" or token.text not in ("(", "[", "[[", "$", "@", "::", ":::"):
                return value
            if token.text in ("$", "@", "::", ":::"):
                self.take()
                name = self.take()
                if name.kind not in ("name", "text", "quoted"):
                    raise self.error("expected a name")
                value = self.part(value, token, name)
            elif token.text == "(":
                arguments, keywords = self.arguments("(")
                value = ast.Call(_function_name(value), arguments, keywords)
            else:
                arguments, _ = self.arguments(token.text)
                one = len(arguments) == 1
                key = arguments[0] if one else ast.Tuple(arguments, ast.Load())
                value = ast.Subscript(value, self.at_line(key, token.line), ast.Load())
            self.at_line(value, token.line)

    def part(self, value: ast.expr, sign: _Token, name: _Token) -> ast.expr:
        """``x$name`` or ``package::name``."""
        text = _unquoted(name) if name.kind != "name" else name.text
        if sign.text in ("::", ":::"):
            return ast.Name(text, ast.Load())
        return ast.Subscript(value, self.at_line(ast.Constant(text), name.line), ast.Load())

    def arguments(self, sign: str) -> tuple[list[ast.expr], list[ast.keyword]]:
        """What stands in brackets."""
        self.nest(sign)
        self.expect(sign)
        out: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        closing = _OPEN[sign]
        while not self.is_sign(closing[0]):
            if self.is_sign(","):
                out.append(self.at_line(ast.Constant(None), self.next.line))
                self.take()
                continue
            self.argument(out, keywords)
            if self.is_sign(","):
                self.take()
                if sign != "(" and self.is_sign("]"):
                    out.append(self.at_line(ast.Constant(None), self.next.line))
        self.unnest()
        self.expect(closing)
        return out, keywords

    def argument(self, out: list[ast.expr], keywords: list[ast.keyword]) -> None:
        """One argument, perhaps with a name."""
        token = self.next
        follows = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else token
        if token.kind in ("name", "text", "quoted") and (follows.kind, follows.text) == (
            "sign",
            "=",
        ):
            self.take()
            self.take()
            name = token.text if token.kind == "name" else _unquoted(token)
            if self.is_sign(",", ")"):
                value: ast.expr = self.at_line(ast.Constant(None), token.line)
            else:
                value = self.expression(0)
            keywords.append(self.at_line(ast.keyword(name, value), token.line))
            return
        out.append(self.expression(0))
        if self.is_sign(*_ASSIGN):
            raise self.error("expected ',' or ')'")

    def primary(self) -> ast.expr:
        """A number, a text, a name, a function, a block, or parentheses."""
        token = self.next
        if token.kind == "sign" and token.text == "(":
            return self.parenthesised()
        if token.kind == "sign" and token.text == "{":
            block = RBlock()
            block.body = tuple(self.braces())
            return self.at_line(block, token.line)  # type: ignore[no-any-return]
        if token.kind == "sign" and token.text == "\\":
            self.take()
            return self.function(token.line)
        if token.kind in ("end", "sign", "newline"):
            raise self.error("expected a value")
        self.take()
        if token.kind == "number":
            text = token.text.rstrip("L")
            value = float(int(text, 16)) if text[:2].lower() == "0x" else float(text)
            number: Any = int(value) if value.is_integer() and abs(value) < 1e15 else value
            return self.at_line(ast.Constant(number), token.line)  # type: ignore[no-any-return]
        if token.kind == "text":
            return self.at_line(ast.Constant(_unquoted(token)), token.line)  # type: ignore[no-any-return]
        if token.text == "function":
            return self.function(token.line)
        if token.text == "if":
            return self.conditional(token.line)
        if token.text in _CONSTANTS:
            return self.at_line(ast.Constant(_CONSTANTS[token.text]), token.line)  # type: ignore[no-any-return]
        name = token.text[1:-1] if token.kind == "quoted" else token.text
        return self.at_line(ast.Name(name, ast.Load()), token.line)  # type: ignore[no-any-return]

    def conditional(self, line: int) -> ast.expr:
        """``if (a) b else c`` as a value."""
        test = self.parenthesised()
        self.skip_lines()
        body = self.expression(0)
        other: ast.expr = self.at_line(ast.Constant(None), line)
        if self.is_word("else"):
            self.take()
            self.skip_lines()
            other = self.expression(0)
        return self.at_line(ast.IfExp(test, body, other), line)  # type: ignore[no-any-return]

    def function(self, line: int) -> ast.expr:
        """A function with its parameters and statements."""
        arguments, keywords = self.arguments("(")
        names = [a.id for a in arguments if isinstance(a, ast.Name)]
        self.skip_lines()
        body = self.statement()
        if body and isinstance(body[-1], ast.Expr):
            body[-1] = self.at_line(ast.Return(body[-1].value), body[-1].lineno)
        node = RFunction()
        node.parameters = (*names, *(str(k.arg) for k in keywords))
        node.defaults = {str(k.arg): k.value for k in keywords}
        node.body = tuple(body)
        return self.at_line(node, line)  # type: ignore[no-any-return]


def _unquoted(token: _Token) -> str:
    """The content of a text or a name in quotes."""
    if token.kind == "quoted":
        return token.text[1:-1]
    inner = token.text[1:-1]
    inner = re.sub(r"\\U\{([0-9a-fA-F]{1,6})\}", _code_point, inner)
    return re.sub(
        r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inner, flags=re.DOTALL
    )


def _code_point(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code < 0x110000 else "?"


def _function_name(value: ast.expr) -> ast.expr:
    """``read.csv`` is called as ``read_csv``, as Python would."""
    if isinstance(value, ast.Name):
        value.id = value.id.replace(".", "_")
    return value


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _stored(target: ast.expr) -> ast.expr:
    """A target of an assignment; texts may be names."""
    if isinstance(target, ast.Constant) and isinstance(target.value, str):
        return ast.copy_location(ast.Name(target.value, ast.Store()), target)
    return target
