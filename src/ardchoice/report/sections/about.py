"""The data, and everything needed to do it again."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import available_values
from ardchoice.report.document import FIGURES, Cell, Note, Section, Table, Text, Verbatim
from ardchoice.report.findings import Findings
from ardchoice.settings import settings_if_any, to_toml
from ardchoice.text import percent

MOST_ROWS = 15
MOST_LEVELS = 12
MOST_PLACES = 12
"""Alternatives that have rows of their own."""
MOST_WARNINGS = 12
PACKAGES = ("numpy", "scipy", "pandas", "matplotlib")


def data(found: Findings) -> Section:
    """Situations, alternatives, attributes, covariates, warnings."""
    data = found.record.data
    parts: list[Text | Table | Note] = [Text(head(data)), _alternatives(data)]
    if data.attributes:
        parts.append(_attributes(data))
    if data.covariates:
        parts.append(_covariates(data))
    parts += [Note("look", "Worth knowing", p.message) for p in data.warnings[:MOST_WARNINGS]]
    return Section("data", "The data", [*parts])


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
        text += f"; weights from {data.weight.min():.4g} to {data.weight.max():.4g}"
    if data.source is not None and data.source.path is not None:
        text += f". Read from {data.source.path}"
    return text + "."


def _alternatives(data: ChoiceData) -> Table:
    counts = np.bincount(data.chosen(), minlength=len(data.alternatives))
    rows: list[list[Cell]] = [
        [name, float(here.mean()), int(count), float(share)]
        for name, here, count, share in zip(
            data.alternatives, data.available, counts, data.shares(), strict=True
        )
    ]
    share = "share" if data.weight is None else "weighted share"
    return Table(
        "alternatives",
        "Alternatives",
        ["alternative", "available", "chosen", share],
        ["", ".1%", ",d", ".1%"],
        rows,
        shown=MOST_ROWS,
    )


def _attributes(data: ChoiceData) -> Table:
    rows: list[list[Cell]] = []
    for attribute in data.attributes.values():
        places: list[tuple[int, ...]] = [(j,) for j in attribute.alternatives]
        if attribute.levels is not None or len(places) > MOST_PLACES:
            places = [attribute.alternatives]
        for place in places:
            where = _where(data, place)
            if attribute.levels is not None:
                rows.append([attribute.name, where, *[None] * 4, _levels(attribute.levels)])
            else:
                spread = _spread(available_values(data, attribute, place))
                rows.append([attribute.name, where, *spread, ""])
    head = ["attribute", "alternative", "least", "mean", "most", "spread", "levels"]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Table(
        "attributes",
        "Attributes, where available",
        head,
        ["", "", FIGURES, FIGURES, FIGURES, FIGURES, ""][: len(head)],
        rows,
        shown=MOST_ROWS,
    )


def _spread(values: Floats) -> list[Cell]:
    some = values if len(values) else np.array([np.nan])
    return [float(f(some)) for f in (np.min, np.mean, np.max, np.std)]


def _where(data: ChoiceData, place: tuple[int, ...]) -> str:
    if len(place) == len(data.alternatives):
        return "all"
    names = [data.alternatives[j] for j in place]
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _levels(levels: tuple[str, ...]) -> str:
    return ", ".join(levels[:MOST_LEVELS]) + (
        f", … ({len(levels)} levels)" if len(levels) > MOST_LEVELS else ""
    )


def _covariates(data: ChoiceData) -> Table:
    rows: list[list[Cell]] = []
    for covariate in data.covariates.values():
        values = covariate.values
        if covariate.levels is None:
            text = f"{values.min():.4g} to {values.max():.4g}, mean {values.mean():.4g}"
            rows.append([covariate.name, "numeric", text, "–"])
            continue
        shares = np.bincount(values, minlength=len(covariate.levels)) / len(values)
        shown = [
            f"{level} ({percent(float(share))})"
            for level, share in list(zip(covariate.levels, shares, strict=True))[:MOST_LEVELS]
        ]
        more = ", …" if len(covariate.levels) > MOST_LEVELS else ""
        kind = f"{len(covariate.levels)} levels"
        rows.append(
            [covariate.name, kind, ", ".join(shown) + more, covariate.levels[covariate.reference]]
        )
    return Table(
        "covariates",
        "Covariates",
        ["covariate", "kind", "values", "reference"],
        ["", "", "", ""],
        rows,
        shown=MOST_ROWS,
    )


def settings(found: Findings, command: str | None) -> Section:
    """Settings, seed, versions, and the command that does it again."""
    record = found.record
    rows: list[list[Cell]] = [
        ["search space", f"{len(record.space):,} terms, {record.space.n_columns:,} columns"],
        ["rule", record.rule.name],
        ["solver", record.fit.solver.name],
        ["honest", record.honest],
        ["seed", str(record.seed)],
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    rows += [
        ["ardchoice", record.version],
        ["Python", f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"],
        ["packages", versions],
        ["machine", f"{platform.system()} {platform.machine()}"],
        ["seconds", f"{record.seconds:.1f}"],
    ]
    parts: list[Table | Verbatim] = []
    if command:
        parts.append(Verbatim(command, "To do it again"))
    parts.append(Verbatim(record.specification.to_text(), "The specification, in the grammar"))
    parts.append(Table("settings", "Settings and versions", ["what", "value"], ["", ""], rows))
    said = settings_if_any(record)
    if said is not None:
        parts.append(Verbatim(to_toml(said), "All settings, as study.toml"))
    return Section("settings", "Settings and how to reproduce", [*parts])
