"""The delta method: standard errors of functions of the estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Bools, Floats
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import normal_quantile

SPOILS = 0.01
"""Of a standard error: what may move with an estimate that diverges and still have one."""


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How sure estimates are, for whatever is computed from them.

    Attributes
    ----------
    covariance
        Shape (P, P); not a number for estimates that have no standard error.
    estimates
        Shape (P,).
    is_infinite
        Which diverge; shape (P,).
    level
        Of intervals.
    """

    covariance: Floats
    estimates: Floats
    is_infinite: Bools
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)

    def std_err(self, gradients: Floats) -> Floats:
        """√(∇f' Cov ∇f) of every function f, over finite coefficients; shape (M,).

        A coefficient that diverges has no variance. It spoils the error only of what moves with it
        by more than `SPOILS` of that error: where it diverges to, probabilities are 0 or 1, and
        what is summed over them hardly does.

        Parameters
        ----------
        gradients
            Shape (M, P).
        """
        known = np.where(np.isnan(self.covariance), 0.0, self.covariance)
        variance = np.einsum("ij,jk,ik->i", gradients, known, gradients)
        moves = np.abs(gradients * self.estimates)[:, self.is_infinite]
        tolerated = SPOILS * np.sqrt(np.maximum(variance, 0.0))
        variance[(moves > tolerated[:, None]).any(axis=1)] = np.nan
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def half_width(self, std_err: Floats) -> Floats:
        """Half of the normal interval."""
        return np.asarray(normal_quantile(0.5 + self.level / 2) * std_err)


def check_level(level: float) -> None:
    """Refuse what is no level of an interval."""
    if not 0 < level < 1:
        raise ArdchoiceError(
            f"The level of an interval lies between 0 and 1, such as 0.95, not {level}."
        )
