"""What a model implies in money and in demand, as far as it can be told without being asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ardchoice.errors import ArdchoiceError
from ardchoice.mnl import MnlResult
from ardchoice.mnl.whatif import ALL
from ardchoice.record import StudyRecord

_COST = re.compile(
    r"cost|price|fare|tariff|toll|expens|charge|money|preis|kosten|prix|co[uû]t|precio|prezzo|"
    r"(^|[\W_])(co|tc|gc|cst|fee|fees|rent|chf|eur|usd|gbp)\d*($|[\W_])",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"time|headway|wait|delay|duration|zeit|temps|tiempo|minut|hours?|"
    r"(^|[\W_])(tt|tt?me|he|ivt|ivtt|ovt|ovtt|wt|at|trav|invt)\d*($|[\W_])",
    re.IGNORECASE,
)
MOST_ELASTICITIES = 30
"""Alternatives; with more of them their elasticities fill pages that nobody reads."""


@dataclass(frozen=True, eq=False)
class Worth:
    """Willingness to pay, and why it is what it is.

    Attributes
    ----------
    cost
        What counts as money; None where nothing in the model looks like it.
    why
        A sentence.
    frame
        attribute, alternative, segment, n, estimate, std_err, low, high; of every alternative first
        everybody, then its segments. None without cost.
    refused
        Attribute -> why it has no willingness to pay.
    """

    cost: str | None
    why: str
    frame: pd.DataFrame | None
    refused: Mapping[str, str]


def is_time(name: str) -> bool:
    """Whether an attribute is called like a time."""
    return _TIME.search(name) is not None


def sloped(result: MnlResult) -> list[str]:
    """Attributes of the model that utility has a slope in, in their order."""
    terms = [t for t in result.encoding.terms if not t.is_stepwise]
    return list(dict.fromkeys(t.term.what for t in terms if t.term.what is not None))


def cost_attribute(record: StudyRecord) -> tuple[str | None, str]:
    """What stands for money, and how that was told.

    The attribute that is called like a cost; of several, one whose sign is expected to be negative.
    """
    names = sloped(record.result)
    called = [name for name in names if _COST.search(name)]
    signs = {} if record.structure is None else record.structure.signs
    disliked = [name for name in called if signs.get(name) == "-"]
    if disliked:
        return disliked[0], "it is called like a cost and its sign is expected to be negative"
    if called:
        return called[0], "it is called like a cost"
    return None, (
        "No attribute of the model is called like a cost, so nothing is put in money. "
        "result.wtp(attribute, cost) takes any two."
    )


def worth(record: StudyRecord) -> Worth:
    """Willingness to pay for every other attribute, by alternative and segment; times first."""
    cost, why = cost_attribute(record)
    if cost is None:
        return Worth(None, why, None, {})
    frames, refused = [], {}
    others = sorted(
        (name for name in sloped(record.result) if name != cost), key=lambda n: not is_time(n)
    )
    for name in others:
        try:
            everybody = record.result.wtp(name, cost, by=[])
            segments = record.result.wtp(name, cost)
        except ArdchoiceError as error:
            refused[name] = str(error)
            continue
        parts = pd.concat([everybody, segments[segments["segment"] != ALL]])
        order = {alternative: i for i, alternative in enumerate(everybody["alternative"])}
        frame = parts.sort_values("alternative", kind="stable", key=lambda s: s.map(order))
        frame.insert(0, "attribute", name)
        frames.append(frame)
    return Worth(cost, why, pd.concat(frames, ignore_index=True) if frames else None, refused)


def demand(record: StudyRecord) -> tuple[pd.DataFrame | None, dict[str, str]]:
    """Elasticities of every attribute that has a slope, and why some have none.

    Returns
    -------
    DataFrame or None
        attribute, changed, alternative, estimate, std_err, low, high.
    dict
        Attribute -> why not.
    """
    result = record.result
    if len(result.encoding.alternatives) > MOST_ELASTICITIES:
        return None, {}
    frames, refused = [], {}
    for name in sloped(result):
        try:
            frame = result.elasticities(name).drop(columns=["segment", "n"])
        except ArdchoiceError as error:
            refused[name] = str(error)
            continue
        frame.insert(0, "attribute", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else None, refused
