"""Person modes: what they maximise, the information that remains, and the same by other means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from families_support import business
from scipy import optimize

from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Block, Design
from ardchoice.families import ModeMeasure, ModeSums, TasteColumn, taste_values
from ardchoice.space import parse_specification

PERSONS = 12
HESSIAN_TOLERANCE = 2e-5
"""Relative, of central differences of a gradient at re-optimised tastes."""
TASTES = (
    TasteColumn(alternatives=(0,)),
    TasteColumn(columns=(2,), weights=(0.7,)),
)


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    found = grouped_by_person(business())
    keep = np.isin(found.person, np.unique(found.person)[:PERSONS])
    some = found.take(np.flatnonzero(keep))
    # Unbalanced: some persons answered less often.
    rng = np.random.default_rng(3)
    return some.take(np.sort(rng.permutation(len(some))[: int(0.8 * len(some))]))


@pytest.fixture(scope="module")
def block(data: ChoiceData) -> Block:
    spec = parse_specification("TRAIN: ASC\nCAR: ASC\n*: TT + CO")
    (found,) = list(Design(data, spec.terms).blocks())
    return found


def modes(block: Block, beta: np.ndarray, sd: np.ndarray) -> tuple[ModeSums, np.ndarray]:
    start = np.zeros((int(block.person.max()) + 1, len(sd)))
    for _ in range(2):  # the second time from the modes themselves: they are exact then
        found = ModeMeasure(beta, TASTES[: len(sd)], sd, start, meat=True)(block)
        start = found.people(start)
    return found, start


def person_loglik(block: Block, beta: np.ndarray, sd: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Log-likelihood of every person, written out row by row."""
    z = taste_values(block, TASTES)
    out = np.zeros(int(block.person.max()) + 1)
    for b, n in enumerate(block.person):
        utility = np.zeros(block.shape[0])
        for part in block.parts:
            for k, a in enumerate(part.alternatives):
                utility[a] += beta[part.columns] @ part.x[:, k, b]
        utility += (sd * v[n]) @ z[:, :, b]
        if block.available is not None:
            utility[~block.available[:, b]] = -np.inf
        out[n] += utility[block.choice[b]] - np.logaddexp.reduce(utility)
    return out


BETA = np.array([-0.3, -0.2, -0.9, -0.4])
SD = np.array([1.3, 0.6])


def test_tastes_are_at_the_mode_that_a_general_optimiser_finds(block: Block) -> None:
    _, v = modes(block, BETA, SD)
    for n in np.unique(block.person)[:4]:

        def loss(u: np.ndarray, n: int = int(n)) -> float:
            trial = v.copy()
            trial[n] = u
            return float(0.5 * u @ u - person_loglik(block, BETA, SD, trial)[n])

        best = optimize.minimize(loss, np.zeros(2), tol=1e-12).x
        np.testing.assert_allclose(v[n], best, atol=1e-4)


def test_marginal_information_is_the_hessian_of_the_profile_over_tastes(block: Block) -> None:
    found, _ = modes(block, BETA, SD)
    out = np.empty((len(BETA), len(BETA)))
    for k in range(len(BETA)):
        ends = []
        for sign in (1, -1):
            beta = BETA.copy()
            beta[k] += sign * 1e-4
            ends.append(modes(block, beta, SD)[0].marginal.gradient)
        out[k] = -(ends[0] - ends[1]) / 2e-4
    np.testing.assert_allclose(
        found.marginal.curvature, out, rtol=HESSIAN_TOLERANCE, atol=1e-4 * np.abs(out).max()
    )
    assert (np.linalg.eigvalsh(found.marginal.curvature) > 0).all()


def test_likelihood_is_laplaces_by_differences_of_every_person(block: Block) -> None:
    found, v = modes(block, BETA, SD)
    total, h = 0.0, 1e-3
    for n in np.unique(block.person):
        hessian = np.empty((2, 2))

        def value(move: np.ndarray, n: int = int(n)) -> float:
            trial = v.copy()
            trial[n] = v[n] + move
            return float(person_loglik(block, BETA, SD, trial)[n] - 0.5 * trial[n] @ trial[n])

        for i, j in np.ndindex(2, 2):
            a, b = h * np.eye(2)[i], h * np.eye(2)[j]
            hessian[i, j] = (value(a + b) - value(a - b) - value(b - a) + value(-a - b)) / (
                4 * h * h
            )
        total += value(np.zeros(2)) - 0.5 * np.linalg.slogdet(-hessian)[1]
    assert found.marginal.loglik == pytest.approx(total, abs=1e-3)


def test_persons_count_by_their_weight(block: Block) -> None:
    weighted = replace(block, weight=np.where(block.person % 2, 2.0, 1.0))
    rows = np.concatenate([np.arange(block.shape[1]), np.flatnonzero(block.person % 2)])
    again = block.take(rows)
    shifted = again.person.copy()
    shifted[block.shape[1] :] += 1 + block.person.max()
    again = replace(again, person=shifted)
    (a, _), (b, _) = modes(weighted, BETA, SD), modes(again, BETA, SD)
    assert a.objective == pytest.approx(b.objective, rel=1e-12)
    np.testing.assert_allclose(a.marginal.gradient, b.marginal.gradient, rtol=1e-9)
    np.testing.assert_allclose(a.marginal.curvature, b.marginal.curvature, rtol=1e-9)


def test_without_tastes_it_is_the_multinomial_logit(block: Block) -> None:
    found, v = modes(block, BETA, np.zeros(0))
    assert found.marginal.loglik == pytest.approx(
        person_loglik(block, BETA, np.zeros(2), np.zeros((len(v), 2))).sum(), rel=1e-12
    )
    np.testing.assert_array_equal(found.marginal.curvature, found.conditional.curvature)


def test_tastes_that_answers_hardly_bound_are_found_from_far(block: Block) -> None:
    sd = np.array([30.0, 20.0])
    near, v = modes(block, BETA, sd)
    far = ModeMeasure(BETA, TASTES, sd, np.full_like(v, 5.0))(block)
    assert far.objective == pytest.approx(near.objective, abs=1e-3)
