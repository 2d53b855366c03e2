"""`Decoder`: JSON and arrays as objects, each field checked against the type that it declares.

Only classes of the white list are constructed, from the fields that they declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray
from ardchoice.errors import ArdchoiceError, SpecificationError
from ardchoice.saved.classes import SHARED_CLASSES, SavedClass, saved_classes
from ardchoice.saved.encode import CLASS_KEY
from ardchoice.saved.frame import Frame
from ardchoice.space import Term, Transform, parse_term, parse_transform
from ardchoice.text import shorten

MAX_SHOWN_CHARACTERS = 60
_SCALARS = {
    str: "valid text",
    int: "a valid integer",
    float: "a valid number",
    bool: "true or false",
    NoneType: "null",
}
_SEQUENCES = {list: list, set: set, frozenset: frozenset, tuple: tuple, Sequence: tuple}
_SEQUENCES |= {Iterable: tuple}
_NUMBER_KINDS = (np.floating, np.integer, np.bool_)
_TAGS: Mapping[str, Any] = {
    "number": float,
    "time": pd.Timestamp,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "tuple": tuple,
}


class Decoder:
    """What `Encoder` encoded.

    Parameters
    ----------
    arrays
        By name.
    references
        As `Encoder` had them.
    """

    def __init__(self, arrays: Mapping[str, AnyArray], references: Iterable[object] = ()) -> None:
        self._arrays, self._references = arrays, list(references)
        self._parsed: dict[tuple[str, bool], Any] = {}
        self._allowed: dict[tuple[Any, ...], Mapping[str, SavedClass]] = {}

    def decode(self, value: Any, hint: Any, at: str) -> Any:
        """A value of a type; `object` for one whose type nothing declares.

        Raises
        ------
        ValueError
            It is of another type, incomplete, or refers to something that is not there; `at` is
            the path of the field.
        """
        kind, inside = get_origin(hint) or hint, get_args(hint)
        if kind in (Any, object):
            return self._undeclared(value, at)
        if kind in (Union, UnionType):
            return self._union(value, inside, at)
        if kind in _SCALARS:
            return _scalar(value, kind, at)
        if kind is Literal:
            return _one_of(value, inside, at)
        if kind in _SEQUENCES:
            return self._sequence(value, kind, inside, at)
        if kind in (dict, Mapping):
            if not isinstance(value, Mapping):
                _refuse(at, "a valid mapping", value)
            pairs = ((k, self.decode(v, inside[1], f"{at}.{k}")) for k, v in value.items())
            return {self.decode(k, inside[0], at): v for k, v in pairs}
        if kind is np.ndarray:
            return self._array(value, at, hint)
        if issubclass(kind, Term | Transform):
            return self._from_grammar(value, is_term=issubclass(kind, Term), at=at)
        if issubclass(kind, Enum):
            return kind(_one_of(value, [one.value for one in kind], at))
        return self._object(value, (kind,), at)

    def _undeclared(self, value: Any, at: str) -> Any:
        """A value that shows itself of what type it is."""
        if isinstance(value, list):
            return [self._undeclared(one, f"{at}.{i}") for i, one in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        if CLASS_KEY in value:
            return self._object(value, (object,), at)
        tag, inside = next(iter(value.items())) if len(value) == 1 else ("", None)
        if tag == "array":
            return self._array(inside, at)
        if tag == "reference":
            return self._object(inside, (object,), at)
        if tag not in _TAGS:
            _refuse(at, f"an object or one of {', '.join(_TAGS)}", value)
        inside = self._undeclared(inside, at)
        try:
            return _TAGS[tag](inside)
        except (TypeError, ValueError):
            _refuse(at, f"a valid {tag}", inside)

    def _union(self, value: Any, members: tuple[Any, ...], at: str) -> Any:
        """Of the first member that it is of; an object names its class."""
        objects = tuple(member for member in members if self._classes((member,)))
        if objects and isinstance(value, Mapping):
            return self._object(value, objects, at)
        problems: dict[str, None] = {}
        for member in members:
            try:
                return self.decode(value, member, at)
            except ValueError as error:
                problems |= {} if member is NoneType else {str(error): None}
        raise ValueError(", or ".join(problems))

    def _sequence(self, value: Any, kind: Any, inside: tuple[Any, ...], at: str) -> Any:
        if isinstance(value, Mapping) and isinstance(value.get("columns"), Mapping):
            value = self._rows(value["columns"], at)
        elif isinstance(value, str) and value in self._arrays:
            value = self._arrays[value].tolist()
        fixed = kind is tuple and inside[-1] is not Ellipsis
        if not isinstance(value, list) or (fixed and len(value) != len(inside)):
            _refuse(at, f"a valid list{f' of {len(inside)}' if fixed else ''}", value)
        hints = inside if fixed else inside[:1] * len(value)
        pairs = enumerate(zip(value, hints, strict=True))
        return _SEQUENCES[kind](self.decode(one, hint, f"{at}.{i}") for i, (one, hint) in pairs)

    def _rows(self, columns: Mapping[str, Any], at: str) -> list[dict[str, Any]]:
        """The fields of every object, of which a column has one each."""
        arrays = [self._array(column, f"{at}.{name}") for name, column in columns.items()]
        if len({len(array) for array in arrays}) > 1:
            _refuse(at, "columns of one length", [len(array) for array in arrays])
        cells = [array.tolist() if array.ndim == 1 else list(array) for array in arrays]
        return [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]

    # -- Objects -------------------------------------------------------------------------------

    def _classes(self, hints: tuple[Any, ...]) -> Mapping[str, SavedClass]:
        """Classes of the white list that fit one of several types."""
        if hints not in self._allowed:
            kinds = tuple(Frame if h is pd.DataFrame else h for h in hints if isinstance(h, type))
            found = {n: e for n, e in saved_classes().items() if issubclass(e.cls, kinds)}
            self._allowed[hints] = found
        return self._allowed[hints]

    def _object(self, value: Any, hints: tuple[Any, ...], at: str) -> Any:
        """An object of a class of the white list, or the shared one of a number."""
        allowed = self._classes(hints)
        if type(value) is int:
            return self._reference(value, allowed, at)
        if not isinstance(value, Mapping):
            _refuse(at, f"an object: {' or '.join(sorted(allowed))}", value)
        name = value.get(CLASS_KEY, next(iter(allowed)) if len(allowed) == 1 else None)
        if not isinstance(name, str) or name not in allowed:
            raise ValueError(
                f"{at}: {CLASS_KEY} {name!r} is none of {', '.join(sorted(allowed))}; the module "
                "of a family of your own is imported before loading"
            )
        entry, given = allowed[name], {n: v for n, v in value.items() if n != CLASS_KEY}
        for field in given:
            if field not in entry.types:
                raise ValueError(f"{at}.{field}: Extra field, {name} has none of this name")
        for field in sorted(entry.required - set(given)):
            raise ValueError(f"{at}.{field}: Field required")
        # In the order of the file, in which shared objects are numbered.
        decoded = {n: self.decode(v, entry.types[n], f"{at}.{n}") for n, v in given.items()}
        try:
            made = entry.make(**decoded)
            made = made.restore() if isinstance(made, Frame) else made
        except (ArdchoiceError, ValueError, TypeError) as error:
            raise ValueError(f"{at}: {error}") from None
        if isinstance(made, SHARED_CLASSES):
            self._references.append(made)
        return made

    def _reference(self, number: int, allowed: Mapping[str, SavedClass], at: str) -> Any:
        if not 0 <= number < len(self._references):
            raise ValueError(f"{at}: number {number} points to nothing")
        found = self._references[number]
        if type(found) not in [entry.cls for entry in allowed.values()]:
            _refuse(at, f"the number of an object: {' or '.join(allowed)}", found)
        return found

    # -- Arrays, terms and scalars -------------------------------------------------------------

    def _array(self, value: Any, at: str, hint: Any = AnyArray) -> AnyArray:
        if isinstance(value, list):
            array: AnyArray = np.empty(len(value), dtype=object)
            array[:] = self._undeclared(value, at)
        elif isinstance(value, np.ndarray):  # a row of a column
            array = value
        elif isinstance(value, str) and value in self._arrays:
            array = self._arrays[value]
        else:
            raise ValueError(f"{at}: the array {value!r} is missing")
        number = get_args(get_args(hint)[1])[0]
        for kind in _NUMBER_KINDS:
            of_kind = isinstance(number, type) and issubclass(number, kind)
            if of_kind and not np.issubdtype(array.dtype, kind):
                _refuse(at, f"an array of kind {kind.__name__}", array.dtype)
        return array

    def _from_grammar(self, value: Any, *, is_term: bool, at: str) -> Any:
        text = _scalar(value, str, at)
        if (text, is_term) not in self._parsed:
            try:
                made = parse_term(text) if is_term else parse_transform(text)
            except SpecificationError as error:
                raise ValueError(
                    f"{at}: {error}\nA transform of your own must be registered before loading: "
                    "TRANSFORMS[name] = lambda arguments: ... "
                    "(from ardchoice.space.transforms import TRANSFORMS)"
                ) from None
            self._parsed[text, is_term] = made
        return self._parsed[text, is_term]


def _scalar(value: Any, kind: Any, at: str) -> Any:
    if kind is float:
        number: Any = value.get("number") if isinstance(value, Mapping) else value
        if type(number) in (int, float) or number in ("nan", "inf", "-inf"):
            return float(number)
    elif kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) is not kind:
        _refuse(at, _SCALARS[kind], value)
    return value


def _one_of(value: Any, known: Sequence[Any], at: str) -> Any:
    if not any(value == one and type(value) is type(one) for one in known):
        _refuse(at, f"one of {', '.join(map(repr, known))}", value)
    return value


def _refuse(at: str, expected: str, found: object) -> NoReturn:
    shown = shorten(repr(found), MAX_SHOWN_CHARACTERS)
    raise ValueError(f"{at}: Input should be {expected}, not {shown}")
