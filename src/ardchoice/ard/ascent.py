"""Maximising over λ: the evidence of a quadratic log-likelihood, or the mean-field bound on it.

Three moves. Rounds of a fixed point let most groups leave; steps of Newton's method in log λ find
the top among active ones; and a look at every single group shows who should come or leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ardchoice._types import Bools, Floats
from ardchoice.ard.groups import Groups
from ardchoice.ard.quadratic import (
    Kind,
    Posterior,
    Quadratic,
    SparsityQuality,
    posterior,
    sparsity_quality,
)
from ardchoice.ard.relevance import best_lambda, gain

RIDGE_ROUNDS = 20
"""Fixed-point rounds from where many are active: most leave; single changes do the rest."""
CLIMB_ROUNDS = 100
TOGETHER, TOGETHER_MANY = 3, 1
"""Rounds after a group came or left, and with many active columns, where a round is expensive."""
MANY_ACTIVE = 300
"""Active columns from which rounds and changes one by one are expensive."""
MOST_FOR_EVIDENCE = 2000
"""Columns up to which the bound is maximised from the top of the evidence as well."""
SEVERAL_SHARE, SEVERAL_SHARE_MANY = 0.5, 0.1
"""Share of the best change that others must promise to be made with it; with many columns, too."""
FADING = 0.05
"""λ times curvature below which a λ that falls is on its way to zero: it lets through so little
that it falls faster the smaller it is."""
ROUGH = 1e-3
"""Relative change of λ that ends rounds after which others follow."""
FAR = 2.0
"""Longest step of a log λ."""
HALVINGS = 20
SLOW_ROUNDS = 6
"""Rounds after which a λ whose curve bends up is taken out of Newton's step."""
CONVEX_SHARE = 0.1
"""Share of its metric that the second derivative of a λ must have for a Newton step."""
FEW_GROUPS_SHARE = 0.25
"""Groups per active column up to which products with Σ are solved for, without Σ itself."""
EVIDENCE_ROUNDING = 1e-14
"""Share of the log evidence that rounding may take away."""
SMALLEST = 1e-10
"""A prior variance below this is zero: what it lets through is far below any standard error."""
LARGEST = 1e5
"""A prior variance above this is no prior any more, on columns of unit spread."""


@dataclass(frozen=True, eq=False)
class EvidenceFit:
    """λ of every group, the posterior it gives, and how it was reached.

    Attributes
    ----------
    lam
        Shape (G,).
    post
    rounds
        Rounds spent.
    settled
        Whether nothing was left to change.
    """

    lam: Floats
    post: Posterior
    rounds: int
    settled: bool


def fixed_point(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    rounds: int,
    tolerance: float = 1e-7,
    kind: Kind = "full",
) -> EvidenceFit:
    """MacKay's update of all λ at once: λ ← ‖μ‖² / (K - Σ c² / λ). Groups may leave, none comes.

    Parameters
    ----------
    quadratic, groups
    lam
        Where to start; shape (G,).
    rounds, tolerance
        When to stop: the largest relative change of a λ.
    kind
    """
    post = posterior(quadratic, groups, lam, kind)
    change, done = np.inf, 0
    for done in range(1, rounds + 1):  # noqa: B007
        new = _fixed(groups, lam, post)
        if len(post.columns) > MANY_ACTIVE:
            new = np.where(_fading(quadratic, groups, lam, new), 0.0, new)
        change = _largest_change(lam, new)
        lam, post = new, posterior(quadratic, groups, new, kind)
        if change < tolerance:
            break
    return EvidenceFit(lam, post, done, change < tolerance)


