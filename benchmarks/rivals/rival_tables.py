"""What people read: the table, the notes, the figure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from rival_record import Run, bests, where

HEAD = ("method", "seed", "BIC", "above", "F1", "terms", "sec", "models", "status")
WIDTHS = (24, 5, 10, 8, 5, 6, 7, 7, 8)
MEANING = """\
above: BIC above the best that anybody found on the same choices. F1: of the terms of S2. terms:
of the space; one of which only some columns are in counts, here and in F1. sec: when its best
model was found, in seconds of the search alone. models: estimated in all. ended: by itself;
stopped: at the budget; failed: see below; given: not found but known."""
SHOWN = """\
What this shows: how low a BIC each program reaches, and by when, in this one space of main effects
and first-order interactions, on one data set and choices drawn from it, with one thread.

What it does not show: SearchLibrium and Biogeme are made for more than this (random parameters,
nests, Box-Cox, several objectives) and estimate every model with general machinery. Most of their
time goes there, compilation included, not into their search; a longer budget would help them.

The spaces are not quite the same. `specify` and Biogeme by segments keep the same rules (constants
stay, an interaction needs its main effect, one form per attribute); `specify` without structure,
stepwise, the lasso, Biogeme term by term and SearchLibrium keep none, and reach sets that the
others may not. SearchLibrium has no terms of several columns: its candidates are single levels.

BIC is our yardstick because `specify` minimises it. A low BIC is not yet a sensible model, and of
the real choices nobody knows the truth. Patches are the smallest that we found; the authors might
fix it better."""


def cells(run: Run, best: float) -> tuple[str, ...]:
    """A row of the table."""

    def show(value: float | None, form: str) -> str:
        return "." if value is None else format(value, form)

    return (
        run.method,
        str(run.seed),
        show(run.bic, ",.1f"),
        show(None if run.bic is None else run.bic - best, ",.1f"),
        show(run.f1, ".2f"),
        show(run.terms, "d"),
        show(run.seconds, ".1f"),
        show(run.tried, ",d"),
        run.status,
    )


def tables(done: list[Run]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """A title and rows per data set."""
    best = bests(done)
    for name in dict.fromkeys(run.data for run in done):
        here = [run for run in done if run.data == name]
        yield (
            f"{name}, {here[0].budget:g} s each",
            [HEAD, *(cells(run, best[where(run)]) for run in here)],
        )


def notes(done: list[Run]) -> list[str]:
    """What was changed to let a method run, and what did not run; each once."""
    changed: dict[str, dict[str, None]] = {}
    failed: dict[str, list[str]] = {}
    for run in done:
        for text in run.patches:
            changed.setdefault(text, {})[run.method] = None
        if run.problem:
            failed.setdefault(f"{run.method}: {run.problem}", []).append(f"{run.data} {run.seed}")
    return [
        *(f"Changed in {'; '.join(methods)}: {text}" for text, methods in changed.items()),
        *(f"Failed, {text} ({', '.join(runs)})" for text, runs in failed.items()),
    ]


def show(done: list[Run]) -> None:
    """The table, in 80 columns."""
    for title, rows in tables(done):
        print(title)
        for first, *rest in rows:
            numbers = zip(rest, WIDTHS[1:], strict=True)
            print(first.ljust(WIDTHS[0]) + "".join(cell.rjust(width) for cell, width in numbers))
        print()
    for text in (MEANING, *notes(done), *SHOWN.split("\n\n")):
        print(textwrap.fill(text, 80, subsequent_indent="  "))


def markdown(done: list[Run]) -> str:
    """The same for a page."""
    out: list[str] = []
    for title, (head, *body) in tables(done):
        rule = ("---", *["---:"] * (len(head) - 2), "---")
        out += [f"## {title}", "", *(f"| {' | '.join(row)} |" for row in (head, rule, *body)), ""]
    return "\n".join([*out, MEANING, "", *(f"- {note}" for note in notes(done)), "", SHOWN, ""])


STYLES: dict[str, tuple[str, str, str]] = {
    "specify": ("#0072B2", "-", "o"),
    "specify, no structure": ("#56B4E9", "-", "s"),
    "stepwise by BIC": ("#D55E00", "--", "^"),
    "group lasso": ("#E69F00", "--", "v"),
    "SearchLibrium, patched": ("#CC79A7", "-.", "D"),
    "Biogeme, segments": ("#009E73", ":", "P"),
    "Biogeme, term by term": ("#000000", ":", "X"),
}
"""Colours of Okabe and Ito; line and marker tell them apart without colour."""
LINEAR = 10.0
"""BIC above the best up to which the axis is linear: smaller differences mean little."""


def figure(done: list[Run], folder: Path) -> None:
    """BIC above the best against seconds, a panel per data set, a line per run."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(run.data for run in done))
    plot, panels = plt.subplots(
        1,
        len(names),
        figsize=(4.2 * len(names) + (0.6 if len(names) > 1 else 1.4), 4.8),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, name in zip(panels[0], names, strict=True):
        draw(axes, [run for run in done if run.data == name and run.method in STYLES], bests(done))
        title = "real choices" if name == "real" else f"choices drawn from {name}"
        axes.set_title(title, loc="left")
    panels[0][0].set_ylabel("BIC above the best found")
    shown = {k: v for axes in panels[0] for v, k in zip(*axes.get_legend_handles_labels())}  # noqa: B905
    labels = [method for method in STYLES if method in shown]
    handles = [shown[method] for method in labels]
    columns = 3 if len(names) > 1 else 2
    plot.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    for kind in ("png", "svg"):
        plot.savefig(folder / f"rivals.{kind}", dpi=200)
    plt.close(plot)


def draw(axes: Any, done: list[Run], best: dict[tuple[str, int], float]) -> None:
    """One panel: every search at the best it has so far, and a marker where that is its last."""
    for run in done:
        if run.curve:
            colour, dash, marker = STYLES[run.method]
            t, bic = np.array(run.curve).T
            t, above = np.append(t, run.budget), np.append(bic, bic[-1]) - best[where(run)]
            axes.step(t, above, dash, color=colour, where="post", linewidth=1.6)
            axes.plot(t[-2], above[-1], dash, color=colour, marker=marker, label=run.method)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=LINEAR)
    axes.set_ylim(bottom=-1)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("seconds of search")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
