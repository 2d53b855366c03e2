"""Arrays in one file, without anything that would have to be unpickled."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]

_BROKEN = (
    ValueError,
    KeyError,
    OSError,
    EOFError,
    MemoryError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


def arrays_to_bytes(arrays: Arrays) -> bytes:
    """An .npz file, the same for the same arrays."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for key, array in arrays.items():
            member = zipfile.ZipInfo(f"{key}.npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return out.getvalue()


def arrays_from_bytes(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an .npz file; ValueError where it is none, or holds pickled objects."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {key: np.asarray(archive[key]) for key in archive.files}
    except (AttributeError, TypeError, *_BROKEN) as error:
        raise ValueError(str(error) or type(error).__name__) from error
