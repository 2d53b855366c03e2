"""Passes over the active terms until λ and the mean stand still.

A pass gives a quadratic; maximising over λ on it gives the next λ and mean. That ignores how the
Hessian changes with the mean: plain iteration can alternate between two points for ever, or between
two maxima over λ. Steps that reverse are therefore shortened, and λ stays at its nearest maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.ard.ascent import LARGEST
from ardchoice.ard.groups import FREE, Groups
from ardchoice.ard.lambda_update import START_GAIN, LambdaUpdate
from ardchoice.ard.likelihood import Likelihood
from ardchoice.ard.previous_data import PreviousData
from ardchoice.ard.quadratic import Quadratic, expand
from ardchoice.ard.trace import ProgressTrace, Step
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import Sums, is_definite

SETTLED_SD = 1e-4
"""Largest move of a mean between passes, in standard deviations, at which it stands still."""
NEAR_SD = 0.3
"""Move between passes, in standard deviations, below which previous rows are processed again:
while the mean still moves by more, that would be too early."""
HOPELESS_SD = 0.01
"""Move between passes, in standard deviations, below which the objective is known well enough to
give up an active set that ends below another."""
MAX_HALVINGS = 30
"""Halvings of a step that leads to overflow or far down: enough to leave any overflow."""
LOGLIK_LOSS = 1e-3
"""Share of the log-likelihood that a step may lose: λ changes too, so some loss can be right."""
REVERSAL_RATIO = -0.7
"""Ratio of a move to the last one, along it, below which the two alternate."""
SHORTEST_STEP = 1 / 16
"""Least share of a step that is taken."""


@dataclass
class PassLog:
    """Passes made, the trace, and the log-likelihood at zero once it is known."""

    limit: int
    report: ProgressTrace
    passes: int = 0
    full: int = 0
    revisited: int = 0
    at_zero: float = -np.inf
    share: float = 1.0
    trace: list[Step] = field(default_factory=list)

    def spend(self) -> bool:
        """Count one more pass; False if there may be none."""
        if self.passes >= self.limit:
            return False
        self.passes += 1
        return True

    def revisit(self, before: PreviousData, mean: Floats) -> PreviousData:
        """Previous data at this mean."""
        self.revisited += before.n
        return before.revisit(mean)

    def note(self, objective: float, lam: Floats) -> None:
        """Add an entry to the trace."""
        active = int((lam > self.report.line).sum())
        self.trace.append(self.report(self.passes, self.limit, objective, lam, active))


@dataclass(frozen=True, eq=False)
class Problem:
    """What is maximised, over which candidates.

    Attributes
    ----------
    update
        Maximises over λ.
    likelihood
        Of all D candidate columns.
    groups
        G of them.
    terms
        The columns of every term, which `likelihood.restrict` takes by number.
    """

    update: LambdaUpdate
    likelihood: Likelihood
    groups: Groups
    terms: Sequence[npt.NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Settled:
    """λ, shape (G,), and mean, shape (D,), and whether they stand still.

    If not, the groups that still move, or that nothing higher is in prospect.
    """

    lam: Floats
    mean: Floats
    settled: bool
    moving: frozenset[int] = frozenset()
    hopeless: bool = False


@dataclass
class _Relaxation:
    """The share of each step to take: all of it, until moves alternate."""

    share: float = 1.0
    last: Floats | None = None

    @property
    def on(self) -> bool:
        return self.share < 1

    def next(self, move: Floats) -> float:
        """The share of this move, from its ratio to the last: Aitken's estimate of the end."""
        last, self.last = self.last, move
        if last is not None:
            ratio = float(move @ last) / max(float(last @ last), 1e-300)
            if self.on or ratio < REVERSAL_RATIO:
                share = self.share / max(1 - ratio, 0.5)
                self.share = float(np.clip(share, SHORTEST_STEP, 0.999))
        return self.share


