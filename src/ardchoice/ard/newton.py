"""The deterministic solver: a handful of passes over the data.

Outer: a pass expands the log-likelihood at the current mean into a quadratic. Inner: evidence
maximisation on that quadratic. Terms whose λ falls to zero are not passed over again; when the rest
has settled, one pass over every candidate shows whether any of them should come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.ard.ascent import (
    LARGEST,
    climb,
    coordinate_ascent,
    fixed_point,
    maximise_evidence,
    other_starts,
)
from ardchoice.ard.groups import FREE, Groups
from ardchoice.ard.likelihood import Likelihood
from ardchoice.ard.previous_data import PreviousData
from ardchoice.ard.quadratic import Kind, Quadratic, expand, posterior
from ardchoice.ard.trace import ProgressTrace, Step
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import Sums, is_definite

EARLY_ROUNDS = 20
"""Fixed-point rounds from a ridge: enough for most to leave, on a quadratic that will move."""
MANY = 300
"""Columns in play from which a single change is dear."""
FINE, COARSE = 1e-7, 1e-4
"""Gain in log evidence worth a change of one λ, with few columns in play and with many."""
WORTH = 1e-6
"""Log evidence by which another start must be better."""
LAST_ROUNDS, LAST = 200, 1e-11
"""Rounds at the end, and relative change of λ at which they are over: λ is then what the data say,
and not the way that led there nor the order in which they were summed."""
EXACT = 1e-9
"""Relative change of λ at which the fixed point is left."""
SETTLED = 1e-4
"""Largest move of a mean between passes, in standard deviations, that counts as none."""
NEAR = 0.3
"""Move between passes, in standard deviations, from which earlier rows are gone through again:
while the mean still moves by more, that would be too early."""
HALVINGS = 30
SLACK = 1e-3
"""Share of the log-likelihood that a step may lose: λ changes too, so some loss can be right."""


@dataclass(frozen=True)
class Newton:
    """The bound on the evidence, or the evidence, maximised in a few passes; nothing to tune.

    Attributes
    ----------
    posterior
        Under which λ is chosen: ``"diagonal"``, independent coefficients, as in the paper, whose
        bound is then maximised; ``"full"`` keeps their covariance and maximises the evidence, which
        leaves more terms in play. What is reported at these λ, means, standard deviations, evidence
        and statistics, is of the full posterior either way.
    max_passes
        Most passes over the data.
    start
        λ at the start, for all terms.
    sample
        Situations (whole persons) to begin with, so that most candidates leave before all data
        are gone through; all are, for those in play, and at the end for every candidate. 0 for no
        sample; unless told, one where data are too many to be kept in memory expanded.
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
        Over the terms in play, and over every candidate.
    recalled
        Rows of earlier data gone through.
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


@dataclass
class _Counter:
    """Passes spent, the trace, and the log-likelihood of knowing nothing, where that was seen."""

    most: int
    report: ProgressTrace
    passes: int = 0
    full: int = 0
    revisited: int = 0
    at_zero: float = -np.inf
    trace: list[Step] = field(default_factory=list)

    def spend(self) -> bool:
        """Whether one more pass may be made."""
        if self.passes >= self.most:
            return False
        self.passes += 1
        return True

    def revisit(self, before: PreviousData, mean: Floats) -> PreviousData:
        """Earlier data at this mean."""
        self.revisited += before.n
        return before.revisit(mean)


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
    count = _Counter(solver.max_passes, report)
    return _search(_Inner(solver, groups), likelihood, groups, terms, count, before, begin)


