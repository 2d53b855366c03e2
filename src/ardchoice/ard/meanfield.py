"""Independent coefficients, q(β) = Π N(μ, c²), and the bound on the evidence, as in the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard.groups import Groups


@dataclass(frozen=True, eq=False)
class MeanField:
    """q(β) = Π N(μ, c²) and the λ that go with it.

    Attributes
    ----------
    lam
        Shape (G,).
    mean, variance
        μ and c², shape (D,) each.
    """

    lam: Floats
    mean: Floats
    variance: Floats


def start_at(groups: Groups, lam: float) -> MeanField:
    """The same λ for every group, means of zero, and no spread yet: the data will give it one."""
    d = len(groups.of)
    return MeanField(np.full(groups.n, lam), np.zeros(d), np.zeros(d))


def bound(expected_loglik: float, groups: Groups, mean: Floats, variance: Floats) -> float:
    """The evidence lower bound with λ optimised out (equal to its best value, group by group).

    E_q[log p(y|β)] + Σ log c - ½ Σ_g K_g log( Σ_k (c² + μ²) / K_g ), over active groups; up to a
    constant for free columns.
    """
    second = groups.sum(mean**2 + variance)
    on = groups.sum(variance) > 0  # a mean on its way to zero may lag behind
    inside = np.append(on, True)[groups.of]
    entropy = 0.5 * float(np.log(variance[inside]).sum())
    sizes = groups.sizes[on]
    return expected_loglik + entropy - 0.5 * float(sizes @ np.log(second[on] / sizes))
