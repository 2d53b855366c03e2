"""Maximum simulated likelihood: a coarse rule first, then the rule that was asked for.

Nodes are adapted at every step while far from the maximum, then they stay where they are. The end
is a fixed point: where nodes are adapted at θ, θ is the maximum.

Hessians of the simulated log-likelihood are differences of large sums: E[I] less the variance of
the scores over a person's posterior. Where tastes are large one person with a node in a tail can
turn the sign of one. Products of the persons' scores (BHHH) have no such error and half the cost:
they lead to where Newton's method takes over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Bools, Floats
from ardchoice.families.family import family_pass
from ardchoice.families.mixed.distributions import SIGNED
from ardchoice.families.mixed.kernel import Rule
from ardchoice.families.mixed.measures import MomentMeasure, SimulationMeasure
from ardchoice.families.mixed.money import to_money, units_in_money
from ardchoice.families.mixed.quadratics import ScoreTestMeasure
from ardchoice.families.mixed.structure import (
    Structure,
    from_loadings,
    structure_of,
)
from ardchoice.families.mnl import Mnl
from ardchoice.families.parameters import ParameterLayout
from ardchoice.families.records import EstimationTask, Maximum
from ardchoice.numerics import Sums, ascent_step, map_reduce

COARSE_NODES = 16
"""Per person, while estimates are far from the maximum."""
COARSE_DECREMENT = 0.3
"""Log-likelihood still to be gained at which the coarse rule has done its work."""
COARSE_STEPS = 15
EM_STEPS = 15
"""Of expectation maximisation, from independent to correlated coefficients."""
ROUND_DECREMENT = 1e-3
"""Log-likelihood still to be gained, with frozen nodes, at which nodes are adapted again."""
SETTLED_DECREMENT = 0.01
"""Largest predicted gain of a step since nodes were adapted at which they stay."""
FAR_DECREMENT = 0.5
"""Log-likelihood still to be gained above which nodes are adapted after every step: frozen ones
would lead to where they do not cover the posteriors."""
MOST_ROUNDS = 3
CONTRACTION = 0.5
"""Share of the last round's decrement above which adapting again leads nowhere: nodes are too few
for the likelihood to be known better."""
SCORE_STEPS = 12
"""Most steps by products of scores."""
IDLE_GAIN, MOST_IDLE = 0.05, 2
"""Log-likelihood that a step has to gain, and how many in a row need not: moving nodes change more
than is left to be gained."""
SETTLING_SHARE = 0.2
"""Of what moving nodes may cause far from the maximum that is allowed near it."""
HOPED_DECREMENTS = 4.0
"""How many times what a step promises a fit may still gain."""
FEWEST_SHARE = 0.1
"""Smallest share of such a step."""
MOST_TURNS = 3
"""Steps of a standard deviation below zero after which it is at its boundary in any case."""
LAST_DECREMENT = 1e-6
"""Log-likelihood still to be gained before the last step, which leaves its square."""
NOISE_PER_ROOT_UNIT = 0.1
"""Change of the log-likelihood that moving nodes may cause, per root of the number of persons."""
SUFFICIENT_SHARE = 1e-4
"""Share of the predicted gain that a step must reach (Armijo)."""
MOST_HALVINGS = 12
SMALLEST_FIRST_SHARE = 0.2
"""Of a coefficient: a standard deviation never starts at zero, where its gradient vanishes."""
SMALLEST_FIRST_UTILITY = 0.7
"""Spread of a person's utilities that a first standard deviation causes at least."""
BOUNDARY_UTILITY = 0.03
"""Spread of utility that a standard deviation causes below which it is at its boundary, zero."""
AWAY_UTILITY = 0.3
"""Spread of utility at which the log-likelihood is compared with that at the boundary: a step that
ends near zero by chance, from far away, does not show that the maximum is there."""


@dataclass(frozen=True, eq=False)
class Warm:
    """What the multinomial logit says before anything is simulated.

    Attributes
    ----------
    maximum
        Of the multinomial logit, in block order.
    variance
        First guess of the variance of every random coefficient; shape (q,).
    scale
        Root mean information per person of every random coefficient; shape (q,).
    location
        The coefficients in the terms of the model, which may be those of WTP space; shape (D,).
        None where they are those of the multinomial logit.
    """

    maximum: Maximum
    variance: Floats
    scale: Floats
    location: Floats | None = None


def mnl_task(task: EstimationTask) -> EstimationTask:
    """The same task for the multinomial logit."""
    d = task.layout.n_columns
    plain = ParameterLayout(task.layout.parameters[:d], d)

    def evaluate(theta: Floats, last: bool) -> Sums:
        return family_pass(Mnl(), plain, theta, task.blocks)

    return replace(task, layout=plain, evaluate=evaluate)


