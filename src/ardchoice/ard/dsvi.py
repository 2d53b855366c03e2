"""Doubly stochastic variational inference: draws of the coefficients, batches of the data.

`DsviPaper` is the algorithm as published: q(β) = Π N(μ, c²), λ optimised out of the bound

    E_q[log p(y|β)] + Σ log c - ½ Σ_d K_d log Σ_k (c² + μ²),

gradients by β = μ + c∘z, a fixed schedule of step sizes.

`Dsvi` maximises the same bound. What makes it faster: every batch gives not only a gradient but the
curvature, so that the batches of an epoch add up to a quadratic on which each term's λ, μ and c²
have closed forms; utilities are drawn instead of coefficients, in antithetic pairs; and it stops
when there is nothing left to move.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.ard.ascent import maximise_evidence, other_starts
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import Batch, Likelihood
from ardchoice.ard.meanfield import MeanField, bound, start_at
from ardchoice.ard.quadratic import Quadratic, expand, posterior
from ardchoice.ard.trace import ProgressTrace, Step
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import Sums, seeded

LEASH = 1.0
"""Largest move of a mean in an epoch, on standardised columns."""


@dataclass(frozen=True, eq=False)
class Variational:
    """q(β) = Π N(μ, c²), shape (D,) each."""

    mean: Floats
    scale: Floats

    def lam(self, groups: Groups) -> Floats:
        """λ* = mean over a group's columns of c² + μ²; shape (G,)."""
        return groups.sum(self.mean**2 + self.scale**2) / groups.sizes


# -- The published algorithm ---------------------------------------------------------------------


@dataclass(frozen=True)
class DsviPaper:
    """The published algorithm and schedule.

    Early steps overshoot: the largest eigenvalue of H is several N on the published data, and 0.8
    times that is beyond 2. The means recover as the rate decays, for the gradient of a logit is
    bounded; a scale that is thrown across zero does not, for its gradient has 1/c in it. So c is
    kept above `smallest_scale`, from where one step by 1/c leads back to the scale of the start.
    That happens early in the schedule and seldom; all other steps are as published.

    Attributes
    ----------
    steps
        Mini-batch steps.
    batches
        Mini-batches the data are divided into, once.
    learning_rate
        Of the means, divided by N.
    scale_rate
        Of the scales, relative to that of the means.
    decay, decay_every
        Factor on both rates every so many steps.
    start_scale
        c at the start; means start at zero.
    seed
        Of batches and draws.
    """

    steps: int = 400_000
    batches: int = 20
    learning_rate: float = 0.8
    scale_rate: float = 0.1
    decay: float = 0.95
    decay_every: int = 1000
    start_scale: float = 0.1
    seed: int = 0
    record_every: int = 100

    @property
    def name(self) -> str:
        """How reports call it."""
        return "Dsvi.paper()"

    def smallest_scale(self, n: float) -> float:
        """Where a step by 1/c, at the first rate, goes as far as the scale of the start."""
        return self.scale_rate * self.learning_rate / (n * self.start_scale)


def bound_gradient(
    q: Variational, groups: Groups, sums: Sums, z: Floats, share: float
) -> Variational:
    """The gradient of the bound by (μ, c), from one draw and one batch.

    Parameters
    ----------
    q, groups
        Where and over what.
    sums
        Of the batch at β = μ + c∘z, with gradient.
    z
        Standard Gaussian; shape (D,).
    share
        N over the size of the batch.
    """
    likelihood = share * sums.gradient
    second = groups.sum(q.mean**2 + q.scale**2)
    # Free columns have a flat prior: nothing pulls them.
    pull = np.append(groups.sizes / second, 0.0)[groups.of]
    return Variational(likelihood - pull * q.mean, likelihood * z + 1 / q.scale - pull * q.scale)


