"""Tables of Excel, Stata and SPSS, refused by their declared size before they are read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from ardchoice.errors import ArdchoiceError

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
STATISTICS_SUFFIXES = (".dta", ".sav", ".zsav")
MOST_CELLS = 50_000_000
"""Cells of a table of another program, which is read whole."""
MOST_SHEET_BYTES = 2 << 30
"""Bytes to which the sheets of a workbook may unpack."""
LARGEST_SHEET_RATIO = 200
SMALL_SHEET_BYTES = 100 << 20
"""A workbook that unpacks to more than these bytes, and so many times its size, is no table."""
LEAST_BITS_PER_ROW = 1
"""Packed files of statistics programs need at least so many for a row."""
HOW_TO_INSTALL = "pip install 'ardchoice[files]'"


def is_foreign(path: Path) -> bool:
    """Whether a file is a table of Excel, Stata or SPSS, by its name."""
    return path.suffix.lower() in (*EXCEL_SUFFIXES, *STATISTICS_SUFFIXES)


def read_foreign(path: Path) -> pd.DataFrame:
    """The table of a file of Excel (its first sheet), Stata or SPSS.

    Codes become the labels that the file has for them where every value has one.
    """
    if path.suffix.lower() in EXCEL_SUFFIXES:
        return _read_excel(path)
    return _read_statistics(path)


# -- Excel -----------------------------------------------------------------------------------------


def _read_excel(path: Path) -> pd.DataFrame:
    openpyxl = _needed("openpyxl", "Excel")
    _refuse_packed_bomb(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # of any kind: the format has many parts
        raise _unreadable(path, "an Excel workbook", error) from error
    try:
        sheet = book.worksheets[0]
        # The size that a sheet declares may be wrong, or enormous.
        sheet.reset_dimensions()
        return _frame(sheet.iter_rows(values_only=True), path)
    except ArdchoiceError:
        raise
    except Exception as error:
        raise _unreadable(path, "an Excel workbook", error) from error
    finally:
        book.close()


def _frame(rows: Iterable[Sequence[object]], path: Path) -> pd.DataFrame:
    """Rows under the first one that is not empty."""
    each = iter(rows)
    header: list[object] = []
    for row in islice(each, MOST_CELLS):
        header = list(row)
        while header and header[-1] is None:
            header.pop()
        if header:
            break
    if not header:
        raise ArdchoiceError(f"The first sheet of '{path}' is empty.")
    if None in header:
        at = header.index(None) + 1
        raise ArdchoiceError(
            f"Column {at} of '{path}' has no name: the first row of the first sheet names every "
            "column."
        )
    width, found, empty = len(header), [], 0
    for number, row in enumerate(each, 2):
        if number * width > MOST_CELLS:
            raise _too_large(path, number, width)
        cells = [*row[:width], *[None] * (width - len(row))]
        if all(cell is None for cell in cells):
            empty += 1
            continue
        found.append(cells)
    names = [str(name).strip() for name in header]
    frame = pd.DataFrame(found, columns=names, dtype=object)
    return frame.infer_objects() if len(set(names)) == len(names) else frame


def _refuse_packed_bomb(path: Path) -> None:
    """Raise where the parts of a workbook unpack to far more than a table of its size can hold."""
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(part.file_size for part in packed.infolist())
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise _unreadable(path, "an Excel workbook", error) from error
    size = max(path.stat().st_size, 1)
    if unpacked > MOST_SHEET_BYTES or (
        unpacked > SMALL_SHEET_BYTES and unpacked > LARGEST_SHEET_RATIO * size
    ):
        raise ArdchoiceError(
            f"'{path}' has {size:,} bytes and unpacks to {unpacked:,}: save the table as CSV or "
            "Parquet."
        )


# -- Stata and SPSS --------------------------------------------------------------------------------


def _read_statistics(path: Path) -> pd.DataFrame:
    package = _needed("pyreadstat", "Stata and SPSS")
    read = package.read_dta if path.suffix.lower() == ".dta" else package.read_sav
    what = "a Stata file" if path.suffix.lower() == ".dta" else "an SPSS file"
    try:
        _, about = read(str(path), metadataonly=True)
    except Exception as error:
        raise _unreadable(path, what, error) from error
    rows, columns = int(about.number_rows or 0), int(about.number_columns or 0)
    if rows * columns > MOST_CELLS:
        raise _too_large(path, rows, columns)
    if rows * LEAST_BITS_PER_ROW > 8 * path.stat().st_size:
        raise ArdchoiceError(
            f"'{path}' declares {rows:,} rows and has {path.stat().st_size:,} bytes: it is cut "
            "off, or no table."
        )
    try:
        frame, about = read(str(path))
    except Exception as error:
        raise _unreadable(path, what, error) from error
    labels: Mapping[str, Mapping[Any, str]] = about.variable_value_labels
    for name, of_codes in labels.items():
        if name in frame:
            frame[name] = _labelled(frame[name], of_codes)
    return pd.DataFrame(frame)


def _labelled(column: pd.Series[Any], labels: Mapping[Any, str]) -> pd.Series[Any]:
    """A column with labels in place of codes, in the order of the codes, where all have one."""
    present = set(column.dropna().unique())
    texts = [labels[code] for code in labels]
    if not present or not present <= set(labels) or len(set(texts)) < len(texts):
        return column
    ordered = [labels[code] for code in sorted(labels, key=str) if code in present]
    if all(isinstance(code, (int, float)) for code in labels):
        ordered = [labels[code] for code in sorted(labels) if code in present]
    return column.map(labels).astype(pd.CategoricalDtype(ordered, ordered=True))


# -- Messages --------------------------------------------------------------------------------------


def _needed(package: str, of: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ArdchoiceError(f"Reading files of {of} needs {package}: {HOW_TO_INSTALL}.") from error


def _unreadable(path: Path, what: str, error: Exception) -> ArdchoiceError:
    return ArdchoiceError(f"'{path}' is not {what} that can be read: {error}")


def _too_large(path: Path, rows: int, columns: int) -> ArdchoiceError:
    return ArdchoiceError(
        f"'{path}' has {rows:,} or more rows of {columns:,} columns, more than are read whole "
        f"({MOST_CELLS:,} cells): save it as Parquet or CSV."
    )
