"""From a likelihood and a solver to λ and the posterior: every solver ends with the same record."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard.dsvi import Dsvi, DsviPaper, run_dsvi, run_paper
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.mixed import MixedProblem, run_mixed_dsvi, run_mixed_newton
from ardchoice.ard.newton import Newton, run_newton
from ardchoice.ard.previous_data import PreviousData
from ardchoice.ard.quadratic import Posterior, Quadratic, expand, posterior
from ardchoice.ard.settle import NEAR_SD
from ardchoice.ard.spreads import SpreadCandidates, SpreadRelevance, spread_relevance
from ardchoice.ard.subsample_start import SubsampleStart, term_columns
from ardchoice.ard.trace import ProgressTrace, Step
from ardchoice.errors import ArdchoiceError
from ardchoice.families import Family

Solver = Newton | Dsvi | DsviPaper

MODE_PASSES = 50
ROUNDING = 1e-12
"""Share of a log-likelihood that rounding may cost."""
MODE_TOLERANCE = 1e-7
"""Move of a mean, in posterior standard deviations, that counts as none."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What every solver ends with."""

    lam: Floats
    mean: Floats
    sd: Floats
    quadratic: Quadratic
    post: Posterior
    trace: list[Step]
    converged: bool
    reason: str
    moving: frozenset[int]
    passes: float
    revisited: int = 0


def solve(
    solver: Solver,
    likelihood: FamilyLikelihood,
    groups: Groups,
    fixed: float | None,
    report: ProgressTrace,
    before: PreviousData | None,
    early: SubsampleStart | None,
) -> Outcome:
    """λ and the posterior by any solver, or the mode where λ is given (`fixed`)."""
    if fixed is not None:
        return _by_mode(fixed, likelihood, groups, report, before)
    if isinstance(solver, Newton):
        return _by_newton(solver, likelihood, groups, report, before, early)
    if isinstance(solver, Dsvi):
        return _by_dsvi(solver, likelihood, groups, report, before)
    if before is not None:
        raise ArdchoiceError(
            "The published algorithm cannot go on from an earlier fit; Dsvi() can."
        )
    return _by_paper(solver, likelihood, groups, report)


def _by_newton(
    solver: Newton,
    likelihood: FamilyLikelihood,
    groups: Groups,
    report: ProgressTrace,
    before: PreviousData | None,
    early: SubsampleStart | None,
) -> Outcome:
    terms = term_columns(likelihood.design)
    begin = None if early is None else early.run
    run = run_newton(solver, likelihood, groups, terms, report, before, begin)
    if early is not None:
        run = replace(run, reason=f"{run.reason}; {early.said}")
    post = posterior(run.quadratic, groups, run.lam)
    return Outcome(
        run.lam,
        post.mean,
        np.sqrt(post.variance),
        run.quadratic,
        post,
        run.trace,
        run.converged,
        run.reason,
        run.moving,
        run.passes,
        run.revisited,
    )


@dataclass(frozen=True, eq=False)
class Tastes:
    """What the spreads of a mixed logit come to, and the family that goes with them."""

    family: Family
    likelihood: FamilyLikelihood
    spreads: SpreadRelevance


def solve_with_tastes(
    solver: Solver,
    likelihood: FamilyLikelihood,
    groups: Groups,
    fixed: float | None,
    report: ProgressTrace,
    candidates: SpreadCandidates,
) -> tuple[Outcome, Tastes]:
    """λ and τ of a mixed logit, from the λ of the multinomial logit."""
    if isinstance(solver, DsviPaper):
        raise ArdchoiceError(
            "Dsvi.paper() is for the multinomial logit; for the mixed logit use solver=Newton() or "
            "Dsvi()."
        )
    design = likelihood.design
    problem = MixedProblem(design, likelihood.blocks, groups, candidates, fixed)
    if isinstance(solver, Dsvi):
        run = run_mixed_dsvi(solver, problem, report)
    else:
        near = solve(solver, likelihood, groups, fixed, ProgressTrace(), None, None)
        run = run_mixed_newton(solver, problem, near.lam, near.mean, report)
    post = posterior(run.quadratic, groups, run.lam)
    outcome = Outcome(
        run.lam,
        run.mean,
        run.sd,
        run.quadratic,
        post,
        run.trace,
        run.converged,
        run.reason,
        run.moving,
        run.passes,
    )
    family, extras = candidates.resolved(run.tau)
    last = FamilyLikelihood(design, likelihood.centre, likelihood.scale, family, extras)
    spreads = spread_relevance(candidates, design.encoding, run.tau, run.sums)
    return outcome, Tastes(family, last, spreads)


