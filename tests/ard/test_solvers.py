"""Both solvers where the answer is known, and what they promise of themselves."""

import numpy as np
import pytest
from gaussian import GaussianLikelihood
from one_by_one import one_by_one

from ardchoice.ard.dsvi import Dsvi, DsviPaper, Variational, bound_gradient, run_dsvi, run_paper
from ardchoice.ard.groups import Groups
from ardchoice.ard.meanfield import bound
from ardchoice.ard.newton import Newton, run_newton
from ardchoice.ard.quadratic import expand
from ardchoice.ard.trace import ProgressTrace
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import Sums

CLOSED_FORM = 1e-6
FINITE_DIFFERENCE = 1e-6
AGREE = 0.05  # what draws and batches leave after the last steps


def orthogonal(size: int, n_terms: int = 20) -> tuple[GaussianLikelihood, Groups]:
    """Orthogonal columns of length √n: estimates are independent with variance noise / n."""
    rng = np.random.default_rng(size)
    n, d, noise = 400, size * n_terms, 2.0
    x = np.linalg.qr(rng.normal(size=(n, d)))[0] * np.sqrt(n)
    scale = np.repeat(rng.choice([0.0, 0.1, 1.0], n_terms), size)
    y = x @ (scale * rng.normal(size=d)) + rng.normal(size=n) * np.sqrt(noise)
    terms = tuple(np.arange(t * size, (t + 1) * size) for t in range(n_terms))
    return GaussianLikelihood(x, y, noise, terms), Groups(
        np.repeat(np.arange(n_terms), size), n_terms
    )


@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_solvers_match_the_closed_form_for_orthogonal_columns(size: int) -> None:
    likelihood, groups = orthogonal(size)
    n = likelihood.n
    estimates = (likelihood.x.T @ likelihood.y / n).reshape(-1, size)
    expected = np.maximum(0.0, (estimates**2).mean(axis=1) - likelihood.noise / n)
    assert 0 < np.count_nonzero(expected) < len(expected)
    full = run_newton(Newton(), likelihood, groups, likelihood.terms, ProgressTrace())
    field = run_newton(Newton("diagonal"), likelihood, groups, likelihood.terms, ProgressTrace())
    drawn = run_dsvi(Dsvi(batches=5), likelihood, groups, ProgressTrace())
    for lam, converged in (
        (full.lam, full.converged),
        (field.lam, field.converged),
        (drawn.state.q.lam, drawn.converged),
    ):
        assert converged
        np.testing.assert_allclose(lam, expected, atol=CLOSED_FORM)
        np.testing.assert_array_equal(lam > 0, expected > 0)


GROUPS = Groups(np.array([0, 1, 1, 2, 2, 2]), 3)


def small(n: int = 60) -> GaussianLikelihood:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 6))
    y = x @ np.array([1.0, 0.5, -0.5, 0, 0, 0]) + rng.normal(size=n)
    return GaussianLikelihood(x, y, 1.0, (np.arange(1), np.arange(1, 3), np.arange(3, 6)))


def test_the_gradient_of_an_epoch_is_the_full_gradient() -> None:
    likelihood = small()
    rng = np.random.default_rng(0)
    q = Variational(rng.normal(size=6), rng.uniform(0.1, 1, 6))
    z = rng.standard_normal(6)
    beta = q.mean + q.scale * z
    full = bound_gradient(q, GROUPS, likelihood.sums(beta), z, 1.0)
    parts = []
    for batch in likelihood.batches(rng, 6):
        parts.append(bound_gradient(q, GROUPS, batch.sums(beta), z, likelihood.n / batch.n))
    mean = np.mean([p.mean for p in parts], axis=0)
    scale = np.mean([p.scale for p in parts], axis=0)
    np.testing.assert_allclose(mean, full.mean, rtol=1e-10)
    np.testing.assert_allclose(scale, full.scale, rtol=1e-10)


