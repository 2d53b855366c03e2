"""What curvature can be at most, against curvature itself."""

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.design import Design
from ardchoice.families import one_pass
from ardchoice.families.mnl.bounds import most_curvature, proves_maximum
from ardchoice.space.grammar import parse_specification

TEXTS = (
    "TRAIN: ASC + TT + CO\nSM: ASC + TT + CO\nCAR: TT + CO",
    "TRAIN: ASC\nSM: ASC\n*: TT + CO",
    "TRAIN+SM: ASC + TT\nSM+CAR: CO\nCAR: TT x GA",
)
ROUNDING = 1e-9


def designed(text):
    data = ac.datasets.swissmetro_choices("real").take(np.arange(0, 10_000, 13))
    design = Design(data, parse_specification(text).terms)
    return design, design.blocks()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("seed", range(4))
def test_curvature_stays_below_its_bounds_everywhere(text, seed):
    design, blocks = designed(text)
    most = sum(map(most_curvature, blocks))
    scale = 1 / np.sqrt(most)
    at_zero = one_pass(np.zeros(len(most)), blocks).curvature
    size = np.random.default_rng(seed).normal(size=len(most)) / np.sqrt(most / len(design.data))
    for length in (0.0, 0.3, 1.0, 5.0):
        curvature = one_pass(length * size, blocks).curvature
        assert (np.diag(curvature) <= most).all()
        below = len(design.data.alternatives) * at_zero - curvature
        assert np.linalg.eigvalsh(below * scale * scale[:, None]).min() > -ROUNDING
        assert np.linalg.eigvalsh(curvature * scale * scale[:, None]).max() <= len(most)


@pytest.mark.parametrize("text", TEXTS)
def test_a_maximum_is_proved_and_a_flat_place_is_not(text):
    design, blocks = designed(text)
    beta = ac.fit_mnl(design.data, text).coefficients[design.order]
    assert proves_maximum(one_pass(beta, blocks).curvature, design, blocks)
    far = np.full(design.n_columns, 50.0)
    assert not proves_maximum(one_pass(far, blocks).curvature, design, blocks)


def test_columns_that_say_the_same_prove_nothing():
    design, blocks = designed("TRAIN: ASC\nSM: ASC\nCAR: ASC")
    curvature = one_pass(np.zeros(3), blocks).curvature
    assert not proves_maximum(curvature, design, blocks)
