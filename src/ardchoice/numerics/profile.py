"""Parameters profiled out of a quadratic: what the others see once these are at their best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ardchoice._types import Bools, Floats
from ardchoice.numerics.newton import is_definite, maximise
from ardchoice.numerics.sums import Sums

NO_INFORMATION = 1e-12
"""Hessian of a parameter, per unit of log-likelihood, below which the data say nothing of it."""
PROFILE_TOLERANCE = 1e-6
"""Log-likelihood still to be gained by the others at which the remaining step is only predicted."""
MOST_STEPS = 25
"""Of the others, which start near their best: simulated integrals, whose nodes move with them, may
never meet the tolerance."""
SMALLEST_SHARE = 1e-8
"""Of the largest eigenvalue of a Hessian with unit diagonal: no eigenvalue is left below it."""


@dataclass(frozen=True, eq=False)
class Profile:
    """Sums over the first D parameters with the others at their best, and the way there.

    Attributes
    ----------
    sums
        Log-likelihood, gradient and Hessian (the Schur complement), D parameters.
    step
        Of the others, to their best at these D; shape (P - D,).
    """

    sums: Sums
    step: Floats


def profile_out(sums: Sums, d: int, held: Bools | None = None) -> Profile:
    """The quadratic of some sums, maximised over all parameters behind the first D.

    Parameters
    ----------
    sums
        Over P parameters, with gradient and Hessian.
    d
        D.
    held
        Which of the others stay where they are, such as at a bound; shape (P - D,).
    """
    g, h = sums.gradient, sums.curvature
    step = np.zeros(len(g) - d)
    known = h.diagonal()[d:] > NO_INFORMATION * (1 + abs(sums.loglik))
    free = np.flatnonzero(known if held is None else known & ~held)
    if not len(free):
        return Profile(Sums(sums.loglik, g[:d], nearest_definite(h[:d, :d])), step)
    e = d + free
    own = nearest_definite(h[np.ix_(e, e)])
    solved = np.linalg.solve(own, np.column_stack([h[e, :d], g[e]]))
    step[free] = solved[:, -1]
    gradient = g[:d] - h[:d, e] @ solved[:, -1]
    hessian = h[:d, :d] - h[:d, e] @ solved[:, :-1]
    loglik = sums.loglik + 0.5 * float(g[e] @ solved[:, -1])
    return Profile(Sums(loglik, gradient, nearest_definite(hessian)), step)


def nearest_definite(matrix: Floats) -> Floats:
    """A symmetric matrix itself where it is definite, else with its small eigenvalues raised."""
    matrix = 0.5 * (matrix + matrix.T)
    if is_definite(matrix):
        return matrix
    diagonal = np.abs(matrix.diagonal())
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = linalg.eigh(matrix / (scale * scale[:, None]))
    values = np.maximum(values, SMALLEST_SHARE * np.abs(values).max())
    return np.asarray((vectors * values) @ vectors.T * (scale * scale[:, None]))


def profile(
    evaluate: Callable[[Floats], Sums], start: Floats, d: int, bounds: Floats | None
) -> tuple[Sums, Floats]:
    """The profile log-likelihood of the first D parameters, and the best of the others.

    Parameters
    ----------
    evaluate
        The others, shape (P - D,) -> Sums over all P parameters.
    start
        Of the others, near their best.
    d
        D.
    bounds
        Of the others, shape (2, P - D); None for none.
    """
    seen: list[tuple[Sums, Sums]] = []

    def rest(values: Floats, _: bool) -> Sums:
        whole = evaluate(values)
        part = Sums(whole.loglik, whole.gradient[d:], whole.curvature[d:, d:])
        seen.append((part, whole))
        return part

    fit = maximise(
        rest,
        start,
        max_iterations=MOST_STEPS,
        tolerance=PROFILE_TOLERANCE,
        concave=False,
        bounds=bounds,
    )
    whole = next(w for part, w in seen if part is fit.sums)
    held = None
    if bounds is not None:
        g = whole.gradient[d:]
        held = ((fit.beta <= bounds[0]) & (g < 0)) | ((fit.beta >= bounds[1]) & (g > 0))
    return profile_out(whole, d, held).sums, fit.beta
