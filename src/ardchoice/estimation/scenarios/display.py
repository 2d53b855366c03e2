"""Scenarios as text of 80 columns, and as HTML for notebooks."""

from __future__ import annotations

import textwrap
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from ardchoice.errors import SpecificationError
from ardchoice.estimation.elasticities import ALL
from ardchoice.estimation.scenarios.surplus import UTILITY
from ardchoice.text import WIDTH, number, percent, table

if TYPE_CHECKING:
    from ardchoice.estimation.scenarios.scenario import Scenario


def describe_scenario(scenario: Scenario) -> str:
    """Shares, surplus, diversion and notes, in 80 columns."""
    level = f"{100 * scenario._uncertainty.level:g}%"
    parts = [textwrap.fill(scenario.name, WIDTH), _shares(scenario, level), _surplus(scenario)]
    parts += [_diversion(scenario)]
    parts += [textwrap.fill(f"Note: {note}", WIDTH) for note in scenario.notes]
    return "\n\n".join(part for part in parts if part)


def signed_points(change: float) -> str:
    """A change of a share in percentage points."""
    return "." if change != change else f"{100 * change:+.2f}"


def _shares(scenario: Scenario, level: str) -> str:
    frame = scenario.shares
    numbers = frame[["base", "scenario", "change", "low", "high"]].to_numpy(dtype=float)
    counts = scenario.counts["change"].to_numpy(dtype=float)
    segments = frame["segment"].tolist() if scenario.by else [ALL] * len(frame)
    names = frame["alternative"].tolist()
    rows: list[list[str]] = []
    for k, (base, after, *change) in enumerate(numbers.tolist()):
        if scenario.by and (k == 0 or segments[k] != segments[k - 1]):
            rows.append([segments[k], *[""] * 6])
        name = ("  " if scenario.by else "") + names[k]
        points = [signed_points(value) for value in change]
        rows.append([name, percent(base), percent(after), *points, f"{counts[k]:+,.1f}"])
    head = ["share", "base", "scenario", "change", "low", "high", "choices"]
    return (
        f"{table(rows, head)}\nchange in percentage points with its {level} interval; change of "
        "the number of\nchoices"
    )


def _surplus(scenario: Scenario) -> str:
    try:
        frame = scenario.surplus
    except SpecificationError as error:
        return textwrap.fill(str(error), WIDTH)
    numbers = frame[["estimate", "low", "high", "total"]].to_numpy(dtype=float).tolist()
    rows = [
        [str(segment), f"{n:,}", *map(number, values)]
        for segment, n, values in zip(frame["segment"], frame["n"], numbers, strict=True)
    ]
    unit = str(frame["unit"].iloc[0])
    body = table(rows, ["consumer surplus", "n", "per choice", "low", "high", "total"])
    money = scenario._simulator.data.unit(unit)
    what = "in utility" if unit == UTILITY else f"in {money}" if money else f"in units of {unit}"
    note = scenario.surplus_note
    more = f"\n{textwrap.fill(note, WIDTH)}" if note else ""
    return f"{body}\nchange of the surplus {what}{more}"


def _diversion(scenario: Scenario) -> str:
    frame = pd.DataFrame(scenario.diversion)
    if scenario.by:
        frame = frame[frame["segment"] == ALL]
    numbers = frame[["share", "of_gain"]].to_numpy(dtype=float).tolist()
    rows = [
        [str(to), str(source), signed_points(points), percent(part)]
        for to, source, (points, part) in zip(frame["to"], frame["from"], numbers, strict=True)
    ]
    return table(rows, ["diversion to", "from", "points", "of gain"], left=2) if rows else ""


def scenario_html(scenario: Scenario) -> str:
    """Shares and surplus as tables of HTML; whatever is a name is escaped."""
    notes = "".join(f"<p>{escape(note)}</p>" for note in scenario.notes)
    tables = [scenario.shares]
    try:
        tables.append(scenario.surplus)
    except SpecificationError as error:
        notes += f"<p>{escape(str(error))}</p>"
    body = "".join(
        pd.DataFrame(frame).to_html(index=False, float_format=lambda v: number(v), border=0)
        for frame in tables
    )
    return f"<div><p><b>{escape(scenario.name)}</b></p>{body}{notes}</div>"
