"""Columns that are constant but for a few rows: the same sums as any other columns."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from ardchoice._types import Floats
from ardchoice.design import Block, Part, mostly_constant
from ardchoice.families import evaluate

LEVELS, ROWS = 60, 700
ROUNDING = 1e-12


def interacted(rng: np.random.Generator, bases: int = 3) -> Floats:
    """Attributes times dummy variables of many levels, centred and scaled, and the attributes."""
    x = rng.standard_normal((bases, ROWS))
    level = rng.integers(LEVELS, size=ROWS)
    dummies = (level == np.arange(LEVELS)[:, None]).astype(float)
    columns = (x[:, None] * dummies).reshape(-1, ROWS)
    mean, sd = columns.mean(axis=1, keepdims=True), columns.std(axis=1, keepdims=True)
    together = np.concatenate([(columns - mean) / sd, x])
    return np.asarray(together[rng.permutation(len(together))])


def make_block(
    rng: np.random.Generator, *, weighted: bool, gaps: bool, alternatives: int = 3
) -> Block:
    """Every alternative with such columns of its own."""
    xs = [interacted(rng) for _ in range(alternatives)]
    available = rng.random((alternatives, ROWS)) < (0.8 if gaps else 1.1)
    available[0] = True
    parts, start = [], 0
    for i, x in enumerate(xs):
        parts.append(Part((i,), slice(start, start + len(x)), (x * available[i])[:, None]))
        start += len(x)
    choice = np.where(available, rng.random((alternatives, ROWS)), -1).argmax(axis=0)
    weight = 0.2 + rng.random(ROWS) if weighted else None
    shape = (alternatives, ROWS)
    return Block(tuple(parts), available if gaps else None, choice, weight, shape)


def curvature_by_definition(beta: Floats, block: Block) -> Floats:
    """Σ_n w_n X_n' (diag P_n - P_n P_n') X_n, situation by situation."""
    d, (alternatives, rows) = block.n_columns, block.shape
    x = np.zeros((rows, alternatives, d))
    for part in block.parts:
        x[:, part.alternatives[0], part.columns] = part.x[:, 0].T
    v = x @ beta
    if block.available is not None:
        v[~block.available.T] = -np.inf
    p = np.exp(v - v.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    w = np.ones(rows) if block.weight is None else block.weight
    out = np.zeros((d, d))
    for n in range(rows):
        out += w[n] * x[n].T @ (np.diag(p[n]) - np.outer(p[n], p[n])) @ x[n]
    return out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_curvature_is_that_of_the_definition(weighted: bool, gaps: bool) -> None:
    rng = np.random.default_rng(5)
    block = make_block(rng, weighted=weighted, gaps=gaps)
    found = [columns for columns in block.mostly_constant if columns is not None]
    assert [len(columns.full) for columns in found] == [3, 3, 3]
    beta = 0.3 * rng.standard_normal(block.n_columns)
    expected = curvature_by_definition(beta, block)
    curvature = evaluate(beta, block).curvature
    assert np.abs(curvature - expected).max() <= ROUNDING * np.abs(expected).max()


def rows_of(weights: Sequence[bool] | None) -> npt.NDArray[np.bool_] | None:
    return None if weights is None else np.array(weights)


def test_columns_of_numbers_and_few_columns_are_left_as_they_are() -> None:
    rng = np.random.default_rng(0)
    assert mostly_constant(rng.standard_normal((200, 300)), None) is None
    assert mostly_constant(np.zeros((5, 300)), None) is None
    # Half of the rows differ: no gain.
    assert mostly_constant((rng.random((200, 300)) < 0.5).astype(float), None) is None
    assert mostly_constant(np.eye(300), rows_of([True] * 300)) is not None


def test_rows_of_no_weight_do_not_count_as_different() -> None:
    x = np.ones((200, 300))
    x[:, ::2] = 0.0
    counts = np.arange(300) % 2 == 1
    found = mostly_constant(x, counts)
    assert found is not None
    assert found.differs.nnz == 0
    assert (found.constant == 1).all()
