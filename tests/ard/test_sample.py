"""Beginning on a sample of persons ends where going through everybody does."""

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.ard.sample import sample_rows, sample_size
from ardchoice.ard.subsample_start import _log_available
from ardchoice.design import Design
from ardchoice.selection.refits import RefitCache
from ardchoice.selection.select import few_passes

SAME = 1e-6
"""Of λ, relative: where both end is the top of the same hill, reached from two sides."""


@pytest.fixture(scope="module")
def data():
    base = ac.datasets.swissmetro_choices("semi-artificial")
    return ac.simulate_choices(base, "TRAIN: ASC + TT + CO\nSM: ASC + TT + CO x GA + CO\nCAR: TT")


@pytest.fixture(scope="module")
def space(data):
    return ac.SearchSpace(data, ["linear", "log1p"], ["GA", "PURPOSE"], "CAR")


@pytest.fixture(scope="module")
def fits(data, space):
    return [ac.fit_ard(data, space, solver=ac.Newton(sample=n)) for n in (0, 2000)]


def test_a_sample_has_whole_persons_and_is_the_same_every_time(data):
    rows = sample_rows(data, 2000)
    assert 1500 < len(rows) < 2500
    assert (np.diff(rows) > 0).all()
    inside = np.isin(data.person, data.person[rows])
    np.testing.assert_array_equal(np.flatnonzero(inside), rows)
    np.testing.assert_array_equal(rows, sample_rows(data, 2000))


def test_samples_are_nested(data):
    small, large = sample_rows(data, 1000), sample_rows(data, 4000)
    assert set(small) < set(large)


def test_relevance_from_a_sample_is_that_of_all_data(fits):
    full, few = fits
    assert few.converged and "on a sample of" in few.reason
    assert "sample" not in full.reason
    np.testing.assert_array_equal(few.lam > 0, full.lam > 0)
    np.testing.assert_allclose(few.lam, full.lam, rtol=SAME)
    np.testing.assert_allclose(few.log_evidence, full.log_evidence, rtol=1e-9)


def test_a_sample_that_is_too_small_to_tell_is_not_begun_with(data, space, fits):
    small = ac.fit_ard(data, space, solver=ac.Newton(sample=300))
    assert "sample" not in small.reason
    np.testing.assert_array_equal(small.lam, fits[0].lam)


def test_fewer_passes_over_all_data_are_made(fits):
    full, few = fits
    assert few.passes < full.passes


def test_the_search_around_relevance_finds_what_a_search_from_all_starts_finds(fits):
    full, few = fits
    assert few_passes(few) and not few_passes(full)
    one, two = ac.select(full), ac.select(few)
    assert one.terms == two.terms
    assert one.criterion == pytest.approx(two.criterion, rel=1e-6)


def test_relevance_knows_the_log_likelihood_around_it_on_columns_that_are_not_centred(fits):
    _, few = fits
    models = RefitCache.of_many(few)
    plain = RefitCache.of(few)
    np.testing.assert_allclose(models.ridge, plain.ridge, rtol=1e-9)
    around = models.around_relevance(few)
    # At the maximum over some terms, as a refit of them knows it.
    kept = frozenset(int(t) for t in np.flatnonzero(few.lam > 0)[:6])
    fitted = plain.refit(kept)
    exact = plain.quadratic(fitted)
    assert around.value(fitted.beta) == pytest.approx(exact.value(fitted.beta), rel=0.02)


def test_data_that_fit_easily_are_not_sampled_unless_told(data, space):
    design = Design(data, space.terms)
    assert sample_size(None, design) == 0
    assert sample_size(2000, design) == 2000
    assert sample_size(0, design) == sample_size(len(data), design) == 0


def test_a_sample_too_small_to_begin_with_is_passed_over(space, data):
    fit = ac.fit_ard(data, space, solver=ac.Newton(sample=3))
    assert fit.converged


def test_a_sample_of_few_persons_with_many_rows_each_is_not_begun_with(data, space):
    rows = np.random.default_rng(0).integers(len(data), size=40_000)
    keep = data.person[rows] % 12 == 0  # 99 persons, some thirty answers of each
    many = data.take(rows[keep])
    fit = ac.fit_ard(many, space, solver=ac.Newton(sample=1000))
    assert fit.converged
    assert "sample" not in fit.reason


def test_the_log_likelihood_without_a_model_is_that_of_equal_shares(data):
    few = data.take(np.arange(200))
    specification = ac.parse_specification("SM: TT")
    null = ac.fit_mnl(few, specification).null_loglik
    assert -_log_available(Design(few, specification.terms)) == pytest.approx(null, rel=1e-12)
