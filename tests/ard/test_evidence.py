"""Evidence maximisation on a quadratic, where closed forms and brute force know the answer."""

import numpy as np
import pytest
from scipy import optimize, stats

from ardchoice.ard.groups import FREE, Groups
from ardchoice.ard.meanfield import mean_field, start_at
from ardchoice.ard.quadratic import (
    Quadratic,
    coordinate_ascent,
    fixed_point,
    leverage,
    maximise_evidence,
    posterior,
)
from ardchoice.ard.relevance import best_lambda, gain

CLOSED_FORM = 1e-6


def orthogonal(seed: int, sizes: list[int], precision: float) -> tuple[Quadratic, Groups]:
    """A Gaussian likelihood with orthogonal columns: H = precision I, estimates b / precision."""
    rng = np.random.default_rng(seed)
    d = sum(sizes)
    scale = np.repeat(rng.choice([0.0, 0.1, 1.0, 3.0], len(sizes)), sizes)
    estimates = rng.normal(size=d) * np.sqrt(scale**2 + 1 / precision)
    groups = Groups(np.repeat(np.arange(len(sizes)), sizes), len(sizes))
    return Quadratic(0.0, precision * estimates, precision * np.eye(d)), groups


@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_both_evidence_maximisers_match_the_closed_form(size: int) -> None:
    precision = 40.0
    quadratic, groups = orthogonal(size, [size] * 40, precision)
    estimates = (quadratic.b / precision).reshape(40, size)
    expected = np.maximum(0.0, (estimates**2).mean(axis=1) - 1 / precision)
    assert 10 < np.count_nonzero(expected) < 40
    full = maximise_evidence(quadratic, groups, [np.full(40, 0.1)])
    np.testing.assert_allclose(full.lam, expected, atol=CLOSED_FORM)
    np.testing.assert_array_equal(full.lam > 0, expected > 0)
    field = mean_field(quadratic, groups, start_at(groups, 0.1))
    np.testing.assert_allclose(field.lam, expected, atol=CLOSED_FORM)
    np.testing.assert_array_equal(field.lam > 0, expected > 0)


def test_best_lambda_is_the_best_of_a_fine_grid() -> None:
    rng = np.random.default_rng(0)
    s = rng.lognormal(0, 3, (300, 4))
    q = np.sqrt(s) * rng.normal(size=s.shape) * rng.lognormal(0, 1, (300, 1))
    s[100:, 3] = q[100:, 3] = 0
    lam = best_lambda(s, q)
    grid = 10.0 ** np.linspace(-12, 8, 4001)
    values = np.stack([gain(np.full(300, g), s, q) for g in grid])
    top = np.maximum(values.max(axis=0), 0.0)
    ours = gain(lam, s, q)
    assert (ours >= top - 1e-9).all()
    assert (lam[top < 1e-12] == 0).all()


def random_quadratic(seed: int, d: int = 14, n: int = 80) -> Quadratic:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    y = x[:, :5] @ rng.normal(size=5) + rng.normal(size=n) * 2
    return Quadratic(-float(y @ y) / 8, x.T @ y / 4, x.T @ x / 4)


GROUPS = Groups(np.array([FREE, FREE, 0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 5]), 6)


