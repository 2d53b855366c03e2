"""Figures of scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.estimation.elasticities import ALL
from ardchoice.text import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ardchoice.estimation.scenarios.curve import Curve
    from ardchoice.estimation.scenarios.scenario import Scenario, Scenarios

BASE_COLOUR, SCENARIO_COLOUR = "#9aa5b1", "#1f5f8b"
LINE_COLOURS = ("#1f5f8b", "#c8553d", "#4c956c", "#8e6c8a", "#e0a458", "#5b6770")
TITLE_WIDTH = 70
"""Characters of a title that fit above a figure."""
ROW_HEIGHT = 0.55
"""Inches per alternative."""


def plot_shares(scenario: Scenario, ax: Axes | None, segment: str | None) -> Axes:
    """Two points per alternative, joined by an arrow, with the interval of the second."""
    frame, where = scenario.shares, segment or ALL
    if scenario.by:
        if where not in set(frame["segment"]):
            hint = did_you_mean(where, dict.fromkeys(frame["segment"]))
            raise SpecificationError(f"There is no segment {where!r}. {hint}")
        frame = frame[frame["segment"] == where]
    names = frame["alternative"].tolist()
    ax = _axes(ax, 1.4 + ROW_HEIGHT * len(names))
    places = np.arange(len(names))[::-1]
    base, after = 100 * frame["base"].to_numpy(), 100 * frame["scenario"].to_numpy()
    half = 100 * (frame["high"] - frame["low"]).to_numpy() / 2
    ax.hlines(places, base, after, color=BASE_COLOUR, lw=2, zorder=1)
    ax.errorbar(
        after, places, xerr=half, fmt="o", color=SCENARIO_COLOUR, capsize=3, label="scenario"
    )
    ax.plot(base, places, "o", mfc="white", color=BASE_COLOUR, mew=2, label="base")
    for x0, x1, y in zip(base, after, places, strict=True):
        ax.annotate(
            f"{x1 - x0:+.1f}",
            ((x0 + x1) / 2, y),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    ax.set_yticks(places, names)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlabel("share in %, change in points, with the interval of the change")
    title = scenario.name if where == ALL else f"{scenario.name} ({where})"
    return _finish(ax, title)


def plot_side_by_side(scenarios: Scenarios, ax: Axes | None) -> Axes:
    """A group of bars per alternative: as observed, then every scenario."""
    each = list(scenarios.each.values())
    names = each[0].alternatives
    ax = _axes(ax, 4.0)
    totals = each[0].totals.base[0]
    columns = {"base": 100 * totals / totals.sum()}
    for name, scenario in scenarios.each.items():
        demand = scenario.totals.scenario[0]
        columns[name] = 100 * demand / demand.sum()
    width = 0.8 / len(columns)
    places = np.arange(len(names))
    for k, (name, shares) in enumerate(columns.items()):
        colour = BASE_COLOUR if k == 0 else LINE_COLOURS[(k - 1) % len(LINE_COLOURS)]
        offset = (k - (len(columns) - 1) / 2) * width
        ax.bar(places + offset, shares, width * 0.9, color=colour, label=shorten(name, 30))
    ax.set_xticks(places, names)
    ax.set_ylabel("share in %")
    return _finish(ax, "Scenarios side by side")


def plot_curve(curve: Curve, ax: Axes | None) -> Axes:
    """A line per alternative over the grid."""
    ax = _axes(ax, 4.0)
    for k, (name, part) in enumerate(curve.frame.groupby("alternative", sort=False)):
        colour = LINE_COLOURS[k % len(LINE_COLOURS)]
        x = part["value"].to_numpy()
        ax.fill_between(x, 100 * part["low"], 100 * part["high"], color=colour, alpha=0.15, lw=0)
        ax.plot(x, 100 * part["share"], color=colour, marker=".", label=str(name))
    ax.set_xlabel(f"{curve.what} value")
    ax.set_ylabel("share in %")
    return _finish(ax, f"Shares over {curve.what.rstrip('*/+-= ')}")


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, new = plt.subplots(figsize=(7, height), layout="constrained")
    return new


def _finish(ax: Axes, title: str) -> Axes:
    ax.set_title(shorten(title, TITLE_WIDTH), loc="left", fontsize=11)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="best")
    return ax
