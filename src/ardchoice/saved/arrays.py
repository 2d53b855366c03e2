"""Arrays in one file, without anything that would have to be unpickled."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from ardchoice._types import AnyArray

_DAMAGED = (OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error)
_OF_ANOTHER_KIND = (ValueError, LookupError, AttributeError, TypeError, NotImplementedError)

LARGE_BYTES = 1 << 30
LARGEST_RATIO = 500
"""Arrays that unpack to more bytes, and so many times those of the file, were never saved: a
thousandth is what is left of zeros only, and a study also has choices and ids."""


def write_arrays(where: Path | IO[bytes], arrays: Mapping[str, AnyArray]) -> None:
    """An .npz file, the same for the same arrays, written some of it at a time."""
    with zipfile.ZipFile(where, "w") as archive:
        for key, array in arrays.items():
            member = zipfile.ZipInfo(f"{key}.npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read_arrays(where: Path | IO[bytes]) -> dict[str, AnyArray]:
    """The arrays of an .npz file; ValueError where it is none, or holds pickled objects."""
    try:
        _refuse_bomb(where)
        with np.load(where, allow_pickle=False) as archive:
            return {key: np.asarray(archive[key]) for key in archive.files}
    except (*_DAMAGED, *_OF_ANOTHER_KIND) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _refuse_bomb(where: Path | IO[bytes]) -> None:
    """Raise where the arrays unpack to far more than those of a study can."""
    with zipfile.ZipFile(where) as archive:
        members = archive.infolist()
    unpacked, packed = (sum(getattr(m, f"{k}_size") for m in members) for k in ("file", "compress"))
    if unpacked > LARGE_BYTES and unpacked > LARGEST_RATIO * packed:
        raise ValueError(f"{packed:,} bytes unpack to {unpacked:,}")
    if not isinstance(where, Path):
        where.seek(0)


def digest_of(arrays: Mapping[str, AnyArray]) -> str:
    """SHA-256 of what is in arrays, as hexadecimal text; row by row, since they may be large."""
    digest = hashlib.sha256()
    for key, array in arrays.items():
        digest.update(f"{key} {array.dtype.str} {array.shape}\n".encode())
        for row in np.atleast_2d(array):
            digest.update(row.tobytes())
    return digest.hexdigest()
