"""What the templates of scripts for other packages show: the neutral description as code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from shlex import quote
from textwrap import wrap
from typing import Any

from ardchoice.data import MISSING_TEXTS
from ardchoice.exports.derivations import PYTHON, Language, R, written
from ardchoice.exports.description import Alternative, Coefficient, Description, Form, Variable
from ardchoice.exports.origin import Origin
from ardchoice.exports.quoting import number, one_line, python, r, r_comment
from ardchoice.formats import Format

R_MARKED = {"utf-8": "UTF-8", "cp1252": "latin1"}
WIDTH = 96
"""Of a line of a comment."""
PYLOGIT_GIGABYTES = 4.0
"""Beyond this much memory, a script does not ask PyLogit for standard errors by default."""


def script_context(
    model: Description, form: Format, file: str, notes: tuple[str, ...]
) -> dict[str, Any]:
    """What the template of a script shows, of that file name; notes stand on top."""
    is_r, source = form.is_r, model.origin.source
    about = form.notes if model.has_repeats or is_r else ()
    if source.text is None and not model.origin.beside:
        about += (
            ('Reading Parquet needs the R package "arrow".',)
            if is_r
            else ("Reading Parquet needs pyarrow: pip install pyarrow",)
        )
    return {
        "package": form.title,
        "run": [form.install, form.run.format(file=quote(file))],
        "notes": about,
        "remarks": [line for text in notes for line in wrap(one_line(text), WIDTH)],
        "model": model,
        "origin": model.origin,
        "source": source,
        "text": source.text,
        "encoding": _r_encoding(source.text.encoding) if source.text else "",
        "gzip": str(source.path).lower().endswith(".gz"),
        "missing": list(MISSING_TEXTS),
        "unit": "row" if source.layout == "wide" else "situation",
        "codes": {a.code: a.number for a in model.alternatives},
        "numbered": {a.number: a.text for a in model.alternatives},
        "availability": {a.number: a.available for a in model.alternatives},
        "weighted": source.weight is not None,
        "weight_scale": 1.0 if model.origin.beside else model.weight_scale,
        "title": file.rpartition(".")[0],
        "width": max(len("log-likelihood"), *(len(c.name) for c in model.parameters)),
        "forms": partial(_forms, is_r),
        "derived": derived_lines(model.origin, R if is_r else PYTHON),
        "filter": filter_line(model.origin, R if is_r else PYTHON),
        "utility": partial(_utility, model, is_r),
        "about": partial(_about, is_r),
        "labelled": any(c.about for c in model.coefficients),
        **_pylogit_memory(model),
    }


def derived_lines(origin: Origin, language: Language) -> list[tuple[str, str, str]]:
    """Name, expression in our grammar, and code of every derived column."""
    return [(name, str(how), written(how, language, origin.texts)) for name, how in origin.derive]


def filter_line(origin: Origin, language: Language) -> tuple[str, str] | None:
    """The filter in our grammar, and as code; None for none."""
    if origin.where is None:
        return None
    return str(origin.where), written(origin.where, language, origin.texts)


def _r_encoding(encoding: str) -> str:
    """The argument of read.table for the encoding of the file."""
    if encoding in R_MARKED:  # works whatever the encoding of the machine
        return f"encoding = {r(R_MARKED[encoding])}"
    return f"fileEncoding = {r('UTF-8-BOM' if encoding == 'utf-8-sig' else encoding.upper())}"


def _about(is_r: bool, coefficient: Coefficient) -> str:
    """A comment at the end of a line, with labels and units of what a coefficient multiplies."""
    text = (r_comment if is_r else one_line)(coefficient.about)
    return f"  # {text}" if text else ""


def _pylogit_memory(model: Description) -> dict[str, Any]:
    """PyLogit fills two dense matrices of long rows by situations for its standard errors."""
    rows = model.n_situations * len(model.alternatives)
    gigabytes = 2 * 8 * rows * model.n_situations / 1e9
    remark = f"  # PyLogit takes about {gigabytes:.1f} GB of memory for them"
    return {
        "standard_errors": gigabytes <= PYLOGIT_GIGABYTES,
        "gigabytes": remark if gigabytes > 0.1 else "",
    }


def _utility(
    model: Description,
    is_r: bool,
    alternative: Alternative,
    indent: str,
    in_class: int | None = None,
    called: Mapping[str, str] | None = None,
) -> str:
    """The utility of an alternative, in a latent class if there are such, as a sum of products.

    Coefficients may be called otherwise, such as by the names of what is drawn.
    """
    called = called or {}
    products = [
        " * ".join([called.get(c.name, c.name), *columns])
        for c, columns in model.utility(alternative.number, in_class)
    ]
    if not products:
        return "0"
    if len(products) == 1:
        return products[0]
    inner = indent + "    "
    # In R a line that ends in a sign continues; in Python brackets let it begin with one.
    if is_r:
        return f" +\n{inner}".join(products)
    return f"(\n{inner}" + f"\n{inner}+ ".join(products) + f"\n{indent})"


# -- Forms in two languages -----------------------------------------------------------------

Bounds = tuple[float | None, ...]


def _forms(is_r: bool, variable: Variable, indent: str) -> str:
    """The columns of a variable as a list of expressions of v."""
    written = R_FORMS if is_r else PYTHON_FORMS
    start, end = ("list(", ")") if is_r else ("[", "]")
    texts = [written[form.kind](form) for form in variable.forms]
    if len(texts) == 1:
        return f"{start}{texts[0]}{end}"
    inner = indent + ("  " if is_r else "    ")
    return f"{start}\n{inner}" + f",\n{inner}".join(texts) + f"\n{indent}{end}"


def _same(text: str) -> Callable[[Form], str]:
    return lambda form: text


def _boxcox(prefix: str, form: Form) -> str:
    """``((v + shift)^exponent - 1) / exponent``, without losing a small v or exponent."""
    exponent, shift = (float(n or 0.0) for n in form.numbers)
    log = f"{prefix}log(v + {number(shift)})"
    if shift in (0.0, 1.0):
        log = f"{prefix}log1p(v)" if shift else f"{prefix}log(v)"
    if exponent == 0:
        return log
    return f"{prefix}expm1({number(exponent)} * {log}) / {number(exponent)}"


def _spline(most: str, power: str, form: Form) -> str:
    """(d_j(v) - d_{K-1}(v)) / (ξ_K - ξ_1)² of a natural cubic spline."""
    knot, before, last, scale = (float(n or 0.0) for n in form.numbers)

    def cube(at: float) -> str:
        return f"{most}(v - {_bracketed(at)}, 0){power}3"

    d = [f"({cube(at)} - {cube(last)}) / {number(last - at)}" for at in (knot, before)]
    return f"({d[0]} - {d[1]}) / {number(scale)}"


def _class(form: Form) -> str:
    low, high = form.numbers
    sides = [] if low is None else [f"(v >= {number(low)})"]
    sides += [] if high is None else [f"(v < {number(high)})"]
    return " & ".join(sides)


def _r_class(form: Form) -> str:
    low, high = form.numbers
    ends = "-Inf" if low is None else number(low), "Inf" if high is None else number(high)
    return f"between(v, {ends[0]}, {ends[1]})"


def _piece(least: str, most: str, form: Form) -> str:
    low, high = form.numbers
    run = "v" if low is None else f"{most}(v, {number(low)})"
    run = run if high is None else f"{least}({run}, {number(high)})"
    return run if low is None else f"{run} - {_bracketed(low)}"


def _bracketed(value: float) -> str:
    return f"({number(value)})" if value < 0 else number(value)


PYTHON_FORMS: Mapping[str, Callable[[Form], str]] = {
    "linear": _same("v"),
    "log": _same("np.log(v)"),
    "log1p": _same("np.log1p(v)"),
    "sqrt": _same("np.sqrt(v)"),
    "square": _same("v**2"),
    "boxcox": partial(_boxcox, "np."),
    "class": _class,
    "piece": partial(_piece, "np.minimum", "np.maximum"),
    "levels": lambda form: f"one_of(v, {python(list(form.labels))})",
    "missing": _same("np.isnan(v)"),
    "inverse": _same("1 / v"),
    "spline": partial(_spline, "np.maximum", "**"),
}
R_FORMS: Mapping[str, Callable[[Form], str]] = {
    "linear": _same("v"),
    "log": _same("log(v)"),
    "log1p": _same("log1p(v)"),
    "sqrt": _same("sqrt(v)"),
    "square": _same("v^2"),
    "boxcox": partial(_boxcox, ""),
    "class": _r_class,
    "piece": partial(_piece, "pmin", "pmax"),
    "levels": lambda form: f"one_of(v, {r(list(form.labels))})",
    "missing": _same("is.na(v)"),
    "inverse": _same("1 / v"),
    "spline": partial(_spline, "pmax", "^"),
}
