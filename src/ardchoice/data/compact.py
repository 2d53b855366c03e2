"""Compact columns: choices on disk, each column in the smallest numbers that hold it exactly.

A folder with a manifest and a file per column, which are mapped into memory rather than read.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice.data.choices import ROWS, Attribute, ChoiceData, Covariate, MappedFolder
from ardchoice.data.number_text import NumberFormat
from ardchoice.data.person_rows import person_codes
from ardchoice.data.recode import Recoding
from ardchoice.data.source import Source
from ardchoice.errors import ArdchoiceError, Problem
from ardchoice.files import checksum

Array = npt.NDArray[Any]

SCHEMA = 4
"""Of the folder; another one is not opened."""
MANIFEST = "manifest.json"
WHOLE = (np.int8, np.int16, np.int32, np.int64)
MOST_IN_MEMORY = 1 << 29
"""Bytes of rows that are taken into memory; more go to a folder of their own."""


class DamagedError(ArdchoiceError):
    """A folder of compact columns is not what its manifest says."""


def smallest(values: Array) -> np.dtype[Any]:
    """The smallest type that holds these values exactly: whole numbers, float32, float64, text."""
    if values.dtype.kind in "bSU":
        return values.dtype
    if values.dtype.kind == "O":
        return np.array([str(v) for v in values]).dtype
    if not len(values):
        return np.dtype(np.int8)
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            whole = np.isfinite(values).all() and np.array_equal(values, np.rint(values))
            # A minus zero is none of the whole numbers.
            if whole and np.abs(values).max() < 2**31 and not np.signbit(values[values == 0]).any():
                return _whole(values)
            narrow = values.astype(np.float32)
            return np.dtype(np.float32 if np.array_equal(narrow, values, True) else np.float64)
    return _whole(values)


def _whole(values: Array) -> np.dtype[Any]:
    low, high = int(values.min()), int(values.max())
    for kind in WHOLE:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind)
    return values.dtype  # beyond int64


def common(kinds: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The smallest type that holds what each of these does."""
    found = np.result_type(*kinds) if kinds else np.dtype(np.int8)
    # NumPy takes a 32-bit whole number and a float32 to float64, as it must be.
    return np.dtype(np.float64) if found == np.float16 else found


# -- Writing -------------------------------------------------------------------------------------


class Column:
    """A column on its way to the disk, piece by piece, without knowing how long it will be."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.pieces"
        self.pieces: list[tuple[np.dtype[Any], int]] = []
        self._file = self.path.open("wb")

    def append(self, values: Array, kind: np.dtype[Any] | None = None) -> None:
        """One more piece; shape (n,)."""
        kind = smallest(values) if kind is None else kind
        self._file.write(np.ascontiguousarray(values.astype(kind)).data)
        self.pieces.append((kind, len(values)))

    def flush(self) -> None:
        """What was appended can be read."""
        self._file.flush()

    def close(self) -> None:
        """Nothing more comes."""
        self._file.close()

    @property
    def kind(self) -> np.dtype[Any]:
        """The smallest type that holds all pieces."""
        return common([kind for kind, n in self.pieces if n])

    def __len__(self) -> int:
        return sum(n for _, n in self.pieces)

    def read(self) -> Iterator[Array]:
        """Piece after piece."""
        with self.path.open("rb") as file:
            for kind, n in self.pieces:
                yield np.frombuffer(file.read(n * kind.itemsize), dtype=kind)


@dataclass(frozen=True)
class Stored:
    """A file of the folder: its name, type, shape, and what is in it."""

    file: str
    kind: str
    shape: tuple[int, ...]
    checksum: str


def store(folder: Path, name: str, rows: Sequence[Iterator[Array]], like: Stored) -> Stored:
    """Write an array of one or two axes, each row from pieces; `like` says type and shape.

    Ordinary writes, so that a full disk is an error and not the end of the process.
    """
    digest = sha256()
    with (folder / name).open("wb") as file:
        for row in rows:
            for piece in row:
                data = np.ascontiguousarray(piece.astype(np.dtype(like.kind))).data
                file.write(data)
                digest.update(data)
    # Not forced onto the disk: what a crash damages, its checksum shows the next time.
    return replace(like, file=name, checksum=digest.hexdigest())


def store_columns(
    folder: Path,
    name: str,
    columns: Sequence[Column],
    *,
    flat: bool,
    change: Callable[[Array], Array] | None = None,
    kind: np.dtype[Any] | None = None,
) -> Stored:
    """Columns that are complete, as one array; their pieces are removed."""
    for column in columns:
        column.close()
    kind = common([c.kind for c in columns]) if kind is None else kind
    n = len(columns[0])
    shape = (n,) if flat else (len(columns), n)
    pieces = [c.read() if change is None else map(change, c.read()) for c in columns]
    stored = store(folder, f"{name}.bin", pieces, Stored("", kind.str, shape, ""))
    for column in columns:
        column.path.unlink()
    return stored


def store_whole(folder: Path, name: str, values: Array) -> Stored:
    """A column that is at hand; shape (n,)."""
    column = Column(folder, name)
    column.append(values)
    return store_columns(folder, name, [column], flat=True)


def write_manifest(
    folder: Path,
    data: ChoiceData,
    files: Mapping[str, Stored],
    *,
    n: int,
    persons: int | None,
    times_available: Sequence[int],
    about: Mapping[str, object],
) -> None:
    """What is in the folder: everything of the data but the arrays, and where each of these is."""
    content = {
        "schema": SCHEMA,
        "alternatives": data.alternatives,
        "attributes": [_variable(a, a.alternatives) for a in data.attributes.values()],
        "covariates": [_variable(c, None) for c in data.covariates.values()],
        "warnings": [asdict(p) for p in data.warnings],
        "files": {key: asdict(stored) for key, stored in files.items()},
        "n": n,
        "persons": persons,
        "times_available": list(times_available),
        "about": about,
        "weight_scale": data.weight_scale,
    }
    with (folder / MANIFEST).open("w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, indent=1)


def _variable(variable: Attribute | Covariate, alternatives: object) -> dict[str, object]:
    recoding = variable.recoding
    return {
        "name": variable.name,
        "alternatives": alternatives,
        "levels": variable.levels,
        "reference": variable.reference,
        "recoding": None if recoding is None else asdict(recoding),
        "written": None if variable.written is None else asdict(variable.written),
    }


# -- Opening -------------------------------------------------------------------------------------


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, or an error that says what is wrong with it."""
    try:
        content: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DamagedError(f"'{folder}' holds no compact columns that can be read: {error}") from (
            None
        )
    if content.get("schema") != SCHEMA:
        raise DamagedError(
            f"'{folder}' was written by another version of ardchoice (schema "
            f"{content.get('schema')!r}, this one reads {SCHEMA})."
        )
    return content