def _search(
    inner: _Inner,
    likelihood: Likelihood,
    groups: Groups,
    terms: Sequence[npt.NDArray[np.intp]],
    count: _Counter,
    before: PreviousData | None,
    begin: NewtonRun | None,
) -> NewtonRun:
    """From a ridge, or from where some data led."""
    looked = 0
    if begin is not None:
        # 1 · All candidates where some of the data led: from there the quadratic of all data, one
        # pass, is good enough to tell who is in play.
        lam, mean, quadratic = begin.lam, begin.mean, begin.quadratic
        looked = 1
        count.passes, count.full = count.passes + 1, count.full + 1
        lam, mean = inner.revise(quadratic, lam, first=True, rough=False)
        _note(count, inner, quadratic, lam)
    else:
        # 1 · All candidates, from a ridge: most leave in the first rounds.
        mean, lam = np.zeros(len(groups.of)), np.full(groups.n, inner.solver.start)
        # Where earlier data led is nearer than nothing, and what they say is known there.
        mean = mean if before is None else before.at
        ridge = _full_pass(likelihood, mean, before, count, rough=True)
        if ridge is None:
            return _stopped(lam, mean, Quadratic(-np.inf, mean, np.zeros((0, 0))), count)
        quadratic = ridge
        if before is None:
            _note(count, inner, ridge, lam)
        if before is None and count.spend():
            # Seen from zero, who shares what with whom is not yet what it will be.
            there, count.at_zero = posterior(ridge, groups, lam).mean, ridge.constant
            quadratic, _, _ = _safe_pass(
                likelihood, mean, there, lam, groups, before, count, count.at_zero, rough=True
            )
            count.full += 1
        lam, mean = inner.early(quadratic, lam)
        _note(count, inner, quadratic, lam)
    # λ where earlier data led, from their mean: another start.
    known = [] if before is None else [groups.sum(before.at**2) / groups.sizes]
    best, highest = None, -np.inf
    while True:
        # 2 · Only those in play, until mean and λ stand still; roughly will do while all others
        # are yet to be asked.
        rough = looked == 0
        lam, mean, settled = _settle(
            likelihood, groups, terms, lam, mean, inner, count, before, rough=rough
        )
        # Single changes of a λ can be worth next to nothing: what is seen now must be exact.
        if before is not None and not before.is_near(mean, _scale(quadratic), SETTLED):
            before = count.revisit(before, mean)
        full = _full_pass(likelihood, mean, before, count, rough=rough)
        if full is None:
            break
        quadratic = full
        # What a quadratic promised may not hold where it leads to: then back, and be content.
        if settled:
            value = inner.value(quadratic, groups, lam)
            if best is not None and value < highest + WORTH:
                return _ended(inner, *best, count, "nothing else leads higher")
            best, highest = (lam, mean, quadratic), value
        # 3 · Everyone once more: does anybody want to come back, does another start end higher?
        new = inner.revise(quadratic, lam, first=looked == 0, rough=rough, also=known)
        looked += 1
        same = _same(new[0], lam)
        lam, mean = new
        _note(count, inner, quadratic, lam)
        if same and settled and not rough:
            return _ended(inner, lam, mean, quadratic, count)
    return _stopped(lam, mean, quadratic, count)


def _ended(
    inner: _Inner,
    lam: Floats,
    mean: Floats,
    quadratic: Quadratic,
    count: _Counter,
    reason: str = "nothing left to change",
) -> NewtonRun:
    lam, mean = inner.exact(quadratic, lam, mean)
    return _run(lam, mean, quadratic, count, converged=True, reason=reason)


def _stopped(lam: Floats, mean: Floats, quadratic: Quadratic, count: _Counter) -> NewtonRun:
    reason = f"stopped after {count.most} passes, before λ stood still"
    return _run(lam, mean, quadratic, count, converged=False, reason=reason)


def _run(
    lam: Floats,
    mean: Floats,
    quadratic: Quadratic,
    count: _Counter,
    *,
    converged: bool,
    reason: str,
) -> NewtonRun:
    return NewtonRun(
        lam,
        mean,
        quadratic,
        count.trace,
        converged,
        reason,
        count.passes,
        count.full,
        count.revisited,
    )


def _same(a: Floats, b: Floats) -> bool:
    return bool(np.array_equal(a > 0, b > 0) and np.allclose(a, b, rtol=1e-5, atol=1e-9))


def _scale(quadratic: Quadratic) -> Floats:
    """Standard deviations with all other coefficients known: the smallest they can be."""
    return np.asarray(np.sqrt(1 / np.maximum(np.diag(quadratic.curvature), 1e-300)))


