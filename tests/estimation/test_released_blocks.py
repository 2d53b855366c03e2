"""What an estimation expanded is given back at its end, not when cycles are collected."""

from __future__ import annotations

import gc

import numpy as np

import ardchoice as ac
from ardchoice.design import Block


def test_no_block_outlives_its_estimation() -> None:
    data = ac.datasets.swissmetro_choices("real").take(np.arange(900))
    gc.collect()
    before = sum(isinstance(one, Block) for one in gc.get_objects())
    gc.disable()
    try:
        result = ac.fit_mnl(data, "TRAIN: ASC\nSM: ASC\n*: TT + CO")
        after = sum(isinstance(one, Block) for one in gc.get_objects())
    finally:
        gc.enable()
    assert result.converged
    assert after <= before
