"""Penalised likelihoods that compare specifications: smaller is better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, log

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from ardchoice._types import Bools, Floats, Ints
from ardchoice.ard import term_prices
from ardchoice.numerics import chi2_sf

USUAL_TERMS = 15
"""Terms of a specification, roughly."""
LARGEST_SURCHARGE = 1e4
LARGEST_GAMMA = 100.0
USUAL_CANDIDATES, SAFETY_FACTORS = 100, (0.25, 5.0)
"""A search tries terms in combination too, the more the larger the space: more noise gets in than
single terms promise. The bound on noise holds as it is for 100 candidates; it is tightened in
proportion to their number, up to five times, and loosened in smaller spaces, up to four times."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """-2 ℓ + w Σ k_t + 2 γ ln V(q) for q terms with k_t (effective) coefficients each.

    Attributes
    ----------
    name
    per_coefficient
        w: ln n for BIC.
    gamma
        γ: how much the number of specifications of that size, V(q), counts.
    candidates
        p, for V(q) = C(p, q) where `log_sets` is not given.
    effective
        k_t of every candidate: its columns, or more where answers of a person are alike and where
        noise must be kept out; shape (T,). None: the columns.
    log_sets
        ln V(q) of valid sets of q = 0, 1, … terms; beyond the last, as many more for each term.
    n
        Choice situations.
    design_effect
        d_t behind `effective`, one where answers count as independent; shape (T,). None: all one.
    surcharge
        What every term costs besides its coefficients.
    """

    name: str
    per_coefficient: float
    gamma: float = 0.0
    candidates: int = 0
    effective: Floats | None = field(default=None, repr=False)
    log_sets: Floats | None = field(default=None, repr=False)
    n: int = 0
    design_effect: Floats | None = field(default=None, repr=False)
    surcharge: float = 0.0

    def coefficients(self, selected: Iterable[int]) -> float:
        """Σ k_t of a set of terms; for a criterion that knows them."""
        return sum(map(self._effective.__getitem__, selected), 0.0)

    @cached_property
    def _effective(self) -> list[float]:
        # A list: a search asks for sums a million times.
        return [] if self.effective is None else [float(k) for k in self.effective]

    def penalty(self, coefficients: npt.ArrayLike, terms: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """What (effective) coefficients in q terms cost."""
        k, q = np.asarray(coefficients), np.asarray(terms, dtype=np.intp)
        out = self.per_coefficient * k.astype(float)
        if self.gamma > 0:
            out = out + 2 * self.gamma * self._log_ways(q)
        return np.asarray(out)

    def value(self, loglik: float, coefficients: float, terms: int) -> float:
        """The criterion of one specification."""
        return -2 * loglik + float(self.penalty(coefficients, terms))

    def _log_ways(self, q: npt.NDArray[np.intp]) -> Floats:
        """Ln V(q)."""
        if self.log_sets is None:
            return log_combinations(self.candidates, q)
        known = len(self.log_sets) - 1
        inside = self.log_sets[np.minimum(q, known)]
        several = known and np.isfinite(self.log_sets[-2])
        slope = self.log_sets[-1] - self.log_sets[-2] if several else 0.0
        return np.asarray(inside + slope * np.maximum(q - known, 0))


def log_combinations(p: int, q: npt.ArrayLike) -> Floats:
    """Ln C(p, q)."""
    q = np.asarray(q)
    return np.asarray(special.gammaln(p + 1) - special.gammaln(q + 1) - special.gammaln(p - q + 1))


def bic(n: int) -> Criterion:
    """Schwarz's criterion for n choice situations."""
    return Criterion("BIC", log(n), n=n)


def ebic_gamma(n: int, candidates: int) -> float:
    """The γ of the extended BIC (Chen and Chen): max(0, 1 - ln n / (2 ln p)); no jump anywhere."""
    return max(0.0, 1 - log(n) / (2 * log(candidates))) if candidates > 1 else 0.0


