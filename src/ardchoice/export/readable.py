"""The utilities for people: plain text with the estimates in place, and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from textwrap import wrap

import numpy as np

from ardchoice.design import TermColumns
from ardchoice.estimation import Result
from ardchoice.export.description import OWN, Form, forms_of
from ardchoice.export.quoting import one_line, tex
from ardchoice.export.scripts import ERRORS
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
    forms
        Kind of form -> the attribute in it, from its name and numbers.
    level
        That a variable has a level, from both names.
    """

    name: Callable[[str], str]
    number: Callable[[float], str]
    forms: Mapping[str, Callable[[str, tuple[str, ...]], str]]
    level: Callable[[str, str], str]


def factors(term: TermColumns, say: Language) -> list[list[str]]:
    """What every coefficient of a term multiplies; nothing for a constant."""
    first: list[list[str]] = [[]]
    if term.base is not None:
        name = say.name(term.base.name)
        first = [[say.level(name, say.name(v))] for v in term.base.columns]
    elif term.term.what is not None:
        name = say.name(term.term.what)
        first = [[_form(form, name, say, term.term.how.name)] for form in forms_of(term)]
    by = [[say.level(say.name(c.name), say.name(v)) for v in c.columns] for c in term.by]
    times = [say.name(name) for name in term.times]
    return [[*head, *labels, *times] for head, labels in product(first, list(product(*by)))]


def _form(form: Form, name: str, say: Language, transform: str) -> str:
    if form.kind == OWN:
        label = f" {say.name(f'[{form.labels[0]}]')}" if form.labels[0] else ""
        return f"{say.name(transform)}({name}){label}"
    low, high = (*form.numbers, None, None)[:2]
    if form.kind in ("class", "piece"):
        ends = tuple("" if end is None else say.number(end) for end in (low, high))
        return say.forms[form.kind](name, ends)
    if form.kind == "boxcox" and not low:
        return say.forms["log"](say.forms["shift"](name, (say.number(high or 0.0),)), ())
    return say.forms[form.kind](name, tuple(say.number(n or 0.0) for n in form.numbers))


@dataclass(frozen=True)
class Utility:
    """A utility function: whose, and which coefficients (by position) times what."""

    alternatives: tuple[str, ...]
    products: tuple[tuple[int, tuple[str, ...]], ...]


def utilities(result: Result, say: Language) -> list[Utility]:
    """The utility functions, alternatives with the same one together."""
    encoding = result.encoding
    whose: dict[tuple[tuple[int, tuple[str, ...]], ...], list[str]] = {}
    texts = [(term, factors(term, say)) for term in encoding.terms]
    for j, name in enumerate(encoding.alternatives):
        products = tuple(
            (term.start + i, tuple(one))
            for term, every in texts
            if j in term.alternatives
            for i, one in enumerate(every)
        )
        whose.setdefault(products, []).append(name)
    return [Utility(tuple(names), products) for products, names in whose.items()]


def _listed(names: tuple[str, ...], say: Language) -> str:
    shown = [say.name(n) for n in names[:MOST_LISTED]]
    return ", ".join(shown) + (f", ... ({len(names)} in all)" if len(names) > MOST_LISTED else "")


def _plus(name: str, number: str, *, minus: bool = False) -> str:
    """The sum or difference of a name and a number, with one sign between them."""
    is_negative = number.startswith("-")
    return f"{name} {'-' if is_negative != minus else '+'} {number.removeprefix('-')}"


# -- Plain text -----------------------------------------------------------------------------


def _ends(name: str, ends: tuple[str, ...]) -> str:
    low, high = ends
    return f"[{f'{low} <= ' if low else ''}{name}{f' < {high}' if high else ''}]"


def _run(name: str, ends: tuple[str, ...]) -> str:
    low, high = ends
    run = f"max({name}, {low})" if low else name
    run = f"min({run}, {high})" if high else run
    return f"({_plus(run, low, minus=True)})" if low else run


def _plain_boxcox(name: str, numbers: tuple[str, ...]) -> str:
    exponent, shift = numbers
    base = name if shift == "0" else f"({_plus(name, shift)})"
    return f"({base}^{exponent} - 1) / {exponent}"


PLAIN = Language(
    name=one_line,
    number=lambda value: f"{value:.6g}",
    forms={
        "linear": lambda name, _: name,
        "log": lambda name, _: f"log({name})",
        "log1p": lambda name, _: f"log(1 + {name})",
        "sqrt": lambda name, _: f"sqrt({name})",
        "square": lambda name, _: f"{name}^2",
        "shift": lambda name, numbers: name if numbers == ("0",) else _plus(name, *numbers),
        "boxcox": _plain_boxcox,
        "class": _ends,
        "piece": _run,
    },
    level=lambda name, level: f"[{name} = {level}]",
)


def write_text(result: Result, notes: tuple[str, ...] = ()) -> str:
    """The utilities with their estimates, to be read; notes below what the estimates are."""
    frame = result.to_frame()
    rows = list(zip(frame["estimate"], frame["std_err"], strict=True))
    persons = "" if result.n_persons is None else f" of {result.n_persons:,} persons"
    lines = [
        f"Multinomial logit of {result.n_situations:,} choices{persons}, by ardchoice "
        f"{version('ardchoice')}",
        f"Log-likelihood {result.loglik:,.3f} ({result.null_loglik:,.3f} with equal shares)",
        f"{result.n_parameters} coefficients, AIC {result.aic:,.1f}, BIC {result.bic:,.1f}",
        f"Standard errors in brackets, {ERRORS[result.default_cov]}",
        "[a = b] is 1 where a is b, else 0",
    ]
    lines += [line for note in notes for line in wrap(one_line(note), WIDTH)]
    if not result.converged:
        lines.append("Beware: the estimation did not converge.")
    for utility in utilities(result, PLAIN):
        lines += ["", f"V({_listed(utility.alternatives, PLAIN)}) ="]
        lines += [_plain_line(rows[k], one) for k, one in utility.products] or ["    0"]
    grammar = result.specification.to_text().split("\n")
    lines += ["", "In the grammar of ardchoice:", "", *map(one_line, grammar)]
    return "\n".join(lines) + "\n"


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


