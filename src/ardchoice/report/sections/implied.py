"""What the model implies: willingness to pay and elasticities."""

from __future__ import annotations

import pandas as pd

from ardchoice.data import ChoiceData
from ardchoice.estimation import ALL, is_saved, is_time
from ardchoice.evaluation import MAX_ELASTICITY_ALTERNATIVES, WHOLE_SAMPLE, attribute_label
from ardchoice.report.document import FIGURES, Figure, Part, Section, Table, Text, bold, frame_table
from ardchoice.report.findings import Findings

MAX_ROWS_SHOWN = 30
STATISTICS = ("estimate", "std_err", "low", "high")


def willingness(found: Findings) -> Section:
    """Value of travel time and willingness to pay, by segment."""
    wtp, frame, cost = found.wtp, found.wtp.frame, found.wtp.cost
    title = "Willingness to pay (WTP)"
    if frame is not None and is_time(frame["attribute"].iloc[0]):
        title = "Value of travel time (VTT) and willingness to pay (WTP)"
    data = found.record.data
    if cost is None or (frame is None and not wtp.refused):
        return Section("wtp", title, [Text(wtp.why)])
    units = sorted({unit for unit in frame["unit"] if unit}) if frame is not None else []
    what = (
        f"in {'; '.join(units)}" if units else f"in units of {cost} per unit of another attribute"
    )
    text = (
        f"WTP {what}; {data.described(cost)} stands for money because "
        f"{wtp.why}. Positive: it would be paid for, a unit saved of money, time, waiting and "
        "changes (value of travel time, VTT), a unit more of any other attribute. It is the ratio "
        "of mean marginal utilities where the alternative is available, with delta-method "
        f"intervals. Where the form of {cost} is not linear, it is the mean over choices of what "
        f"each would pay; choices in which {cost} is exactly 0 are excluded: money is not traded "
        "there."
    )
    parts: list[Part] = [Text(text)]
    if frame is not None:
        if (frame["level"] != "").any():
            text = (
                f"Of a level or class: how much more {cost} would be accepted to have it instead "
                "of the reference, the one behind 'not'. Positive: it would be paid for; negative: "
                "it would have to be compensated."
            )
            parts.append(Text(text))
        unit = "each level" if frame["level"].iloc[0] else "a unit"
        caption = (
            f"WTP for {unit} of {data.label(frame['attribute'].iloc[0])} in "
            f"{frame['unit'].iloc[0] or cost}. Diamonds: whole sample; "
            "dots: segments; an arrow: the interval continues."
        )
        parts += [Figure("wtp", caption), _wtp(frame, cost, data)]
    parts += [Text(f"{name}: {why}") for name, why in wtp.refused.items()]
    return Section("wtp", title, parts)


def _wtp(frame: pd.DataFrame, cost: str, data: ChoiceData) -> Table:
    columns = {
        "attribute": ("attribute", ""),
        "alternative": ("alternative", ""),
        "segment": ("segment", ""),
        "saved": ("for a unit", ""),
        "n": ("choices", ",d"),
        "estimate": ("WTP, + would be paid", FIGURES),
        "std_err": ("std. error", FIGURES),
        "low": ("2.5 %", FIGURES),
        "high": ("97.5 %", FIGURES),
    }
    whole = [r for r, segment in enumerate(frame["segment"]) if segment == ALL]
    frame = frame.assign(
        attribute=[*map(attribute_label, map(data.label, frame["attribute"]), frame["level"])],
        alternative=frame["alternative"].replace("*", "all"),
        segment=frame["segment"].replace(ALL, WHOLE_SAMPLE),
        saved=[
            "" if level else "saved" if is_saved(attribute) else "more"
            for attribute, level in zip(frame["attribute"], frame["level"], strict=True)
        ],
    )
    if (frame["unit"] != "").any():
        columns["unit"] = ("in", "")
        order = ["attribute", "alternative", "segment", "saved", "unit", "n", *STATISTICS]
        columns = {name: columns[name] for name in order}
    marks = bold(whole, 1, 2, list(columns).index("estimate"))
    caption = f"Willingness to pay in units of {data.unit(cost) or cost}"
    return frame_table("wtp", caption, frame, columns, marks=marks, shown=MAX_ROWS_SHOWN)


def elasticities(found: Findings) -> Section:
    """Elasticities of demand: a matrix to read, and a table with intervals."""
    frame, title = found.elasticities.frame, "Elasticities"
    if frame is None:
        many = len(found.record.data.alternatives) > MAX_ELASTICITY_ALTERNATIVES
        text = (
            f"Not computed for more than {MAX_ELASTICITY_ALTERNATIVES} alternatives: "
            "result.elasticities(attribute) has them."
            if many
            else "No attribute of the model has a slope."
        )
        return Section("elasticities", title, [Text(text)])
    text = (
        "By how many percent the demand for an alternative changes when an attribute of one "
        "rises by one percent: aggregate point elasticities by sample enumeration."
    )
    columns = {
        "attribute": ("attribute", ""),
        "changed": ("of", ""),
        "alternative": ("demand for", ""),
        "estimate": ("elasticity", ".3f"),
        "std_err": ("std. error", ".3f"),
        "low": ("2.5 %", ".3f"),
        "high": ("97.5 %", ".3f"),
    }
    names = {name: found.record.data.label(name) for name in frame["attribute"]}
    if len(set(names.values())) == len(names):
        frame = frame.assign(attribute=frame["attribute"].map(names))
    caption = "The same with standard errors"
    intervals = frame_table("elasticities_intervals", caption, frame, columns, shown=0)
    refused = [Text(f"{name}: {why}") for name, why in found.elasticities.refused.items()]
    return Section("elasticities", title, [Text(text), _matrix(frame), intervals, *refused])


def _matrix(frame: pd.DataFrame) -> Table:
    keys = ["attribute", "changed", "alternative"]
    cells = zip(*(frame[key] for key in keys), strict=True)
    known = dict(zip(cells, frame["estimate"].tolist(), strict=True))
    names = list(dict.fromkeys(frame["alternative"]))
    pairs = list(dict.fromkeys((attribute, changed) for attribute, changed, _ in known))
    own = [(r, names.index(c)) for r, (_, c) in enumerate(pairs) if c in names]
    return Table(
        "elasticities",
        "Elasticities of demand; own ones in bold",
        ["attribute", "of", *(f"demand for {name}" for name in names)],
        ["", "", *[".3f"] * len(names)],
        [[a, c, *(known.get((a, c, j)) for j in names)] for a, c in pairs],
        marks={f"{r},{2 + j}": "true" for r, j in own},
        shown=MAX_ROWS_SHOWN,
    )
