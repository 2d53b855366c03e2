"""The figures, from the numbers of their section."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Patch

from ardchoice.files import atomic_write
from ardchoice.report import BLUE, GREEN, GREY, ORANGE, STYLE

Json = dict[str, Any]

COLOURS = {"TRAIN": BLUE, "SM": ORANGE, "CAR": GREEN}
SMOOTHING_RECORDS = 25
"""Records that a smoothed bound averages."""
LABEL_SPACING = 6.0
"""Columns between labels."""
LABELLED_LAMBDA_SHARE = 0.02
"""Share of the largest λ from which a term is labelled; true terms always are."""


def convergence(numbers: Json) -> Picture:
    """The bound by step."""
    figure = Picture(figsize=(6.5, 3.2), layout="constrained")
    axes = figure.subplots()
    step = np.array(numbers["bound"]["iteration"])
    bound = np.array(numbers["bound"]["objective"])
    window = min(SMOOTHING_RECORDS, max(len(bound) // 4, 1))
    smooth = np.convolve(bound, np.ones(window) / window, mode="valid")
    every = int(np.median(np.diff(step)))
    axes.plot(step, bound, color=GREY, lw=0.6, label=f"one mini-batch, every {every:,} steps")
    axes.plot(step[window - 1 :], smooth, color=BLUE, lw=1.6, label=f"mean of {window} of these")
    low, high = np.quantile(bound[len(bound) // 20 :], [0.002, 1.0])
    axes.set_ylim(low - 0.1 * (high - low), high + 0.05 * (high - low))
    axes.set_xlabel("mini-batch step")
    axes.set_ylabel("evidence lower bound")
    axes.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    axes.legend(loc="lower right")
    return figure


def evidence(numbers: Json) -> Picture:
    """Both solvers on one time axis, as the distance to the best."""
    figure = Picture(figsize=(6.5, 3.2), layout="constrained")
    axes = figure.subplots()
    best = max(max(t["evidence"]) for t in numbers["by_time"].values())
    for name, label, colour, marker in (
        ("newton", "Newton()", ORANGE, "s"),
        ("paper", "Dsvi.paper()", BLUE, "o"),
    ):
        trace = numbers["by_time"][name]
        away = best - np.array(trace["evidence"]) + 0.1
        axes.plot(
            trace["evaluated_seconds"], away, color=colour, marker=marker, ms=3.5, label=label
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("seconds")
    axes.set_ylabel("log evidence below the best (+0.1)")
    axes.legend()
    return figure


def lambdas(numbers: Json) -> Picture:
    """λ of every column."""
    figure = Picture(figsize=(6.5, 3.8), layout="constrained")
    axes = figure.subplots()
    table, at = numbers["lambda"], 0
    true, top, last = set(numbers["true"]), max(table["lam"]), -np.inf
    for term, count, lam in zip(table["terms"], table["columns"], table["lam"], strict=True):
        place, _, what = term.partition(": ")
        x = np.arange(at, at + count)
        axes.vlines(x, 0, lam, color=COLOURS[place], lw=1.3)
        if lam > LABELLED_LAMBDA_SHARE * top or term in true:
            label = f"{what} ●" if term in true else what
            last = max(float(x.mean()), last + LABEL_SPACING)
            axes.text(
                last,
                lam + 0.02 * top,
                label,
                rotation=90,
                ha="center",
                va="bottom",
                fontsize=7,
                color=COLOURS[place],
            )
        at += count
    axes.set_xlim(-6, at + 3)
    axes.set_ylim(0, 1.35 * top)
    axes.set_xlabel("column of the design")
    axes.set_ylabel(f"λ, {numbers['lambda_solver']}")
    axes.legend(
        [Patch(color=c) for c in COLOURS.values()], list(COLOURS), loc="upper right", ncols=3
    )
    axes.set_title("● in the true specification S2", fontsize=9)
    return figure


FIGURES: dict[str, Callable[[Json], Picture]] = {
    "convergence": convergence,
    "evidence": evidence,
    "lambda": lambdas,
}


def draw_figure(name: str, numbers: Json, folder: Path) -> None:
    """Write a figure as PNG and SVG."""
    with matplotlib.rc_context(STYLE):
        figure = FIGURES[name](numbers)
        for kind in ("png", "svg"):
            undated = {"Date": None} if kind == "svg" else None
            with atomic_write(folder / f"{name}.{kind}") as new:
                figure.savefig(new, format=kind, dpi=200, metadata=undated)
