"""Passes over the active terms until λ and the mean stand still.

A pass gives a quadratic; maximising over λ on it gives the next λ and mean. That ignores how the
Hessian changes with the mean: plain iteration can alternate between two points for ever, or between
two maxima over λ. Steps that reverse are therefore shortened, and λ stays at its nearest maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.ard.ascent import LARGEST
from ardchoice.ard.groups import Groups
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
PROSPECT_RATIO, PROSPECT_MARGIN = 0.8, 3.0
"""Ratio of two gains in a row up to which later ones are predicted, and how many times these
count where an active set that will end below another is to be given up."""
MOST_SHORTENED = 30
"""Times that a step is shortened which leads to overflow or far down: enough to leave any."""
FIRST_SHARE, NEXT_SHARE = 0.5, 0.25
"""Share of such a step that is tried first, and of that one if it is too long as well."""
LOGLIK_LOSS = 1e-3
"""Share of the log-likelihood that a step may lose: λ changes too, so some loss can be right."""
REVERSAL_RATIO = -0.7
"""Ratio of a move to the last one, along it, below which the two alternate."""
SHORTEST_STEP = 1 / 16
"""Least share of a step that is taken."""
PREDICTED_SHARE, PREDICTED_LOGLIK = 0.5, 2.0
"""How far a quadratic may be off where a step leads, as a share of ½ δ'Hδ, the squared length of
the step, or in log-likelihood, for λ to be chosen there: from further away, only the mean moves."""
SLOW_RATIO = 0.3
"""Length of a move relative to the last from which passes count as slow."""
FIRST_ACCELERATED = 4
"""Moves over one active set from which passes that stay slow are accelerated."""
ACCELERATION_MEMORY = 6
"""Most moves that an accelerated step is made from."""


@dataclass(frozen=True, eq=False)
class PassPoint:
    """λ, shape (G,), and mean, shape (D,), of a pass, and the log-likelihood there."""

    step: Step
    lam: Floats
    mean: Floats
    loglik: float


@dataclass
class PassLog:
    """Passes made, where they were made, and the log-likelihood at zero once it is known."""

    limit: int
    report: ProgressTrace
    passes: int = 0
    full: int = 0
    revisited: int = 0
    at_zero: float = -np.inf
    share: float = 1.0
    points: list[PassPoint] = field(default_factory=list)

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

    def note(self, update: LambdaUpdate, here: Expansion, lam: Floats) -> None:
        """Say what a pass found, and remember where it was made; λ has shape (G,)."""
        mean, loglik = here.at, here.quadratic.value(here.at[here.columns])
        own = update.groups.subset(here.columns)
        objective = update.objective(
            loglik, here.quadratic.curvature, own.groups, lam[own.numbers], mean[here.columns]
        )
        active = int((lam > self.report.line).sum())
        step = self.report(self.passes, self.limit, objective, lam, active)
        self.points.append(PassPoint(step, lam, mean, loglik))

    def trace(
        self, update: LambdaUpdate, quadratic: Quadratic, lam: Floats, mean: Floats
    ) -> list[Step]:
        """The passes that led to an end, each with the objective there.

        All have the curvature of the end, over which λ and mean of the end are the maximum; a pass
        above one that came later overshot, and led nowhere.
        """
        end = update.value(quadratic, update.groups, lam)
        active = int((lam > self.report.line).sum())
        last = self.report(self.passes, self.limit, end, lam, active, mean)
        kept = [last]
        for point in reversed(self.points):
            objective = update.objective(
                point.loglik, quadratic.curvature, update.groups, point.lam, point.mean
            )
            if objective <= kept[-1].objective:
                kept.append(replace(point.step, objective=objective, mean=point.mean))
        return kept[::-1]


@dataclass(frozen=True, eq=False)
class Expansion:
    """A quadratic over some columns, and where it was made.

    Attributes
    ----------
    quadratic
        Over C columns.
    columns
        Which of the D, in ascending order; shape (C,).
    at
        All coefficients there; shape (D,).
    """

    quadratic: Quadratic
    columns: npt.NDArray[np.intp]
    at: Floats

    def predicts(self, loglik: float, at: Floats) -> bool:
        """Whether the log-likelihood elsewhere, at shape (D,), is about what was predicted."""
        away = (at - self.at)[self.columns]
        length = 0.5 * float(away @ self.quadratic.curvature @ away)
        missed = abs(loglik - self.quadratic.value(at[self.columns]))
        return missed <= max(PREDICTED_SHARE * length, PREDICTED_LOGLIK)


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

    @property
    def all_columns(self) -> npt.NDArray[np.intp]:
        """Numbers of the D columns."""
        return np.arange(len(self.groups.of))


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


class _Acceleration:
    """Anderson's acceleration: the move that the last moves, taken together, expect to be none."""

    def __init__(self) -> None:
        self.points: list[Floats] = []
        self.moves: list[Floats] = []

    def add(self, at: Floats, move: Floats, sd: Floats) -> None:
        """A pass at a mean, and how far it says to go; after one that went wrong, begin again."""
        if self.moves and np.linalg.norm(move / sd) > np.linalg.norm(self.moves[-1] / sd):
            self.points, self.moves = [], []
        self.points = [*self.points[1 - ACCELERATION_MEMORY :], at]
        self.moves = [*self.moves[1 - ACCELERATION_MEMORY :], move]

    def is_slow(self, sd: Floats) -> bool:
        """Whether the last moves, in standard deviations, shrink too little."""
        if len(self.moves) < FIRST_ACCELERATED:
            return False
        long = [float(np.linalg.norm(move / sd)) for move in self.moves[-3:]]
        return long[2] > SLOW_RATIO * long[1] and long[1] > SLOW_RATIO * long[0]

    def next(self, sd: Floats) -> Floats:
        """Where to go."""
        moves, points = np.array(self.moves) / sd, np.array(self.points) / sd
        change, path = np.diff(moves, axis=0), np.diff(points, axis=0)
        weights = np.linalg.lstsq(change.T, moves[-1], rcond=1e-8)[0]
        return np.asarray(sd * (points[-1] + moves[-1] - weights @ (path + change)))


