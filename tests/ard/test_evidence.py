"""Evidence maximisation on a quadratic, where closed forms and brute force know the answer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from one_by_one import bound_of, one_by_one
from scipy import optimize, stats

from ardchoice.ard.ascent import LARGEST, climb, coordinate_ascent, fixed_point, maximise_evidence
from ardchoice.ard.groups import FREE, Groups
from ardchoice.ard.meanfield import MeanField
from ardchoice.ard.quadratic import Kind, Quadratic, posterior, sparsity_quality
from ardchoice.ard.relevance import best_lambda, gain

CLOSED_FORM = 1e-6
both_kinds = pytest.mark.parametrize("kind", ["full", "diagonal"])


def orthogonal(seed: int, sizes: list[int], precision: float) -> tuple[Quadratic, Groups]:
    """A Gaussian likelihood with orthogonal columns: H = precision I, estimates b / precision."""
    rng = np.random.default_rng(seed)
    d = sum(sizes)
    scale = np.repeat(rng.choice([0.0, 0.1, 1.0, 3.0], len(sizes)), sizes)
    estimates = rng.normal(size=d) * np.sqrt(scale**2 + 1 / precision)
    groups = Groups(np.repeat(np.arange(len(sizes)), sizes), len(sizes))
    return Quadratic(0.0, precision * estimates, precision * np.eye(d)), groups


@both_kinds
@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_evidence_and_bound_have_their_maximum_at_the_closed_form(size: int, kind: Kind) -> None:
    precision = 40.0
    quadratic, groups = orthogonal(size, [size] * 40, precision)
    estimates = (quadratic.b / precision).reshape(40, size)
    expected = np.maximum(0.0, (estimates**2).mean(axis=1) - 1 / precision)
    assert 10 < np.count_nonzero(expected) < 40
    for start in (np.full(40, 0.1), np.zeros(40)):
        found = maximise_evidence(quadratic, groups, [start], kind=kind)
        np.testing.assert_allclose(found.lam, expected, atol=CLOSED_FORM)
        np.testing.assert_array_equal(found.lam > 0, expected > 0)


@both_kinds
def test_best_lambda_is_the_best_of_a_fine_grid(kind: Kind) -> None:
    rng = np.random.default_rng(0)
    s = rng.lognormal(0, 3, (300, 4))
    q = np.sqrt(s) * rng.normal(size=s.shape) * rng.lognormal(0, 1, (300, 1))
    p = s * rng.uniform(1, 10, s.shape) if kind == "diagonal" else s
    s[100:, 3] = q[100:, 3] = p[100:, 3] = 0
    s[200:, 1:] = q[200:, 1:] = p[200:, 1:] = 0
    lam = best_lambda(s, q, p)
    grid = 10.0 ** np.linspace(-12, 8, 4001)
    values = np.stack([gain(np.full(300, g), s, q, p) for g in grid])
    top = np.maximum(values.max(axis=0), 0.0)
    ours = gain(lam, s, q, p)
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
def test_the_bound_is_that_of_independent_coefficients_and_below_the_evidence(seed: int) -> None:
    quadratic = random_quadratic(seed)
    top = maximise_evidence(quadratic, GROUPS, [np.full(6, 0.1)], kind="diagonal")
    q = MeanField(top.lam, top.post.mean, top.post.variance)
    # With λ at its best the two differ by what free columns add, whatever λ is.
    constant = bound_of(quadratic, GROUPS, q) - top.post.log_evidence
    assert constant == pytest.approx(-0.5 * len(GROUPS.free), abs=1e-6)
    for lam in np.random.default_rng(seed).lognormal(0, 2, (20, 6)):
        field, full = (posterior(quadratic, GROUPS, lam, kind) for kind in ("diagonal", "full"))
        free = np.ix_(GROUPS.free, GROUPS.free)
        own = np.log(np.diag(quadratic.curvature)[GROUPS.free]).sum()
        together = np.linalg.slogdet(quadratic.curvature[free])[1]
        assert field.log_evidence + 0.5 * own <= full.log_evidence + 0.5 * together + 1e-9
        np.testing.assert_allclose(field.mean, full.mean)


@both_kinds
@pytest.mark.parametrize("seed", range(5))
def test_leverage_predicts_the_gain_of_every_single_change(seed: int, kind: Kind) -> None:
    quadratic = random_quadratic(seed)
    lam = np.array([0.5, 0.0, 0.3, 0.0, 1.0, 0.0])
    post = posterior(quadratic, GROUPS, lam, kind)
    lever = sparsity_quality(quadratic, GROUPS, lam, post)
    for group in range(6):
        without = lam.copy()
        without[group] = 0.0
        base = posterior(quadratic, GROUPS, without, kind).log_evidence
        for value in (0.01, 0.3, 5.0):
            changed = lam.copy()
            changed[group] = value
            expected = posterior(quadratic, GROUPS, changed, kind).log_evidence - base
            found = gain(np.full(6, value), lever.s, lever.q, lever.p)[group]
            assert found == pytest.approx(expected, abs=1e-8)


@both_kinds
@pytest.mark.parametrize("seed", range(10))
def test_the_maximum_is_not_beaten_by_a_general_optimiser(seed: int, kind: Kind) -> None:
    quadratic = random_quadratic(seed)
    fit = maximise_evidence(quadratic, GROUPS, [np.full(6, 0.1), np.zeros(6)], kind=kind)
    assert fit.settled

    def loss(log_lam: np.ndarray) -> float:
        return -posterior(quadratic, GROUPS, np.exp(log_lam), kind).log_evidence

    rng = np.random.default_rng(seed)
    for _ in range(8):
        other = optimize.minimize(loss, rng.normal(-1, 2, 6), bounds=[(-18, 6)] * 6)
        assert fit.post.log_evidence >= -other.fun - 1e-4


@both_kinds
def test_single_changes_never_lower_the_evidence_and_bring_groups_back(kind: Kind) -> None:
    quadratic = random_quadratic(2)
    empty = posterior(quadratic, GROUPS, np.zeros(6), kind).log_evidence
    fit = coordinate_ascent(quadratic, GROUPS, np.zeros(6), kind=kind)
    assert fit.settled
    assert fit.post.log_evidence > empty
    assert (fit.lam > 0).any()
    again = coordinate_ascent(quadratic, GROUPS, fit.lam, kind=kind)
    assert again.rounds == 0


@both_kinds
@pytest.mark.parametrize("seed", range(4))
def test_where_single_changes_end_none_helps_neither_in_play_nor_out(seed: int, kind: Kind) -> None:
    # Forty groups, so that most are out of play.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 80)) @ (np.eye(80) + 0.2 * rng.normal(size=(80, 80)))
    y = x[:, :6] @ rng.normal(size=6) + 3 * rng.normal(size=300)
    quadratic = Quadratic(0.0, x.T @ y / 9, x.T @ x / 9)
    groups = Groups(np.repeat(np.arange(40), 2), 40)
    fit = coordinate_ascent(quadratic, groups, np.zeros(40), worth=1e-7, kind=kind)
    assert fit.settled
    assert 0 < np.count_nonzero(fit.lam) < 40
    fresh = posterior(quadratic, groups, fit.lam, kind)
    assert fit.post.log_evidence == pytest.approx(fresh.log_evidence, abs=1e-9)
    lever = sparsity_quality(quadratic, groups, fit.lam, fresh)
    s, q, p = lever.s, lever.q, lever.p
    left = gain(best_lambda(s, q, p), s, q, p) - gain(fit.lam, s, q, p)
    assert left.max() <= 1e-7


@both_kinds
@pytest.mark.parametrize("way", [fixed_point, climb])
def test_both_ways_up_end_at_a_stationary_point(way: Callable[..., Any], kind: Kind) -> None:
    quadratic = random_quadratic(4)
    fit = way(quadratic, GROUPS, np.full(6, 0.1), 10_000, 1e-12, kind)
    assert fit.settled
    square = GROUPS.sum(fit.post.mean**2 + fit.post.variance) / GROUPS.sizes
    on = fit.lam > 0
    np.testing.assert_allclose(square[on], fit.lam[on], rtol=1e-6)


def test_the_statistic_is_chi_square_for_noise() -> None:
    quadratic, groups = orthogonal(9, [3] * 10, 25.0)
    lam = np.zeros(10)
    post = posterior(quadratic, groups, lam)
    statistic = sparsity_quality(quadratic, groups, lam, post).statistic()
    np.testing.assert_allclose(statistic, (quadratic.b**2 / 25.0).reshape(10, 3).sum(axis=1))


@pytest.mark.parametrize("seed", range(10))
def test_newton_steps_end_where_rounds_of_the_fixed_point_do_and_sooner(seed: int) -> None:
    quadratic, start = random_quadratic(seed), np.full(6, 0.1)
    for kind in ("full", "diagonal"):
        # Among those that stay: a λ on its way to zero is a matter of single changes.
        top = maximise_evidence(quadratic, GROUPS, [start], kind=kind).lam
        near = np.where(top > 0, 2 * top, 0.0)
        rounds = fixed_point(quadratic, GROUPS, near, 100_000, 1e-13, kind)
        steps = climb(quadratic, GROUPS, near, 100, 1e-12, kind)
        assert steps.rounds <= 15
        assert steps.rounds < rounds.rounds
        np.testing.assert_allclose(steps.lam, rounds.lam, rtol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_is_as_high_as_group_after_group(seed: int) -> None:
    quadratic = random_quadratic(seed)
    ours = maximise_evidence(quadratic, GROUPS, [np.full(6, 0.1), np.zeros(6)], kind="diagonal")
    other = one_by_one(quadratic, GROUPS, np.full(6, 0.1))
    q = MeanField(ours.lam, ours.post.mean, ours.post.variance)
    assert bound_of(quadratic, GROUPS, q) >= bound_of(quadratic, GROUPS, other) - 1e-8
    # And nothing is left to move for it, where we ended.
    again = one_by_one(quadratic, GROUPS, ours.lam, ours.post.mean)
    np.testing.assert_allclose(again.lam, ours.lam, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(again.variance, ours.post.variance, rtol=1e-6, atol=1e-8)


def test_a_prior_variance_never_grows_without_bound() -> None:
    # Two columns that say the same, to rounding: no λ may make their sum a matter of chance.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 1)) @ np.ones((1, 2)) * 1e3
    y = x[:, 0] * 1e3
    quadratic = Quadratic(0.0, x.T @ y, x.T @ x)
    for kind in ("full", "diagonal"):
        fit = maximise_evidence(quadratic, Groups(np.arange(2), 2), [np.full(2, 0.1)], kind=kind)
        assert np.isfinite(fit.lam).all()
        assert fit.lam.max() <= LARGEST
        assert fit.post.mean.sum() == pytest.approx(1e3, rel=1e-3)