def _fixed(groups: Groups, lam: Floats, post: Posterior) -> Floats:
    on = lam > 0
    square, spread = groups.sum(post.mean**2), groups.sum(post.variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        determined = np.where(on, groups.sizes - spread / lam, 1.0)
        new = np.where(on, square / np.maximum(determined, 1e-12), 0.0)
    return _within(new)


def _fading(quadratic: Quadratic, groups: Groups, lam: Floats, new: Floats) -> Bools:
    """Which λ fall and let next to nothing through: with many columns, not waited for.

    Single changes, which follow, bring back what is worth it.
    """
    own = groups.sum(np.diag(quadratic.curvature)) / np.maximum(groups.sizes, 1)
    return np.asarray((new < lam) & (new * own < FADING))


def _within(lam: Floats) -> Floats:
    """No λ so small that it lets nothing through, none so large that it is no prior any more."""
    return np.where(lam < SMALLEST, 0.0, np.minimum(lam, LARGEST))


def _largest_change(old: Floats, new: Floats) -> float:
    on = old > 0
    return float(np.max(np.abs(new - old)[on] / old[on], initial=0.0))


# -- All active groups at once ---------------------------------------------------------------------


def climb(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    rounds: int,
    tolerance: float,
    kind: Kind = "full",
    post: Posterior | None = None,
) -> EvidenceFit:
    """Newton's method in log λ, all active groups at once; none comes.

    Parameters
    ----------
    quadratic, groups
    lam
        Where to start; shape (G,).
    rounds, tolerance
        When to stop: the largest relative change of a λ.
    kind
    post
        The posterior there, where it is known.
    """
    post = posterior(quadratic, groups, lam, kind) if post is None else post
    change, done = np.inf, 0
    for done in range(1, rounds + 1):
        on = np.flatnonzero(lam)
        if not len(on):
            return EvidenceFit(lam, post, done, True)
        new, there = lam.copy(), post
        for step in _steps(quadratic, groups, lam, post, on, slow=done > SLOW_ROUNDS):
            new[on] = _within(lam[on] * np.exp(np.clip(step, -FAR, FAR)))
            there = posterior(quadratic, groups, new, kind)
            # Steps that shrink are right even where rounding hides what they gain.
            length = _largest_change(lam, new)
            hidden = EVIDENCE_ROUNDING * abs(post.log_evidence) if length < 0.5 * change else 0.0
            if there.log_evidence >= post.log_evidence - hidden:
                break
        else:
            # Nothing leads higher than rounding shows.
            return EvidenceFit(lam, post, done, True)
        lam, post, change = new, there, length
        if change < tolerance:
            break
    return EvidenceFit(lam, post, done, change < tolerance)


def _steps(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    post: Posterior,
    on: npt.NDArray[np.intp],
    *,
    slow: bool,
) -> Iterator[Floats]:
    """Steps of log λ to try, boldest first: Newton's, then ever shorter ones that must lead up.

    The slope by log λ_t is ½ (‖μ_t‖² / λ_t - Σ (1 - u)), with u = c² / λ_t over the columns of t.
    The second derivative by log λ_s and log λ_t is M - D, with M = μ_s' Σ_st μ_t / (λ_s λ_t) and,
    where s is t, D = ½ (‖μ_t‖² / λ_t + Σ u (1 - u)). For the evidence, ½ ‖Σ_st‖² / (λ_s λ_t) is in
    M too, and D is ½ (‖μ_t‖² / λ_t + Σ u).
    """
    of, mean = groups.of[post.columns], post.mean[post.columns]
    shrunk = of >= 0

    def total(values: Floats) -> Floats:
        return np.bincount(of[shrunk], values[shrunk], minlength=groups.n)[on].astype(float)

    share = post.spread / np.append(lam, np.inf)[of]
    square = total(mean**2) / lam[on]
    slope = 0.5 * (square - groups.sizes[on] + total(share))
    metric = 0.5 * (square + total(share if post.kind == "full" else share * (1 - share)))
    if post.kind == "diagonal" and len(on) < FEW_GROUPS_SHARE * len(of):
        together = _mean_products(post, of, len(lam))[np.ix_(on, on)]
    else:
        cross = mean[:, None] * post.cov * mean
        if post.kind == "full":
            cross = cross + 0.5 * post.cov**2
        together = _by_group(cross, of)
    matrix = np.diag(metric) - together / np.outer(lam[on], lam[on])
    factor, failed = linalg.lapack.dpotrf(matrix, lower=0)
    safe = slope / np.maximum(metric, 1e-300)
    if not failed:
        yield linalg.lapack.dpotrs(factor, slope, lower=0)[0]
    elif slow:
        yield from _without_convex(quadratic, groups, lam, post, on, matrix, slope, metric, safe)
    for halvings in range(HALVINGS):
        yield safe * 0.5**halvings


def _without_convex(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    post: Posterior,
    on: npt.NDArray[np.intp],
    matrix: Floats,
    slope: Floats,
    metric: Floats,
    safe: Floats,
) -> Iterator[Floats]:
    """A step where some λ lie below the bend of their curve: these to their best, others Newton's.

    A λ that is nearly zero has a curve that bends up, which would leave no Newton step for any.
    """
    bent = np.diag(matrix) <= CONVEX_SHARE * metric
    straight = np.flatnonzero(~bent)
    if not bent.any() or not len(straight):
        return
    factor, failed = linalg.lapack.dpotrf(matrix[np.ix_(straight, straight)], lower=0)
    if failed:
        return
    step = safe.copy()
    step[straight] = linalg.lapack.dpotrs(factor, slope[straight], lower=0)[0]
    found = _best_of(quadratic, groups, lam, post, on[bent])
    with np.errstate(divide="ignore"):
        step[bent] = np.where(found > 0, np.log(found / lam[on[bent]]), safe[bent])
    yield step


def _best_of(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    post: Posterior,
    some: npt.NDArray[np.intp],
) -> Floats:
    """The best λ of some active groups, each with all others as they are."""
    place = np.full(len(quadratic.b), -1)
    place[post.columns] = np.arange(len(post.columns))
    own, out = np.diag(quadratic.curvature), np.empty(len(some))
    for i, group in enumerate(some):
        columns = groups.columns[group]
        at = place[columns]
        block = np.linalg.inv(post.cov[np.ix_(at, at)])
        q = block @ post.mean[columns]
        s, vectors = np.linalg.eigh(block - np.eye(len(at)) / lam[group])
        s = np.maximum(s, 0.0)
        p = s if post.kind == "full" else own[columns]
        out[i] = best_lambda(s[None], (vectors.T @ q)[None], p[None])[0]
    return out


def _mean_products(post: Posterior, of: npt.NDArray[np.intp], count: int) -> Floats:
    """μ_s' Σ_st μ_t of all groups, without Σ: few groups of many columns; shape (G, G)."""
    shrunk = np.flatnonzero(of >= 0)
    sides = np.zeros((len(of), count))
    sides[shrunk, of[shrunk]] = post.mean[post.columns][shrunk]
    half = linalg.solve_triangular(post.factor, sides, trans="T", check_finite=False)
    return np.asarray(half.T @ half)


def _by_group(matrix: Floats, of: npt.NDArray[np.intp]) -> Floats:
    """Sums over the blocks of a matrix, group by group; free columns are excluded."""
    order = np.argsort(of, kind="stable")
    order = order[of[order] >= 0]
    _, first = np.unique(of[order], return_index=True)
    if len(first) == len(of):  # a column each, none free
        in_place = bool((np.diff(of) > 0).all())
        return matrix if in_place else matrix[order[:, None], order]
    blocks = np.add.reduceat(matrix[order[:, None], order], first, axis=0)
    return np.add.reduceat(blocks, first, axis=1)


# -- One group after another -----------------------------------------------------------------------


def coordinate_ascent(
    quadratic: Quadratic,
    groups: Groups,
    lam: Floats,
    *,
    rounds: int = 2000,
    worth: float = 1e-7,
    kind: Kind = "full",
) -> EvidenceFit:
    """The best single change of a λ, again and again: to come in, to leave, or to be re-estimated.

    Every change raises what is maximised, so this ends where no single λ can be changed for the
    better. After each, all active ones are re-estimated together.

    Parameters
    ----------
    quadratic, groups
    lam
        Where to start; shape (G,).
    rounds
        Most changes made.
    worth
        Smallest gain worth a change.
    kind
    """
    post = posterior(quadratic, groups, lam, kind)
    if not groups.n:  # only constants are active
        return EvidenceFit(lam, post, 0, True)
    for done in range(rounds):
        lever = sparsity_quality(quadratic, groups, lam, post)
        best = _within(best_lambda(lever.s, lever.q, lever.p))
        better = _gains(lever, best, lam, worth)
        if better.max() < worth:
            return EvidenceFit(lam, post, done, True)
        lam, post = _change(quadratic, groups, lam, post, best, better)
        rounds_together = TOGETHER_MANY if len(post.columns) > MANY_ACTIVE else TOGETHER
        together = climb(quadratic, groups, lam, rounds_together, ROUGH, kind, post)
        lam, post = together.lam, together.post
    return EvidenceFit(lam, post, rounds, False)


def _gains(lever: SparsityQuality, best: Floats, lam: Floats, worth: float) -> Floats:
    """What every group gains by going to its best λ; shape (G,)."""
    s, q, p = lever.s, lever.q, lever.p
    better = gain(best, s, q, p) - gain(lam, s, q, p)
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

    Several are those that promise half as much; when the best is one that stays active, all that
    do: many small moves of λ would otherwise be made one by one.
    """
    winner = int(better.argmax())
    many = len(post.columns) > MANY_ACTIVE
    several = better > (SEVERAL_SHARE_MANY if many else SEVERAL_SHARE) * better[winner]
    staying = (lam > 0) & (best > 0)
    for these in (staying, several) if staying[winner] else (several,):
        if these.sum() > 1:
            together = np.where(these, best, lam)
            there = posterior(quadratic, groups, together, post.kind)
            if there.log_evidence >= post.log_evidence + better[winner]:
                return together, there
    alone = lam.copy()
    alone[winner] = best[winner]
    return alone, posterior(quadratic, groups, alone, post.kind)


def other_starts(
    quadratic: Quadratic, groups: Groups, lam: Floats, *, worth: float, kind: Kind
) -> list[Floats]:
    """Where else to begin than at λ: nowhere, and the top of the evidence, if that is not meant.

    The bound has more hills than the evidence, and the one near its top is often the highest. With
    very many columns the way there takes most of the time, and zero has to do.
    """
    starts = [np.zeros(groups.n)]
    if kind == "diagonal" and len(groups.of) <= MOST_FOR_EVIDENCE:
        starts.append(coordinate_ascent(quadratic, groups, lam, worth=worth).lam)
    return starts


def maximise_evidence(
    quadratic: Quadratic,
    groups: Groups,
    starts: Iterable[Floats],
    *,
    tolerance: float = 1e-10,
    worth: float = 1e-7,
    kind: Kind = "full",
) -> EvidenceFit:
    """Fixed point, then single changes until none helps; the best start wins and is climbed.

    Parameters
    ----------
    quadratic, groups
    starts
        λ to start from; shape (G,) each.
    tolerance
        Relative change of λ at which the last climb ends.
    worth
        Smallest gain worth a single change.
    kind
    """
    fits = []
    for lam in starts:
        if lam.any():
            lam = fixed_point(quadratic, groups, lam, RIDGE_ROUNDS, ROUGH, kind).lam
        fits.append(coordinate_ascent(quadratic, groups, lam, worth=worth, kind=kind))
    best = max(fits, key=lambda fit: fit.post.log_evidence)
    fit = climb(quadratic, groups, best.lam, CLIMB_ROUNDS, tolerance, kind, best.post)
    return EvidenceFit(fit.lam, fit.post, best.rounds + fit.rounds, best.settled and fit.settled)