def run_paper(
    solver: DsviPaper, likelihood: Likelihood, groups: Groups, report: ProgressTrace
) -> tuple[Variational, list[Step]]:
    """The published schedule, in full."""
    rng = seeded(solver.seed)
    n, d = likelihood.n, len(groups.of)
    q = Variational(np.zeros(d), np.full(d, solver.start_scale))
    batches: list[Batch] = list(likelihood.batches(rng, solver.batches))
    trace: list[Step] = []
    rate = solver.learning_rate / likelihood.size
    smallest = solver.smallest_scale(likelihood.size)
    for step in range(solver.steps):
        if step and step % solver.decay_every == 0:
            rate *= solver.decay
        batch = batches[step % len(batches)]
        z = rng.standard_normal(d)
        sums = batch.sums(q.mean + q.scale * z, 1)
        up = bound_gradient(q, groups, sums, z, n / batch.n)
        q = Variational(
            q.mean + rate * up.mean,
            np.maximum(q.scale + solver.scale_rate * rate * up.scale, smallest),
        )
        if not np.isfinite(sums.loglik) or not np.isfinite(q.mean).all():
            raise ArdchoiceError(
                f"The bound is not a number after {step} steps: the published step size "
                f"({solver.learning_rate}/N) is too large for these data. Use Newton() or Dsvi(), "
                "or a smaller learning_rate."
            )
        if step % solver.record_every == 0 or step == solver.steps - 1:
            value = bound(n / batch.n * sums.loglik, groups, q.mean, q.scale**2)
            lam = q.lam(groups)
            trace.append(report(step + 1, solver.steps, value, lam, int((lam > report.line).sum())))
    return q, trace


# -- Ours ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dsvi:
    """Doubly stochastic variational inference that converges and says so.

    Attributes
    ----------
    max_epochs
        Most epochs: passes over the data.
    batches
        Mini-batches per epoch, drawn again each time.
    tolerance
        An epoch that moves no mean by more than this share of its posterior standard deviation,
        and no λ across the line, is a quiet one.
    quiet
        How many quiet epochs in a row end the run.
    start
        λ at the start, for all terms.
    seed
        Of batches and draws.
    """

    max_epochs: int = 400
    batches: int = 20
    tolerance: float = 0.05
    quiet: int = 3
    start: float = 0.1
    seed: int = 0

    @property
    def name(self) -> str:
        """How reports call it."""
        return "Dsvi()"

    @staticmethod
    def paper(**changes: object) -> DsviPaper:
        """The published algorithm and schedule."""
        return DsviPaper(**changes)  # type: ignore[arg-type]


AVERAGE_FROM = 5
"""Epochs before averaging begins: by then q is close to where it will end."""
ROUGH = 1e-3
"""Change of λ and of the bound that an epoch leaves to the next, on a quadratic that has moved."""
FORGET = 0.05
"""Smallest weight of a new epoch, so that early ones are forgotten."""


@dataclass(frozen=True, eq=False)
class DsviState:
    """What is carried from epoch to epoch.

    Attributes
    ----------
    q
        The current posterior and λ.
    quadratic
        The running average of the epochs' quadratics; None before the first.
    """

    q: MeanField
    quadratic: Quadratic | None = None


@dataclass(frozen=True, eq=False)
class DsviRun:
    """Where a run ended: state, trace, whether it converged, and which groups still moved."""

    state: DsviState
    trace: list[Step]
    converged: bool
    moving: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))


def run_dsvi(
    solver: Dsvi,
    likelihood: Likelihood,
    groups: Groups,
    report: ProgressTrace,
    before: Quadratic | None = None,
) -> DsviRun:
    """Epoch after epoch until `quiet` of them change nothing.

    Parameters
    ----------
    solver, likelihood, groups, report
    before
        What earlier data said, as a quadratic; these data come on top.
    """
    rng = seeded(solver.seed)
    state = DsviState(start_at(groups, solver.start))
    trace: list[Step] = []
    quiet, moving = 0, np.arange(groups.n)
    for epoch in range(solver.max_epochs):
        # 1 · Batch after batch says what it thinks of q, as a quadratic.
        heard = (listen(state.q, batch, rng) for batch in likelihood.batches(rng, solver.batches))
        whole = reduce(Heard.__add__, heard)
        # 2 · Together they are all the data. Late epochs are averaged, so that draws average out.
        last, state = state.q, remember(state, whole.quadratic, weight_of(epoch))
        # 3 · A ridge to start from, then λ of its own for every term.
        ridge = solver.start if epoch in (1, AVERAGE_FROM) else None
        state = revise(state, groups, before, optimise=epoch > 0, ridge=ridge)
        state = DsviState(_held(last, state.q), state.quadratic)
        # 4 · Is anything still moving?
        moving = still_moving(last, state.q, groups, solver.tolerance, report.line)
        quiet = quiet + 1 if epoch > AVERAGE_FROM and not len(moving) else 0
        value = bound(whole.loglik, groups, state.q.mean, state.q.variance)
        active = int((state.q.lam > report.line).sum())
        trace.append(report(epoch + 1, solver.max_epochs, value, state.q.lam, active))
        if quiet >= solver.quiet:
            break
    return DsviRun(state, trace, quiet >= solver.quiet, moving)


