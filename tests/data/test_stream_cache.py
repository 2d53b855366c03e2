"""Compact columns are kept, noticed when stale, and never half-written."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_support import assert_same, long_table, read_rows, read_table, wide_table

import ardchoice as ac
from ardchoice.data import batches, compact
from ardchoice.data.compact import open_compact, take_rows, write_compact


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 3)


def folders(path: Path) -> list[Path]:
    return sorted(p for p in (path / ".ardchoice").iterdir() if p.is_dir())


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "folder"])
def test_a_file_read_part_by_part_is_the_table_in_memory(tmp_path, kind):
    path, table = tmp_path / f"choices.{kind}", wide_table()
    if kind == "folder":
        path.mkdir()
        table[:5].to_parquet(path / "a.parquet")
        table[5:].to_parquet(path / "b.parquet")
    else:
        table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
    data = read_table(path, stream=True)
    assert_same(data, read_table())
    assert str(data) == str(read_table())
    assert data.source is not None and data.source.path == str(path)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_long_file_read_part_by_part_is_the_table_in_memory(tmp_path, kind):
    path, table = tmp_path / f"rows.{kind}", long_table()
    table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
    assert_same(read_rows(path, stream=True), read_rows())


def test_rows_of_a_situation_that_stand_apart_are_refused(tmp_path):
    table = long_table()
    apart = [0, *range(2, len(table)), 1]
    table.iloc[apart].to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ac.ArdchoiceError, match=r"No alternative is marked.*s0"):
        read_rows(tmp_path / "rows.parquet", stream=True)


def test_a_column_of_text_in_one_part_is_text_in_all(tmp_path):
    table = wide_table()
    table["CODE"] = ["1.50", "2.50", "1.50", "2.50", "x", "1.50", "2.50", "x"]
    table.to_csv(tmp_path / "t.csv", index=False)
    covariates = ["CITY", "CODE"]
    data = read_table(tmp_path / "t.csv", covariates=covariates, stream=True)
    assert_same(data, read_table(tmp_path / "t.csv", covariates=covariates))
    assert data.covariates["CODE"].levels == ("1.50", "2.50", "x")


def test_columns_take_the_smallest_numbers_that_hold_them():
    for values, kind in [
        ([0.0, 100.0], "i1"),
        ([0.0, 200.0], "i2"),
        ([0.5, -3.0], "f4"),
        ([0.1, 2.0], "f8"),
        ([-0.0, 1.0], "f4"),
        ([1e10, 1.0], "f4"),
        ([2.0**40 + 1], "f8"),
        ([np.nan, 1.0], "f4"),
    ]:
        x = np.array(values)
        assert compact.smallest(x) == np.dtype(kind), values
        np.testing.assert_array_equal(x.astype(kind).astype(float), x)


def test_the_same_file_is_not_read_twice_and_a_touched_one_neither(tmp_path):
    path = tmp_path / "t.parquet"
    wide_table().to_parquet(path)
    first = read_table(path, stream=True)
    (folder,) = folders(tmp_path)
    made = (folder / "manifest.json").stat().st_mtime_ns
    os.utime(path, ns=(1, 1))
    again = read_table(path, stream=True)
    assert (folder / "manifest.json").stat().st_mtime_ns == made
    assert_same(first, again)


def test_other_settings_have_columns_of_their_own(tmp_path):
    path = tmp_path / "t.parquet"
    wide_table().to_parquet(path)
    read_table(path, stream=True)
    less = read_table(path, covariates=["CITY"], stream=True)
    assert list(less.covariates) == ["CITY"]
    assert len(folders(tmp_path)) == 2


def test_a_changed_file_is_read_again(tmp_path):
    path = tmp_path / "t.parquet"
    wide_table().to_parquet(path)
    assert len(read_table(path, stream=True)) == 8
    more = pd.concat([wide_table(), wide_table().assign(ID=lambda t: t["ID"] + 10)])
    more.to_parquet(path)
    assert_same(read_table(path, stream=True), read_table(more.reset_index(drop=True)))
    other = wide_table().assign(CLASS=[2, 2, 1, 1, 1, 1, 2, 2])
    other.to_csv(tmp_path / "t.csv", index=False)
    read_table(tmp_path / "t.csv", stream=True)
    size = (tmp_path / "t.csv").stat().st_size
    wide_table().to_csv(tmp_path / "t.csv", index=False)
    assert (tmp_path / "t.csv").stat().st_size == size  # only its content tells
    assert_same(read_table(tmp_path / "t.csv", stream=True), read_table())


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    wide_table().to_parquet(path)
    read_table(path, stream=True)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ac.ArdchoiceError, match="cannot be read to its end"):
        read_table(path, stream=True)


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "manifest"])
def test_damaged_columns_are_made_anew(tmp_path, damage):
    path = tmp_path / "t.parquet"
    wide_table().to_parquet(path)
    read_table(path, stream=True)
    (folder,) = folders(tmp_path)
    column = max(folder.glob("*.bin"), key=lambda p: p.stat().st_size)
    content = bytearray(column.read_bytes())
    if damage == "flip":
        content[3] ^= 1
        column.write_bytes(bytes(content))
    elif damage == "cut":
        column.write_bytes(bytes(content[:-1]))
    elif damage == "remove":
        column.unlink()
    else:
        (folder / "manifest.json").write_text("{")
    with pytest.raises(ac.ArdchoiceError):
        open_compact(folder)
    assert_same(read_table(path, stream=True), read_table())


RUN = """
import sys, warnings
sys.path.insert(0, {here!r})
warnings.simplefilter("ignore")
from data_support import read_table
from ardchoice.data import batches
batches.BATCH = 7
data = read_table({path!r}, stream=True)
print(len(data), int(data.choice.sum()))
"""


def start(path: Path, **how) -> subprocess.Popen:
    code = RUN.format(here=str(Path(__file__).parent), path=str(path))
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )


def many(n: int) -> pd.DataFrame:
    table = wide_table()
    table = table.iloc[np.arange(n) % len(table)].reset_index(drop=True)
    return table.assign(ID=np.arange(n) // 2)


def test_two_runs_at_once_share_one_folder(tmp_path):
    path = tmp_path / "t.parquet"
    many(900).to_parquet(path)
    runs = [start(path), start(path)]
    said = [run.communicate(timeout=120) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert said[0][0] == said[1][0] == f"900 {int(many(900)['CHOICE'].sum()) - 900}\n"
    assert len(folders(tmp_path)) == 1


def test_a_run_that_is_killed_leaves_nothing_that_could_be_taken_for_whole(tmp_path):
    path = tmp_path / "t.parquet"
    many(900).to_parquet(path)
    run = start(path)
    until = time.monotonic() + 60
    while time.monotonic() < until and not list(tmp_path.glob(".ardchoice/*.new/*")):
        time.sleep(0.01)
    run.kill()
    run.communicate()
    assert not [f for f in folders(tmp_path) if not f.name.endswith(".new")]
    batches.BATCH = 1 << 12
    assert len(read_table(path, stream=True)) == 900
    (folder,) = folders(tmp_path)
    assert (folder / "manifest.json").exists()


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path):
    path = tmp_path / "t.parquet"
    many(900).to_parquet(path)
    # A process that may write no file beyond 2 kB meets the same error as one on a full disk.
    run = start(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)))
    out, error = run.communicate(timeout=120)
    assert run.returncode == 1 and not out
    said = error.splitlines()[-1]
    assert "cannot be written" in said and "ARDCHOICE_CACHE" in said
    assert folders(tmp_path) == []


def test_a_folder_can_be_named_for_the_columns(tmp_path, monkeypatch):
    path, cache = tmp_path / "t.parquet", tmp_path / "elsewhere" / "cache"
    wide_table().to_parquet(path)
    monkeypatch.setenv("ARDCHOICE_CACHE", str(cache))
    read_table(path, stream=True)
    assert [p for p in cache.iterdir() if p.is_dir()]
    assert not (tmp_path / ".ardchoice").exists()


def test_columns_of_another_schema_are_not_opened(tmp_path):
    write_compact(read_table(), tmp_path)
    about = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(about | {"schema": 99}))
    with pytest.raises(ac.ArdchoiceError, match="another version"):
        open_compact(tmp_path)


@pytest.mark.parametrize("most", [0, 1 << 30])
def test_rows_of_data_on_disk_are_those_of_data_in_memory(tmp_path, monkeypatch, most):
    write_compact(read_table(), tmp_path)
    data = open_compact(tmp_path)
    monkeypatch.setattr(compact, "MOST_IN_MEMORY", most)
    rows = np.array([5, 1, 6, 2])
    assert_same(data.take(rows), read_table().take(rows))
    for one, two in zip(data.folds(2), read_table().folds(2), strict=True):
        assert_same(one[0], two[0])
        assert_same(one[1], two[1])
    assert_same(take_rows(data, rows), read_table().take(rows))


def test_a_table_in_memory_cannot_be_streamed():
    with pytest.raises(ac.ArdchoiceError, match="in memory already"):
        read_table(wide_table(), stream=True)


def test_a_file_too_large_for_memory_is_streamed_by_itself(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    wide_table().to_csv(path, index=False)
    assert not read_table(path).is_memory_mapped
    monkeypatch.setattr(batches, "_in_memory", lambda path: 1e18)
    assert read_table(path).is_memory_mapped
