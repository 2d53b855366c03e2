"""The white list: every class that a saved study may hold, with the fields that it declares.

Nobody keeps it by hand. It has the dataclasses that `StudyRecord` declares, those that these
declare, and so on; and the registered families under their tags, with what their fields declare.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from ardchoice.ard import Step
from ardchoice.data import ChoiceData
from ardchoice.families import FAMILIES, Family
from ardchoice.record import StudyRecord
from ardchoice.saved.frame import Frame
from ardchoice.selection import Confirmed
from ardchoice.space import SearchSpace, Specification, Term, Transform

SHARED_CLASSES = (ChoiceData, SearchSpace, Specification)
"""Several objects may refer to one of these: it is stored once, afterwards by its number."""
COLUMNAR_CLASSES = (Step,)
"""A sequence of these is stored as one array per field."""
EXECUTION_FIELDS = frozenset({"execution", "mapped_from"})
"""Where work runs belongs to the machine, not to the choices."""


@dataclass(frozen=True)
class SavedClass:
    """A class of the white list.

    Attributes
    ----------
    cls
    make
        Called with the fields by name.
    types
        The fields that are stored -> their types.
    required
        Fields that a file must have; the default says what older files mean by its absence.
    """

    cls: type
    make: Callable[..., Any]
    types: Mapping[str, Any]
    required: frozenset[str]


def saved_name(cls: type) -> str:
    """What a file names a class by: the tag of a family, otherwise the name of the class."""
    return str(cls.tag) if issubclass(cls, Family) else cls.__name__


def saved_classes() -> Mapping[str, SavedClass]:
    """The white list: name in files -> class."""
    return _declared_by((StudyRecord, Confirmed, Frame, *FAMILIES.values()))


@cache
def _declared_by(roots: tuple[type, ...]) -> Mapping[str, SavedClass]:
    found: dict[str, SavedClass] = {}
    waiting = list(roots)
    while waiting:
        cls = waiting.pop()
        name = saved_name(cls)
        if name not in found:
            found[name] = _saved_class(cls)
            waiting += [c for hint in found[name].types.values() for c in _classes_in(hint)]
        elif found[name].cls is not cls:
            raise ValueError(f"Two classes of saved studies have the name {name!r}: rename one.")
    return found


def _classes_in(hint: Any) -> Iterator[type]:
    is_saved = isinstance(hint, type) and (is_dataclass(hint) or hint is SearchSpace)
    if is_saved and not issubclass(hint, Term | Transform) and hint is not Family:
        yield hint
    for inside in get_args(hint):
        yield from _classes_in(inside)


def _saved_class(cls: Any) -> SavedClass:
    if issubclass(cls, SearchSpace):
        types = get_type_hints(cls.of_parts)
        types.pop("return")
        return SavedClass(cls, cls.of_parts, types, frozenset(types))
    # Names that are imported only for type checking are found at the door of the room.
    door = sys.modules.get(cls.__module__.rpartition(".")[0])
    hints = get_type_hints(cls, localns=vars(door) if door else None)
    stored = [f for f in fields(cls) if f.init and f.name not in EXECUTION_FIELDS]
    required = [f.name for f in stored if f.default is MISSING and f.default_factory is MISSING]
    return SavedClass(cls, cls, {f.name: hints[f.name] for f in stored}, frozenset(required))
