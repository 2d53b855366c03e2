"""Factors of many small matrices at once are those of LAPACK, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ardchoice.numerics import stacked_cholesky, stacked_gram, stacked_inverse, stacked_solve

ROUNDING = 1e-12


@pytest.mark.parametrize("q", [0, 1, 2, 5, 8])
def test_factor_inverse_and_solution_are_those_of_every_matrix(q):
    rng = np.random.default_rng(q)
    root = rng.normal(size=(40, q, q))
    a = root @ root.swapaxes(1, 2) + np.eye(q)
    right = rng.normal(size=(40, q))
    factor = stacked_cholesky(np.ascontiguousarray(a.transpose(1, 2, 0)))
    inverse = stacked_inverse(factor)
    expected = np.linalg.cholesky(a)
    np.testing.assert_allclose(factor.transpose(2, 0, 1), expected, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(
        inverse.transpose(2, 0, 1), np.linalg.inv(expected), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        stacked_gram(inverse).transpose(2, 0, 1), np.linalg.inv(a), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        stacked_solve(factor, right.T.copy()).T,
        np.linalg.solve(a, right[:, :, None])[:, :, 0],
        rtol=1e-9,
        atol=1e-9,
    )


def test_what_is_not_definite_gives_nan_and_no_error_elsewhere():
    a = np.stack([np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])], axis=2)
    with np.errstate(invalid="ignore"):
        factor = stacked_cholesky(a)
    np.testing.assert_array_equal(factor[:, :, 0], np.eye(2))
    assert np.isnan(factor[1, 1, 1])
