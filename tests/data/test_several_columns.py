"""Situations that only several columns of a long table number together."""

from pathlib import Path

import pandas as pd
import pytest
from data_support import assert_same, long_table, read_rows, says, the_error, the_refusal

import ardchoice as ac
from ardchoice.data.read import read_like


def of_persons() -> pd.DataFrame:
    table = long_table()
    number = table["SITUATION"].str[1:].astype(int)
    return table.assign(who=[f"P{n // 4:03d}" for n in number], task=number % 4 + 1)


def test_situations_may_be_numbered_by_two_columns_together() -> None:
    data = read_rows(of_persons(), situation=["who", "task"])
    assert_same(data, read_rows(), situations=False)
    assert data.situation[:5].tolist() == [
        "P000 / 1",
        "P000 / 2",
        "P000 / 3",
        "P000 / 4",
        "P001 / 1",
    ]
    assert data.source is not None
    assert data.source.situation == ("who", "task")
    again = read_like(of_persons().drop(columns="CHOSEN"), data)
    assert again.situation.tolist() == data.situation.tolist()
    assert_same(read_rows(situation=["SITUATION"]), read_rows())


def test_one_of_several_columns_alone_is_refused_with_the_remedy() -> None:
    says(
        the_error("duplicate-rows", lambda: read_rows(of_persons(), situation="who")),
        "name them all: situation = ['person', 'task']",
    )
    message = the_refusal(lambda: read_rows(of_persons(), situation=["who", "tusk"]))
    says(message, "'tusk'", "Did you mean 'task'")
    says(the_refusal(lambda: read_rows(of_persons(), situation=[])), "a list of columns")


def test_ids_that_would_read_alike_are_refused() -> None:
    table = of_persons()
    first = table["SITUATION"] == "s0"
    table["task"] = table["task"].astype(str)
    table.loc[first, ["who", "task"]] = ["a / b", "c"]
    table.loc[table["SITUATION"] == "s1", ["who", "task"]] = ["a", "b / c"]
    says(the_refusal(lambda: read_rows(table, situation=["who", "task"])), "read alike")


def test_a_missing_part_of_an_id_is_an_error() -> None:
    table = of_persons()
    table["task"] = table["task"].astype(float)
    table.loc[2, "task"] = None
    with pytest.raises(ac.DataError, match="'who / task'"):
        read_rows(table, situation=["who", "task"])


def test_a_streamed_table_needs_one_column_of_ids(tmp_path: Path) -> None:
    of_persons().to_csv(tmp_path / "long.csv", index=False)
    read = lambda: read_rows(tmp_path / "long.csv", situation=["who", "task"], stream=True)  # noqa: E731
    says(the_refusal(read), "part by part", "stream=False")
