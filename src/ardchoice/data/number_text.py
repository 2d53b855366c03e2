"""Numbers that are written as text: ``1,234``, ``€3,50``, ``12 min``, ``08:30``, ``2024-03-01``.

A column is recognised as a whole: all its texts decide together what a comma means. Where they can
be read in two ways, that is an error, not a guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray, Bools, Floats
from ardchoice.errors import ArdchoiceError, first_few

MOST_TEXTS_LOOKED_AT = 2000
"""Distinct texts from which the format of a column is recognised."""
SHARE_THAT_FITS = 0.5
"""More of the distinct texts than this must fit; the others are reported one by one."""
GROUP_SIGNS = (",", ".", " ", "'")
"""Between groups of three digits."""
CURRENCIES = (
    "€", "$", "£", "¥", "₹", "CHF", "SFr", "Fr", "EUR", "USD", "GBP", "JPY", "CNY", "AUD", "CAD",
    "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "kr", "zł", "Kč", "R$", "US$", "A$",
)  # fmt: skip
UNITS = {
    "min": ("min", "mins", "minute", "minutes", "minuten"),
    "h": ("h", "hr", "hrs", "hour", "hours", "std"),
    "s": ("sec", "secs", "second", "seconds"),
    "km": ("km", "kms", "kilometre", "kilometres", "kilometer", "kilometers"),
    "m": ("m", "metre", "metres", "meter", "meters"),
    "mi": ("mi", "mile", "miles"),
    "%": ("%",),
}
"""Unit -> how it is written, apart from capital letters and a point at its end."""
_UNIT_OF = {word: unit for unit, words in UNITS.items() for word in words}
_CURRENCY_OF = {c.casefold(): c for c in CURRENCIES}
_NUMBER = re.compile(
    r"(?P<before>[^\d+\-−.,\s]{0,4})\.?\s*(?P<sign>[+\-−]?)\s*(?P<before2>[€$£¥₹]?)\s*"
    r"(?P<body>\d[\d.,'’\s]*|[.,]\d+)(?P<after>[^\d\s.,'’][^\d]{0,12})?"
)
_CLOCK = re.compile(r"(\d{1,3}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([ap]\.?m\.?)?", re.IGNORECASE)
_HOURS = re.compile(
    r"(\d{1,3})\s*h(?:rs?|ours?)?\s*(\d{1,2})\s*(?:m|min|mins|minutes)?", re.IGNORECASE
)
_DATE = re.compile(
    r"(?:(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})"
    r"|(?P<a>\d{1,2})(?P<t>[-/.])(?P<b>\d{1,2})(?P=t)(?P<z>\d{4}))"
    r"(?:[T\s]+(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(?:Z|\s*[+-]\d{2}:?\d{2})?)?"
)
_LEADING_GROUP, _GROUP = re.compile(r"[1-9][0-9]{0,2}"), re.compile(r"[0-9]{3}")
_MEANING = {
    "clock": "minutes (since midnight, of a time of day)",
    "date": "days since 1970-01-01",
}


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written as text.

    Attributes
    ----------
    kind
        ``"number"``; ``"clock"``: hours and minutes, as minutes; ``"date"``, as days since 1970.
    decimal, thousands
        The decimal sign, and what stands between groups of three digits.
    unit
        Currency or unit that stands with every number.
    order
        Of a date: ``"ymd"``, ``"dmy"`` or ``"mdy"``.
    """

    kind: Literal["number", "clock", "date"] = "number"
    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    order: str = "ymd"

    @property
    def meaning(self) -> str:
        """What the numbers count, where that is not what is written."""
        return _MEANING.get(self.kind, "")

    def read(self, text: str) -> float | None:
        """The number that a text is; None where it is none in this format."""
        text = text.strip()
        if self.kind == "clock":
            return _minutes(text)
        if self.kind == "date":
            return _days(text, self.order)
        return self._number(text)

    def _number(self, text: str) -> float | None:
        parts = _parts(text)
        if parts is None or parts.unit not in ("", self.unit):
            return None
        body = parts.body
        if self.thousands and self.thousands in body:
            whole, sign, rest = body.partition(self.decimal)
            first, *groups = whole.split(self.thousands)
            if not _LEADING_GROUP.fullmatch(first) or not all(map(_GROUP.fullmatch, groups)):
                return None
            body = whole.replace(self.thousands, "") + sign + rest
        if body.count(self.decimal) > 1 or not body.replace(self.decimal, "").isdecimal():
            return None
        return parts.sign * float(body.replace(self.decimal, "."))


