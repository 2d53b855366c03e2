"""Any table, a path or a data frame, as named NumPy columns."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.errors import ArdchoiceError, did_you_mean, first_few

SNIFF_BYTES = 1 << 16
SNIFF_LINES = 50
"""The beginning of a text file from which its format is detected."""
CELL_SEPARATORS = (",", "\t", ";", "|", " ")
DECIMAL_COMMA = re.compile(r"^[+-]?\d*,\d+$")
DECIMAL_POINT = re.compile(r"^[+-]?\d*\.\d+$")
MISSING_TEXTS = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "."]
"""Cells of a text table that hold nothing. ``None`` is not among them: it may well be a level."""
LARGEST_EXACT_INTEGER = 2**53
"""Beyond this, float64 no longer distinguishes neighbouring whole numbers (ids)."""


@dataclass(frozen=True)
class Series:
    """One column: values (numbers as whole numbers or float64 with NaN, else objects with None).

    `order` holds the categories of a column that declares them, in their own order.
    """

    name: str
    values: npt.NDArray[Any]
    order: tuple[object, ...] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers (true/false counts as 1/0)."""
        return self.values.dtype.kind in "iuf"

    def missing(self) -> npt.NDArray[np.bool_]:
        """Where the value is absent; shape (rows,)."""
        return np.asarray(pd.isna(self.values), dtype=bool)


@dataclass(frozen=True)
class TextFormat:
    """The format of a text table; `beyond`: how many more cells rows have than the header."""

    encoding: str
    separator: str
    decimal: str
    beyond: int = 0


@dataclass(frozen=True)
class Table:
    """A rectangular table that hands out its columns one at a time.

    Attributes
    ----------
    frame
    name
        As messages call it.
    path, text
        Of a file, absolute, and how its text is written; None for data frames.
    codes, plain
        Labels of values that stand for missing ones, and columns in which they do not.
    """

    frame: nw.DataFrame[Any]
    name: str
    path: str | None = None
    text: TextFormat | None = None
    codes: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()

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
        series = self._as_written(name)
        if not self.codes or name in self.plain:
            return series
        return without_codes(series, self.codes)

    def _as_written(self, name: str) -> Series:
        if name not in self:
            raise ArdchoiceError(
                f"Column {name!r} is not in {self.name}. {did_you_mean(name, self.columns)}"
            )
        series = self.frame[name]
        kind = series.dtype
        if isinstance(kind, nw.Categorical | nw.Enum):
            return Series(name, _objects(series.to_list()), _declared_order(series))
        if kind.is_integer() and not series.null_count():
            return Series(name, np.array(series.to_numpy()))
        if kind == nw.Boolean or (kind.is_numeric() and not kind.is_integer()):
            return Series(name, np.array(series.cast(nw.Float64).to_numpy(), dtype=float))
        values = _objects(series.to_list())
        if kind == nw.String:
            return Series(name, values)
        present = [v for v in values if v is not None]
        if not present or not all(isinstance(v, bool | int | float | np.number) for v in present):
            return Series(name, values)
        if kind.is_integer() and max(map(abs, present)) > LARGEST_EXACT_INTEGER:
            return Series(name, values)
        return Series(name, np.array([np.nan if v is None else _float(v) for v in values]))


