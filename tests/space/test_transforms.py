"""Transforms against closed forms, scipy, pandas and finite differences."""

import bisect
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from ardchoice.errors import TransformError
from ardchoice.space import BoxCox, Linear, Log, Log1p, Piecewise, Quantiles, Segments, Sqrt, Square
from ardchoice.space.transforms import MAX_BOXCOX_EXPONENT, MAX_LOG_POWER

ROUNDING = 1e-13
"""Relative: a few floating-point operations."""
DIFFERENCES = 1e-7
"""Relative: central differences with a step of 1e-6 lose half of the sixteen digits."""
EXPONENT = 1e-5
"""Absolute: a likelihood known to sixteen digits shows its maximum to about half of them."""
FLAT = 1e-7
"""Log-likelihood: how much less than the best one found an optimum may have."""

calmly = settings(deadline=None)  # cores may be shared, so the time of one example says nothing

SMOOTH = [
    (Linear(), lambda x, _: x),
    (Log(), lambda x, _: math.log(x)),
    (Log1p(), lambda x, _: math.log(1 + x)),
    (Sqrt(), lambda x, _: math.sqrt(x)),
    (Square(), lambda x, _: x * x),
    (BoxCox(), lambda x, p: math.expm1(p[0] * math.log(x + p[1])) / p[0]),
    (BoxCox(2.5), lambda x, p: math.expm1(p[0] * math.log(x + p[1])) / p[0]),
]
PIECES = Piecewise((0.7, 2.0, 3.5))
IDS = [transform.text("v") for transform, _ in SMOOTH]


def skewed(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(0.5, 0.8, n)


@pytest.mark.parametrize(("transform", "form"), SMOOTH, ids=IDS)
def test_values_are_those_of_the_closed_form(transform, form):
    x = skewed(50)
    parameters = transform.learn(x)
    transform.check(x, parameters)
    columns = transform.apply(x, parameters)
    assert columns.shape == (1, 50)
    assert transform.labels(parameters) == ("",)
    np.testing.assert_allclose(columns[0], [form(v, parameters) for v in x], rtol=ROUNDING)


@pytest.mark.parametrize("transform", [*(t for t, _ in SMOOTH), PIECES], ids=[*IDS, "piecewise"])
def test_slopes_and_elasticities_are_those_of_finite_differences(transform):
    x = skewed(50)
    parameters = transform.learn(x)
    step = 1e-6
    up, down = transform.apply(x + step, parameters), transform.apply(x - step, parameters)
    slope = transform.slope(x, parameters)
    np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=DIFFERENCES, atol=DIFFERENCES)
    np.testing.assert_allclose(transform.elasticity(x, parameters), x * slope, rtol=ROUNDING)


def test_log1p_keeps_the_digits_of_small_values():
    x = np.array([1e-18, 1e-14])
    np.testing.assert_allclose(Log1p().apply(x, ())[0], x, rtol=ROUNDING)


@pytest.mark.parametrize(
    ("transform", "fine", "bad", "says"),
    [
        (
            Log(),
            [1e-300, 1.0],
            [0.0, -2.0, 1.0],
            r"log needs positive values \(log1p allows zero\)",
        ),
        (Log1p(), [-0.999, 0.0], [-1.0, -2.0, 1.0], "log1p needs values above -1"),
        (Sqrt(), [0.0, 4.0], [-1e-9, -2.0, 1.0], "sqrt needs values of zero or more"),
    ],
)
def test_values_outside_the_domain_are_counted(transform, fine, bad, says):
    transform.check(np.array(fine), ())
    with pytest.raises(TransformError, match=says + ", but 2 of 3 .*smallest is -2"):
        transform.check(np.array(bad), ())


# -- Near zero ---------------------------------------------------------------------------------


def test_the_slope_of_a_square_root_is_infinite_at_zero_and_its_elasticity_zero():
    x = np.array([0.0, 4.0])
    np.testing.assert_array_equal(Sqrt().slope(x, ()), [[np.inf, 0.25]])
    np.testing.assert_array_equal(Sqrt().elasticity(x, ()), [[0.0, 1.0]])


