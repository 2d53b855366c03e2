"""Posteriors with long flat tails: log-likelihoods against averages over draws of the tastes.

A lognormal cost coefficient near zero, or a uniform one near its ends, hardly changes with its
draw, so that nodes about the mode miss a part of the likelihood.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from families_support import business
from scipy import special, stats

import ardchoice as ac
from ardchoice.design import Design
from ardchoice.families import family_pass
from ardchoice.families.mixed import kernel
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
PERSONS, ANSWERS = 300, 9
DRAWS, CHUNK = 1 << 14, 1 << 9
SEEDS = 4
TOLERANCE = {"normal and lognormal": 1.5, "WTP space": 6.0, "uniform and triangular": 1.0}
"""Of the mean log-likelihood of four seeds of 64 nodes: it is 0.6, 4.3 and 0.7 too low; with nodes
about the mode alone 16, 80 and 2.2."""
ERROR_OF_DRAWS = 0.45
"""Largest standard error of an average over draws: it is 0.3 to 0.42."""

UNIFORM, TRIANGULAR = np.sqrt(3.0), np.sqrt(6.0)


def by_draws(data: ac.ChoiceData, utility) -> tuple[float, float]:
    """Log-likelihood as the average of plain products of logit probabilities, and its error.

    Parameters
    ----------
    data
    utility
        Of draws z, (2, R), times and costs, (J, B, 1): utilities without constants, (J, B, R).
    """
    time = data.attributes["TT"].values[..., None]
    cost = data.attributes["CO"].values[..., None]
    rows = np.arange(len(data))
    points = stats.qmc.Sobol(2, scramble=True, seed=8).random(DRAWS).T
    total, square = np.zeros(PERSONS), np.zeros(PERSONS)
    for first in range(0, DRAWS, CHUNK):
        v = utility(special.ndtri(points[:, first : first + CHUNK]), time, cost)
        v[~data.available] = -np.inf
        log_p = v[data.chosen(), rows] - special.logsumexp(v, axis=0)
        p = np.exp(np.add.reduceat(log_p, np.arange(0, len(data), ANSWERS)))
        total += p.sum(axis=1)
        square += (p**2).sum(axis=1)
    mean = total / DRAWS
    variance = (square / DRAWS / mean**2 - 1) / DRAWS
    return float(np.log(mean).sum()), float(np.sqrt(variance.sum()))


def constants(train: float, car: float) -> np.ndarray:
    return np.array([train, 0.0, car])[:, None, None]


def normal_and_lognormal(z, time, cost):
    return constants(-0.2, -1.3) + (-3.6 + 5.1 * z[0]) * time - np.exp(0.4 + 2.1 * z[1]) * cost


def in_money(z, time, cost):
    index = cost + (2.1 + 2.4 * z[0]) * time - constants(0.04, -1.8)
    return -np.exp(0.8 + 2.25 * z[1]) * index


def uniform_and_triangular(z, time, cost):
    u = special.ndtr(z)
    train = TRIANGULAR * np.where(u[1] < 0.5, np.sqrt(2 * u[1]) - 1, 1 - np.sqrt(2 * (1 - u[1])))
    v = constants(-0.1, -1.2) + (-3.1 + 3.2 * UNIFORM * (2 * u[0] - 1)) * time - 0.8 * cost
    v[0] += 2.4 * train
    return v


TWO = {"*: TT": "normal", "*: CO": "-lognormal"}
CASES = {
    "normal and lognormal": (
        ac.Mixed(TWO),
        (-0.2, -1.3, -3.6, 0.4, 5.1, 2.1),
        normal_and_lognormal,
    ),
    "WTP space": (
        ac.Mixed(TWO, space="wtp", cost="CO"),
        (0.04, -1.8, 2.1, 0.8, 2.4, 2.25),
        in_money,
    ),
    "uniform and triangular": (
        ac.Mixed({"*: TT": "uniform", "TRAIN: ASC": "triangular"}),
        (-0.1, -1.2, -3.1, -0.8, 3.2, 2.4),
        uniform_and_triangular,
    ),
}
"""Family, values near the maximum in the order of the terms, standard deviations last, and the
utilities written out."""


def mean_loglik(data: ac.ChoiceData, family: ac.Mixed, values: tuple[float, ...]) -> float:
    design = Design(data, as_specification(SPEC).terms)
    layout = family.layout(design.encoding).reordered(design.order)
    by_name = dict(zip(family.layout(design.encoding).names, values, strict=True))
    theta = np.array([by_name[name] for name in layout.names])
    each = (replace(family, seed=seed) for seed in range(SEEDS))
    found = [family_pass(one, layout, theta, design.blocks(), 0).loglik for one in each]
    return float(np.mean(found))


@pytest.mark.parametrize("case", list(CASES))
def test_the_loglikelihood_is_the_average_over_draws_of_the_tastes(case, monkeypatch):
    family, values, utility = CASES[case]
    data = business().take(np.arange(PERSONS * ANSWERS))
    expected, error = by_draws(data, utility)
    assert error < ERROR_OF_DRAWS
    assert mean_loglik(data, family, values) == pytest.approx(expected, abs=TOLERANCE[case])
    # Nodes about the mode alone do not suffice: the case is as hard as it should be.
    adapt = kernel.adapt
    monkeypatch.setattr(kernel, "adapt", lambda *given: replace(adapt(*given), prior_share=0.0))
    assert mean_loglik(data, family, values) < expected - TOLERANCE[case]