@dataclass(frozen=True)
class _Parts:
    """A text taken apart: -1 or 1, digits with their signs, currency or unit."""

    sign: int
    body: str
    unit: str


def _parts(text: str) -> _Parts | None:
    found = _NUMBER.fullmatch(text)
    if not found:
        return None
    body = re.sub(r"\s+", " ", found["body"].strip()).replace("’", "'")
    units = [_unit(found[g]) for g in ("before", "before2", "after") if found[g]]
    if len(units) > 1 or None in units:
        return None
    # A unit stands behind its number, a currency on either side.
    if units and not found["after"] and units[0] in UNITS:
        return None
    return _Parts(-1 if found["sign"] in ("-", "−") else 1, body, str(units[0]) if units else "")


def _unit(text: str) -> str | None:
    word = text.strip().rstrip(".").strip().casefold()
    return _UNIT_OF.get(word) or _CURRENCY_OF.get(word)


def _minutes(text: str) -> float | None:
    if found := _HOURS.fullmatch(text):
        hours, minutes, seconds, half = int(found[1]), int(found[2]), 0.0, None
    elif found := _CLOCK.fullmatch(text):
        hours, minutes, seconds = int(found[1]), int(found[2]), float(found[3] or 0)
        half = found[4]
    else:
        return None
    if minutes > 59 or seconds > 59 or hours > 24 or (half and not 1 <= hours <= 12):
        return None
    if half:
        hours = hours % 12 + (12 if half[0] in "pP" else 0)
    return 60.0 * hours + minutes + seconds / 60


def _days(text: str, order: str) -> float | None:
    found = _DATE.fullmatch(text)
    if not found or (found["y"] is None) == (order == "ymd"):
        return None
    if order == "ymd":
        year, month, day = int(found["y"]), int(found["m"]), int(found["d"])
    else:
        a, b, year = int(found["a"]), int(found["b"]), int(found["z"])
        day, month = (a, b) if order == "dmy" else (b, a)
    try:
        days = float(date(year, month, day).toordinal() - date(1970, 1, 1).toordinal())
    except ValueError:
        return None
    clock = _minutes(found["clock"].partition(".")[0]) if found["clock"] else 0.0
    return None if clock is None else days + clock / 1440


class AmbiguousNumbersError(ArdchoiceError):
    """Texts that can be read as numbers in more than one way."""


def recognise(
    texts: Iterable[str], decimal: str | None = None, likely: str | None = None
) -> NumberFormat | None:
    """The format in which most of a column's texts are numbers; None where there is none.

    Parameters
    ----------
    texts
        The distinct ones.
    decimal
        The decimal sign where it is known.
    likely
        The decimal sign that decides where the texts do not.

    Raises
    ------
    AmbiguousNumbersError
        Where two formats fit and give different numbers.
    """
    some = [t.strip() for t, _ in zip(texts, range(MOST_TEXTS_LOOKED_AT), strict=False)]
    if not some:
        return None
    for kind in ("clock", "date"):
        found = _clock_or_date(some, kind)
        if found is not None:
            return found
    parts = [p for p in map(_parts, some) if p is not None]
    if len(parts) <= SHARE_THAT_FITS * len(some):
        return None
    units = Counter(p.unit for p in parts if p.unit)
    bare = [p for p in parts if not p.unit and p.body.strip("0.,")]
    if len(units) > 1 or (units and bare):
        mixed = {p.unit: t for t in some if (p := _parts(t)) is not None}
        raise AmbiguousNumbersError(
            f"numbers with different units, or with and without one: "
            f"{first_few(map(repr, mixed.values()))}. Write all in one unit"
        )
    unit = next(iter(units), "")
    formats = list(_formats([p.body for p in parts], decimal))
    if not formats:
        return None
    if len(formats) > 1 and likely is not None:
        formats = [(d, t) for d, t in formats if d == likely] or formats
    if len(formats) > 1:
        example = max((t for t in some if _parts(t)), key=lambda t: len(re.findall(r"[.,]", t)))
        readings = [NumberFormat("number", d, t, unit).read(example) for d, t in formats[:2]]
        raise AmbiguousNumbersError(
            f"texts such as {first_few(map(repr, some), 3)}, of which {example!r} is "
            f"{readings[0]:g} or {readings[1]:g}. Set the decimal sign: decimal = '.' or ','"
        )
    sign, thousands = formats[0]
    return NumberFormat("number", sign, thousands, unit)


