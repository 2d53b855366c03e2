"""Newton's method with safeguards: concave log-likelihoods or not, with bounds or without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ardchoice._types import Bools, Floats
from ardchoice.numerics.sums import Sums

TOLERANCE = 1e-10
"""On half the squared Newton decrement: how much log-likelihood is still to be gained."""
SUFFICIENT = 1e-4
"""Share of the predicted gain that a step must reach (Armijo)."""
HOPELESS_FACTOR = 4.0
"""Times the gain that the quadratic promises, beyond which nobody should hope."""
SMALLEST_STEP = 1e-8
LAST_PASS_FACTOR = 10.0
"""Times the decrement predicted from the last two, below which a pass is taken for the last."""
STALLED = 0.1
"""Share of the decrement before above which it is rounding that is left."""
ROUNDING = 1e-13
"""Relative error of a log-likelihood summed over many rows: smaller losses are not losses."""
SMALLEST_EIGENVALUE = 1e-6
"""Of a scaled indefinite Hessian, relative to the largest: it bounds steps where it is flat."""
RIDGES = (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0)
"""Added to the (unit) diagonal of the scaled curvature until it can be factorised."""


@dataclass(frozen=True, eq=False)
class NewtonFit:
    """Where Newton's method ended.

    Attributes
    ----------
    beta
        Shape (D,).
    sums
        What the last pass found, at `beta` or where it stood less than the tolerance below the
        maximum.
    decrement
        Half the squared Newton decrement: the log-likelihood still to be gained, by the quadratic.
    iterations
        Steps taken.
    passes
        Evaluations made.
    converged
    """

    beta: Floats
    sums: Sums
    decrement: float
    iterations: int
    passes: int
    converged: bool

    @property
    def loglik(self) -> float:
        """ℓ of the last pass."""
        return self.sums.loglik

    @property
    def curvature(self) -> Floats:
        """-∇²ℓ of the last pass; shape (D, D)."""
        return self.sums.curvature


def maximise(
    evaluate: Callable[[Floats, bool], Sums],
    start: Floats,
    *,
    first: Sums | None = None,
    max_iterations: int = 100,
    tolerance: float = TOLERANCE,
    extra_precision: float = 1.0,
    wanted: float = -np.inf,
    concave: bool = True,
    bounds: Floats | None = None,
) -> NewtonFit:
    """Climb from `start` until the Newton decrement is small.

    Parameters
    ----------
    evaluate
        (beta, whether this pass will be the last, as far as can be predicted) -> Sums with gradient
        and curvature.
    start
        Shape (D,).
    first
        The sums at `start`, if they are known.
    max_iterations, tolerance
        When to stop.
    extra_precision
        Share of the tolerance to continue to, as far as rounding permits: what is summed in the
        last pass, a step before the end, then does not depend on where the climb started.
    wanted
        Stop, too, when the maximum is clearly below this log-likelihood: who compares models need
        not know exactly how bad a bad one is.
    concave
        Whether the Hessian is definite everywhere but for rounding. Where it need not be, the step
        takes the absolute values of its eigenvalues: it leads up, away from saddle points.
    bounds
        Smallest and largest values, shape (2, D); None for none. Steps are projected on them, and
        parameters at a bound that the gradient points beyond stay there.
    """
    beta = start if bounds is None else np.clip(start, *bounds)
    here = first if first is not None else evaluate(beta, False)
    passes, iterations = 1, 0
    decrement = np.inf
    while True:
        step = _next_step(here, beta, concave, bounds)
        before, decrement = decrement, 0.5 * float(here.gradient @ step)
        converged = (
            decrement <= extra_precision * tolerance or STALLED * before < decrement <= tolerance
        )
        hopeless = iterations > 0 and here.loglik + HOPELESS_FACTOR * decrement < wanted
        if converged or hopeless or iterations == max_iterations:
            break
        # 1 · The full step, halved while it does not deliver its share of the predicted gain; a
        # gain below the tolerance is not for rounding to judge.
        length, noise = 1.0, np.inf if decrement <= tolerance else ROUNDING * abs(here.loglik)
        # Near the maximum every decrement is the square of the one before, times a constant.
        predicted_decrement = LAST_PASS_FACTOR * decrement * (decrement / before) ** 2
        last = iterations > 0 and predicted_decrement <= extra_precision * tolerance
        while True:
            new = _projected(beta + length * step, bounds)
            there = evaluate(new, last)
            passes += 1
            gain = there.loglik - here.loglik
            promised = 2 * decrement * length
            if bounds is not None:
                promised = float(here.gradient @ (new - beta))
            if gain >= SUFFICIENT * promised - noise or length < SMALLEST_STEP:
                break
            length /= 2
        if length < SMALLEST_STEP:
            break
        # 2 · Go there.
        beta, here = new, there
        iterations += 1
    if converged:
        # The last step is known already, gains less than the tolerance and needs no pass.
        beta = _projected(beta + step, bounds)
    return NewtonFit(beta, here, decrement, iterations, passes, converged)


def _projected(beta: Floats, bounds: Floats | None) -> Floats:
    return beta if bounds is None else np.clip(beta, *bounds)


def _next_step(sums: Sums, beta: Floats, concave: bool, bounds: Floats | None) -> Floats:
    """Newton's step; over the parameters that are not held by a bound."""
    if bounds is None:
        return newton_step(sums) if concave else ascent_step(sums)
    low, high, g = bounds[0], bounds[1], sums.gradient
    held = ((beta <= low) & (g < 0)) | ((beta >= high) & (g > 0))
    while True:
        step = _free_step(sums, held, concave)
        # A step may point beyond a bound where the gradient does not: hold that one, too.
        beyond = ((beta <= low) & (step < 0)) | ((beta >= high) & (step > 0))
        if not beyond.any():
            return step
        held |= beyond


