"""Names in a handful of rows that are nearly those of many: slips of the pen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

HANDFUL = 5
"""Rows up to which a name may be a slip."""
MANY_TIMES = 10
"""How many times more rows the name that was meant has."""
ALIKE = 0.8
"""Share of letters in common, in the same order, from which names are nearly the same."""
SHORTEST = 4
"""Shorter names differ in too much when they differ in a letter."""
MOST_LOOKED_AT = 50
"""Rare names; where there are more, they are no slips."""


@dataclass(frozen=True)
class NearMiss:
    """A name, how many rows have it, and the name it may have been."""

    name: str
    rows: int
    meant: str


def near_misses(names: Sequence[str], counts: npt.NDArray[np.integer]) -> list[NearMiss]:
    """Names that occur in a handful of rows and are nearly one that occurs in many.

    Parameters
    ----------
    names
    counts
        Rows that have each; shape (names,).
    """
    rare = [(name, int(n)) for name, n in zip(names, counts, strict=True) if 0 < n <= HANDFUL]
    if len(rare) > MOST_LOOKED_AT:
        return []
    out = []
    for name, n in rare:
        often = [k for k, m in zip(names, counts, strict=True) if m >= MANY_TIMES * n]
        meant = _nearest(name, often)
        if meant is not None:
            out.append(NearMiss(name, n, meant))
    return out


def _nearest(name: str, known: Sequence[str]) -> str | None:
    folded = {_folded(k): k for k in reversed(known)}
    if _folded(name) in folded:
        return folded[_folded(name)]
    if len(name) < SHORTEST:
        return None
    # Numbers tell names apart on purpose: 18-25 and 18-26, bus 1 and bus 11.
    same = [k for k in folded if re.findall(r"\d+", k) == re.findall(r"\d+", name)]
    close = difflib.get_close_matches(_folded(name), same, n=1, cutoff=ALIKE)
    # 'male' in 'female', 'urban' in 'suburban': words of their own.
    close = [k for k in close if abs(len(k) - len(_folded(name))) <= 1]
    return folded[close[0]] if close else None


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())