def open_compact(folder: Path, *, verify: bool = True) -> ChoiceData:
    """Choices whose arrays are mapped from a folder.

    Parameters
    ----------
    folder
    verify
        Whether every byte is compared with the checksums of the manifest, or sizes only.
    """
    content = read_manifest(folder)
    arrays = {
        key: _mapped(folder, Stored(**{**stored, "shape": tuple(stored["shape"])}), verify)
        for key, stored in content["files"].items()
    }
    n, names = content["n"], tuple(content["alternatives"])
    available = arrays.get("available")
    if available is None:  # a single bit for all of them
        available = np.broadcast_to(np.True_, (len(names), n))
    data = ChoiceData(
        alternatives=names,
        available=available,
        choice=arrays.get("choice"),
        attributes={
            v["name"]: Attribute(
                v["name"],
                tuple(v["alternatives"]),
                arrays[f"attribute {i}"],
                *_levels(v),
            )
            for i, v in enumerate(content["attributes"])
        },
        covariates={
            v["name"]: Covariate(v["name"], arrays[f"covariate {i}"], *_levels(v))
            for i, v in enumerate(content["covariates"])
        },
        person=arrays.get("person"),
        weight=arrays.get("weight"),
        situation=arrays["situation"],
        warnings=tuple(
            Problem(p["severity"], p["code"], p["message"], tuple(p["rows"]))
            for p in content["warnings"]
        ),
        weight_scale=content["weight_scale"],
        person_ids=arrays.get("person_ids"),
    )
    data.__dict__["n_persons"] = content["persons"]
    data.__dict__["times_available"] = np.array(content["times_available"], dtype=np.intp)
    return changed(data, mapped_from=MappedFolder(str(folder)))


def changed(data: ChoiceData, **fields: Any) -> ChoiceData:
    """The same rows with other fields: what was counted over them stays known."""
    known = {k: v for k, v in data.__dict__.items() if k in ("n_persons", "times_available")}
    out = replace(data, **fields)
    out.__dict__.update(known)
    return out


def with_source(data: ChoiceData, source: Source) -> ChoiceData:
    """The same data, known to come from a table."""
    return changed(data, source=source)


def _levels(
    v: Mapping[str, Any],
) -> tuple[tuple[str, ...] | None, int, Recoding | None, NumberFormat | None]:
    recoding = v["recoding"]
    if recoding is not None:
        recoding = Recoding(
            levels=tuple(recoding["levels"]),
            reference=recoding["reference"],
            to_level=recoding["to_level"],
            edges=tuple(recoding["edges"]),
            missing=recoding["missing"],
            closed=recoding["closed"],
        )
    written = None if v["written"] is None else NumberFormat(**v["written"])
    return None if v["levels"] is None else tuple(v["levels"]), v["reference"], recoding, written


