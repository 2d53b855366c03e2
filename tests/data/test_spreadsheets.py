"""Tables of Excel, Stata and SPSS are read like text; what declares too much is refused."""

import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import open_table, spreadsheets
from ardchoice.errors import ArdchoiceError


def trips() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"{a}_TT": rng.uniform(5, 50, 30).round(1) for a in ("bus", "car")})
    frame["mode"] = rng.integers(1, 3, 30)
    frame["sex"] = rng.integers(0, 2, 30)
    return frame


def read(table: object) -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives={"bus": "bus", "car": "car"},
        choice="mode",
        attributes={"TT": "{alt}_TT"},
        covariates=["sex"],
    )


def named() -> pd.DataFrame:
    """As text would have it."""
    frame = trips()
    return frame.assign(
        mode=frame["mode"].map({1: "bus", 2: "car"}), sex=frame["sex"].map({0: "man", 1: "woman"})
    )


def same(a: ac.ChoiceData, b: ac.ChoiceData) -> None:
    np.testing.assert_array_equal(a.chosen(), b.chosen())
    np.testing.assert_array_equal(a.attributes["TT"].values, b.attributes["TT"].values)
    assert a.covariates["sex"].levels == b.covariates["sex"].levels
    np.testing.assert_array_equal(a.covariates["sex"].values, b.covariates["sex"].values)


def test_the_first_sheet_of_a_workbook_is_a_table(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    named().to_excel(tmp_path / "t.xlsx", index=False)
    same(read(tmp_path / "t.xlsx"), read(named()))


def test_codes_of_stata_and_spss_become_their_labels(tmp_path: Path) -> None:
    package = pytest.importorskip("pyreadstat")
    labels = {"mode": {1: "bus", 2: "car"}, "sex": {0: "man", 1: "woman"}}
    package.write_dta(trips(), str(tmp_path / "t.dta"), variable_value_labels=labels)
    package.write_sav(trips(), str(tmp_path / "t.sav"), variable_value_labels=labels)
    for name in ("t.dta", "t.sav"):
        same(read(tmp_path / name), read(named()))


def test_numbers_with_a_label_for_some_stay_numbers(tmp_path: Path) -> None:
    package = pytest.importorskip("pyreadstat")
    frame = trips().assign(income=np.arange(30.0))
    package.write_sav(
        frame, str(tmp_path / "t.sav"), variable_value_labels={"income": {-1: "no answer", 3: "x"}}
    )
    assert open_table(tmp_path / "t.sav").column("income").is_numeric


def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b"0" * (spreadsheets.SMALL_SHEET_BYTES + 1))
    with pytest.raises(ArdchoiceError, match=r"unpacks to 104,857,601"):
        open_table(tmp_path / "bomb.xlsx")


def test_a_workbook_with_more_cells_than_are_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl")
    named().to_excel(tmp_path / "t.xlsx", index=False)
    monkeypatch.setattr(spreadsheets, "MOST_CELLS", 100)
    with pytest.raises(ArdchoiceError, match=r"more than are read whole \(100 cells\)"):
        open_table(tmp_path / "t.xlsx")


def test_a_file_that_declares_more_rows_than_it_can_hold_is_refused(tmp_path: Path) -> None:
    package = pytest.importorskip("pyreadstat")
    package.write_dta(trips(), str(tmp_path / "t.dta"))
    content = bytearray((tmp_path / "t.dta").read_bytes())
    at = content.index(b"<N>") + 3
    content[at : at + 8] = struct.pack("<Q", 10_000_000)
    (tmp_path / "t.dta").write_bytes(bytes(content))
    with pytest.raises(ArdchoiceError, match="declares 10,000,000 rows"):
        open_table(tmp_path / "t.dta")


@pytest.mark.parametrize("name", ["t.xlsx", "t.dta", "t.sav"])
def test_anything_else_under_such_a_name_is_an_error_with_a_reason(
    tmp_path: Path, name: str
) -> None:
    pytest.importorskip("openpyxl")
    pytest.importorskip("pyreadstat")
    for content in (b"", b"a,b\n1,2\n", bytes(range(256)) * 20):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ArdchoiceError, match="can be read"):
            open_table(tmp_path / name)


def test_a_parquet_file_that_declares_too_many_rows_is_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    one = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(np.zeros(30_000_000, dtype=np.int8)), ["x"]
    )
    table = pyarrow.table(dict.fromkeys("abcd", one))
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd")
    assert (tmp_path / "t.parquet").stat().st_size < 1_000_000
    with pytest.raises(ArdchoiceError, match="declares 30,000,000 rows of 4 columns"):
        open_table(tmp_path / "t.parquet")


def test_the_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(spreadsheets, "import_module", missing)
    for name in ("t.xlsx", "t.dta"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(ArdchoiceError, match=r"pip install 'ardchoice\[files\]'"):
            open_table(tmp_path / name)
