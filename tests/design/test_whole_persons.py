"""Blocks hold whole persons, in whatever order the rows of a table are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import grouped_by_person, whole_person_ranges
from ardchoice.design import Design
from ardchoice.design.remote import Workers
from ardchoice.space import as_specification

SPEC = "TRAIN: ASC + TT + CO x GA\nSM: ASC + TT\n*: CO"
BLOCK_ROWS = 500


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks of few rows."""
    monkeypatch.setattr("ardchoice.design.design.FEWEST_ROWS", BLOCK_ROWS)
    monkeypatch.setattr("ardchoice.design.design.BLOCK_BYTES", 1)


def table(seed: int | None = None) -> pd.DataFrame:
    """Unbalanced panels: every person answers one to nine times."""
    full = ac.datasets.swissmetro().query("CHOICE != 0").reset_index(drop=True)
    order = full.groupby("ID").cumcount()
    some = full[order < full["ID"] % 9 + 1]
    return some if seed is None else some.sample(frac=1, random_state=seed)


def read(source: pd.DataFrame | Path, *, stream: bool | None = None) -> ac.ChoiceData:
    return ac.read_wide(
        source,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA"],
        availability="{alt}_AV",
        person="ID",
        stream=stream,
    )


def shuffled(where: str, folder: Path) -> ac.ChoiceData:
    if where == "memory":
        return read(table(seed=1))
    path = folder / "shuffled.csv"
    table(seed=1).to_csv(path, index=False)
    return read(path, stream=True)


def persons_of_blocks(data: ac.ChoiceData) -> list[set[int]]:
    design = Design(grouped_by_person(data), as_specification(SPEC).terms)
    return [set(block.person.tolist()) for block in design.blocks()]


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_no_person_is_split_between_blocks(where: str, tmp_path: Path) -> None:
    data = shuffled(where, tmp_path)
    assert grouped_by_person(data) is not data
    persons = persons_of_blocks(data)
    assert len(persons) >= 5
    assert sum(map(len, persons)) == len(set.union(*persons)) == data.n_persons


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_results_do_not_depend_on_the_order_of_rows(where: str, tmp_path: Path) -> None:
    sorted_rows, mixed = read(table()), shuffled(where, tmp_path)
    one, other = ac.fit_mnl(sorted_rows, SPEC), ac.fit_mnl(mixed, SPEC)
    np.testing.assert_allclose(other.loglik, one.loglik, rtol=1e-12)
    np.testing.assert_allclose(other.coefficients, one.coefficients, rtol=1e-9)
    for kind, covariance in one.covariances.items():
        np.testing.assert_allclose(other.covariances[kind], covariance, rtol=1e-6, err_msg=kind)
    # Predictions keep the order of the table.
    expected = one.predict(sorted_rows).to_numpy()
    back = pd.Series(np.arange(len(table())), index=table().index)[table(seed=1).index]
    np.testing.assert_allclose(other.predict(mixed).to_numpy(), expected[back], rtol=1e-8)
    fits = [ac.fit_ard(d, ac.SearchSpace(d, by=["GA"], base="CAR")) for d in (sorted_rows, mixed)]
    np.testing.assert_allclose(fits[1].lam, fits[0].lam, rtol=1e-6, atol=1e-12)
    specs = [ac.select(fit) for fit in fits]
    assert specs[0].terms == specs[1].terms


@pytest.mark.parametrize("rows", [1, 7, 100, 10_000])
def test_ranges_cover_all_rows_and_end_with_a_person(rows: int) -> None:
    data = grouped_by_person(read(table(seed=2)))
    ranges = whole_person_ranges(data, rows)
    assert [r.start for r in ranges] == [0, *(r.stop for r in ranges[:-1])]
    assert ranges[-1].stop == len(data)
    ends = np.flatnonzero(np.diff(data.person)) + 1
    assert {r.stop for r in ranges} <= {*ends.tolist(), len(data)}


def test_shards_of_a_cluster_hold_whole_persons() -> None:
    with ac.local_cluster(1) as client:
        mixed = read(table(seed=1))
        here = ac.fit_mnl(mixed, SPEC)
        there = ac.fit_mnl(mixed, SPEC, executor=Workers(client, rows=700))
    np.testing.assert_allclose(there.coefficients, here.coefficients, rtol=1e-9)
    np.testing.assert_allclose(there.covariances["cluster"], here.covariances["cluster"], rtol=1e-6)


def test_prediction_sums_do_not_depend_on_the_order() -> None:
    fit = ac.fit_mnl(read(table()), SPEC)
    assert np.isclose(
        fit.score(read(table())).loglik, fit.score(read(table(seed=1))).loglik, rtol=1e-10, atol=0
    )
