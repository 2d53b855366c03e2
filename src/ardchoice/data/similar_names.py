"""Rare names that are similar to frequent ones: likely typing errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice.errors import Problem, first_few

MOST_RARE_ROWS = 5
"""Rows up to which a name may be a typing error."""
FREQUENCY_RATIO = 10
"""How many times more rows the name that was meant has."""
SIMILARITY_CUTOFF = 0.8
"""Share of letters in common, in the same order, from which names are similar."""
SHORTEST_NAME_LETTERS = 4
"""Shorter names differ too much when they differ in a letter."""
MOST_RARE_NAMES = 50
"""Where there are more, they are no typing errors."""


@dataclass(frozen=True)
class NearMiss:
    """A name, how many rows have it, and the name it may have been."""

    name: str
    rows: int
    meant: str


def near_misses(names: Sequence[str], counts: npt.NDArray[np.integer]) -> list[NearMiss]:
    """Names that occur in a few rows and are similar to one that occurs in many.

    Parameters
    ----------
    names
    counts
        Rows that have each; shape (names,).
    """
    rows = dict(zip(names, map(int, counts), strict=True))
    rare = {name: n for name, n in rows.items() if 0 < n <= MOST_RARE_ROWS}
    if len(rare) > MOST_RARE_NAMES:
        return []
    frequent = {n: [k for k in names if rows[k] >= FREQUENCY_RATIO * n] for n in rare.values()}
    meant = {name: _nearest(name, frequent[n]) for name, n in rare.items()}
    return [NearMiss(name, rare[name], near) for name, near in meant.items() if near is not None]


def _nearest(name: str, known: Sequence[str]) -> str | None:
    folded = {_folded(k): k for k in reversed(known)}
    if _folded(name) in folded:
        return folded[_folded(name)]
    if len(name) < SHORTEST_NAME_LETTERS:
        return None
    # Names that differ in a number are different: 18-25 and 18-26, bus 1 and bus 11.
    same = [k for k in folded if re.findall(r"\d+", k) == re.findall(r"\d+", name)]
    close = difflib.get_close_matches(_folded(name), same, n=1, cutoff=SIMILARITY_CUTOFF)
    # 'male' in 'female', 'urban' in 'suburban': words of their own.
    close = [k for k in close if abs(len(k) - len(_folded(name))) <= 1]
    return folded[close[0]] if close else None


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def other_spellings(labels: Sequence[str], codes: Sequence[str]) -> dict[str, str]:
    """Labels that differ from just one code by blanks around or capital letters -> that code.

    Parameters
    ----------
    labels
        As the table has them.
    codes
        As they are listed.
    """
    known: dict[str, list[str]] = {}
    for code in codes:
        known.setdefault(code.strip().casefold(), []).append(code)
    return {
        text: known[key][0]
        for text in labels
        if text not in codes and len(known.get(key := text.strip().casefold(), ())) == 1
    }


def one_spelling(labels: Sequence[str], counts: npt.NDArray[np.integer]) -> list[str]:
    """Labels without those that differ from a more frequent one by blanks or capital letters."""
    order = sorted(range(len(labels)), key=lambda i: (-int(counts[i]), i))
    best: dict[str, int] = {}
    for i in order:
        best.setdefault(labels[i].strip().casefold(), i)
    return [labels[i] for i in sorted(best.values())]


def spelling_note(column: str, other: Mapping[str, str]) -> Problem:
    """What is reported of spellings that were taken for one."""
    each = first_few(f"{text!r} as {code!r}" for text, code in other.items())
    text = f"Column {column!r} has alternatives in several spellings, read as one: {each}."
    return Problem("note", "spelling", text)