def _mapped(folder: Path, stored: Stored, verify: bool) -> Array:
    path = folder / stored.file
    kind, size = np.dtype(stored.kind), int(np.prod(stored.shape))
    if not path.is_file() or path.stat().st_size != size * kind.itemsize:
        raise DamagedError(f"'{path}' is missing or cut off. Remove '{folder}' to make it again.")
    if verify and checksum(path) != stored.checksum:
        raise DamagedError(f"'{path}' was changed or damaged. Remove '{folder}' to make it again.")
    if not size:
        return np.empty(stored.shape, dtype=kind)
    # A plain array over the map: slices of a memmap are made in Python, and there will be many.
    return np.asarray(np.memmap(path, dtype=kind, mode="r", shape=stored.shape))


# -- Where data lie --------------------------------------------------------------------------------


class _Keep:
    """A folder that goes when nobody uses it any more."""


def temporary_folder() -> tuple[Path, object]:
    """A new folder, below ARDCHOICE_CACHE if that is set, and what removes it in the end."""
    base = os.environ.get("ARDCHOICE_CACHE")
    try:
        if base:
            Path(base).mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix="ardchoice-", dir=base or None)
    except OSError as error:
        raise ArdchoiceError(
            f"No temporary folder can be made in '{base or tempfile.gettempdir()}': "
            f"{error.strerror or error}. Set ARDCHOICE_CACHE to a folder with room."
        ) from None
    keep = _Keep()
    weakref.finalize(keep, shutil.rmtree, folder, True)
    return Path(folder), keep


def write_compact(data: ChoiceData, folder: Path, rows: npt.NDArray[np.intp] | None = None) -> None:
    """Write data to an empty folder, or some of their rows, persons renumbered."""
    n = len(data) if rows is None else len(rows)
    files: dict[str, Stored] = {}

    def put(
        name: str, array: Array, kind: type | None = None, at: npt.NDArray[np.intp] | None = rows
    ) -> None:
        columns: list[Column] = []
        for row in array if array.ndim == 2 else array[None]:
            column = Column(folder, f"{len(files)}-{len(columns)}")
            for start in range(0, n, ROWS):
                here = slice(start, min(start + ROWS, n))
                values = row[here if at is None else at[here]]
                column.append(values, None if kind is None else np.dtype(kind))
            columns.append(column)
        flat, said = array.ndim == 1, None if kind is None else np.dtype(kind)
        files[name] = store_columns(folder, str(len(files)), columns, flat=flat, kind=said)

    person, times = data.person, data.times_available.tolist()
    with clear_when_full(folder):
        if not data.always(range(len(data.alternatives))):
            put("available", data.available, bool)
            times = [
                int(np.count_nonzero(row if rows is None else row[rows])) for row in data.available
            ]
        else:
            times = [n] * len(data.alternatives)
        if data.choice is not None:
            put("choice", data.choice)
        if person is not None:
            before = person if rows is None else person[rows]
            person = person if rows is None else person_codes(before)
            put("person", person, at=None)
            if data.person_ids is not None:
                ids = data.person_ids if rows is None else data.ids_of(np.unique(before))
                files["person_ids"] = store_whole(folder, "person_ids", ids)
        if data.weight is not None:
            put("weight", data.weight, float)
        put("situation", data.situation)
        for i, attribute in enumerate(data.attributes.values()):
            put(f"attribute {i}", attribute.values)
        for i, covariate in enumerate(data.covariates.values()):
            put(f"covariate {i}", covariate.values)
        persons = None if person is None else int(person.max(initial=-1)) + 1
        write_manifest(folder, data, files, n=n, persons=persons, times_available=times, about={})


class clear_when_full:  # noqa: N801 - reads as a statement
    """Whatever cannot be written is said, with the room there is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """An error of the disk becomes one that a user can fix."""
        if isinstance(error, OSError):
            try:
                free = f"{shutil.disk_usage(self.folder.parent).free / 1e9:.1f} GB are free"
            except OSError:
                free = "it is not known how much is free"
            raise ArdchoiceError(
                f"The compact columns cannot be written to '{self.folder.parent}': "
                f"{error.strerror or error} ({free}). Nothing half-written is left. Make room, or "
                "set ARDCHOICE_CACHE to a folder with more."
            ) from None


def take_rows(data: ChoiceData, rows: npt.NDArray[np.intp]) -> ChoiceData:
    """Some rows of data on disk, in a temporary folder of their own."""
    folder, keep = temporary_folder()
    write_compact(data, folder, rows)
    part = open_compact(folder, verify=False)
    return changed(part, mapped_from=MappedFolder(str(folder), keep), source=data.source)


def take_from_disk(data: ChoiceData, rows: npt.NDArray[np.intp]) -> ChoiceData:
    """Some rows of data on disk: in memory where they fit easily, else in a folder of their own."""
    arrays = [data.available, data.choice, data.person, data.weight, data.situation]
    arrays += [a.values for a in data.attributes.values()]
    arrays += [c.values for c in data.covariates.values()]
    width = sum(a.nbytes for a in arrays if a is not None) / max(len(data), 1)
    if width * len(rows) <= MOST_IN_MEMORY:
        return data._taken(rows)
    return take_rows(data, rows)
