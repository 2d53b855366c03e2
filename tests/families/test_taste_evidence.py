"""The evidence of random coefficients by integrals and optimisers that know nothing of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from ardchoice.families import PersonQuadratics, TasteEvidence

EVIDENCE_TOLERANCE = 0.06
"""At which the search for variances ends."""


def quadratics(
    sd: tuple[float, ...], persons: int = 150, fixed: int = 1, seed: int = 0
) -> PersonQuadratics:
    """Drawn from the model itself: score ~ N(A (b + u), A)."""
    rng = np.random.default_rng(seed)
    size = fixed + len(sd)
    score, information = np.empty((persons, size)), np.empty((persons, size, size))
    for n in range(persons):
        root = rng.normal(size=(size, size + 3))
        information[n] = root @ root.T / 3
        u = np.concatenate([np.full(fixed, 0.1), rng.normal(size=len(sd)) * sd])
        score[n] = rng.multivariate_normal(information[n] @ u, information[n])
    return PersonQuadratics(rng.normal(size=persons), score, information, np.ones(persons))


def log_evidence(q: PersonQuadratics, delta: float, tau: float) -> float:
    """One fixed coefficient, one random: the integral over a fine grid."""
    u = np.linspace(-12, 12, 6001)
    density = stats.norm.pdf(u, 0, np.sqrt(tau))
    total = 0.0
    for value, s, a in zip(q.value, q.score, q.information, strict=True):
        x = np.vstack([np.full_like(u, delta), u])
        exponent = value + s @ x - 0.5 * np.einsum("iu,ij,ju->u", x, a, x)
        top = exponent.max()
        total += top + np.log(np.trapezoid(np.exp(exponent - top) * density, u))
    return total


def test_evidence_is_the_integral_over_tastes_at_its_best_shift_and_variance() -> None:
    q = quadratics((0.8,), persons=25)
    found = TasteEvidence(q, 1).at((0,))
    best = optimize.minimize(
        lambda x: -log_evidence(q, x[0], np.exp(x[1])),
        [0.0, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-3, "fatol": 1e-4},
    )
    assert found.evidence == pytest.approx(-best.fun, abs=EVIDENCE_TOLERANCE)
    assert found.variance[0] == pytest.approx(np.exp(best.x[1]), rel=0.25)


def test_variances_of_the_truth_are_recovered_and_noise_stays_out() -> None:
    q = quadratics((1.0, 0.0, 0.6, 0.0), persons=800)
    found = TasteEvidence(q, 1).search((), np.log(800), lambda chosen: True)
    assert found.chosen == (0, 2)
    np.testing.assert_allclose(np.sqrt(found.variance), [1.0, 0.6], rtol=0.12)


def test_statistics_of_what_is_not_random_are_standard_normal() -> None:
    draws = [
        TasteEvidence(quadratics((0.9, 0.0), persons=120, seed=seed), 1).at((0,)).statistic[1]
        for seed in range(40)
    ]
    assert abs(np.mean(draws)) < 0.5
    assert 0.6 < np.std(draws) < 1.4


def test_a_set_that_is_not_allowed_is_never_chosen() -> None:
    q = quadratics((1.0, 1.0), persons=300)
    found = TasteEvidence(q, 1).search((), np.log(300), lambda chosen: len(list(chosen)) < 2)
    assert len(found.chosen) == 1
