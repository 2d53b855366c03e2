"""What a set of terms would reach, by a quadratic log-likelihood: small solves instead of refits.

On c + b'β - ½ β'Hβ a set s reaches c + ½ b_s' H_ss⁻¹ b_s. All terms that could come into a set are
scored at once: a term t adds ½ q' S⁻¹ q with S = H_tt - H_ts H_ss⁻¹ H_st and q = b_t - H_ts β_s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ardchoice.ard.quadratic import Quadratic
from ardchoice.selection.constraints import Chosen

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

COLLINEAR = 1e-10
"""Share of a column's curvature below which what the others leave of it is rounding."""


@dataclass(frozen=True, eq=False)
class _SameSize:
    """Terms with the same number of columns, K, and their own blocks of H."""

    terms: Ints
    columns: Ints  # (G, K)
    own: Floats  # (G, K, K)


def columns_of(columns: Sequence[Ints], chosen: Iterable[int]) -> Ints:
    """The columns of a set of terms, ascending; `columns` has those of every term."""
    return np.sort(np.concatenate([np.arange(0), *(columns[t] for t in chosen)]))


class Surrogate:
    """A quadratic over the columns of T terms.

    Parameters
    ----------
    quadratic
        D columns.
    columns
        Those of every term.
    """

    def __init__(self, quadratic: Quadratic, columns: Sequence[Ints]) -> None:
        self.columns = columns
        self.h, self.b, self.constant = quadratic.curvature, quadratic.b, quadratic.constant
        sizes = np.array([len(c) for c in columns])
        self.sizes: list[_SameSize] = []
        for size in np.unique(sizes):
            terms = np.flatnonzero(sizes == size)
            at = np.array([columns[int(t)] for t in terms])
            own = self.h[at[:, :, None], at[:, None, :]]
            own[:, np.arange(size), np.arange(size)] *= 1 + COLLINEAR
            self.sizes.append(_SameSize(terms, at, own))

    def beta(self, chosen: Chosen) -> Floats:
        """Where the quadratic has its maximum over a set; zero outside; shape (D,)."""
        at = columns_of(self.columns, chosen)
        out = np.zeros(len(self.b))
        if len(at):
            out[at] = linalg.solve(self.h[np.ix_(at, at)], self.b[at], assume_a="pos")
        return out

    def reached(self, sets: Sequence[Chosen]) -> Floats:
        """The log-likelihood that every set reaches; shape (len(sets),)."""
        out = np.empty(len(sets))
        columns = [columns_of(self.columns, s) for s in sets]
        sizes = np.array([len(c) for c in columns])
        for size in np.unique(sizes):
            which = np.flatnonzero(sizes == size)
            at = np.array([columns[i] for i in which]).reshape(len(which), size)
            matrix = self.h[at[:, :, None], at[:, None, :]]
            diagonal = np.arange(size)
            matrix[:, diagonal, diagonal] *= 1 + COLLINEAR
            right = self.b[at]
            beta = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
            out[which] = self.constant + 0.5 * np.einsum("gk,gk->g", right, beta)
        return out

    def _solved(self, chosen: Chosen) -> tuple[Ints, Floats, Floats]:
        """The columns of a set, H_ss⁻¹ and β_s."""
        at = columns_of(self.columns, chosen)
        if not len(at):
            return at, np.empty((0, 0)), np.empty(0)
        inverse = linalg.inv(self.h[np.ix_(at, at)], check_finite=False)
        return at, inverse, inverse @ self.b[at]

    def losses(self, chosen: Chosen) -> dict[int, float]:
        """How much a set loses without each of its terms."""
        at, inverse, beta = self._solved(chosen)
        out = {}
        for t in chosen:
            mine = np.searchsorted(at, np.sort(self.columns[t]))
            own = beta[mine]
            out[t] = 0.5 * float(own @ np.linalg.solve(inverse[np.ix_(mine, mine)], own))
        return out

    def additions(self, chosen: Chosen) -> tuple[float, Floats]:
        """What a set reaches, and how much every term would add to it; shape (T,)."""
        at, inverse, beta = self._solved(chosen)
        gains = np.zeros(len(self.columns))
        cross = self.h[:, at]
        reached = self.constant + 0.5 * float(self.b[at] @ beta)
        rest, spread = self.b - cross @ beta, cross @ inverse
        for group in self.sizes:
            q = rest[group.columns]
            left = group.own - spread[group.columns] @ np.swapaxes(cross[group.columns], 1, 2)
            gains[group.terms] = 0.5 * _quadratic_forms(left, q)
        gains[list(chosen)] = 0.0
        return reached, gains


def _quadratic_forms(matrices: Floats, q: Floats) -> Floats:
    """Q' S⁻¹ q for a stack of S, zero where S is no more than rounding."""
    if q.shape[1] == 1:
        s = matrices[:, 0, 0]
        return np.asarray(np.where(s > 0, q[:, 0] ** 2 / np.where(s > 0, s, 1.0), 0.0))
    try:
        solved = np.linalg.solve(matrices, q[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        solved = (np.linalg.pinv(matrices, hermitian=True) @ q[:, :, None])[:, :, 0]
    return np.asarray(np.maximum(np.einsum("gk,gk->g", q, solved), 0.0))