def _clock_or_date(some: Sequence[str], kind: str) -> NumberFormat | None:
    if kind == "clock":
        fitting = sum(_minutes(t) is not None for t in some)
        return NumberFormat("clock") if fitting > SHARE_THAT_FITS * len(some) else None
    each = {
        order: sum(_days(t, order) is not None for t in some) for order in ("ymd", "dmy", "mdy")
    }
    best = max(each.values())
    if best <= SHARE_THAT_FITS * len(some):
        return None
    orders = [order for order, n in each.items() if n == best]
    if len(orders) == 1:
        return NumberFormat("date", order=orders[0])
    if any("." in t for t in some):  # with points, the day comes first everywhere
        return NumberFormat("date", order="dmy")
    raise AmbiguousNumbersError(
        f"dates such as {first_few(map(repr, some), 3)}, in which day and month cannot be told "
        "apart. Write them as 2024-12-31"
    )


def _formats(bodies: Sequence[str], decimal: str | None) -> Iterator[tuple[str, str]]:
    """Decimal and thousands signs with which the most numbers can be read."""
    options: list[tuple[str, str]] = [(d, "") for d in ".,"]
    options += [(d, t) for d in ".," for t in GROUP_SIGNS if t != d]
    options = [(d, t) for d, t in options if decimal in (None, d)]
    fits = {(d, t): [NumberFormat("number", d, t).read(b) for b in bodies] for d, t in options}
    most = max(sum(v is not None for v in values) for values in fits.values())
    if most <= SHARE_THAT_FITS * len(bodies):
        return
    grouped = all(map(_grouped, bodies)) and not all("," in b for b in bodies)
    seen: list[list[float | None]] = []
    for (d, t), values in fits.items():
        if sum(v is not None for v in values) < most or values in seen:
            continue
        # ``1,234`` beside ``950``: a number with decimals would have them in both.
        if d == "," and grouped:
            continue
        seen.append(values)
        yield d, t


def _grouped(body: str) -> bool:
    """Whether commas stand only where they could stand between groups of three digits."""
    first, *groups = body.split(",")
    plain = not groups and body.isdecimal() and len(body) <= 3
    return plain or (
        _LEADING_GROUP.fullmatch(first) is not None and all(map(_GROUP.fullmatch, groups))
    )


def read_numbers(texts: AnyArray, how: NumberFormat | None = None) -> tuple[Floats, Bools]:
    """Texts as float64 (NaN where missing), and where they are no numbers.

    Parameters
    ----------
    texts
        With None where missing; shape (rows,).
    how
        The format of those that are not plain numbers. Default: recognised; texts that can be
        read in two ways are no numbers.
    """
    plain = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    values = plain.to_numpy(dtype=float, copy=True)
    refused = np.isnan(values) & ~np.asarray(pd.isna(texts), dtype=bool)
    if not refused.any():
        return values, refused
    if how is None:
        try:
            how = recognise(map(str, pd.unique(texts[refused | ~np.isnan(values)])))
        except AmbiguousNumbersError:
            how = None
    if how is None:
        return values, refused
    # A plain number in a column with a decimal comma: 1.234 may be 1234.
    every = np.ones_like(refused) if how.kind == "number" and how.decimal == "," else refused
    codes, distinct = pd.factorize(texts)
    read = [how.read(str(t)) for t in distinct]
    known = np.array([np.nan if v is None else v for v in read] + [np.nan])[codes]
    is_text = np.array([isinstance(t, str) for t in distinct] + [False])[codes]
    use = every & is_text
    values[use] = known[use]
    return values, np.isnan(values) & ~np.asarray(pd.isna(texts), dtype=bool)
