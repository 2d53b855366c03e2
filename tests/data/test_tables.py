"""The same data give the same choices, whatever file or frame they come in."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data_support import (
    assert_same,
    changed,
    levels_of,
    long_table,
    read_rows,
    read_table,
    says,
    the_refusal,
    wide_table,
)

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.data.tables import LARGEST_EXACT_INTEGER, open_table
from ardchoice.data.text_format import SNIFF_BYTES, TextFormat, TextOptions, sniff

Write = Callable[[pd.DataFrame, Path], Path]


def text_writer(name: str, **how: object) -> Write:
    def write(table: pd.DataFrame, folder: Path) -> Path:
        table.to_csv(folder / name, index=False, **how)  # type: ignore[call-overload]
        return folder / name

    return write


def parquet_writer(table: pd.DataFrame, folder: Path) -> Path:
    table.to_parquet(folder / "choices.parquet")
    return folder / "choices.parquet"


FILES: dict[str, Write] = {
    "csv": text_writer("choices.csv"),
    "csv with Windows line ends": text_writer("choices.csv", lineterminator="\r\n"),
    "everything in quotes": text_writer("choices.csv", quoting=1),
    "tsv": text_writer("choices.tsv", sep="\t"),
    "tsv named dat": text_writer("choices.dat", sep="\t"),
    "pipes": text_writer("choices.txt", sep="|"),
    "blanks": text_writer("choices.txt", sep=" ", na_rep="NA"),
    "semicolons, decimal commas, cp1252": text_writer(
        "choices.csv", sep=";", decimal=",", encoding="cp1252"
    ),
    "semicolons, decimal commas, latin-1": text_writer(
        "choices.csv", sep=";", decimal=",", encoding="latin-1"
    ),
    "tabs, decimal commas": text_writer("choices.csv", sep="\t", decimal=","),
    "commas, decimal commas in quotes": text_writer("choices.csv", decimal=",", quoting=1),
    "utf-8 with byte-order mark": text_writer("choices.csv", encoding="utf-8-sig"),
    "utf-16": text_writer("choices.csv", encoding="utf-16"),
    "gzip": text_writer("choices.csv.gz"),
    "gzip of utf-16 tabs": text_writer("choices.tsv.gz", sep="\t", encoding="utf-16"),
    "parquet": parquet_writer,
    "parquet under another name": lambda table, folder: parquet_writer(table, folder).rename(
        folder / "choices.data"
    ),
}

FRAMES: dict[str, Callable[[pd.DataFrame], object]] = {
    "pandas": lambda table: table,
    "pandas with an odd index": lambda table: table.set_axis(range(90, 82, -1), axis=0),
    "pandas nullable": lambda table: table.convert_dtypes(),
    "pandas of Arrow": lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
    "pandas objects": lambda table: table.astype(object),
    "pandas float32 and int8": lambda table: table.astype(
        {"BUS_TT": "float32", "CLASS": "int8", "CHOICE": "float64", "BUS_AV": "bool"}
    ),
    "polars": pl.from_pandas,
    "polars text": lambda table: pl.from_pandas(table).with_columns(
        pl.col("ID", "CHOICE", "BUS_TT", "CLASS").cast(pl.String)
    ),
    "arrow": pa.Table.from_pandas,
    "arrow in two chunks": lambda table: pa.concat_tables(
        [pa.Table.from_pandas(table[:3]), pa.Table.from_pandas(table[3:])]
    ),
}


def test_every_number_of_a_frame_arrives_where_it_belongs() -> None:
    table, data = wide_table(), read_table()
    np.testing.assert_array_equal(data.available, table[["BUS_AV", "CAR_AV", "RAIL_AV"]].T == 1)
    np.testing.assert_array_equal(data.chosen(), table["CHOICE"] - 1)
    for j, name in enumerate(data.alternatives):
        used = data.available[j]
        np.testing.assert_array_equal(
            data.attributes["TT"].of(j)[used], table[f"{name}_TT"].to_numpy()[used]
        )
    np.testing.assert_array_equal(data.covariates["INCOME"].values, table["INCOME"])
    np.testing.assert_allclose(data.weights, table["WEIGHT"] / table["WEIGHT"].mean(), rtol=1e-12)
    assert levels_of(data, "CITY") == table["CITY"].tolist()
    assert levels_of(data, "CLASS") == [str(v) for v in table["CLASS"]]
    assert levels_of(data, "MALE") == [str(int(v)) for v in table["MALE"]]
    assert data.person is not None
    assert data.person.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("write", FILES.values(), ids=FILES)
def test_a_file_gives_what_the_frame_gives(write: Write, tmp_path: Path) -> None:
    path = write(wide_table(), tmp_path)
    assert_same(read_table(path), read_table())
    assert_same(read_table(str(path)), read_table())


@pytest.mark.parametrize("write", FILES.values(), ids=FILES)
def test_a_long_file_with_missing_cells_gives_what_the_frame_gives(
    write: Write, tmp_path: Path
) -> None:
    assert_same(read_rows(write(long_table(), tmp_path)), read_rows())


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_a_frame_of_any_kind_gives_what_pandas_gives(
    make: Callable[[pd.DataFrame], object],
) -> None:
    assert_same(read_table(make(wide_table())), read_table())


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_missing_cells_are_missing_in_every_kind_of_frame(
    make: Callable[[pd.DataFrame], object],
) -> None:
    # BUS is unavailable in row 3, so its headway may be missing there and nowhere else.
    table = changed("BUS_HE", [3], None)
    assert_same(read_table(make(table)), read_table())
    with pytest.raises(ac.DataError, match=r"HE of RAIL .* 1 row \(2\)"):
        read_table(make(changed("RAIL_HE", [2], None)))
    with pytest.raises(ac.DataError, match=r"CITY .* is missing: 2 rows \(0, 5\)"):
        read_table(make(changed("CITY", [0, 5], None)))


def test_floats_survive_a_text_file_to_the_last_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    table = pd.concat([wide_table()] * 50, ignore_index=True)
    table["CAR_TT"] = rng.normal(size=len(table)) * 10.0 ** rng.integers(-9, 9, len(table))
    for name in ("csv", "semicolons, decimal commas, cp1252"):
        assert_same(read_table(FILES[name](table, tmp_path)), read_table(table))


def ordered_frames() -> dict[str, object]:
    order = ["low", "middle", "high"]
    table = wide_table()
    table["CITY"] = ["low", "low", "high", "high", "middle", "middle", "low", "low"]
    category = pd.CategoricalDtype(order, ordered=True)
    as_category = table.astype({"CITY": category})
    return {
        "pandas ordered": as_category,
        "pandas with categories": table.astype({"CITY": pd.CategoricalDtype(order)}),
        "polars enum": pl.from_pandas(table).with_columns(pl.col("CITY").cast(pl.Enum(order))),
        "arrow ordered dictionary": pa.Table.from_pandas(as_category),
    }


@pytest.mark.parametrize("kind", ordered_frames())
def test_an_order_that_the_column_declares_is_kept(kind: str) -> None:
    covariate = read_table(ordered_frames()[kind]).covariates["CITY"]
    assert covariate.levels == ("low", "middle", "high")
    assert covariate.values.tolist() == [0, 0, 2, 2, 1, 1, 0, 0]
    assert covariate.reference == 2


def test_an_order_survives_parquet(tmp_path: Path) -> None:
    ordered = ordered_frames()["pandas ordered"]
    assert isinstance(ordered, pd.DataFrame)
    data = read_table(parquet_writer(ordered, tmp_path))
    assert data.covariates["CITY"].levels == ("low", "middle", "high")


def test_categories_that_merely_came_in_some_order_are_sorted() -> None:
    polars = pl.from_pandas(wide_table()).with_columns(pl.col("CITY").cast(pl.Categorical))
    arrow = pa.Table.from_pandas(wide_table())
    arrow = arrow.set_column(
        arrow.column_names.index("CITY"), "CITY", arrow["CITY"].dictionary_encode()
    )
    for table in (polars, arrow):
        assert_same(read_table(table), read_table())


def test_categories_without_rows_are_no_levels() -> None:
    table = wide_table()
    table["CITY"] = pd.Categorical(table["CITY"], categories=["Zürich", "Basel", "Genève", "Bern"])
    assert read_table(table).covariates["CITY"].levels == ("Zürich", "Genève", "Bern")


def test_data_do_not_change_when_the_frame_does() -> None:
    table = wide_table()
    data, before = read_table(table), read_table(wide_table())
    for column in ("INCOME", "WEIGHT", "CAR_TT"):
        table.loc[:, column] = -1.0
    assert_same(data, before)


# -- Hostile files ---------------------------------------------------------------------------


def test_an_accent_in_the_last_row_decides_the_encoding(tmp_path: Path) -> None:
    table = pd.concat([wide_table()] * 400, ignore_index=True)
    table["CITY"] = "Bern"
    table.loc[len(table) - 1, "CITY"] = "Zürich"
    path = text_writer("late.csv", encoding="cp1252")(table, tmp_path)
    assert path.stat().st_size > SNIFF_BYTES  # else the head alone would show it
    assert read_table(path).covariates["CITY"].levels == ("Bern", "Zürich")


def test_decimal_commas_are_seen_when_they_come_late(tmp_path: Path) -> None:
    table = pd.concat([wide_table()] * 20, ignore_index=True)
    table = table.astype(dict.fromkeys(["BUS_TT", "CAR_TT", "RAIL_TT", "INCOME", "WEIGHT"], int))
    lines = table.to_csv(sep=";", index=False).splitlines()
    assert ",5" not in "".join(lines)
    path = tmp_path / "late.csv"
    path.write_text("\n".join(lines).removesuffix(";2") + ";2,5\n")
    assert sniff(path) == TextFormat("utf-8", ";", ",", decimal_seen=True)
    data = read_table(path)
    assert data.weights[-1] / data.weight_scale == pytest.approx(2.5)


@pytest.mark.parametrize(
    "name", ["travel time", "travel, time", 'travel "time"', "travel\ntime", "Reisezeit (min) é ü"]
)
@pytest.mark.parametrize("kind", ["csv", "tsv", "everything in quotes", "utf-16", "parquet"])
def test_column_names_may_hold_anything(name: str, kind: str, tmp_path: Path) -> None:
    table = wide_table().rename(columns={"INCOME": name, "BUS_TT": f"{name} BUS"})
    path = FILES[kind](table, tmp_path)
    data = read_table(
        path,
        attributes={"TT": {"BUS": f"{name} BUS", "CAR": "CAR_TT"}},
        covariates={"INCOME": name},
    )
    np.testing.assert_array_equal(data.covariates["INCOME"].values, wide_table()["INCOME"])


def test_blanks_in_names_and_dates_do_not_pass_for_separators(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    path.write_text("trip start time,mode\n2020-01-01 10:00 CET,car\n2020-01-02 11:30 CET,bus\n")
    assert open_table(path).columns == ["trip start time", "mode"]


def test_aligned_columns_parted_by_blanks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "aligned.txt"
    path.write_text("  id   choice    tt\n   1        2  10.5\n 100       13   2.0\n")
    table = open_table(path)
    assert table.columns == ["id", "choice", "tt"]
    assert table.column("choice").values.tolist() == [2, 13]
    assert table.column("tt").values.tolist() == [10.5, 2.0]


def test_rows_that_end_in_a_separator_do_not_shift_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "trailing.csv"
    path.write_text("a,b,c\n1,2,3,\n4,5,6,\n")
    table = open_table(path)
    assert [table.column(c).values.tolist() for c in "abc"] == [[1, 4], [2, 5], [3, 6]]


def test_row_names_as_r_writes_them_do_not_shift_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "from_r.txt"
    path.write_text('"a" "b"\n"1" 2 3.5\n"2" 4 5.5\n')
    table = open_table(path)
    assert [table.column(c).values.tolist() for c in "ab"] == [[2, 4], [3.5, 5.5]]


def test_none_is_a_level_and_na_is_missing_in_a_text_file(tmp_path: Path) -> None:
    table = wide_table()
    table["CITY"] = ["None", "None", "One", "One", "Many", "Many", "Many", "None"]
    path = FILES["csv"](table, tmp_path)
    assert read_table(path).covariates["CITY"].levels == ("Many", "None", "One")
    for word in ("NA", "n/a", "NaN", "NULL", "."):
        FILES["csv"](changed("CITY", [4], word), tmp_path)
        with pytest.raises(ac.DataError, match=r"CITY .* is missing: 1 row \(4\)"):
            read_table(path)


def test_true_and_false_read_alike_in_files_and_frames(tmp_path: Path) -> None:
    for words in (["True", "False"], ["true", "false"], ["TRUE", "FALSE"]):
        table = wide_table()
        table["MALE"] = np.where(table["MALE"], *words)
        table["BUS_AV"] = np.where(table["BUS_AV"] == 1, *words)
        assert_same(read_table(FILES["csv"](table, tmp_path)), read_table())


@pytest.mark.parametrize("no, yes", [("no", "yes"), ("False", "True"), ("0", "1"), ("N", "Y")])
def test_availability_and_the_mark_of_the_choice_may_be_words(no: str, yes: str) -> None:
    table, rows = wide_table(), long_table()
    for column in ("BUS_AV", "CAR_AV", "RAIL_AV"):
        table[column] = np.where(table[column] == 1, yes, no)
    rows["CHOSEN"] = np.where(rows["CHOSEN"] == 1, yes, no)
    assert_same(read_table(pl.from_pandas(table)), read_table())
    assert_same(read_rows(pl.from_pandas(rows)), read_rows())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_neighbouring_ids_beyond_float_precision_stay_apart(kind: str, tmp_path: Path) -> None:
    table = wide_table()
    table["ID"] = LARGEST_EXACT_INTEGER + table["ID"]
    assert read_table(FILES[kind](table, tmp_path)).n_persons == 4


@pytest.mark.parametrize("make", [pd.DataFrame.copy, pl.from_pandas, pa.Table.from_pandas])
def test_long_ids_stay_apart_also_beside_missing_ones(
    make: Callable[[pd.DataFrame], object],
) -> None:
    table = wide_table()
    table["ID"] = pd.array([LARGEST_EXACT_INTEGER + v for v in table["ID"]], dtype="Int64")
    table.loc[0, "ID"] = pd.NA
    with pytest.warns(ac.ArdchoiceWarning, match=r"1 row \(0\) dropped"):
        data = read_table(make(table), drop_invalid=True)
    assert data.n_persons == 4


def test_columns_numbered_rather_than_named_are_found() -> None:
    table = wide_table().rename(columns={"CHOICE": 5})
    assert_same(read_table(table, choice="5"), read_table())


@pytest.mark.parametrize("kind", ["csv", "tsv", "pandas", "arrow"])
def test_two_columns_of_one_name_are_refused(kind: str, tmp_path: Path) -> None:
    table = wide_table().rename(columns={"CAR_TT": "BUS_TT"})
    source: object = table
    if kind in FILES:
        source = FILES[kind](table, tmp_path)
    elif kind == "arrow":
        source = pa.table(list(pa.Table.from_pandas(wide_table()).columns), names=list(table))
    says(the_refusal(lambda: read_table(source)), "'BUS_TT' (2 times)", "rename or remove")


# -- What cannot be read ---------------------------------------------------------------------


def read_bytes(folder: Path, content: bytes, name: str = "choices.csv") -> ChoiceData:
    (folder / name).write_bytes(content)
    return read_table(folder / name)


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe\n\x00"]
)
def test_an_empty_file_is_called_empty(content: bytes, tmp_path: Path) -> None:
    says(the_refusal(lambda: read_bytes(tmp_path, content)), "choices.csv", "is empty")


def test_an_empty_gzip_file_is_called_empty(tmp_path: Path) -> None:
    says(the_refusal(lambda: read_bytes(tmp_path, gzip.compress(b""), "c.csv.gz")), "is empty")


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    header = ",".join(wide_table().columns).encode() + b"\n"
    says(the_refusal(lambda: read_bytes(tmp_path, header)), "'choices.csv' has no rows")
    says(the_refusal(lambda: read_table(wide_table()[:0])), "the table has no rows")
    says(the_refusal(lambda: read_rows(long_table()[:0])), "the table has no rows")


def test_a_file_that_is_not_there_is_missed_and_its_neighbour_proposed(tmp_path: Path) -> None:
    FILES["csv"](wide_table(), tmp_path)
    message = the_refusal(lambda: read_table(tmp_path / "choises.csv"))
    says(message, "There is no file", "choises.csv", "Did you mean 'choices.csv'?")
    says(the_refusal(lambda: read_table(tmp_path)), "There is no file")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    xlsx = b"PK\x03\x04\x14\x00\x06\x00\x08\x00" * 50
    message = the_refusal(lambda: read_bytes(tmp_path, xlsx, "choices.csv"))
    says(message, "choices.csv", "not a text table", "Parquet", "Excel .xlsx", "SPSS .sav")


def test_damaged_files_are_refused_by_name(tmp_path: Path) -> None:
    packed = gzip.compress(wide_table().to_csv(index=False).encode())
    flipped = packed[:30] + bytes(255 - b for b in packed[30:60]) + packed[60:]
    for content in (b"not gzip at all", packed[:-40], flipped):
        says(the_refusal(lambda c=content: read_bytes(tmp_path, c, "c.csv.gz")), "c.csv.gz")
    says(the_refusal(lambda: read_bytes(tmp_path, b"PAR1 but no more", "c.parquet")), "c.parquet")


def test_a_row_with_too_many_cells_is_refused_with_a_way_out(tmp_path: Path) -> None:
    lines = wide_table().to_csv(index=False).splitlines()
    text = "\n".join([*lines[:4], lines[4] + ",1,2,3", *lines[5:]])
    message = the_refusal(lambda: read_bytes(tmp_path, text.encode()))
    says(message, "choices.csv", "separator ','", "line 5", "set separator")


@pytest.mark.parametrize(
    "thing", [{"CHOICE": [1]}, [1, 2], None, 3, pd.Series([1]), pl.LazyFrame({"CHOICE": [1]})]
)
def test_what_is_no_table_is_refused(thing: object) -> None:
    if thing is None:
        message = the_refusal(
            lambda: ac.read_wide(None, alternatives="x", choice="", attributes={})
        )
    else:
        message = the_refusal(lambda: read_table(thing))
    says(message, "path", "data frame", type(thing).__name__)


def test_whole_numbers_with_hundreds_of_digits_are_infinite(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n" + "9" * 400 + ",3\n-" + "9" * 400 + ",4\n")
    assert open_table(tmp_path / "t.csv").column("a").values.tolist() == [1, np.inf, -np.inf]


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_a_table_read_with_a_wrong_separator_says_which_is_right(tmp_path, sign):
    path = tmp_path / "t.csv"
    path.write_text(f"id{sign}choice{sign}TT_A\n1{sign}A{sign}2\n", encoding="utf-8")
    with pytest.raises(ac.ArdchoiceError, match="read as a single column") as caught:
        open_table(path, TextOptions(separator=","))
    assert f"separator={sign!r}" in str(caught.value)
    with pytest.raises(ac.ArdchoiceError, match="read as a single column"):
        open_table(pd.read_csv(path))
    assert open_table(path).columns == ["id", "choice", "TT_A"]


def test_a_file_that_is_not_there_is_compared_with_files_of_its_kind(tmp_path):
    for name in ("trips.csv", "tripz.py", "notes.txt"):
        (tmp_path / name).write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ac.ArdchoiceError, match=r"trips\.csv") as caught:
        open_table(tmp_path / "tripz.csv")
    assert "notes.txt" not in str(caught.value)
