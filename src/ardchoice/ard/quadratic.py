"""Evidence maximisation on a quadratic log-likelihood, c + b'β - ½ β'Hβ.

Prior β ~ N(0, Λ), one λ per group, flat where free. With A the columns in play:

    Σ = (H_AA + Λ⁻¹)⁻¹,   μ = Σ b_A,
    log evidence = c + ½ b'Σb - ½ log|H_AA + Λ⁻¹| - ½ Σ log λ   (up to a constant if some are free).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ardchoice.ard.groups import Groups
from ardchoice.ard.relevance import best_lambda, gain
from ardchoice.errors import ArdchoiceError
from ardchoice.logit import Sums

Floats = npt.NDArray[np.float64]

RIDGE_ROUNDS = 60
"""Fixed-point rounds from a ridge: enough for most groups to leave; single changes do the rest."""
POLISH_ROUNDS = 500
POLISH_WORK = 1e9
"""Columns in play cubed, times rounds, that a polishing may cost."""
TOGETHER = 10
"""Fixed-point rounds after a group came or left."""
SMALLEST = 1e-10
"""A prior variance below this is zero: what it lets through is far below any standard error."""


_NOT_TOLD_APART = (
    "Columns that are not shrunk cannot be told apart: a constant in every alternative, or a "
    "constant of an alternative that is never available. Choose another base, or shrink constants."
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
    """N(μ, Σ) over the columns in play.

    Attributes
    ----------
    columns
        Which of the D; A of them.
    mean
        Shape (D,), zero for columns not in play.
    cov
        Shape (A, A).
    log_evidence
    """

    columns: npt.NDArray[np.intp]
    mean: Floats
    cov: Floats
    log_evidence: float

    @property
    def variance(self) -> Floats:
        """Posterior variance of every column, zero for those not in play; shape (D,)."""
        out = np.zeros_like(self.mean)
        out[self.columns] = np.diag(self.cov)
        return out


def posterior(quadratic: Quadratic, groups: Groups, lam: Floats) -> Posterior:
    """The exact posterior and log evidence for given λ.

    Parameters
    ----------
    quadratic
    groups
    lam
        Shape (G,).
    """
    columns = groups.active(lam)
    if not len(columns):
        return Posterior(columns, np.zeros(len(quadratic.b)), np.zeros((0, 0)), quadratic.constant)
    precision = groups.precision(lam)[columns]
    matrix = quadratic.curvature[columns[:, None], columns]
    matrix[np.diag_indices_from(matrix)] += precision
    b = quadratic.b[columns]
    factor, failed = linalg.lapack.dpotrf(matrix, lower=0, clean=1, overwrite_a=1)
    if failed:
        raise ArdchoiceError(_NOT_TOLD_APART)
    log_det = 2 * float(np.log(np.diag(factor)).sum())
    cov, _ = linalg.lapack.dpotri(factor, lower=0, overwrite_c=1)
    cov += np.triu(cov, 1).T
    mean = np.zeros(len(quadratic.b))
    mean[columns] = cov @ b
    log_prior = -float(np.log(precision[precision > 0]).sum())
    evidence = quadratic.constant + 0.5 * float(b @ mean[columns]) - 0.5 * (log_det + log_prior)
    return Posterior(columns, mean, cov, evidence)


def deviations(post: Posterior, count: int, rng: np.random.Generator) -> Floats:
    """Draws from N(0, Σ): moves of the columns in play away from their mean; shape (count, A)."""
    root = np.linalg.cholesky(post.cov)
    return np.asarray(rng.standard_normal((count, len(root))) @ root.T)


@dataclass(frozen=True, eq=False)
class Leverage:
    """What the data say of every group beyond the rest: rotated precision s and gradient q.

    Shape (G, K) each, K the size of the largest group, zero beyond a group's own columns.
    """

    s: Floats
    q: Floats

    def statistic(self) -> Floats:
        """T = q' S⁻¹ q: χ² with as many degrees as columns when the term is noise; shape (G,)."""
        known = self.s > 0
        each = np.where(known, self.q**2 / np.where(known, self.s, 1.0), 0.0)
        return np.asarray(each.sum(axis=1))