def settle(
    problem: Problem,
    lam: Floats,
    mean: Floats,
    log: PassLog,
    before: PreviousData | None,
    *,
    rough: bool,
    highest: float = -np.inf,
) -> Settled:
    """Passes over the active terms until λ and their means stand still.

    Parameters
    ----------
    problem
    lam, mean
        Where to start; shape (G,) and (D,).
    log
        Counts the passes.
    before
        Previous data.
    rough
        Whether near a standstill is enough; it does not count as one, and previous rows are then
        not processed again.
    highest
        The objective reached elsewhere: without a prospect of more, give up.
    """
    groups, terms, update = problem.groups, problem.terms, problem.update
    moving = frozenset(np.flatnonzero(lam).tolist())
    while True:
        active = groups.active(lam)
        if not len(active):
            return Settled(lam, mean, True)
        is_active = np.zeros(len(mean), dtype=bool)
        is_active[active] = True
        kept = [t for t, columns in enumerate(terms) if is_active[columns].any()]
        columns = np.concatenate([terms[t] for t in kept])
        some = problem.likelihood.restrict(kept)
        inside, numbers = _subgroups(groups, columns)
        earlier = None if before is None else before.take(kept, columns)
        moved, relaxation = np.inf, _Relaxation(log.share)
        here, at = None, mean[columns]
        # Nothing is known yet of these columns, but that they can do no worse than none of them.
        old, floor, sd = np.zeros_like(at), log.at_zero, np.ones_like(at)
        same_terms = True
        while same_terms:
            if not log.spend():
                return Settled(lam, mean, False, moving)
            if (
                earlier is not None
                and moved <= NEAR_SD
                and not rough
                and not earlier.is_near(at, sd)
            ):
                earlier, floor = log.revisit(earlier, at), -np.inf
            here, at, floor = safe_pass(some, old, at, lam[numbers], inside, earlier, log, floor)
            if relaxation.on:
                new, target = update.local(here, inside, lam[numbers])
            else:
                new, target = update.late(here, inside, lam[numbers], moved, rough=rough)
            same_terms = bool(np.array_equal(new > 0, lam[numbers] > 0))
            sd = smallest_sd(here)
            move = (target - at) / sd
            moved = float(np.max(np.abs(move), initial=0.0))
            far = inside.sum((np.abs(move) > SETTLED_SD).astype(float)) > 0
            moving = frozenset(numbers[far].tolist())
            lam = np.zeros(groups.n)
            lam[numbers] = new
            mean = np.zeros(len(mean))
            mean[columns] = target
            value = update.value(here, inside, new)
            log.note(value, lam)
            if moved <= HOPELESS_SD and value < highest + START_GAIN:
                return Settled(lam, mean, False, hopeless=True)
            if rough and moved <= NEAR_SD:
                return Settled(lam, mean, False, moving)
            fresh = earlier is None or earlier.is_near(target, sd)
            if moved <= SETTLED_SD and fresh:
                return Settled(lam, mean, True)
            share = log.share = relaxation.next(move)
            old, at = at, target if share == 1 else at + share * (target - at)


def smallest_sd(quadratic: Quadratic) -> Floats:
    """Standard deviations with all other coefficients known: the smallest they can be."""
    return np.asarray(np.sqrt(1 / np.maximum(np.diag(quadratic.curvature), 1e-300)))


def _subgroups(
    groups: Groups, columns: npt.NDArray[np.intp]
) -> tuple[Groups, npt.NDArray[np.intp]]:
    """The groups of some columns, renumbered from 0, and their old numbers."""
    of = groups.of[columns]
    numbers = np.unique(of[of >= 0])
    renumbered = np.where(of >= 0, np.searchsorted(numbers, of), FREE)
    return Groups(renumbered, len(numbers)), numbers


def full_pass(
    likelihood: Likelihood,
    mean: Floats,
    before: PreviousData | None,
    log: PassLog,
    *,
    rough: bool = False,
) -> Quadratic | None:
    """The quadratic over every candidate; None if there may be no more passes."""
    if not log.spend():
        return None
    log.full += 1
    sums = _sums(likelihood, mean, rough=rough)
    if not np.isfinite(sums.loglik):
        raise ArdchoiceError(
            "The log-likelihood is not a number: an attribute takes extreme values."
        )
    here = expand(sums, mean)
    return here if before is None else here + before.quadratic


def safe_pass(
    likelihood: Likelihood,
    old: Floats,
    new: Floats,
    lam: Floats,
    groups: Groups,
    before: PreviousData | None,
    log: PassLog,
    floor: float,
    *,
    rough: bool = False,
) -> tuple[Quadratic, Floats, float]:
    """A pass at the new mean, or nearer to the old one where the new one is worse than `floor`.

    Returns the quadratic, where it was expanded, and the log-likelihood there with previous data.
    """
    precision = groups.precision(lam)
    precision = np.where(np.isfinite(precision), precision, 0.0)
    at = new
    for _ in range(MAX_HALVINGS):
        sums = _sums(likelihood, at, rough=rough)
        loglik = sums.loglik + (0.0 if before is None else before.quadratic.value(at))
        # The penalised log-likelihood must not fall: the quadratic promised that it would rise.
        lost = floor - loglik + 0.5 * float(precision @ (at**2 - old**2))
        if np.isfinite(sums.curvature).all() and lost <= LOGLIK_LOSS * abs(floor):
            here = expand(sums, at)
            return (here if before is None else here + before.quadratic), at, loglik
        at = 0.5 * (old + at)
        log.passes += 1
    raise ArdchoiceError(
        "The log-likelihood is not a number near the estimates, even after smaller steps: an "
        "attribute takes extreme values. Look at print(data), change its unit or transform it."
    )


def _sums(likelihood: Likelihood, at: Floats, *, rough: bool) -> Sums:
    """A pass, in single precision only where the weakest prior makes up for its rounding."""
    sums = likelihood.sums(at, rough=rough)
    if not rough:
        return sums
    least = sums.curvature.copy()
    least.flat[:: len(at) + 1] += 1 / LARGEST
    return sums if is_definite(least) else likelihood.sums(at)
