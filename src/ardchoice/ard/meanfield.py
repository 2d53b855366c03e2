"""The mean-field bound on a quadratic log-likelihood: q(β) = Π N(μ, c²), as in the paper.

Each group in turn gets its best λ, then its best μ and c², all in closed form:

    μ_k = q_k / (h_k + 1/λ),   c_k² = 1 / (h_k + 1/λ),   q_k = (b - Hμ)_k + h_k μ_k,   h = diag H.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ardchoice.ard.groups import Groups
from ardchoice.ard.quadratic import SMALLEST, Quadratic
from ardchoice.ard.relevance import best_lambda

Floats = npt.NDArray[np.float64]

TOGETHER = 2
"""Sweeps after which all means are moved at once."""


@dataclass(frozen=True, eq=False)
class MeanField:
    """q(β) = Π N(μ, c²) and the λ that go with it.

    Attributes
    ----------
    lam
        Shape (G,).
    mean, variance
        μ and c², shape (D,) each.
    sweeps
        How many were made.
    settled
        Whether the last one moved nothing.
    """

    lam: Floats
    mean: Floats
    variance: Floats
    sweeps: int = 0
    settled: bool = False


def start_at(groups: Groups, lam: float) -> MeanField:
    """The same λ for every group, means of zero, and no spread yet: the data will give it one."""
    d = len(groups.of)
    return MeanField(np.full(groups.n, lam), np.zeros(d), np.zeros(d))


def mean_field(
    quadratic: Quadratic,
    groups: Groups,
    start: MeanField,
    *,
    optimise: bool = True,
    sweeps: int = 1000,
    tolerance: float = 1e-9,
) -> MeanField:
    """Coordinate ascent on the bound, group after group.

    Parameters
    ----------
    quadratic, groups
    start
        Where to start.
    optimise
        Whether λ is optimised or stays as it is.
    sweeps, tolerance
        When to stop: the largest change of a mean, in units of 1/√h.
    """
    h, curvature = np.diag(quadratic.curvature), quadratic.curvature
    mean, lam = start.mean.copy(), start.lam.copy()
    rest = quadratic.b - curvature @ mean
    root = np.sqrt(h)
    free = groups.free
    inner = curvature[np.ix_(free, free)]
    moved = np.inf

    def move(columns: npt.NDArray[np.intp], new: Floats) -> float:
        change = new - mean[columns]
        if not change.any():
            return 0.0
        rest[:] -= change @ curvature[columns]
        mean[columns] = new
        return float(np.max(np.abs(change) * root[columns]))

    for done in range(1, sweeps + 1):
        moved = 0.0
        if len(free):
            step = linalg.solve(inner, rest[free], assume_a="pos")
            moved = move(free, mean[free] + step)
        for group, columns in enumerate(groups.columns):
            q = rest[columns] + h[columns] * mean[columns]
            if optimise:
                best = float(best_lambda(h[None, columns], q[None])[0])
                lam[group] = best if best >= SMALLEST else 0.0
            new = q / (h[columns] + 1 / lam[group]) if lam[group] > 0 else np.zeros(len(q))
            moved = max(moved, move(columns, new))
        if moved < tolerance:
            break
        if done % TOGETHER == 0:
            # Groups that share what they explain pass it to and fro in ever smaller steps.
            together = _means(quadratic, groups, lam)
            rest[:] = quadratic.b - curvature @ together
            mean[:] = together
    return MeanField(lam, mean, variances(h, groups, lam), done, moved < tolerance)


def _means(quadratic: Quadratic, groups: Groups, lam: Floats) -> Floats:
    """All means at once, their best for given λ: μ = (H + 1/λ)⁻¹ b over columns in play."""
    columns = groups.active(lam)
    out = np.zeros(len(quadratic.b))
    matrix = quadratic.curvature[np.ix_(columns, columns)]
    matrix[np.diag_indices_from(matrix)] += groups.precision(lam)[columns]
    out[columns] = linalg.solve(matrix, quadratic.b[columns], assume_a="pos")
    return out


def variances(h: Floats, groups: Groups, lam: Floats) -> Floats:
    """c² = 1 / (h + 1/λ), zero where λ is zero; shape (D,)."""
    return 1 / (h + groups.precision(lam))


def bound(expected_loglik: float, groups: Groups, mean: Floats, variance: Floats) -> float:
    """The evidence lower bound with λ optimised out (equal to its best value, group by group).

    E_q[log p(y|β)] + Σ log c - ½ Σ_g K_g log( Σ_k (c² + μ²) / K_g ), over groups in play; up to a
    constant for free columns.
    """
    second = groups.sum(mean**2 + variance)
    on = groups.sum(variance) > 0  # a mean on its way to zero may lag behind
    inside = np.append(on, True)[groups.of]
    entropy = 0.5 * float(np.log(variance[inside]).sum())
    sizes = groups.sizes[on]
    return expected_loglik + entropy - 0.5 * float(sizes @ np.log(second[on] / sizes))


def quadratic_bound(quadratic: Quadratic, groups: Groups, mean: Floats, variance: Floats) -> float:
    """The bound when the log-likelihood is this quadratic: E_q of it is its value less ½ Σ h c²."""
    expected = quadratic.value(mean) - 0.5 * float(np.diag(quadratic.curvature) @ variance)
    return bound(expected, groups, mean, variance)
