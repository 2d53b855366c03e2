"""Nests, classes and membership that the data decide: the same on disk and on workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from test_family_everywhere import BLOCK_ROWS, SHARD_ROWS, SPEC, assert_same, read, table

import ardchoice as ac
from ardchoice.design.remote import Workers
from ardchoice.families import Family

FAMILIES: dict[str, Family] = {
    "nests": ac.Nested(None),
    "cross-nested": ac.Nested(
        {"existing": ["TRAIN", "CAR"], "public": ["TRAIN", "SM"]},
        cross=True,
        allocation={"TRAIN": {"existing": 0.5, "public": 0.5}},
    ),
    "classes": ac.LatentClass(None, membership="auto", starts=1),
}


SPECIFICATIONS = {"nests": "*: TT + CO"}
"""With constants no nest is found."""


class Case(NamedTuple):
    """A family of some terms, and its estimates in memory from a sorted table."""

    family: Family
    spec: str
    result: ac.Result


@pytest.fixture(scope="module", autouse=True)
def two_classes_at_most() -> Iterator[None]:
    """More take long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ardchoice.families.latent.number.MOST_CLASSES", 2)
        yield


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def case(request: pytest.FixtureRequest, two_classes_at_most: None) -> Case:
    family, spec = FAMILIES[request.param], SPECIFICATIONS.get(request.param, SPEC)
    return Case(family, spec, ac.fit(read(table()), spec, family=family))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed")
    with ac.local_cluster(1) as found:
        found.wait_for_workers(1, timeout=60)
        yield found


def test_a_streamed_table_decides_the_same(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ardchoice.design.design.FEWEST_ROWS", BLOCK_ROWS)
    monkeypatch.setattr("ardchoice.design.design.BLOCK_BYTES", 1)
    table(shuffled=True).to_csv(tmp_path / "mixed.csv", index=False)
    data = read(tmp_path / "mixed.csv", stream=True)
    assert case.result.family.tag == case.family.tag  # something was found
    assert_same(ac.fit(data, case.spec, family=case.family), case.result)


def test_workers_decide_the_same(case: Case, client: Any) -> None:
    with_workers = Workers(client, rows=SHARD_ROWS)
    data = read(table(shuffled=True))
    assert_same(ac.fit(data, case.spec, family=case.family, executor=with_workers), case.result)
