"""Whatever a stage of a run ends with, as JSON and arrays: nouns, tables, and things made of them.

Only for checkpoints, which no other version reads: what is here may change freely.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.estimation import Result
from ardchoice.record import Evaluation, Path
from ardchoice.saved.choices import SavedSpecification
from ardchoice.saved.fits import SavedFit, SavedResult
from ardchoice.saved.shelf import Archive
from ardchoice.saved.study import SavedEvaluation, SavedFrame, SavedPath
from ardchoice.space import Specification

_NOUNS: dict[type, Any] = {
    ArdFit: SavedFit,
    Specification: SavedSpecification,
    Result: SavedResult,
    Path: SavedPath,
    Evaluation: SavedEvaluation,
}
_SCHEMAS = {noun.__name__: schema for noun, schema in _NOUNS.items()}


def piece(value: object, shelf: Archive) -> Any:
    """To be written."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, list):
        return [piece(v, shelf) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [piece(v, shelf) for v in value]}
    if isinstance(value, np.ndarray):
        return {"array": shelf.put("array", value)}
    if isinstance(value, pd.DataFrame):
        return {"frame": SavedFrame.of("frame", value, shelf)}
    schema = _NOUNS.get(type(value))
    if schema is None:
        raise TypeError(f"a stage cannot end with {type(value).__name__}")
    return {type(value).__name__: schema.of(value, shelf)}


def whole(value: Any, shelf: Archive) -> Any:
    """As it was."""
    if isinstance(value, list):
        return [whole(v, shelf) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "number":
        return float(inside)
    if kind == "tuple":
        return tuple(whole(v, shelf) for v in inside)
    if kind == "array":
        return shelf.array(inside)
    schema = SavedFrame if kind == "frame" else _SCHEMAS[kind]
    return schema.model_validate(inside).restore(shelf)
