"""Ranges of rows on their way to workers."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cluster_support import ragged_panel
from hypothesis import given
from hypothesis import strategies as st

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design.remote import divide
from ardchoice.design.shards import FEWEST, MOST, SHARDS, cut, shard_rows

TERMS = ac.parse_specification("bus: ASC + log(time) x age\n*: cost\nrail: time x income").terms


def travelled(data: ChoiceData, rows: slice) -> ChoiceData:
    return pickle.loads(pickle.dumps(cut(data, rows, "t"))).data()


def test_a_shard_has_the_columns_of_its_rows() -> None:
    data = ragged_panel(500)
    design = ac.Design(data, TERMS)
    part = ac.Design(travelled(data, slice(100, 350)), design.encoding)
    here, there = design.block(slice(100, 350)), part.block(slice(0, 250))
    for a, b in zip(here.parts, there.parts, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal(here.available, there.available)
    np.testing.assert_array_equal(here.choice, there.choice)
    np.testing.assert_array_equal(here.weight, there.weight)
    np.testing.assert_array_equal(here.person, there.person)
    assert there.choice.dtype == np.intp  # not so narrow that products overflow


def test_what_is_always_available_is_not_sent() -> None:
    data = ragged_panel(500)
    everywhere = replace(data, available=np.ones_like(data.available))
    assert ("", "available") not in cut(everywhere, slice(0, 100), "t").columns
    assert travelled(everywhere, slice(0, 100)).available.all()


def mapped(data: ChoiceData, folder: Path) -> ChoiceData:
    """The same with its times in a file."""
    path = folder / "time.bin"
    values = data.attributes["time"].values
    values.tofile(path)
    lies = np.asarray(np.memmap(path, values.dtype, "r", shape=values.shape))
    times = {**data.attributes, "time": replace(data.attributes["time"], values=lies)}
    return replace(data, attributes=times)


def test_rows_in_a_file_are_read_by_who_needs_them(tmp_path: Path) -> None:
    data = ragged_panel(2000)
    lying = mapped(data, tmp_path)
    inside = len(pickle.dumps(cut(data, slice(500, 1500), "t")))
    described = len(pickle.dumps(cut(lying, slice(500, 1500), "t")))
    assert described < inside - 4 * 8 * 1000 + 1000
    part = travelled(lying, slice(500, 1500))
    np.testing.assert_array_equal(
        part.attributes["time"].values, data.attributes["time"].values[:, 500:1500]
    )


def test_a_file_that_a_worker_does_not_see_or_that_is_cut_off_is_named(tmp_path: Path) -> None:
    shard = cut(mapped(ragged_panel(500), tmp_path), slice(0, 100), "t")
    path = tmp_path / "time.bin"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ac.ArdchoiceError, match=r"time\.bin has .* bytes where a worker reads it"):
        shard.data()
    path.unlink()
    with pytest.raises(ac.ArdchoiceError, match=r"does not see .*time\.bin"):
        shard.data()


def test_shards_are_neither_too_many_nor_too_large() -> None:
    assert shard_rows(10**9) == MOST
    assert shard_rows(10**6) == FEWEST
    assert 10**7 / shard_rows(10**7) <= SHARDS + 1
    assert shard_rows(10_000) == 2_500
    assert shard_rows(100) == 1024


WORKERS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 8), min_size=1)


@given(st.lists(st.sampled_from("abcdefghxyz") | st.none(), min_size=1), WORKERS)
def test_shards_are_divided_by_threads_and_few_move(
    homes: list[str | None], threads: dict[str, int]
) -> None:
    found = divide(homes, threads)
    each = sum(threads.values())
    for worker, own in threads.items():
        assert found.count(worker) <= -(-len(homes) * own // each)
    assert set(found) <= set(threads)
    assert divide(found, threads) == found
    moved = sum(a != b for a, b in zip(homes, found, strict=True) if a in threads)
    fair = {w: -(-len(homes) * own // each) for w, own in threads.items()}
    assert moved == sum(max(homes.count(w) - fair[w], 0) for w in threads)


def test_neighbours_come_together() -> None:
    assert divide([None] * 6, {"a": 1, "b": 2}) == list("aabbbb")