def _held(last: MeanField, new: MeanField) -> MeanField:
    """No mean goes further than `LEASH` in an epoch.

    Where a choice is predicted almost surely the curvature vanishes, and a quadratic would send the
    means much further than it is known for.
    """
    move = np.clip(new.mean - last.mean, -LEASH, LEASH)
    return replace(new, mean=last.mean + move)


@dataclass(frozen=True, eq=False)
class Heard:
    """What one batch said: its expected log-likelihood, and the quadratic of it."""

    loglik: float
    quadratic: Quadratic

    def __add__(self, other: Heard) -> Heard:
        return Heard(self.loglik + other.loglik, self.quadratic + other.quadratic)


def listen(q: MeanField, batch: Batch, rng: np.random.Generator) -> Heard:
    """The expected log-likelihood of a batch under q, expanded where q stands."""
    sums = batch.expected(q.mean, q.variance, rng)
    if not np.isfinite(sums.loglik):
        raise ArdchoiceError("The bound is not a number: an attribute takes extreme values.")
    return Heard(sums.loglik, expand(sums, q.mean))


def weight_of(epoch: int) -> float:
    """How much an epoch counts against those before: all at first, later an average."""
    return 1.0 if epoch <= AVERAGE_FROM else max(1 / (epoch - AVERAGE_FROM), FORGET)


def remember(state: DsviState, new: Quadratic, weight: float) -> DsviState:
    """Average an epoch into the running quadratic."""
    old = state.quadratic
    return DsviState(state.q, new if old is None else mix(old, new, weight))


def revise(
    state: DsviState,
    groups: Groups,
    before: Quadratic | None,
    *,
    optimise: bool,
    ridge: float | None = None,
) -> DsviState:
    """λ, μ and c² of every term at the top of the bound on the running quadratic.

    With a ridge, also from that λ for all and from elsewhere: the bound has more than one hill.
    """
    if state.quadratic is None:
        return state
    total = state.quadratic if before is None else state.quadratic + before
    if not optimise:
        post = posterior(total, groups, state.q.lam, "diagonal")
        return DsviState(MeanField(state.q.lam, post.mean, post.variance), state.quadratic)
    starts = [state.q.lam]
    if ridge is not None:
        starts.append(np.full(groups.n, ridge))
        starts += other_starts(total, groups, state.q.lam, worth=ROUGH, kind="diagonal")
    top = maximise_evidence(total, groups, starts, tolerance=ROUGH, worth=ROUGH, kind="diagonal")
    return DsviState(MeanField(top.lam, top.post.mean, top.post.variance), state.quadratic)


def mix(old: Quadratic, new: Quadratic, weight: float) -> Quadratic:
    """(1 - weight) old + weight new."""
    return Quadratic(
        (1 - weight) * old.constant + weight * new.constant,
        (1 - weight) * old.b + weight * new.b,
        (1 - weight) * old.curvature + weight * new.curvature,
    )


def still_moving(
    before: MeanField, after: MeanField, groups: Groups, tolerance: float, line: float
) -> npt.NDArray[np.intp]:
    """Groups whose mean moved by more than `tolerance` standard deviations, or that crossed."""
    sd = np.sqrt(np.maximum(after.variance, before.variance))
    moved = np.zeros(len(sd))
    np.divide(np.abs(after.mean - before.mean), sd, out=moved, where=sd > 0)
    largest = np.zeros(groups.n)
    shrunk = groups.of >= 0
    np.maximum.at(largest, groups.of[shrunk], moved[shrunk])
    crossed = (before.lam > line) != (after.lam > line)
    free_moved = moved[~shrunk].max(initial=0.0) > tolerance
    out = np.flatnonzero((largest > tolerance) | crossed)
    return out if len(out) or not free_moved else np.array([-1])