def warm_start(task: EstimationTask, structure: Structure, maximum: Maximum | None = None) -> Warm:
    """The multinomial logit, unless it is known, and the variances that its scores suggest."""
    maximum = maximum or Mnl().maximise(mnl_task(task))
    components = structure.keys
    test = map_reduce(ScoreTestMeasure(maximum.fit.beta, components), task.blocks)
    columns = structure.columns
    units = max(len(task.design.data), 1)
    persons = task.design.data.n_persons or units
    scale = np.sqrt(np.sqrt(2 * test.information[columns] / persons))
    unit = units_in_money(structure, maximum.fit.beta)
    location = to_money(structure, maximum.fit.beta)
    variance = test.variance[columns] / unit**2
    return Warm(maximum, variance, np.maximum(scale * unit, 1e-300), location)


def first_point(structure: Structure, warm: Warm) -> Floats:
    """Coefficients of the multinomial logit, and spreads that are not zero; shape (D + M,)."""
    beta = warm.maximum.fit.beta if warm.location is None else warm.location
    phi = np.zeros(structure.size)
    phi[: structure.n_columns] = beta
    for k, spread in enumerate(structure.spreads):
        mean = 0.0 if spread.column is None else float(beta[spread.column])
        least = max(SMALLEST_FIRST_SHARE * abs(mean), SMALLEST_FIRST_UTILITY / warm.scale[k])
        sd = float(np.sqrt(max(warm.variance[k], least**2)))
        if spread.distribution == "lognormal" and spread.column is not None:
            sd = float(np.clip(sd / abs(mean), SMALLEST_FIRST_SHARE, 1.0))
            phi[spread.column] = np.log(abs(mean))
        elif spread.distribution in SIGNED:
            sd = min(sd, abs(mean))
        phi[structure.n_columns + k] = sd
    return phi


def maximise_simulated(
    task: EstimationTask,
    nodes: int,
    seed: int,
    warm: Warm | None = None,
    *,
    start: Floats | None = None,
    is_near: bool = False,
    is_final: bool = True,
    wanted: float = -np.inf,
) -> SimulatedMaximum:
    """Newton's method on the simulated log-likelihood, from the multinomial logit.

    Parameters
    ----------
    task, nodes, seed
    warm
        Default: made here.
    start
        Coefficients and standard deviations to start from. Default: `first_point`.
    is_near
        Whether the start is so near that no coarse rule is needed.
    is_final
        Whether to end in double precision; a comparison of models does not need it, nor the last
        tenth of a log-likelihood.
    wanted
        Log-likelihood of interest: a fit that is not final is given up once it promises less.
    """
    structure = structure_of(task.layout)
    warm = warm or warm_start(task, structure)
    coarse = Rule(min(COARSE_NODES, nodes), seed, True)
    uncorrelated = replace(
        structure,
        coefficient=structure.coefficient[: structure.q],
        node=structure.node[: structure.q],
        correlations=(),
    )
    first = _Climb(task, uncorrelated, warm)
    start = first_point(uncorrelated, warm) if start is None else start
    phi = start if is_near else first.approach(start, coarse)
    climb = first
    if not structure.is_plain:
        climb = _Climb(task, structure, warm)
        climb.steps, climb.passes = first.steps, first.passes
        phi = np.concatenate([phi, np.zeros(len(structure.correlations))])
        phi = climb.expectation_maximisation(phi, coarse)
    single = Rule(nodes, seed, True)
    phi = anchor = climb.settle(phi, single, wanted)
    if not is_final:
        return climb.ended(phi, anchor)
    phi, anchor = climb.finish(phi, nodes, seed)
    return climb.ended(phi, anchor)


@dataclass(frozen=True, eq=False)
class SimulatedMaximum:
    """Where estimation ended.

    Attributes
    ----------
    theta
        Coefficients, standard deviations and correlations, in block order.
    anchor
        Where nodes are adapted, in the same terms.
    steps, passes
    diverging
        As in `Maximum`.
    warm
    sums
        By coefficients and loadings, one step before the end.
    """

    theta: Floats
    anchor: Floats
    steps: int
    passes: int
    diverging: Floats | None
    warm: Warm
    sums: Sums


