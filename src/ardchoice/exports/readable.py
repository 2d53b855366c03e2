"""The utilities for people: plain text with the estimates in place, and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from textwrap import wrap
from typing import Any

import numpy as np

from ardchoice.design import TermColumns
from ardchoice.estimation import Result
from ardchoice.exports.description import OWN, Form, forms_of
from ardchoice.exports.quoting import one_line, tex
from ardchoice.families import LOCATIONS, ParameterLayout
from ardchoice.space import INVERSE
from ardchoice.text import WIDTH, p_value
from ardchoice.text import number as few_digits

MOST_LISTED = 6
"""Alternatives with the same utility function that are listed by name."""


@dataclass(frozen=True)
class Language:
    """How the factors of a product are written.

    Attributes
    ----------
    name
        A user's name.
    number
    function
        What stands before the name of a function, such as a backslash.
    at_most
    power, ratio
        Templates of a power and of a ratio.
    indicator
        Template of what is 1 where a condition holds.
    forms
        Kind of form -> its template.
    """

    name: Callable[[str], str]
    number: Callable[[float], str]
    function: str
    at_most: str
    power: str
    ratio: str
    indicator: str
    forms: Mapping[str, str]

    def level(self, name: str, level: str) -> str:
        """That a variable has a level."""
        return self.indicator.format(f"{self.name(name)} = {self.name(level)}")

    def interval(self, name: str, low: str, high: str) -> str:
        """That a variable lies between two numbers."""
        left, right = f"{low} {self.at_most} " if low else "", f" < {high}" if high else ""
        return self.indicator.format(f"{left}{name}{right}")

    def piece(self, name: str, low: str, high: str) -> str:
        """How far a variable runs from one number to another."""
        run = f"{self.function}max({name}, {low})" if low else name
        run = f"{self.function}min({run}, {high})" if high else run
        return f"({_plus(run, low, minus=True)})" if low else run

    def boxcox(self, name: str, exponent: float, shift: float) -> str:
        """A Box-Cox transform; of exponent zero, the logarithm."""
        shifted = name if self.number(shift) == "0" else _plus(name, self.number(shift))
        if not exponent:
            return self.forms["log"].format(shifted)
        base, power = shifted if shifted == name else f"({shifted})", self.number(exponent)
        return self.ratio.format(self.power.format(base, power) + " - 1", power)


def factors(term: TermColumns, language: Language) -> list[list[str]]:
    """What every coefficient of a term multiplies; nothing for a constant."""
    first: list[list[str]] = [[]]
    if term.base is not None:
        first = [[language.level(term.base.name, v)] for v in term.base.columns]
    elif term.term.what is not None:
        name = language.name(term.term.what)
        first = [[_form(form, name, language, term.term.how.name)] for form in forms_of(term)]
    by = [[language.level(c.name, v) for v in c.columns] for c in term.by]
    times = [language.name(name) for name in term.times]
    times += [
        language.power.format(language.name(f.name), "-1")
        if f.function == INVERSE
        else _form(Form(f.function or "linear"), language.name(f.name), language, "")
        for f in (*term.functions, *term.products)
    ]
    return [[*head, *labels, *times] for head, labels in product(first, list(product(*by)))]


def _form(form: Form, name: str, language: Language, transform: str) -> str:
    if form.kind == OWN:
        label = f" {language.name(f'[{form.labels[0]}]')}" if form.labels[0] else ""
        return f"{language.name(transform)}({name}){label}"
    if form.kind == "spline":
        knots = ", ".join(language.number(float(n or 0.0)) for n in form.numbers[:3])
        return f"{language.name('spline')}({name}; {knots})"
    if form.kind in ("class", "piece"):
        low, high = ("" if end is None else language.number(end) for end in form.numbers)
        write = language.interval if form.kind == "class" else language.piece
        return write(name, low, high)
    if form.kind == "boxcox":
        return language.boxcox(name, *(n or 0.0 for n in form.numbers))
    return language.forms[form.kind].format(name)


@dataclass(frozen=True)
class Utility:
    """A utility function: whose, in which class, which coefficients (by position) times what."""

    alternatives: tuple[str, ...]
    products: tuple[tuple[int, tuple[str, ...]], ...]
    kind: str = ""


@dataclass(frozen=True)
class Equation:
    """A utility function as text: of which alternatives, and the lines of its sum."""

    name: str
    lines: tuple[str, ...]


def utilities(result: Result, language: Language) -> list[Utility]:
    """The utility functions, alternatives with the same one together; one class after the other."""
    found = _by_column(result, language)
    kinds = _class_places(result.layout)
    if not kinds:
        return found
    out = []
    for q, place in enumerate(kinds, 1):
        for utility in found:
            products = [(place[k], one) for k, one in utility.products if k in place]
            out.append(Utility(utility.alternatives, tuple(products), f"class {q}"))
    return out


def _class_places(layout: ParameterLayout) -> list[dict[int, int]]:
    """Of every latent class, column -> the position of its coefficient; empty without classes."""
    means = [(i, p) for i, p in enumerate(layout.parameters) if p.kind in LOCATIONS]
    n_classes = 1 + max((max(p.classes, default=-1) for _, p in means), default=-1)
    return [
        {
            p.column: i
            for i, p in means
            if p.column is not None and (not p.classes or q in p.classes)
        }
        for q in range(n_classes)
    ]


def _by_column(result: Result, language: Language) -> list[Utility]:
    """Products by the position of their column."""
    encoding = result.encoding
    whose: dict[tuple[tuple[int, tuple[str, ...]], ...], list[str]] = {}
    texts = [(term, factors(term, language)) for term in encoding.terms]
    for j, name in enumerate(encoding.alternatives):
        products = tuple(
            (term.start + i, tuple(one))
            for term, every in texts
            if j in term.alternatives
            for i, one in enumerate(every)
        )
        whose.setdefault(products, []).append(name)
    return [Utility(tuple(names), products) for products, names in whose.items()]


def _whose(utility: Utility, language: Language) -> str:
    names = utility.alternatives
    shown = ", ".join(language.name(n) for n in names[:MOST_LISTED])
    more = f", ... ({len(names)} in all)" if len(names) > MOST_LISTED else ""
    return shown + more + (language.name(f" in {utility.kind}") if utility.kind else "")


def _plus(name: str, number: str, *, minus: bool = False) -> str:
    """The sum or difference of a name and a number, with one sign between them."""
    is_negative = number.startswith("-")
    return f"{name} {'-' if is_negative != minus else '+'} {number.removeprefix('-')}"


# -- Plain text -----------------------------------------------------------------------------


PLAIN = Language(
    name=one_line,
    number=lambda value: f"{value:.6g}",
    function="",
    at_most="<=",
    power="{}^{}",
    ratio="({}) / {}",
    indicator="[{}]",
    forms={
        "linear": "{}",
        "log": "log({})",
        "log1p": "log(1 + {})",
        "sqrt": "sqrt({})",
        "square": "{}^2",
    },
)


def text_context(result: Result, notes: tuple[str, ...]) -> dict[str, Any]:
    """What the template of plain text shows: utilities with their estimates in place."""
    frame = result.to_frame()
    rows = list(zip(frame["estimate"], frame["std_err"], strict=True))
    return {
        "remarks": [line for note in notes for line in wrap(one_line(note), WIDTH)],
        "utilities": [
            Equation(
                _whose(utility, PLAIN),
                tuple(_plain_line(rows[k], one) for k, one in utility.products) or ("    0",),
            )
            for utility in utilities(result, PLAIN)
        ],
        "details": wrap(one_line(result.family.details), WIDTH),
        "extras": [
            f"{one_line(name)} = {few_digits(rows[k][0])} ({few_digits(rows[k][1])})"
            for k, (name, kind) in enumerate(zip(frame.index, frame["kind"], strict=True))
            if kind not in LOCATIONS
        ],
        "grammar": [one_line(line) for line in result.specification.to_text().split("\n")],
    }


def _plain_line(row: tuple[float, float], multiplied: tuple[str, ...]) -> str:
    estimate, std_err = row
    sign = "-" if estimate < 0 else "+"
    error = f"({few_digits(std_err)})" if np.isfinite(std_err) else "(.)"
    body = f"    {sign} {few_digits(abs(estimate)):>10} {error:>12}"
    return body + "".join(f" * {one}" for one in multiplied)


# -- LaTeX ----------------------------------------------------------------------------------


def _tex_number(value: float) -> str:
    mantissa, _, power = f"{value:.6g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


LATEX = Language(
    name=lambda text: rf"\text{{{tex(text)}}}",
    number=_tex_number,
    function="\\",
    at_most=r"\le",
    power="{}^{{{}}}",
    ratio=r"\frac{{{}}}{{{}}}",
    indicator=r"\mathbf{{1}}[{}]",
    forms={
        "linear": "{}",
        "log": r"\ln({})",
        "log1p": r"\ln(1 + {})",
        "sqrt": r"\sqrt{{{}}}",
        "square": "{}^2",
    },
)

PER_LINE = 2
"""Products on a line of a utility function."""


def latex_context(result: Result, notes: tuple[str, ...]) -> dict[str, Any]:
    """What the template of LaTeX shows: utilities as mathematics, a table of the coefficients."""
    frame, coefficients = result.to_frame(), len(result.names)
    shown = frame[["estimate", "std_err", "z", "p"]].to_numpy(dtype=float)
    symbols = [rf"$\beta_{{{k + 1}}}$" for k in range(coefficients)]
    symbols += [rf"$\psi_{{{k + 1}}}$" for k in range(len(frame) - coefficients)]
    return {
        "notes": [tex(note) for note in notes],
        "utilities": [
            Equation(_whose(utility, LATEX), tuple(_tex_lines(utility)))
            for utility in utilities(result, LATEX)
        ],
        "rows": [
            [
                symbol,
                tex(str(name)),
                *map(_tex_cell, (estimate, std_err, z)),
                "." if np.isnan(p) else f"${p_value(p)}$",
            ]
            for symbol, name, (estimate, std_err, z, p) in zip(
                symbols, frame.index, shown.tolist(), strict=True
            )
        ],
    }


def _tex_lines(utility: Utility) -> Iterator[str]:
    products = [
        rf"\beta_{{{k + 1}}}" + (r" \, " + r" \cdot ".join(one) if one else "")
        for k, one in utility.products
    ] or ["0"]
    for at in range(0, len(products), PER_LINE):
        yield " + ".join(products[at : at + PER_LINE])


def _tex_cell(value: float) -> str:
    if not np.isfinite(value):
        return "."
    mantissa, _, power = few_digits(value).replace(",", "").partition("e")
    return rf"${mantissa} \cdot 10^{{{int(power)}}}$" if power else f"${mantissa}$"