def test_the_elasticity_of_a_logarithm_is_one_even_where_its_slope_overflows():
    x = np.array([5e-324, 1.0])
    np.testing.assert_array_equal(Log().slope(x, ()), [[np.inf, 1.0]])
    np.testing.assert_array_equal(Log().elasticity(x, ()), [[1.0, 1.0]])


@pytest.mark.parametrize("exponent", [-0.1, 1e-12, 0.0, 0.3])
def test_the_elasticity_of_boxcox_near_zero_does_not_overflow_with_its_slope(exponent):
    x = np.array([1e-300, 1e-200, 1.0])
    elasticity = BoxCox().elasticity(x, (exponent, 0.0))
    np.testing.assert_allclose(elasticity[0], np.exp(exponent * np.log(x)), rtol=1e-12)
    assert BoxCox().slope(x, (exponent, 0.0))[0, 0] > 1e200


def test_boxcox_is_finite_with_a_shift_at_zero():
    x, parameters = np.array([0.0, 1e-18, 1.0]), (0.4, 1.0)
    np.testing.assert_allclose(
        BoxCox().apply(x, parameters)[0], [0.0, 1e-18, (2**0.4 - 1) / 0.4], rtol=ROUNDING
    )
    np.testing.assert_array_equal(BoxCox().slope(x[:1], parameters), [[1.0]])
    np.testing.assert_array_equal(BoxCox().elasticity(x[:1], parameters), [[0.0]])


@pytest.mark.parametrize("exponent", [0.0, 1e-18, 1e-10, -1e-10])
def test_boxcox_goes_over_into_the_logarithm(exponent):
    x = skewed(20)
    np.testing.assert_allclose(BoxCox().apply(x, (exponent, 0.0))[0], np.log(x), rtol=1e-8)


# -- Box-Cox: what is learned ------------------------------------------------------------------


def best_exponent(y: np.ndarray) -> float:
    """Where scipy's profile log-likelihood is greatest: a grid, refined again and again."""
    low, high = -MAX_BOXCOX_EXPONENT, MAX_BOXCOX_EXPONENT
    for _ in range(8):
        grid = np.linspace(low, high, 40)  # an even count, since scipy's is unstable beside zero
        best = grid[np.argmax([stats.boxcox_llf(e, y) for e in grid])]
        low, high = best - (high - low) / 39, best + (high - low) / 39
    return float(best)


