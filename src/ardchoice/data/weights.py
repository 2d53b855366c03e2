"""Weights of choices: scaled to a mean of one, or counts that repeat rows."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

import numpy as np

from ardchoice.data.choices import ChoiceData
from ardchoice.errors import Problem

MOST_COUNTED_ROWS = 20_000_000
"""Rows that counts may add up to, since a row is read for each."""
SAME_SCALE = 1e-11
"""Relative difference from one that is rounding."""


def weight_scale(total: float, positive: int) -> float:
    """The factor that gives weights a mean of one over the rows that count at all.

    Parameters
    ----------
    total
        Their sum.
    positive
        How many are above zero.
    """
    factor = positive / total if total > 0 else 1.0
    # Rounded, so that it does not depend on the order of the rows.
    factor = float(f"{factor:.12g}")
    return factor if abs(factor - 1) > SAME_SCALE and np.isfinite(factor) else 1.0


def with_scaled_weights(data: ChoiceData) -> ChoiceData:
    """The data with weights of mean one over the rows that count at all.

    A log-likelihood, and with it BIC, likelihood ratios and classical standard errors, is that of
    as many choices as there are rows; multiplying all weights by a number changes nothing.
    """
    if data.weight is None:
        return data
    total, positive = fsum(data.weight), int(np.count_nonzero(data.weight))
    factor = weight_scale(total, positive)
    if factor == 1.0:
        return data
    return replace(data, weight=data.weight * factor, weight_scale=factor)


def is_counted(data: ChoiceData) -> bool:
    """Whether weights are counts of rows."""
    source = data.source
    return data.weight is not None and source is not None and source.weight_kind == "frequency"


def counted_rows(data: ChoiceData) -> ChoiceData:
    """The data with every row as often as its count says, and no weights."""
    counts = data.weights.astype(np.intp)
    rows, total = len(data), int(counts.sum())
    text = f"The counts repeat {rows:,} rows to {total:,} choice situations."
    repeated = data.take(np.repeat(np.arange(rows), counts))
    note = Problem("note", "counts", text)
    return replace(repeated, weight=None, warnings=(*data.warnings, note))
