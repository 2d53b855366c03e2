"""The posterior of a quadratic log-likelihood, c + b'β - ½ β'Hβ, and what it says of every group.

Prior β ~ N(0, Λ), one λ per group, flat where free. With A the active columns:

    Σ = (H_AA + Λ⁻¹)⁻¹,   μ = Σ b_A,
    log evidence = c + ½ b'Σb - ½ log|H_AA + Λ⁻¹| - ½ Σ log λ   (up to a constant if some are free).

Were q(β) = Π N(μ, c²), as in the paper, μ would be the same, c² = 1 / (h + 1/λ) with h = diag H,
and the bound, at its best over μ and c, the same expression with log|H_AA + Λ⁻¹| replaced by
Σ log(h + 1/λ): never more than the evidence, and maximised by the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ardchoice._types import Floats
from ardchoice.ard.groups import Groups
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import Sums

MANY_ACTIVE = 300
"""Active columns from which triangular systems are solved rather than multiplied with Σ."""
Kind = Literal["full", "diagonal"]
"""Whether what is maximised is the evidence, or the bound on it with q(β) = Π N(μ, c²)."""

_NOT_TOLD_APART = (
    "Columns that are not shrunk have no estimate: a constant in every alternative, or a constant "
    "of an alternative that is never available or (almost) never chosen. Choose another base, "
    "leave that alternative out, or shrink constants, Prior(shrink_constants=True)."
)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A log-likelihood c + b'β - ½ β'Hβ over D columns.

    Attributes
    ----------
    constant
        c.
    b
        Shape (D,).
    curvature
        H, shape (D, D).
    """

    constant: float
    b: Floats
    curvature: Floats

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(
            self.constant + other.constant, self.b + other.b, self.curvature + other.curvature
        )

    def __sub__(self, other: Quadratic) -> Quadratic:
        return Quadratic(
            self.constant - other.constant, self.b - other.b, self.curvature - other.curvature
        )

    def scaled(self, by: float) -> Quadratic:
        """Times a number."""
        return Quadratic(by * self.constant, by * self.b, by * self.curvature)

    def value(self, beta: Floats) -> float:
        """C + b'β - ½ β'Hβ."""
        return self.constant + float(self.b @ beta) - 0.5 * float(beta @ self.curvature @ beta)

    def take(self, columns: npt.NDArray[np.intp]) -> Quadratic:
        """The same with all other coefficients at zero."""
        return Quadratic(self.constant, self.b[columns], self.curvature[np.ix_(columns, columns)])


def nothing(columns: int) -> Quadratic:
    """Of no data."""
    return Quadratic(0.0, np.zeros(columns), np.zeros((columns, columns)))


def expand(sums: Sums, at: Floats) -> Quadratic:
    """The quadratic that has these sums at this point."""
    hm = sums.curvature @ at
    b = sums.gradient + hm
    return Quadratic(sums.loglik - float(b @ at) + 0.5 * float(at @ hm), b, sums.curvature)


@dataclass(frozen=True, eq=False)
class Posterior:
    """N(μ, Σ) over the active columns.

    Attributes
    ----------
    columns
        Which of the D; A of them.
    mean
        Shape (D,), zero for inactive columns.
    factor
        Upper triangular, U'U = H_AA + Λ⁻¹, shape (A, A); zero below its diagonal.
    log_evidence
        Or the bound on it.
    diagonal
        Of H_AA + Λ⁻¹; shape (A,).
    kind
    """

    columns: npt.NDArray[np.intp]
    mean: Floats
    factor: Floats
    log_evidence: float
    diagonal: Floats
    kind: Kind = "full"

    @cached_property
    def cov(self) -> Floats:
        """Σ, shape (A, A), whatever the kind: it is what moves the mean."""
        if not len(self.columns):
            return self.factor
        # Where only the mean is wanted, this is two thirds of the work.
        cov, _ = linalg.lapack.dpotri(self.factor, lower=0)
        # The other half is zero.
        cov = cov + cov.T
        cov.flat[:: len(self.columns) + 1] *= 0.5
        return np.asarray(cov)

    @cached_property
    def spread(self) -> Floats:
        """Variance of the active columns under what is maximised, diag Σ or c²; shape (A,)."""
        return np.asarray(np.diag(self.cov) if self.kind == "full" else 1 / self.diagonal)

    @property
    def variance(self) -> Floats:
        """Posterior variance of every column, zero for inactive ones; shape (D,)."""
        out = np.zeros_like(self.mean)
        out[self.columns] = self.spread
        return out


def posterior(quadratic: Quadratic, groups: Groups, lam: Floats, kind: Kind = "full") -> Posterior:
    """The exact posterior and log evidence for given λ, or the mean-field ones.

    Parameters
    ----------
    quadratic
    groups
    lam
        Shape (G,).
    kind
    """
    columns = groups.active(lam)
    if not len(columns):
        mean, none = np.zeros(len(quadratic.b)), np.zeros((0, 0))
        return Posterior(columns, mean, none, quadratic.constant, none.ravel(), kind)
    precision = groups.precision(lam)[columns]
    matrix = quadratic.curvature[columns[:, None], columns]
    matrix.flat[:: len(columns) + 1] += precision
    own = np.diag(matrix).copy()
    b = quadratic.b[columns]
    factor, failed = linalg.lapack.dpotrf(matrix.T, lower=0, clean=1, overwrite_a=1)
    if failed:
        raise ArdchoiceError(_NOT_TOLD_APART)
    full = kind == "full"
    log_det = 2 * float(np.log(np.diag(factor)).sum()) if full else float(np.log(own).sum())
    mean = np.zeros(len(quadratic.b))
    mean[columns] = linalg.lapack.dpotrs(factor, b, lower=0)[0]
    log_prior = -float(np.log(precision[precision > 0]).sum())
    evidence = quadratic.constant + 0.5 * float(b @ mean[columns]) - 0.5 * (log_det + log_prior)
    return Posterior(columns, mean, factor, evidence, own, kind)


