"""The mean-field bound on a quadratic, maximised group after group: slow, and not what we do.

Each group in turn gets its best λ, then its best μ and c², all in closed form:

    μ_k = q_k / (h_k + 1/λ),   c_k² = 1 / (h_k + 1/λ),   q_k = (b - Hμ)_k + h_k μ_k,   h = diag H.
"""

import numpy as np

from ardchoice.ard.groups import Groups
from ardchoice.ard.meanfield import MeanField, bound
from ardchoice.ard.quadratic import Quadratic
from ardchoice.ard.relevance import best_lambda

TOGETHER = 2
"""Sweeps after which all means are moved at once: term after term they creep."""


def one_by_one(
    quadratic: Quadratic,
    groups: Groups,
    lam: np.ndarray,
    mean: np.ndarray | None = None,
    *,
    sweeps: int = 3000,
    tolerance: float = 1e-11,
) -> MeanField:
    """Coordinate ascent until no mean moves by more than `tolerance`, in units of 1/√h."""
    h, curvature = np.diag(quadratic.curvature), quadratic.curvature
    lam, free = lam.copy(), groups.free
    mean = _means(quadratic, groups, lam) if mean is None else mean.copy()
    for sweep in range(sweeps):
        before = mean.copy()
        if len(free):
            rest = quadratic.b - curvature @ mean
            mean[free] += np.linalg.solve(curvature[np.ix_(free, free)], rest[free])
        for group, columns in enumerate(groups.columns):
            rest = quadratic.b[columns] - curvature[columns] @ mean
            q = rest + h[columns] * mean[columns]
            lam[group] = best_lambda(h[None, columns], q[None])[0]
            mean[columns] = q / (h[columns] + 1 / lam[group]) if lam[group] > 0 else 0.0
        if np.max(np.abs(mean - before) * np.sqrt(h)) < tolerance:
            break
        if sweep % TOGETHER == 1:
            mean = _means(quadratic, groups, lam)
    else:
        raise AssertionError("it does not settle")
    return MeanField(lam, mean, 1 / (h + groups.precision(lam)))


def bound_of(quadratic: Quadratic, groups: Groups, q: MeanField) -> float:
    """The bound when the log-likelihood is this quadratic: E_q of it is its value less ½ Σ h c²."""
    expected = quadratic.value(q.mean) - 0.5 * float(np.diag(quadratic.curvature) @ q.variance)
    return bound(expected, groups, q.mean, q.variance)


def _means(quadratic: Quadratic, groups: Groups, lam: np.ndarray) -> np.ndarray:
    """All means at once, their best for given λ."""
    columns = groups.active(lam)
    out = np.zeros(len(quadratic.b))
    matrix = quadratic.curvature[np.ix_(columns, columns)] + np.diag(groups.precision(lam)[columns])
    out[columns] = np.linalg.solve(matrix, quadratic.b[columns])
    return out
