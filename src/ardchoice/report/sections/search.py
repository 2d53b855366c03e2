"""How the specification was found: relevance, path, rivals, stability, what was dropped."""

from __future__ import annotations

import numpy as np

from ardchoice.report.document import FIGURES, P_VALUE, Cell, Figure, Mark, Section, Table, Text
from ardchoice.report.findings import Findings

MOST_ROWS = 20
MOST_PATH = 30
MOST_OUTSIDE = 200
"""Candidates that could not be which are listed; `space.dropped` has all."""


def relevance(found: Findings) -> Section:
    """λ and evidence of every candidate, and what decided."""
    frame, cut = found.relevance, found.cut_off
    searched = cut.measure == "margin"
    what = (
        f"What decides is {cut.words}, not the rank: a search over valid specifications kept the "
        "terms without which it would rise, and left out those with which it would."
        if searched
        else f"What decides is the cut-off: {cut.words}, and then what structure demands."
    )
    text = (
        "Every candidate has a prior variance λ of its own, learned from the data; λ of zero means "
        "that the data have no use for the term beside the others, or that a near-twin took its "
        "place in the ranking. Evidence is the log Bayes "
        "factor that is lost without it. Both rank candidates while all of them compete, twins "
        f"included. {what}"
    )
    head = ["term", "kept", "columns", "λ", "evidence", "statistic", "p", "adjusted p"]
    formats = ["", "", ",d", FIGURES, FIGURES, ",.1f", P_VALUE, P_VALUE]
    names = ["lambda", "evidence", "statistic", "p_value", "p_adjusted"]
    if searched:
        head.append(f"{cut.words} margin")
        formats.append(",.1f")
        names.append("margin")
    rows: list[list[Cell]] = [
        [str(term), "yes" if kept else "", int(columns), *map(float, values)]
        for term, kept, columns, values in zip(
            frame["term"],
            frame["kept"],
            frame["columns"],
            frame[names].to_numpy(float),
            strict=True,
        )
    ]
    marks: dict[str, Mark] = {f"{r},0": "true" for r, kept in enumerate(frame["kept"]) if kept}
    note = (
        "Statistic: χ² with as many degrees of freedom as columns if the term is noise. Adjusted "
        "p: false discovery rate over all candidates. ∞: not shrunk."
    )
    if searched:
        note += (
            f" Margin: by how much {cut.words} would rise without a kept term; below zero, minus "
            "how much it would rise with a dropped one."
        )
    table = Table(
        "relevance",
        "Relevance of every candidate",
        head,
        formats,
        rows,
        marks=marks,
        shown=MOST_ROWS,
        note=note,
    )
    return Section(
        "relevance", "Relevance of terms", [Text(text), Figure("relevance", _caption(found)), table]
    )


def _caption(found: Findings) -> str:
    cut = found.cut_off
    if cut.measure != "margin":
        return (
            "Relevance by alternative. Filled: kept; hollow: left out, the closest only. Dashed: "
            f"the cut-off, {cut.words}."
        )
    return (
        f"Relevance by alternative. Filled: kept; hollow: left out, the closest only. Right: what "
        f"{cut.words} says of each, and the cut-off at zero. Hollow ones to the right of it would "
        "lower it, but an expected sign or the preference for linear forms keeps them out."
    )


def path(found: Findings) -> Section:
    """How fit and prediction change as terms enter."""
    path = found.evaluation.path
    if path is None or not len(path.frame):
        return Section("path", "The path", [])
    frame = path.frame
    held = path.best_held_out is not None
    head = ["step", "enters", "coefficients", "log-likelihood", path.criterion]
    formats = [",d", "", ",d", ",.1f", ",.1f"]
    columns = ["loglik", "criterion"]
    if held:
        head.append("held out")
        formats.append(",.1f")
        columns.append("held_out")
    rows: list[list[Cell]] = [
        [i, str(entered), int(count), *map(float, values)]
        for i, (entered, count, values) in enumerate(
            zip(frame["entered"], frame["parameters"], frame[columns].to_numpy(float), strict=True)
        )
    ]
    marks: dict[str, Mark] = {f"{path.best},4": "true"}
    if held:
        marks[f"{path.best_held_out},5"] = "true"
    text = (
        "Terms enter one by one in order of λ, each with what it needs. This is not how the "
        "specification was found, which may be better than any step; it shows how fast fit and "
        "prediction grow, and where they stop."
    )
    caption = f"{path.criterion} as terms enter" + (
        ", and the log-likelihood of persons left out." if held else "."
    )
    table = Table(
        "path", "The path, best in bold", head, formats, rows, marks=marks, shown=MOST_PATH
    )
    return Section("path", "The path", [Text(text), Figure("path", caption), table])


