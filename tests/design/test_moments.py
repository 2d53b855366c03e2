"""Means and scales where rounding or emptiness could spoil them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from design_cases import random_choices, with_values

from ardchoice.design import Design
from ardchoice.space import parse_specification

ROUNDING = 1e-12
"""Relative: sums of a few hundred numbers."""


def blocks(design, size):
    n = len(design.data)
    return [design.block(slice(a, a + size)) for a in range(0, n, size)]


@pytest.mark.parametrize("size", [1, 30, 300])
def test_a_column_far_from_zero_keeps_the_digits_of_its_deviations(size):
    data = random_choices(300, all_available=True)
    deviations = np.random.default_rng(0).integers(-8, 9, (3, 300)) / 8
    far = with_values(data, "TT", 2.0**40 + deviations)  # exact in binary: no rounding but ours
    design = Design(far, parse_specification("TRAIN: TT"))
    found = design.moments(blocks(design, size))
    assert found.sd[0] == pytest.approx(pd.Series(deviations[0]).std(ddof=0), rel=1e-3)
    assert found.mean[0] == pytest.approx(2.0**40 + deviations[0].mean(), rel=ROUNDING)


def test_a_constant_column_has_no_deviation_at_all():
    data = random_choices(300)
    design = Design(data, parse_specification("TRAIN: ASC\n*: ASC x INCOME"))
    found = design.moments(blocks(design, 37))
    assert (found.mean[0], found.sd[0], found.rms[0]) == (1.0, 0.0, 1.0)


def test_a_shared_column_counts_every_alternative_where_it_is_available():
    data = random_choices(200)
    design = Design(data, parse_specification("TRAIN+CAR: TT"))
    found = design.moments(blocks(design, 64))
    x = data.attributes["TT"].values[[0, 2]][data.available[[0, 2]]]
    assert found.mean[0] == pytest.approx(x.mean(), rel=ROUNDING)
    assert found.sd[0] == pytest.approx(x.std(), rel=ROUNDING)


def test_an_alternative_that_is_never_available_has_zero_moments():
    data = random_choices(50)
    never = data.available.copy()
    never[0], never[1] = False, True
    design = Design(
        replace(data, available=never, choice=None), parse_specification("TRAIN: ASC\nSM: ASC")
    )
    found = design.moments(blocks(design, 20))
    assert (found.mean.tolist(), found.rms.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_over_all_rows_a_column_is_zero_where_its_alternative_is_unavailable():
    data = random_choices(200)
    design = Design(data, parse_specification("TRAIN: ASC\nCAR: TT"))
    found = design.moments(blocks(design, 37), "all")
    seen = data.available[[0, 2]]
    assert not seen.all()
    expected = np.where(seen, [np.ones(200), data.attributes["TT"].values[2]], 0.0)
    np.testing.assert_allclose(found.mean, expected.mean(axis=1), rtol=ROUNDING)
    np.testing.assert_allclose(found.sd, expected.std(axis=1), rtol=ROUNDING)
