"""Files that are written whole or not at all, and that can be told apart by what is in them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ardchoice.errors import FileError

PIECE = 1 << 20
"""Bytes read at a time."""
_UNFINISHED = re.compile(r"\.(\d+)\..+", re.DOTALL)
_MEND = {
    errno.ENOSPC: "Free some space there, or write to another disk",
    errno.EDQUOT: "Your share of that disk is used up: free some, or write to another disk",
    errno.EFBIG: "Files there may not be that large: write to another disk, or raise the limit",
    errno.EACCES: "You may not write there: choose another folder, or have its rights changed",
    errno.EPERM: "You may not write there: choose another folder, or have its rights changed",
    errno.EROFS: "Nothing can be written to that disk: choose another folder",
    errno.ENOTDIR: "A part of that path is a file: choose another folder",
    errno.EEXIST: "A file is in the way of a folder: choose another, or move the file",
    errno.EISDIR: "A folder of that name is in the way: choose another name, or move it",
    errno.ENAMETOOLONG: "The path is too long: choose a shorter one",
}


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A file beside another that takes its place once it is whole and on the disk."""
    new = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield new
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise cannot_write(path, error) from None
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def cannot_write(path: Path, error: OSError) -> FileError:
    """What could not be written, why, and what to do about it."""
    mend = _MEND.get(error.errno or 0, "See whether the folder can be written to")
    return FileError(
        f"Cannot write '{path}': {error.strerror or error}. {mend}. What was there before is "
        "still there."
    )


def sweep(folder: Path) -> None:
    """Remove what processes that are no more left unfinished; others are left alone."""
    for path in folder.glob(".*"):
        found = _UNFINISHED.fullmatch(path.name)
        if found and path.is_file() and not _lives(int(found[1])):
            with suppress(OSError):
                path.unlink()


def _lives(pid: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere, asking may end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def alone(path: Path, busy: str) -> Iterator[None]:
    """Hold a file while a block runs; who is second is refused in these words.

    The system lets go of it however a process ends, so nothing is left to be cleaned up by hand.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise cannot_write(path, error) from None
    with file:
        try:
            _lock(file.fileno())
            ours = os.path.samestat(os.fstat(file.fileno()), path.stat())
        except (BlockingIOError, PermissionError, FileNotFoundError):
            ours = False
        except OSError:  # a disk that knows no locks
            ours = True
        if not ours:
            raise FileError(busy)
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text as UTF-8 with plain line ends."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with beside(path) as new:
        new.write_bytes(data)


def checksum(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal text."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
