"""Units and labels of attributes and covariates: what tables, figures and reports show."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ardchoice.errors import ArdchoiceError, did_you_mean

LONGEST_UNIT = 24
"""Characters: a unit stands in brackets in tables of 80 columns."""
LONGEST_LABEL = 60
_HOURS: Mapping[str, float] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1 / 3600),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 1 / 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 1.0),
    **dict.fromkeys(("d", "day", "days"), 24.0),
}
"""Unit of time -> hours."""
_TIMES = re.compile(r"(?:(\d+(?:\.\d+)?)\s*)?([a-z]+)\.?", re.IGNORECASE)
PERIODS: Mapping[str, float] = {"second": 1 / 3600, "minute": 1 / 60, "hour": 1.0, "day": 24.0}
"""What a willingness to pay can be put per -> hours."""


def hours_in(unit: str) -> float | None:
    """How many hours a unit of time is: ``min``, ``h``, ``100 min``; None for no time.

    Examples
    --------
    >>> from ardchoice.data import hours_in
    >>> hours_in("30 min"), hours_in("CHF")
    (0.5, None)
    """
    found = _TIMES.fullmatch(unit.strip())
    if found is None or found[2].lower() not in _HOURS:
        return None
    count = float(found[1]) if found[1] else 1.0
    return count * _HOURS[found[2].lower()] or None


def check_units(
    units: Mapping[str, str], labels: Mapping[str, str], known: Collection[str]
) -> None:
    """Raise where a unit or label is no short text, or belongs to nothing that is read.

    Parameters
    ----------
    units, labels
        Name of an attribute or covariate -> its unit or label.
    known
        The names there are.
    """
    for what, given, most in (("units", units, LONGEST_UNIT), ("labels", labels, LONGEST_LABEL)):
        if not isinstance(given, Mapping):
            raise ArdchoiceError(f"{what} is a dict name -> text, such as {{'TT': 'min'}}.")
        for name, text in given.items():
            refused = text_mistake(text, most)
            if refused:
                raise ArdchoiceError(f"{what}: {name!r} {refused}.")
            if name not in known:
                raise ArdchoiceError(
                    f"{what}: there is no attribute or covariate {name!r}. "
                    f"{did_you_mean(str(name), known)}"
                )


def text_mistake(text: object, most: int) -> str:
    """Why something is no unit or label; empty where it is one."""
    if not isinstance(text, str) or not text.strip():
        return f"needs a text, not {text!r:.60}"
    if not text.isprintable():
        return f"has a text with line breaks or control characters, {text!r:.60}"
    return f"has a text of {len(text)} characters; at most {most}" if len(text) > most else ""
