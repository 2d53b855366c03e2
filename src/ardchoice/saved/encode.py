"""`Encoder`: objects of the white list as JSON and arrays.

Besides text, finite numbers, true, false, null, lists and mappings there are:

    {"class": "Ebic", "gamma": null, ...}      an object; a shared one afterwards by its number
    "study/fit/lam", [...]                     an array of the .npz file; one of ids of any kind
    {"columns": {field: array}}                objects of numbers and arrays, an array per field
    {"number": "inf"}, {"time": ...}, {"datetime": ...}, {"date": ...}
    {"array": ...}, {"tuple": ...}, {"reference": 0}      where no field declares the type

Terms and transforms are text in the grammar.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import is_dataclass
from datetime import date
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray
from ardchoice.data import label
from ardchoice.errors import ArdchoiceError, SpecificationError
from ardchoice.saved.classes import COLUMNAR_CLASSES, SHARED_CLASSES, saved_classes, saved_name
from ardchoice.saved.frame import Frame
from ardchoice.settings import transform_text
from ardchoice.space import Term, Transform, parse_term

CLASS_KEY = "class"
"""Names the class of an object; a keyword of Python, hence never a field."""
PLAIN_KINDS = "biufMmU"
"""Kinds of arrays that are stored as they are: none of them needs to be unpickled."""


class Encoder:
    """Values as JSON; `arrays` has what belongs beside it, by name.

    Parameters
    ----------
    references
        Shared objects that whoever decodes has at hand, too: they are not stored.
    """

    def __init__(self, references: Iterable[object] = ()) -> None:
        self.arrays: dict[str, AnyArray] = {}
        self._references = list(references)
        self._texts: dict[Term, str] = {}

    def encode(self, value: object, at: str, *, declared: bool = True) -> Any:
        """A value as JSON.

        Parameters
        ----------
        value
        at
            Its path, which names its arrays.
        declared
            Whether a field declares its type, or the JSON must show it.

        Raises
        ------
        TypeError
            Nothing of this type can be stored.
        ArdchoiceError
            Its class is not on the white list.
        """
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, str | int | float | np.generic | date):
            return _scalar(value)
        if isinstance(value, Term | Transform) and declared:
            return self._text(value) if isinstance(value, Term) else transform_text(value)
        if isinstance(value, np.ndarray):
            stored = self._array(value, at)
            return stored if declared else {"array": stored}
        if isinstance(value, pd.DataFrame):
            value = Frame.of(value)
        if is_dataclass(value) or isinstance(value, SHARED_CLASSES):
            stored = self._object(value, at)
            return {"reference": stored} if isinstance(stored, int) and not declared else stored
        if isinstance(value, Mapping) and declared:
            # Arrays go by number: a column's name may have characters that no file should have.
            return {
                self._key(key, at): self.encode(v, f"{at}/{i}")
                for i, (key, v) in enumerate(value.items())
            }
        if isinstance(value, Set) and declared:
            value = sorted(value, key=str)
        if not isinstance(value, Sequence):
            raise TypeError(f"{at}: a value of type {type(value).__name__} cannot be stored")
        if declared and value and isinstance(value[0], COLUMNAR_CLASSES):
            return {"columns": self._columns(value, at)}
        stored = [self.encode(v, f"{at}/{i}", declared=declared) for i, v in enumerate(value)]
        return stored if declared or isinstance(value, list) else {"tuple": stored}

    def _object(self, value: object, at: str) -> Any:
        name = saved_name(type(value))
        entry = saved_classes().get(name)
        if entry is None or entry.cls is not type(value):
            raise ArdchoiceError(
                f"{at}: a {type(value).__name__} cannot be saved, because loading would not know "
                "it. Families are made known by @register_family (from ardchoice.families); "
                "other classes cannot be."
            )
        for number, reference in enumerate(self._references):
            if reference is value:
                return number
        encoded = {CLASS_KEY: name}
        for field, hint in entry.types.items():
            inside = getattr(value, field)
            whole = hint is float and isinstance(inside, int)
            encoded[field] = self.encode(float(inside) if whole else inside, f"{at}/{field}")
        if isinstance(value, SHARED_CLASSES):
            self._references.append(value)
        return encoded

    def _columns(self, values: Sequence[Any], at: str) -> dict[str, Any]:
        types = saved_classes()[saved_name(type(values[0]))].types
        columns = {name: np.array([getattr(value, name) for value in values]) for name in types}
        return {name: self._array(column, f"{at}/{name}") for name, column in columns.items()}

    def _array(self, array: AnyArray, at: str) -> str | list[Any]:
        if array.dtype.kind not in PLAIN_KINDS:
            return [_scalar(value) for value in array]
        self.arrays[at] = np.asarray(array)
        return at

    def _key(self, key: object, at: str) -> str:
        if not isinstance(key, str | Term):
            raise TypeError(f"{at}: a key of type {type(key).__name__} cannot be stored")
        return self._text(key) if isinstance(key, Term) else key

    def _text(self, term: Term) -> str:
        """A term in the grammar, if it can be read back."""
        if term not in self._texts:
            text = str(term)
            try:
                same = parse_term(text) == term
            except SpecificationError:
                same = False
            if not same:
                raise ArdchoiceError(
                    f"'{term}' cannot be saved, because its text does not read back to itself. "
                    f"A transform of your own must be registered: "
                    f"TRANSFORMS[{term.how.name!r}] = lambda arguments: ... "
                    "(from ardchoice.space.transforms import TRANSFORMS)."
                )
            self._texts[term] = text
        return self._texts[term]


def _scalar(value: object) -> Any:
    """Text, a number or a time; an id of any other kind becomes text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, date) and not pd.isna(value):
        kind = "time" if isinstance(value, pd.Timestamp) else type(value).__name__
        return {kind if kind in ("time", "date") else "datetime": value.isoformat()}
    return label(value)
