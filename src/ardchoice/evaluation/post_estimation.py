"""Willingness to pay and elasticities of a study, for every attribute that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from ardchoice.data import ChoiceData, hours_in
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import ALL, Result, is_cost, is_time, levels_of
from ardchoice.estimation import sloped_attributes as attributes_with_slope
from ardchoice.record import StudyRecord

MAX_ELASTICITY_ALTERNATIVES = 30
"""With more alternatives, their elasticities fill pages that nobody reads."""


@dataclass(frozen=True, eq=False)
class WillingnessToPay:
    """Willingness to pay (WTP), and why it is what it is.

    Attributes
    ----------
    cost
        What counts as money; None where nothing in the model looks like it.
    why
        A sentence.
    frame
        attribute, alternative, segment, level, n, estimate, std_err, low, high, unit (such as
        ``CHF per hour``, empty where it is not known); of every
        alternative first the whole sample, then its segments. `level` is empty for a unit of a
        number, ``B, not A`` for a level against the reference. None without cost, or without
        anything else.
    refused
        Attribute -> why it has no WTP.
    """

    cost: str | None
    why: str
    frame: pd.DataFrame | None
    refused: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Elasticities:
    """Elasticities of every attribute that has a slope.

    Attributes
    ----------
    frame
        attribute, changed, alternative, estimate, std_err, low, high; None for none.
    refused
        Attribute -> why not.
    """

    frame: pd.DataFrame | None
    refused: Mapping[str, str]


def attribute_label(attribute: str, level: str) -> str:
    """What a WTP is for: ``TT``, or ``brand: B, not A``."""
    return f"{attribute}: {level}" if level else attribute


def wtp_unit(data: ChoiceData, attribute: str, cost: str) -> str:
    """What WTP for a unit of an attribute is in: ``CHF per hour``; empty where no unit is known.

    Of times, per hour.
    """
    unit, money = data.unit(attribute), data.unit(cost)
    if not unit and not money:
        return ""
    per = "hour" if hours_in(unit) is not None else unit or f"unit of {attribute}"
    return f"{money or cost} per {per}"


def sloped_attributes(result: Result) -> list[str]:
    """Attributes of the model that utility has a slope in, in their order."""
    return attributes_with_slope(result.encoding)


def _stepwise_attributes(result: Result) -> dict[str, str]:
    """Attributes that enter in levels or classes only -> their reference."""
    terms = [t for t in result.encoding.terms if t.is_stepwise and t.term.what is not None]
    slopes = sloped_attributes(result)
    return {str(t.term.what): levels_of(t)[1] for t in terms if t.term.what not in slopes}


def cost_attribute(record: StudyRecord) -> tuple[str | None, str]:
    """What stands for money, and how that was detected.

    The attribute that is called like a cost; of several, one whose sign is expected to be negative.
    """
    called = [name for name in sloped_attributes(record.result) if is_cost(name)]
    signs = {} if record.structure is None else record.structure.given_signs
    negative = [name for name in called if signs.get(name) == "-"]
    if negative:
        return negative[0], "it is called like a cost and its sign is expected to be negative"
    if called:
        return called[0], "it is called like a cost"
    return None, (
        "No attribute of the model is called like a cost, so nothing is put in money. "
        "result.wtp(attribute, cost) takes any two."
    )


def willingness_to_pay(record: StudyRecord) -> WillingnessToPay:
    """WTP for every other attribute, by alternative and segment.

    Times first, then other numbers, then what has levels or classes.
    """
    cost, why = cost_attribute(record)
    if cost is None:
        return WillingnessToPay(None, why, None, {})
    references = _stepwise_attributes(record.result)
    numbers = [name for name in sloped_attributes(record.result) if name != cost]
    others = [*sorted(numbers, key=lambda name: not is_time(name)), *references]
    if not others:
        why = f"{cost} is the only attribute of the model, so there is nothing to be put in money."
        return WillingnessToPay(cost, why, None, {})

    def wtp(name: str) -> pd.DataFrame:
        data = record.result.data
        is_number = name not in references
        per = "hour" if is_number and hours_in(data.unit(name)) is not None else None
        whole_sample = record.result.wtp(name, cost, by=[], per=per)
        segments = record.result.wtp(name, cost, per=per)
        parts = pd.concat([whole_sample, segments[segments["segment"] != ALL]])
        if name in references:
            parts["level"] = [f"{level}, not {references[name]}" for level in parts["level"]]
        else:
            parts.insert(list(parts.columns).index("n"), "level", "")
        parts["unit"] = wtp_unit(data, name, cost) if is_number else data.unit(cost)
        order = {alternative: i for i, alternative in enumerate(whole_sample["alternative"])}
        return parts.sort_values("alternative", kind="stable", key=lambda s: s.map(order))

    frame, refused = _by_attribute(others, wtp)
    return WillingnessToPay(cost, why, frame, refused)


def elasticities(record: StudyRecord) -> Elasticities:
    """Elasticities of every attribute that has a slope, and why some have none."""
    result = record.result
    if len(result.encoding.alternatives) > MAX_ELASTICITY_ALTERNATIVES:
        return Elasticities(None, {})

    def elasticity(name: str) -> pd.DataFrame:
        return result.elasticities(name).drop(columns=["segment", "n"])

    return Elasticities(*_by_attribute(sloped_attributes(result), elasticity))


def _by_attribute(
    names: Iterable[str], compute: Callable[[str], pd.DataFrame]
) -> tuple[pd.DataFrame | None, dict[str, str]]:
    """The frames of all attributes below one another, and why some have none."""
    frames, refused = [], {}
    for name in names:
        try:
            frame = compute(name)
        except ArdchoiceError as error:
            refused[name] = str(error)
            continue
        frame.insert(0, "attribute", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else None, refused
