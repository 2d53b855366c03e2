"""Workers read their own part of compact columns on disk."""

from typing import Any

import numpy as np
import pytest
from cluster_support import ragged_panel

import ardchoice as ac
from ardchoice.data.compact import open_compact, write_compact
from ardchoice.design.remote import Workers
from ardchoice.design.shards import Mapped, cut


def test_data_on_disk_are_read_by_the_workers_themselves(client: Any, tmp_path: Any) -> None:
    panel = ragged_panel()
    write_compact(panel, tmp_path)
    disk = open_compact(tmp_path)
    shard = cut(disk, slice(250, 500), "some")
    assert all(isinstance(column, Mapped) for column in shard.columns.values())
    np.testing.assert_array_equal(shard.data().available, panel.available[:, 250:500])
    text = "bus: ASC + log(time) x age\ncar: ASC + time x income\n*: cost"
    here = ac.fit_mnl(panel, text)
    there = ac.fit_mnl(disk, text, executor=Workers(client, rows=250))
    assert there.loglik == pytest.approx(here.loglik, rel=1e-9)
    np.testing.assert_allclose(there.coefficients, here.coefficients, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        there.covariances["cluster"], here.covariances["cluster"], rtol=1e-6, atol=1e-8
    )


def test_a_study_of_data_on_disk_by_workers_is_that_in_memory(client: Any, tmp_path: Any) -> None:
    panel = ragged_panel(2000)
    write_compact(panel, tmp_path)
    disk = open_compact(tmp_path)
    space = ac.SearchSpace(panel, by=["age"], generic=["cost"])
    # Few passes, too: a sample of persons first, then everybody by the workers.
    for solver in (ac.Newton(), ac.Newton(sample=600)):
        here = ac.specify(panel, space, structure=None, solver=solver)
        there = ac.specify(
            disk, space, structure=None, solver=solver, executor=Workers(client, rows=250)
        )
        assert there.specification.terms == here.specification.terms
        assert there.result.loglik == pytest.approx(here.result.loglik, rel=1e-9)
        np.testing.assert_allclose(there.fit.lam, here.fit.lam, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(
            there.result.coefficients, here.result.coefficients, rtol=1e-8, atol=1e-8
        )
