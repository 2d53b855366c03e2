"""Where compact columns are kept for the next time, by whom they are made, and when they hold."""

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
from ardchoice.data.compact import SCHEMA, DamagedError, clear_when_full, open_compact
from ardchoice.data.compact import read_manifest as manifest_of
from ardchoice.errors import ArdchoiceError
from ardchoice.files import checksum, file_lock

MAX_WAIT_SECONDS = 24 * 3600.0
"""For another run that makes the same columns."""
BESIDE = ".ardchoice"
"""The folder beside a table where its compact columns are kept."""


def cache_folder(files: Files, settings: str) -> Path:
    """The folder of a table read with some settings: ARDCHOICE_CACHE, beside it, or at home."""
    key = sha256(f"{SCHEMA}\n{files.path}\n{settings}".encode()).hexdigest()[:16]
    name = f"{files.path.name}-{key}"
    said = os.environ.get("ARDCHOICE_CACHE")
    if said:
        return Path(said).absolute() / name
    beside = files.path.parent / BESIDE
    if os.access(beside if beside.is_dir() else files.path.parent, os.W_OK):
        return beside / name
    return Path.home() / ".cache" / "ardchoice" / name


def state_of(files: Files) -> list[dict[str, Any]]:
    """Name, size and time of every file."""
    out = []
    for part in files.parts:
        try:
            about = part.stat()
        except OSError as error:
            raise ArdchoiceError(f"'{part}' cannot be read: {error.strerror}.") from None
        out.append({"name": part.name, "size": about.st_size, "time": about.st_mtime_ns})
    return out


def with_checksums(files: Files, state: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with a checksum of every file."""
    return [
        {**about, "checksum": checksum(part)}
        for part, about in zip(files.parts, state, strict=True)
    ]


def kept(
    folder: Path, files: Files, make: Callable[[Path, list[dict[str, Any]]], None]
) -> ChoiceData:
    """The columns of a folder if they are those of the files, or else made anew.

    Parameters
    ----------
    folder
    files
        The table.
    make
        Fills an empty folder; told the state of the files, to write it down.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArdchoiceError(
            f"Cannot write to '{folder.parent}': {error.strerror or error}. Set ARDCHOICE_CACHE to "
            "a folder for compact columns."
        ) from None
    busy = (
        f"Another run has been making '{folder}' for a day. End it, or set ARDCHOICE_CACHE to "
        "another folder."
    )
    with file_lock(folder.with_name(f"{folder.name}.lock"), busy, MAX_WAIT_SECONDS):
        state = state_of(files)
        if folder.is_dir() and _holds(folder, files, state):
            # What is damaged is made anew; a source is at hand, so that nothing is lost.
            with suppress(DamagedError):
                return open_compact(folder)
        _make(folder, files, state, make)
        return open_compact(folder, verify=False)


def _holds(folder: Path, files: Files, state: list[dict[str, Any]]) -> bool:
    """Whether the files are as they were: by size and time, or, touched since, by content."""
    try:
        known = manifest_of(folder)["about"].get("files", [])
    except (DamagedError, AttributeError, KeyError):
        return False
    if [(k["name"], k["size"]) for k in known] != [(s["name"], s["size"]) for s in state]:
        return False
    if [k["time"] for k in known] == [s["time"] for s in state]:
        return True
    now = with_checksums(files, state)
    return [k["checksum"] for k in known] == [n["checksum"] for n in now]


def _make(
    folder: Path,
    files: Files,
    state: list[dict[str, Any]],
    make: Callable[[Path, list[dict[str, Any]]], None],
) -> None:
    """Whole or not at all: in a folder beside, which then takes the place."""
    new = folder.with_name(f"{folder.name}.{os.getpid()}.new")
    for left in folder.parent.glob(f"{folder.name}.*.new"):  # of runs that were killed
        shutil.rmtree(left, ignore_errors=True)
    try:
        with clear_when_full(new):
            new.mkdir()
            make(new, with_checksums(files, state))
            if state_of(files) != state:
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
