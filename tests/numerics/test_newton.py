"""Newton's method where the answer is known."""

import numpy as np
import pytest

from ardchoice.numerics import Sums, maximise
from ardchoice.numerics.newton import is_definite, newton_step


def poisson(beta: np.ndarray, _last: bool) -> Sums:
    """A concave function with a closed-form maximum, log(counts), and steep sides."""
    counts = np.array([1.0, 50.0, 3000.0])
    rate = np.exp(beta)
    return Sums(float(counts @ beta - rate.sum()), counts - rate, np.diag(rate))


def test_the_maximum_is_found_from_far_away() -> None:
    fit = maximise(poisson, np.array([1.0, 8.0, 6.0]))
    assert fit.converged
    np.testing.assert_allclose(fit.beta, np.log([1.0, 50.0, 3000.0]), atol=1e-9)
    assert fit.loglik == pytest.approx(poisson(fit.beta, True).loglik, abs=1e-9)


def test_the_log_likelihood_never_falls() -> None:
    seen: list[float] = []

    def watched(beta: np.ndarray, last: bool) -> Sums:
        sums = poisson(beta, last)
        seen.append(sums.loglik)
        return sums

    fit = maximise(watched, np.array([5.0, 5.0, 5.0]))
    best = np.maximum.accumulate(seen)
    assert fit.loglik == pytest.approx(best[-1])


def test_the_last_pass_is_foreseen_and_no_other() -> None:
    told: list[bool] = []

    def watched(beta: np.ndarray, last: bool) -> Sums:
        told.append(last)
        return poisson(beta, last)

    fit = maximise(watched, np.array([1.0, 8.0, 6.0]))
    assert fit.converged
    assert told == [False] * (len(told) - 1) + [True]


def test_a_run_cut_short_does_not_claim_convergence() -> None:
    fit = maximise(poisson, np.array([1.0, 8.0, 6.0]), max_iterations=2)
    assert not fit.converged
    assert fit.iterations == 2
    assert fit.decrement > 1e-3


def test_a_singular_curvature_still_gives_an_uphill_step() -> None:
    sums = Sums(0.0, np.array([1.0, 1.0]), np.ones((2, 2)))
    assert newton_step(sums) @ sums.gradient > 0


def test_definite_means_that_every_eigenvalue_is_positive() -> None:
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    for smallest, expected in ((1e-6, True), (-1e-6, False)):
        matrix = axes @ np.diag([smallest, 1.0, 2.0, 3.0]) @ axes.T
        assert is_definite(matrix) is expected
        # Units of the columns do not matter.
        units = np.array([1e-6, 1.0, 1e5, 1e9])
        assert is_definite(matrix * units * units[:, None]) is expected
    assert not is_definite(np.diag([1.0, 0.0]))
    assert not is_definite(np.diag([1.0, np.nan]))