def _full_pass(
    likelihood: Likelihood,
    mean: Floats,
    before: PreviousData | None,
    count: _Counter,
    *,
    rough: bool = False,
) -> Quadratic | None:
    if not count.spend():
        return None
    count.full += 1
    sums = _sums(likelihood, mean, rough=rough)
    if not np.isfinite(sums.loglik):
        raise ArdchoiceError(
            "The log-likelihood is not a number: an attribute takes extreme values."
        )
    here = expand(sums, mean)
    return here if before is None else here + before.quadratic


def _sums(likelihood: Likelihood, at: Floats, *, rough: bool) -> Sums:
    """A pass, rough only where the least of priors can make up for what rounding takes away."""
    sums = likelihood.sums(at, rough=rough)
    if not rough:
        return sums
    least = sums.curvature.copy()
    least.flat[:: len(at) + 1] += 1 / LARGEST
    return sums if is_definite(least) else likelihood.sums(at)


def _note(count: _Counter, inner: _Inner, quadratic: Quadratic, lam: Floats) -> None:
    evidence = inner.value(quadratic, inner.groups, lam)
    active = int((lam > count.report.line).sum())
    count.trace.append(count.report(count.passes, count.most, evidence, lam, active))


@dataclass(frozen=True)
class _Inner:
    """Maximising over λ on a quadratic: the evidence, or the mean-field bound."""

    solver: Newton
    groups: Groups

    @property
    def kind(self) -> Kind:
        """What is maximised."""
        return self.solver.posterior

    def value(self, quadratic: Quadratic, groups: Groups, lam: Floats) -> float:
        """What is maximised."""
        return posterior(quadratic, groups, lam, self.kind).log_evidence

    def early(self, quadratic: Quadratic, lam: Floats) -> tuple[Floats, Floats]:
        """Who is in play to begin with, of all candidates; shape (G,), (D,)."""
        lam = fixed_point(quadratic, self.groups, lam, EARLY_ROUNDS, kind=self.kind).lam
        fit = coordinate_ascent(quadratic, self.groups, lam, worth=COARSE, kind=self.kind)
        return fit.lam, fit.post.mean

    def late(
        self, quadratic: Quadratic, groups: Groups, lam: Floats, moved: float, *, rough: bool
    ) -> tuple[Floats, Floats]:
        """To the end, on the columns of a restricted quadratic; `moved` is the last move."""
        # As exact as this quadratic is worth: it will move by about as much as the last did.
        tolerance = 1e-3 if rough else float(np.clip(1e-4 * moved, EXACT, 1e-3))
        worth = FINE if len(quadratic.b) <= MANY and not rough else COARSE
        fit = maximise_evidence(
            quadratic, groups, [lam], tolerance=tolerance, worth=worth, kind=self.kind
        )
        return fit.lam, fit.post.mean

    def revise(
        self,
        quadratic: Quadratic,
        lam: Floats,
        *,
        first: bool,
        rough: bool,
        also: Sequence[Floats] = (),
    ) -> tuple[Floats, Floats]:
        """Over all candidates: single changes from here; the first time, other starts as well."""
        worth = COARSE if rough else FINE
        fits = [coordinate_ascent(quadratic, self.groups, lam, worth=worth, kind=self.kind)]
        if first:
            starts = other_starts(quadratic, self.groups, lam, worth=worth, kind=self.kind)
            starts += also
            fits.append(
                maximise_evidence(
                    quadratic, self.groups, starts, tolerance=1e-3, worth=worth, kind=self.kind
                )
            )
        # The present state unless another is clearly better: ties must not go back and forth.
        best = max(fits, key=lambda fit: fit.post.log_evidence)
        if best.post.log_evidence < fits[0].post.log_evidence + WORTH:
            best = fits[0]
        return best.lam, best.post.mean

    def exact(self, quadratic: Quadratic, lam: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """λ of the terms in play to its last digits; none of them leaves any more."""
        fit = climb(quadratic, self.groups, lam, LAST_ROUNDS, LAST, self.kind)
        return (fit.lam, fit.post.mean) if (fit.lam > 0).sum() == (lam > 0).sum() else (lam, mean)


def _settle(
    likelihood: Likelihood,
    groups: Groups,
    terms: Sequence[npt.NDArray[np.intp]],
    lam: Floats,
    mean: Floats,
    inner: _Inner,
    count: _Counter,
    before: PreviousData | None,
    *,
    rough: bool,
) -> tuple[Floats, Floats, bool]:
    """Passes over the terms in play until their means stand still; (λ, mean, whether they do).

    A `rough` standstill leaves earlier rows alone, and does not count as one.
    """
    while True:
        active = groups.active(lam)
        if not len(active):
            return lam, mean, True
        playing = np.zeros(len(mean), dtype=bool)
        playing[active] = True
        kept = [t for t, columns in enumerate(terms) if playing[columns].any()]
        columns = np.concatenate([terms[t] for t in kept])
        some = likelihood.restrict(kept)
        inside, numbers = _subgroups(groups, columns)
        earlier = None if before is None else before.take(kept, columns)
        moved = np.inf
        here, at = None, mean[columns]
        # Nobody knows yet how these few do, but no worse than nothing: a step can lead far astray.
        old, floor, sd = np.zeros_like(at), count.at_zero, np.ones_like(at)
        same_terms = True
        while same_terms:
            if not count.spend():
                return lam, mean, False
            if earlier is not None and moved <= NEAR and not rough and not earlier.is_near(at, sd):
                earlier, floor = count.revisit(earlier, at), -np.inf
            here, at, floor = _safe_pass(some, old, at, lam[numbers], inside, earlier, count, floor)
            new, target = inner.late(here, inside, lam[numbers], moved, rough=rough)
            same_terms = bool(np.array_equal(new > 0, lam[numbers] > 0))
            sd = _scale(here)
            moved = float(np.max(np.abs(target - at) / sd, initial=0.0))
            lam = np.zeros(groups.n)
            lam[numbers] = new
            mean = np.zeros(len(mean))
            mean[columns] = target
            old, at = at, target
            evidence = inner.value(here, inside, new)
            active_now = int((lam > count.report.line).sum())
            count.trace.append(count.report(count.passes, count.most, evidence, lam, active_now))
            if rough and moved <= NEAR:
                return lam, mean, False
            fresh = earlier is None or earlier.is_near(target, sd)
            if moved <= SETTLED and fresh:
                return lam, mean, True


def _subgroups(
    groups: Groups, columns: npt.NDArray[np.intp]
) -> tuple[Groups, npt.NDArray[np.intp]]:
    """The groups of some columns, numbered anew, and their old numbers."""
    of = groups.of[columns]
    numbers = np.unique(of[of >= 0])
    renumbered = np.where(of >= 0, np.searchsorted(numbers, of), FREE)
    return Groups(renumbered, len(numbers)), numbers


def _safe_pass(
    likelihood: Likelihood,
    old: Floats,
    new: Floats,
    lam: Floats,
    groups: Groups,
    before: PreviousData | None,
    count: _Counter,
    floor: float,
    *,
    rough: bool = False,
) -> tuple[Quadratic, Floats, float]:
    """A pass at the new mean, or nearer to the old one where the new one is worse than `floor`.

    Returns the quadratic, where it was expanded, and the log-likelihood there with earlier data.
    """
    precision = groups.precision(lam)
    precision = np.where(np.isfinite(precision), precision, 0.0)
    at = new
    for _ in range(HALVINGS):
        sums = _sums(likelihood, at, rough=rough)
        loglik = sums.loglik + (0.0 if before is None else before.quadratic.value(at))
        # The penalised log-likelihood must not fall: the quadratic promised that it would rise.
        lost = floor - loglik + 0.5 * float(precision @ (at**2 - old**2))
        if np.isfinite(sums.curvature).all() and lost <= SLACK * abs(floor):
            here = expand(sums, at)
            return (here if before is None else here + before.quadratic), at, loglik
        at = 0.5 * (old + at)
        count.passes += 1
    raise ArdchoiceError(
        "The log-likelihood is not a number near the estimates, even after smaller steps: an "
        "attribute takes extreme values. Look at print(data), change its unit or transform it."
    )