SAMPLES = {
    "lognormal": skewed(300),
    "nearly normal": np.random.default_rng(1).normal(50, 5, 300),
    "left-skewed": 10 - np.random.default_rng(2).gamma(2, 1, 300).clip(max=9),
    "few values": np.random.default_rng(3).integers(1, 6, 300).astype(float),
    "two values": np.repeat([1.0, 30.0], [250, 50]),
    "large unit": 1e12 * skewed(200, seed=4),
    "small unit": 1e-12 * skewed(200, seed=5),
    "heavy tail": np.random.default_rng(6).pareto(0.7, 300) + 1,
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_exponent_is_the_maximum_of_the_profile_likelihood(sample):
    x = SAMPLES[sample]
    exponent, shift = BoxCox().learn(x)
    assert shift == 0
    scaled = x / stats.gmean(x)  # the same likelihood but for a constant, without overflow
    best = best_exponent(scaled)
    assert exponent == pytest.approx(best, abs=EXPONENT)
    assert stats.boxcox_llf(exponent, scaled) >= stats.boxcox_llf(best, scaled) - FLAT


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_exponent_does_not_depend_on_the_order_of_rows_to_the_last_bit(sample):
    x = SAMPLES[sample]
    learned = BoxCox().learn(x)
    rng = np.random.default_rng(0)
    assert all(BoxCox().learn(rng.permutation(x)) == learned for _ in range(5))
    assert BoxCox().learn(x[::-1]) == learned


def test_the_exponent_does_not_depend_on_the_unit():
    x = skewed(300)
    exponents = [BoxCox().learn(unit * x)[0] for unit in (1e-6, 1.0, 1e6)]
    assert max(exponents) - min(exponents) < EXPONENT


def test_the_shift_is_one_when_there_are_zeros_and_as_told_when_told():
    x = np.append(skewed(200), 0.0)
    exponent, shift = BoxCox().learn(x)
    assert shift == 1
    assert exponent == pytest.approx(best_exponent(x + 1), abs=EXPONENT)
    exponent, shift = BoxCox(0.25).learn(x - 0.2)
    assert shift == 0.25
    assert exponent == pytest.approx(best_exponent(x - 0.2 + 0.25), abs=EXPONENT)


@pytest.mark.parametrize("x", [[3.0], [3.0, 3.0], [3.0, 3.0 + 1e-12]])
def test_values_that_are_all_alike_are_taken_as_they_are(x):
    assert BoxCox().learn(np.array(x)) == (1.0, 0.0)


@pytest.mark.parametrize(
    "x", [[1e-300, 1.0, 2.0], [1e150, 2e150, 9e150], np.repeat([100.0, 101.0], [1, 10**5])]
)
def test_an_extreme_exponent_is_kept_from_overflowing(x):
    x = np.asarray(x)
    exponent, _ = parameters = BoxCox().learn(x)
    assert abs(exponent) <= MAX_BOXCOX_EXPONENT
    assert np.abs(exponent * np.log(x)).max() <= MAX_LOG_POWER * (1 + ROUNDING)
    columns = BoxCox().apply(x, parameters)
    assert np.isfinite(columns * columns).all()


@pytest.mark.parametrize(
    ("transform", "x", "says"),
    [
        (BoxCox(), [-1.0, 2.0], "boxcox needs values of zero or more, but 1 of 2"),
        (BoxCox(0.0), [0.0, 2.0], "boxcox needs positive values, but 1 of 2"),
        (BoxCox(1.5), [-1.5, -2.0, 2.0], "boxcox needs values above -1.5, but 2 of 3"),
    ],
)
def test_boxcox_refuses_to_learn_from_values_below_its_shift(transform, x, says):
    with pytest.raises(TransformError, match=says):
        transform.learn(np.array(x))


def test_boxcox_refuses_new_values_that_its_shift_does_not_allow():
    x = skewed(50)
    parameters = BoxCox().learn(x)
    with pytest.raises(TransformError, match="positive values, as it was fitted on"):
        BoxCox().check(np.array([0.0, 1.0]), parameters)
    BoxCox().check(np.array([1e-9, 1e9]), parameters)
    with_zero = BoxCox().learn(np.append(x, 0.0))
    BoxCox().check(np.array([0.0]), with_zero)
    # Above the shift, but the model promised zero or more.
    with pytest.raises(TransformError, match="zero or more"):
        BoxCox().check(np.array([-0.5]), with_zero)


def test_what_was_learned_is_applied_to_other_values_unchanged():
    first, new = skewed(100), np.array([0.3, 7.0, 50.0])
    exponent, shift = parameters = BoxCox().learn(first)
    np.testing.assert_allclose(
        BoxCox().apply(new, parameters)[0], special.boxcox(new + shift, exponent), rtol=ROUNDING
    )
    assert BoxCox().learn(new) != parameters


# -- Classes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [Segments(3), Quantiles(4)])
def test_classes_have_a_column_each_but_for_the_last(transform):
    x = skewed(101)
    cuts = transform.learn(x)
    assert len(cuts) == transform.k - 1
    assert transform.labels(cuts) == tuple(str(i) for i in range(1, transform.k))
    expected = [bisect.bisect_right(cuts, v) for v in x]
    np.testing.assert_array_equal(transform.codes(x, cuts), expected)
    columns = transform.apply(x, cuts)
    for c in range(transform.k - 1):
        np.testing.assert_array_equal(columns[c], [float(e == c) for e in expected])
    np.testing.assert_array_equal(transform.slope(x, cuts), np.zeros_like(columns))
    np.testing.assert_array_equal(transform.elasticity(x, cuts), np.zeros_like(columns))


def test_a_value_on_a_cut_is_in_the_upper_class_and_new_values_may_lie_outside():
    x = np.array([-99.0, 1.9, 2.0, 3.0, 99.0])
    np.testing.assert_array_equal(Quantiles(3).codes(x, (2.0, 3.0)), [0, 0, 1, 2, 2])


@pytest.mark.parametrize("k", [2, 3, 4, 10])
def test_quantiles_are_those_of_pandas(k):
    x = skewed(998)  # 997 is prime: no cut falls on a value, where pandas puts it below
    cuts = Quantiles(k).learn(x)
    np.testing.assert_allclose(cuts, pd.Series(x).quantile(np.arange(1, k) / k), rtol=ROUNDING)
    np.testing.assert_array_equal(Quantiles(k).codes(x, cuts), pd.qcut(x, k, labels=False))


@pytest.mark.parametrize("transform", [Segments(4), Quantiles(4)])
def test_classes_do_not_depend_on_the_order_of_rows(transform):
    x = skewed(500)
    assert transform.learn(np.random.default_rng(0).permutation(x)) == transform.learn(x)


@pytest.mark.parametrize("transform", [Segments(4), Quantiles(4)])
@pytest.mark.parametrize("x", [[1.0, 2.0, 3.0] * 10, [5.0]])
def test_more_classes_than_distinct_values_are_refused(transform, x):
    says = f"{transform.name} cannot make 4 classes of {len(set(x))} distinct value"
    with pytest.raises(TransformError, match=says):
        transform.learn(np.array(x))


def test_quantiles_without_any_cut_are_refused():
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [97, 1, 1, 1])
    with pytest.raises(TransformError, match="the smallest value, 0, is too frequent"):
        Quantiles(4).learn(x)


