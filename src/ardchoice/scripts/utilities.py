"""Which parameters are in which utilities, linear, fixed or random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ardchoice.expressions import Expression, Literal
from ardchoice.scripts.capture import Captured, Start
from ardchoice.scripts.forms import (
    ZERO,
    Draws,
    Exponential,
    Obscure,
    Parameter,
    Symbol,
    UnreadableError,
    operation,
)
from ardchoice.scripts.values import Doubt

OFFSET = "OFFSET"
"""The name of what has no parameter."""


@dataclass
class Linear:
    """Parameters and what they multiply.

    Attributes
    ----------
    columns
        Parameter -> code -> expression.
    random
        Parameter -> distribution.
    components
        What an error component is named after -> (codes, distribution).
    """

    columns: dict[str, dict[Any, Expression]] = field(default_factory=dict)
    random: dict[str, str] = field(default_factory=dict)
    components: dict[str, tuple[tuple[Any, ...], str]] = field(default_factory=dict)


def linear(captured: Captured) -> Linear:
    """Take the utilities apart; what is not linear in the parameters becomes a doubt."""
    out = Linear(random=dict(captured.random))
    spreads: dict[tuple[str, Draws], dict[Any, Expression]] = {}
    for code, form in captured.utilities.items():
        for key, expression in form.monomials.items():
            try:
                _take(captured, out, spreads, code, key, expression)
            except UnreadableError as error:
                reason = f"utility of {captured.names.get(code, code)}: {error}"
                _doubt(captured, reason, captured.lines.get(code, 0))
    _join_spreads(captured, out, spreads)
    return out


def _doubt(captured: Captured, reason: str, line: int = 0) -> None:
    doubt = Doubt(line, "", reason)
    if doubt not in captured.doubts:
        captured.doubts.append(doubt)


def _take(
    captured: Captured,
    out: Linear,
    spreads: dict[tuple[str, Draws], dict[Any, Expression]],
    code: Any,
    key: tuple[Symbol, ...],
    expression: Expression,
) -> None:
    """One product of a utility."""
    expression = captured.table.resolved(expression)
    if expression in (ZERO, Literal(False)):
        return
    names, factor = _estimated(captured, [s for s in key if isinstance(s, Parameter)])
    if factor == 0:
        return
    if factor != 1:
        expression = operation("*", Literal(factor), expression)
    draws = [s for s in key if isinstance(s, Draws)]
    powers = [s for s in key if isinstance(s, Exponential)]
    if powers:
        names, expression = _lognormal(captured, out, key, names, expression)
    elif draws:
        if len(draws) != 1 or len(names) != 1:
            raise UnreadableError(f"{_product(key)} is no random coefficient that is known")
        _add(spreads.setdefault((names[0], draws[0]), {}), code, expression)
        return
    if len(names) > 1:
        raise UnreadableError(f"{_product(key)} is not linear in the parameters")
    name = names[0] if names else OFFSET
    if not names:
        captured.parameters.setdefault(OFFSET, Start(1.0, True))
    _add(out.columns.setdefault(name, {}), code, expression)


def _estimated(captured: Captured, parameters: list[Parameter]) -> tuple[list[str], float]:
    """Names of parameters that are estimated, and the product of those that are fixed."""
    names = [p.name for p in parameters]
    fixed = [n for n in names if captured.parameters.get(n, Start()).is_fixed]
    if len(names) == 1 and fixed and captured.parameters[fixed[0]].value != 0:
        return names, 1.0  # kept as a term whose coefficient is fixed
    factor = 1.0
    for name in fixed:
        factor *= captured.parameters[name].value
    return [n for n in names if n not in fixed], factor


def _add(columns: dict[Any, Expression], code: Any, expression: Expression) -> None:
    known = columns.get(code)
    columns[code] = expression if known is None else operation("+", known, expression)


def _product(key: tuple[Symbol, ...]) -> str:
    return " * ".join(
        s.name
        if isinstance(s, Parameter | Draws)
        else "exp(...)"
        if isinstance(s, Exponential)
        else "?"
        for s in key
    )


def _lognormal(
    captured: Captured,
    out: Linear,
    key: tuple[Symbol, ...],
    names: list[str],
    expression: Expression,
) -> tuple[list[str], Expression]:
    """``-exp(mu + sigma * draws)``: a lognormal coefficient, named after mu."""
    (power, *others) = [s for s in key if isinstance(s, Exponential)]
    if others or names or any(isinstance(s, Draws | Obscure) for s in key):
        raise UnreadableError(f"{_product(key)} is no random coefficient that is known")
    means = [_only(k) for k in power.of.monomials if not any(isinstance(s, Draws) for s in k)]
    drawn = [k for k in power.of.monomials if any(isinstance(s, Draws) for s in k)]
    plain = all(e == Literal(1.0) for e in power.of.monomials.values())
    if len(means) != 1 or means[0] is None or len(drawn) != 1 or not plain:
        raise UnreadableError("an exponential of parameters is not linear in them")
    normal = [s.distribution for s in drawn[0] if isinstance(s, Draws)] == ["normal"]
    if not normal or len(drawn[0]) != 2:
        raise UnreadableError("an exponential of parameters is no lognormal that is known")
    name, sign, positive = means[0], "+", expression
    if getattr(expression, "operator", "") == "negative":
        sign, positive = "-", expression.operands[0]  # type: ignore[union-attr]
    if isinstance(expression, Literal) and isinstance(expression.value, float):
        sign = "-" if expression.value < 0 else "+"
        positive = Literal(abs(expression.value))
    if out.random.setdefault(name, f"{sign}lognormal") != f"{sign}lognormal":
        raise UnreadableError(f"{name} has two signs")
    start = captured.parameters.get(name, Start())
    captured.parameters[name] = Start(0.0, start.is_fixed)  # of a logarithm there, of a mean here
    return [name], positive


def _only(key: tuple[Symbol, ...]) -> str | None:
    return key[0].name if len(key) == 1 and isinstance(key[0], Parameter) else None


def _join_spreads(
    captured: Captured, out: Linear, spreads: Mapping[tuple[str, Draws], dict[Any, Expression]]
) -> None:
    """Every standard deviation with the mean that multiplies the same columns."""
    used: dict[str, str] = {}
    for (name, draws), columns in spreads.items():
        wanted = {code: str(e) for code, e in columns.items()}
        mean = next(
            (n for n, c in out.columns.items() if {k: str(e) for k, e in c.items()} == wanted), None
        )
        if draws.name in used:
            _doubt(
                captured, f"{name} and {used[draws.name]} share draws: correlations are not read"
            )
        used[draws.name] = name
        if mean is not None and mean not in out.random:
            out.random[mean] = draws.distribution
        elif mean is None and set(wanted.values()) <= {"1"}:
            out.components[name] = (tuple(columns), draws.distribution)
        else:
            _doubt(captured, f"{name}: no coefficient multiplies the same as this spread")
