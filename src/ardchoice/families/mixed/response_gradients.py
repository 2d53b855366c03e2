"""How responses to an attribute change with the parameters: errors of elasticities.

With nodes r of the distribution of tastes, ∂P_j/∂x_i = (1/R) Σ_r P_jr (1[i=j] - P_ir) u_ir, where
u_i = ∂V_i/∂x_i. A parameter changes utilities by x_c f_r, a column times a feature of the node, so
that sums over situations need one product of columns and nodes for every pair (i, j).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import Block
from ardchoice.families.mixed.prediction import (
    Chunk,
    Tastes,
    acting_on,
    chunks,
    fixed_coefficients,
    linear,
    slope_columns,
)
from ardchoice.families.mixed.structure import Structure
from ardchoice.numerics import single_blas_thread


@single_blas_thread()
def response_gradient(
    block: Block,
    structure: Structure,
    phi: Floats,
    tastes: Tastes,
    slopes: Block,
    pairs: Sequence[tuple[int, int]],
    weights: Floats,
) -> Floats:
    """Σ_n a_n ∂²P_nj/∂x_ni∂φ of pairs (i, j); shape (S, pairs, D + M).

    Parameters
    ----------
    block, structure, phi, tastes
    slopes
        The derivatives of all columns by the attribute.
    pairs
    weights
        a; shape (S, B).
    """
    acting, fixed = acting_on(structure, tastes), fixed_coefficients(structure, phi)
    n_nodes = tastes.beta.shape[1]
    features = np.ones((structure.size, n_nodes))
    for k, feature in enumerate(acting.features):
        if feature is not None:
            features[k] = feature
    # In WTP space the index of utility stands behind the columns.
    of_cost = sorted(acting.of_cost)
    column = acting.column.copy()
    out = np.zeros((len(weights), len(pairs), structure.size))
    for chunk in chunks(block, structure, phi, tastes):
        column[of_cost] = chunk.x.shape[-1]
        push = slope_columns(slopes, structure, chunk.rows)
        for s, weight in enumerate(weights[:, chunk.rows]):
            if not weight.any():
                continue
            sums = _Sums.of_rows(chunk, push, tastes, weight)
            slope = {i: linear(sums.push[i], structure, fixed, tastes) for i in dict(pairs)}
            for k, (i, j) in enumerate(pairs):
                by_column = sums.of(i, j, slope[i])
                out[s, k] += np.einsum("pr,pr->p", features, by_column[column]) / n_nodes
    return out


@dataclass(frozen=True, eq=False)
class _Sums:
    """Weighted sums over rows.

    Attributes
    ----------
    x, push
        Columns and their derivatives; shape (J, b, E).
    p
        Probabilities at every node; shape (J, b, R).
    weight
        Shape (b,).
    index, index_push
        In WTP space, the index of utility and its derivative; shape (J, b, R). Else None.
    """

    x: Floats
    push: Floats
    p: Floats
    weight: Floats
    index: Floats | None
    index_push: Floats | None

    @classmethod
    def of_rows(cls, chunk: Chunk, push: Floats, tastes: Tastes, weight: Floats) -> _Sums:
        """Of the rows of a chunk that have a weight."""
        x, p = chunk.x, chunk.p
        if not weight.all():
            inside = np.flatnonzero(weight)
            x, p, push, weight = x[:, inside], p[:, inside], push[:, inside], weight[inside]
        if tastes.every is None or tastes.alpha is None:
            return cls(x, push, p, weight, None, None)
        index = tastes.every / tastes.alpha
        return cls(x, push, p, weight, x @ index, push @ index)

    def of(self, i: int, j: int, slope: Floats) -> Floats:
        """By a change of utility by a column at a node, and by the index; shape (E + 1, R).

        P_j (1[i=j] - P_i) u_i changes by (1[i=j] - P_i) u_i dP_j - P_j u_i dP_i
        + P_j (1[i=j] - P_i) du_i, with dP_j = P_j (x_j - Σ_l P_l x_l).
        """
        p, x = self.p, self.x
        plain = self.weight[:, None] * p[j] * ((i == j) - p[i])
        first = plain * slope
        second = self.weight[:, None] * p[j] * p[i] * slope
        moved = (second - first) * p
        moved[j] += first
        moved[i] -= second
        flat = x.reshape(-1, x.shape[-1])
        by_column = flat.T @ moved.reshape(len(flat), -1) + self.push[i].T @ plain
        if self.index is None or self.index_push is None:
            return np.asarray(by_column)
        by_index = (moved * self.index).sum(axis=(0, 1)) + (plain * self.index_push[i]).sum(axis=0)
        return np.concatenate([by_column, by_index[None]])