def test_posterior_and_evidence_equal_those_of_a_gaussian_model() -> None:
    rng = np.random.default_rng(3)
    d, n, noise = 5, 30, 0.7
    x, lam = rng.normal(size=(n, d)), np.array([0.5, 2.0])
    groups = Groups(np.array([0, 0, 1, 1, 1]), 2)
    y = rng.normal(size=n)
    constant = -0.5 * float(y @ y) / noise - 0.5 * n * np.log(2 * np.pi * noise)
    post = posterior(Quadratic(constant, x.T @ y / noise, x.T @ x / noise), groups, lam)
    prior = np.diag(lam[groups.of])
    marginal = stats.multivariate_normal(np.zeros(n), x @ prior @ x.T + noise * np.eye(n))
    assert post.log_evidence == pytest.approx(marginal.logpdf(y), rel=1e-10)
    expected = np.linalg.solve(x.T @ x / noise + np.linalg.inv(prior), x.T @ y / noise)
    np.testing.assert_allclose(post.mean, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_leverage_predicts_the_evidence_of_every_single_change(seed: int) -> None:
    quadratic = random_quadratic(seed)
    lam = np.array([0.5, 0.0, 0.3, 0.0, 1.0, 0.0])
    post = posterior(quadratic, GROUPS, lam)
    lever = leverage(quadratic, GROUPS, lam, post)
    for group in range(6):
        without = lam.copy()
        without[group] = 0.0
        base = posterior(quadratic, GROUPS, without).log_evidence
        for value in (0.01, 0.3, 5.0):
            changed = lam.copy()
            changed[group] = value
            expected = posterior(quadratic, GROUPS, changed).log_evidence - base
            found = gain(np.full(6, value), lever.s, lever.q)[group]
            assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_the_maximum_is_not_beaten_by_a_general_optimiser(seed: int) -> None:
    quadratic = random_quadratic(seed)
    fit = maximise_evidence(quadratic, GROUPS, [np.full(6, 0.1), np.zeros(6)])
    assert fit.settled

    def loss(log_lam: np.ndarray) -> float:
        return -posterior(quadratic, GROUPS, np.exp(log_lam)).log_evidence

    rng = np.random.default_rng(seed)
    for _ in range(8):
        other = optimize.minimize(loss, rng.normal(-1, 2, 6), bounds=[(-18, 6)] * 6)
        assert fit.post.log_evidence >= -other.fun - 1e-4


def test_single_changes_never_lower_the_evidence_and_bring_groups_back() -> None:
    quadratic = random_quadratic(2)
    empty = posterior(quadratic, GROUPS, np.zeros(6)).log_evidence
    fit = coordinate_ascent(quadratic, GROUPS, np.zeros(6))
    assert fit.settled
    assert fit.post.log_evidence > empty
    assert (fit.lam > 0).any()
    again = coordinate_ascent(quadratic, GROUPS, fit.lam)
    assert again.rounds == 0


@pytest.mark.parametrize("seed", range(4))
def test_where_single_changes_end_none_helps_neither_in_play_nor_out(seed: int) -> None:
    # Forty groups, so that most are out of play and what they would gain is asked only at times.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 80)) @ (np.eye(80) + 0.2 * rng.normal(size=(80, 80)))
    y = x[:, :6] @ rng.normal(size=6) + 3 * rng.normal(size=300)
    quadratic = Quadratic(0.0, x.T @ y / 9, x.T @ x / 9)
    groups = Groups(np.repeat(np.arange(40), 2), 40)
    fit = coordinate_ascent(quadratic, groups, np.zeros(40), worth=1e-7)
    assert fit.settled
    assert 0 < np.count_nonzero(fit.lam) < 40
    fresh = posterior(quadratic, groups, fit.lam)
    assert fit.post.log_evidence == pytest.approx(fresh.log_evidence, abs=1e-9)
    lever = leverage(quadratic, groups, fit.lam, fresh)
    best = best_lambda(lever.s, lever.q)
    left = gain(best, lever.s, lever.q) - gain(fit.lam, lever.s, lever.q)
    assert left.max() <= 1e-7


def test_the_fixed_point_is_a_stationary_point() -> None:
    quadratic = random_quadratic(4)
    fit = fixed_point(quadratic, GROUPS, np.full(6, 0.1), 10_000, 1e-12)
    assert fit.settled
    square = GROUPS.sum(fit.post.mean**2 + fit.post.variance) / GROUPS.sizes
    on = fit.lam > 0
    np.testing.assert_allclose(square[on], fit.lam[on], rtol=1e-6)


def test_the_statistic_is_chi_square_for_noise() -> None:
    quadratic, groups = orthogonal(9, [3] * 10, 25.0)
    lam = np.zeros(10)
    post = posterior(quadratic, groups, lam)
    statistic = leverage(quadratic, groups, lam, post).statistic()
    np.testing.assert_allclose(statistic, (quadratic.b**2 / 25.0).reshape(10, 3).sum(axis=1))


def test_mean_field_is_stationary_in_every_coordinate() -> None:
    quadratic = random_quadratic(6)
    fit = mean_field(quadratic, GROUPS, start_at(GROUPS, 0.1))
    assert fit.settled
    precision = GROUPS.precision(fit.lam)
    on = np.isfinite(precision)
    gradient = quadratic.b - quadratic.curvature @ fit.mean
    np.testing.assert_allclose((gradient - np.where(on, precision, 0) * fit.mean)[on], 0, atol=1e-6)
    second = GROUPS.sum(fit.mean**2 + fit.variance) / GROUPS.sizes
    np.testing.assert_allclose(second[fit.lam > 0], fit.lam[fit.lam > 0], rtol=1e-6)


def test_mean_field_does_not_creep_where_groups_share_what_they_explain() -> None:
    # Two columns with a correlation of 0.9999: one after the other moves 0.01 % of the way a sweep.
    curvature = 1000 * np.array([[1.0, 0.9999], [0.9999, 1.0]])
    quadratic = Quadratic(0.0, curvature @ np.array([1.0, 0.5]), curvature)
    groups = Groups(np.arange(2), 2)
    fit = mean_field(quadratic, groups, start_at(groups, 1.0), optimise=False)
    assert fit.settled
    assert fit.sweeps < 50
    exact = np.linalg.solve(curvature + np.eye(2), quadratic.b)
    np.testing.assert_allclose(fit.mean, exact, rtol=1e-6)
