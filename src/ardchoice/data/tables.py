"""Any table, a path or a data frame, as named NumPy columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from datetime import time as clock_time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.spreadsheets import is_foreign, read_foreign
from ardchoice.data.text_format import TextFormat, TextOptions, opener, sniff
from ardchoice.errors import ArdchoiceError, did_you_mean, first_few
from ardchoice.expressions import Expression, ExpressionError, evaluate

MISSING_TEXTS = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "."]
"""Cells of a text table that hold nothing. ``None`` is not among them: it may well be a level."""
ANY_COLUMN = "*"
"""Stands for every column that is not named."""
SINGLE_VALUES = (
    *(str, bool, int, float, Decimal, Fraction, np.generic, NoneType),
    *(date, clock_time, timedelta, pd.Period, pd.Interval, type(pd.NaT), type(pd.NA)),
)
"""Types of cells that hold one value."""
LONGEST_EXAMPLE = 60
"""Letters of a cell that a message repeats."""
SEPARATORS = ",;\t|"
"""Signs that separate cells, and that no name of a single column has."""
GIANT_CELLS = 100_000_000
GIANT_CELLS_PER_BYTE = 100
"""A Parquet file with more cells, and so many for each of its bytes, is no table."""
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
        Column -> labels of values that stand for missing ones, `ANY_COLUMN` for those of columns
        that are not named; and columns in which nothing does.
    derived
        Names of columns and the expressions that make them, in order: an expression may use
        columns derived before it, and the column that it replaces.
    """

    frame: nw.DataFrame[Any]
    name: str
    path: str | None = None
    text: TextFormat | None = None
    codes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()
    derived: tuple[tuple[str, Expression], ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[str]:
        """The column names, in order."""
        return list(dict.fromkeys([*self.frame.columns, *(name for name, _ in self.derived)]))

    @cached_property
    def _written(self) -> frozenset[str]:
        # Listing them takes time that grows with their number, for every column that is asked for.
        return frozenset(self.frame.columns)

    def __contains__(self, column: object) -> bool:
        return column in self._written or any(name == column for name, _ in self.derived)

    def column(self, name: str) -> Series:
        """The column of that name, or an error that lists the nearest names."""
        return self._column(name, len(self.derived))

    def _column(self, name: str, before: int) -> Series:
        """The column as the first so many derivations leave it."""
        for at in reversed(range(before)):
            if self.derived[at][0] == name:
                return self._derived(at)
        series = self._as_written(name)
        codes = self.codes.get(name, self.codes.get(ANY_COLUMN))
        return series if not codes or name in self.plain else without_codes(series, codes)

    def _derived(self, at: int) -> Series:
        name, expression = self.derived[at]
        try:
            found = evaluate(expression, lambda n: self._column(n, at).values, len(self))
        except ExpressionError as error:
            raise ExpressionError(f"derive[{name!r}], {error}") from None
        return Series(name, found.values)

    def _refuse_nested(self, name: str, values: npt.NDArray[Any]) -> None:
        """Raise where cells hold lists, objects and the like."""
        odd = {kind for kind in set(map(type, values)) if not _is_single(kind)}
        if not odd:
            return
        rows = [i for i, value in enumerate(values) if type(value) in odd]
        example = f"{values[rows[0]]!r}"
        shown = example if len(example) <= LONGEST_EXAMPLE else f"{example[:LONGEST_EXAMPLE]}..."
        raise ArdchoiceError(
            f"Column {name!r} of {self.name} has cells that are neither a number nor text "
            f"({type(values[rows[0]]).__name__}), such as {shown}: {len(rows)} "
            f"row{'s' if len(rows) != 1 else ''} ({first_few(rows)}). A cell has one value: make a "
            "column of each, or leave the column out."
        )

    def _as_written(self, name: str) -> Series:
        if name not in self._written:
            raise ArdchoiceError(
                f"Column {name!r} is not in {self.name}. {did_you_mean(name, self.columns)}"
            )
        series = self.frame[name]
        kind = series.dtype
        if kind == nw.Float64:
            # Not copied: whoever keeps the numbers copies them, those of many columns together.
            return Series(name, np.asarray(series.to_numpy(), dtype=float))
        if isinstance(kind, nw.Categorical | nw.Enum):
            return Series(name, _objects(series.to_list()), _declared_order(series))
        if kind.is_integer() and not series.null_count():
            return Series(name, np.array(series.to_numpy()))
        if kind == nw.Boolean or (kind.is_numeric() and not kind.is_integer()):
            return Series(name, np.asarray(series.cast(nw.Float64).to_numpy(), dtype=float))
        values = _objects(series.to_list())
        if kind == nw.String and not _holds_objects(series):
            return Series(name, values)
        self._refuse_nested(name, values)
        present = [v for v in values if v is not None]
        if not present or not all(isinstance(v, bool | int | float | np.number) for v in present):
            return Series(name, values)
        if kind.is_integer() and max(map(abs, present)) > LARGEST_EXACT_INTEGER:
            return Series(name, values)
        return Series(name, np.array([np.nan if v is None else _float(v) for v in values]))


def _holds_objects(series: nw.Series[Any]) -> bool:
    """Whether its cells may be anything: narwhals calls it text by its first hundred rows."""
    dtype: object = getattr(series.to_native(), "dtype", None)
    return dtype == np.dtype(object)


def _is_single(kind: type) -> bool:
    """Whether cells of a type hold one value that can be compared with others."""
    return issubclass(kind, SINGLE_VALUES) and not issubclass(kind, complex | np.complexfloating)


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


def open_table(source: object, options: TextOptions | None = None) -> Table:
    """A path (CSV, Parquet, Excel, Stata, SPSS) or any data frame, as a `Table`."""
    if isinstance(source, Table):
        return source
    name, where, style = "the table", None, None
    if isinstance(source, str | Path):
        path = Path(source)
        name, where = f"'{path.name}'", str(path.absolute())
        must_exist(path)
        if is_foreign(path):
            source = read_foreign(path)
            _refuse_repeated(Counter(source.columns), name)
        elif is_parquet(path):
            source = _read_parquet(path)
        else:
            style = sniff(path, options)
            source = next(read_text(path, style))
    if isinstance(source, pd.DataFrame):
        source = with_named_index(source)
    try:
        table = Table(nw.from_native(source, eager_only=True), name, where, style)
        _refuse_unseparated(table)
        return table
    except TypeError as error:
        raise ArdchoiceError(
            f"A table is a path (CSV, TSV, Parquet, Excel, Stata, SPSS) or a data frame (pandas, "
            f"polars, pyarrow), not {type(source).__name__}. A lazy frame must be collected first."
        ) from error
    except nw.exceptions.NarwhalsError as error:
        names = Counter(getattr(source, "column_names", getattr(source, "columns", ())))
        _refuse_repeated(names, name)
        raise ArdchoiceError(f"{name} cannot be read: {error}") from error


def with_named_index(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose named index levels are columns, with texts as names.

    Ids of situations and alternatives are often the index of a data frame, and a Parquet file that
    was written from it keeps them so.
    """
    named = [name for name in frame.index.names if name is not None and name not in frame.columns]
    if named:
        frame = frame.reset_index(level=named)
    if not all(isinstance(c, str) for c in frame.columns):
        frame = frame.set_axis([str(c) for c in frame.columns], axis=1)
    return frame


def _refuse_repeated(names: Counter[str], table: str) -> None:
    repeated = [f"{n!r} ({count} times)" for n, count in names.items() if count > 1]
    if repeated:
        raise ArdchoiceError(
            f"Columns of the same name in {table}: {first_few(repeated)}. Keep one of each: "
            "rename or remove the others."
        )


def _refuse_unseparated(table: Table) -> None:
    """Raise where the only column is a header with another separator in it."""
    if len(table.columns) != 1:
        return
    name = str(table.columns[0])
    counts = Counter(sign for sign in name if sign in SEPARATORS)
    if counts:
        (sign, _), *_ = counts.most_common(1)
        shown = name if len(name) <= LONGEST_EXAMPLE else f"{name[:LONGEST_EXAMPLE]}..."
        raise ArdchoiceError(
            f"{table.name} was read as a single column, {shown!r}: its cells are separated by "
            f"{sign!r}. Read it with separator={sign!r}, or leave separator out: it is detected "
            f"(pandas.read_csv: sep={sign!r})."
        )


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
    parquet = needs_pyarrow()
    try:
        about = parquet.read_metadata(path)
        _refuse_giant(path, about.num_rows, about.num_columns)
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise ArdchoiceError(f"'{path}' is not a Parquet file that can be read: {error}") from error


def _refuse_giant(path: Path, rows: int, columns: int) -> None:
    """Raise where a file declares far more cells than a table of its size can hold."""
    size, cells = max(path.stat().st_size, 1), rows * columns
    if cells > GIANT_CELLS and cells > GIANT_CELLS_PER_BYTE * size:
        raise ArdchoiceError(
            f"'{path}' has {size:,} bytes and declares {rows:,} rows of {columns:,} columns: no "
            "table is packed so tightly. Look at it first."
        )


def must_exist(path: Path) -> None:
    """Raise where there is no such file, naming the nearest."""
    if path.is_file():
        return
    if path.exists() and not path.is_dir():
        raise ArdchoiceError(
            f"'{path}' is not a file but a pipe or a device: write the table to a file first."
        )
    folder = path.parent if path.parent.is_dir() else Path()
    names = sorted(p.name for p in folder.iterdir() if p.is_file())
    alike = [name for name in names if Path(name).suffix.lower() == path.suffix.lower()]
    hint = did_you_mean(path.name, alike or names)
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
        "compression": "gzip" if opener(path) is not open else None,
        "skipinitialspace": True,
        "keep_default_na": False,
        "na_values": MISSING_TEXTS,
        "comment": style.comment,
        "skiprows": style.skip_rows,
        "low_memory": False,  # else the type of a column may change halfway down
    }
    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, **how)
        _refuse_repeated(Counter(header.iloc[0].dropna()), f"'{path.name}'")
        if as_text:
            how["dtype"] = {n: str for c in as_text for n in _spellings(c, header)}
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
            f"{style.encoding}: {error} Fix the table, or set separator, encoding, skip_rows or "
            "comment."
        ) from error


def _spellings(name: str, header: pd.DataFrame) -> list[str]:
    """A column as the file has it, perhaps with blanks around it."""
    return [str(c) for c in header.iloc[0].dropna() if str(c).strip() == name] or [name]


def _in_place(frame: pd.DataFrame, style: TextFormat) -> pd.DataFrame:
    """Cells under their headings.

    Where rows have more cells than the header, pandas takes the first ones for row names, as R
    writes them. When the last ones are empty, rows merely end in a separator: move cells back.
    """
    if style.beyond and frame.iloc[:, -style.beyond :].isna().all(axis=None):
        frame = frame.reset_index().iloc[:, : -style.beyond].set_axis(frame.columns, axis=1)
    # A name padded with blanks is the same name.
    names = [str(c).strip() for c in frame.columns]
    return frame.set_axis(names, axis=1) if len(set(names)) == len(names) else frame
