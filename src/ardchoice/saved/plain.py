"""Settings, fingerprints and journals as JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ardchoice.data import label


def plain(value: object) -> Any:
    """What JSON can hold of a value; numbers that are not finite become text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, Iterable) else label(value)


def to_json(value: object) -> str:
    """Text that is the same for the same value, a key per line."""
    return json.dumps(plain(value), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
