"""Slopes and elasticities of a design against finite differences of utility."""

from dataclasses import replace

import numpy as np
import pytest
from design_cases import TERMS, dense, random_choices, with_values

from ardchoice.design import Design
from ardchoice.errors import ArdchoiceError
from ardchoice.space import parse_specification

DIFFERENCES = 1e-6
"""Relative to the largest: utilities of some hundred, known to sixteen digits, over 1e-5."""
STEP = 1e-5
ROUNDING = 1e-12


def positive_costs(n, seed=0, **options):
    """No cost of zero, where a square root has no slope."""
    data = random_choices(n, seed, **options)
    return with_values(data, "CO", data.attributes["CO"].values + 0.5)


def moved(data, attribute, j, by):
    """The attribute of one alternative (by its position among those that have it) changed."""
    values = data.attributes[attribute].values.copy()
    with np.errstate(invalid="ignore"):
        values[j] = by(values[j])
    return with_values(data, attribute, values)


def utility(data, encoding, beta):
    return np.tensordot(beta, dense(Design(data, encoding)), 1)


@pytest.mark.parametrize("all_available", [True, False])
@pytest.mark.parametrize("attribute", ["TT", "CO", "HE"])
@pytest.mark.parametrize("of", ["slope", "elasticity"])
def test_columns_times_coefficients_are_the_derivative_of_utility(of, attribute, all_available):
    data = positive_costs(60, seed=1, all_available=all_available)
    # Learned elsewhere, so that no value lies on the cut between two classes, where utility jumps.
    encoding = Design(positive_costs(200, seed=9), TERMS).encoding
    beta = np.random.default_rng(2).normal(size=encoding.n_columns)
    design = Design(data, encoding, of=of, attribute=attribute)
    found = np.tensordot(beta, dense(design), 1)
    steps = {
        "slope": (lambda x: x + STEP, lambda x: x - STEP),
        "elasticity": (lambda x: x * np.exp(STEP), lambda x: x * np.exp(-STEP)),
    }
    up, down = steps[of]
    for row, j in enumerate(data.attributes[attribute].alternatives):
        above = utility(moved(data, attribute, row, up), encoding, beta)
        below = utility(moved(data, attribute, row, down), encoding, beta)
        change = (above - below) / (2 * STEP)
        close = DIFFERENCES * np.abs(change).max()
        np.testing.assert_allclose(found[j], change[j], rtol=0, atol=close)
        # The attribute of one alternative is nothing to the others.
        others = [k for k in range(3) if k != j]
        np.testing.assert_array_equal(change[others], 0)


@pytest.mark.parametrize("of", ["slope", "elasticity"])
def test_columns_of_other_terms_and_of_classes_are_zero(of):
    data = positive_costs(60, seed=3)
    encoding = Design(data, TERMS).encoding
    design = Design(data, encoding, of=of, attribute="TT")
    columns = dense(design)
    for encoded in encoding.terms:
        smooth = encoded.term.what == "TT" and not encoded.term.how.is_classes
        assert columns[encoded.columns].any() == smooth, str(encoded.term)
    assert design.names == encoding.names
    assert not columns[:, ~data.available].any()


def test_the_derivative_by_a_categorical_attribute_is_zero():
    data = positive_costs(20)
    assert not dense(Design(data, TERMS, of="slope", attribute="COMFORT")).any()


def test_columns_stand_where_they_stand_in_the_design_itself():
    data = positive_costs(40)
    plain, slopes = Design(data, TERMS), Design(data, TERMS, of="slope", attribute="CO")
    np.testing.assert_array_equal(plain.order, slopes.order)
    assert plain.row_bytes() == slopes.row_bytes()
    parts = zip(plain.block(slice(0, 9)).parts, slopes.block(slice(0, 9)).parts, strict=True)
    assert all((a.alternatives, a.columns) == (b.alternatives, b.columns) for a, b in parts)


def test_an_infinite_slope_shows_only_in_the_columns_it_belongs_to():
    data = random_choices(80, seed=4, all_available=True)
    free = data.attributes["CO"].of(1) == 0
    spec = parse_specification("SM: sqrt(CO) + sqrt(CO) x GA + sqrt(CO) x DIST")
    plain, by_ga, by_dist = dense(Design(data, spec, of="slope", attribute="CO"))[:, 1]
    yes, far = data.covariates["GA"].values == 1, data.covariates["DIST"].values != 0
    np.testing.assert_array_equal(np.isinf(plain), free)
    np.testing.assert_array_equal(np.isinf(by_ga), free & yes)
    np.testing.assert_array_equal(np.isinf(by_dist), free & far)
    assert not by_ga[~yes].any()
    assert not by_dist[~far].any()
    elasticity = dense(Design(data, spec, of="elasticity", attribute="CO"))
    assert np.isfinite(elasticity).all()
    assert not elasticity[:, 1, free].any()


def test_elasticities_near_zero_do_not_overflow():
    data = random_choices(40, all_available=True)
    tiny = with_values(data, "TT", data.attributes["TT"].values * 1e-300)
    spec = parse_specification("CAR: boxcox(TT) + log(TT)")
    design = Design(tiny, spec)
    exponent = design.encoding.terms[0].parameters[0]
    power, one = dense(Design(tiny, design.encoding, of="elasticity", attribute="TT"))[:, 2]
    np.testing.assert_allclose(power, tiny.attributes["TT"].of(2) ** exponent, rtol=ROUNDING)
    np.testing.assert_array_equal(one, 1.0)


def test_a_derivative_needs_an_attribute():
    with pytest.raises(ArdchoiceError, match="by which attribute the slope"):
        Design(random_choices(5), TERMS[:1], of="slope")


def test_a_derivative_asks_new_data_only_for_what_it_needs():
    data = positive_costs(30)
    encoding = Design(data, parse_specification("SM: ASC x GA + TT + CO")).encoding
    bare = replace(data, attributes={"TT": data.attributes["TT"]}, covariates={})
    columns = dense(Design(bare, encoding, of="slope", attribute="TT"))
    np.testing.assert_array_equal(columns[1, 1], data.available[1].astype(float))
