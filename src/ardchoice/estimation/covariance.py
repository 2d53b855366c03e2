"""Covariances of the estimates: classical, robust, clustered by person."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ardchoice._types import Floats
from ardchoice.errors import IdentificationError
from ardchoice.families import ScoredSums

NOT_POSITIVE_DEFINITE = (
    "Some parameters are not identified: the Hessian at the estimates is not positive definite. "
    "Remove terms, or choose a simpler family."
)


def covariances(sums: ScoredSums, gone: Floats | None = None) -> dict[str, Floats]:
    """H⁻¹, and H⁻¹ (Σ s s') H⁻¹ with scores s per situation and summed per person.

    None has a small-sample correction.

    Parameters
    ----------
    sums
        At the estimates.
    gone
        Directions in which the estimates diverge, shape (D, r): coefficients that take part
        have no variance (not a number), the others that of a fit without these directions.
    """
    infinite = np.zeros(len(sums.gradient), dtype=bool)
    if gone is not None and gone.shape[1]:
        inverse = inverse_without(sums.curvature, gone)
        infinite = (gone != 0).any(axis=1)
    else:
        inverse = inverse_curvature(sums.curvature)
    out = {"classical": inverse, "robust": inverse @ sums.meat @ inverse}
    if sums.clustered is not None:
        out["cluster"] = inverse @ sums.clustered @ inverse
    if infinite.any():
        for matrix in out.values():
            matrix[infinite] = np.nan
            matrix[:, infinite] = np.nan
    return out


def inverse_without(curvature: Floats, gone: Floats) -> Floats:
    """The inverse of H on what is orthogonal to some directions, where these are zero; (D, D)."""
    own = np.diag(curvature)
    # Of what is gone for good, such as an empty class, rounding may leave a negative diagonal.
    scale = 1 / np.sqrt(np.where(own > 0, own, 1.0))
    scaled = curvature * scale * scale[:, None]
    # In units of `scale` a direction v is v / scale.
    basis = linalg.null_space((gone / scale[:, None]).T)
    middle = np.linalg.inv(basis.T @ scaled @ basis)
    return np.asarray(scale[:, None] * (basis @ middle @ basis.T) * scale)


def inverse_curvature(curvature: Floats) -> Floats:
    """H⁻¹ by Cholesky, on the scale where H has a unit diagonal; shape (D, D)."""
    if not len(curvature):
        return np.zeros((0, 0))
    own = np.diag(curvature)
    if not (own > 0).all():
        raise IdentificationError(NOT_POSITIVE_DEFINITE)
    scale = 1 / np.sqrt(own)
    # LAPACK itself: for a few coefficients the wrappers around it take most of the time.
    factor, failed = linalg.lapack.dpotrf(curvature * scale * scale[:, None], lower=1)
    if failed:
        raise IdentificationError(NOT_POSITIVE_DEFINITE)
    root, _ = linalg.lapack.dtrtrs(factor, np.diag(scale), lower=1)
    return np.asarray(root.T @ root)
