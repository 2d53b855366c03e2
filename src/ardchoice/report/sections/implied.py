"""What the model implies: money and demand."""

from __future__ import annotations

import pandas as pd

from ardchoice.estimation import ALL
from ardchoice.report.document import FIGURES, Cell, Figure, Mark, Section, Table, Text
from ardchoice.report.findings import Findings
from ardchoice.report.post_estimation import MOST_ELASTICITIES, is_time, named

MOST_ROWS = 30


def _rows(frame: pd.DataFrame, names: list[str], numbers: list[str]) -> list[list[Cell]]:
    values = frame[numbers].to_numpy(float)
    texts = frame[names].astype(str).to_numpy()
    return [[*t, *map(float, v)] for t, v in zip(texts, values, strict=True)]


def willingness(found: Findings) -> Section:
    """Value of time and willingness to pay, by segment."""
    worth = found.worth
    if worth.cost is None:
        return Section("worth", "Willingness to pay", [Text(worth.why)])
    attributes = [] if worth.frame is None else list(dict.fromkeys(worth.frame["attribute"]))
    time = bool(attributes) and is_time(attributes[0])
    title = "Value of time and willingness to pay" if time else "Willingness to pay"
    if worth.frame is None and not worth.refused:
        return Section("worth", title, [Text(worth.why)])
    levels = worth.frame is not None and (worth.frame["level"] != "").any()
    parts: list[Text | Figure | Table] = [
        Text(
            f"How much {worth.cost} a unit of another attribute is worth; {worth.cost} stands for "
            f"money because {worth.why}. In units of {worth.cost} per unit of the attribute: the "
            "ratio of mean marginal utilities where the alternative is available, with "
            "delta-method intervals. Positive where both please or both displease. Where the form "
            f"of {worth.cost} is not linear, choices in which it is exactly 0 are left out: nobody "
            "trades money there."
        )
    ]
    if levels:
        parts.append(
            Text(
                f"Of a level or class: how much more {worth.cost} one would bear to have it "
                "instead of the reference, the one behind 'not'. Positive: one would pay for it; "
                "negative: one would have to be paid."
            )
        )
    if worth.frame is not None:
        first = attributes[0]
        parts += [
            Figure(
                "worth",
                f"What {'a unit' if not worth.frame['level'].iloc[0] else 'each level'} of "
                f"{first} is worth in {worth.cost}. "
                "Diamonds: everybody; dots: segments; an arrow: the interval goes on.",
            ),
            _worth(worth.frame, worth.cost),
        ]
    parts += [Text(f"{name}: {why}") for name, why in worth.refused.items()]
    return Section("worth", title, [*parts])


def _worth(frame: pd.DataFrame, cost: str) -> Table:
    frame = frame.assign(attribute=[*map(named, frame["attribute"], frame["level"])])
    rows = _rows(
        frame, ["attribute", "alternative", "segment"], ["n", "estimate", "std_err", "low", "high"]
    )
    marks: dict[str, Mark] = {}
    for r, row in enumerate(rows):
        row[3] = int(row[3] or 0)
        row[1] = "all" if row[1] == "*" else row[1]
        if row[2] == ALL:
            row[2] = "everybody"
            marks |= {f"{r},1": "true", f"{r},2": "true", f"{r},4": "true"}
    return Table(
        "worth",
        f"Worth in units of {cost}",
        [
            "attribute",
            "alternative",
            "segment",
            "choices",
            "worth",
            "std. error",
            "2.5 %",
            "97.5 %",
        ],
        ["", "", "", ",d", FIGURES, FIGURES, FIGURES, FIGURES],
        rows,
        marks=marks,
        shown=MOST_ROWS,
    )


def elasticities(found: Findings) -> Section:
    """Elasticities of demand: a matrix to read, and a table with intervals."""
    frame, refused = found.demand
    parts: list[Text | Table] = []
    if frame is None:
        many = len(found.record.data.alternatives) > MOST_ELASTICITIES
        why = (
            f"With more than {MOST_ELASTICITIES} alternatives they are left to "
            "result.elasticities(attribute)."
            if many
            else "No attribute of the model has a slope."
        )
        return Section("elasticities", "Elasticities", [Text(why)])
    parts.append(
        Text(
            "By how many percent the demand for an alternative changes when an attribute of one "
            "rises by one percent: aggregate point elasticities by sample enumeration."
        )
    )
    parts += [_matrix(frame), _intervals(frame)]
    parts += [Text(f"{name}: {why}") for name, why in refused.items()]
    return Section("elasticities", "Elasticities", [*parts])


def _matrix(frame: pd.DataFrame) -> Table:
    names = list(dict.fromkeys(frame["alternative"]))
    keys = list(dict.fromkeys(zip(frame["attribute"], frame["changed"], strict=True)))
    known = {
        (a, c, j): float(e)
        for a, c, j, e in zip(
            frame["attribute"],
            frame["changed"],
            frame["alternative"],
            frame["estimate"],
            strict=True,
        )
    }
    rows: list[list[Cell]] = [[a, c, *(known.get((a, c, j)) for j in names)] for a, c in keys]
    own: dict[str, Mark] = {
        f"{r},{2 + names.index(c)}": "true" for r, (_, c) in enumerate(keys) if c in names
    }
    return Table(
        "elasticities",
        "Elasticities of demand; own ones in bold",
        ["attribute", "of", *(f"demand for {name}" for name in names)],
        ["", "", *[".3f"] * len(names)],
        rows,
        marks=own,
        shown=MOST_ROWS,
    )


def _intervals(frame: pd.DataFrame) -> Table:
    return Table(
        "elasticities_intervals",
        "The same with standard errors",
        ["attribute", "of", "demand for", "elasticity", "std. error", "2.5 %", "97.5 %"],
        ["", "", "", ".3f", ".3f", ".3f", ".3f"],
        _rows(
            frame, ["attribute", "changed", "alternative"], ["estimate", "std_err", "low", "high"]
        ),
        shown=0,
    )
