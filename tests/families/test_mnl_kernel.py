"""Gradient, curvature and probabilities against finite differences and brute force."""

import numpy as np
import pytest

from ardchoice.design import Block, Part
from ardchoice.families import (
    choice_probabilities,
    evaluate,
    evaluate_with_scores,
    one_pass,
    utilities,
)

GRADIENT = 1e-6  # relative error that a central difference leaves in the gradient
CURVATURE = 1e-5  # and in the curvature
STEP = 1e-5
N_DESIGNS = 300


def random_block(rng: np.random.Generator, *, specific_only: bool = False) -> Block:
    """A block with 2 to 10 alternatives, specific, shared and generic parts, some unavailable."""
    n_alternatives, n_rows = int(rng.integers(2, 11)), int(rng.integers(5, 40))
    available = rng.random((n_alternatives, n_rows)) < rng.choice([0.5, 0.8, 1.0])
    choice = rng.integers(n_alternatives, size=n_rows)
    available[choice, np.arange(n_rows)] = True
    sets: list[tuple[int, ...]] = [(int(j),) for j in range(n_alternatives) if rng.random() < 0.7]
    if not specific_only:
        sets.append(tuple(range(n_alternatives)))
        some = tuple(sorted(rng.permutation(n_alternatives)[: rng.integers(2, n_alternatives + 1)]))
        if some != sets[-1]:
            sets.append(tuple(int(j) for j in some))
    if not sets:
        sets = [(0,)]
    parts, start = [], 0
    for alternatives in sets:
        k = int(rng.integers(1, 4))
        x = rng.normal(size=(k, len(alternatives), n_rows)) * available[list(alternatives)]
        parts.append(Part(alternatives, slice(start, start + k), x))
        start += k
    weight = rng.random(n_rows) * 3 if rng.random() < 0.5 else None
    everywhere = None if available.all() else available
    return Block(tuple(parts), everywhere, choice, weight, (n_alternatives, n_rows))


