"""The cache of compact columns: where it lies, when it is valid, and how it is filled."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ardchoice.data.batches import Files
from ardchoice.data.choices import ChoiceData
from ardchoice.data.compact import (
    SCHEMA,
    DamagedError,
    clear_when_full,
    open_compact,
    read_manifest,
)
from ardchoice.errors import ArdchoiceError
from ardchoice.files import checksum, file_lock

LONGEST_WAIT_SECONDS = 24 * 3600.0
"""For another process that fills the same folder."""
FOLDER_NAME = ".ardchoice"
"""Of the folder next to a table where its compact columns are cached."""

FileStates = list[dict[str, Any]]
"""Name, size, time and, where computed, checksum of every file of a table."""


def cache_folder(files: Files, settings: str) -> Path:
    """The folder of a table read with some settings.

    In ARDCHOICE_CACHE, else next to the table, else in the user's home.
    """
    key = sha256(f"{SCHEMA}\n{files.path}\n{settings}".encode()).hexdigest()[:16]
    name = f"{files.path.name}-{key}"
    given = os.environ.get("ARDCHOICE_CACHE")
    if given:
        return Path(given).absolute() / name
    near = files.path.parent / FOLDER_NAME
    if os.access(near if near.is_dir() else files.path.parent, os.W_OK):
        return near / name
    return Path.home() / ".cache" / "ardchoice" / name


def cached(folder: Path, files: Files, fill: Callable[[Path, FileStates], None]) -> ChoiceData:
    """The columns of a folder where they are those of the files, after filling it otherwise.

    Parameters
    ----------
    folder
    files
        The table.
    fill
        Writes the columns to an empty folder, and with them the states of the files.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArdchoiceError(
            f"Cannot write to '{folder.parent}': {error.strerror or error}. Set ARDCHOICE_CACHE to "
            "a folder for compact columns."
        ) from None
    busy = (
        f"Another process has been writing '{folder}' for a day. End it, or set ARDCHOICE_CACHE to "
        "another folder."
    )
    with file_lock(folder.with_name(f"{folder.name}.lock"), busy, LONGEST_WAIT_SECONDS):
        states = _states(files)
        if folder.is_dir() and _is_valid(folder, files, states):
            # Damaged columns are written again: the table is there, nothing is lost.
            with suppress(DamagedError):
                return open_compact(folder)
        _fill(folder, files, states, fill)
        return open_compact(folder, verify=False)


def _states(files: Files) -> FileStates:
    out = []
    for part in files.parts:
        try:
            about = part.stat()
        except OSError as error:
            raise ArdchoiceError(f"'{part}' cannot be read: {error.strerror}.") from None
        out.append({"name": part.name, "size": about.st_size, "time": about.st_mtime_ns})
    return out


def _with_checksums(files: Files, states: FileStates) -> FileStates:
    pairs = zip(files.parts, states, strict=True)
    return [{**state, "checksum": checksum(part)} for part, state in pairs]


def _is_valid(folder: Path, files: Files, states: FileStates) -> bool:
    """Whether the files are as they were: by size and time, or else by size and content."""

    def of(some: FileStates, *keys: str) -> list[list[Any]]:
        return [[state[key] for key in keys] for state in some]

    try:
        known = read_manifest(folder)["about"].get("files", [])
    except (DamagedError, AttributeError, KeyError):
        return False
    if of(known, "name", "size") != of(states, "name", "size"):
        return False
    if of(known, "time") == of(states, "time"):
        return True
    return of(known, "checksum") == of(_with_checksums(files, states), "checksum")


def _fill(
    folder: Path, files: Files, states: FileStates, fill: Callable[[Path, FileStates], None]
) -> None:
    """Fill a temporary folder, which takes the place of the other once it is complete."""
    new = folder.with_name(f"{folder.name}.{os.getpid()}.new")
    for unfinished in folder.parent.glob(f"{folder.name}.*.new"):  # by processes that were killed
        shutil.rmtree(unfinished, ignore_errors=True)
    try:
        with clear_when_full(new):
            new.mkdir()
            fill(new, _with_checksums(files, states))
            if _states(files) != states:
                raise ArdchoiceError(
                    f"{files.name} changed while it was being read. Read it again once it is "
                    "complete."
                )
            if folder.exists():
                old = folder.with_name(f"{folder.name}.{os.getpid()}.old")
                folder.rename(old)
                shutil.rmtree(old, ignore_errors=True)
            new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
