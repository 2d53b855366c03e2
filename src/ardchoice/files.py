"""Files that are written whole or not at all, and that can be told apart by what is in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ardchoice.errors import ArdchoiceError

PIECE = 1 << 20
"""Bytes read at a time."""


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
        raise ArdchoiceError(f"Cannot write {path}: {error.strerror or error}.") from None
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


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