def leverage(
    quadratic: Quadratic, groups: Groups, lam: Floats, post: Posterior, *, outside: bool = True
) -> Leverage:
    """S_t and q_t of every group with that group left out, all others as they are.

    In play, from the posterior: S = Σ_tt⁻¹ - I/λ and q = Σ_tt⁻¹ μ_t. Out of play, from the
    quadratic: S = H_tt - H_tA Σ H_At and q = b_t - H_tA μ_A.

    Parameters
    ----------
    quadratic, groups, lam, post
        The state.
    outside
        Whether groups out of play are wanted; they are left at zero otherwise.
    """
    width = int(groups.sizes.max(initial=1))
    s, q = np.zeros((groups.n, width)), np.zeros((groups.n, width))
    place = np.full(len(quadratic.b), -1)
    place[post.columns] = np.arange(len(post.columns))
    cross = quadratic.curvature[:, post.columns] if outside else np.empty((0, 0))
    rest = quadratic.b - cross @ post.mean[post.columns] if outside else quadratic.b
    for size, members in groups.by_size.items():
        inside, out = members[lam[members] > 0], members[lam[members] == 0]
        if len(inside):
            at = groups.matrix(inside)
            block = np.linalg.inv(post.cov[place[at][:, :, None], place[at][:, None, :]])
            gradient = np.einsum("gij,gj->gi", block, post.mean[at])
            block -= np.eye(size) / lam[inside][:, None, None]
            _rotate(s, q, inside, block, gradient)
        if len(out) and outside:
            at = groups.matrix(out)
            # One product for all of them: a small one for each would be bound by memory.
            mine = cross[at.ravel()]
            known = (mine @ post.cov).reshape(*at.shape, -1)
            block = quadratic.curvature[at[:, :, None], at[:, None, :]]
            block = block - known @ np.swapaxes(mine.reshape(known.shape), 1, 2)
            _rotate(s, q, out, block, rest[at])
    return Leverage(s, q)


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


# -- Maximising over λ ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EvidenceFit:
    """λ of every group, the posterior it gives, and how it was reached.

    Attributes
    ----------
    lam
        Shape (G,).
    post
    rounds
        Fixed-point rounds spent.
    settled
        Whether no single λ can be changed for the better.
    """

    lam: Floats
    post: Posterior
    rounds: int
    settled: bool


