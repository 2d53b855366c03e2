"""The data, and everything needed to reproduce the study."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import numpy as np

from ardchoice.data import ChoiceData
from ardchoice.design import available_values
from ardchoice.record import Note
from ardchoice.report.document import FIGURES, Cell, Part, Section, Table, Text, Verbatim
from ardchoice.report.findings import Findings
from ardchoice.settings import settings_if_any, to_toml
from ardchoice.text import percent

MAX_ROWS_SHOWN = 15
MAX_LEVELS_LISTED = 12
MAX_ALTERNATIVE_ROWS = 12
"""Alternatives that have rows of their own."""
MAX_WARNINGS_LISTED = 12
REPORTED_PACKAGES = ("numpy", "scipy", "pandas", "matplotlib")


def data(found: Findings) -> Section:
    """Situations, alternatives, attributes, covariates, warnings."""
    data = found.record.data
    parts: list[Part] = [Text(head(data)), _alternatives(data)]
    if data.attributes:
        parts.append(_attributes(data))
    if data.covariates:
        parts.append(_covariates(data))
    warnings = data.warnings[:MAX_WARNINGS_LISTED]
    parts += [Note("look", "A warning on the data", problem.message) for problem in warnings]
    return Section("data", "The data", parts)


def head(data: ChoiceData) -> str:
    """How much there is, in a sentence or two."""
    text = f"{len(data):,} choice situations"
    if data.n_persons is not None:
        text += f" of {data.n_persons:,} persons ({len(data) / max(data.n_persons, 1):.1f} each)"
    sizes = data.available.sum(axis=0)
    text += f", {len(data.alternatives)} alternatives"
    if sizes.min() != sizes.max():
        text += f", {sizes.min()} to {sizes.max()} of them available at a time"
    if data.weight is not None:
        text += f"; {data.weights_text()}"
    if data.source is not None and data.source.path is not None:
        text += f". Read from {data.source.path}"
    return text + "."


def _alternatives(data: ChoiceData) -> Table:
    counts = np.bincount(data.chosen(), minlength=len(data.alternatives))
    available = data.available.mean(axis=1)
    columns = (data.alternatives, available.tolist(), counts.tolist(), data.shares().tolist())
    share = "share" if data.weight is None else "weighted share"
    return Table(
        "alternatives",
        "Alternatives",
        ["alternative", "available", "chosen", share],
        ["", ".1%", ",d", ".1%"],
        [list(row) for row in zip(*columns, strict=True)],
        shown=MAX_ROWS_SHOWN,
    )


def _attributes(data: ChoiceData) -> Table:
    rows: list[list[Cell]] = []
    for attribute in data.attributes.values():
        places: list[tuple[int, ...]] = [(j,) for j in attribute.alternatives]
        if attribute.levels is not None or len(places) > MAX_ALTERNATIVE_ROWS:
            places = [attribute.alternatives]
        for place in places:
            numbers: list[Cell] = [None] * 4
            if attribute.levels is None:
                values = available_values(data, attribute, place)
                values = values if len(values) else np.array([np.nan])
                numbers = [float(f(values)) for f in (np.min, np.mean, np.max, np.std)]
            levels = _listed(attribute.levels or (), MAX_LEVELS_LISTED, count="levels")
            name = attribute.name
            rows.append([name, _named(data, name), _where(data, place), *numbers, levels])
    head = [
        "attribute",
        "label and unit",
        "alternative",
        "min",
        "mean",
        "max",
        "std. dev.",
        "levels",
    ]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    formats = ["", "", "", *[FIGURES] * 4, ""][: len(head)]
    if not any(row[1] for row in rows):
        head, formats, rows = (
            _without(1, head),
            _without(1, formats),
            [_without(1, r) for r in rows],
        )
    caption = "Attributes, where available"
    return Table("attributes", caption, head, formats, rows, shown=MAX_ROWS_SHOWN)


def _named(data: ChoiceData, name: str) -> str:
    """Label and unit of an attribute or covariate; empty where neither was given."""
    shown = data.described(name)
    return "" if shown == name else shown


def _without(place: int, cells: list[Any]) -> list[Any]:
    return [*cells[:place], *cells[place + 1 :]]


def _where(data: ChoiceData, place: tuple[int, ...]) -> str:
    if len(place) == len(data.alternatives):
        return "all"
    return _listed([data.alternatives[j] for j in place], 5)


def _listed(names: list[str] | tuple[str, ...], most: int, count: str = "") -> str:
    """Names with commas between them; of many, the first and perhaps their number."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[:most], f"… ({len(names)} {count})" if count else "…"])


def _covariates(data: ChoiceData) -> Table:
    rows: list[list[Cell]] = []
    for covariate in data.covariates.values():
        values, levels = covariate.values, covariate.levels
        if levels is None:
            text = f"{values.min():.4g} to {values.max():.4g}, mean {values.mean():.4g}"
            rows.append([covariate.name, _named(data, covariate.name), "numeric", text, "–"])
            continue
        shares = np.bincount(values, minlength=len(levels)) / len(values)
        shown = [f"{v} ({percent(float(s))})" for v, s in zip(levels, shares, strict=True)]
        text = _listed(shown, MAX_LEVELS_LISTED)
        name, reference = covariate.name, levels[covariate.reference]
        rows.append([name, _named(data, name), f"{len(levels)} levels", text, reference])
    head = ["covariate", "label and unit", "kind", "values", "reference"]
    if not any(row[1] for row in rows):
        head, rows = _without(1, head), [_without(1, row) for row in rows]
    return Table("covariates", "Covariates", head, [""] * len(head), rows, shown=MAX_ROWS_SHOWN)


def settings(found: Findings, command: str | None) -> Section:
    """Settings, seed, versions, and the command that reproduces the study."""
    record = found.record
    rows: list[list[Cell]] = [
        ["search space", f"{len(record.space):,} terms, {record.space.n_columns:,} columns"],
        ["rule", record.rule.name],
        ["solver", record.fit.solver.name],
        ["honest", record.honest],
        ["seed", str(record.seed)],
        ["ardchoice", record.version],
        ["Python", platform.python_version()],
        ["packages", ", ".join(f"{name} {version(name)}" for name in REPORTED_PACKAGES)],
        ["machine", f"{platform.system()} {platform.machine()}"],
        ["seconds", f"{record.seconds:.1f}"],
    ]
    parts: list[Part] = [Verbatim(command, "To run it again")] if command else []
    parts += [
        Verbatim(record.specification.to_text(), "The specification, in the grammar"),
        Table("settings", "Settings and versions", ["what", "value"], ["", ""], rows),
    ]
    given = settings_if_any(record)
    if given is not None:
        parts.append(Verbatim(to_toml(given), "All settings, as study.toml"))
    return Section("settings", "Settings and how to reproduce", parts)