def deviations(post: Posterior, count: int, rng: np.random.Generator) -> Floats:
    """Draws from N(0, Σ): moves of the active columns away from their mean; shape (count, A)."""
    root = np.linalg.cholesky(post.cov)
    return np.asarray(rng.standard_normal((count, len(root))) @ root.T)


@dataclass(frozen=True, eq=False)
class SparsityQuality:
    """What the data say of every group beyond the rest: rotated precision s and gradient q.

    And p, the precision that a prior variance is paid for: s itself for the evidence, diag H for
    the mean-field bound. Shape (G, K) each, K the size of the largest group, zero beyond a group's
    own columns.
    """

    s: Floats
    q: Floats
    p: Floats

    def statistic(self) -> Floats:
        """T = q' S⁻¹ q, shape (G,). It ranks; at λ that were maximised it is no χ²."""
        known = self.s > 0
        each = np.where(known, self.q**2 / np.where(known, self.s, 1.0), 0.0)
        return np.asarray(each.sum(axis=1))


def sparsity_quality(
    quadratic: Quadratic, groups: Groups, lam: Floats, post: Posterior
) -> SparsityQuality:
    """S_t and q_t of every group with that group removed, all others as they are.

    Active, from the posterior: S = Σ_tt⁻¹ - I/λ and q = Σ_tt⁻¹ μ_t. Inactive, from the
    quadratic: S = H_tt - H_tA Σ H_At and q = b_t - H_tA μ_A.

    Parameters
    ----------
    quadratic, groups, lam, post
        The state.
    """
    width = int(groups.sizes.max(initial=1))
    s, q = np.zeros((groups.n, width)), np.zeros((groups.n, width))
    place = np.full(len(quadratic.b), -1)
    place[post.columns] = np.arange(len(post.columns))
    cross = quadratic.curvature[:, post.columns]
    rest = quadratic.b - cross @ post.mean[post.columns]
    for size, (members, columns) in groups.by_size.items():
        on = lam[members] > 0
        inside, out = members[on], members[~on]
        if len(inside):
            at = columns[on]
            block = np.linalg.inv(post.cov[place[at][:, :, None], place[at][:, None, :]])
            gradient = np.einsum("gij,gj->gi", block, post.mean[at])
            block -= np.eye(size) / lam[inside][:, None, None]
            _rotate(s, q, inside, block, gradient)
        if len(out):
            at = columns[~on]
            block = quadratic.curvature[at[:, :, None], at[:, None, :]]
            block = block - _explained(cross[at.ravel()], post, size)
            _rotate(s, q, out, block, rest[at])
    return SparsityQuality(s, q, s if post.kind == "full" else _own(quadratic, groups, width))


def _explained(cross: Floats, post: Posterior, size: int) -> Floats:
    """H_tA Σ H_At of groups of one size; cross has their rows of H_A, one group after another."""
    active = len(post.columns)
    if not active:
        return np.zeros((len(cross) // size, size, size))
    if active > MANY_ACTIVE:
        # Half the work of a product with Σ: with V = U'⁻¹ H_At, it is V'V.
        half = linalg.blas.dtrsm(1.0, post.factor, cross.T, trans_a=1)
        sides = half.T.reshape(-1, size, active)
        if size == 1:
            return np.asarray(np.einsum("gia,gia->g", sides, sides)[:, None, None])
        return np.asarray(sides @ np.swapaxes(sides, 1, 2))
    # One product for all of them: a small one for each would be bound by memory.
    known = (cross @ post.cov).reshape(-1, size, active)
    return np.asarray(known @ np.swapaxes(cross.reshape(known.shape), 1, 2))


def _own(quadratic: Quadratic, groups: Groups, width: int) -> Floats:
    """Diag H of every group, as `SparsityQuality` lays it out."""
    h, out = np.diag(quadratic.curvature), np.zeros((groups.n, width))
    for size, (members, columns) in groups.by_size.items():
        out[members, :size] = h[columns]
    return out


def _rotate(
    s: Floats, q: Floats, groups: npt.NDArray[np.intp], block: Floats, gradient: Floats
) -> None:
    size = block.shape[-1]
    if size == 1:
        values, turned = block[:, :, 0], gradient
    else:
        values, vectors = np.linalg.eigh(0.5 * (block + np.swapaxes(block, 1, 2)))
        turned = np.einsum("gji,gj->gi", vectors, gradient)
    # Rounding can leave a column that says nothing new a little below nothing.
    known = values > 1e-9 * np.abs(values).max(axis=1, keepdims=True)
    s[groups, :size] = np.where(known, values, 0.0)
    q[groups, :size] = np.where(known, turned, 0.0)
