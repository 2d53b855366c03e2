"""Going on from earlier data, beside fitting all of them together."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from gaussian import GaussianLikelihood

import ardchoice as ac
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.online_state import inclusion
from ardchoice.ard.previous_data import PreviousData
from ardchoice.ard.quadratic import Quadratic, expand, nothing, posterior
from ardchoice.ard.standardization import (
    Standardization,
    change_basis,
    moments_of,
    standardization_of,
)

TENTH = 0.1  # of a posterior standard deviation: what going on may differ by
EXACT = 0.01  # of one: what it may differ by with all rows remembered
ROUNDING = 1e-9  # relative, of sums in another order
RIDGE = ac.Prior(common=True, fixed=0.5)
OPTIMISED = ac.Prior()


def drawn(seed: int) -> ac.ChoiceData:
    truth = ac.datasets.swissmetro_specification("S2")
    return ac.simulate_choices(ac.datasets.swissmetro_choices(), truth, seed=seed)


# With λ optimised and January as a quadratic, draw 2 ends 1.3 standard deviations away.
DATA = drawn(2)
JANUARY, FEBRUARY = DATA.split(0.5, seed=3)


def small_space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, ["linear", "log1p"], by=["GA"], base="CAR")


def medium_space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.swissmetro_space(data, "medium")


def distances(on: ac.ArdFit, both: ac.ArdFit) -> np.ndarray:
    """Of all coefficients in play in either, constants included."""
    a, b = on.coefficients(), both.coefficients()
    sd = np.where(b["sd"] > 0, b["sd"], a["sd"])
    return (np.abs(a["mean"] - b["mean"]).to_numpy() / np.maximum(sd, 1e-300))[sd > 0]


def read(on: ac.ArdFit) -> float:
    return on.passes * len(on.data) + on.revisited


@pytest.mark.parametrize("space_of", [small_space, medium_space])
@pytest.mark.parametrize("prior", [RIDGE, OPTIMISED], ids=["given", "optimised"])
def test_every_coefficient_is_as_from_both_together_and_costs_less(space_of, prior) -> None:  # type: ignore[no-untyped-def]
    space = space_of(DATA)
    first = ac.fit_ard(JANUARY, space, prior=prior)
    both = ac.fit_ard(DATA, space, prior=prior)
    on = ac.fit_ard(FEBRUARY, space, prior=prior, previous=first)
    assert on.converged
    assert on.continues
    assert distances(on, both).max() < EXACT
    assert read(on) < read(both)
    some = ac.fit_ard(FEBRUARY, space, prior=prior, previous=first.memory(0.2))
    assert some.converged
    assert distances(some, both).max() < TENTH
    assert read(some) < read(on)


def test_constants_that_are_shrunk_are_too() -> None:
    space, prior = small_space(DATA), ac.Prior(shrink_constants=True)
    on = ac.fit_ard(FEBRUARY, space, prior=prior, previous=ac.fit_ard(JANUARY, space, prior=prior))
    assert distances(on, ac.fit_ard(DATA, space, prior=prior)).max() < EXACT


@pytest.mark.parametrize(("share", "bar"), [(1.0, EXACT), (0.3, TENTH)])
def test_month_after_month(share: float, bar: float) -> None:
    space = small_space(DATA)
    january, rest = DATA.split(0.66, seed=5)
    february, march = rest.split(0.5, seed=6)
    fit = ac.fit_ard(january, space)
    for month in (february, march):
        fit = ac.fit_ard(month, space, previous=fit.memory(share))
    assert distances(fit, ac.fit_ard(DATA, space)).max() < bar
    if share == 1:
        assert sum(map(len, fit.memory().rows)) == len(DATA)


def test_what_is_remembered_is_what_was_asked_for() -> None:
    space = small_space(DATA)
    first = ac.fit_ard(JANUARY, space)
    none, some = first.memory(0.0), first.memory(0.1)
    assert not none.rows
    assert "0 choice situations kept" in repr(none)
    (kept,) = some.rows
    assert len(kept) == pytest.approx(0.1 * len(JANUARY), abs=1)
    assert len(pickle.dumps(some)) < 0.5 * len(pickle.dumps(first.memory()))
    # The same seed draws the same rows, another one others.
    (again,), (other,) = first.memory(0.1).rows, first.memory(0.1, seed=1).rows
    np.testing.assert_array_equal(again.situation, kept.situation)
    assert set(other.situation) != set(kept.situation)
    on, quick = (ac.fit_ard(FEBRUARY, space, previous=memory) for memory in (some, none))
    assert on.revisited > 0
    assert quick.revisited == 0
    with pytest.raises(ac.ArdchoiceError, match=r"between 0 and 1, not 1\.5"):
        first.memory(1.5)


def test_other_candidates_are_refused() -> None:
    first = ac.fit_ard(JANUARY, small_space(DATA), prior=RIDGE)
    with pytest.raises(ac.ArdchoiceError, match="other candidates"):
        ac.fit_ard(FEBRUARY, ac.SearchSpace(FEBRUARY), previous=first)


def test_columns_standardised_over_other_rows_are_refused() -> None:
    space = small_space(DATA)
    first = ac.fit_ard(JANUARY, space, prior=RIDGE)
    with pytest.raises(ac.ArdchoiceError, match=r"Prior\(standardised='available'\)"):
        ac.fit_ard(FEBRUARY, space, prior=replace(RIDGE, standardised="all"), previous=first)


@pytest.mark.parametrize("over", ["available", "all"])
def test_the_spread_of_two_parts_is_that_of_the_whole(over) -> None:  # type: ignore[no-untyped-def]
    terms = medium_space(DATA).terms
    whole = moments_of(ac.Design(DATA, terms), over)
    parts = [moments_of(ac.Design(part, terms), over) for part in (JANUARY, FEBRUARY)]
    together = parts[0] + parts[1]
    for name in ("count", "mean", "sd"):
        ours, expected = getattr(together, name), getattr(whole, name)
        np.testing.assert_allclose(ours, expected, rtol=ROUNDING, atol=ROUNDING)


def test_another_standard_leaves_the_log_likelihood_as_it_is() -> None:
    design = ac.Design(JANUARY, small_space(DATA).terms)
    old = standardization_of(moments_of(design, "available"), design.encoding)
    # Constants are not standardised; where other columns are centred is theirs to take up.
    moved = np.where(old.centre != 0, 0.3, 0.0)
    new = Standardization(old.centre * (1 + moved), old.scale * np.where(old.centre != 0, 1.7, 1.0))
    change = change_basis(old, new, design.encoding)
    beta = np.random.default_rng(0).normal(scale=0.3, size=design.n_columns)
    before = FamilyLikelihood(design, old.centre, old.scale).sums(beta)
    after = FamilyLikelihood(design, new.centre, new.scale).sums(change.coefficients(beta))
    assert after.loglik == pytest.approx(before.loglik, rel=ROUNDING)
    np.testing.assert_allclose(change.linear(before.gradient), after.gradient, atol=1e-6)
    size = np.abs(after.curvature).max()
    turned = change.curvature(before.curvature)
    np.testing.assert_allclose(turned, after.curvature, atol=ROUNDING * size)


def test_a_sample_is_exact_to_second_order_where_it_was_drawn() -> None:
    space = small_space(DATA)
    first = ac.fit_ard(JANUARY, space, prior=RIDGE)
    standard = Standardization(first.centre, first.scale)
    whole, some = (first.memory(share).earlier(standard) for share in (1.0, 0.2))
    at_mean = [earlier.revisit(first.mean).quadratic for earlier in (whole, some)]
    size = np.abs(at_mean[0].curvature).max()
    np.testing.assert_allclose(at_mean[1].curvature, at_mean[0].curvature, atol=ROUNDING * size)
    np.testing.assert_allclose(at_mean[1].b, at_mean[0].b, atol=ROUNDING * size)
    # Away from there it is nearer to all rows than the quadratic is.
    root = np.linalg.cholesky(posterior(first.quadratic, first.term_groups, first.lam).cov)
    rng = np.random.default_rng(1)
    off = []
    for _ in range(20):
        away = first.mean + root @ rng.standard_normal(len(root))
        truth, sampled = (e.revisit(away).quadratic.value(away) for e in (whole, some))
        off.append([sampled - truth, first.quadratic.value(away) - truth])
    of_sample, of_quadratic = np.sqrt(np.mean(np.square(off), axis=0))
    assert of_sample < 0.5 * of_quadratic


def test_rows_are_kept_in_proportion_to_size_and_at_most_once() -> None:
    sizes = np.array([100.0, 3.0, 2.0, 1.0, 1.0, 1.0])
    p = inclusion(sizes, 0.5)
    assert p.sum() == pytest.approx(3)
    assert p[0] == 1
    np.testing.assert_allclose(p[1:] / sizes[1:], p[1] / sizes[1])
    np.testing.assert_array_equal(inclusion(np.ones(4), 1.0), np.ones(4))


def test_a_curvature_that_is_none_is_replaced_and_the_slope_kept() -> None:
    rng = np.random.default_rng(0)
    rows = GaussianLikelihood(rng.normal(size=(20, 2)), rng.normal(size=20), 1.0, (np.arange(2),))
    start = np.zeros(2)
    wrong = Quadratic(0.0, np.zeros(2), -1e3 * np.eye(2))
    known = Quadratic(0.0, np.zeros(2), np.eye(2))
    beta = np.array([0.5, -1.0])
    here = PreviousData(wrong, (rows,), start, known).revisit(beta).quadratic
    np.testing.assert_array_equal(here.curvature, np.eye(2))
    slope = rows.sums(beta).gradient + 1e3 * beta
    np.testing.assert_allclose(here.b - here.curvature @ beta, slope)
    # All rows have a curvature by themselves.
    right = PreviousData(nothing(2), (rows,), start, known).revisit(beta).quadratic
    np.testing.assert_allclose(right.curvature, expand(rows.sums(beta), beta).curvature)
