"""A sample of persons to begin with, where a pass over the whole sample is slow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ardchoice.data import ChoiceData
from ardchoice.design import KEEP_BYTES, Design

SAMPLE = 50_000
"""Situations of a sample: enough for most candidates to leave that will leave."""
WORTH = 10
"""Times as large as a sample data must be to be worth one."""


def sample_size(wanted: int | None, design: Design) -> int:
    """Situations to begin with; zero for all at once.

    Parameters
    ----------
    wanted
        Wanted; None for a sample only where columns are not kept in memory and there are many
        more rows than a sample has.
    design
        Of all rows.
    """
    n = len(design.data)
    if wanted is None:
        large = design.expanded_bytes() > KEEP_BYTES and n >= WORTH * SAMPLE
        return SAMPLE if large else 0
    return wanted if 0 < wanted < n else 0


def sample_rows(data: ChoiceData, size: int) -> npt.NDArray[np.intp]:
    """About so many rows, all of a person or none; ascending. The same for the same data."""
    line = np.uint64(int(min(size / max(len(data), 1), 1.0) * (2**64 - 1)))
    found = []
    for rows in data.ranges():
        who = np.arange(rows.start, rows.stop) if data.person is None else data.person[rows]
        found.append(rows.start + np.flatnonzero(_scattered(who.astype(np.uint64)) <= line))
    return np.concatenate(found)


def _scattered(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Whole numbers scattered over all of 64 bits (the end of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = numbers * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))
