"""What a set of terms would reach, by a quadratic log-likelihood: small solves instead of refits.

On c + b'β - ½ β'Hβ a set s reaches c + ½ b_s' H_ss⁻¹ b_s. All terms that could come into a set are
scored at once: a term t adds ½ q' S⁻¹ q with S = H_tt - H_ts H_ss⁻¹ H_st and q = b_t - H_ts β_s.
Where columns m leave s first, S and q are not computed again: with P = H_ss⁻¹ and F = H_ts P,

    S + F_m P_mm⁻¹ F_m'   and   q + F_m P_mm⁻¹ β_m;

what is reached falls by ½ β_m' P_mm⁻¹ β_m.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ardchoice._types import Floats, Ints
from ardchoice.ard import Quadratic
from ardchoice.selection.constraints import TermSet

COLLINEAR_SHARE = 1e-10
"""Share of a column's curvature below which what the others leave of it is rounding."""


@dataclass(frozen=True, eq=False)
class _SameSize:
    """Terms with the same number of columns, K, and their own blocks of H."""

    terms: Ints
    columns: Ints  # (G, K)
    own: Floats  # (G, K, K)


def columns_of(columns: Sequence[Ints], selected: Iterable[int]) -> Ints:
    """The columns of a set of terms, ascending; `columns` has those of every term."""
    return np.sort(np.concatenate([np.arange(0), *(columns[t] for t in selected)]))


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
            own[:, np.arange(size), np.arange(size)] *= 1 + COLLINEAR_SHARE
            self.sizes.append(_SameSize(terms, at, own))
        self._lists = [c.tolist() for c in columns]
        self._latest: tuple[TermSet, tuple[Ints, Floats, Floats]] | None = None

    def beta(self, selected: TermSet) -> Floats:
        """Where the quadratic has its maximum over a set; zero outside; shape (D,)."""
        at = columns_of(self.columns, selected)
        out = np.zeros(len(self.b))
        if len(at):
            out[at] = np.linalg.solve(self.h[at[:, None], at], self.b[at])
        return out

    def reached(self, sets: Sequence[TermSet]) -> Floats:
        """The log-likelihood that every set reaches; shape (len(sets),)."""
        out = np.empty(len(sets))
        lists = self._lists
        columns = [[c for t in s for c in lists[t]] for s in sets]
        sizes = np.array([len(c) for c in columns])
        for size in np.unique(sizes):
            which = np.flatnonzero(sizes == size)
            at = np.array([columns[i] for i in which], dtype=np.intp).reshape(len(which), size)
            matrix = self.h[at[:, :, None], at[:, None, :]]
            diagonal = np.arange(size)
            matrix[:, diagonal, diagonal] *= 1 + COLLINEAR_SHARE
            right = self.b[at]
            beta = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
            out[which] = self.constant + 0.5 * np.einsum("gk,gk->g", right, beta)
        return out

    def losses(self, selected: TermSet) -> dict[int, float]:
        """How much a set loses without each of its terms."""
        at, inverse, beta = self._solved(selected)
        out = {}
        for t in selected:
            mine = np.searchsorted(at, self.columns[t])
            own = beta[mine]
            if len(own) == 1:
                out[t] = 0.5 * float(own[0] ** 2 / inverse[mine[0], mine[0]])
            else:
                solved = np.linalg.solve(inverse[mine[:, None], mine], own)
                out[t] = 0.5 * float(own @ solved)
        return out

    def additions(self, selected: TermSet) -> tuple[float, Floats]:
        """What a set reaches, and how much every term would add to it; shape (T,)."""
        reached, gains = self.exchanges(selected, [selected])
        return float(reached[0]), gains[0]

    def exchanges(self, selected: TermSet, bases: Sequence[TermSet]) -> tuple[Floats, Floats]:
        """What parts of a set reach, and how much every term outside of it would add to them.

        Parameters
        ----------
        selected
        bases
            R sets with no term that `selected` does not have.

        Returns
        -------
        reached
            Shape (R,).
        gains
            Zero for the terms of `selected`; shape (R, T).
        """
        at, inverse, beta = self._solved(selected)
        cross = self.h[:, at]
        spread = cross @ inverse
        rest = np.tile(self.b - cross @ beta, (len(bases), 1))
        reached = np.full(len(bases), self.constant + 0.5 * float(self.b[at] @ beta))
        # 1 · Whatever leaves.
        back: list[tuple[Floats, Floats]] = []
        for r, base in enumerate(bases):
            m = np.searchsorted(at, columns_of(self.columns, selected - base))
            away = spread[:, m]
            solved = np.linalg.solve(inverse[m[:, None], m], np.column_stack((away.T, beta[m])))
            back.append((away, np.asarray(solved[:, :-1].T)))
            rest[r] += away @ solved[:, -1]
            reached[r] -= 0.5 * float(beta[m] @ solved[:, -1])
        # 2 · Whatever comes in, all terms of a size at once.
        gains = np.zeros((len(bases), len(self.columns)))
        for group in self.sizes:
            k = group.columns
            left = group.own - spread[k] @ np.swapaxes(cross[k], 1, 2)
            lefts = np.stack([left + a[k] @ np.swapaxes(s[k], 1, 2) for a, s in back])
            forms = _quadratic_forms(
                lefts.reshape(-1, *left.shape[1:]), rest[:, k].reshape(-1, k.shape[1])
            )
            gains[:, group.terms] = 0.5 * forms.reshape(len(bases), -1)
        gains[:, list(selected)] = 0.0
        return reached, gains

    def _solved(self, selected: TermSet) -> tuple[Ints, Floats, Floats]:
        """The columns of a set, H_ss⁻¹ and β_s."""
        if self._latest is None or self._latest[0] != selected:
            at = columns_of(self.columns, selected)
            inverse = np.empty((0, 0))
            if len(at):
                inverse = linalg.inv(self.h[at[:, None], at], check_finite=False)
            self._latest = (selected, (at, inverse, inverse @ self.b[at]))
        return self._latest[1]


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
