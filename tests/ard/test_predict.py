"""Probabilities from a relevance fit."""

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.ard.evidence import laplace_evidence
from ardchoice.ard.predict import posterior_probabilities
from ardchoice.estimation import Model, probabilities

DRAWN = 0.01  # of a probability: the error of 4,000 draws


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return ac.datasets.swissmetro_choices("real").take(np.arange(0, 10_692, 9))


@pytest.fixture(scope="module")
def fit(data: ac.ChoiceData) -> ac.ArdFit:
    space = ac.SearchSpace(data, ["linear"], by=["GA"], base="CAR")
    return ac.fit_ard(data, space, prior=ac.Prior(shrink_constants=True, standardised="all"))


def test_at_the_mean_they_are_those_of_the_coefficients(
    fit: ac.ArdFit, data: ac.ChoiceData
) -> None:
    p = posterior_probabilities(fit, data)
    np.testing.assert_allclose(p.sum(axis=0), 1.0)
    assert not p[~data.available].any()
    # In the user's units, with what centring took out put back by hand.
    raw = fit.mean / fit.scale
    utility = np.zeros(data.available.shape)
    shift = np.zeros(3)
    for term in fit.encoding.terms:
        (j,) = term.alternatives
        shift[j] -= float(raw[term.columns] @ fit.centre[term.columns])
    logs = np.log(np.maximum(probabilities(Model(raw, fit.encoding), data), 1e-300))
    utility = np.where(data.available, logs + shift[:, None], -np.inf)
    expected = np.exp(utility - utility.max(axis=0))
    np.testing.assert_allclose(p, expected / expected.sum(axis=0), atol=1e-9)


def test_averaged_over_the_posterior_they_are_less_sure_and_agree_with_plain_draws(
    fit: ac.ArdFit, data: ac.ChoiceData
) -> None:
    mean = posterior_probabilities(fit, data)
    averaged = posterior_probabilities(fit, data, draws=4000, seed=1)
    again = posterior_probabilities(fit, data, draws=4000, seed=2)
    np.testing.assert_allclose(averaged, again, atol=DRAWN)
    np.testing.assert_allclose(averaged.sum(axis=0), 1.0)
    assert averaged.max(axis=0).mean() < mean.max(axis=0).mean()


def test_terms_below_the_line_are_left_out(fit: ac.ArdFit, data: ac.ChoiceData) -> None:
    line = float(np.median(fit.lam[fit.lam > 0]))
    some = posterior_probabilities(fit, data, above=line)
    assert np.abs(some - posterior_probabilities(fit, data)).max() > 1e-3
    np.testing.assert_allclose(some.sum(axis=0), 1.0)


def test_the_evidence_evaluated_anew_is_that_of_the_fit(fit: ac.ArdFit) -> None:
    assert laplace_evidence(fit) == pytest.approx(fit.log_evidence, abs=1e-4)
    lower = laplace_evidence(fit, np.where(fit.lam > 0, 3 * fit.lam, 0.0))
    assert lower < fit.log_evidence
