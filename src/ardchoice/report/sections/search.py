"""How the specification was selected: relevance, path, near-ties, stability, what was dropped."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ardchoice.evaluation import model_of_search
from ardchoice.report.document import (
    FIGURES,
    P_VALUE,
    Cell,
    Figure,
    Part,
    Section,
    Table,
    Text,
    bold,
    frame_table,
)
from ardchoice.report.findings import Findings

MAX_ROWS_SHOWN = 20
MAX_DROPPED_SHOWN = 10
MAX_PATH_SHOWN = 30
MAX_EXCLUDED_ROWS = 200
"""Terms that could not be candidates which are listed; `space.dropped` has all."""
REASON_COLUMNS = {"term": ("term", ""), "why": ("why", "")}


def _yes(selected: pd.Series) -> list[str]:
    return ["yes" if value else "" for value in selected]


def relevance(found: Findings) -> Section:
    """λ and evidence of every candidate, and what decided."""
    frame, words = found.relevance, found.cut_off.words
    searched = found.cut_off.measure == "margin"
    decides = (
        f"What decides is {words}, not the rank: a search over valid specifications selected the "
        "terms whose removal would raise it, and dropped those whose addition would."
        if searched
        else f"What decides is the cut-off: {words}, and then the structure."
    )
    text = (
        "Every candidate has a prior variance λ of its own, learned from the data; λ of zero means "
        "that the data do not support the term beside the others, or that a highly correlated term "
        "took its place in the ranking. Evidence is the log evidence that is lost without it, with "
        "λ maximised: no Bayes factor. Both count all answers as independent. "
        "They rank candidates while all of them compete, highly correlated ones included. "
        f"{decides}"
    )
    columns = {
        "term": ("term", ""),
        "selected": ("selected", ""),
        "columns": ("columns", ",d"),
        "lambda": ("λ", FIGURES),
        "evidence": ("evidence", FIGURES),
        "statistic": ("statistic", ",.1f"),
        "p_value": ("p", P_VALUE),
        "p_adjusted": ("adjusted p", P_VALUE),
        "design_effect": ("design effect", ",.1f"),
    }
    note = (
        "Statistic: score test clustered by person (by situation without persons), χ² with as many "
        "degrees of freedom as columns if the term is noise. Adjusted p: false discovery rate over "
        "all candidates. Design effect: variance of the clustered score over that of independent "
        "answers. ∞: not shrunk."
    )
    if searched:
        columns["margin"] = (f"{words} margin", ",.1f")
        note += (
            f" Margin: change in {words} if a selected term is removed; below zero, minus the "
            "change if a dropped one is added."
        )
    table = frame_table(
        "relevance",
        "Relevance of every candidate",
        frame.assign(selected=_yes(frame["is_selected"])),
        columns,
        marks=bold(np.flatnonzero(frame["is_selected"]).tolist()),
        shown=MAX_ROWS_SHOWN,
        note=note,
    )
    figure = Figure("relevance", _caption(words, searched=searched))
    return Section("relevance", "Relevance of terms", [Text(text), figure, table])


def _caption(words: str, *, searched: bool) -> str:
    first = "Relevance by alternative. Filled: selected; hollow: dropped, the closest only. "
    if not searched:
        return f"{first}Dashed: the cut-off, {words}."
    return (
        f"{first}Right: the margin of each in {words}, and the cut-off at zero. Hollow ones to the "
        "right of it would lower it, but an expected sign or the preference for linear forms "
        "excludes them."
    )


def path(found: Findings) -> Section:
    """Fit and held-out prediction as terms enter."""
    path, title = found.evaluation.path, "Selection path"
    if path is None or not len(path.frame):
        return Section("path", title, [])
    columns = {
        "step": ("step", ",d"),
        "entered": ("enters", ""),
        "parameters": ("coefficients", ",d"),
        "loglik": ("log-likelihood", ",.1f"),
        "criterion": (path.criterion, ",.1f"),
    }
    marks, caption = bold([path.best], 4), f"{path.criterion} as terms enter"
    if path.best_held_out is not None:
        columns["held_out"] = ("held-out", ",.1f")
        marks |= bold([path.best_held_out], 5)
        caption += ", and the held-out log-likelihood"
    text = (
        "Terms enter one by one in order of λ, each with the terms it requires. The specification "
        "was not selected along this path and may be better than any step; it shows how fast fit "
        "and prediction improve, and where they stop."
    )
    table = frame_table(
        "path",
        "Selection path, best in bold",
        path.frame.assign(step=range(len(path.frame))),
        columns,
        marks=marks,
        shown=MAX_PATH_SHOWN,
    )
    return Section("path", title, [Text(text), Figure("path", f"{caption}."), table])


def rivals(found: Findings) -> Section:
    """Near-ties, and the best replacement of each term."""
    specification, title = found.record.specification, "Near-ties and rivals"
    ties, rivals, measure = specification.near_ties, specification.rivals, specification.measure
    if not ties and not rivals:
        return Section("rivals", title, [])
    parts: list[Part] = [Text(f"No other specification comes within 2 of this one's {measure}.")]
    if ties:
        text = (
            f"Other specifications whose {measure} is within 2 of this one: the data hardly "
            "distinguish them, so prefer the one that makes sense to you."
        )
        rows: list[list[Cell]] = [[rival.change(), float(rival.cost)] for rival in ties]
        head, formats = ["change", measure], ["", "+.2f"]
        if any(rival.reason for rival in ties):
            rows = [[*row, tie.reason] for row, tie in zip(rows, ties, strict=True)]
            head, formats = [*head, "why not selected"], [*formats, ""]
        table = Table("ties", "Near-ties", head, formats, rows, shown=MAX_ROWS_SHOWN)
        parts = [Text(text), table]
    if rivals:
        margins = specification.margins
        table = Table(
            "rivals",
            "The strongest rival of each term",
            ["term", f"{measure} without it", "best other specification", f"{measure} of that"],
            ["", "+,.1f", "", "+,.1f"],
            [
                [str(term), float(margins.get(term, np.nan)), rival.change(), float(rival.cost)]
                for term, rival in rivals.items()
            ],
            shown=MAX_ROWS_SHOWN,
        )
        parts.append(table)
    return Section("rivals", title, parts)


def inclusion(found: Findings) -> Section:
    """How sure each term is."""
    frame, title = found.evaluation.inclusion, "How sure each term is"
    if frame is None:
        return Section("inclusion", title, [])
    searched, more = model_of_search(found.record), ""
    if searched:
        title = f"{title}, in the {searched}"
        more = (
            f" They are those of the {searched}, which the specifications are compared with: the "
            f"{found.record.result.family.title.lower()} may need fewer terms, or others."
        )
    text = (
        "Share of the weight of all specifications around the selected one that has the term. They "
        "obey the same structure and signs, and weigh exp(−½ difference of the criterion / d), d "
        "being the design effect of the terms in which they differ from the selected one. A form "
        "of an attribute is not sure where another one fits as well."
    )
    text += more
    table = frame_table(
        "inclusion",
        "Inclusion probabilities",
        frame.assign(is_selected=_yes(frame["selected"])),
        {
            "term": ("term", ""),
            "is_selected": ("selected", ""),
            "columns": ("columns", ",d"),
            "probability": ("probability", ".3f"),
        },
        marks=bold(np.flatnonzero(frame["selected"]).tolist()),
        shown=MAX_ROWS_SHOWN,
    )
    return Section("inclusion", title, [Text(text), table])


def stability(found: Findings) -> Section:
    """How often terms are selected on random halves of the persons."""
    frame, title = found.evaluation.stability, "Stability selection"
    if frame is None:
        text = (
            "Not run. stability_pairs = 10 under [output] of study.toml repeats the selection on "
            "twenty halves of the persons and counts how often each term is selected again."
        )
        return Section("stability", title, [Text(text)])
    selected = frame["term"].isin([str(t) for t in found.record.specification.terms])
    text = (
        "The selection repeated on halves of the persons, in pairs. A half has less information "
        "than the whole sample, so weak terms are selected less often than they deserve; terms "
        "that are selected in nearly all halves are safe."
    )
    table = frame_table(
        "stability",
        "How often each term was selected",
        frame.assign(is_selected=_yes(selected)),
        {
            "term": ("term", ""),
            "is_selected": ("selected", ""),
            "selected": ("of the halves", ".0%"),
            "both": ("of the pairs, both", ".0%"),
        },
        marks=bold(np.flatnonzero(selected).tolist()),
        shown=max(MAX_ROWS_SHOWN, len(found.record.specification)),
    )
    figure = Figure("stability", "Stability selection.")
    return Section("stability", title, [Text(text), figure, table])


def dropped(found: Findings) -> Section:
    """Why every candidate was selected or dropped, and what was no candidate."""
    frame, excluded = found.relevance, found.record.space.dropped
    parts: list[Part] = []
    for selected, name, most in (
        (True, "selected", MAX_ROWS_SHOWN),
        (False, "dropped", MAX_DROPPED_SHOWN),
    ):
        part = frame[frame["is_selected"] == selected]
        caption = f"{name.capitalize()}: {len(part)} of {len(frame)} candidates"
        if len(part):
            parts.append(frame_table(name, caption, part, REASON_COLUMNS, shown=most))
    if excluded:
        rows = [(str(term), why) for term, why in excluded.items()][:MAX_EXCLUDED_ROWS]
        table = frame_table(
            "excluded",
            f"Never candidates: {len(excluded)}",
            pd.DataFrame(rows, columns=["term", "why"]),
            REASON_COLUMNS,
            shown=0,
            note=f"The first {len(rows)}." if len(excluded) > len(rows) else "",
        )
        parts.append(table)
    return Section("dropped", "What was dropped and why", parts)