def _tex_ends(name: str, ends: tuple[str, ...]) -> str:
    low, high = ends
    left, right = rf"{low} \le " if low else "", f" < {high}" if high else ""
    return rf"\mathbf{{1}}[{left}{name}{right}]"


def _tex_run(name: str, ends: tuple[str, ...]) -> str:
    low, high = ends
    run = rf"\max({name}, {low})" if low else name
    run = rf"\min({run}, {high})" if high else run
    return f"({_plus(run, low, minus=True)})" if low else run


def _tex_boxcox(name: str, numbers: tuple[str, ...]) -> str:
    exponent, shift = numbers
    base = name if shift == "0" else f"({_plus(name, shift)})"
    return rf"\frac{{{base}^{{{exponent}}} - 1}}{{{exponent}}}"


LATEX = Language(
    name=lambda text: rf"\text{{{tex(text)}}}",
    number=_tex_number,
    forms={
        "linear": lambda name, _: name,
        "log": lambda name, _: rf"\ln({name})",
        "log1p": lambda name, _: rf"\ln(1 + {name})",
        "sqrt": lambda name, _: rf"\sqrt{{{name}}}",
        "square": lambda name, _: f"{name}^2",
        "shift": lambda name, numbers: name if numbers == ("0",) else _plus(name, *numbers),
        "boxcox": _tex_boxcox,
        "class": _tex_ends,
        "piece": _tex_run,
    },
    level=lambda name, level: rf"\mathbf{{1}}[{name} = {level}]",
)

PREAMBLE = r"""% Utility functions and estimates of a multinomial logit, written by ardchoice.
% A document of its own; copy what stands between the lines into yours, with the packages.
% Names in scripts that pdflatex does not know need lualatex and a font that has them.
\documentclass{article}
\usepackage[margin=2.5cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\usepackage{amsmath}
\usepackage{booktabs}
\usepackage{longtable}
\allowdisplaybreaks
\begin{document}
% ------------------------------------------------------------------
"""
PER_LINE = 2
"""Products on a line of a utility function."""


def write_latex(result: Result, notes: tuple[str, ...] = ()) -> str:
    """The utilities as mathematics, and a table of the coefficients with notes below it."""
    parts = [PREAMBLE, *_equations(result), *_table(result)]
    parts += [f"\n\\noindent {tex(note)}\n" for note in notes]
    if not result.converged:
        parts.append("\n\\noindent Beware: the estimation did not converge.\n")
    parts.append("% ------------------------------------------------------------------\n")
    parts.append("\\end{document}\n")
    return "".join(parts)


def _equations(result: Result) -> Iterator[str]:
    yield "\\begin{align*}\n"
    every = utilities(result, LATEX)
    for i, utility in enumerate(every):
        products = [
            rf"\beta_{{{k + 1}}}" + (r" \, " + r" \cdot ".join(one) if one else "")
            for k, one in utility.products
        ] or ["0"]
        rows = [
            " + ".join(products[at : at + PER_LINE]) for at in range(0, len(products), PER_LINE)
        ]
        body = " \\\\\n  &\\quad {} + ".join(rows)
        end = " \\\\[1ex]\n" if i + 1 < len(every) else "\n"
        yield f"  V_{{{_listed(utility.alternatives, LATEX)}}} &= {body}{end}"
    yield "\\end{align*}\n\n"


def _table(result: Result) -> Iterator[str]:
    yield "\\begin{longtable}{rlrrrr}\n\\toprule\n"
    yield " & Coefficient & Estimate & Std. error & $z$ & $p$ \\\\\n\\midrule\n\\endhead\n"
    frame = result.to_frame()
    shown = frame[["estimate", "std_err", "z", "p"]].to_numpy(dtype=float)
    rows = zip(result.names, shown.tolist(), strict=True)
    for k, (name, (estimate, std_err, z, p)) in enumerate(rows, 1):
        cells = [rf"$\beta_{{{k}}}$", tex(name), *map(_tex_cell, (estimate, std_err, z))]
        cells.append("." if np.isnan(p) else f"${p_value(p)}$")
        yield " & ".join(cells) + " \\\\\n"
    persons = "" if result.n_persons is None else f", {result.n_persons} persons"
    yield (
        "\\midrule\n"
        rf"\multicolumn{{6}}{{l}}{{Log-likelihood ${result.loglik:.3f}$, with equal shares "
        rf"${result.null_loglik:.3f}$; {result.n_situations} choices{persons}}} \\" + "\n"
        rf"\multicolumn{{6}}{{l}}{{$\bar\rho^2 = {result.rho2_bar:.4f}$, AIC ${result.aic:.1f}$, "
        rf"BIC ${result.bic:.1f}$; standard errors {ERRORS[result.default_cov]}}} \\" + "\n"
        "\\bottomrule\n\\end{longtable}\n"
    )


def _tex_cell(value: float) -> str:
    if not np.isfinite(value):
        return "."
    mantissa, _, power = few_digits(value).replace(",", "").partition("e")
    return rf"${mantissa} \cdot 10^{{{int(power)}}}$" if power else f"${mantissa}$"