def rivals(found: Findings) -> Section:
    """Near-ties, and what would stand in for each term."""
    specification = found.record.specification
    if not specification.near_ties and not specification.rivals:
        return Section("rivals", "Near-ties and rivals", [])
    measure = specification.measure
    parts: list[Text | Table] = [
        Text(
            f"Other specifications whose {measure} is within 2 of this one: the data hardly tell "
            "them apart, so prefer the one that makes sense to you. Below zero: lower, but with a "
            "form that is not linear and gains too little by it."
            if specification.near_ties
            else f"No other specification comes within 2 of this one's {measure}."
        )
    ]
    if specification.near_ties:
        parts.append(
            Table(
                "ties",
                "Near-ties",
                ["change", measure],
                ["", "+.2f"],
                [[rival.change(), float(rival.cost)] for rival in specification.near_ties],
                shown=MOST_ROWS,
            )
        )
    if specification.rivals:
        rows: list[list[Cell]] = []
        for term, rival in specification.rivals.items():
            margin = specification.margins.get(term, np.nan)
            rows.append([str(term), float(margin), rival.change(), float(rival.cost)])
        parts.append(
            Table(
                "rivals",
                "The strongest rival of each term",
                ["term", f"{measure} without it", "best other specification", f"{measure} of that"],
                ["", "+,.1f", "", "+,.1f"],
                rows,
                shown=MOST_ROWS,
            )
        )
    return Section("rivals", "Near-ties and rivals", [*parts])


def stability(found: Findings) -> Section:
    """How often terms are selected when persons are drawn anew."""
    frame = found.evaluation.stability
    title = "Stability"
    if frame is None:
        text = (
            "Not run. stability_pairs = 10 under [output] of study.toml repeats the selection on "
            "twenty halves of the persons and counts how often each term comes back."
        )
        return Section("stability", title, [Text(text)])
    kept = {str(t) for t in found.record.specification.terms}
    rows: list[list[Cell]] = [
        [str(t), "yes" if str(t) in kept else "", float(s), float(b)]
        for t, s, b in zip(frame["term"], frame["selected"], frame["both"], strict=True)
    ]
    text = (
        "The selection repeated on halves of the persons, in pairs. A half knows less than all, so "
        "weak terms come back less often than they deserve; terms that come back in nearly all "
        "halves are safe."
    )
    table = Table(
        "stability",
        "How often each term was selected",
        ["term", "kept", "of the halves", "of the pairs, both"],
        ["", "", ".0%", ".0%"],
        rows,
        marks={f"{r},0": "true" for r, row in enumerate(rows) if row[1]},
        shown=max(MOST_ROWS, len(kept)),
    )
    return Section("stability", title, [Text(text), Figure("stability", "Stability."), table])


def dropped(found: Findings) -> Section:
    """Why every candidate was kept or dropped, and which were none."""
    frame, space = found.relevance, found.record.space
    parts: list[Text | Table] = []
    for kept, name, caption in (
        (True, "kept", "Kept"),
        (False, "dropped", "Dropped"),
    ):
        part = frame[frame["kept"] == kept]
        if len(part):
            parts.append(
                Table(
                    name,
                    f"{caption}: {len(part)} of {len(frame)} candidates",
                    ["term", "why"],
                    ["", ""],
                    [[str(t), str(w)] for t, w in zip(part["term"], part["why"], strict=True)],
                    shown=MOST_ROWS if kept else 10,
                )
            )
    outside = list(space.dropped.items())
    if outside:
        parts.append(
            Table(
                "outside",
                f"Never candidates: {len(outside)}",
                ["term", "why"],
                ["", ""],
                [[str(term), why] for term, why in outside[:MOST_OUTSIDE]],
                shown=0,
                note=f"The first {MOST_OUTSIDE}." if len(outside) > MOST_OUTSIDE else "",
            )
        )
    return Section("dropped", "What was dropped and why", [*parts])