def test_the_gradient_is_that_of_the_bound() -> None:
    likelihood = small()
    rng = np.random.default_rng(1)
    mean, scale = rng.normal(size=6), rng.uniform(0.1, 1, 6)
    z = rng.standard_normal(6)

    def value(m: np.ndarray, c: np.ndarray) -> float:
        return bound(likelihood.sums(m + c * z).loglik, GROUPS, m, c**2)

    sums = likelihood.sums(mean + scale * z)
    ours = bound_gradient(Variational(mean, scale), GROUPS, sums, z, 1.0)
    step = 1e-5
    for k in range(6):
        e = np.zeros(6)
        e[k] = step
        by_mean = (value(mean + e, scale) - value(mean - e, scale)) / (2 * step)
        by_scale = (value(mean, scale + e) - value(mean, scale - e)) / (2 * step)
        assert ours.mean[k] == pytest.approx(by_mean, rel=FINITE_DIFFERENCE, abs=1e-6)
        assert ours.scale[k] == pytest.approx(by_scale, rel=FINITE_DIFFERENCE, abs=1e-6)


def test_the_published_schedule_ends_where_closed_forms_do() -> None:
    likelihood = small(400)
    here = likelihood.sums(np.zeros(6))
    # A tenth of the steps, and a rate that decays as much over all of them.
    solver = DsviPaper(steps=40_000, decay_every=100)
    q, _ = run_paper(solver, likelihood, GROUPS, ProgressTrace())
    assert (q.scale >= solver.smallest_scale(likelihood.n)).all()
    exact = one_by_one(expand(here, np.zeros(6)), GROUPS, np.full(GROUPS.n, 0.1))
    large = exact.lam > 0.05
    assert large.any()
    np.testing.assert_allclose(q.lam(GROUPS)[large], exact.lam[large], rtol=AGREE)
    spread = np.repeat(large, GROUPS.sizes)
    np.testing.assert_allclose(q.scale[spread], np.sqrt(exact.variance[spread]), rtol=AGREE)


@pytest.mark.parametrize("seed", range(50))
def test_a_run_cut_to_a_hundredth_never_claims_convergence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    likelihood = small(100)
    noisy = GaussianLikelihood(
        likelihood.x + rng.normal(size=likelihood.x.shape), likelihood.y, 1.0, likelihood.terms
    )
    short = run_dsvi(
        Dsvi(max_epochs=Dsvi.max_epochs // 100, seed=seed), noisy, GROUPS, ProgressTrace()
    )
    assert not short.converged
    most = max(1, Newton.max_passes // 100)
    cut = run_newton(Newton(max_passes=most), noisy, GROUPS, noisy.terms, ProgressTrace())
    assert not cut.converged
    assert "stopped after" in cut.reason


def test_the_same_seed_gives_the_same_numbers() -> None:
    likelihood = small()
    a = run_dsvi(Dsvi(seed=4), likelihood, GROUPS, ProgressTrace())
    b = run_dsvi(Dsvi(seed=4), likelihood, GROUPS, ProgressTrace())
    np.testing.assert_array_equal(a.state.q.mean, b.state.q.mean)
    np.testing.assert_array_equal(a.state.q.lam, b.state.q.lam)


class Broken(GaussianLikelihood):
    """Not a number beyond a limit, fine within it."""

    limit = 0.45

    def sums(self, beta: np.ndarray, order: int = 2, *, rough: bool = False) -> Sums:
        sums = super().sums(beta, order)
        if np.abs(beta).max() > self.limit:
            return Sums(np.nan, sums.gradient, np.full_like(sums.curvature, np.nan))
        return sums

    def restrict(self, terms):  # type: ignore[no-untyped-def]
        some = super().restrict(terms)
        return type(self)(some.x, some.y, some.noise, some.terms)


class Hopeless(Broken):
    """Not a number anywhere but at zero."""

    limit = 0.0


def test_not_a_number_is_met_with_smaller_steps() -> None:
    likelihood = small()
    broken = Broken(likelihood.x, likelihood.y, 1.0, likelihood.terms)
    run = run_newton(Newton(), broken, GROUPS, broken.terms, ProgressTrace())
    assert not run.converged
    assert np.isfinite(run.mean).all()


def test_not_a_number_everywhere_is_a_clear_error() -> None:
    likelihood = small()
    hopeless = Hopeless(likelihood.x, likelihood.y, 1.0, likelihood.terms)
    with pytest.raises(ArdchoiceError, match="not a number near the estimates"):
        run_newton(Newton(), hopeless, GROUPS, hopeless.terms, ProgressTrace())
