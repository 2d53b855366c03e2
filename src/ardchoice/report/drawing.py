"""How the figures of a report are drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ardchoice._types import Bools, Floats, Ints
from ardchoice.estimation import ALL, cost_of, distributions, draw_tastes
from ardchoice.evaluation import CutOff
from ardchoice.report.findings import Findings
from ardchoice.report.style import BLUE, COLOURS, GREY, INK, ORANGE, one_line
from ardchoice.space import EVERYWHERE
from ardchoice.text import brief

WIDTH_INCHES = 6.6
NAME_CHARACTERS = 34
"""Characters of a name that a figure has room for."""
MAX_PANELS = 6
"""Alternatives that have a panel of their own; the others are in the table."""
MAX_DROPPED_ROWS = 5
"""Terms just below the cut-off that are shown, in each panel."""
MAX_SELECTED_ROWS = 14
MAX_SEGMENT_ROWS = 36
MAX_STABILITY_ROWS = 30
MAX_TASTES, TASTE_COLUMNS = 12, 3
MAX_SCENARIOS, MAX_SCENARIO_ROWS = 4, 12
FULL_AXIS_PROBABILITY = 0.4
"""Probability from which a whole axis is shown."""
SMALLEST_EVIDENCE = 1e-3
"""Log evidence below this is drawn at the edge."""


_label = partial(one_line, most=NAME_CHARACTERS)


def _picture(height: float, width: float = 1.0) -> Picture:
    """Of so many inches, and of a share of the full width."""
    return Picture(figsize=(WIDTH_INCHES * width, height), layout="constrained")


def _lines(axes: Axes, axis: str = "x") -> None:
    axes.grid(visible=True, axis=axis)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)


# -- Relevance -------------------------------------------------------------------------------------


def relevance(found: Findings) -> Picture | None:
    """λ, and what decided, of the selected terms and of those just below the cut-off."""
    panels = _panels(found)
    if not panels:
        return None
    cut = found.cut_off
    right = cut.measure if cut.measure in ("margin", "evidence") else "evidence"
    rows = [len(panel) for _, panel in panels]
    picture = _picture(0.75 + 0.42 * len(rows) + 0.19 * sum(rows))
    grid = picture.subplots(
        len(panels), 2, sharex="col", squeeze=False, gridspec_kw={"height_ratios": rows}
    )
    for (place, panel), (left_axes, right_axes) in zip(panels, grid, strict=True):
        y = np.arange(len(panel))[::-1]
        _dots(left_axes, panel["lambda"].to_numpy(float), y, panel, "not shrunk")
        missing = "must be in" if right == "margin" else "not shrunk"
        _dots(right_axes, panel[right].to_numpy(float), y, panel, missing)
        left_axes.set_yticks(y, [_label(t) for t in panel["shown"]], fontsize=8)
        right_axes.set_yticks(y, [])
        left_axes.set_title("all alternatives" if place == EVERYWHERE else _label(place))
        if cut.measure == "lambda":
            left_axes.axvline(cut.at, color=INK, lw=1, ls="--")
        if cut.measure == right:
            right_axes.axvline(cut.at, color=INK, lw=1, ls="--")
        for axes in (left_axes, right_axes):
            axes.set_ylim(-0.7, len(panel) - 0.3)
            _lines(axes)
    _log_axis(grid[0, 0], pd.concat([p["lambda"] for _, p in panels]).to_numpy(float))
    if right == "margin":
        _signed_axis(grid[0, 1], pd.concat([p["margin"] for _, p in panels]).to_numpy(float))
        grid[-1, 1].set_xlabel(f"change in {_label(cut.words, most=20)} if removed")
    else:
        _log_axis(grid[0, 1], pd.concat([p["evidence"] for _, p in panels]).to_numpy(float))
        grid[-1, 1].set_xlabel("log evidence lost without it")
    grid[-1, 0].set_xlabel("λ (left edge: zero)")
    cut_axes = grid[0, 0] if cut.measure == "lambda" else grid[0, 1]
    if cut.measure in ("lambda", right):
        cut_axes.annotate(
            "cut-off",
            (cut.at, 1.0),
            xytext=(3, 0),
            xycoords=cut_axes.get_xaxis_transform(),
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize=8,
        )
    return picture


def _panels(found: Findings) -> list[tuple[str, pd.DataFrame]]:
    """The selected terms of each alternative, and the closest of the others."""
    frame, measure = found.relevance, found.cut_off.measure
    out = []
    places = list(dict.fromkeys(found.record.fit.terms[i].place for i in range(len(frame))))
    for place in places:
        here = frame[frame["alternative"] == place]
        selected = here[here["is_selected"]]
        others = here[~here["is_selected"]]
        others = others.assign(close=_distance(others[measure].to_numpy(float), found.cut_off))
        others = others[np.isfinite(others["close"])].sort_values("close", kind="stable")
        others = others.head(MAX_DROPPED_ROWS)
        order = "margin" if measure == "margin" else "lambda"
        selected = selected.sort_values(order, ascending=False, kind="stable", na_position="first")
        panel = pd.concat([selected.head(MAX_SELECTED_ROWS), others.drop(columns="close")])
        if len(selected) or len(places) <= MAX_PANELS:
            shown = [str(t).removeprefix(f"{place}: ") for t in panel["term"]]
            out.append((place, panel.assign(shown=shown)))
    out.sort(key=lambda item: -int(item[1]["is_selected"].sum()))
    keep = {place for place, _ in out[:MAX_PANELS]}
    return [
        (p, f) for p, f in sorted(out, key=lambda i: places.index(i[0])) if p in keep and len(f)
    ]


def _distance(values: Floats, cut: CutOff) -> Floats:
    """How far from the cut-off: by difference, or by ratio where it is not at zero."""
    if not cut.at:
        return np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs(np.log(values / cut.at))


def _dots(axes: Axes, x: Floats, y: Ints, panel: pd.DataFrame, missing: str) -> None:
    """Selected terms filled, others hollow; words where there is no number."""
    selected = panel["is_selected"].to_numpy(bool)
    for place in y[~np.isfinite(x)]:
        axes.text(
            0.99,
            place,
            missing,
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            color="#5c6670",
            fontsize=8,
            style="italic",
        )
    _selected_dots(axes, x, y, selected, clip_on=False)


def _selected_dots(axes: Axes, x: Floats, y: Ints, selected: Bools, **options: Any) -> None:
    """Selected terms filled, others hollow."""
    options["zorder"] = 3
    axes.scatter(x[selected], y[selected], s=26, color=BLUE, label="selected", **options)
    if not selected.all():
        options |= {"facecolor": "white", "edgecolor": ORANGE, "lw": 1.2, "label": "dropped"}
        axes.scatter(x[~selected], y[~selected], s=24, **options)


def _log_axis(axes: Axes, values: Floats) -> None:
    """A logarithmic axis on which zero stands at the left edge; infinite values at the right."""
    seen = values[np.isfinite(values) & (values > SMALLEST_EVIDENCE / 1e3)]
    low = float(np.clip(seen.min(initial=1.0), SMALLEST_EVIDENCE, 1.0)) / 3
    high = float(seen.max(initial=1.0)) * 3
    axes.set_xscale("symlog", linthresh=low, linscale=0.3)
    axes.set_xlim(0, high)
    ticks = [0.0, *10.0 ** np.arange(np.ceil(np.log10(low)), np.floor(np.log10(high)) + 0.5)]
    step = max(1, int(np.ceil((len(ticks) - 1) / 4)))
    axes.set_xticks([0.0, *ticks[1::step]])
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: brief(v)))


def _signed_axis(axes: Axes, values: Floats) -> None:
    """Logarithmic to both sides, linear near zero: what matters is there."""
    seen = values[np.isfinite(values)]
    low, high = min(float(seen.min(initial=-10)), -10), max(float(seen.max(initial=10)), 10)
    axes.set_xscale("symlog", linthresh=10, linscale=0.8)
    axes.set_xlim(low * 1.6, high * 1.6)
    marks = [-1000, -100, -10, 0, 10, 100, 1000, 10_000, 100_000]
    axes.set_xticks([m for m in marks if low * 1.6 <= m <= high * 1.6])
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda v, _: f"{v:+,.0f}".replace("-", "−") if v else "0")
    )


# -- Path ------------------------------------------------------------------------------------------


def path(found: Findings) -> Picture | None:
    """Criterion and held-out log-likelihood as terms enter, and those of the selected ones."""
    path, record = found.evaluation.path, found.record
    if path is None or len(path.frame) < 2:
        return None
    held = path.best_held_out is not None
    picture = _picture(3.6 if held else 2.4)
    rows = 2 if held else 1
    axes = np.atleast_1d(picture.subplots(rows, 1, sharex=True))
    x = path.frame["parameters"].to_numpy()
    _curve(axes[0], x, path.frame["criterion"].to_numpy(float), path.best, BLUE)
    axes[0].set_title(f"{_label(path.criterion)} (smaller is better)")
    specification = record.specification
    if specification.criterion is not None and specification.measure == path.criterion:
        _star(axes[0], record.result.n_parameters, specification.criterion)
        axes[0].legend(loc="upper right")
    evaluation = found.evaluation
    if held:
        _curve(axes[1], x, path.frame["held_out"].to_numpy(float), path.best_held_out or 0, BLUE)
        axes[1].set_title("held-out log-likelihood (larger is better)")
        if evaluation.comparisons is not None and not record.honest:
            own = float(evaluation.comparisons["held_out"].iloc[0])
            _star(axes[1], record.result.n_parameters, own)
    axes[-1].set_xlabel("coefficients")
    for each in axes:
        each.grid(visible=True, axis="y")
        each.set_axisbelow(True)
        each.xaxis.set_major_locator(MaxNLocator(integer=True))
        each.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}".replace("-", "−")))
    return picture


def _star(axes: Axes, x: int, y: float) -> None:
    label = "the selected specification"
    axes.scatter([x], [y], marker="*", s=110, color=ORANGE, zorder=4, label=label)


def _curve(axes: Axes, x: Any, y: Floats, best: int, colour: str) -> None:
    axes.plot(x, y, color=colour, lw=1.3, marker="o", ms=3.5)
    axes.scatter([x[best]], [y[best]], s=60, facecolor="none", edgecolor=colour, lw=1.4, zorder=3)


# -- Calibration -----------------------------------------------------------------------------------


def calibration(found: Findings) -> Picture | None:
    """Observed shares against predicted probabilities."""
    frame = found.evaluation.calibration
    if frame is None or not len(frame):
        return None
    names = list(dict.fromkeys(frame["alternative"]))
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    picture = _picture(max(2.55 * rows, 7.5 / columns - 4.6), max(columns / 3, 0.45))
    grid = picture.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    most = float(frame[["predicted", "observed"]].to_numpy().max())
    ticks = (
        [0, 0.5, 1] if most > FULL_AXIS_PROBABILITY else MaxNLocator(3).tick_values(0, 1.1 * most)
    )
    for name, axes, colour in zip(names, grid, COLOURS, strict=False):
        part = frame[frame["alternative"] == name]
        p, y = part["predicted"].to_numpy(float), part["observed"].to_numpy(float)
        axes.plot([0, ticks[-1]], [0, ticks[-1]], color=GREY, lw=1)
        axes.vlines(p, part["low"], part["high"], color=colour, lw=1.3)
        axes.plot(p, y, "o", color=colour, ms=4.5)
        axes.set_title(_label(str(name), most=24))
        axes.set_aspect("equal")
        limits, labels = (
            (-0.02 * ticks[-1], 1.02 * ticks[-1]),
            [f"{100 * t:.3g}%" if t else "0" for t in ticks],
        )
        axes.set(xlim=limits, ylim=limits)
        axes.set_xticks(ticks, labels)
        axes.set_yticks(ticks, labels)
    for axes in grid[len(names) :]:
        axes.set_visible(False)
    picture.supxlabel("predicted", fontsize=9)
    picture.supylabel("observed", fontsize=9)
    return picture


# -- WTP and stability ---------------------------------------------------------------------------


def wtp(found: Findings) -> Picture | None:
    """Willingness to pay for the first attribute, by alternative and segment."""
    frame = found.wtp.frame
    if frame is None:
        return None
    first = frame["attribute"].iloc[0]
    part = frame[(frame["attribute"] == first) & frame["estimate"].notna()].head(MAX_SEGMENT_ROWS)
    if not len(part):
        return None
    names = list(dict.fromkeys(part["alternative"]))
    picture = _picture(0.7 + 0.2 * len(part) + 0.15 * len(names))
    axes = picture.subplots()
    low, high = _limits(part)
    y, ticks, labels, heads = 0.0, [], [], []
    for name in names:
        colour = COLOURS[names.index(name) % len(COLOURS)]
        for row in part[part["alternative"] == name].itertuples():
            whole = row.segment == ALL
            axes.hlines(y, row.low, row.high, color=colour, lw=1.5)
            if row.low < low:
                axes.plot(low, y, "<", color=colour, ms=6, clip_on=False)
            if row.high > high:
                axes.plot(high, y, ">", color=colour, ms=6, clip_on=False)
            axes.plot(row.estimate, y, "D" if whole else "o", color=colour, ms=6 if whole else 4.5)
            ticks.append(y)
            heads.append(whole)
            which = ("all" if name == "*" else str(name)) if whole else str(row.segment)
            labels.append(_label(": ".join(filter(None, (which, row.level)))))
            y -= 1
        y -= 0.5
    axes.set_yticks(ticks, labels, fontsize=8)
    for label, whole in zip(axes.get_yticklabels(), heads, strict=True):
        label.set_fontweight("bold" if whole else "normal")
    axes.set_ylim(min(ticks) - 0.7, 0.7)
    axes.set_xlim(low, high)
    if low < 0 < high:
        axes.axvline(0, color=GREY, lw=1)
    unit, called = "for" if part["level"].any() else "per unit of", found.record.data.label(first)
    what = f"{found.wtp.cost} {unit} {called}"
    if part["unit"].iloc[0]:
        what = f"{called}, {part['unit'].iloc[0]}"
    axes.set_xlabel(_label(f"{what}, with 95 % intervals", most=70))
    _lines(axes)
    return picture


def _limits(part: pd.DataFrame) -> tuple[float, float]:
    """Limits that show all estimates; an interval that is far wider than the rest is cut off."""
    values = part["estimate"].to_numpy(float)
    low, high = part["low"].to_numpy(float), part["high"].to_numpy(float)
    low, high = np.where(np.isfinite(low), low, values), np.where(np.isfinite(high), high, values)
    room = 3 * float(np.median(high - low)) + 0.05 * float(np.ptp(values))
    left = max(float(low.min()), float(values.min()) - room)
    right = min(float(high.max()), float(values.max()) + room)
    pad = 0.04 * (right - left or 1.0)
    return min(left, 0.0) - pad, max(right, 0.0) + pad


def stability(found: Findings) -> Picture | None:
    """How often terms are selected on halves."""
    frame = found.evaluation.stability
    if frame is None:
        return None
    selected = {str(t) for t in found.record.specification.terms}
    part = frame[frame["selected"] > 0].head(MAX_STABILITY_ROWS)
    if not len(part):
        return None
    picture = _picture(0.7 + 0.2 * len(part))
    axes = picture.subplots()
    y = np.arange(len(part))[::-1]
    inside = np.array([str(t) in selected for t in part["term"]])
    share = part["selected"].to_numpy(float)
    axes.hlines(y, 0, share, color=np.where(inside, BLUE, GREY).tolist(), lw=1.2)
    _selected_dots(axes, share, y, inside)
    axes.set_yticks(y, [_label(str(t)) for t in part["term"]], fontsize=8)
    axes.set_xlim(0, 1.04)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.set_xlabel("share of the halves in which it was selected")
    axes.legend(loc="lower right")
    _lines(axes)
    return picture


# -- Families --------------------------------------------------------------------------------------


def families(found: Findings) -> Picture | None:
    """Log-likelihood of held-out persons against the number of parameters, by family."""
    compared = found.record.families
    if compared is None or not compared.folds or len(compared.frame) < 2:
        return None
    frame = compared.frame
    together = not np.allclose(frame["held_out"], frame["each"])
    panels = [("held_out", "answers of a person together")] if together else []
    panels.append(("each", "every answer alone"))
    picture = _picture(3.0)
    grid = picture.subplots(1, len(panels), squeeze=False)[0]
    for axes, (column, title) in zip(grid, panels, strict=True):
        x, y = frame["parameters"].to_numpy(float), frame[column].to_numpy(float)
        error = np.nan_to_num(frame[f"{column}_se"].to_numpy(float))
        for k, (name, tag) in enumerate(zip(frame["model"], frame["family"], strict=True)):
            colour = COLOURS[k % len(COLOURS)]
            axes.errorbar(x[k], y[k], yerr=error[k], color=colour, lw=1.3, capsize=3)
            axes.scatter(
                [x[k]],
                [y[k]],
                marker="*" if tag == compared.selected else "o",
                s=120 if tag == compared.selected else 36,
                color=colour,
                zorder=3,
                label=_label(str(name)),
            )
        axes.set_title(title)
        axes.margins(0.12)
        axes.set_xlabel("parameters")
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}".replace("-", "−")))
        axes.grid(visible=True, axis="y")
        axes.set_axisbelow(True)
    grid[0].set_ylabel("held-out log-likelihood")
    handles, labels = grid[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return picture


def classes(found: Findings) -> Picture | None:
    """BIC by number of classes."""
    curve = found.class_curve
    if len(curve) < 2:
        return None
    picture = _picture(2.4, 0.6)
    axes = picture.subplots()
    x, y = np.array(list(curve)), np.array(list(curve.values()))
    _curve(axes, x, y, int(y.argmin()), BLUE)
    axes.set_xlabel("classes")
    axes.set_ylabel("BIC over persons")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}".replace("-", "−")))
    axes.grid(visible=True, axis="y")
    axes.set_axisbelow(True)
    return picture


def scenarios(found: Findings) -> Picture | None:
    """Shares as observed and in every scenario, of the whole sample."""
    every = found.evaluation.scenarios[:MAX_SCENARIOS]
    if not every:
        return None
    parts = [one.shares[one.shares["segment"] == ALL] for one in every]
    parts = [part.head(MAX_SCENARIO_ROWS) for part in parts]
    picture = _picture(0.5 + sum(0.42 + 0.22 * len(part) for part in parts))
    heights = [len(part) + 1 for part in parts]
    grid = picture.subplots(
        len(parts), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for one, part, axes in zip(every, parts, grid[:, 0], strict=True):
        y = np.arange(len(part))[::-1]
        base, after = (part[name].to_numpy(float) for name in ("base", "scenario"))
        half = (part["high"].to_numpy(float) - part["low"].to_numpy(float)) / 2
        axes.hlines(y, base, after, color=GREY, lw=1.2)
        axes.errorbar(after, y, xerr=half, fmt="o", color=BLUE, ms=4.5, elinewidth=1.2)
        axes.plot(base, y, "o", mfc="white", mec=GREY, ms=4.5)
        axes.set_yticks(y, [_label(str(a)) for a in part["alternative"]], fontsize=8)
        axes.set_ylim(-0.7, len(part) - 0.3)
        axes.set_title(_label(one.name))
        _lines(axes)
    grid[-1, 0].xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))
    grid[-1, 0].set_xlabel("share, with the interval of its change")
    return picture


def tastes(found: Findings) -> Picture | None:
    """How tastes and willingness to pay are distributed over persons."""
    result = found.record.result
    if result.family.tag != "mixed":
        return None
    every = distributions(result, result.coefficients, cost_of(result.encoding))
    shown = every[:MAX_TASTES]
    columns = min(TASTE_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    picture = _picture(1.75 * rows + 0.2)
    axes = picture.subplots(rows, columns, squeeze=False)
    draw_tastes(list(axes.flat), shown)
    return picture


FIGURES: dict[str, Callable[[Findings], Picture | None]] = {
    "families": families,
    "classes": classes,
    "tastes": tastes,
    "wtp": wtp,
    "scenarios": scenarios,
    "calibration": calibration,
    "relevance": relevance,
    "path": path,
    "stability": stability,
}
