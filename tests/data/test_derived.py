"""Derived columns and filters give what a table changed by hand gives."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_support import assert_same, long_table, read_rows, read_table, says, the_error, wide_table

import ardchoice as ac
from ardchoice.data import read_like


def by_hand() -> pd.DataFrame:
    table = wide_table()
    table["BUS_TT"] = table["BUS_TT"] * (table["CLASS"] == 2)
    table["LATE"] = np.where(table["INCOME"] > 5, "rich", "poor")
    return table[table["CITY"] != "Bern"]


DERIVE = {"BUS_TT": "BUS_TT * (CLASS == 2)", "LATE": "if(INCOME > 5, 'rich', 'poor')"}
COVARIATES = ["CITY", "MALE", "LATE"]


@pytest.mark.parametrize("how", ["frame", "csv", "parquet", "stream", "polars"])
def test_derived_columns_and_filters_equal_a_table_changed_by_hand(
    how: str, tmp_path: Path
) -> None:
    table: object = wide_table()
    if how == "polars":
        table = pytest.importorskip("polars").from_pandas(wide_table())
    elif how == "parquet":
        table = tmp_path / "t.parquet"
        wide_table().to_parquet(table)
    elif how != "frame":
        table = tmp_path / "t.csv"
        wide_table().to_csv(table, index=False)
    stream = True if how == "stream" else None
    words = {"covariates": COVARIATES, "where": "CITY != 'Bern'", "derive": DERIVE}
    data = read_table(table, stream=stream, **words)
    expected = read_table(by_hand().reset_index(drop=True), covariates=COVARIATES)
    assert_same(data, expected)
    assert data.source is not None
    assert (data.source.where, dict(data.source.derive)) == (words["where"], DERIVE)


def test_rows_keep_the_numbers_they_have_in_the_table() -> None:
    data = read_table(where="ID in (12, 14)", covariates=["CITY"])
    assert data.situation.tolist() == [2, 3, 6, 7]
    table = wide_table()
    table.loc[6, "CAR_TT"] = np.nan
    problem = the_error("missing-attribute", lambda: read_table(table, where="ID in (12, 14)"))
    says(problem, "1 row (6)")


@pytest.mark.filterwarnings("ignore:Only one alternative")
def test_a_long_table_is_filtered_by_rows(tmp_path: Path) -> None:
    data = read_rows(where="CITY != 'Bern' and ALT != 'RAIL' and SITUATION != 's2'")
    table = long_table()
    table = table[(table.CITY != "Bern") & (table.ALT != "RAIL") & (table.SITUATION != "s2")]
    assert_same(data, read_rows(table))
    path = tmp_path / "long.csv"
    long_table().to_csv(path, index=False)
    where = "CITY != 'Bern' and ALT != 'RAIL' and SITUATION != 's2'"
    assert_same(read_rows(path, where=where, stream=True), read_rows(table))


def test_a_derivation_sees_those_before_it_and_the_column_it_replaces() -> None:
    derive = {"H": "BUS_TT / 60", "BUS_TT": "H * 2", "CAR_TT": "CAR_TT + BUS_TT"}
    data = read_table(derive=derive)
    table = wide_table()
    tt = data.attributes["TT"]
    np.testing.assert_allclose(tt.of(0)[data.available[0]], (table.BUS_TT / 30)[data.available[0]])
    expected = table.CAR_TT + table.BUS_TT / 30
    np.testing.assert_allclose(tt.of(1)[data.available[1]], expected[data.available[1]])


def test_missing_values_are_missing_in_derivations() -> None:
    table = wide_table().assign(EXTRA=[1, 2, 3, -9, 5, 6, 7, 8])
    read = lambda: read_table(  # noqa: E731
        table, covariates=["X"], derive={"X": "EXTRA * 2"}, missing_values=[-9], drop_invalid=True
    )
    with pytest.warns(ac.ArdchoiceWarning, match="1 row \\(3\\) dropped"):
        data = read()
    assert len(data) == 7


def test_what_was_derived_and_left_out_is_shown() -> None:
    shown = str(read_table(covariates=COVARIATES, where="CITY != 'Bern'", derive=DERIVE))
    says(shown, "only where CITY != 'Bern'", "derived: BUS_TT = BUS_TT * (CLASS == 2)")
    says(shown, "4 of 8 rows are dropped, in which not CITY != 'Bern' (where).")


def test_mistakes_are_shown_at_their_place() -> None:
    with pytest.raises(ac.ArdchoiceError) as caught:
        read_table(where="CITY = 'Bern'")
    says(str(caught.value), "where, column 6: '=' cannot stand here: write '==' to compare")
    with pytest.raises(ac.ArdchoiceError) as caught:
        read_table(derive={"BUS_TT": "BUS_TT * GA"})
    says(str(caught.value), "derive['BUS_TT'], column 10: Column 'GA' is not in the table")
    with pytest.raises(ac.ArdchoiceError) as caught:
        read_table(where="CITY > 3")
    says(str(caught.value), "where, column 1: a number is wanted here, and CITY has texts such as")
    with pytest.raises(ac.ArdchoiceError) as caught:
        read_table(where="ID > 99")
    says(str(caught.value), "has no row in which ID > 99 holds")
    with pytest.raises(ac.ArdchoiceError) as caught:
        read_table(derive=["BUS_TT"])
    says(str(caught.value), "derive is a dict name -> expression")


def test_situations_to_be_predicted_are_derived_and_not_filtered() -> None:
    data = read_table(covariates=COVARIATES, where="CITY != 'Bern' and CHOICE > 0", derive=DERIVE)
    new = read_like(wide_table().drop(columns=["CHOICE", "ID"]), data)
    assert len(new) == 8
    expected = (wide_table().BUS_TT * (wide_table().CLASS == 2))[new.available[0]]
    np.testing.assert_array_equal(new.attributes["TT"].of(0)[new.available[0]], expected)


def test_columns_that_only_unused_derivations_need_may_be_absent() -> None:
    data = read_table(covariates=["LATE", "CITY"], derive=DERIVE)
    table = wide_table().drop(columns=["INCOME"])
    new = read_like(table, data, only={"TT": ["BUS", "CAR", "RAIL"], "CITY": []})
    assert list(new.covariates) == ["CITY"]