class _Climb:
    """Newton steps on the simulated log-likelihood, by coefficients and loadings."""

    def __init__(self, task: EstimationTask, structure: Structure, warm: Warm) -> None:
        self.task, self.structure, self.warm = task, structure, warm
        self.held = np.zeros(structure.size, dtype=bool)
        self.turns = np.zeros(structure.size, dtype=np.intp)
        self.steps, self.passes, self.largest_decrement = 0, 0, np.inf
        data = task.design.data
        self.last: Sums | None = None
        self.noise = NOISE_PER_ROOT_UNIT * np.sqrt(data.n_persons or len(data))

    # -- While far from the maximum: nodes are adapted before every step -----------------------

    def approach(self, phi: Floats, rule: Rule) -> Floats:
        """Until less is to be gained than moving nodes change."""
        here = self._evaluate(phi, rule)
        for _ in range(COARSE_STEPS):
            step = self._step(here)
            decrement = 0.5 * float(here.gradient @ step)
            if decrement <= COARSE_DECREMENT:
                break
            trial = self._canonical(phi + step)
            there = self._evaluate(trial, rule)
            self.steps += 1
            if there.loglik < here.loglik - min(self.noise, decrement):
                size = self._halved(phi, here, step, rule, phi)
                trial = self._canonical(phi + size * step)
                there = self._evaluate(trial, rule)
            phi, here = trial, there
        return phi

    def expectation_maximisation(self, phi: Floats, rule: Rule) -> Floats:
        """Means and covariances of normal indices from those of the persons' posteriors.

        From independent coefficients to correlated ones Newton's method is lost: the Hessian is
        indefinite on the way. These steps always rise, whatever the distance.
        """
        s, d = self.structure, self.structure.n_columns
        for _ in range(EM_STEPS):
            found = map_reduce(MomentMeasure(s, phi, rule), self.task.blocks)
            self.passes += 1
            root = np.zeros((s.q, s.q))
            root[s.coefficient, s.node] = phi[d:]
            mean = root @ (found.mean / found.weight)
            square = root @ (found.square / found.weight) @ root.T
            own = np.array([spread.column is not None for spread in s.spreads])
            moved = np.where(own, mean, 0.0)
            covariance = square - np.outer(moved, mean) - np.outer(mean, moved)
            covariance += np.outer(moved, moved)
            # Coefficients that are not correlated with each other stay so.
            linked = np.eye(s.q, dtype=bool)
            linked[s.coefficient, s.node] = linked[s.node, s.coefficient] = True
            covariance = np.where(linked, covariance, 0.0)
            phi = phi.copy()
            phi[s.columns[own]] += moved[own]
            factor = np.linalg.cholesky(covariance)
            phi[d:] = factor[s.coefficient, s.node]
        return phi

    def settle(self, phi: Floats, rule: Rule, wanted: float = -np.inf) -> Floats:
        """By products of the persons' scores, until moving nodes change more than is to be gained.

        What a step may lose is less than what it promises: the log-likelihood jumps a little where
        a person needs more nodes, or fewer. What promises less than is wanted is given up.
        """
        here = self._scored(phi, rule)
        best, idle = (here, phi), 0
        for _ in range(SCORE_STEPS):
            step = self._step(here)
            decrement, size = 0.5 * float(here.gradient @ step), 1.0
            if decrement <= IDLE_GAIN or idle == MOST_IDLE:
                break
            if here.loglik + HOPED_DECREMENTS * decrement < wanted:
                break
            while True:
                trial = self._canonical(phi + size * step)
                there = self._scored(trial, rule)
                least = here.loglik - min(SETTLING_SHARE * self.noise, size * decrement)
                if there.loglik >= least or size < FEWEST_SHARE:
                    break
                size *= 0.4
            self.steps += 1
            idle = 0 if there.loglik > best[0].loglik + IDLE_GAIN else idle + 1
            phi, here = trial, there
            best = max(best, (here, phi), key=lambda one: one[0].loglik)
        self.last = best[0]
        return self._bounded(best[1], rule, best[1])

    def _scored(self, phi: Floats, rule: Rule) -> Sums:
        self.passes += 1
        measure = SimulationMeasure(self.structure, phi, rule, 1, None, True)
        return map_reduce(measure, self.task.blocks)

    # -- Near it: frozen nodes ------------------------------------------------------------------

    def finish(self, phi: Floats, nodes: int, seed: int) -> tuple[Floats, Floats]:
        """The maximum in double precision, and where its nodes are adapted."""
        single, before = Rule(nodes, seed, True), np.inf
        for _ in range(MOST_ROUNDS):
            anchor = phi
            phi = self.ascend(phi, single, anchor, ROUND_DECREMENT, is_careful=True)
            now = self.largest_decrement
            if now <= SETTLED_DECREMENT or now > CONTRACTION * before:
                break
            if self.steps >= self.task.max_iterations:
                break
            before = now
        return self.ascend(phi, Rule(nodes, seed), anchor, LAST_DECREMENT), anchor

    def ascend(
        self, phi: Floats, rule: Rule, anchor: Floats, enough: float, is_careful: bool = False
    ) -> Floats:
        """Newton's method with nodes adapted at the anchor; the last step is taken unchecked.

        A careful ascent ends after one step where much is still to be gained.
        """
        here = self._evaluate(phi, rule, 2, anchor)
        self.largest_decrement = 0.0
        while True:
            step = self._step(here)
            decrement = 0.5 * float(here.gradient @ step)
            self.largest_decrement = max(self.largest_decrement, decrement)
            if self.steps >= self.task.max_iterations:
                return phi
            if decrement <= enough:
                ended = phi + step
                phi = self._bounded(ended, rule, anchor)
                if is_careful or np.array_equal(phi, ended):
                    return phi
                # A standard deviation went to zero: the others have to settle again.
                here = self._evaluate(phi, rule, 2, anchor)
                self.steps += 1
                continue
            self.steps += 1
            there = self._evaluate(phi + step, rule, 2, anchor)
            size = 1.0
            if there.loglik < here.loglik + SUFFICIENT_SHARE * 2 * decrement:
                size = self._halved(phi, here, step, rule, anchor)
                there = self._evaluate(phi + size * step, rule, 2, anchor)
            phi, here = phi + size * step, there
            if is_careful and decrement > FAR_DECREMENT:
                return self._bounded(phi, rule, anchor)

    def _halved(self, phi: Floats, here: Sums, step: Floats, rule: Rule, anchor: Floats) -> float:
        """Line search with frozen nodes: the share of a step that rises."""
        gain, size = float(here.gradient @ step), 1.0
        for _ in range(MOST_HALVINGS):
            size *= 0.5
            frozen = self._evaluate(phi + size * step, rule, 0, anchor)
            if frozen.loglik >= here.loglik + SUFFICIENT_SHARE * size * gain:
                break
        return size

    def _evaluate(self, phi: Floats, rule: Rule, order: int = 2, at: Floats | None = None) -> Sums:
        self.passes += 1
        measure = SimulationMeasure(self.structure, phi, rule, order, at)
        found = map_reduce(measure, self.task.blocks)
        if order == 2:
            self.last = found
        return found

    def _step(self, here: Sums) -> Floats:
        step = np.zeros(len(self.held))
        free = np.flatnonzero(~self.held)
        inside = Sums(here.loglik, here.gradient[free], here.curvature[np.ix_(free, free)])
        step[free] = ascent_step(inside)
        return step

    def _canonical(self, phi: Floats) -> Floats:
        """Positive standard deviations."""
        s, d = self.structure, self.structure.n_columns
        if s.is_plain:
            extras = np.abs(phi[d:])
            free = ~self.held[d:]
            least = BOUNDARY_UTILITY / self.warm.scale
            extras[free] = np.maximum(extras, least)[free]
            return np.concatenate([phi[:d], extras])
        root = np.zeros((s.q, s.q))
        root[s.coefficient, s.node] = phi[d:]
        turn = np.where(np.diag(root) < 0, -1.0, 1.0)
        return np.concatenate([phi[:d], phi[d:] * turn[s.node]])

    def _bounded(self, phi: Floats, rule: Rule, anchor: Floats) -> Floats:
        """The same; standard deviations that do nothing are at zero from now on."""
        given, d = phi, self.structure.n_columns
        phi = self._canonical(phi)
        if not self.structure.is_plain:
            return phi
        none = phi[d:] * self.warm.scale <= BOUNDARY_UTILITY * (1 + 1e-9)
        # Frozen nodes are not symmetric: where steps lead below zero again, none is above it.
        self.turns[d:] += given[d:] < 0
        none |= (given[d:] < 0) & (self.turns[d:] > 1)
        for k in d + np.flatnonzero(none & ~self.held[d:]):
            there, away = phi.copy(), phi.copy()
            there[k], away[k] = 0.0, AWAY_UTILITY / self.warm.scale[k - d]
            gain = self._evaluate(away, rule, 0, anchor).loglik
            is_better = gain > self._evaluate(there, rule, 0, anchor).loglik
            if is_better and self.turns[k] < MOST_TURNS:
                phi = away
            else:
                phi, self.held[k] = there, True
        return phi

    def ended(self, phi: Floats, anchor: Floats) -> SimulatedMaximum:
        """In standard deviations and correlations."""
        s, d = self.structure, self.structure.n_columns
        theta, frame = (np.concatenate([v[:d], from_loadings(s, v[d:])]) for v in (phi, anchor))
        near = self.warm.maximum
        diverging = _directions(near.diverging, len(theta), self.held)
        assert self.last is not None  # noqa: S101 - there was a first evaluation
        return SimulatedMaximum(
            theta, frame, self.steps, self.passes, diverging, self.warm, self.last
        )


def _directions(diverging: Floats | None, size: int, held: Bools) -> Floats | None:
    """Directions in which there is no curvature to speak of: separation, and boundaries."""
    at_bound = np.eye(size)[:, held]
    if diverging is None or not diverging.shape[1]:
        return at_bound if at_bound.shape[1] else None
    padded = np.vstack([diverging, np.zeros((size - len(diverging), diverging.shape[1]))])
    return np.hstack([padded, at_bound])
