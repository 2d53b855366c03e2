"""What a set of terms reaches on a quadratic, against solving for it the plain way."""

import numpy as np
import numpy.typing as npt
import pytest
from selection_support import subsets

from ardchoice.ard.quadratic import Quadratic
from ardchoice.selection.surrogate import COLLINEAR_SHARE, Surrogate, columns_of

SIZES = (1, 2, 1, 3, 2, 1, 1)  # columns of every term

# The surrogate raises diagonals by a share of themselves, which moves what is reached by no more
# than that share of it times the condition of the curvature.
CLOSE = 100 * COLLINEAR_SHARE

Floats = npt.NDArray[np.float64]


def made(seed: int) -> tuple[Quadratic, list[npt.NDArray[np.intp]]]:
    """A positive definite quadratic whose terms have their columns scattered among all."""
    rng = np.random.default_rng(seed)
    d = sum(SIZES)
    root = rng.normal(size=(d, 3 * d)) * rng.uniform(0.5, 3, (d, 1))
    quadratic = Quadratic(float(rng.normal()), rng.normal(size=d) * 10, root @ root.T)
    places = np.split(rng.permutation(d), np.cumsum(SIZES)[:-1])
    return quadratic, places


def plain(quadratic: Quadratic, columns: Floats) -> float:
    """The maximum over some coefficients, all others at zero."""
    if not len(columns):
        return quadratic.constant
    h, b = quadratic.curvature[np.ix_(columns, columns)], quadratic.b[columns]
    return quadratic.constant + 0.5 * float(b @ np.linalg.solve(h, b))


def brute(quadratic: Quadratic, places: list[npt.NDArray[np.intp]], chosen: frozenset) -> float:
    columns = np.concatenate([np.arange(0), *(places[t] for t in chosen)])
    return plain(quadratic, columns)


@pytest.mark.parametrize("seed", range(3))
def test_every_set_reaches_what_solving_for_it_reaches(seed: int) -> None:
    quadratic, places = made(seed)
    sets = list(subsets(len(SIZES)))
    reached = Surrogate(quadratic, places).reached(sets)
    expected = np.array([brute(quadratic, places, s) for s in sets])
    gained = expected.max() - quadratic.constant
    np.testing.assert_allclose(reached, expected, rtol=0, atol=CLOSE * gained)
    assert reached[0] == quadratic.constant


@pytest.mark.parametrize("seed", range(3))
def test_what_every_term_adds_is_the_difference_of_what_sets_reach(seed: int) -> None:
    quadratic, places = made(seed)
    surrogate = Surrogate(quadratic, places)
    scale = surrogate.reached([frozenset(range(len(SIZES)))])[0] - quadratic.constant
    for chosen in subsets(len(SIZES)):
        reached, gains = surrogate.additions(chosen)
        assert reached == pytest.approx(brute(quadratic, places, chosen), abs=CLOSE * scale)
        for t in range(len(SIZES)):
            more = brute(quadratic, places, chosen | {t}) - brute(quadratic, places, chosen)
            assert gains[t] == pytest.approx(more, abs=CLOSE * scale)
            there, here = surrogate.reached([chosen | {t}, chosen])
            assert gains[t] == pytest.approx(there - here, abs=CLOSE * scale)
        assert not gains[list(chosen)].any()


@pytest.mark.parametrize("seed", range(3))
def test_what_leaves_first_makes_no_difference_to_how_a_set_is_scored(seed: int) -> None:
    quadratic, places = made(seed)
    surrogate = Surrogate(quadratic, places)
    every = list(subsets(len(SIZES)))
    scale = brute(quadratic, places, every[-1]) - quadratic.constant
    for chosen in every[::5]:
        bases = [s for s in every if s <= chosen]
        reached, gains = surrogate.exchanges(chosen, bases)
        assert not gains[:, list(chosen)].any()
        for r, base in enumerate(bases):
            here = brute(quadratic, places, base)
            assert reached[r] == pytest.approx(here, abs=CLOSE * scale)
            for t in set(range(len(SIZES))) - chosen:
                more = brute(quadratic, places, base | {t}) - here
                assert gains[r, t] == pytest.approx(more, abs=CLOSE * scale)


def test_a_column_gains_again_when_the_one_it_repeats_leaves() -> None:
    quadratic, places = collinear()
    surrogate = Surrogate(quadratic, places)
    _, gains = surrogate.exchanges(frozenset([0, 1]), [frozenset([0, 1]), frozenset([1])])
    _, expected = surrogate.additions(frozenset([1]))
    assert gains[0, 2] == pytest.approx(0.0, abs=1e-6 * expected[2])
    np.testing.assert_allclose(gains[1, 2:], expected[2:], rtol=1e-6)


def test_coefficients_are_where_the_gradient_vanishes() -> None:
    quadratic, places = made(4)
    surrogate = Surrogate(quadratic, places)
    for chosen in subsets(len(SIZES)):
        beta = surrogate.beta(chosen)
        columns = columns_of(surrogate.columns, chosen)
        gradient = quadratic.b - quadratic.curvature @ beta
        np.testing.assert_allclose(gradient[columns], 0.0, atol=1e-9)
        assert not np.delete(beta, columns).any()
        assert quadratic.value(beta) == pytest.approx(brute(quadratic, places, chosen))


def collinear() -> tuple[Quadratic, list[npt.NDArray[np.intp]]]:
    """Column 2 repeats column 0, column 3 is the sum of 0 and 1, columns (4, 5) repeat (0, 1)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    a, b, c = x.T
    design = np.stack([a, b, a, a + b, a, b, c], axis=1)
    y = a - 2 * b + 0.5 * c + rng.normal(size=200)
    quadratic = Quadratic(0.0, design.T @ y, design.T @ design)
    return quadratic, [np.array(p) for p in ([0], [1], [2], [3], [4, 5], [6])]


def test_a_column_that_says_nothing_new_gains_nothing() -> None:
    quadratic, places = collinear()
    surrogate = Surrogate(quadratic, places)
    _, alone = surrogate.additions(frozenset())
    assert (alone > 1).all()
    _, gains = surrogate.additions(frozenset([0]))
    assert gains[2] == pytest.approx(0.0, abs=1e-6 * alone[2])
    assert gains[1] == pytest.approx(gains[3], rel=1e-6)
    assert gains[1] == pytest.approx(gains[4], rel=1e-6)
    _, gains = surrogate.additions(frozenset([0, 1]))
    np.testing.assert_allclose(gains[[2, 3, 4]], 0.0, atol=1e-6 * alone.max())
    assert gains[5] > 1


def test_sets_with_collinear_columns_reach_what_they_reach_without_them() -> None:
    quadratic, places = collinear()
    surrogate = Surrogate(quadratic, places)
    sets = [frozenset(s) for s in ([0, 1], [0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 2, 3, 4])]
    reached = surrogate.reached(sets)
    # Two rows that share a coefficient share its ridge too: less than a share of COLLINEAR_SHARE.
    np.testing.assert_allclose(reached, reached[0], rtol=10 * COLLINEAR_SHARE)
