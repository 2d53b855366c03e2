"""The deterministic solver: a handful of passes over the data.

Outer: a pass expands the log-likelihood at the current mean into a quadratic. Inner: evidence
maximisation on that quadratic. Terms whose λ falls to zero are not passed over again; when the rest
has settled, one pass over every candidate shows whether any of them should come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.ard.groups import Groups
from ardchoice.ard.lambda_update import START_GAIN, LambdaUpdate
from ardchoice.ard.likelihood import Likelihood
from ardchoice.ard.previous_data import PreviousData
from ardchoice.ard.quadratic import Kind, Quadratic, posterior
from ardchoice.ard.settle import (
    SETTLED_SD,
    Expansion,
    PassLog,
    Problem,
    full_pass,
    safe_pass,
    settle,
    smallest_sd,
)
from ardchoice.ard.trace import ProgressTrace, Step
from ardchoice.errors import ArdchoiceError

REACH = 2.0
"""Longest step from a ridge, as the root mean variance of the utilities of a situation that it
makes: further away probabilities are nearly 0 or 1, and the next step would be far too long."""


@dataclass(frozen=True)
class Newton:
    """The bound on the evidence, or the evidence, maximised in a few passes; nothing to tune.

    Attributes
    ----------
    posterior
        Under which λ is chosen: ``"diagonal"``, independent coefficients, as in the paper, whose
        bound is then maximised; ``"full"`` keeps their covariance and maximises the evidence, which
        keeps more terms active. What is reported at these λ, means, standard deviations, evidence
        and statistics, is of the full posterior either way.
    max_passes
        Most passes over the data.
    start
        λ at the start, for all terms.
    sample
        Situations (whole persons) to begin with, so that most candidates leave before all data
        are processed; all are, for active terms, and at the end for every candidate. 0 for no
        sample. Default: one where data are too many to be kept in memory expanded.
    """

    posterior: Kind = "diagonal"
    max_passes: int = 100
    start: float = 0.1
    sample: int | None = None

    @property
    def name(self) -> str:
        """How reports call it."""
        return "Newton()" if self.posterior == "diagonal" else 'Newton(posterior="full")'


@dataclass(frozen=True, eq=False)
class NewtonRun:
    """Where it ended.

    Attributes
    ----------
    lam
        Shape (G,).
    mean
        Shape (D,).
    quadratic
        Over all candidates, at the mean.
    trace
    converged
    reason
        Why it stopped.
    passes, full_passes
        Over the active terms, and over every candidate.
    revisited
        Rows of previous data processed again.
    moving
        Groups that still moved where it did not converge.
    """

    lam: Floats
    mean: Floats
    quadratic: Quadratic
    trace: list[Step]
    converged: bool
    reason: str
    passes: int
    full_passes: int
    revisited: int = 0
    moving: frozenset[int] = frozenset()


def run_newton(
    solver: Newton,
    likelihood: Likelihood,
    groups: Groups,
    terms: Sequence[npt.NDArray[np.intp]],
    report: ProgressTrace,
    before: PreviousData | None = None,
    begin: NewtonRun | None = None,
) -> NewtonRun:
    """Passes and evidence maximisation in turn until neither changes anything.

    Parameters
    ----------
    solver, likelihood, groups, report
    terms
        The columns of every term, which `likelihood.restrict` takes by number.
    before
        What earlier data said; these data come on top.
    begin
        Where a run on some of the data ended, with the quadratic of all of them there.
    """
    if solver.max_passes < 1:
        raise ArdchoiceError("max_passes must be at least 1.")
    log = PassLog(solver.max_passes, report)
    problem = Problem(LambdaUpdate(solver.posterior, groups), likelihood, groups, terms)
    return _search(problem, solver.start, log, before, begin)


@dataclass(frozen=True, eq=False)
class _State:
    """λ and mean over all candidates, and a quadratic that led to them or was made there."""

    lam: Floats
    mean: Floats
    last: Expansion

    @property
    def quadratic(self) -> Quadratic:
        return self.last.quadratic


def _search(
    problem: Problem,
    start: float,
    log: PassLog,
    before: PreviousData | None,
    begin: NewtonRun | None,
) -> NewtonRun:
    """Active sets, each settled on its own, until no other leads higher."""
    update, groups = problem.update, problem.groups
    if begin is None:
        state = _from_ridge(problem, start, log, before)
    else:
        state = _from_sample(problem, log, begin)
    # λ where previous data led, from their mean: another start.
    known = [] if before is None else [groups.sum(before.at**2) / groups.sizes]
    rough, best, highest, led = begin is None, None, -np.inf, 0
    while True:
        # 2 · Only the active terms, until mean and λ stand still; near that will do while the
        # other candidates have not been looked at.
        end = settle(
            problem,
            state.lam,
            state.mean,
            state.last,
            log,
            before,
            rough=rough,
            highest=highest,
        )
        if end.hopeless and best is not None:
            del log.points[led:]
            return _converged(update, best, log, "no other active set leads higher")
        # Single changes of a λ can gain next to nothing: what is seen now must be exact.
        if before is not None and not before.is_near(
            end.mean, smallest_sd(state.quadratic), SETTLED_SD
        ):
            before = log.revisit(before, end.mean)
        full = full_pass(problem.likelihood, end.mean, before, log, rough=rough)
        if full is None:
            return _stopped(update, _State(end.lam, end.mean, state.last), end.moving, log)
        last = Expansion(full, problem.all_columns, end.mean)
        # What a quadratic promised may not hold where it leads to: then back to the best.
        if end.settled:
            value = update.value(full, groups, end.lam)
            if best is not None and value < highest + START_GAIN:
                del log.points[led:]
                return _converged(update, best, log, "no other active set leads higher")
            best, highest, led = _State(end.lam, end.mean, last), value, len(log.points)
        # 3 · Every candidate: should any enter, does another start end higher?
        lam, mean = update.revise(full, end.lam, first=rough, rough=rough, also=known)
        state = _State(lam, mean, last)
        log.note(update, last, end.lam)
        if _same(lam, end.lam) and end.settled:
            return _converged(update, state, log, "nothing left to change")
        rough = False


def _from_ridge(
    problem: Problem, start: float, log: PassLog, before: PreviousData | None
) -> _State:
    """1 · All candidates, from a ridge: most are pruned in the first rounds."""
    groups, update, likelihood = problem.groups, problem.update, problem.likelihood
    lam = np.full(groups.n, start)
    # Where previous data led is nearer than zero, and what they say is known there.
    mean = np.zeros(len(groups.of)) if before is None else before.at
    # The first of at least one pass: there is always one.
    quadratic = cast("Quadratic", full_pass(likelihood, mean, before, log, rough=True))
    last = Expansion(quadratic, problem.all_columns, mean)
    log.note(update, last, lam)
    log.at_zero = quadratic.value(mean) if before is None else -np.inf
    floor, reliable = log.at_zero, before is not None
    while not reliable and log.spend():
        # Seen from zero, which columns share what is not yet what it will be.
        target = posterior(last.quadratic, groups, lam).mean
        there = _within_reach(last, target, likelihood.size)
        quadratic, at, floor = safe_pass(
            likelihood, last.at, there, lam, groups, before, log, floor, last.at, rough=True
        )
        log.full += 1
        reliable = last.predicts(floor, at) and at is target
        last = Expansion(quadratic, problem.all_columns, at)
        log.note(update, last, lam)
    lam, mean = update.early(last.quadratic, lam)
    return _State(lam, mean, last)


def _within_reach(last: Expansion, target: Floats, size: float) -> Floats:
    """The target, or as far on the way there as utilities may move at once."""
    away = target - last.at
    spread = np.sqrt(max(float(away @ last.quadratic.curvature @ away), 0.0) / size)
    return target if spread <= REACH else last.at + REACH / spread * away


def _from_sample(problem: Problem, log: PassLog, begin: NewtonRun) -> _State:
    """1 · All candidates where a sample led: one pass over all data there shows the active set."""
    log.passes, log.full = log.passes + 1, log.full + 1
    last = Expansion(begin.quadratic, problem.all_columns, begin.mean)
    lam, mean = problem.update.revise(begin.quadratic, begin.lam, first=True, rough=False)
    log.note(problem.update, last, begin.lam)
    return _State(lam, mean, last)


def _converged(update: LambdaUpdate, state: _State, log: PassLog, reason: str) -> NewtonRun:
    lam, mean = update.exact(state.quadratic, state.lam, state.mean)
    return _run(update, _State(lam, mean, state.last), log, reason)


def _stopped(
    update: LambdaUpdate, state: _State, moving: frozenset[int], log: PassLog
) -> NewtonRun:
    reason = f"stopped after {log.limit} passes, before λ and the mean stood still"
    return _run(update, state, log, reason, moving, converged=False)


def _run(
    update: LambdaUpdate,
    state: _State,
    log: PassLog,
    reason: str,
    moving: frozenset[int] = frozenset(),
    *,
    converged: bool = True,
) -> NewtonRun:
    return NewtonRun(
        state.lam,
        state.mean,
        state.quadratic,
        log.trace(update, state.quadratic, state.lam, state.mean),
        converged,
        reason,
        log.passes,
        log.full,
        log.revisited,
        moving,
    )


def _same(a: Floats, b: Floats) -> bool:
    return bool(np.array_equal(a > 0, b > 0) and np.allclose(a, b, rtol=1e-5, atol=1e-9))