def label(value: object) -> str:
    """The text of a level: 1.0 and True are ``1``, strings are themselves."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def without_codes(series: Series, codes: Collection[str]) -> Series:
    """A column with nothing where values stand for missing ones."""
    if series.is_numeric:
        numbers = pd.to_numeric(pd.Series(list(codes), dtype=object), errors="coerce").dropna()
        is_code = np.isin(series.values, numbers.to_numpy(dtype=float))
        if not is_code.any():
            return series
        return replace(series, values=np.where(is_code, np.nan, series.values))
    rows, distinct = pd.factorize(series.values)
    is_code = np.array([*(label(v).strip() in codes for v in distinct), False])[rows]
    if not is_code.any():
        return series
    values = series.values.copy()
    values[is_code] = None
    return replace(series, values=values)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number with hundreds of digits
        return np.inf if value > 0 else -np.inf


def _objects(values: list[object]) -> npt.NDArray[Any]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    out[np.asarray(pd.isna(out), dtype=bool)] = None
    return out


def _declared_order(series: nw.Series[Any]) -> tuple[object, ...] | None:
    """The categories where their order was declared; None where it is that of the rows."""
    native = series.to_native()
    declared = (
        isinstance(series.dtype, nw.Enum)
        or isinstance(getattr(native, "dtype", None), pd.CategoricalDtype)
        or getattr(getattr(native, "type", None), "ordered", False)  # an Arrow dictionary
    )
    return tuple(series.cat.get_categories().to_list()) if declared else None


def open_table(source: object) -> Table:
    """A path (CSV, TSV, Parquet) or any data frame that narwhals knows, as a `Table`."""
    if isinstance(source, Table):
        return source
    name, where, style = "the table", None, None
    if isinstance(source, str | Path):
        path = Path(source)
        name, where = f"'{path.name}'", str(path.absolute())
        must_exist(path)
        style = None if is_parquet(path) else sniff(path)
        source = _read_parquet(path) if style is None else next(read_text(path, style))
    if isinstance(source, pd.DataFrame) and not all(isinstance(c, str) for c in source.columns):
        source = source.set_axis([str(c) for c in source.columns], axis=1)
    try:
        return Table(nw.from_native(source, eager_only=True), name, where, style)
    except TypeError as error:
        raise ArdchoiceError(
            f"A table is a path (CSV, TSV, Parquet) or a data frame (pandas, polars, pyarrow), "
            f"not {type(source).__name__}. A lazy frame must be collected first."
        ) from error
    except nw.exceptions.NarwhalsError as error:
        names = Counter(getattr(source, "column_names", getattr(source, "columns", ())))
        _refuse_repeated(names, name)
        raise ArdchoiceError(f"{name} cannot be read: {error}") from error


def _refuse_repeated(names: Counter[str], table: str) -> None:
    repeated = [f"{n!r} ({count} times)" for n, count in names.items() if count > 1]
    if repeated:
        raise ArdchoiceError(
            f"Columns of the same name in {table}: {first_few(repeated)}. Keep one of each: "
            "rename or remove the others."
        )


def _opener(path: Path) -> Callable[..., Any]:
    return gzip.open if path.suffix.lower() == ".gz" else open


def is_parquet(path: Path) -> bool:
    """By its name, or by how it begins."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def needs_pyarrow() -> Any:
    """The Parquet part of pyarrow, or an error with how to install it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ArdchoiceError(
            "Reading Parquet needs pyarrow: pip install 'ardchoice[parquet]'."
        ) from error
    return pyarrow.parquet


def _read_parquet(path: Path) -> pd.DataFrame:
    needs_pyarrow()
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise ArdchoiceError(f"'{path}' is not a Parquet file that can be read: {error}") from error


def must_exist(path: Path) -> None:
    """Raise where there is no such file, naming the nearest."""
    if path.is_file():
        return
    folder = path.parent if path.parent.is_dir() else Path()
    hint = did_you_mean(path.name, sorted(p.name for p in folder.iterdir() if p.is_file()))
    raise ArdchoiceError(f"There is no file '{path}'. {hint}")


def read_text(
    path: Path,
    style: TextFormat,
    size: int | None = None,
    columns: Sequence[str] | None = None,
    as_text: Collection[str] = (),
) -> Iterator[pd.DataFrame]:
    """A text table, all at once or `size` rows at a time.

    Parameters
    ----------
    path, style
    size
        Rows of a part. Default: all.
    columns
        Default: all.
    as_text
        Columns whose cells are read as text.
    """
    how: dict[str, Any] = {
        "sep": r"\s+" if style.separator == " " else style.separator,
        "encoding": style.encoding,
        "decimal": style.decimal,
        "compression": "gzip" if _opener(path) is gzip.open else None,
        "skipinitialspace": True,
        "keep_default_na": False,
        "na_values": MISSING_TEXTS,
        "low_memory": False,  # else the type of a column may change halfway down
    }
    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, **how)
        _refuse_repeated(Counter(header.iloc[0].dropna()), f"'{path.name}'")
        if as_text:
            how["dtype"] = dict.fromkeys(as_text, str)
        if size is None:
            yield _in_place(pd.read_csv(path, **how), style)
            return
        with pd.read_csv(path, chunksize=size, **how) as parts:
            for frame in parts:
                part = _in_place(frame, style).reset_index(drop=True)
                yield part if columns is None else part[[c for c in columns if c in part]]
    except (ValueError, pd.errors.ParserError, UnicodeError, OSError) as error:
        raise ArdchoiceError(
            f"'{path}' cannot be read as a table with separator {style.separator!r} and encoding "
            f"{style.encoding}: {error} Read it with pandas.read_csv and pass the frame instead."
        ) from error


def _in_place(frame: pd.DataFrame, style: TextFormat) -> pd.DataFrame:
    """Cells under their headings.

    Where rows have more cells than the header, pandas takes the first ones for row names, as R
    writes them. When the last ones are empty, rows merely end in a separator: move cells back.
    """
    if style.beyond and frame.iloc[:, -style.beyond :].isna().all(axis=None):
        return frame.reset_index().iloc[:, : -style.beyond].set_axis(frame.columns, axis=1)
    return frame


def sniff(path: Path) -> TextFormat:
    """Detect encoding (by its byte-order mark, else UTF-8, else cp1252), separator, decimal."""
    try:
        with _opener(path)(path, "rb") as file:
            head: bytes = file.read(SNIFF_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise ArdchoiceError(f"'{path}' cannot be opened: {error}") from error
    encoding = _encoding(head, path) if head else "utf-8"
    lines = [line for line in head.decode(encoding, errors="ignore").splitlines() if line.strip()]
    if not lines:
        raise ArdchoiceError(f"'{path}' is empty.")
    if len(head) == SNIFF_BYTES and len(lines) > 1:
        lines.pop()  # cut off in the middle
    separator = _separator(lines[:SNIFF_LINES])
    rows = list(_cells(lines, separator))
    commas = sum(bool(DECIMAL_COMMA.match(c)) for row in rows[1:] for c in row)
    points = sum(bool(DECIMAL_POINT.match(c)) for row in rows[1:] for c in row)
    beyond = max(len(rows[1]) - len(rows[0]), 0) if len(rows) > 1 else 0
    return TextFormat(encoding, separator, "," if commas > points else ".", beyond)


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
    except (OSError, EOFError, zlib.error) as error:
        raise ArdchoiceError(f"'{path}' cannot be read to its end: {error}") from error
    return "utf-8"


def _cells(lines: list[str], separator: str) -> Iterator[list[str]]:
    """The cells of every row; several blanks part cells like one."""
    for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
        yield [c.strip() for c in row if c or separator != " "]


def _separator(lines: list[str]) -> str:
    """The separator that cuts the most lines into the same number (>1) of cells.

    Among equals a blank comes last, because it also stands inside names and dates; then the one
    that makes the most cells wins.
    """

    def score(separator: str) -> tuple[float, bool, int]:
        counts = Counter(map(len, _cells(lines, separator)))
        cells, agreeing = counts.most_common(1)[0]
        return (agreeing / len(lines) if cells > 1 else 0.0, separator != " ", cells)

    best = max(CELL_SEPARATORS, key=score)
    return best if score(best)[0] > 0 else ","
