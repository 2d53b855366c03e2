"""What the name of an attribute says: money, time, waiting and changes are wanted by nobody."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Kind = Literal["money", "time", "wait", "changes"]

_PIECES = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MONEY = _set(
    """cost costs co cst price prices fare fares tariff tariffs toll tolls fee fees copay expense
    expenses expenditure charge charges tc gc rent kosten preis preise prix cout couts tarif precio
    precios costo costos prezzo prezzi prijs"""
)
_TIME = _set(
    """time times tt ttme ivt ivtt invt ovt ovtt duration traveltime triptime journeytime
    ridetime walktime walking walk searching search queueing queuing queue access egress zeit
    dauer fahrzeit reisezeit temps tiempo tempo reistijd"""
)
_WAIT = _set("wait waiting waits headway headways he delay delays wartezeit takt attente espera")
_CHANGES = _set("transfer transfers transf changes interchange interchanges umstiege umstieg")
_ENDINGS: dict[Kind, tuple[str, ...]] = {
    "money": ("cost", "costs", "price", "prices", "fare", "fares", "toll", "kosten", "preis"),
    "time": ("time", "times", "duration", "zeit"),
    "wait": ("wait", "waiting", "headway", "delay"),
    "changes": ("transfers", "interchanges"),
}
"""Ends of compounds written as one word, such as totcost."""
_NOT_A_BURDEN = _set(
    """stay stays dwell dep departure depart arr arrival arrive start begin end opening closing
    clock oclock schedule scheduled timetable timestamp timezone date day days week weekday
    weekend month year hour oftheday period slot life lifetime battery warranty charging range
    overtime parttime fulltime part full free leisure spare sometime anytime saved saving savings
    save reduction reduced discount rebate refund subsidy benefit income wage salary budget
    frequency freq share rate ratio index code type sure certain flexibility datetime daytime
    nighttime bedtime first last since early late earliness lateness"""
)
"""Words beside which a time is a clock time or a stay, or money is received: no expected sign."""
_NOT_A_COMPOUND = _set(
    """sometime anytime overtime lifetime parttime fulltime daytime nighttime bedtime datetime
    realtime runtime uptime welfare airfares warfare meantime"""
)


def recognised_kind(name: str) -> Kind | None:
    """What an attribute is called like, where more of it is wanted by nobody; None for others.

    Parameters
    ----------
    name
        Of an attribute: ``TT``, ``totcost``, ``wait_time``, ``NbTransf``.

    Returns
    -------
    str or None
        ``"money"``, ``"time"``, ``"wait"`` or ``"changes"``. None also for clock times, durations
        of a stay, savings and discounts, of which more may be wanted.

    Examples
    --------
    >>> recognised_kind("totcost"), recognised_kind("stayDurationMinutes")
    ('money', None)
    """
    words = [_bare(w) for run in _PIECES.findall(name) for w in _HUMP.split(run)]
    if any(w in _NOT_A_BURDEN for w in words):
        return None
    found: list[Kind] = [kind for w in words if (kind := _kind_of_word(w)) is not None]
    # A waiting time is a wait; the cost of a transfer is money.
    for kind in ("money", "changes", "wait", "time"):
        if kind in found:
            return kind
    return None


def _kind_of_word(word: str) -> Kind | None:
    vocabularies: dict[Kind, frozenset[str]] = {
        "money": _MONEY,
        "changes": _CHANGES,
        "wait": _WAIT,
        "time": _TIME,
    }
    for kind, vocabulary in vocabularies.items():
        if word in vocabulary:
            return kind
    if word in _NOT_A_COMPOUND:
        return None
    for kind, endings in _ENDINGS.items():
        if word.endswith(endings):
            rest = next(word[: -len(e)] for e in endings if word.endswith(e))
            return None if rest in _NOT_A_BURDEN else kind
    return None


def _bare(word: str) -> str:
    """Small letters without accents."""
    text = unicodedata.normalize("NFKD", word.casefold().replace("ß", "ss"))
    return "".join(c for c in text if c.isalnum())