def _by_mode(
    fixed: float,
    likelihood: FamilyLikelihood,
    groups: Groups,
    report: ProgressTrace,
    before: PreviousData | None,
) -> Outcome:
    """With λ given, only the posterior mode is to be found: Newton's method on a ridge."""
    if not fixed > 0:
        raise ArdchoiceError(f"A fixed prior variance must be above zero, not {fixed}.")
    lam = np.full(groups.n, float(fixed))
    precision = groups.precision(lam)
    mean, trace, revisited = np.zeros(len(groups.of)), [], 0
    sd, moved = np.ones(len(mean)), np.inf
    best, height = mean, -np.inf
    for passes in range(1, MODE_PASSES + 1):
        quadratic = expand(likelihood.sums(mean), mean)
        if before is not None:
            # Not while the mean moves far; and what stood before was seen less well.
            if moved <= NEAR_SD and not before.is_near(mean, sd):
                before, revisited, height = before.revisit(mean), revisited + before.n, -np.inf
            quadratic = quadratic + before.quadratic
        here = quadratic.value(mean) - 0.5 * float(precision @ mean**2)
        if here < height - ROUNDING * abs(height):
            # A step that falls was too long.
            mean = 0.5 * (mean + best)
            continue
        best, height = mean, here
        post = posterior(quadratic, groups, lam)
        sd = np.sqrt(post.variance)
        moved = float(np.max(np.abs(post.mean - mean) / sd))
        mean = post.mean
        trace.append(report(passes, MODE_PASSES, post.log_evidence, lam, groups.n))
        if moved < MODE_TOLERANCE and (before is None or before.is_near(mean, sd)):
            break
    converged = moved < MODE_TOLERANCE
    return Outcome(
        lam,
        mean,
        np.sqrt(post.variance),
        quadratic,
        post,
        trace,
        converged,
        "the mode stands still" if converged else "the mode still moves",
        frozenset(),
        passes,
        revisited,
    )


def _by_dsvi(
    solver: Dsvi,
    likelihood: FamilyLikelihood,
    groups: Groups,
    report: ProgressTrace,
    before: PreviousData | None,
) -> Outcome:
    known = None if before is None else before.quadratic
    run = run_dsvi(solver, likelihood, groups, report, known)
    q = run.state.q
    quadratic = expand(likelihood.sums(q.mean), q.mean)
    if known is not None:
        quadratic = quadratic + known
    reason = (
        f"{solver.quiet} quiet epochs in a row"
        if run.converged
        else f"{len(run.moving)} terms still moving after {solver.max_epochs} epochs"
    )
    return Outcome(
        q.lam,
        q.mean,
        np.sqrt(q.variance),
        quadratic,
        posterior(quadratic, groups, q.lam),
        run.trace,
        run.converged,
        reason,
        frozenset(run.moving.tolist()),
        len(run.trace),
    )


def _by_paper(
    solver: DsviPaper, likelihood: FamilyLikelihood, groups: Groups, report: ProgressTrace
) -> Outcome:
    q, trace = run_paper(solver, likelihood, groups, report)
    quadratic = expand(likelihood.sums(q.mean), q.mean)
    lam = q.lam(groups)
    done = solver.steps >= DsviPaper.steps
    reason = f"the schedule of {solver.steps:,} steps is over"
    return Outcome(
        lam,
        q.mean,
        q.scale,
        quadratic,
        posterior(quadratic, groups, lam),
        trace,
        done,
        reason,
        frozenset(),
        solver.steps / solver.batches,
    )
