"""Sums of parameters times columns: what utilities of scripts are worked out to.

A `Form` is a polynomial in parameters and draws whose coefficients are expressions over columns;
``(b + c * INCOME) * TT`` is ``b * TT + c * (INCOME * TT)``. Nothing is computed on data here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ardchoice.expressions import FUNCTIONS, Call, Column, Expression, Literal, Operation

MOST_MONOMIALS = 400
MOST_SYMBOLS = 8
"""In one product."""
MOST_PARTS = 300
"""Of an expression; a longer one is none that a person wrote."""
KNOWN_FUNCTIONS = {**FUNCTIONS, "boxcox": (1, 1)}
"""Those of expressions, and a transform of the grammar of terms."""
_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}

_BINARY: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "**": pow,
}


class UnreadableError(Exception):
    """A part of a script is beyond what the reader understands; the message says why."""


@dataclass(frozen=True, order=True)
class Parameter:
    """A coefficient by its name in the script."""

    name: str


@dataclass(frozen=True, order=True)
class Draws:
    """Draws of a random variable: its name, and ``normal``, ``uniform`` or ``triangular``."""

    name: str
    distribution: str


@dataclass(frozen=True)
class Exponential:
    """``exp`` of a form with parameters: a lognormal coefficient, if it has draws."""

    of: Form


@dataclass(frozen=True, order=True)
class Obscure:
    """A part of a sum that was not understood: its line, what stands there, and why."""

    line: int
    text: str
    reason: str


Symbol = Obscure | Parameter | Draws | Exponential
Key = tuple[Symbol, ...]


@dataclass(frozen=True)
class Form:
    """A sum of products: symbols -> the expression that they multiply."""

    monomials: Mapping[Key, Expression] = field(default_factory=dict, hash=False)

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def text(self) -> str:
        """For comparison only."""
        return " + ".join(f"{_name(k)}[{e}]" for k, e in sorted(self.monomials.items(), key=str))

    @property
    def is_pure(self) -> bool:
        """Whether it has no parameters and draws."""
        return all(not key for key in self.monomials)

    def pure(self, what: str = "this") -> Expression:
        """The expression over columns that it is."""
        for key in self.monomials:
            for one in key:
                if isinstance(one, Obscure):
                    raise UnreadableError(one.reason)
        if not self.is_pure:
            raise UnreadableError(f"{what} is not linear in the parameters")
        return self.monomials.get((), ZERO)


ZERO, ONE = Literal(0.0), Literal(1.0)


def _name(key: Key) -> str:
    return "*".join(str(s) for s in key)


def number(value: float) -> Form:
    """A constant."""
    return of(Literal(float(value)))


def of(expression: Expression) -> Form:
    """An expression over columns."""
    return Form({(): expression})


def symbol(one: Symbol) -> Form:
    """A parameter or draws."""
    return Form({(one,): ONE})


# -- Arithmetic of expressions, with constants folded ---------------------------------------------


def _value(expression: Expression) -> float | None:
    """The number that a constant is."""
    if isinstance(expression, Literal) and isinstance(expression.value, float | bool):
        return float(expression.value)
    return None


def size(expression: Expression) -> int:
    """How many parts it has."""
    waiting, n = [expression], 0
    while waiting:
        one = waiting.pop()
        n += 1
        waiting += one.operands if isinstance(one, Operation) else ()
        waiting += one.arguments if isinstance(one, Call) else ()
        if n > MOST_PARTS:
            raise UnreadableError(f"an expression has more than {MOST_PARTS} parts")
    return n


def operation(operator: str, *operands: Expression) -> Expression:
    """An operation, simplified where an operand is a constant."""
    folded = _folded(operator, operands)
    if folded is not None:
        return folded
    made = Operation(operator, operands)
    size(made)
    return made


def _folded(operator: str, operands: tuple[Expression, ...]) -> Expression | None:
    values = [_value(o) for o in operands]
    if operator in ("and", "or", "not"):
        return _folded_logic(operator, operands, values)
    if operator in ("==", "!=") and all(isinstance(o, Literal) for o in operands):
        same = operands[0].value == operands[1].value  # type: ignore[union-attr]
        return Literal(same == (operator == "=="))
    if operator == "in" and all(isinstance(o, Literal) for o in operands):
        return Literal(operands[0] in operands[1:])
    if None not in values and operator in (*_COMPARED, *"+-*/%", "**", "negative"):
        return _computed(operator, [v for v in values if v is not None])
    if len(operands) != 2:
        return None
    (a, b), (x, y) = operands, values
    if operator == "*" and 0.0 in (x, y):
        return ZERO
    if (operator in "*/" and y == 1) or (operator in "+-" and y == 0) or (operator, y) == ("**", 1):
        return a
    if (operator == "*" and x == 1) or (operator == "+" and x == 0):
        return b
    if (operator == "-" and x == 0) or (operator == "*" and x == -1):
        return operation("negative", b)
    return ZERO if operator == "/" and x == 0 else None


def _folded_logic(
    operator: str, operands: tuple[Expression, ...], values: list[float | None]
) -> Expression | None:
    if operator == "not":
        return None if values[0] is None else Literal(not values[0])
    decides = operator == "or"
    for value, other in zip(values, operands[::-1], strict=True):
        if value is not None:
            return Literal(decides) if bool(value) == decides else other
    return None


def _computed(operator: str, x: list[float]) -> Expression:
    if operator in _COMPARED:
        return Literal(_COMPARED[operator](*x))
    try:
        value = -x[0] if operator == "negative" else _BINARY[operator](x[0], x[1])
    except (ArithmeticError, ValueError):
        raise UnreadableError("a constant has no finite value") from None
    if not isinstance(value, float) or value != value or value in (float("inf"), -float("inf")):
        raise UnreadableError("a constant has no finite value")
    return Literal(value)


def function(name: str, *arguments: Expression) -> Expression:
    """A function of the grammar of expressions."""
    fewest, most = KNOWN_FUNCTIONS[name]
    if not fewest <= len(arguments) <= (most or len(arguments)):
        raise UnreadableError(f"{name} takes another number of arguments")
    if name == "if" and (test := _value(arguments[0])) is not None:
        return arguments[1] if test else arguments[2]
    made = Call(name, arguments)
    size(made)
    return made


def substituted(expression: Expression, change: Callable[[Column], Expression]) -> Expression:
    """The expression with every column replaced, and simplified again."""
    if isinstance(expression, Column):
        return change(expression)
    if isinstance(expression, Operation):
        return operation(
            expression.operator, *(substituted(o, change) for o in expression.operands)
        )
    if isinstance(expression, Call):
        return function(
            expression.function, *(substituted(a, change) for a in expression.arguments)
        )
    return replace(expression)


def changed(form: Form, change: Callable[[Column], Expression]) -> Form:
    """The form with every column replaced."""
    out: dict[Key, Expression] = {}
    for key, expression in form.monomials.items():
        new = substituted(expression, change)
        own = tuple(
            Exponential(changed(s.of, change)) if isinstance(s, Exponential) else s for s in key
        )
        if new != ZERO:
            out[own] = new
    return Form(out)


# -- Arithmetic of forms --------------------------------------------------------------------------


def add(a: Form, b: Form, sign: str = "+") -> Form:
    """The sum, or the difference."""
    out = dict(a.monomials)
    for key, expression in b.monomials.items():
        if key in out:
            out[key] = operation(sign, out[key], expression)
        else:
            out[key] = expression if sign == "+" else operation("negative", expression)
    return _form({k: e for k, e in out.items() if e != ZERO or not k})


def multiply(a: Form, b: Form) -> Form:
    """The product, multiplied out."""
    out = Form()
    if len(a.monomials) * len(b.monomials) > MOST_MONOMIALS:
        raise UnreadableError("a product has too many terms")
    for one, x in a.monomials.items():
        for other, y in b.monomials.items():
            if len(one) + len(other) > MOST_SYMBOLS:
                raise UnreadableError("a product has too many parameters")
            key = tuple(sorted((*one, *other), key=str))
            out = add(out, Form({key: operation("*", x, y)}))
    return out


def divide(a: Form, b: Form) -> Form:
    """The quotient by an expression without parameters."""
    by = b.pure("what is divided by")
    return _form({key: operation("/", e, by) for key, e in a.monomials.items()})


def power(a: Form, b: Form) -> Form:
    """A power without parameters."""
    return of(operation("**", a.pure("a power"), b.pure("an exponent")))


def combine(operator: str, *forms: Form) -> Form:
    """A comparison, or a logical operation."""
    return of(operation(operator, *(f.pure("a condition") for f in forms)))


def apply(name: str, *forms: Form) -> Form:
    """A function of columns; ``exp`` also of parameters."""
    if name == "exp" and len(forms) == 1 and not forms[0].is_pure:
        return symbol(Exponential(forms[0]))
    return of(function(name, *(f.pure(f"what {name} is taken of") for f in forms)))


def _form(monomials: Mapping[Key, Expression]) -> Form:
    if len(monomials) > MOST_MONOMIALS:
        raise UnreadableError("a utility has too many terms")
    return Form(monomials)
