"""`LambdaUpdate`: λ of every term given the quadratic of one pass, at the stages of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard.ascent import (
    climb,
    coordinate_ascent,
    fixed_point,
    maximise_evidence,
    other_starts,
)
from ardchoice.ard.groups import Groups
from ardchoice.ard.quadratic import Kind, Quadratic, posterior

EARLY_ROUNDS = 20
"""Fixed-point rounds from a ridge: enough to prune most, on a quadratic that will move."""
MANY_COLUMNS = 300
"""Active columns from which a single change of λ is expensive."""
FINE_GAIN, COARSE_GAIN = 1e-7, 1e-4
"""Smallest gain in log evidence for which one λ is changed, with few and with many columns."""
START_GAIN = 1e-6
"""Log evidence by which another start, or another active set, must be better."""
LAST_ROUNDS, LAST_TOLERANCE = 200, 1e-11
"""Rounds at the end, and relative change of λ at which they are over: λ then depends on the data,
and neither on the path of the search nor on the order of summation."""
LOCAL_ROUNDS = 100
"""Most steps of Newton's method to the nearest maximum; ten are usual."""
FINEST_TOLERANCE, COARSE_TOLERANCE = 1e-9, 1e-3
"""Relative change of λ at which its update ends: the least, and while the quadratic still moves."""


@dataclass(frozen=True)
class LambdaUpdate:
    """Maximises over λ on a quadratic: the evidence, or the mean-field bound (ELBO).

    Attributes
    ----------
    kind
        Which of the two.
    groups
        Of all candidate columns.
    """

    kind: Kind
    groups: Groups

    def value(self, quadratic: Quadratic, groups: Groups, lam: Floats) -> float:
        """What is maximised, with the mean at its best."""
        return posterior(quadratic, groups, lam, self.kind).log_evidence

    def objective(
        self, loglik: float, curvature: Floats, groups: Groups, lam: Floats, at: Floats
    ) -> float:
        """What is maximised: ℓ - ½ m'Λ⁻¹m - ½ log|H + Λ⁻¹| - ½ Σ log λ over the active columns.

        With log|H + Λ⁻¹| replaced by Σ log(h + 1/λ) for the bound.

        Parameters
        ----------
        loglik, at
            ℓ at the mean m, of shape (C,).
        curvature
            H, shape (C, C).
        groups, lam
            Of these columns.
        """
        k = groups.active(lam)
        precision = groups.precision(lam)[k]
        log_prior = -float(np.log(precision[precision > 0]).sum())
        if self.kind == "diagonal":
            log_det = float(np.log(np.diag(curvature)[k] + precision).sum())
        else:
            matrix = curvature[np.ix_(k, k)]
            matrix.flat[:: len(k) + 1] += precision
            log_det = float(np.linalg.slogdet(matrix)[1])
        return loglik - 0.5 * (float(precision @ at[k] ** 2) + log_det + log_prior)

    def mean_only(self, quadratic: Quadratic, groups: Groups, lam: Floats) -> tuple[Floats, Floats]:
        """The mean alone, where the quadratic says too little for λ."""
        return lam, posterior(quadratic, groups, lam, self.kind).mean

    def early(self, quadratic: Quadratic, lam: Floats) -> tuple[Floats, Floats]:
        """The first active set, of all candidates; shape (G,), (D,)."""
        lam = fixed_point(quadratic, self.groups, lam, EARLY_ROUNDS, kind=self.kind).lam
        fit = coordinate_ascent(quadratic, self.groups, lam, worth=COARSE_GAIN, kind=self.kind)
        return fit.lam, fit.post.mean

    def late(
        self, quadratic: Quadratic, groups: Groups, lam: Floats, moved: float, *, rough: bool
    ) -> tuple[Floats, Floats]:
        """To the end, on the columns of a restricted quadratic; `moved` is the last move."""
        # As exact as this quadratic is: it will move by about as much as the last did.
        tolerance = float(np.clip(1e-4 * moved, FINEST_TOLERANCE, COARSE_TOLERANCE))
        tolerance = COARSE_TOLERANCE if rough else tolerance
        few = len(quadratic.b) <= MANY_COLUMNS and not rough
        fit = maximise_evidence(
            quadratic,
            groups,
            [lam],
            tolerance=tolerance,
            worth=FINE_GAIN if few else COARSE_GAIN,
            kind=self.kind,
        )
        return fit.lam, fit.post.mean

    def local(self, quadratic: Quadratic, groups: Groups, lam: Floats) -> tuple[Floats, Floats]:
        """To the nearest maximum: no jump to another one, no term leaves at once."""
        fit = climb(quadratic, groups, lam, LOCAL_ROUNDS, FINEST_TOLERANCE, self.kind)
        return fit.lam, fit.post.mean

    def revise(
        self,
        quadratic: Quadratic,
        lam: Floats,
        *,
        first: bool,
        rough: bool,
        also: Sequence[Floats] = (),
    ) -> tuple[Floats, Floats]:
        """Over all candidates: single changes from here; the first time, other starts as well."""
        worth = COARSE_GAIN if rough else FINE_GAIN
        fits = [coordinate_ascent(quadratic, self.groups, lam, worth=worth, kind=self.kind)]
        if first:
            starts = other_starts(quadratic, self.groups, lam, worth=worth, kind=self.kind)
            starts += also
            fits.append(
                maximise_evidence(
                    quadratic,
                    self.groups,
                    starts,
                    tolerance=COARSE_TOLERANCE,
                    worth=worth,
                    kind=self.kind,
                )
            )
        # The present state unless another is clearly better: ties must not alternate.
        best = max(fits, key=lambda fit: fit.post.log_evidence)
        if best.post.log_evidence < fits[0].post.log_evidence + START_GAIN:
            best = fits[0]
        return best.lam, best.post.mean

    def exact(self, quadratic: Quadratic, lam: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """λ of the active terms to its last digits; no term leaves any more."""
        fit = climb(quadratic, self.groups, lam, LAST_ROUNDS, LAST_TOLERANCE, self.kind)
        return (fit.lam, fit.post.mean) if (fit.lam > 0).sum() == (lam > 0).sum() else (lam, mean)