def settle(
    problem: Problem,
    lam: Floats,
    mean: Floats,
    start: Expansion,
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
    start
        The quadratic that led there.
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
    passes = _Passes(problem, lam, mean, start, log, rough=rough, highest=highest)
    while True:
        if not len(problem.groups.active(passes.lam)):
            return Settled(passes.lam, passes.mean, True)
        end = passes.over(_ActiveSet(problem, passes.lam, before))
        if end is not None:
            return end


class _ActiveSet:
    """The columns of the groups that have a positive λ, and what is known of them alone.

    Attributes
    ----------
    columns
        Which of the D, in the order of the terms; shape (C,).
    groups, numbers
        Of these columns, and which of the G they are.
    likelihood
        Of these columns.
    earlier
        Previous data, of these columns.
    """

    def __init__(self, problem: Problem, lam: Floats, before: PreviousData | None) -> None:
        is_active = np.zeros(len(problem.groups.of), dtype=bool)
        is_active[problem.groups.active(lam)] = True
        kept = [t for t, columns in enumerate(problem.terms) if is_active[columns].any()]
        self.columns = np.concatenate([problem.terms[t] for t in kept])
        own = problem.groups.subset(self.columns)
        self.groups, self.numbers = own.groups, own.numbers
        self.likelihood = problem.likelihood.restrict(kept)
        self.earlier = None if before is None else before.take(kept, self.columns)


class _Passes:
    """λ, mean and the last quadratic, pass by pass, from one active set to the next."""

    def __init__(
        self,
        problem: Problem,
        lam: Floats,
        mean: Floats,
        start: Expansion,
        log: PassLog,
        *,
        rough: bool,
        highest: float,
    ) -> None:
        self.update, self.n_groups = problem.update, problem.groups.n
        self.lam, self.mean, self.start = lam, mean, start
        self.log, self.rough, self.highest = log, rough, highest
        self.moving = frozenset(np.flatnonzero(lam).tolist())
        self.prospect = _Prospect()

    def over(self, active: _ActiveSet) -> Settled | None:
        """Passes over one active set; None where another one follows it."""
        columns, numbers, earlier = active.columns, active.numbers, active.earlier
        moved, relaxation, acceleration = np.inf, _Relaxation(self.log.share), _Acceleration()
        at = self.mean[columns]
        # Nothing is known yet of these columns, but that they can do no worse than none of them.
        old, known, floor = self.start.at[columns], np.zeros_like(at), self.log.at_zero
        sd = np.ones_like(at)
        same_terms = True
        while same_terms:
            if not self.log.spend():
                return Settled(self.lam, self.mean, False, self.moving)
            near = moved <= NEAR_SD and not self.rough
            if earlier is not None and near and not earlier.is_near(at, sd):
                earlier, floor = self.log.revisit(earlier, at), -np.inf
            here, at, floor = safe_pass(
                active.likelihood,
                old,
                at,
                self.lam[numbers],
                active.groups,
                earlier,
                self.log,
                floor,
                known,
            )
            predicted = self._note(active, here, at, floor)
            slow = relaxation.on or acceleration.is_slow(sd)
            new, target = self._next(active, here, moved, predicted=predicted, slow=slow)
            same_terms = bool(np.array_equal(new > 0, self.lam[numbers] > 0))
            sd = smallest_sd(here)
            move = (target - at) / sd
            moved = float(np.max(np.abs(move), initial=0.0))
            self._go(active, new, target, move)
            value = self.update.value(here, active.groups, new)
            if self.prospect.at_most(value, predicted=predicted) < self.highest + START_GAIN:
                return Settled(self.lam, self.mean, False, hopeless=True)
            if self.rough and moved <= NEAR_SD and predicted:
                return Settled(self.lam, self.mean, False, self.moving)
            fresh = earlier is None or earlier.is_near(target, sd)
            if moved <= SETTLED_SD and fresh and predicted:
                return Settled(self.lam, self.mean, True)
            old = known = at
            if predicted:
                acceleration.add(at, target - at, sd)
            if acceleration.is_slow(sd):
                at = acceleration.next(sd)
                continue
            share = self.log.share = relaxation.next(move) if predicted else 1.0
            at = target if share == 1 else at + share * (target - at)
        return None

    def _note(self, active: _ActiveSet, here: Quadratic, at: Floats, loglik: float) -> bool:
        """Remember a pass; whether the log-likelihood there is about what was predicted."""
        self.mean = np.zeros(len(self.mean))
        self.mean[active.columns] = at
        predicted = self.start.predicts(loglik, self.mean)
        self.start = Expansion(here, active.columns, self.mean)
        self.log.note(self.update, self.start, self.lam)
        return predicted

    def _next(
        self, active: _ActiveSet, here: Quadratic, moved: float, *, predicted: bool, slow: bool
    ) -> tuple[Floats, Floats]:
        """The next λ and mean, over the active set."""
        lam = self.lam[active.numbers]
        if not predicted:
            return self.update.mean_only(here, active.groups, lam)
        if slow:
            return self.update.local(here, active.groups, lam)
        return self.update.late(here, active.groups, lam, moved, rough=self.rough)

    def _go(self, active: _ActiveSet, lam: Floats, mean: Floats, move: Floats) -> None:
        """To the next λ and mean; `move` is in standard deviations."""
        far = active.groups.sum((np.abs(move) > SETTLED_SD).astype(float)) > 0
        self.moving = frozenset(active.numbers[far].tolist())
        self.lam = np.zeros(self.n_groups)
        self.lam[active.numbers] = lam
        self.mean = np.zeros(len(self.mean))
        self.mean[active.columns] = mean


class _Prospect:
    """How high passes over active terms will lead: gains that shrink by about the same ratio."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def at_most(self, value: float, *, predicted: bool) -> float:
        """From what the last passes promised, generously; infinite while too little is known."""
        self.values = [*self.values[-2:], value] if predicted else []
        if len(self.values) < 3:
            return np.inf
        before, last = np.diff(self.values).tolist()
        if last <= 0:
            return value
        if last >= PROSPECT_RATIO * before:
            return np.inf
        ratio = last / before
        return value + PROSPECT_MARGIN * last * ratio / (1 - ratio)


def smallest_sd(quadratic: Quadratic) -> Floats:
    """Standard deviations with all other coefficients known: the smallest they can be."""
    return np.asarray(np.sqrt(1 / np.maximum(np.diag(quadratic.curvature), 1e-300)))


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
    known: Floats,
    *,
    rough: bool = False,
) -> tuple[Quadratic, Floats, float]:
    """A pass at the new mean, or nearer to the old one where the new one is worse than `floor`.

    That is the log-likelihood at `known`, which the last tries are nearer to. Returns the
    quadratic, where it was expanded, and the log-likelihood there with previous data.
    """
    precision = groups.precision(lam)
    precision = np.where(np.isfinite(precision), precision, 0.0)
    at, share = new, FIRST_SHARE
    for count in range(MOST_SHORTENED):
        sums = _sums(likelihood, at, rough=rough)
        loglik = sums.loglik + (0.0 if before is None else before.quadratic.value(at))
        # The penalised log-likelihood must not fall: the quadratic promised that it would rise.
        lost = floor - loglik + 0.5 * float(precision @ (at**2 - known**2))
        if np.isfinite(sums.curvature).all() and lost <= LOGLIK_LOSS * abs(floor):
            here = expand(sums, at)
            return (here if before is None else here + before.quadratic), at, loglik
        old = old if count < MOST_SHORTENED // 3 else known
        at, share = old + share * (at - old), NEXT_SHARE
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
