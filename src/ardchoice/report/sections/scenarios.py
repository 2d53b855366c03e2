"""What the model predicts after changes: the scenarios of a study."""

from __future__ import annotations

import pandas as pd

from ardchoice.data import ChoiceData
from ardchoice.estimation import ALL
from ardchoice.evaluation import WHOLE_SAMPLE
from ardchoice.record import ScenarioRecord
from ardchoice.report.document import FIGURES, Figure, Part, Section, Table, Text, bold, frame_table
from ardchoice.report.findings import Findings

MAX_ROWS_SHOWN = 24


def scenarios(found: Findings) -> Section:
    """Shares before and after every scenario, and the change of consumer surplus."""
    every = found.evaluation.scenarios
    if not every:
        return Section("scenarios", "Scenarios", [])
    text = (
        "Each scenario changes the observed choice situations and predicts every one of them again "
        "(sample enumeration). Changes of shares are in percentage points, with delta-method "
        "intervals that cover the uncertainty of the estimates."
    )
    parts: list[Part] = [
        Text(text),
        Figure("scenarios", "Shares as observed (hollow) and in every scenario (filled)."),
    ]
    for k, one in enumerate(every, 1):
        under = f" where {one.where}" if one.where else ""
        parts += [_shares(one, f"scenario_{k}", f"{one.name}: {'; '.join(one.changes)}{under}")]
        if one.surplus is not None:
            parts.append(_surplus(one.name, one.surplus, f"surplus_{k}", found.record.data))
        parts += [Text(note) for note in one.notes]
    return Section("scenarios", "Scenarios", parts)


def _shares(one: ScenarioRecord, name: str, caption: str) -> Table:
    frame = one.shares.assign(segment=one.shares["segment"].replace(ALL, WHOLE_SAMPLE))
    for column in ("base", "scenario", "change", "low", "high"):
        frame[column] = 100 * frame[column]
    columns = {
        "segment": ("segment", ""),
        "alternative": ("alternative", ""),
        "base": ("base, %", ".1f"),
        "scenario": ("scenario, %", ".1f"),
        "change": ("change", "+.2f"),
        "low": ("2.5 %", "+.2f"),
        "high": ("97.5 %", "+.2f"),
        "choices": ("choices", "+,.1f"),
    }
    if not one.by:
        del columns["segment"]
    return frame_table(name, caption, frame, columns, shown=MAX_ROWS_SHOWN)


def _surplus(scenario: str, surplus: pd.DataFrame, name: str, data: ChoiceData) -> Table:
    frame = surplus.assign(segment=surplus["segment"].replace(ALL, WHOLE_SAMPLE))
    columns = {
        "segment": ("segment", ""),
        "n": ("choices", ",d"),
        "estimate": ("per choice", FIGURES),
        "low": ("2.5 %", FIGURES),
        "high": ("97.5 %", FIGURES),
        "total": ("total", FIGURES),
    }
    cost = str(frame["unit"].iloc[0])
    unit = data.unit(cost) or cost
    caption = f"{scenario}: change of consumer surplus, in {unit}"
    return frame_table(name, caption, frame, columns, marks=bold([0], 2), shown=MAX_ROWS_SHOWN)
