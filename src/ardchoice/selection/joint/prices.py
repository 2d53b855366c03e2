"""What terms cost once tastes are integrated out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.selection.constraints import TermSet
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.surrogate import columns_of

COLLINEAR_SHARE = 1e-8
"""Share of a column's information below which what the others leave of it is rounding."""
RIDGE_SHARE = 1e-10
"""Of its information that is added to every column of a set, should two of them be alike."""


def remaining_shares(
    conditional: Floats, marginal: Floats, columns: Sequence[Ints], selected: TermSet
) -> Floats:
    """ρ: the share of every term's information that remains once tastes are integrated out; (T,).

    ρ_t = tr(S_t,cond⁻¹ S_t,marg) / K, S_t being the information on a term given the others of the
    selected set.
    """
    at = columns_of(columns, selected)
    place = np.full(len(conditional), -1)
    place[at] = np.arange(len(at))
    cond, marg = (_Given(h, at) for h in (conditional, marginal))
    out = np.ones(len(columns))
    for t, mine in enumerate(columns):
        inside = t in selected
        a = cond.inside(place[mine]) if inside else cond.outside(mine)
        b = marg.inside(place[mine]) if inside else marg.outside(mine)
        own = np.diag(conditional)[mine]
        root = 1 / np.sqrt(np.where(own > 0, own, 1.0))
        values, vectors = np.linalg.eigh(a * root[:, None] * root)
        kept = values > COLLINEAR_SHARE
        if kept.any():
            turn = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
            out[t] = float(np.einsum("ik,ij,jk->", turn, b, turn)) / kept.sum()
    return np.asarray(np.clip(out, 0.0, 1.0))


class _Given:
    """Schur complements given the columns of a set."""

    def __init__(self, h: Floats, at: Ints) -> None:
        self.h, self.at = h, at
        inside = h[np.ix_(at, at)].copy()
        inside.flat[:: len(at) + 1] *= 1 + RIDGE_SHARE
        self.inverse = np.linalg.inv(inside)

    def inside(self, places: Ints) -> Floats:
        """Of a term of the set, given the others."""
        return np.asarray(np.linalg.inv(self.inverse[np.ix_(places, places)]))

    def outside(self, mine: Ints) -> Floats:
        """Of another term, given the set."""
        cross = self.h[np.ix_(self.at, mine)]
        return np.asarray(self.h[np.ix_(mine, mine)] - cross.T @ self.inverse @ cross)


def effective_rows(shares: Floats, situations: int, persons: int) -> Floats:
    """n_t: independent answers that the remaining information of every term is worth; (T,)."""
    return np.asarray(np.clip(situations * shares, min(persons, situations), situations))


def with_effective_rows(plain: Criterion, columns: Ints, rows: Floats) -> Criterion:
    """A criterion in which a term of K columns costs K ln n_t.

    The surcharge that keeps noise of a large space out is part of the plain criterion's prices.
    """
    w = plain.per_coefficient
    weight = w / np.log(plain.n)
    price = weight * columns * np.log(rows) + plain.surcharge
    return replace(plain, effective=price / w, design_effect=None)


def design_effects_left(
    h: Floats, meat: Floats, columns: Sequence[Ints], selected: TermSet
) -> Floats:
    """tr(S⁻¹J)/K of every term given the others of a set; shape (T,).

    Parameters
    ----------
    h
        The information that remains; shape (D, D).
    meat
        Σ s s' of the persons' marginal scores; shape (D, D).
    columns, selected
    """
    out = np.ones(len(columns))
    for t, mine in enumerate(columns):
        at = columns_of(columns, selected - {t})
        inside = h[np.ix_(at, at)].copy()
        inside.flat[:: len(at) + 1] *= 1 + RIDGE_SHARE
        away = np.linalg.solve(inside, h[np.ix_(at, mine)])
        s = h[np.ix_(mine, mine)] - away.T @ h[np.ix_(at, mine)]
        cross = away.T @ meat[np.ix_(at, mine)]
        j = meat[np.ix_(mine, mine)] - cross - cross.T + away.T @ meat[np.ix_(at, at)] @ away
        own = np.diag(h)[mine]
        root = 1 / np.sqrt(np.where(own > 0, own, 1.0))
        values, vectors = np.linalg.eigh(s * root[:, None] * root)
        kept = values > COLLINEAR_SHARE
        if kept.any():
            turn = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
            out[t] = float(np.einsum("ik,ij,jk->", turn, j, turn)) / kept.sum()
    return out