def test_quantiles_that_coincide_make_fewer_classes():
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [40, 10, 10, 40])  # quartiles 0, 1.5 and 3
    assert Quantiles(4).learn(x) == (1.5, 3.0)


@given(
    st.lists(st.integers(0, 12).map(float), min_size=6, max_size=60),
    st.integers(2, 6),
    st.sampled_from([Segments, Quantiles]),
)
@calmly
def test_every_class_that_was_learned_has_a_value_in_it(values, k, make):
    x = np.array(values)
    try:
        cuts = make(k).learn(x)
    except TransformError:
        return
    assert list(cuts) == sorted(set(cuts))
    assert set(make(k).codes(x, cuts).tolist()) == set(range(len(cuts) + 1))


# -- Piecewise ---------------------------------------------------------------------------------


def test_pieces_run_between_their_knots():
    x = np.array([-1.0, 0.5, 0.7, 1.0, 2.0, 3.0, 9.0])
    expected = [
        [min(v, 0.7), min(max(v - 0.7, 0), 1.3), min(max(v - 2, 0), 1.5), max(v - 3.5, 0)]
        for v in x
    ]
    np.testing.assert_allclose(PIECES.apply(x, ()).T, expected, rtol=ROUNDING, atol=ROUNDING)
    assert PIECES.labels(()) == ("<0.7", "0.7-2", "2-3.5", ">3.5")


knots = st.sets(st.floats(-1e3, 1e3), min_size=1, max_size=6).map(lambda k: tuple(sorted(k)))
CLOSE = 1e-9
"""Absolute: sums of a handful of numbers up to 1e3, with a step of 1e-9 between neighbours."""


@given(knots, st.lists(st.floats(-2e3, 2e3), min_size=1, max_size=20))
@calmly
def test_pieces_add_up_to_the_value_and_are_continuous(knots, values):
    transform = Piecewise(knots)
    x = np.array([*values, *knots])
    columns = transform.apply(x, transform.learn(x))
    assert columns.shape == (len(knots) + 1, len(x)) == transform.slope(x, ()).shape
    np.testing.assert_allclose(columns.sum(axis=0), x, rtol=0, atol=CLOSE)
    beside = np.abs(transform.apply(x + CLOSE, ()) - columns)
    assert beside.max() <= 2 * CLOSE


def test_the_slope_at_a_knot_is_that_to_its_right():
    np.testing.assert_array_equal(
        PIECES.slope(np.array([0.0, 0.7, 4.0]), ()).T, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    )
