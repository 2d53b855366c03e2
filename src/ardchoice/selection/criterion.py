"""Penalised likelihoods that compare specifications: smaller is better."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
from scipy import special


@dataclass(frozen=True)
class Criterion:
    """-2 ℓ + w k + 2 γ ln C(p, q) for k coefficients in q of p candidate terms.

    Attributes
    ----------
    name
    per_coefficient
        w: ln n for BIC.
    gamma
        γ: how much the number of specifications of that size counts.
    candidates
        p.
    """

    name: str
    per_coefficient: float
    gamma: float = 0.0
    candidates: int = 0

    def penalty(self, coefficients: npt.ArrayLike, terms: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """What k coefficients in q terms cost."""
        k, q = np.asarray(coefficients), np.asarray(terms)
        out = self.per_coefficient * k.astype(float)
        if self.gamma > 0:
            p = self.candidates
            ways = special.gammaln(p + 1) - special.gammaln(q + 1) - special.gammaln(p - q + 1)
            out = out + 2 * self.gamma * ways
        return np.asarray(out)

    def value(self, loglik: float, coefficients: int, terms: int) -> float:
        """The criterion of one specification."""
        return -2 * loglik + float(self.penalty(coefficients, terms))


def bic(n: int) -> Criterion:
    """Schwarz's criterion for n choice situations."""
    return Criterion("BIC", log(n))


def ebic(n: int, candidates: int) -> Criterion:
    """BIC extended for the size of the space: γ = max(0, 1 - ln n / (2 ln p))."""
    gamma = max(0.0, 1 - log(n) / (2 * log(candidates))) if candidates > 1 else 0.0
    return Criterion("EBIC", log(n), gamma, candidates)
