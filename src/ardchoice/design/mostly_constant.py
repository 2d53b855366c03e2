"""Columns that are constant but for a few rows: interactions with a covariate of many levels.

Centred, such a column has no zeros: x = o + z with o the same in nearly every row and z sparse.
With weights w per row, products of two sets of columns are then

    Σ_n w_n x_n x̃_n' = o õ' Σ w + o (Z̃ w)' + (Z w) õ' + Z diag(w) Z̃',

and the last is as cheap as z has few entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ardchoice._types import Floats

FEWEST_COLUMNS = 128
"""Columns of a part from which it is looked at: fewer are multiplied faster as they are."""
MOST_FILLED = 0.08
"""Share of rows where z may differ from zero: a sparse product takes some ten times longer for
every number of it than a dense one."""


@dataclass(frozen=True, eq=False)
class MostlyConstant:
    """K columns over B rows: some as they are, others as a constant and what differs from it.

    Attributes
    ----------
    full
        Which columns are kept as they are; shape (F,).
    dense
        These; shape (F, B).
    constant
        o, zero for these; shape (K,).
    differs
        z, empty for these; shape (K, B).
    """

    full: npt.NDArray[np.intp]
    dense: Floats
    constant: Floats
    differs: sparse.csr_array

    @cached_property
    def by_row(self) -> sparse.csr_array:
        """Z', shape (B, K)."""
        return sparse.csr_array(self.differs.T)

    def times(self, dense: Floats) -> Floats:
        """Σ_n x_n d_n' with some dense columns of shape (F, B); shape (K, F)."""
        out = self.differs @ dense.T
        out += np.outer(self.constant, dense.sum(axis=1))
        out[self.full] = self.dense @ dense.T
        return np.asarray(out)

    def products(self, other: MostlyConstant, weight: Floats) -> Floats:
        """Σ_n w_n x_n x̃_n'; shape (K, K̃)."""
        z = self.differs
        scaled = sparse.csr_array((z.data * weight[z.indices], z.indices, z.indptr), z.shape)
        left = np.stack([self.constant, scaled.sum(axis=1)], axis=1)
        right = np.stack([other.differs @ weight + weight.sum() * other.constant, other.constant])
        out = left @ right
        both = (scaled @ other.by_row).tocoo()
        out[both.row, both.col] += both.data
        out[:, other.full] = self.times(other.dense * weight)
        out[self.full] = other.times(self.dense * weight).T
        return np.asarray(out)


def mostly_constant(x: Floats, counts: npt.NDArray[np.bool_] | None) -> MostlyConstant | None:
    """Columns of shape (K, B) that way; None where that is no gain.

    Parameters
    ----------
    x
    counts
        Rows that do not have weight zero; shape (B,). None for all.
    """
    if len(x) < FEWEST_COLUMNS:
        return None
    rows = np.arange(x.shape[1]) if counts is None else np.flatnonzero(counts)
    if len(rows) < 3:
        return None
    # The value that two of three rows have: where a column is nearly constant, that is it.
    first, second, third = x[:, rows[0]], x[:, rows[len(rows) // 2]], x[:, rows[-1]]
    agree = (first == second) | (first == third) | (second == third)
    fewest = max(FEWEST_COLUMNS, len(x) // 2)
    if agree.sum() < fewest:
        return None
    constant = np.where(first == second, first, third)
    differs = x != constant[:, None]
    if counts is not None:
        differs &= counts
    few = differs.sum(axis=1) <= MOST_FILLED * x.shape[1]
    if few.sum() < fewest:
        return None
    full = np.flatnonzero(~few)
    constant[full], differs[full] = 0.0, False
    column, row = np.nonzero(differs)
    values = x[column, row] - constant[column]
    z = sparse.csr_array((values, (column, row)), shape=x.shape)
    return MostlyConstant(full, x[full], constant, z)
