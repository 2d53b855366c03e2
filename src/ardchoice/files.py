"""Files that are written whole or not at all, their checksums, and locks."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ardchoice.errors import FileError

CHUNK_BYTES = 1 << 20
"""Read at a time."""
_UNFINISHED = re.compile(r"\.(\d+)\..+", re.DOTALL)
_ADVICE = {
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
_LOCKS_UNKNOWN = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Of disks that have no locks: work goes on without."""


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
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
    advice = _ADVICE.get(error.errno or 0, "See whether the folder can be written to")
    return FileError(
        f"Cannot write '{path}': {error.strerror or error}. {advice}. What was there before is "
        "still there."
    )


def remove_stale_temporaries(folder: Path) -> None:
    """Remove unfinished files of processes that have ended; those of running ones stay."""
    for path in folder.glob(".*"):
        found = _UNFINISHED.fullmatch(path.name)
        if found and path.is_file() and not _is_running(int(found[1])):
            with suppress(OSError):
                path.unlink()


def _is_running(pid: int) -> bool:
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
def file_lock(path: Path, busy: str, timeout_seconds: float = 0.0) -> Iterator[None]:
    """Hold a lock while a block runs.

    The system releases it however a process ends, so nothing is left to be cleaned up by hand.

    Parameters
    ----------
    path
        Of the lock; removed afterwards.
    busy
        The message of the error where another process holds it.
    timeout_seconds
        How long to wait for it.
    """
    lock = FileLock(path, timeout=timeout_seconds)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise FileError(busy) from None
    except OSError as error:
        if error.errno not in _LOCKS_UNKNOWN:
            raise cannot_write(path, error) from None
    try:
        yield
    finally:
        # Before the release: who comes next makes a file of its own.
        with suppress(OSError):
            path.unlink(missing_ok=True)
        lock.release()


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text as UTF-8 with plain line ends."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with atomic_write(path) as new:
        new.write_bytes(data)


def checksum(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal text."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
