"""Every candidate nest of a multinomial logit, screened in one pass.

At the multinomial logit, where μ = 1, the score of the scale of a nest m is

    u_m = F_m + 1[y in m] log(P_y / P_m),   F_m = P_m log P_m - Σ_{j in m} P_j log P_j

with P_m = Σ_{j in m} P_j. Its variance given the data is Σ_{j in m} P_j log²(P_j/P_m) - F_m², its
covariance with the scores of the coefficients F_m x̄ + Σ_{j in m} P_j log(P_j/P_m) x_j. What is left
of u once the scores of the coefficients are projected out, summed by person, gives the test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from ardchoice._types import Bools, Floats
from ardchoice.design import Block
from ardchoice.families.mnl.kernel import (
    choice_probabilities,
    evaluate_with_scores,
    utilities,
    weighted_columns,
)
from ardchoice.families.persons import PersonRows, person_rows
from ardchoice.numerics import map_reduce, single_blas_thread

MOST_FOR_SUBSETS = 10
"""Alternatives up to which every subset is screened, and not only pairs."""
CHUNK_NUMBERS = 1 << 21
"""Nests times rows that are computed together: 16 MB an array."""

Subset = tuple[int, ...]
"""Positions of the alternatives of a candidate nest, ascending."""


def candidate_subsets(n_alternatives: int, largest: int | None = None) -> tuple[Subset, ...]:
    """Candidate nests: every subset of two alternatives or more but not all; of many, the pairs."""
    most = min(largest or n_alternatives, n_alternatives - 1)
    if largest is None and n_alternatives > MOST_FOR_SUBSETS:
        most = 2
    return tuple(
        subset
        for size in range(2, most + 1)
        for subset in combinations(range(n_alternatives), size)
    )


@dataclass(frozen=True, eq=False)
class Screened:
    """Tests of S candidate nests; shape (S,) each.

    Attributes
    ----------
    score
        Σ u.
    information
        Of the scale, given the coefficients: it would be the variance of the score if answers
        were independent.
    variance
        Of the score, clustered by person.
    """

    subsets: tuple[Subset, ...]
    score: Floats
    information: Floats
    variance: Floats

    @property
    def z(self) -> Floats:
        """Score test; positive where μ would rise above 1. Zero where nothing can be tested."""
        known = self.variance > 0
        root = np.sqrt(np.where(known, self.variance, 1.0))
        return np.where(known, self.score / root, 0.0)

    @property
    def scale(self) -> Floats:
        """μ after one Newton step."""
        known = self.information > 0
        return 1 + np.where(known, self.score / np.where(known, self.information, 1.0), 0.0)

    @property
    def gain(self) -> Floats:
        """Log-likelihood that the quadratic promises for this nest alone."""
        return 0.5 * self.score * (self.scale - 1)

    @property
    def design_effect(self) -> Floats:
        """How much larger the variance is than with independent answers, at least 1."""
        known = self.information > 0
        ratio = self.variance / np.where(known, self.information, 1.0)
        return np.where(known, np.maximum(1.0, ratio), 1.0)


def screen_nests(
    beta: Floats, blocks: Iterable[Block], subsets: Sequence[Subset], n_alternatives: int
) -> Screened:
    """One pass over the data.

    Parameters
    ----------
    beta
        Of the multinomial logit, in block order; shape (D,).
    blocks
        That hold whole persons.
    subsets
        S candidate nests.
    n_alternatives
    """
    members = np.zeros((len(subsets), n_alternatives), dtype=bool)
    for row, subset in zip(members, subsets, strict=True):
        row[list(subset)] = True
    with single_blas_thread():
        found = map_reduce(_ScreenMeasure(beta, members), blocks)
    # Scale by the diagonal first: what is collinear has been refused by estimation.
    slopes = np.linalg.solve(found.hessian, found.crossed.T).T
    information = found.expected - np.einsum("sd,sd->s", found.crossed, slopes)
    variance = (
        found.squares
        - 2 * np.einsum("sd,sd->s", slopes, found.products)
        + np.einsum("sd,de,se->s", slopes, found.meat, slopes)
    )
    floor = IDENTIFIED * np.maximum(found.expected, 1e-300)
    is_known = information > floor
    return Screened(
        tuple(subsets),
        score=np.where(is_known, found.score - slopes @ found.gradient, 0.0),
        information=np.where(is_known, information, 0.0),
        variance=np.where(is_known, variance, 0.0),
    )


IDENTIFIED = 1e-8
"""Share of the information of a scale that the coefficients must leave: else it is collinear."""


@dataclass(frozen=True, eq=False)
class _ScreenSums:
    """Sums over persons; s are the scores of the D coefficients.

    Attributes
    ----------
    score, squares, expected
        Σ u, Σ u² with u summed by person, and the variance of u by the model; shape (S,).
    products, crossed
        Σ u s', and covariances by the model; shape (S, D).
    gradient, meat, hessian
        Σ s, Σ s s', and H; (D,), (D, D), (D, D).
    """

    score: Floats
    squares: Floats
    expected: Floats
    products: Floats
    crossed: Floats
    gradient: Floats
    meat: Floats
    hessian: Floats

    def __add__(self, other: _ScreenSums) -> _ScreenSums:
        return _ScreenSums(
            *(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )


@dataclass(frozen=True, eq=False)
class _ScreenMeasure:
    """Of a block; can be sent to another process."""

    beta: Floats
    members: Bools

    def __call__(self, block: Block) -> _ScreenSums:
        sums, each = evaluate_with_scores(self.beta, block)
        p = choice_probabilities(utilities(self.beta, block), block.available).p
        rows = person_rows(block)
        by_person = rows.sums(each)
        step = max(1, CHUNK_NUMBERS // max(1, block.shape[1]))
        pieces = [
            _screen_some(p, block, self.members[k : k + step], by_person, rows)
            for k in range(0, len(self.members), step)
        ]
        stacked = [np.concatenate(column) for column in zip(*pieces, strict=True)]
        score, squares, expected, products, crossed = stacked
        return _ScreenSums(
            score, squares, expected, products, crossed,
            sums.gradient, by_person @ by_person.T, sums.curvature,
        )  # fmt: skip


def _screen_some(
    p: Floats, block: Block, members: Bools, by_person: Floats, rows: PersonRows
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Σ u, Σ u², variance by the model, Σ u s', covariance with s by the model, of some nests."""
    # A nest holds few of many alternatives.
    inside = sparse.csr_array(members.astype(float))
    weight = np.ones(block.shape[1]) if block.weight is None else block.weight
    log_p = np.log(np.where(p > 0, p, 1.0))
    entropy = p * log_p
    share, entropies = inside @ p, inside @ entropy
    # Where nothing of a nest is available its share is zero, and so is all below.
    log_share = np.log(np.where(share > 0, share, 1.0))
    within = entropies - share * log_share  # Σ P log(P / P_m) = -F
    chosen_log = log_p.ravel()[block.picked]
    u = members[:, block.choice] * (chosen_log - log_share) - within
    spread = inside @ (entropy * log_p) - log_share * (2 * entropies - share * log_share)
    expected = (spread - within**2) @ weight
    mean = weighted_columns(p, block)
    crossed = -(within * weight) @ mean.T + inside @ _sums_by_alternative(entropy * weight, block)
    for j in range(len(p)):
        having = np.flatnonzero(members[:, j])
        if len(having):
            weighted = log_share[having] * (p[j] * weight)
            for part in block.parts:
                if j in part.alternatives:
                    x = part.x[:, part.alternatives.index(j)]
                    crossed[having, part.columns] -= weighted @ x.T
    u = u * weight
    summed = rows.sums(u)
    squares = np.einsum("sn,sn->s", summed, summed)
    return u.sum(axis=1), squares, expected, summed @ by_person.T, crossed


def _sums_by_alternative(weights: Floats, block: Block) -> Floats:
    """Σ over rows of weights times columns, alternative by alternative; shape (J, D)."""
    out = np.zeros((block.shape[0], block.n_columns))
    for part in block.parts:
        for place, j in enumerate(part.alternatives):
            out[j, part.columns] = part.x[:, place] @ weights[j]
    return out
