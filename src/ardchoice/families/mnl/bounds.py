"""Rank and separation from the curvature at the end alone, by what curvature can be at most.

The variance of a number over alternatives is at most a quarter of its range squared, and at most J
times what it is with equal chances. So, for every β, with S = diag(u)^-½,

    H(β)_kk <= u_k = ¼ Σ_n w_n (range of x_nk)²,   S H(β) S ≼ D I,   H(β) ≼ J H(0),

and from S H(β) S ≽ ε I follow S H(0) S ≽ (ε / J) I and H(β) ≽ (ε / D) H(0): there is full rank at
zero, and no direction has lost its curvature since. Where this does not decide, a pass there does.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import Block, Design
from ardchoice.families.mnl.identification import SUSPECT
from ardchoice.families.mnl.separation import VANISHED
from ardchoice.numerics import is_definite, map_reduce


def proves_maximum(curvature: Floats, design: Design, blocks: Iterable[Block]) -> bool:
    """Whether curvature where Newton's method ended shows that the maximum is one, and finite.

    Parameters
    ----------
    curvature
        In block order; shape (D, D).
    design, blocks
        What was fitted.
    """
    weight = design.data.weight
    heaviest = 1.0 if weight is None else float(weight.max())
    most = heaviest * map_reduce(most_curvature, blocks)
    least = max(len(design.data.alternatives) * SUSPECT, len(most) * VANISHED)
    return is_definite(curvature - np.diag(least * most))


def most_curvature(block: Block) -> Floats:
    """No less than u, of a block without weights; shape (D,)."""
    out = np.empty(block.n_columns)
    for part in block.parts:
        # With zero elsewhere, the range of one number is its size; (a - b)² <= 2 (a² + b²).
        share = 0.25 if len(part.alternatives) == 1 else 0.5
        out[part.columns] = share * part.squares()
    return out
