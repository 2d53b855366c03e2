"""ARD of a mixed logit: λ of every term and τ of every taste, by `Newton()` and by `Dsvi()`.

A pass over persons gives the log-likelihood with tastes integrated out as a quadratic in the
coefficients (see `families.mixed.taste_pass`), on which λ and means are updated as for any family,
and what a step in τ needs. `Newton` evaluates everything at the means (Laplace's approximation),
`Dsvi` by draws on mini-batches of whole persons, which gives a lower bound on the evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard.ascent import maximise_evidence, other_starts
from ardchoice.ard.dsvi import LEASH, Dsvi, DsviState, remember, revise, still_moving
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import ordered
from ardchoice.ard.meanfield import MeanField, bound, start_at
from ardchoice.ard.newton import Newton
from ardchoice.ard.quadratic import Kind, Quadratic, expand, posterior
from ardchoice.ard.spreads import (
    SpreadCandidates,
    Spreads,
    entering_spread,
    next_spreads,
)
from ardchoice.ard.trace import ProgressTrace, Step
from ardchoice.design import CachedBlocks, Design, StreamedBlocks
from ardchoice.families import PersonTastes, TastePass, TasteSums
from ardchoice.numerics import Sums, seeded

SETTLED_MEAN = 2e-3
"""Largest move of a mean in a pass, in posterior standard deviations, that counts as none."""
SETTLED_SPREAD = 1e-2
"""The same of log τ, in its standard deviations."""
AVERAGE_FROM = 25
"""Epochs before averaging begins. Means and τ share a scale that is found slowly; averaged too
early, it would stay where it is."""
AVERAGE_POWER, FORGET = 0.7, 0.05
"""Of the weight of a later epoch, and the smallest there is."""
PAIRS = 2
"""Antithetic pairs of draws for every choice situation and visit."""
EVIDENCE_TOLERANCE, EVIDENCE_WORTH = 1e-7, 1e-6
"""Relative change of λ, and gain of a single change, at which its update ends."""


@dataclass(frozen=True, eq=False)
class MixedRun:
    """Where it ended; D coefficients, T spreads.

    Attributes
    ----------
    lam, mean, sd
        Of the terms; sd is that of the full posterior, of q with `Dsvi`.
    tau
        Shape (T,).
    quadratic
        With tastes integrated out, at the mean.
    sums
        Of the last pass.
    trace, converged, reason, passes, moving
    """

    lam: Floats
    mean: Floats
    sd: Floats
    tau: Floats
    quadratic: Quadratic
    sums: TasteSums
    trace: list[Step]
    converged: bool
    reason: str
    passes: int
    moving: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class MixedProblem:
    """A design whose columns are standardised, and what may differ between persons.

    Attributes
    ----------
    design
    blocks
        Of whole persons, standardised.
    groups
        Of the coefficients.
    candidates
    fixed
        λ of all terms where it is given.
    """

    design: Design
    blocks: CachedBlocks | StreamedBlocks
    groups: Groups
    candidates: SpreadCandidates
    fixed: float | None = None

    def measure(self, mean: Floats, variance: Floats, tau: Floats) -> TastePass:
        """The pass at a posterior; shapes (D,), (D,), (T,)."""
        columns, components = self.candidates.in_blocks(self.design)
        order = self.design.order
        each = tau[self.candidates.group]
        return TastePass(mean[order], variance[order], columns, components, each, PAIRS)

    def people(self) -> list[PersonTastes]:
        """Before anything is known of anyone, by block."""
        d = len(self.groups.of)
        measure = self.measure(np.zeros(d), np.zeros(d), np.zeros(self.candidates.n))
        q = len(self.candidates.group)
        return [PersonTastes.nothing(measure.units(block), q) for block in self.blocks]

    def pass_over(
        self,
        measure: TastePass,
        people: list[PersonTastes],
        rng: np.random.Generator | None = None,
        share: float = 1.0,
        batches: int = 1,
    ) -> tuple[TasteSums, list[PersonTastes]]:
        """One pass over all persons."""
        total: TasteSums | None = None
        after = []
        each = -(-batches // max(len(people), 1))
        for block, known in zip(self.blocks, people, strict=True):
            sums, there = measure(block, known, rng, share, each)
            total = sums if total is None else total + sums
            after.append(there)
        assert total is not None  # noqa: S101 - there is always a block
        return total, after

    def quadratic(self, sums: TasteSums, mean: Floats) -> Quadratic:
        """Of the log-likelihood with tastes integrated out, about the mean."""
        value = sums.loglik - sums.divergence
        return expand(ordered(Sums(value, sums.gradient, sums.curvature), self.design), mean)


def taste_meat(
    design: Design,
    blocks: CachedBlocks | StreamedBlocks,
    candidates: SpreadCandidates,
    tau: Floats,
    mean: Floats,
) -> tuple[Floats, Quadratic]:
    """Σ s s' of the persons' scores with tastes integrated out, and the quadratic; (D, D).

    Parameters
    ----------
    design, blocks, candidates
    tau
        Shape (T,).
    mean
        In the order of the terms; shape (D,).
    """
    problem = MixedProblem(
        design, blocks, Groups(np.zeros(len(mean), dtype=np.intp), 1), candidates
    )
    sums, _ = problem.pass_over(problem.measure(mean, np.zeros_like(mean), tau), problem.people())
    back = np.ix_(design.position, design.position)
    return sums.meat[back], problem.quadratic(sums, mean)


# -- Newton ----------------------------------------------------------------------------------------


def run_mixed_newton(
    solver: Newton, problem: MixedProblem, lam: Floats, mean: Floats, report: ProgressTrace
) -> MixedRun:
    """Passes at the means, λ and τ in turn, until nothing moves.

    Parameters
    ----------
    solver, problem, report
    lam, mean
        Of the multinomial logit; shapes (G,) and (D,).
    """
    candidates, groups, kind = problem.candidates, problem.groups, solver.posterior
    spreads, people, trace = Spreads.start(candidates.n), problem.people(), []
    nothing = np.zeros_like(mean)
    tried: dict[int, int] = {}
    reason = f"stopped after {solver.max_passes} passes, before λ, τ and the mean stood still"
    converged, moving, looked = False, frozenset[int](), False
    for passes in range(1, solver.max_passes + 1):
        # 1 · The log-likelihood with tastes integrated out, as a quadratic.
        tau = spreads.tau
        sums, people = problem.pass_over(problem.measure(mean, nothing, tau), people)
        quadratic = problem.quadratic(sums, mean)
        value = posterior(quadratic, groups, lam, kind).log_evidence
        trace.append(report(passes, solver.max_passes, value, lam, int((lam > 0).sum())))
        # 2 · λ and means, and a step of every τ.
        first = passes == 2 or looked
        new_lam, new_mean = _updated(problem, quadratic, lam, kind, first=first)
        spreads = next_spreads(candidates, spreads, sums)
        move = np.clip(new_mean - mean, -LEASH, LEASH)
        sd = np.sqrt(posterior(quadratic, groups, new_lam).variance)
        # How far means move in standard deviations.
        far = np.divide(np.abs(move), sd, out=np.zeros_like(sd), where=sd > 0)
        same = np.array_equal(new_lam > 0, lam > 0)
        same &= np.array_equal(spreads.tau > 0, tau > 0)
        still = far.max(initial=0.0) < SETTLED_MEAN
        still &= _stand_still(problem, tau, spreads.tau, sums)
        moving = frozenset(int(g) for g in groups.of[far >= SETTLED_MEAN] if g >= 0)
        lam, mean = new_lam, mean + move
        if not (same and still):
            looked = False
            continue
        # 3 · Should a τ of zero rise?
        barred = frozenset(g for g, times in tried.items() if times > 1)
        entry = entering_spread(candidates, spreads.tau, sums, barred)
        if entry is None and looked:
            converged, reason, moving = True, "nothing left to change", frozenset()
            break
        looked = entry is None
        if entry is not None:
            spreads = spreads.with_one(*entry)
            tried[entry[0]] = tried.get(entry[0], 0) + 1
    sd = np.sqrt(posterior(quadratic, groups, lam).variance)
    return MixedRun(
        lam, mean, sd, spreads.tau, quadratic, sums, trace, converged, reason, len(trace), moving
    )


def _updated(
    problem: MixedProblem, quadratic: Quadratic, lam: Floats, kind: Kind, *, first: bool
) -> tuple[Floats, Floats]:
    """λ and means at their best on a quadratic; the first time from other starts, too."""
    groups = problem.groups
    if problem.fixed is not None:
        return lam, posterior(quadratic, groups, lam, kind).mean
    starts = [lam]
    if first:
        starts += other_starts(quadratic, groups, lam, worth=EVIDENCE_WORTH, kind=kind)
    fit = maximise_evidence(
        quadratic, groups, starts, tolerance=EVIDENCE_TOLERANCE, worth=EVIDENCE_WORTH, kind=kind
    )
    return fit.lam, fit.post.mean


def _stand_still(
    problem: MixedProblem,
    tau: Floats,
    new: Floats,
    sums: TasteSums,
    tolerance: float = SETTLED_SPREAD,
) -> bool:
    """Whether every log τ stands still, measured by its standard deviation."""
    on = (tau > 0) & (new > 0)
    of = np.eye(problem.candidates.n)[problem.candidates.group]
    information = np.einsum("qt,qr,rt->t", of, sums.information, of)[on]
    away = np.abs(np.log(new[on] / tau[on])) * np.sqrt(information)
    return bool(away.max(initial=0.0) < tolerance)


# -- Dsvi ------------------------------------------------------------------------------------------


def run_mixed_dsvi(solver: Dsvi, problem: MixedProblem, report: ProgressTrace) -> MixedRun:
    """Epochs of mini-batches of whole persons until `quiet` of them change nothing."""
    candidates, groups = problem.candidates, problem.groups
    rng = seeded(solver.seed)
    state = DsviState(start_at(groups, solver.start if problem.fixed is None else problem.fixed))
    spreads, people, trace = Spreads.start(candidates.n), problem.people(), []
    average: TasteSums | None = None
    tried: dict[int, int] = {}
    quiet, moving = 0, np.arange(groups.n)
    for epoch in range(solver.max_epochs):
        share = _weight(epoch)
        # 1 · Every batch of persons: draws, their tastes, and what they say of the rest.
        q, tau = state.q, spreads.tau
        measure = problem.measure(q.mean, q.variance, tau)
        sums, people = problem.pass_over(measure, people, rng, share, solver.batches)
        average = sums if average is None else _averaged(average, sums, share)
        value = sums.loglik - sums.divergence
        value = bound(value, groups, q.mean, q.variance) if epoch else value
        # 2 · Averaged with earlier epochs: λ, μ, c² in closed form, a step of every τ.
        state = remember(state, problem.quadratic(sums, q.mean), share)
        state = _revised(state, problem, solver, epoch)
        move = np.clip(state.q.mean - q.mean, -LEASH, LEASH)
        state = replace(state, q=replace(state.q, mean=q.mean + move))
        if epoch:
            spreads = next_spreads(candidates, spreads, average)
        # 3 · Is anything still moving?
        moving = still_moving(q, state.q, groups, solver.tolerance, report.line)
        same = np.array_equal(spreads.tau > 0, tau > 0)
        still = same and _stand_still(problem, tau, spreads.tau, average, solver.tolerance)
        quiet = quiet + 1 if epoch > AVERAGE_FROM and not len(moving) and still else 0
        active = int((state.q.lam > report.line).sum())
        trace.append(report(epoch + 1, solver.max_epochs, value, state.q.lam, active))
        if quiet < solver.quiet:
            continue
        barred = frozenset(g for g, times in tried.items() if times > 0)
        entry = entering_spread(candidates, spreads.tau, average, barred)
        if entry is None:
            break
        quiet, spreads = 0, spreads.with_one(*entry)
        tried[entry[0]] = 1
    still_on = None if quiet >= solver.quiet else frozenset(moving.tolist())
    return _sampled_end(solver, problem, state.q, spreads.tau, people, trace, still_on)


def _sampled_end(
    solver: Dsvi,
    problem: MixedProblem,
    q: MeanField,
    tau: Floats,
    people: list[PersonTastes],
    trace: list[Step],
    moving: frozenset[int] | None,
) -> MixedRun:
    """What follows from a fit rests on Laplace's approximation where it ended, as with Newton()."""
    last, _ = problem.pass_over(problem.measure(q.mean, np.zeros_like(q.mean), tau), people)
    converged = moving is None
    reason = (
        f"{solver.quiet} quiet epochs in a row"
        if moving is None
        else f"{len(moving)} terms still moving after {solver.max_epochs} epochs"
    )
    return MixedRun(
        q.lam,
        q.mean,
        np.sqrt(q.variance),
        tau,
        problem.quadratic(last, q.mean),
        last,
        trace,
        converged,
        reason,
        len(trace),
        moving or frozenset(),
    )


def _weight(epoch: int) -> float:
    """How much an epoch counts against those before: all at first, then less and less."""
    if epoch <= AVERAGE_FROM:
        return 1.0
    return max(float((epoch - AVERAGE_FROM) ** -AVERAGE_POWER), FORGET)


def _revised(state: DsviState, problem: MixedProblem, solver: Dsvi, epoch: int) -> DsviState:
    """λ, μ and c² on the running quadratic."""
    groups = problem.groups
    if problem.fixed is not None:
        assert state.quadratic is not None  # noqa: S101 - an epoch is over
        post = posterior(state.quadratic, groups, state.q.lam, "diagonal")
        return replace(state, q=MeanField(state.q.lam, post.mean, post.variance))
    ridge = solver.start if epoch in (1, AVERAGE_FROM) else None
    return revise(state, groups, None, optimise=epoch > 0, ridge=ridge)


def _averaged(old: TasteSums, new: TasteSums, share: float) -> TasteSums:
    """What steps in τ rest on, with the weight of an epoch."""

    def mix(get: Callable[[TasteSums], Floats]) -> Floats:
        return np.asarray((1 - share) * get(old) + share * get(new))

    return replace(
        new,
        second=mix(lambda s: s.second),
        information=mix(lambda s: s.information),
    )
