"""A mixed logit by several threads: persons are shared out early, and nothing changes."""

from __future__ import annotations

from threading import current_thread, main_thread

import numpy as np
import pytest
from families_support import business

import ardchoice as ac
from ardchoice.design import Design
from ardchoice.families.mixed import measures
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
RANDOM = {"*: TT": "normal", "*: CO": "lognormal"}


def test_threads_change_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = business().take(np.arange(2250))
    # Beside other threads, such as those of a notebook, nothing is forked.
    monkeypatch.setattr("ardchoice.design.sources.may_fork", lambda: False)
    monkeypatch.setattr("ardchoice.design.design.FEWEST_ROWS", 450)
    monkeypatch.setattr("ardchoice.design.design.BLOCK_BYTES", 1)
    monkeypatch.setattr("ardchoice.design.design.COSTLY_WORTH_THREADS", 0)
    monkeypatch.setattr("ardchoice.families.mixed.kernel.WORTH_THREADS", 0)
    with ac.running(n_threads=2):
        design = Design(data, as_specification(SPEC).terms)
        assert len(list(design.ranges())) == 5  # an odd one is left over
        assert design.blocks().threads == 1
        assert design.blocks(is_costly=True).threads == 2
    in_main: list[bool] = []
    simulate = measures.simulate

    def watched(*given: object, **named: object) -> object:
        in_main.append(current_thread() is main_thread())
        return simulate(*given, **named)

    monkeypatch.setattr(measures, "simulate", watched)
    one = ac.fit(data, SPEC, family=ac.Mixed(RANDOM), n_threads=1)
    assert all(in_main)
    in_main.clear()
    two = ac.fit(data, SPEC, family=ac.Mixed(RANDOM), n_threads=2)
    # Four of five blocks are shared out, the last one shares out its own persons.
    assert np.mean(in_main) == pytest.approx(0.2)
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    assert one.loglik == two.loglik
    for kind, matrix in one.covariances.items():
        np.testing.assert_array_equal(matrix, two.covariances[kind])