def _free_step(sums: Sums, held: Bools, concave: bool) -> Floats:
    """The step with some parameters held where they are."""
    free = np.flatnonzero(~held)
    inside = Sums(sums.loglik, sums.gradient[free], sums.curvature[np.ix_(free, free)])
    step = np.zeros(len(held))
    step[free] = newton_step(inside) if concave else ascent_step(inside)
    return step


def ascent_step(sums: Sums) -> Floats:
    """H⁻¹ g where H is definite, else with the absolute values of its eigenvalues."""
    if is_definite(sums.curvature):
        return newton_step(sums)
    diagonal = np.abs(sums.curvature.diagonal())
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = linalg.eigh(sums.curvature * (scale * scale[:, None]))
    size = np.maximum(np.abs(values), SMALLEST_EIGENVALUE * np.abs(values).max(initial=1.0))
    return np.asarray(scale * (vectors @ ((vectors.T @ (scale * sums.gradient)) / size)))


def newton_step(sums: Sums) -> Floats:
    """H⁻¹ g; only if H cannot be factorised, with a ridge where H has a unit diagonal."""
    if not len(sums.gradient):
        return sums.gradient
    # LAPACK itself: for a few coefficients the wrappers around it take most of the time. What
    # Cholesky can factorise does not depend on units.
    _, step, failed = linalg.lapack.dposv(sums.curvature, sums.gradient, lower=1)
    return _ridge_step(sums) if failed else np.asarray(step)


def _ridge_step(sums: Sums) -> Floats:
    """(H + ridge)⁻¹ g on the scale where H has a unit diagonal, with the smallest that will do."""
    diagonal = sums.curvature.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = sums.curvature * (scale * scale[:, None])
    right = sums.gradient * scale
    for ridge in RIDGES:
        _, step, failed = linalg.lapack.dposv(scaled + ridge * np.eye(len(right)), right, lower=1)
        if not failed:
            return np.asarray(step) * scale
    return right * scale


def is_definite(matrix: Floats) -> bool:
    """Whether a symmetric matrix is positive definite, clearly enough to be factorised."""
    factor, failed = linalg.lapack.dpotrf(matrix, lower=1)
    # Not every LAPACK stops at what is not a number, but it always ends up on the diagonal.
    return not failed and bool(np.isfinite(factor.diagonal()).all())
