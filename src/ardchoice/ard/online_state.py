"""`OnlineState`: what a fit keeps for going on from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.previous_data import PreviousData
from ardchoice.ard.quadratic import Posterior, Quadratic, deviations, expand
from ardchoice.ard.standardization import BasisChange, ColumnMoments, Standardization, change_basis
from ardchoice.data import ChoiceData
from ardchoice.design import Design, Encoding
from ardchoice.errors import ArdchoiceError
from ardchoice.families import utilities
from ardchoice.space import Term

DRAWS = 16
"""Moves of the coefficients from which the reach of a row is estimated: it need not be exact, since
any will do, only more or less well."""
SELDOM = 0.05
"""Added to the reach of a row, in units of the mean: none is so sure that it may never be drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class OnlineState:
    """What is kept of data that were fitted; D standardised columns.

    Attributes
    ----------
    terms
        The candidates.
    encoding
        How data become columns.
    spread, standard
        Of the columns, over all data so far, and what standardised them.
    mean
        Of the posterior; shape (D,).
    quadratic
        The log-likelihood of all data so far around it.
    base
        What is left of it without that of the rows.
    rows
        Data that are kept, weighted to stand for those that are not.
    """

    terms: tuple[Term, ...]
    encoding: Encoding
    spread: ColumnMoments
    standard: Standardization
    mean: Floats
    quadratic: Quadratic
    base: Quadratic
    rows: tuple[ChoiceData, ...]

    def __repr__(self) -> str:
        n = sum(map(len, self.rows))
        return f"<Memory: {len(self.terms)} terms, {n} choice situations kept>"

    def likelihoods(self, standard: Standardization) -> tuple[FamilyLikelihood, ...]:
        """Of the rows that are kept."""
        return tuple(
            FamilyLikelihood(Design(rows, self.encoding), standard.centre, standard.scale)
            for rows in self.rows
        )

    def earlier(self, standard: Standardization) -> PreviousData:
        """The log-likelihood on columns that are standardised otherwise."""
        change = change_basis(self.standard, standard, self.encoding)
        return PreviousData(
            _turned(self.base, change),
            self.likelihoods(standard),
            change.coefficients(self.mean),
            _turned(self.quadratic, change),
        )

    def base_on(self, standard: Standardization) -> Quadratic:
        """The base, on columns that are standardised otherwise."""
        return _turned(self.base, change_basis(self.standard, standard, self.encoding))


def _turned(quadratic: Quadratic, change: BasisChange) -> Quadratic:
    """The same log-likelihood of other coefficients."""
    return Quadratic(
        quadratic.constant, change.linear(quadratic.b), change.curvature(quadratic.curvature)
    )


# -- Fewer rows ----------------------------------------------------------------------------------


def draw_memory(
    memory: OnlineState, post: Posterior, share: float, rng: np.random.Generator
) -> OnlineState:
    """The same with a share of its rows, drawn by how far their utilities may yet move.

    A quadratic errs on a row by the third power of the move of its utilities and more, so that few
    rows (rare levels, long trips) make most of the error: these are kept, of the others a few.

    Parameters
    ----------
    memory
    post
        Of the fit that is remembered.
    share
        Between 0 and 1.
    rng
    """
    if not 0 <= share <= 1:
        raise ArdchoiceError(f"A share of rows lies between 0 and 1, not {share}.")
    if share == 1:
        return memory
    kept: tuple[ChoiceData, ...] = ()
    if share > 0:
        away = _draws(post, rng)
        sizes = [
            rows.weights * (reach(likelihood, away) + SELDOM)
            for rows, likelihood in zip(
                memory.rows, memory.likelihoods(memory.standard), strict=True
            )
        ]
        kept = _draw(memory.rows, inclusion(np.concatenate(sizes), share), rng)
    smaller = replace(memory, rows=kept, base=memory.quadratic)
    for some in smaller.likelihoods(memory.standard):
        # Value, slope and curvature at the mean stay those of all rows.
        smaller = replace(smaller, base=smaller.base - expand(some.sums(memory.mean), memory.mean))
    return smaller


def _draws(post: Posterior, rng: np.random.Generator) -> Floats:
    """Deviations of the coefficients from their mean; shape (DRAWS, D)."""
    out = np.zeros((DRAWS, len(post.mean)))
    out[:, post.columns] = deviations(post, DRAWS, rng)
    return out


def reach(likelihood: FamilyLikelihood, away: Floats) -> Floats:
    """Mean square of the largest move between utilities of a row, relative to all; shape (N,).

    Parameters
    ----------
    likelihood
    away
        Moves of the coefficients; shape (R, D).
    """
    parts = []
    for block in likelihood.blocks:
        total = np.zeros(block.shape[1])
        for move in away[:, likelihood.design.order]:
            v = utilities(move, block)
            here = True if block.available is None else block.available
            high = v.max(axis=0, where=here, initial=-np.inf)
            total += (high - v.min(axis=0, where=here, initial=np.inf)) ** 2
        parts.append(total)
    out = np.concatenate(parts)
    return np.asarray(out / max(float(out.mean()), 1e-300))


def inclusion(sizes: Floats, share: float) -> Floats:
    """Probabilities of being kept, in proportion to size but at most one; shape (N,)."""
    sure = np.zeros(len(sizes), dtype=bool)
    while True:
        left = max(share * len(sizes) - sure.sum(), 0.0)
        p = np.where(sure, 1.0, left * sizes / max(float(sizes[~sure].sum()), 1e-300))
        if not (p > 1).any():
            return p
        sure |= p >= 1


def _draw(
    rows: tuple[ChoiceData, ...], p: Floats, rng: np.random.Generator
) -> tuple[ChoiceData, ...]:
    """Rows with given probabilities, evenly through the data, weighted by their inverse."""
    edges = np.floor(np.cumsum(p) + rng.random())
    chosen = np.diff(edges, prepend=0.0) > 0
    out, start = [], 0
    for data in rows:
        here = slice(start, start + len(data))
        start = here.stop
        if chosen[here].any():
            some = data.take(chosen[here])
            out.append(replace(some, weight=some.weights / p[here][chosen[here]]))
    return tuple(out)