def fixed_point(
    quadratic: Quadratic, groups: Groups, lam: Floats, rounds: int, tolerance: float = 1e-7
) -> EvidenceFit:
    """MacKay's update of all λ at once: λ ← ‖μ‖² / (K - tr Σ / λ). Groups may leave, none comes.

    Parameters
    ----------
    quadratic, groups
    lam
        Where to start; shape (G,).
    rounds, tolerance
        When to stop: the largest relative change of a λ.
    """
    lam = lam.copy()
    post = posterior(quadratic, groups, lam)
    change = np.inf
    done = 0
    for done in range(1, rounds + 1):  # noqa: B007
        on = lam > 0
        square, spread = groups.sum(post.mean**2), groups.sum(post.variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            determined = np.where(on, groups.sizes - spread / lam, 1.0)
            new = np.where(on, square / np.maximum(determined, 1e-12), 0.0)
        new[new < SMALLEST] = 0.0
        change = float(np.max(np.abs(new - lam)[on] / lam[on], initial=0.0))
        lam = new
        post = posterior(quadratic, groups, lam)
        if change < tolerance:
            break
    return EvidenceFit(lam, post, done, change < tolerance)


def polish(
    quadratic: Quadratic, groups: Groups, lam: Floats, rounds: int, tolerance: float
) -> EvidenceFit:
    """Every λ in play to its own optimum given the others, all at once, while that helps.

    Where it does not, because two of them pull at the same thing, a round of the fixed point.
    """
    post = posterior(quadratic, groups, lam)
    change, done = np.inf, 0
    for done in range(1, rounds + 1):  # noqa: B007
        on = lam > 0
        lever = leverage(quadratic, groups, lam, post, outside=False)
        new = np.where(on, best_lambda(lever.s, lever.q), 0.0)
        new[new < SMALLEST] = 0.0
        there = posterior(quadratic, groups, new)
        if there.log_evidence < post.log_evidence:
            step = fixed_point(quadratic, groups, lam, 1)
            new, there = step.lam, step.post
        change = float(np.max(np.abs(new - lam)[on] / lam[on], initial=0.0))
        lam, post = new, there
        if change < tolerance:
            break
    return EvidenceFit(lam, post, done, change < tolerance)


def coordinate_ascent(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    *,
    rounds: int = 2000,
    worth: float = 1e-7,
) -> EvidenceFit:
    """The best single change of a λ, again and again: to come in, to leave, or to be re-estimated.

    Every change raises the evidence, so this ends where no single λ can be changed for the better.
    After one came or left, all are re-estimated together, which is faster than one by one.

    Parameters
    ----------
    quadratic, groups
    lam
        Where to start; shape (G,).
    rounds
        Most changes made.
    worth
        Smallest gain in log evidence worth a change.
    """
    lam = lam.copy()
    post = posterior(quadratic, groups, lam)
    if not groups.n:  # constants alone are in play
        return EvidenceFit(lam, post, 0, True)
    asked: _Asked | None = None
    for done in range(rounds):
        # What those out of play would gain is dear to know: not asked again while those in play
        # gain more than it was when last asked.
        if asked is not None:
            asked = _ask_inside(quadratic, groups, lam, post, asked)
            better = _gains(asked, lam, worth)
            winner = int(better.argmax())
        if asked is None or lam[winner] == 0 or better[winner] <= worth:
            asked = _ask(leverage(quadratic, groups, lam, post))
            better = _gains(asked, lam, worth)
            winner = int(better.argmax())
        if better[winner] <= worth:
            return EvidenceFit(lam, post, done, True)
        best = asked.best
        came_or_left = bool(((best > 0) != (lam > 0))[better > 0.5 * better[winner]].any())
        lam, post = _change(quadratic, groups, lam, post, best, better)
        if came_or_left:
            together = fixed_point(quadratic, groups, lam, TOGETHER, 1e-3)
            if together.post.log_evidence > post.log_evidence:
                lam, post = together.lam, together.post
    return EvidenceFit(lam, post, rounds, False)


@dataclass(frozen=True, eq=False)
class _Asked:
    """What the data say of every group, and the λ that would be best for it; shape (G,)."""

    lever: Leverage
    best: Floats


def _ask(lever: Leverage) -> _Asked:
    best = best_lambda(lever.s, lever.q)
    return _Asked(lever, np.where(best < SMALLEST, 0.0, best))


def _ask_inside(
    quadratic: Quadratic, groups: Groups, lam: Floats, post: Posterior, before: _Asked
) -> _Asked:
    """Groups in play as they are now, the others as they were."""
    new = _ask(leverage(quadratic, groups, lam, post, outside=False))
    on = lam > 0
    s = np.where(on[:, None], new.lever.s, before.lever.s)
    q = np.where(on[:, None], new.lever.q, before.lever.q)
    return _Asked(Leverage(s, q), np.where(on, new.best, before.best))


def _gains(asked: _Asked, lam: Floats, worth: float) -> Floats:
    """The log evidence that every group gains by going to its best λ; shape (G,)."""
    s, q, best = asked.lever.s, asked.lever.q, asked.best
    better = gain(best, s, q) - gain(lam, s, q)
    # Leaving is worth any gain: a λ on its way to zero would take for ever to get there.
    better[(best == 0) & (lam > 0) & (better >= 0)] += worth
    return better


def _change(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    post: Posterior,
    best: Floats,
    better: Floats,
) -> tuple[Floats, Posterior]:
    """The best change; or several at once, if together they keep the promise of the best.

    Several are those that promise half as much; when the best is one that stays in play, all that
    do: many small moves of λ would otherwise be made one by one.
    """
    winner = int(better.argmax())
    several = better > 0.5 * better[winner]
    staying = (lam > 0) & (best > 0)
    for these in (staying, several) if staying[winner] else (several,):
        if these.sum() > 1:
            together = np.where(these, best, lam)
            there = posterior(quadratic, groups, together)
            if there.log_evidence >= post.log_evidence + better[winner]:
                return together, there
    alone = lam.copy()
    alone[winner] = best[winner]
    return alone, posterior(quadratic, groups, alone)


def maximise_evidence(
    quadratic: Quadratic,
    groups: Groups,
    starts: Iterable[Floats],
    *,
    tolerance: float = 1e-10,
    worth: float = 1e-7,
) -> EvidenceFit:
    """Fixed point, then single changes until none helps; the best start wins and is polished.

    Parameters
    ----------
    quadratic, groups
    starts
        λ to start from; shape (G,) each.
    tolerance
        Relative change of λ at which the polishing ends.
    worth
        Smallest gain in log evidence worth a single change.
    """
    fits = []
    for lam in starts:
        start = fixed_point(quadratic, groups, lam, RIDGE_ROUNDS, 1e-3).lam if lam.any() else lam
        fits.append(coordinate_ascent(quadratic, groups, start, worth=worth))
    best = max(fits, key=lambda fit: fit.post.log_evidence)
    # Hundreds of columns in play make a round dear; the next pass goes on from here.
    rounds = int(np.clip(POLISH_WORK / max(len(best.post.columns), 1) ** 3, 20, POLISH_ROUNDS))
    fit = polish(quadratic, groups, best.lam, rounds, tolerance)
    return EvidenceFit(fit.lam, fit.post, best.rounds + fit.rounds, best.settled and fit.settled)