def brute_force(beta: np.ndarray, block: Block) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-likelihood, gradient and curvature by loops over rows and alternatives."""
    n_alternatives, n_rows = block.shape
    loglik, gradient = 0.0, np.zeros(block.n_columns)
    curvature = np.zeros((block.n_columns, block.n_columns))
    for n in range(n_rows):
        x = np.zeros((n_alternatives, block.n_columns))
        for part in block.parts:
            for a, j in enumerate(part.alternatives):
                x[j, part.columns] = part.x[:, a, n]
        seen = [
            j for j in range(n_alternatives) if block.available is None or block.available[j, n]
        ]
        v = x[seen] @ beta
        p = np.exp(v) / np.exp(v).sum()
        w = 1.0 if block.weight is None else block.weight[n]
        mean = p @ x[seen]
        loglik += w * np.log(p[seen.index(block.choice[n])])
        gradient += w * (x[block.choice[n]] - mean)
        curvature += w * ((x[seen].T * p) @ x[seen] - np.outer(mean, mean))
    return loglik, gradient, curvature


@pytest.mark.parametrize("specific_only", [False, True])
def test_sums_equal_loops_over_rows(specific_only: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(N_DESIGNS // 3):
        block = random_block(rng, specific_only=specific_only)
        beta = rng.normal(size=block.n_columns)
        ours = evaluate(beta, block)
        loglik, gradient, curvature = brute_force(beta, block)
        assert ours.loglik == pytest.approx(loglik, rel=1e-12)
        np.testing.assert_allclose(ours.gradient, gradient, atol=1e-11)
        np.testing.assert_allclose(ours.curvature, curvature, atol=1e-11)
        np.testing.assert_array_equal(ours.curvature, ours.curvature.T)


def test_gradient_and_curvature_agree_with_finite_differences() -> None:
    rng = np.random.default_rng(2)
    for i in range(N_DESIGNS):
        block = random_block(rng, specific_only=i % 3 == 0)
        beta = rng.normal(size=block.n_columns)
        here = evaluate(beta, block)
        gradient = np.empty_like(here.gradient)
        curvature = np.empty_like(here.curvature)
        for k in range(len(beta)):
            step = np.zeros_like(beta)
            step[k] = STEP
            up, down = evaluate(beta + step, block, 1), evaluate(beta - step, block, 1)
            gradient[k] = (up.loglik - down.loglik) / (2 * STEP)
            curvature[k] = -(up.gradient - down.gradient) / (2 * STEP)
        size = max(1.0, np.abs(here.gradient).max())
        np.testing.assert_allclose(here.gradient, gradient, atol=GRADIENT * size)
        size = max(1.0, np.abs(here.curvature).max())
        np.testing.assert_allclose(here.curvature, curvature, atol=CURVATURE * size)


@pytest.mark.parametrize("specific_only", [True, False])
def test_a_rough_curvature_has_five_digits_and_all_else_is_exact(specific_only: bool) -> None:
    rng = np.random.default_rng(5)
    differ = 0
    for _ in range(100):
        block = random_block(rng, specific_only=specific_only)
        beta = rng.normal(size=block.n_columns)
        exact, rough = evaluate(beta, block), evaluate(beta, block, rough=True)
        assert rough.loglik == exact.loglik
        np.testing.assert_array_equal(rough.gradient, exact.gradient)
        size = np.sqrt(np.outer(np.diag(exact.curvature), np.diag(exact.curvature)))
        assert (np.abs(rough.curvature - exact.curvature) <= 1.2e-5 * size + 1e-30).all()
        differ += not np.array_equal(rough.curvature, exact.curvature)
    assert (differ > 50) == specific_only


def test_lower_orders_leave_out_what_was_not_asked_for() -> None:
    block = random_block(np.random.default_rng(3))
    beta = np.ones(block.n_columns)
    full = evaluate(beta, block, 2)
    assert evaluate(beta, block, 0).loglik == full.loglik
    assert evaluate(beta, block, 0).gradient.size == 0
    np.testing.assert_array_equal(evaluate(beta, block, 1).gradient, full.gradient)
    assert evaluate(beta, block, 1).curvature.size == 0


def test_scores_are_the_gradients_of_single_rows_and_come_with_the_same_sums() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        block = random_block(rng)
        beta = rng.normal(size=block.n_columns)
        sums, scores = evaluate_with_scores(beta, block)
        expected = evaluate(beta, block)
        assert sums.loglik == expected.loglik
        np.testing.assert_allclose(sums.gradient, expected.gradient, atol=1e-11)
        np.testing.assert_array_equal(sums.curvature, expected.curvature)
        for row in range(0, block.shape[1], 7):
            one = evaluate(beta, block.take(np.array([row])), 1).gradient
            np.testing.assert_allclose(scores[:, row], one, atol=1e-12)


def test_a_pass_is_the_sum_over_blocks() -> None:
    rng = np.random.default_rng(5)
    block = random_block(rng, specific_only=True)
    beta = rng.normal(size=block.n_columns)
    one, two = evaluate(beta, block), one_pass(beta, [block, block])
    assert two.loglik == pytest.approx(2 * one.loglik, rel=1e-14)
    np.testing.assert_allclose(two.curvature, 2 * one.curvature, rtol=1e-14)


@pytest.mark.parametrize("size", [1.0, 1e2, 1e4])
def test_probabilities_are_finite_and_sum_to_one_for_utilities_of_any_size(size: float) -> None:
    rng = np.random.default_rng(6)
    v = rng.uniform(-size, size, (5, 1000))
    available = rng.random(v.shape) < 0.6
    available[0] = True
    v[~available] = size  # the unavailable tower above all others
    chance = choice_probabilities(v, available)
    assert np.isfinite(chance.p).all()
    assert np.isfinite(chance.log_total).all()
    np.testing.assert_allclose(chance.p.sum(axis=0), 1.0, rtol=1e-14)
    assert (chance.p[~available] == 0).all()


def test_log_likelihood_stays_finite_when_the_chosen_is_hopeless() -> None:
    x = np.array([[[1e4]]])
    block = Block((Part((0,), slice(0, 1), x),), None, np.array([1]), None, (2, 1))
    sums = evaluate(np.array([1.0]), block)
    assert sums.loglik == -1e4
    assert np.isfinite(sums.gradient).all()
    assert np.isfinite(sums.curvature).all()


def test_utilities_of_alternatives_without_columns_are_zero() -> None:
    x = np.ones((1, 1, 3))
    block = Block((Part((1,), slice(0, 1), x),), None, np.zeros(3, dtype=int), None, (3, 3))
    np.testing.assert_array_equal(utilities(np.array([2.0]), block)[[0, 2]], 0.0)
