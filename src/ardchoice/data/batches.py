"""A file, or a folder of Parquet files, part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import pandas as pd

from ardchoice.data.spreadsheets import is_foreign
from ardchoice.data.tables import (
    Table,
    is_parquet,
    must_exist,
    needs_pyarrow,
    open_table,
    read_text,
    with_named_index,
)
from ardchoice.data.text_format import TextFormat, TextOptions, sniff
from ardchoice.errors import ArdchoiceError

BATCH = 1 << 17
"""Rows of a part."""
EXPANDED = 6
"""Times as large as a text file its table in memory is, roughly, while it is being read."""
CELL = 24
"""Bytes of a cell of a Parquet file in memory, while it is being read."""
COMFORT = 0.5
"""Share of the memory that is free which a table may take."""


@dataclass(frozen=True)
class Files:
    """Where a table lies.

    Attributes
    ----------
    path
        Of the file or folder, absolute.
    parts
        The files, in the order of their names.
    text
        How a text file is written; None for Parquet.
    as_text
        Columns of a text file that are read as they are written, since some cells are no numbers.
    """

    path: Path
    parts: tuple[Path, ...]
    text: TextFormat | None
    as_text: frozenset[str] = field(default=frozenset())

    @property
    def name(self) -> str:
        """As messages call it."""
        return f"'{self.path.name}'"

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[int, pd.DataFrame]]:
        """The number of the first row, and some rows; `columns` for some of them only."""
        start = 0
        for part in self.parts:
            frames = (
                self._parquet(part, columns)
                if self.text is None
                else read_text(part, self.text, BATCH, columns, self.as_text)
            )
            for frame in frames:
                if len(frame):
                    yield start, frame
                    start += len(frame)

    def _parquet(self, part: Path, columns: Sequence[str] | None) -> Iterator[pd.DataFrame]:
        pyarrow = needs_pyarrow()
        try:
            with pyarrow.ParquetFile(part) as file:
                known = set(file.schema_arrow.names)
                wanted = None if columns is None else [c for c in columns if c in known]
                for batch in file.iter_batches(BATCH, columns=wanted):
                    yield batch.to_pandas()
        except (OSError, ValueError) as error:
            raise ArdchoiceError(f"'{part}' cannot be read to its end: {error}") from None

    def table(self, frame: pd.DataFrame) -> Table:
        """Some rows as a table."""
        frame = with_named_index(frame)
        return Table(nw.from_native(frame, eager_only=True), self.name, str(self.path), self.text)


def find_files(source: str | Path, options: TextOptions | None = None) -> Files:
    """The files of a path, and how they are written."""
    path = Path(source).absolute()
    if path.is_dir():
        parts = tuple(sorted(p for p in path.iterdir() if p.suffix.lower() in (".parquet", ".pq")))
        if not parts:
            raise ArdchoiceError(
                f"There is no file '{path}': it is a folder, and one without Parquet files "
                "(*.parquet)."
            )
        return Files(path, parts, None)
    must_exist(path)
    if is_foreign(path):
        raise ArdchoiceError(
            f"'{path}' is read whole, not part by part: leave stream out, or save it as Parquet."
        )
    return Files(path, (path,), None if is_parquet(path) else sniff(path, options))


def streams(source: object, wanted: bool | None) -> bool:
    """Whether a table is read part by part: as asked, or where memory might not do."""
    if not isinstance(source, str | Path):
        if wanted:
            raise ArdchoiceError(
                "stream=True reads a file part by part; this table is in memory already. "
                "Pass the path of a Parquet or CSV file, or of a folder of Parquet files."
            )
        return False
    if wanted is not None:
        return wanted
    path = Path(source)
    if path.is_dir():
        return True
    free = free_memory()
    if is_foreign(path):
        return False
    return path.is_file() and free is not None and _in_memory(path) > COMFORT * free


def look_at(source: object, options: TextOptions | None = None) -> Table:
    """A table, or its first rows where it is to be read part by part."""
    if isinstance(source, str | Path) and streams(source, None):
        files = find_files(source, options)
        return files.table(next(files.batches(), (0, pd.DataFrame()))[1])
    return open_table(source, options)


def _in_memory(path: Path) -> float:
    """Bytes that reading a file into memory takes, roughly."""
    size = path.stat().st_size
    if size < 1 << 26:  # not worth a look
        return 0.0
    if not is_parquet(path):
        return float(EXPANDED * size * (8 if path.suffix.lower() == ".gz" else 1))
    try:
        about: Any = needs_pyarrow().read_metadata(path)
    except (OSError, ValueError, ArdchoiceError):
        return 0.0  # reading will say what is wrong
    return float(CELL * about.num_rows * about.num_columns)


def free_memory() -> int | None:
    """Bytes that are free, or used for nothing but files that could be read again."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
