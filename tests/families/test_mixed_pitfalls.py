"""What is known to go wrong with mixed logits is said in words, each with a test that shows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from families_support import business

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.families import structure_of
from ardchoice.families.mixed import checks
from ardchoice.families.mixed.estimate import Warm, first_point
from ardchoice.families.mixed.structure import Structure, from_loadings
from ardchoice.numerics import Sums
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
TWO = {"*: TT": "normal", "*: CO": "normal"}


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business().take(np.arange(900))


def structure(data: ChoiceData, *, correlated: bool = False) -> Structure:
    encoding = Design(data, as_specification(SPEC).terms).encoding
    return structure_of(ac.Mixed(TWO, correlated=correlated).layout(encoding))


def test_one_choice_of_every_person_is_weakly_identified(data):
    first = data.take(np.arange(0, 900, 9))
    result = ac.fit(first, "*: TT + CO", family=ac.Mixed({"*: TT": "normal"}))
    assert any(note.startswith("Every person chose once") for note in result.notes)
    assert not any("chose once" in note for note in ac.fit_mnl(first, "*: TT + CO").notes)


def test_bic_counts_persons_and_says_how_many(data):
    result = ac.fit(data, SPEC, family=ac.Mixed({"*: TT": "normal"}))
    assert "BIC counts 100 persons, not 900 choices." in result.notes
    assert result.bic == pytest.approx(-2 * result.loglik + 5 * np.log(100))


def test_few_effective_nodes_and_a_large_simulation_error_are_said():
    fresh = checks.FreshCheck(-100.0, 2.5**2, 1.3, 7, 752)
    sums = Sums(-100.0, np.empty(0), np.empty(0))
    text = " ".join(checks._simulation(ac.Mixed(TWO), fresh, sums))
    assert "7 of 752 persons have fewer than 5 effective nodes (the fewest 1.3)" in text
    assert "simulation error of the log-likelihood is large: raise nodes to 256" in text
    assert "same nodes and seed only" in text
    good = replace(fresh, variance=0.01, n_low=0)
    assert "raise nodes" not in " ".join(checks._simulation(ac.Mixed(TWO), good, sums))


def test_a_singular_covariance_of_tastes_is_said(data):
    both = structure(data, correlated=True)
    theta = np.array([0, 0, -1, -1, 0.5, 0.5, 0.99999])
    (note,) = checks._singular(both, theta)
    assert "nearly singular" in note
    theta[-1] = 0.9
    assert checks._singular(both, theta) == []


def test_an_error_that_is_too_small_to_be_true_is_said(data):
    """Nobody knows a mean better than from the tastes of as many persons."""
    plain = structure(data)
    theta = np.array([0, 0, -1.0, -1.0, 2.0, 2.0])
    least = 2.0 / np.sqrt(data.n_persons)
    for share, is_said in ((0.8, True), (1.0, False)):
        curvature = np.diag([1.0, 1.0, *[1 / (share * least) ** 2] * 2, 1.0, 1.0])
        found = checks._too_certain(plain, theta, Sums(0.0, np.empty(0), curvature), data)
        assert len(found) == (2 if is_said else 0)
    assert (
        "is below σ/√persons"
        in checks._too_certain(plain, theta, Sums(0.0, np.empty(0), 1e6 * np.eye(6)), data)[0]
    )


def test_standard_deviations_never_start_at_zero_and_are_reported_positive(data):
    plain = structure(data)
    mnl = ac.fit_mnl(data, SPEC)
    maximum = type("Maximum", (), {"fit": type("Fit", (), {"beta": mnl.coefficients})})()
    warm = Warm(maximum, np.zeros(2), np.ones(2))
    assert (first_point(plain, warm)[4:] > 0.1).all()
    np.testing.assert_array_equal(from_loadings(plain, np.array([-0.7, 0.2])), [0.7, 0.2])
