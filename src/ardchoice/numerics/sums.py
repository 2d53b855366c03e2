"""`Sums`: what one pass adds up over choice situations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ardchoice._types import Floats

Order = Literal[0, 1, 2]
"""Of a pass: the log-likelihood alone, with its gradient, or with its Hessian too."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over choice situations.

    Attributes
    ----------
    loglik
        ℓ.
    gradient
        ∇ℓ, shape (D,); empty when not asked for.
    curvature
        -∇²ℓ, shape (D, D); empty when not asked for.
    """

    loglik: float
    gradient: Floats
    curvature: Floats

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.loglik + other.loglik,
            self.gradient + other.gradient,
            self.curvature + other.curvature,
        )

    def absorb(self, other: Sums) -> Sums:
        """The same sum, in the arrays of this one, which must be nobody else's."""
        self.gradient.__iadd__(other.gradient)
        self.curvature.__iadd__(other.curvature)
        return Sums(self.loglik + other.loglik, self.gradient, self.curvature)


def penalised(sums: Sums, beta: Floats, precision: Floats) -> Sums:
    """The same with a Gaussian prior: ℓ - ½ Σ precision β², its gradient and curvature.

    Parameters
    ----------
    sums
        With gradient and curvature, at `beta`.
    beta, precision
        Shape (K,) each.
    """
    return Sums(
        sums.loglik - 0.5 * float(precision @ beta**2),
        sums.gradient - precision * beta,
        sums.curvature + np.diag(precision),
    )
