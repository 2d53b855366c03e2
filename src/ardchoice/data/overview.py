"""What `print(data)` shows: the page a modeller reads before modelling."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ardchoice.notebook import block, folded, html_table, paragraph
from ardchoice.text import WIDTH, brief, percent, shorten, table

if TYPE_CHECKING:
    from ardchoice.data.choices import Attribute, ChoiceData, Covariate
    from ardchoice.data.source import Source

MOST_ALTERNATIVES = 12
MOST_LEVELS = 12
MOST_WARNINGS = 8
MOST_ROWS_IN_NOTEBOOK = 40
NAME_WIDTH = 24
"""Longer names are shortened, so that their description fits on the line."""
HARD_SPACE = "\N{NO-BREAK SPACE}"
"""Holds a level and its share together while text is wrapped."""


def describe(data: ChoiceData) -> str:
    """Situations, persons, alternatives, attributes, covariates and warnings as text."""
    if not len(data):
        return f"no choice situations, {len(data.alternatives)} alternatives"
    parts = [_head(data), _alternatives(data), _attributes(data)]
    parts += [_covariates(data), _labels(data), _problems(data, "warning"), _problems(data, "note")]
    return "\n\n".join(part for part in parts if part)


def choices_html(data: ChoiceData) -> str:
    """The same as compact HTML for notebooks; whatever is a name is escaped."""
    if not len(data):
        return block(describe(data))
    title, *more = _head(data).split("\n")
    numeric = [a for a in data.attributes.values() if a.levels is None]
    rows = [
        [_with_unit(data, a.name), _where(data, a), *_range(data, a, None)]
        for a in numeric[:MOST_ROWS_IN_NOTEBOOK]
    ]
    covariates = [[_with_unit(data, c), _covariate_text(x)] for c, x in data.covariates.items()]
    covariates += [
        [_name(a.name), f"attribute of {_where(data, a)}; {_levels(a)}"]
        for a in data.attributes.values()
        if a.levels is not None
    ]
    share = "share" if data.weight is None else "weighted share"
    return block(
        title,
        paragraph("; ".join(line.strip() for line in more)),
        html_table(_alternative_rows(data), ["alternative", "available", "chosen", share]),
        html_table(rows, ["attribute", "alternatives", "min", "mean", "max"], left=2),
        html_table(covariates, ["covariate", "values"], left=2),
        folded("labels", [] if data.source is None else map(": ".join, data.source.labels.items())),
        folded("warnings", [p.message for p in data.warnings if p.severity == "warning"]),
        folded("notes", [p.message for p in data.warnings if p.severity == "note"]),
    )


def _name(text: str, width: int = NAME_WIDTH) -> str:
    """A name on one line of at most `width` characters."""
    return shorten(" ".join(text.split()), width)


def _with_unit(data: ChoiceData, name: str) -> str:
    """A name with its unit in brackets, if it has one."""
    unit = data.unit(name)
    return f"{_name(name, NAME_WIDTH - len(unit) - 3)} ({unit})" if unit else _name(name)


def _labels(data: ChoiceData) -> str:
    """What names stand for, where labels were given."""
    labels = {} if data.source is None else data.source.labels
    lines = [line for name, label in labels.items() for line in _wrap(f"{name}: {label}", 2)]
    return _titled("label", lines)


def _number(value: float) -> str:
    """Four significant digits, but whole numbers below ten million in full."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else brief(value)


def _head(data: ChoiceData) -> str:
    n = len(data)
    text = f"{n:,} choice situation{'s' if n > 1 else ''}"
    if data.person is not None:
        persons = data.n_persons or 1
        text += f" of {persons:,} person{'s' if persons > 1 else ''} ({n / persons:.1f} each)"
    text += f", {len(data.alternatives)} alternatives"
    sizes = data.available.sum(axis=0)
    if sizes.min() != sizes.max():
        text += f"\n{sizes.min()} to {sizes.max()} of them available at a time"
    if data.weight is not None:
        text += f"\n{data.weights_text()}"
    if data.source is not None:
        text += _made(data.source)
    if data.choice is None:
        text += "\nno observed choices (to be predicted)"
    return text


def _made(source: Source) -> str:
    """What was derived and dropped as asked."""
    lines = [] if source.where is None else _wrap(f"only where {source.where}", 2)
    for name, expression in source.derive.items():
        lines += _wrap(f"derived: {name} = {expression}", 2)
    return "".join(f"\n{line}" for line in lines)


