"""A design holds values and codes, not columns."""

import tracemalloc

import numpy as np
import pytest
from design_cases import random_choices

import ardchoice.design.design as module
from ardchoice.design import Design
from ardchoice.space import parse_specification

N = 200_000
SPECIFICATION = """
    TRAIN: ASC + TT + CO + ASC x AGE + CO x GA + TT x AGE + TT x GA
    SM: ASC + TT + CO + ASC x PURPOSE + CO x GA + log(TT) x GA + TT x PURPOSE
    CAR: TT + CO + TT x PURPOSE + CO x AGE
"""
SHARE = 1 / 3
"""Of the dense expansion, while one block is in use."""


@pytest.mark.parametrize("all_available", [True, False])
def test_building_and_passing_over_a_design_takes_far_less_than_its_expansion(
    all_available, monkeypatch
):
    monkeypatch.setattr(module, "BLOCK_BYTES", 1 << 18)
    small = random_choices(1000, all_available=all_available)
    data = small.take(np.arange(N) % 1000)
    terms = parse_specification(SPECIFICATION).terms
    tracemalloc.start()
    design = Design(data, terms)
    total = sum(float(part.x.sum()) for block in design for part in block.parts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert design.n_columns == 27
    assert np.isfinite(total)
    assert design.expanded_bytes() == 27 * 8 * N
    assert peak < SHARE * design.expanded_bytes(), f"{peak / design.expanded_bytes():.2f}"
