"""Sums of many results are made in place, and nobody else's arrays change."""

from dataclasses import dataclass

import numpy as np
import pytest

from ardchoice.numerics import Sums, total


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_a_total_is_the_sum_and_leaves_its_parts_alone(count: int) -> None:
    rng = np.random.default_rng(count)
    parts = [
        Sums(float(i), rng.standard_normal(3), rng.standard_normal((3, 3))) for i in range(count)
    ]
    copies = [(p.gradient.copy(), p.curvature.copy()) for p in parts]
    found = total(iter(parts))
    expected_gradient, expected_curvature = np.zeros(3), np.zeros((3, 3))
    for gradient, curvature in copies:
        expected_gradient = expected_gradient + gradient
        expected_curvature = expected_curvature + curvature
    assert found.loglik == sum(range(count))
    np.testing.assert_array_equal(found.gradient, expected_gradient)
    np.testing.assert_array_equal(found.curvature, expected_curvature)
    for part, (gradient, curvature) in zip(parts, copies, strict=True):
        np.testing.assert_array_equal(part.gradient, gradient)
        np.testing.assert_array_equal(part.curvature, curvature)


def test_a_total_of_numbers_or_arrays_is_their_sum() -> None:
    assert total([1.0, 2.0, 4.0]) == 7.0
    arrays = [np.ones(2), np.ones(2), np.ones(2)]
    np.testing.assert_array_equal(total(arrays), [3.0, 3.0])
    np.testing.assert_array_equal(arrays[0], [1.0, 1.0])


@dataclass(frozen=True, eq=False)
class CountedSums(Sums):
    """Sums that a family adds to in its own way."""

    count: int

    def __add__(self, other: "CountedSums") -> "CountedSums":  # type: ignore[override]
        added = Sums.__add__(self, other)
        count = self.count + other.count
        return CountedSums(added.loglik, added.gradient, added.curvature, count)


def test_a_total_keeps_what_a_subclass_adds() -> None:
    found = total(CountedSums(1.0, np.ones(2), np.eye(2), count) for count in (1, 2, 4))
    assert isinstance(found, CountedSums)
    assert found.count == 7
    np.testing.assert_array_equal(found.gradient, [3.0, 3.0])