def _alternative_rows(data: ChoiceData) -> list[list[str]]:
    """Name, availability, times chosen and share of every alternative, as text."""
    counts = shares = ["."] * len(data.alternatives)
    if data.choice is not None:
        chosen = np.bincount(data.choice, minlength=len(data.alternatives))
        counts, shares = [f"{c:,}" for c in chosen], [percent(s) for s in data.shares()]
    return [
        [_name(name, WIDTH), percent(float(available.mean())), count, share]
        for name, available, count, share in zip(
            data.alternatives, data.available, counts, shares, strict=True
        )
    ]


def _alternatives(data: ChoiceData) -> str:
    rows, more = _alternative_rows(data), ""
    if len(rows) > MOST_ALTERNATIVES:
        more = f"\n  ... and {len(rows) - MOST_ALTERNATIVES} more"
        rows = rows[:MOST_ALTERNATIVES]
    share = "share" if data.weight is None else "weighted share"
    return table(rows, ["alternative", "available", "chosen", share]) + more


def _attributes(data: ChoiceData) -> str:
    rows: list[list[str]] = []
    categorical: list[str] = []
    for attribute in data.attributes.values():
        name = _with_unit(data, attribute.name)
        if attribute.levels is not None:
            categorical += _wrap(f"{name}  {_where(data, attribute)}  {_levels(attribute)}", 2)
        elif len(attribute.alternatives) > MOST_ALTERNATIVES:
            rows.append([name, _where(data, attribute), *_range(data, attribute, None)])
        else:
            for j in attribute.alternatives:
                shown = name if j == attribute.alternatives[0] else ""
                rows.append([shown, _name(data.alternatives[j]), *_range(data, attribute, j)])
    head = ["attribute", "alternative", "min", "mean", "max"]
    parts = [
        table(rows, head, left=2) if rows else "",
        _titled("categorical attribute", categorical),
    ]
    return "\n\n".join(part for part in parts if part)


def _where(data: ChoiceData, attribute: Attribute) -> str:
    if len(attribute.alternatives) == len(data.alternatives):
        return "all"
    return _name(", ".join(data.alternatives[j] for j in attribute.alternatives))


def _range(data: ChoiceData, attribute: Attribute, alternative: int | None) -> list[str]:
    if alternative is None:
        values = attribute.values[data.available[list(attribute.alternatives)]]
    else:
        values = attribute.of(alternative)[data.available[alternative]]
    if not len(values):
        return [".", ".", "."]
    return [_number(float(v)) for v in (values.min(), values.mean(), values.max())]


def _covariates(data: ChoiceData) -> str:
    names = {c: _with_unit(data, c) for c in data.covariates}
    width = max(map(len, names.values()), default=0)
    lines: list[str] = []
    for name, covariate in data.covariates.items():
        lines += _wrap(f"{names[name]:<{width}}  {_covariate_text(covariate)}", width + 2)
    return _titled("covariate", lines)


def _titled(title: str, lines: list[str]) -> str:
    """Lines under an underlined title; nothing where there are none."""
    return "\n".join([title, "-" * len(title), *lines]) if lines else ""


def _covariate_text(covariate: Covariate) -> str:
    values = covariate.values
    if covariate.levels is None:
        low, mean, high = (_number(float(v)) for v in (values.min(), values.mean(), values.max()))
        return f"numeric, {low} to {high} (mean {mean})"
    return _levels(covariate, np.bincount(values, minlength=len(covariate.levels)) / len(values))


def _levels(variable: Attribute | Covariate, shares: npt.NDArray[np.float64] | None = None) -> str:
    """The levels, the reference with a star, and their shares when given."""
    levels = variable.levels or ()
    shown = [_name(v) + ("*" if i == variable.reference else "") for i, v in enumerate(levels)]
    if shares is not None:
        shown = [f"{text} ({percent(share)})" for text, share in zip(shown, shares, strict=True)]
    if len(shown) > MOST_LEVELS:
        shown = [*shown[: MOST_LEVELS - 1], "...", shown[-1]]
    listed = ", ".join(text.replace(" ", HARD_SPACE) for text in shown)
    return f"{len(levels)} levels (* reference): {listed}"


def _wrap(text: str, indent: int) -> list[str]:
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)
    return [line.replace(HARD_SPACE, " ") for line in lines]


def _problems(data: ChoiceData, severity: str) -> str:
    lines = []
    found = [p for p in data.warnings if p.severity == severity]
    for i, problem in enumerate(found[:MOST_WARNINGS], 1):
        lines += _wrap(f"{i}. {problem.message}", 3)
    if len(found) > MOST_WARNINGS:
        lines.append(f"... and {len(found) - MOST_WARNINGS} more, in data.warnings")
    return _titled(f"{severity}s", lines)
