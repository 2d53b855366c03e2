"""Any table at the door: a path or a data frame becomes named NumPy columns."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.errors import ArdchoiceError, did_you_mean

SNIFF_BYTES = 1 << 16
SEPARATORS = (",", "\t", ";", "|", " ")
DECIMAL_COMMA = re.compile(r"^-?\d+,\d+$")


@dataclass(frozen=True)
class Series:
    """One column: values (numbers as float64 with NaN, all else as objects with None).

    `order` holds the categories of a categorical column, in their own order.
    """

    name: str
    values: npt.NDArray[Any]
    order: tuple[object, ...] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers (true/false counts as 1/0)."""
        return self.values.dtype.kind == "f"

    def missing(self) -> npt.NDArray[np.bool_]:
        """Where the value is absent; shape (rows,)."""
        return np.asarray(pd.isna(self.values), dtype=bool)


@dataclass(frozen=True)
class Table:
    """A rectangular table that hands out its columns one at a time."""

    frame: nw.DataFrame[Any]
    name: str

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """The column names, in order."""
        return list(self.frame.columns)

    def __contains__(self, column: object) -> bool:
        return column in self.frame.columns

    def column(self, name: str) -> Series:
        """The column of that name, or an error that lists the nearest names."""
        if name not in self:
            raise ArdchoiceError(
                f"Column {name!r} is not in {self.name}. {did_you_mean(name, self.columns)}"
            )
        series = self.frame[name]
        if isinstance(series.dtype, nw.Categorical | nw.Enum):
            order = tuple(series.cat.get_categories().to_list())
            return Series(name, _objects(series.to_list()), order)
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return Series(name, np.asarray(series.cast(nw.Float64).to_numpy(), dtype=float))
        values = _objects(series.to_list())
        present = [v for v in values if v is not None]
        if present and all(isinstance(v, bool | int | float | np.number) for v in present):
            return Series(name, np.array([np.nan if v is None else float(v) for v in values]))
        return Series(name, values)


def _objects(values: list[object]) -> npt.NDArray[Any]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    out[np.asarray(pd.isna(out), dtype=bool)] = None
    return out


def open_table(source: object) -> Table:
    """A path (CSV, TSV, Parquet) or any data frame that narwhals knows, as a `Table`."""
    if isinstance(source, str | Path):
        path = Path(source)
        frame = _read_parquet(path) if path.suffix == ".parquet" else _read_text(path)
        return Table(nw.from_native(frame, eager_only=True), f"'{path.name}'")
    try:
        return Table(nw.from_native(source, eager_only=True), "the table")
    except TypeError as error:
        raise ArdchoiceError(
            f"A table is a path (CSV, TSV, Parquet) or a data frame (pandas, polars, pyarrow), "
            f"not {type(source).__name__}. A lazy frame must be collected first."
        ) from error


def _opener(path: Path) -> Callable[..., Any]:
    return gzip.open if path.suffix == ".gz" else open


def _read_parquet(path: Path) -> pd.DataFrame:
    _must_exist(path)
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise ArdchoiceError(
            "Reading Parquet needs pyarrow: pip install 'ardchoice[parquet]'."
        ) from error
    except (OSError, ValueError) as error:
        raise ArdchoiceError(f"'{path}' is not a Parquet file that can be read: {error}") from error


def _must_exist(path: Path) -> None:
    if path.is_file():
        return
    folder = path.parent if path.parent.is_dir() else Path()
    hint = did_you_mean(path.name, sorted(p.name for p in folder.iterdir() if p.is_file()))
    raise ArdchoiceError(f"There is no file '{path}'. {hint}")


@dataclass(frozen=True)
class TextFormat:
    """How a text table is written."""

    encoding: str
    separator: str
    decimal: str


def _read_text(path: Path) -> pd.DataFrame:
    _must_exist(path)
    style = sniff(path)
    try:
        return pd.read_csv(
            path,
            sep=r"\s+" if style.separator == " " else style.separator,
            encoding=style.encoding,
            decimal=style.decimal,
            skipinitialspace=True,
        )
    except (ValueError, pd.errors.ParserError, UnicodeError, OSError) as error:
        raise ArdchoiceError(
            f"'{path}' cannot be read as a table with separator {style.separator!r} and encoding "
            f"{style.encoding}: {error} Read it with pandas.read_csv and pass the frame instead."
        ) from error


def sniff(path: Path) -> TextFormat:
    """Find out encoding (by its byte-order mark, else UTF-8, else cp1252), separator, decimal."""
    try:
        with _opener(path)(path, "rb") as file:
            head: bytes = file.read(SNIFF_BYTES)
    except (OSError, EOFError) as error:
        raise ArdchoiceError(f"'{path}' cannot be opened: {error}") from error
    if not head.strip():
        raise ArdchoiceError(f"'{path}' is empty.")
    encoding = _encoding(head, path)
    text = head.decode(encoding, errors="ignore")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(head) == SNIFF_BYTES and len(lines) > 1:
        lines.pop()  # cut off in the middle
    separator = _separator(lines[:50])
    decimal = "."
    if separator != ",":
        cells = [c.strip() for row in csv.reader(lines[1:50], delimiter=separator) for c in row]
        commas = sum(bool(DECIMAL_COMMA.match(c)) for c in cells)
        points = sum(bool(re.match(r"^-?\d+\.\d+$", c)) for c in cells)
        decimal = "," if commas > points else "."
    return TextFormat(encoding, separator, decimal)


def _encoding(head: bytes, path: Path) -> str:
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in head:
        raise ArdchoiceError(
            f"'{path}' is not a text table: it holds zero bytes. "
            "Name a Parquet file with the ending .parquet; save a spreadsheet as CSV."
        )
    # The whole file decides: an accent may come only in the last row.
    try:
        with _opener(path)(path, "rt", encoding="utf-8", newline="") as file:
            while file.read(SNIFF_BYTES):
                pass
    except UnicodeDecodeError:
        return "cp1252"
    except (OSError, EOFError) as error:
        raise ArdchoiceError(f"'{path}' cannot be read to its end: {error}") from error
    return "utf-8"


def _separator(lines: list[str]) -> str:
    """The separator that cuts every line into the same number (>1) of cells, the most cells."""

    def score(separator: str) -> tuple[float, int]:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")
        counts = Counter(len(row) for row in rows)
        cells, agreeing = counts.most_common(1)[0]
        return (agreeing / len(lines) if cells > 1 else 0.0, cells)

    best = max(SEPARATORS, key=score)
    return best if score(best)[0] > 0 else ","
