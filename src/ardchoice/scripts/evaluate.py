"""`Evaluator`: what the expressions of a script stand for."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ardchoice.scripts.forms import (
    Form,
    UnreadableError,
    add,
    combine,
    divide,
    multiply,
    number,
    power,
)
from ardchoice.scripts.names import LONGEST_LIST, LONGEST_TEXT, Function, Names, plain
from ardchoice.scripts.values import (
    Doubt,
    Foreign,
    Mapped,
    Record,
    Selected,
    Table,
    Unknown,
    as_form,
    later,
)

ARITHMETIC: Mapping[type, Callable[[Form, Form], Form]] = {
    ast.Add: add,
    ast.Sub: lambda a, b: add(a, b, "-"),
    ast.Mult: multiply,
    ast.Div: divide,
    ast.Pow: power,
    ast.Mod: lambda a, b: combine("%", a, b),
    ast.BitAnd: lambda a, b: combine("and", a, b),
    ast.BitOr: lambda a, b: combine("or", a, b),
}
COMPARED: Mapping[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_LIBRARIES = {"np", "numpy", "pd", "pandas", "biogeme", "pylogit", "xlogit", "os", "sys", "math"}
"""Modules that a name may be of, which are no columns."""


class Evaluator(ABC):
    """Works out expressions; statements and calls are those of `Reader`.

    Attributes
    ----------
    assumed
        Names that the script does not define, taken for columns -> the line of the first use.
    columns_are_names
        Whether such names are the rule.
    entries
        Identity of a dict -> it, and the variables that its entries are.
    """

    def __init__(self) -> None:
        self.assumed: dict[str, int] = {}
        self.columns_are_names = False
        self.entries: dict[int, tuple[object, dict[Any, str]]] = {}

    @abstractmethod
    def step(self) -> None:
        """Count one step."""

    @abstractmethod
    def doubt(self, node: ast.AST, reason: str) -> Doubt:
        """A doubt about a part of the script."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Any, names: Names) -> None:
        """Give a name a value."""

    @abstractmethod
    def block(self, statements: Iterable[ast.stmt], names: Names) -> None:
        """Statements one after the other."""

    # -- Expressions ------------------------------------------------------------------------

    def value(self, node: ast.expr, names: Names) -> Any:
        """What an expression stands for."""
        self.step()
        kind = type(node).__name__
        method = getattr(self, f"_{kind.lower()}", None)
        if method is None:
            return Unknown(self.doubt(node, "this is not understood"))
        return method(node, names)

    def form(self, node: ast.expr, names: Names) -> Form:
        """An expression that must be a number or a form."""
        value = self.value(node, names)
        if isinstance(value, Foreign) and self.may_be_column(node, value):
            return self.assumed_column(value.last, node)
        return as_form(value)

    def attempt(self, node: ast.expr, names: Names) -> Any:
        """What an expression stands for; unknown where it is beyond the reader."""
        try:
            return self.value(node, names)
        except UnreadableError as error:
            return Unknown(self.doubt(node, str(error)))

    def may_be_column(self, node: ast.expr, value: Foreign) -> bool:
        """Whether a name that the script does not define may be that of a column."""
        return isinstance(node, ast.Name) and value.path not in _LIBRARIES

    def assumed_column(self, name: str, node: ast.expr) -> Form:
        """A name of unknown origin, taken for a column."""
        if not self.columns_are_names:
            self.assumed.setdefault(name, int(getattr(node, "lineno", 0)))
        return later(name)

    def items(self, value: Any) -> list[Any]:
        """The entries of something known."""
        if isinstance(value, dict):
            value = list(value)
        if isinstance(value, Selected):
            value = list(value.names)
        if isinstance(value, list | tuple | range | str):
            if len(value) > LONGEST_LIST:
                raise UnreadableError("a list is too long")
            return list(value)
        if isinstance(value, Unknown):
            raise UnreadableError(value.doubt.reason)
        raise UnreadableError("this is no list that is known")

    def _constant(self, node: ast.Constant, names: Names) -> Any:
        if isinstance(node.value, bytes | complex) or node.value is Ellipsis:
            return Unknown(self.doubt(node, "this constant is not understood"))
        if isinstance(node.value, int) and abs(node.value) > 10**300:
            raise UnreadableError("a number is too large")
        return node.value

    def _name(self, node: ast.Name, names: Names) -> Any:
        try:
            return names.find(node.id)
        except KeyError:
            return Foreign(node.id, node.id)

    def _list(self, node: ast.List, names: Names) -> Any:
        return [self.value(e, names) for e in node.elts]

    def _tuple(self, node: ast.Tuple, names: Names) -> Any:
        return tuple(self.value(e, names) for e in node.elts)

    def _set(self, node: ast.Set, names: Names) -> Any:
        return [self.value(e, names) for e in node.elts]

    def _dict(self, node: ast.Dict, names: Names) -> Any:
        out: dict[Any, Any] = {}
        entries: dict[Any, str] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                inner = self.value(value, names)
                out |= inner if isinstance(inner, dict) else {}
                continue
            known = self.value(key, names)
            code = known.last if isinstance(known, Foreign) else known
            out[code] = self.entry(value, names)
            if isinstance(value, ast.Name):
                entries[code] = value.id
        self.entries[id(out)] = (out, entries)
        return out

    def entry(self, node: ast.expr, names: Names) -> Any:
        """A value that may be a column of that name, or may not be understood."""
        value = self.attempt(node, names)
        if isinstance(value, Foreign) and self.may_be_column(node, value):
            return self.assumed_column(value.last, node)
        return value

    def _joinedstr(self, node: ast.JoinedStr, names: Names) -> Any:
        text = ""
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            value = self.value(inner, names)
            if not isinstance(value, str | int | float):
                raise UnreadableError("a text depends on something that is not known")
            text += str(value)
            if len(text) > LONGEST_TEXT:
                raise UnreadableError("a text is too long")
        return text

    def _binop(self, node: ast.BinOp, names: Names) -> Any:
        """Operators from the left, without a frame for each."""
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        value = self.attempt(left, names)
        inner: ast.expr = left
        for one in reversed(chain):
            self.step()
            right = self.attempt(one.right, names)
            try:
                value = self.operated(one, inner, value, right)
            except UnreadableError as error:
                value = Unknown(self.doubt(one, str(error)))
            inner = one
        return value

    def operated(self, node: ast.BinOp, inner: ast.expr, left: Any, right: Any) -> Any:
        """One operator of two values."""
        if isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, str):
            if len(left) + len(right) > LONGEST_TEXT:
                raise UnreadableError("a text is too long")
            return left + right
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return self.items([*left, *right])
        if isinstance(node.op, ast.BitOr) and isinstance(left, dict) and isinstance(right, dict):
            return {**left, **right}
        operator = ARITHMETIC.get(type(node.op))
        if operator is None:
            return Unknown(self.doubt(node, "this operator is not understood"))
        sides = []
        for part, value in ((inner, left), (node.right, right)):
            if isinstance(value, Foreign) and self.may_be_column(part, value):
                value = self.assumed_column(value.last, part)
            sides.append(as_form(value))
        return plain(operator(*sides))

    def _unaryop(self, node: ast.UnaryOp, names: Names) -> Any:
        form = self.value(node.operand, names)
        if isinstance(form, Unknown):
            return form
        form = self.form(node.operand, names)
        if isinstance(node.op, ast.USub):
            return plain(multiply(number(-1), form))
        if isinstance(node.op, ast.Not | ast.Invert):
            return plain(combine("not", form))
        return form

    def _boolop(self, node: ast.BoolOp, names: Names) -> Any:
        word = "and" if isinstance(node.op, ast.And) else "or"
        forms = [self.form(v, names) for v in node.values]
        out = forms[0]
        for form in forms[1:]:
            out = combine(word, out, form)
        return plain(out)

    def _compare(self, node: ast.Compare, names: Names) -> Any:
        sides = [self.value(v, names) for v in (node.left, *node.comparators)]
        if any(isinstance(s, Unknown) for s in sides):
            return next(s for s in sides if isinstance(s, Unknown))
        if len(sides) == 2 and isinstance(node.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot):
            return self.membership(node, sides)
        out: Form | None = None
        nodes = (node.left, *node.comparators)
        for i, op in enumerate(node.ops):
            word = COMPARED.get(type(op))
            if word is None:
                raise UnreadableError("this comparison is not understood")
            one = combine(word, self.form(nodes[i], names), self.form(nodes[i + 1], names))
            out = one if out is None else combine("and", out, one)
        return plain(out) if out is not None else None

    def membership(self, node: ast.Compare, sides: list[Any]) -> Any:
        """``in`` and ``is`` of what is known."""
        value, among = sides
        op = node.ops[0]
        if isinstance(op, ast.Is | ast.IsNot):
            return (value is among) == isinstance(op, ast.Is)
        if isinstance(value, str | int | float) and isinstance(among, list | tuple | dict | str):
            if isinstance(among, str) and not isinstance(value, str):
                raise UnreadableError("this comparison is not understood")
            return (value in among) == isinstance(op, ast.In)
        found = combine("in", as_form(value), *map(as_form, self.items(among)))
        return found if isinstance(op, ast.In) else combine("not", found)

    def _ifexp(self, node: ast.IfExp, names: Names) -> Any:
        taken = node.body if self.truth(self.value(node.test, names)) else node.orelse
        return self.value(taken, names)

    def _lambda(self, node: ast.Lambda, names: Names) -> Any:
        body = (ast.copy_location(ast.Return(node.body), node),)
        return Function(tuple(a.arg for a in node.args.args), {}, body, names)

    def _rfunction(self, node: ast.expr, names: Names) -> Any:
        """A function of R."""
        return Function(node.parameters, node.defaults, node.body, names)  # type: ignore[attr-defined]

    def _rblock(self, node: ast.expr, names: Names) -> Any:
        """Statements in braces of R, as a value."""
        self.block(node.body, names)  # type: ignore[attr-defined]
        return None

    def truth(self, value: Any) -> bool:
        """Whether a known value is true."""
        if isinstance(value, Form):
            folded = value.pure().__dict__.get("value")
            if folded is None:
                raise UnreadableError("a condition depends on the data")
            return bool(folded)
        if isinstance(value, Unknown | Foreign | Table | Record):
            raise UnreadableError("a condition is not known")
        return bool(value)

    def delete(self, target: ast.expr, names: Names) -> None:
        """Remove an entry of a dict; names and columns may stay, as nothing uses them."""
        if isinstance(target, ast.Subscript):
            on = self.value(target.value, names)
            if isinstance(on, dict):
                del on[self.value(target.slice, names)]
            elif isinstance(on, list):
                raise UnreadableError("entries of a list are removed")

    # -- Comprehensions ---------------------------------------------------------------------

    def _listcomp(self, node: ast.ListComp, names: Names) -> Any:
        mapped = self.mapped(node, names)
        if mapped is not None:
            return mapped
        return [self.value(node.elt, inner) for inner in self.each(node.generators, names)]

    def _generatorexp(self, node: ast.GeneratorExp, names: Names) -> Any:
        return [self.value(node.elt, inner) for inner in self.each(node.generators, names)]

    def _setcomp(self, node: ast.SetComp, names: Names) -> Any:
        return [self.value(node.elt, inner) for inner in self.each(node.generators, names)]

    def _dictcomp(self, node: ast.DictComp, names: Names) -> Any:
        return {
            self.value(node.key, inner): self.value(node.value, inner)
            for inner in self.each(node.generators, names)
        }

    def mapped(self, node: ast.ListComp, names: Names) -> Mapped | None:
        """``[codes[v] for v in column]``: a column whose values are replaced."""
        first, elt = node.generators[0], node.elt
        if not (isinstance(elt, ast.Subscript) and isinstance(first.target, ast.Name)):
            return None
        if not (isinstance(elt.slice, ast.Name) and elt.slice.id == first.target.id):
            return None
        column, by = self.value(first.iter, names), self.value(elt.value, names)
        if isinstance(column, Form) and isinstance(by, dict):
            return Mapped(column, by)
        return None

    def each(self, generators: list[ast.comprehension], names: Names) -> list[Names]:
        """The names of every round of the loops of a comprehension."""
        rounds = [Names({}, names)]
        for generator in generators:
            found = []
            for outer in rounds:
                for value in self.items(self.value(generator.iter, outer)):
                    self.step()
                    inner = Names(dict(outer.values), names)
                    self.assign(generator.target, value, inner)
                    if all(self.truth(self.value(test, inner)) for test in generator.ifs):
                        found.append(inner)
            rounds = found
        return rounds
