"""How large what a coefficient multiplies is, where an optimiser needs one scale of them all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ardchoice.estimation import Result
from ardchoice.exports.description import Description

MOST_APART = 50.0
"""Ratio of the largest size to the smallest up to which a script estimates in natural units: the
condition number of the Hessian grows with its square, and Biogeme's conjugate gradients take one
step for each coefficient."""


def sizes_of(result: Result, model: Description) -> Mapping[str, float]:
    """Coefficient -> the root of its curvature per choice, √(-∂²LL/∂β² / N).

    In units of these the Hessian has a diagonal of ones. Empty where they differ little, or where
    the Hessian is not known.
    """
    covariance = result.covariances["classical"]
    if not np.isfinite(covariance).all():
        return {}
    try:
        curvature = np.diag(np.linalg.inv(covariance))[: len(model.coefficients)]
    except np.linalg.LinAlgError:
        return {}
    if not (curvature > 0).all():
        return {}
    size = np.sqrt(curvature / result.n_situations)
    if size.max() <= MOST_APART * size.min():
        return {}
    names = [c.name for c in model.coefficients]
    return {name: float(f"{one:.2g}") for name, one in zip(names, size.tolist(), strict=True)}
