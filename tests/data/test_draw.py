"""Drawing choices: possible ones only, in the right proportions, and again from the seed."""

import numpy as np
import pytest

from ardchoice.data import draw_choices

STANDARD_ERRORS = 4.0
"""Beyond this a frequency of right draws lies once in 16,000 times; the seeds are fixed."""


def test_nothing_unavailable_is_ever_drawn() -> None:
    rng = np.random.default_rng(0)
    available = rng.random((6, 20_000)) < 0.4
    available[rng.integers(0, 6, 20_000), np.arange(20_000)] = True
    p = np.where(available, rng.gamma(0.05, size=available.shape), 0.0)
    p[:, p.sum(axis=0) == 0] = available[:, p.sum(axis=0) == 0]
    p /= p.sum(axis=0)
    drawn = draw_choices(p, rng)
    assert (p[drawn, np.arange(20_000)] > 0).all()


class Extreme:
    """A source of randomness that only gives the ends of its range."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self, n: int) -> np.ndarray:
        return np.full(n, self.value)


@pytest.mark.parametrize("value", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_range_do_not_reach_an_unavailable_alternative(value: float) -> None:
    tiny = 5e-324  # any product with it is itself or zero
    p = np.array([[0, 0.5, 0.1, 0], [0.3, 0, 0.2, tiny], [0.7, 0.5, 0.7, 0], [0, 0, 0, 0]])
    drawn = draw_choices(p, Extreme(value))  # type: ignore[arg-type]
    expected = [1, 0, 0, 1] if value == 0.0 else [2, 2, 2, 1]
    assert drawn.tolist() == expected


def test_frequencies_match_probabilities() -> None:
    n = 200_000
    p = np.array([0.02, 0.5, 0.0, 0.3, 0.18])
    drawn = draw_choices(np.repeat(p[:, None], n, axis=1), np.random.default_rng(11))
    frequency = np.bincount(drawn, minlength=5) / n
    error = np.sqrt(p * (1 - p) / n)
    assert (np.abs(frequency - p) <= STANDARD_ERRORS * error).all()


def test_probabilities_are_those_of_each_situation() -> None:
    n = 100_000
    p = np.random.default_rng(5).dirichlet([1, 1, 1], n).T
    drawn = draw_choices(p, np.random.default_rng(6))
    hit = np.eye(3)[drawn].T
    # Weighted by its own probability, so that mixing up the situations would show.
    z = ((hit - p) * p).sum(axis=1) / np.sqrt((p**2 * p * (1 - p)).sum(axis=1))
    assert (np.abs(z) <= STANDARD_ERRORS).all()


def test_a_seed_gives_the_same_choices() -> None:
    p = np.full((4, 1000), 0.25)
    one, two, other = (draw_choices(p, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
