"""Where to begin: at the maximum of a sample of the rows, one step of all rows closer.

A sample of n of N rows has its maximum about √(N/n) standard errors from that of all, and Newton's
method needs passes over all rows only from there on. It is a start and nothing else: where a sample
says too little, or does not do better than no model, estimation begins at zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.design import CachedBlocks
from ardchoice.families.mnl.identification import SUSPECT
from ardchoice.families.mnl.kernel import one_pass
from ardchoice.numerics import Sums, is_definite, maximise, newton_step

ROWS = 1600
"""Fewest rows of a sample: with fewer, a pass takes no less time."""
ROWS_PER_COLUMN = 50
SHARE = 32
"""One row in so many, where that is more."""
WORTH = 6
"""Times as large as a sample data must be to be worth one."""
ENOUGH = 1.0
"""Log-likelihood per coefficient that a sample may leave: about what chance makes of it anyway."""
MOST_STEPS = 10
LEFT = 1e-3
"""Share of the curvature at zero that must be left along every direction: a sample in which an
estimate diverges, or that lacks a level, does not lead anywhere."""
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Start:
    """Coefficients, shape (D,), and the sums of a pass there."""

    beta: Floats
    sums: Sums


def start_near(blocks: object, n_columns: int, null_loglik: float) -> Start | None:
    """A start near the maximum, or None where zero is as good.

    Parameters
    ----------
    blocks
        Of a design; only those kept in memory can be sampled.
    n_columns
        D.
    null_loglik
        At zero: what a start must exceed.
    """
    if not isinstance(blocks, CachedBlocks):
        return None
    n = sum(block.shape[1] for block in blocks)
    size = max(ROWS, ROWS_PER_COLUMN * n_columns, n // SHARE)
    if not n_columns or n < WORTH * size:
        return None
    found = _sample_maximum(sample_of(blocks, size / n), n_columns)
    if found is None:
        return None
    # Curvature of the sample stands in for that of all: a step needs no more than that.
    gradient = one_pass(found.beta, blocks, order=1).gradient
    beta = found.beta + newton_step(Sums(0.0, gradient, found.sums.curvature * (n / size)))
    sums = one_pass(beta, blocks)
    return Start(beta, sums) if sums.loglik > null_loglik else None


def sample_of(blocks: CachedBlocks, share: float) -> CachedBlocks:
    """A share of the rows, spread evenly; the same for the same blocks."""
    out = CachedBlocks(block.take(spread_rows(block.shape[1], share)) for block in blocks)
    out.threads = blocks.threads
    return out


def spread_rows(n: int, share: float) -> npt.NDArray[np.intp]:
    """One row in every 1 / share of n, at a place that has no period: persons may have one."""
    count = np.arange(max(1, round(n * share)))
    turns = count * GOLDEN
    rows = (count + turns - np.floor(turns)) * (n / len(count))
    return np.asarray(rows, dtype=np.intp)


def _sample_maximum(sample: CachedBlocks, n_columns: int) -> Start | None:
    """Near the maximum of a sample; None if it has none, or none that could be trusted."""
    zero = np.zeros(n_columns)
    first = one_pass(zero, sample)
    fit = maximise(
        lambda beta, _: one_pass(beta, sample),
        zero,
        first=first,
        max_iterations=MOST_STEPS,
        tolerance=ENOUGH * n_columns,
    )
    # The diagonal, too, since what has no curvature at zero has not lost any.
    lost = LEFT * first.curvature + np.diag(SUSPECT * first.curvature.diagonal())
    if not fit.converged or not is_definite(fit.curvature - lost):
        return None
    return Start(fit.beta, fit.sums)
