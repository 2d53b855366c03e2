"""Nouns as JSON has them: mappings, lists, texts and numbers; and back where several may stand."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter

from ardchoice.data import label

KIND = "kind"
"""The key that says which of several nouns a mapping is."""
_NAMED: set[type] = set()


class Saved(BaseModel):
    """The schema of a noun in a file. What is not in the schema is not in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def one_of(*kinds: type) -> BeforeValidator:
    """For a field that may hold one of several dataclasses: the mapping says which."""
    adapters = {kind.__name__: TypeAdapter[Any](kind) for kind in kinds}
    _NAMED.update(kinds)

    def read(value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        if value.get(KIND) not in adapters:
            raise ValueError(f"{KIND} {value.get(KIND)!r} is none of {', '.join(adapters)}")
        return adapters[value[KIND]].validate_python({k: v for k, v in value.items() if k != KIND})

    return BeforeValidator(read)


def plain(value: object) -> Any:
    """What JSON can hold of a value; numbers it has no word for become text, as do odd objects."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name)) for name in type(value).model_fields}
    if is_dataclass(value):
        inside = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        return {KIND: type(value).__name__, **inside} if type(value) in _NAMED else inside
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Iterable):
        return [plain(v) for v in value]
    return label(value)


def to_json(value: object) -> str:
    """Text that is the same for the same value, a key per line."""
    return json.dumps(plain(value), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


# -- Objects -------------------------------------------------------------------------------------


def plain_objects(values: Iterable[object]) -> list[Any]:
    """Ids and labels of a column; what is no text, number or time becomes text."""
    return [_plain_object(value) for value in values]


def _plain_object(value: object) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, datetime) and not pd.isna(value):
        return {"time" if isinstance(value, pd.Timestamp) else "datetime": value.isoformat()}
    if isinstance(value, date) and not pd.isna(value):
        return {"date": value.isoformat()}
    return label(value)


_MAKE: dict[str, Any] = {
    "number": float,
    "time": pd.Timestamp,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
}


def objects(values: list[Any]) -> npt.NDArray[Any]:
    """An array of objects, as `plain_objects` wrote them; shape (n,)."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        if isinstance(value, dict):
            ((kind, text),) = value.items()
            value = _MAKE[kind](text)
        out[i] = value
    return out
