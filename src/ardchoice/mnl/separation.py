"""Separation: a direction in which the likelihood rises for ever.

If, along v, no observed choice becomes less likely and some become ever more likely, the maximum
lies at infinity. Along such a direction the curvature vanishes as Newton's method runs after it,
which is how it is suspected; that no chosen alternative loses is how it is proved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse

from ardchoice.design import Design
from ardchoice.errors import SeparationError
from ardchoice.logit import Block, NewtonFit, utilities
from ardchoice.logit.block import Floats

VANISHED = 1e-5
"""Curvature along a direction, relative to that at zero, below which it is looked into."""
LOSES = 1e-4
"""Largest loss of any choice along the direction, relative to the largest gain: the direction is
known only as well as Newton's method has followed it."""
NAMED = 0.05
"""A coefficient is named from this share of the largest on (in standardised units)."""
SHOWN = 4
WIDE = 100.0
"""Bound on the weights of the suspects, whose gains are scaled to one."""


def check_separation(
    fit: NewtonFit, curvature_at_zero: Floats, design: Design, blocks: Iterable[Block]
) -> None:
    """Raise `SeparationError` naming the coefficients that run to infinity.

    Parameters
    ----------
    fit
        Where Newton's method ended.
    curvature_at_zero
        Shape (D, D), positive definite.
    design, blocks
        What was fitted.
    """
    scale = 1 / np.sqrt(np.diag(curvature_at_zero))
    values, vectors = linalg.eigh(
        fit.curvature * scale * scale[:, None], curvature_at_zero * scale * scale[:, None]
    )
    suspects = vectors[:, values < VANISHED] * scale[:, None]
    if not suspects.shape[1]:
        return
    direction = _direction(suspects, blocks)
    if direction is None:
        return
    # Towards larger likelihood, in units in which coefficients can be compared.
    size = direction / scale
    strong = np.flatnonzero(np.abs(size) >= NAMED * np.abs(size).max())
    names = [
        f"'{design.names[design.order[k]]}' to {'plus' if size[k] > 0 else 'minus'} infinity"
        for k in strong[np.argsort(-np.abs(size[strong]))]
    ]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    gains = _gains(direction[:, None], blocks)
    rows = int((gains.gain[:, 0] > LOSES * gains.gain.max()).sum())
    raise SeparationError(
        f"The likelihood has no finite maximum: {', '.join(names[:SHOWN])}{more}. In the {rows} "
        f"comparisons this concerns, the alternative it speaks for was always chosen (or the one "
        "it speaks against never). Merge the level with another, pool rare levels, or leave the "
        "term out."
    )


@dataclass(frozen=True, eq=False)
class _Gains:
    """x'v of the chosen minus that of every other available alternative; shape (pairs, r)."""

    gain: Floats


def _gains(directions: Floats, blocks: Iterable[Block]) -> _Gains:
    pieces = []
    for block in blocks:
        rows = np.arange(block.shape[1])
        per_direction = []
        for v in directions.T:
            u = utilities(v, block)
            per_direction.append(u[block.choice, rows] - u)
        stack = np.stack(per_direction, axis=-1)
        other = np.arange(block.shape[0])[:, None] != block.choice
        if block.available is not None:
            other &= block.available
        if block.weight is not None:
            other &= block.weight > 0
        pieces.append(stack[other])
    return _Gains(np.concatenate(pieces))


def _direction(suspects: Floats, blocks: Iterable[Block]) -> Floats | None:
    """A direction within the suspects along which no choice loses and some gain, or None."""
    gains = _gains(suspects, blocks).gain
    largest = np.abs(gains).max(axis=0)
    gains = gains / np.where(largest > 0, largest, 1.0)
    if gains.shape[1] == 1:
        sign = 1.0 if gains.sum() > 0 else -1.0
        along = sign * gains[:, 0]
        return sign * suspects[:, 0] if along.min() >= -LOSES and along.max() > LOSES else None
    z = _gaining_most(gains)
    if z is None:
        return None
    return np.asarray((suspects / np.where(largest > 0, largest, 1.0)) @ z)


def _gaining_most(gains: Floats) -> Floats | None:
    """Weights z with gains @ z >= 0 everywhere and above zero in as many pairs as can be, or None.

    A linear programme after Konis (2007): maximise Σ t with 0 <= t <= 1 and t <= gains @ z. The
    cap on t makes every separated pair count, not only the easiest.
    """
    distinct, counts = np.unique(np.round(gains, 7), axis=0, return_counts=True)
    n, r = distinct.shape
    answer = optimize.linprog(
        np.concatenate([np.zeros(r), -counts / counts.sum()]),
        A_ub=sparse.hstack([sparse.csr_array(-distinct), sparse.eye_array(n)], format="csr"),
        b_ub=np.full(n, LOSES),
        bounds=[(-WIDE, WIDE)] * r + [(0, 1)] * n,
        method="highs",
    )
    if not answer.success or answer.x is None:
        return None
    z = np.asarray(answer.x[:r])
    along = gains @ z
    return z if along.max() > 10 * LOSES and along.min() >= -2 * LOSES else None
