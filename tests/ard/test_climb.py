"""Newton's method in log λ ends at the top, also where some λ are nearly zero."""

import numpy as np
import pytest

from ardchoice.ard.ascent import climb, coordinate_ascent
from ardchoice.ard.groups import Groups
from ardchoice.ard.quadratic import Kind, Quadratic, posterior

MOST_ROUNDS = 50
FLAT = 1e-6
"""Slope of the log evidence in log λ that counts as none, by differences of step 1e-4."""


def noisy_regression(columns: int, seed: int) -> Quadratic:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((400, columns)) + 0.5 * rng.standard_normal((400, 1))
    y = x[:, :5] @ np.array([0.5, -0.4, 0.3, 0.2, -0.2]) + rng.standard_normal(400)
    return Quadratic(-0.5 * float(y @ y), x.T @ y, x.T @ x)


def slopes(quadratic: Quadratic, groups: Groups, lam: np.ndarray, kind: Kind) -> np.ndarray:
    """Of the log evidence by every log λ above zero, by differences."""
    out = []
    for i in np.flatnonzero(lam):
        ends = []
        for step in (1e-4, -1e-4):
            moved = lam.copy()
            moved[i] *= np.exp(step)
            ends.append(posterior(quadratic, groups, moved, kind).log_evidence)
        out.append((ends[0] - ends[1]) / 2e-4)
    return np.array(out)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_climb_ends_flat_also_from_a_tiny_lambda(kind: Kind, size: int, seed: int) -> None:
    quadratic = noisy_regression(40, seed)
    groups = Groups(np.repeat(np.arange(40 // size), size), 40 // size)
    lam = coordinate_ascent(quadratic, groups, np.zeros(groups.n), kind=kind).lam
    off = np.flatnonzero(lam)[-1]
    lam[off] = 1e-7  # its curve bends up there: no Newton step for all together
    fit = climb(quadratic, groups, lam, 200, 1e-11, kind)
    assert fit.settled
    assert fit.rounds <= MOST_ROUNDS
    assert np.abs(slopes(quadratic, groups, fit.lam, kind)).max() < FLAT


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_the_posterior_is_that_of_dense_inverses(kind: Kind) -> None:
    quadratic = noisy_regression(12, 0)
    groups = Groups(np.array([-1, -1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]), 9)
    lam = np.array([0.1, 0.0, 0.3, 0.0, 1.0, 0.2, 0.0, 0.5, 0.01])
    post = posterior(quadratic, groups, lam, kind)
    k = groups.active(lam)
    matrix = quadratic.curvature[np.ix_(k, k)] + np.diag(groups.precision(lam)[k])
    np.testing.assert_allclose(post.cov, np.linalg.inv(matrix), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(post.mean[k], np.linalg.solve(matrix, quadratic.b[k]), rtol=1e-10)
    full = np.diag(np.linalg.inv(matrix))
    expected = full if kind == "full" else 1 / np.diag(matrix)
    np.testing.assert_allclose(post.spread, expected, rtol=1e-10)
