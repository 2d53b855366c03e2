"""What `print(data)` shows: the page a modeller reads before modelling."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from ardchoice.text import WIDTH, brief, percent, shorten, table

if TYPE_CHECKING:
    from ardchoice.data.choices import Attribute, ChoiceData, Covariate

MOST_ALTERNATIVES = 12
MOST_LEVELS = 12


def describe(data: ChoiceData) -> str:
    """Situations, persons, alternatives, attributes, covariates and warnings as text."""
    parts = [_head(data), _alternatives(data)]
    if data.attributes:
        parts.append(_attributes(data))
    if data.covariates:
        parts.append(_covariates(data))
    if data.warnings:
        parts.append(_warnings(data))
    return "\n\n".join(parts)


def _head(data: ChoiceData) -> str:
    n = len(data)
    text = f"{n:,} choice situations"
    if data.person is not None:
        persons = data.n_persons or 0
        text += f" of {persons:,} persons ({n / max(persons, 1):.1f} each)"
    text += f", {len(data.alternatives)} alternatives"
    sizes = data.available.sum(axis=0)
    if sizes.min() != sizes.max():
        text += f"\n{sizes.min()} to {sizes.max()} of them available at a time"
    if data.weight is not None:
        text += f"\nweights from {brief(data.weight.min())} to {brief(data.weight.max())}"
        text += f", sum {brief(float(data.weight.sum()))}"
    if data.choice is None:
        text += "\nno observed choices (to be predicted)"
    return text


def _alternatives(data: ChoiceData) -> str:
    names = list(data.alternatives)
    shares = np.full(len(names), np.nan)
    chosen = np.zeros(len(names), dtype=int)
    if data.choice is not None:
        shares = data.shares().to_numpy()
        chosen = np.bincount(data.choice, minlength=len(names))
    rows = [
        [name, percent(float(data.available[j].mean())), f"{chosen[j]:,}", percent(shares[j])]
        for j, name in enumerate(names)
    ]
    if data.choice is None:
        rows = [[*r[:2], ".", "."] for r in rows]
    more = ""
    if len(rows) > MOST_ALTERNATIVES:
        more = f"\n  ... and {len(rows) - MOST_ALTERNATIVES} more"
        rows = rows[:MOST_ALTERNATIVES]
    return table(rows, ["alternative", "available", "chosen", "share"]) + more


def _attributes(data: ChoiceData) -> str:
    rows: list[list[str]] = []
    for attribute in data.attributes.values():
        same_for_all = len(attribute.alternatives) > MOST_ALTERNATIVES
        if attribute.levels is not None:
            levels = f"{len(attribute.levels)} levels: {', '.join(attribute.levels)}"
            rows.append([attribute.name, _where(data, attribute), shorten(levels, 34), "", ""])
        elif same_for_all:
            rows.append([attribute.name, _where(data, attribute), *_range(data, attribute, None)])
        else:
            for j in attribute.alternatives:
                shown = attribute.name if j == attribute.alternatives[0] else ""
                rows.append([shown, data.alternatives[j], *_range(data, attribute, j)])
    return table(rows, ["attribute", "alternative", "min", "mean", "max"], left=2)


def _where(data: ChoiceData, attribute: Attribute) -> str:
    if len(attribute.alternatives) == len(data.alternatives):
        return "all"
    return shorten(", ".join(data.alternatives[j] for j in attribute.alternatives), 24)


def _range(data: ChoiceData, attribute: Attribute, alternative: int | None) -> list[str]:
    if alternative is None:
        values = attribute.values[data.available[list(attribute.alternatives)]]
    else:
        values = attribute.of(alternative)[data.available[alternative]]
    if not len(values):
        return [".", ".", "."]
    return [brief(float(v)) for v in (values.min(), values.mean(), values.max())]


def _covariates(data: ChoiceData) -> str:
    lines = ["covariate", "-" * 9]
    width = max(len(name) for name in data.covariates)
    for covariate in data.covariates.values():
        text = f"{covariate.name:<{width}}  {_covariate_text(covariate)}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent=" " * (width + 2))
    return "\n".join(lines)


def _covariate_text(covariate: Covariate) -> str:
    values = covariate.values
    if covariate.levels is None:
        low, mean, high = (brief(float(v)) for v in (values.min(), values.mean(), values.max()))
        return f"numeric, {low} to {high} (mean {mean})"
    counts = np.bincount(values, minlength=len(covariate.levels)) / max(len(values), 1)
    shown = [
        f"{level}{'*' if i == covariate.reference else ''} ({percent(counts[i])})"
        for i, level in enumerate(covariate.levels)
    ]
    if len(shown) > MOST_LEVELS:
        shown = [*shown[: MOST_LEVELS - 1], "...", shown[-1]]
    return f"{len(covariate.levels)} levels (* reference): " + ", ".join(shown)


def _warnings(data: ChoiceData) -> str:
    lines = []
    for i, problem in enumerate(data.warnings, 1):
        lines += textwrap.wrap(f"{i}. {problem.message}", WIDTH, subsequent_indent="   ")
    return "worth knowing\n" + "-" * 13 + "\n" + "\n".join(lines)
