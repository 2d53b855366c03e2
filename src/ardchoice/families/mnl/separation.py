"""Separation: a direction in which the likelihood rises for ever.

If, along v, no observed choice becomes less likely and some become ever more likely, the maximum
lies at infinity. Along such a direction the curvature vanishes as Newton's method runs after it,
which is how it is suspected; that no chosen alternative loses is how it is proved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import linalg, optimize, sparse

from ardchoice._types import Floats
from ardchoice.design import Block, Design, Part
from ardchoice.errors import SeparationError
from ardchoice.families.mnl.kernel import utilities
from ardchoice.numerics import NewtonFit, is_definite, map_reduce

VANISHED = 1e-5
"""Curvature along a direction, relative to that at zero, below which it is looked into."""
LOSES = 1e-4
"""Largest loss of any choice along the direction, relative to the size of what is compared: the
direction is known only as well as Newton's method has followed it."""
TRACE = 1e-3
"""Share of the largest coefficient (in standardised units) below which one takes no part."""
MOST_PAIRS = 20_000
"""Pairs that the linear programme looks at; its answer is checked on all of them."""
NAMED = 0.05
"""A coefficient is named from this share of the largest on (in standardised units)."""
SHOWN = 4
WIDE = 100.0
"""Bound on the weights of the suspects, whose gains are scaled to one."""


def check_separation(
    fit: NewtonFit, curvature_at_zero: Floats, design: Design, blocks: Iterable[Block]
) -> None:
    """Raise `SeparationError` naming the coefficients that diverge.

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
    suspects = vanished_directions(fit.curvature, curvature_at_zero)
    direction = _direction(suspects, blocks) if suspects.shape[1] else None
    if direction is None:
        return
    raise SeparationError(_explain(direction, np.abs(direction) / scale, design, blocks))


def vanished_directions(curvature: Floats, curvature_at_zero: Floats) -> Floats:
    """Directions along which the curvature is gone; shape (D, r), r of them."""
    if is_definite(curvature - VANISHED * curvature_at_zero):
        return np.empty((len(curvature), 0))
    scale = 1 / np.sqrt(np.diag(curvature_at_zero))
    values, vectors = linalg.eigh(
        curvature * scale * scale[:, None], curvature_at_zero * scale * scale[:, None]
    )
    suspects = vectors[:, values < VANISHED]
    # What a vector has only a trace of is what Newton's method has not yet left behind.
    size = np.abs(suspects)
    suspects[size < TRACE * size.max(axis=0, initial=0.0)] = 0.0
    return np.asarray(suspects * scale[:, None])


def _explain(direction: Floats, size: Floats, design: Design, blocks: Iterable[Block]) -> str:
    """Which coefficients run where; `size` compares them."""
    strong = np.flatnonzero(size >= NAMED * size.max())
    names = [
        f"'{design.names[design.order[k]]}' to {'plus' if direction[k] > 0 else 'minus'} infinity"
        for k in strong[np.argsort(-size[strong])]
    ]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    rows = int((_gains(direction[:, None], blocks) > LOSES).sum())
    concerned = "1 comparison" if rows == 1 else f"{rows} comparisons"
    return (
        f"The likelihood has no finite maximum: {', '.join(names[:SHOWN])}{more}. In the "
        f"{concerned} this concerns, the alternative it speaks for was always chosen (or the one "
        "it speaks against never). Merge the level with another, pool rare levels, or leave the "
        "term out; separation='allow' estimates all the same."
    )


def _gains(directions: Floats, blocks: Iterable[Block]) -> Floats:
    """X'v of the chosen minus that of every other available alternative; shape (pairs, r).

    Each pair relative to its own size, Σ_k |v_k| (|x_k| of the one + |x_k| of the other), so that
    an outlier does not make all other pairs look small. Pairs that no direction touches are left
    out.
    """
    return np.concatenate(map_reduce(partial(_block_gains, directions), blocks))


def _block_gains(directions: Floats, block: Block) -> list[Floats]:
    """Of one block; lists add up to longer ones."""
    other = np.arange(block.shape[0])[:, None] != block.choice
    if block.available is not None:
        other &= block.available
    gain, size = [], np.zeros(block.shape)
    for v in directions.T:
        u = utilities(v, block)
        gain.append((u.ravel()[block.picked] - u)[other])
        m = utilities(np.abs(v), _absolute(block))
        size = np.maximum(size, m.ravel()[block.picked] + m)
    touched = size[other] > 0
    stack = np.stack(gain, axis=-1)[touched]
    return [stack / size[other][touched][:, None]]


def _absolute(block: Block) -> Block:
    parts = tuple(Part(p.alternatives, p.columns, np.abs(p.x)) for p in block.parts)
    return replace(block, parts=parts)


def _direction(suspects: Floats, blocks: Iterable[Block]) -> Floats | None:
    """A direction within the suspects along which no choice loses and some gain, or None."""
    gains = _gains(suspects, blocks)
    if not len(gains):
        return None
    if gains.shape[1] == 1:
        sign = 1.0 if gains.sum() > 0 else -1.0
        along = sign * gains[:, 0]
        return sign * suspects[:, 0] if along.min() >= -LOSES and along.max() > LOSES else None
    z = _gaining_most(gains)
    return None if z is None else np.asarray(suspects @ z)


def _gaining_most(gains: Floats) -> Floats | None:
    """Weights z with gains @ z >= 0 everywhere and above zero in as many pairs as can be, or None.

    A linear programme after Konis (2007): maximise Σ t with 0 <= t <= 1 and t <= gains @ z. The
    cap on t makes every separated pair count, not only the easiest.
    """
    sample = gains
    if len(gains) > MOST_PAIRS:
        sample = gains[np.random.default_rng(0).choice(len(gains), MOST_PAIRS, replace=False)]
    distinct, counts = np.unique(np.round(sample, 7), axis=0, return_counts=True)
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
