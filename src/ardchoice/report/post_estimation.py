"""What a model implies in money and in demand, as far as it can be told without being asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import ALL, Result, levels_of
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
        attribute, alternative, segment, level, n, estimate, std_err, low, high; of every
        alternative first everybody, then its segments. `level` is empty for a unit of a number,
        ``B, not A`` for a level against the reference. None without cost, or without anything else.
    refused
        Attribute -> why it has no willingness to pay.
    """

    cost: str | None
    why: str
    frame: pd.DataFrame | None
    refused: Mapping[str, str]


def named(attribute: str, level: str) -> str:
    """What is worth something: ``TT``, or ``brand: B, not A``."""
    return f"{attribute}: {level}" if level else attribute


def is_time(name: str) -> bool:
    """Whether an attribute is called like a time."""
    return _TIME.search(name) is not None


def sloped(result: Result) -> list[str]:
    """Attributes of the model that utility has a slope in, in their order."""
    terms = [t for t in result.encoding.terms if not t.is_stepwise]
    return list(dict.fromkeys(t.term.what for t in terms if t.term.what is not None))


def _stepwise(result: Result) -> dict[str, str]:
    """Attributes that enter in levels or classes only -> what these are set against."""
    terms = [t for t in result.encoding.terms if t.is_stepwise and t.term.what is not None]
    slopes = sloped(result)
    return {str(t.term.what): levels_of(t)[1] for t in terms if t.term.what not in slopes}


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
    """Willingness to pay for every other attribute, by alternative and segment.

    Times first, then other numbers, then what has levels or classes.
    """
    cost, why = cost_attribute(record)
    if cost is None:
        return Worth(None, why, None, {})
    frames, refused = [], {}
    references = _stepwise(record.result)
    numbers = [name for name in sloped(record.result) if name != cost]
    others = [*sorted(numbers, key=lambda n: not is_time(n)), *references]
    if not others:
        why = f"{cost} is the only attribute of the model, so there is nothing to be put in money."
        return Worth(cost, why, None, {})
    for name in others:
        try:
            everybody = record.result.wtp(name, cost, by=[])
            segments = record.result.wtp(name, cost)
        except ArdchoiceError as error:
            refused[name] = str(error)
            continue
        parts = pd.concat([everybody, segments[segments["segment"] != ALL]])
        if name in references:
            parts["level"] = [f"{level}, not {references[name]}" for level in parts["level"]]
        else:
            parts.insert(list(parts.columns).index("n"), "level", "")
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
