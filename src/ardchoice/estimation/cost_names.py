"""What an attribute is called like: a cost, a time."""

from __future__ import annotations

import re

from ardchoice.design import Encoding

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


def is_cost(name: str) -> bool:
    """Whether an attribute is called like a cost."""
    return _COST.search(name) is not None


def is_time(name: str) -> bool:
    """Whether an attribute is called like a time."""
    return _TIME.search(name) is not None


def sloped_attributes(encoding: Encoding) -> list[str]:
    """Attributes of a model that utility has a slope in, in their order."""
    used = dict.fromkeys((name, t) for t in encoding.terms for name in t.attributes)
    return list(dict.fromkeys(name for name, t in used if t.has_slope(name)))


def cost_of(encoding: Encoding) -> str | None:
    """The first attribute with a slope that is called like a cost; None without one."""
    return next((name for name in sloped_attributes(encoding) if is_cost(name)), None)