def ebic(
    n: int,
    columns: Ints,
    *,
    noise: float = np.inf,
    gamma: float | None = None,
    design_effect: Floats | None = None,
    log_sets: Floats | None = None,
    searched: Bools | None = None,
) -> Criterion:
    """BIC extended for the size of the space.

    Parameters
    ----------
    n
        Choice situations.
    columns
        Of every candidate; shape (p,).
    noise
        How many candidates may be expected to come in by chance, were all of them noise; terms pay
        a surcharge where it would be more.
    gamma
        Default: `ebic_gamma`, and the surcharge.
    design_effect
        Of every candidate; shape (p,). None: all one.
    log_sets
        ln V(q) of valid sets. None: ln C(p, q).
    searched
        Which candidates the search has to find: the others count neither as candidates nor as
        terms; shape (p,). Default: all.
    """
    searched = np.ones(len(columns), dtype=bool) if searched is None else searched
    p = int(searched.sum())
    weight = ebic_gamma(n, p) if gamma is None else gamma
    plain = Criterion("EBIC", log(n), weight, p, log_sets=log_sets, n=n)
    surcharge = 0.0
    if gamma is None:
        known = None if design_effect is None else design_effect[searched]
        surcharge = noise_surcharge(plain, columns[searched], noise, known)
    return priced(plain, columns, design_effect, surcharge, searched)


def independent_ebic(
    n: int, columns: Ints, *, noise: float = np.inf, searched: Bools | None = None
) -> Criterion:
    """The extended BIC of earlier versions, whose results it reproduces.

    All answers count as independent and all sets of terms as valid. Where γ is above zero and more
    than `noise` candidates would be expected to come in by chance, γ itself is raised until it is
    a fifth of that: so that the price of a term jumps where p passes the root of n.
    """
    found = columns if searched is None else columns[searched]
    p = len(found)
    gamma = ebic_gamma(n, p)

    def by_chance(weight: float) -> float:
        q = min(USUAL_TERMS, p // 4)
        price = log(n) * found + 2 * weight * log((p - q) / (q + 1))
        return float(np.sum(chi2_sf(price, found)))

    if gamma > 0 and by_chance(gamma) > noise:
        clear = noise / SAFETY_FACTORS[1]
        gamma = float(optimize.brentq(lambda g: by_chance(g) - clear, gamma, LARGEST_GAMMA))
    return priced(Criterion("EBIC", log(n), gamma, p, n=n), columns, None)


def priced(
    plain: Criterion,
    columns: Ints,
    design_effect: Floats | None,
    surcharge: float = 0.0,
    searched: Bools | None = None,
) -> Criterion:
    """The same with a price for every term that knows how alike the answers of a person are.

    That of `term_prices`, and for those that the search has to find the surcharge times the design
    effect.
    """
    n, w = plain.n, plain.per_coefficient
    d = np.ones(len(columns)) if design_effect is None else np.clip(design_effect, 1.0, n / exp(1))
    found = np.ones(len(columns)) if searched is None else searched.astype(float)
    price = term_prices(n, columns, design_effect, w) + surcharge * d * found
    return Criterion(
        plain.name,
        plain.per_coefficient,
        plain.gamma,
        plain.candidates,
        price / w,
        plain.log_sets,
        n,
        None if design_effect is None else d,
        surcharge,
    )


def noise_surcharge(
    plain: Criterion, columns: Ints, noise: float, design_effect: Floats | None = None
) -> float:
    """What every term must cost more for no more noise than wanted to come in; zero or more.

    In units of its design effect d: noise of K columns gains about d χ²_K.
    """
    p = len(columns)
    q = min(USUAL_TERMS, p // 4)
    if plain.log_sets is not None:
        # No valid set is smaller than what is forced.
        q = max(q, int(np.isfinite(plain.log_sets).argmax()))
    safety = float(np.clip(p / USUAL_CANDIDATES, *SAFETY_FACTORS))
    step = float(np.diff(plain._log_ways(np.array([q, q + 1])))[0]) if p > 1 else 0.0
    # Of all candidates, those that could come into a valid set of that size.
    share = min(1.0, (q + 1) * float(np.exp(step)) / max(p - q, 1))
    d = np.ones(p) if design_effect is None else np.clip(design_effect, 1.0, plain.n / exp(1))
    price = term_prices(plain.n, columns, d, plain.per_coefficient)
    price = (price + 2 * plain.gamma * max(step, 0.0)) / d

    def excess(more: float) -> float:
        return share * float(np.sum(chi2_sf(price + more, columns))) - noise / safety

    if excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, LARGEST_SURCHARGE, xtol=1e-6))
