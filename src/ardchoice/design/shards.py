"""Shards: ranges of rows that are sent to workers, or read there from the same files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice.data import Attribute, ChoiceData, Covariate
from ardchoice.errors import ArdchoiceError

Array = npt.NDArray[Any]

SHARDS = 256
"""How many shards large data have: enough for as many cores, few enough to be kept track of."""
FEWEST, MOST = 1 << 14, 1 << 20
"""Rows of a shard: telling a worker what to do takes about a millisecond, so that it should have
work for many; and what is lost with a worker should be soon done again."""
LEAST, AT_LEAST = 1 << 10, 4
"""Small data are still made into so many shards, if these have so many rows."""


def shard_rows(n: int) -> int:
    """Rows of a shard, from how many rows there are alone: the same sums on any cluster."""
    usual = min(max(n // SHARDS, FEWEST), MOST)
    return max(min(usual, n // AT_LEAST), LEAST)


@dataclass(frozen=True)
class Mapped:
    """Part of an array that lies in a file.

    Attributes
    ----------
    path
        Of the file, absolute.
    offset, shape, dtype
        Of the whole array in it, rows last.
    size
        Of the file in bytes, as it was when work began.
    rows
        Which of them: (first, one past the last).
    """

    path: str
    offset: int
    shape: tuple[int, ...]
    dtype: str
    size: int
    rows: tuple[int, int]

    def open(self) -> Array:
        """The part, read as it is needed."""
        path = Path(self.path)
        if not path.exists():
            raise ArdchoiceError(
                f"A worker does not see {path}. The folder with the compact columns must lie "
                "where all workers can read it under the same name, such as a shared disk; or "
                "read the table into memory (stream=False), then its rows are sent."
            )
        if path.stat().st_size != self.size:
            raise ArdchoiceError(
                f"{path} has {path.stat().st_size:,} bytes where a worker reads it, and had "
                f"{self.size:,} when work began. Read the table again."
            )
        whole = np.memmap(path, self.dtype, "r", self.offset, self.shape)
        return np.asarray(whole[..., self.rows[0] : self.rows[1]])


Column = Array | Mapped


@dataclass(frozen=True, eq=False)
class Shard:
    """Some rows of choices, as they travel.

    Attributes
    ----------
    token
        Its name, different from that of all others.
    rows
        How many.
    frame
        The data without their arrays.
    columns
        The arrays by (where, name), as small as can be.
    always
        Whether all alternatives are always available; then there is no array of it.
    """

    token: str
    rows: int
    frame: ChoiceData
    columns: Mapping[tuple[str, str], Column]
    always: bool = False

    def data(self) -> ChoiceData:
        """The rows as choices, persons numbered as in all of the data."""
        found = {
            key: column.open() if isinstance(column, Mapped) else column
            for key, column in self.columns.items()
        }

        def own(name: str, dtype: type[np.generic] | None = None) -> Any:
            column = found.get(("", name))
            return None if column is None else column.astype(dtype or column.dtype, copy=False)

        everywhere = np.broadcast_to(np.True_, (len(self.frame.alternatives), self.rows))
        return replace(
            self.frame,
            available=everywhere if self.always else own("available"),
            choice=own("choice", np.intp),
            person=own("person"),
            weight=own("weight"),
            situation=np.broadcast_to(np.int8(0), self.rows),
            attributes={
                n: replace(a, values=found["attribute", n])
                for n, a in self.frame.attributes.items()
            },
            covariates={
                n: replace(c, values=found["covariate", n])
                for n, c in self.frame.covariates.items()
            },
        )


def cut(data: ChoiceData, rows: slice, token: str) -> Shard:
    """A range of rows, to be sent.

    What a worker has no use for, such as the ids of situations, is not in it.
    """
    always = bool(data.available[:, rows].all())
    arrays: dict[tuple[str, str], Array | None] = {
        ("", "available"): None if always else data.available,
        ("", "choice"): data.choice,
        ("", "person"): data.person,
        ("", "weight"): data.weight,
    }
    arrays |= {("attribute", n): a.values for n, a in data.attributes.items()}
    arrays |= {("covariate", n): c.values for n, c in data.covariates.items()}
    columns = {key: _part(array, rows) for key, array in arrays.items() if array is not None}
    return Shard(token, rows.stop - rows.start, _frame(data), columns, always)


def _frame(data: ChoiceData) -> ChoiceData:
    """All but the rows."""

    def empty(v: Attribute | Covariate) -> Any:
        return replace(v, values=np.empty((*v.values.shape[:-1], 0)), recoding=None)

    return ChoiceData(
        alternatives=data.alternatives,
        available=np.empty((len(data.alternatives), 0), dtype=bool),
        choice=None,
        attributes={n: empty(a) for n, a in data.attributes.items()},
        covariates={n: empty(c) for n, c in data.covariates.items()},
        person=None,
        weight=None,
        situation=np.empty(0),
    )


def _part(array: Array, rows: slice) -> Column:
    """Where it can be read, or a copy in few bytes."""
    file = _file(array)
    if file is not None:
        return replace(file, rows=(rows.start, rows.stop))
    part = np.ascontiguousarray(array[..., rows])
    if part.dtype.kind == "i" and part.size:
        low, high = part.min(), part.max()
        kinds = (np.dtype(f"i{size}") for size in (1, 2, 4, 8))
        small = next(k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
        part = part.astype(small, copy=False)
    return part


def _file(array: Array) -> Mapped | None:
    """Where an array that is mapped from a file lies, if all of what is mapped is in it."""
    whole = array if isinstance(array, np.memmap) else array.base
    if not isinstance(whole, np.memmap) or whole.filename is None:
        return None
    if isinstance(whole.base, np.memmap) or whole.shape != array.shape:
        return None  # a part of another, whose place is not known
    if array.strides != whole.strides or not array.flags.c_contiguous:
        return None
    path = Path(whole.filename).resolve()
    size = path.stat().st_size
    return Mapped(str(path), int(whole.offset), array.shape, array.dtype.str, size, (0, 0))
