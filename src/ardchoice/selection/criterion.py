"""Penalised likelihoods that compare specifications: smaller is better."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

USUAL_TERMS = 15
"""Terms of a specification, roughly."""
LARGEST_GAMMA = 100.0
NOISE_SAFETY_FACTOR = 5.0
"""A search tries terms in combination too: more noise gets in than single terms promise."""


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


def ebic(
    n: int, candidates: int, columns: npt.NDArray[np.intp] | None = None, noise: float = np.inf
) -> Criterion:
    """BIC extended for the size of the space: γ = max(0, 1 - ln n / (2 ln p)), or more.

    Parameters
    ----------
    n, candidates
        Choice situations, and candidate terms p.
    columns
        Of every candidate; shape (p,).
    noise
        How many candidates may be expected to come in by chance, were all of them noise: where γ
        is above zero, it is raised until it is clearly less.
    """
    gamma = max(0.0, 1 - log(n) / (2 * log(candidates))) if candidates > 1 else 0.0
    if gamma > 0 and columns is not None and _by_chance(gamma, n, columns) > noise:
        clear = noise / NOISE_SAFETY_FACTOR
        gamma = float(
            optimize.brentq(lambda g: _by_chance(g, n, columns) - clear, gamma, LARGEST_GAMMA)
        )
    return Criterion("EBIC", log(n), gamma, candidates)


def _by_chance(gamma: float, n: int, columns: npt.NDArray[np.intp]) -> float:
    """Noise terms expected to come into a specification of the usual size, each for itself."""
    p = len(columns)
    q = min(USUAL_TERMS, p // 4)
    price = log(n) * columns + 2 * gamma * log((p - q) / (q + 1))
    return float(np.sum(stats.chi2.sf(price, columns)))
