"""Values of a study file: what may stand there, brought into one form at the door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from ardchoice.data import label
from ardchoice.errors import ArdchoiceError
from ardchoice.selection import listed
from ardchoice.space import Transform, number_text, parse_specification, parse_transform

MOST = 2**31 - 1
"""Largest whole number of a setting."""


def wrong(message: str) -> PydanticCustomError:
    """A mistake said in our own words."""
    # Braces would be taken for places to fill in.
    return PydanticCustomError("ours", "{message}", {"message": message})


def shown(value: object) -> str:
    """A value as a message quotes it: short, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = f"the text {value!r}" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def as_tuple(value: object) -> object:
    """A list as a tuple; one text for a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _as_label(value: object) -> object:
    if isinstance(value, (str, int, float, np.generic)):
        return label(value)
    raise wrong(f"a name or a code is wanted here (text or a number), not {shown(value)}.")


def once(values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list that has something twice."""
    if len(set(values)) < len(values):
        twice = next(v for v, count in Counter(values).items() if count > 1)
        raise wrong(f"{shown(twice)} is listed twice.")
    return values


def transform_text(how: Transform) -> str:
    """A form without its attribute, as `parse_transform` reads it: ``segments(4)``."""
    arguments = how.arguments()
    return how.name + (f"({', '.join(map(number_text, arguments))})" if arguments else "")


Read = TypeVar("Read")


def teach(read: Callable[..., Read], *values: object) -> Read:
    """Call something of ours; what it refuses is a mistake of the file."""
    try:
        return read(*values)
    except ArdchoiceError as error:
        raise wrong(str(error)) from None


def _text_of(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise wrong(f"{what} is text, not {shown(value)}.")
    return value


def _forms(value: object) -> tuple[str, ...]:
    """Functional forms in their usual spelling, none twice."""
    values = as_tuple(value)
    if not isinstance(values, tuple):
        raise wrong(f'a list of forms is wanted here, such as ["linear"], not {shown(value)}.')
    if not values:
        raise wrong('the list of forms is empty; write ["linear"] for attributes as they are.')
    texts = [_text_of(v, "a form such as 'log1p'") for v in values]
    return tuple(dict.fromkeys(transform_text(teach(parse_transform, t)) for t in texts))


def _transforms(value: object) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    if isinstance(value, Mapping):
        return {_text_of(key, "an attribute"): _forms(forms) for key, forms in value.items()}
    return _forms(value)


def _term_texts(value: object) -> tuple[str, ...]:
    """Terms one by one, from a list of them or from a text with several lines."""
    values = as_tuple(value)
    if not isinstance(values, tuple):
        raise wrong(f'terms are wanted here, such as ["TRAIN: log(TT) x GA"], not {shown(value)}.')
    texts = [_text_of(v, "a term") for v in values]
    terms = [t for text in texts if text.strip() for t in teach(parse_specification, text).terms]
    return tuple(dict.fromkeys(map(str, terms)))


def _pattern(text: str) -> str:
    if ":" not in text:
        raise wrong(f"{text!r} is not a pattern of terms: write 'TRAIN: log(*)' or '*: * x AGE'.")
    return text


def _specification(text: str) -> str:
    teach(parse_specification, text)
    return text.strip()


def _groups(value: object) -> object:
    """A list of groups of patterns; one text is a group of one."""
    if isinstance(value, str):
        raise wrong('a list of groups is wanted here, such as [["A: TT", "A: CO"]].')
    value = as_tuple(value)
    if isinstance(value, tuple):
        return tuple(listed(v) if isinstance(v, (str, list, tuple)) else v for v in value)
    return value


def _columns(value: object) -> object:
    """A column or a pattern; or a table alternative -> column."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise wrong(
            'a column, a pattern such as "{alt}_TT" or a table alternative = "column" is '
            f"wanted here, not {shown(value)}."
        )
    if not value:
        raise wrong("the table alternative -> column is empty.")
    return {label(k): _text_of(v, f"the column of {label(k)}") for k, v in value.items()}


def _column_or_several(value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)) or not value:
        raise wrong(
            f'a column or a list of them, such as ["person", "task"], is wanted here, not '
            f"{shown(value)}."
        )
    columns = tuple(_text_of(v, "a column") for v in value)
    return columns[0] if len(columns) == 1 else once(columns)


def _yes_or_names(value: object) -> object:
    value = as_tuple(value)
    if isinstance(value, tuple):
        return tuple(_text_of(v, "an attribute") for v in value)
    if not isinstance(value, bool):
        raise wrong(f"true, false or a list of attributes is wanted here, not {shown(value)}.")
    return value


def _one_form(value: object) -> object:
    if value in ("everywhere",) or isinstance(value, bool):
        return value
    raise wrong(f'true, false or "everywhere" is wanted here, not {shown(value)}.')


def _alternatives(value: object) -> object:
    """Name -> code; a list where the codes are the names."""
    if isinstance(value, (list, tuple)):
        names = tuple(str(_as_label(v)) for v in value)
        value = dict(zip(once(names), names, strict=True))
    if value is not None and not isinstance(value, Mapping):
        raise wrong(
            "a table name = code, such as {car = 1, bus = 2}, or a list of names is wanted here, "
            f"not {shown(value)}."
        )
    return value


def _distinct_codes(codes: dict[str, str] | None) -> dict[str, str] | None:
    if codes is None:
        return None
    if len(codes) < 2:
        raise wrong("a choice needs at least two alternatives.")
    seen: dict[str, str] = {}
    for name, code in codes.items():
        if code in seen:
            raise wrong(f"{seen[code]!r} and {name!r} have the same code, {code}.")
        seen[code] = name
    return codes


Label = Annotated[str, BeforeValidator(_as_label)]
Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(once)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(as_tuple), AfterValidator(once)]
Merged = Annotated[tuple[Label, ...], BeforeValidator(as_tuple)]
Numbers = Annotated[tuple[float, ...], BeforeValidator(as_tuple)]
Columns = Annotated[str | dict[str, str] | None, BeforeValidator(_columns)]
ColumnOrSeveral = Annotated[str | tuple[str, ...] | None, BeforeValidator(_column_or_several)]
Alternatives = Annotated[
    dict[str, Label] | None, BeforeValidator(_alternatives), AfterValidator(_distinct_codes)
]
Transforms = Annotated[tuple[str, ...] | dict[str, tuple[str, ...]], BeforeValidator(_transforms)]
Terms = Annotated[tuple[str, ...], BeforeValidator(_term_texts)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(as_tuple)]
Groups = Annotated[
    tuple[Annotated[tuple[Pattern, ...], BeforeValidator(as_tuple)], ...], BeforeValidator(_groups)
]
SpecificationText = Annotated[str, AfterValidator(_specification)]
YesOrNames = Annotated[bool | tuple[str, ...], BeforeValidator(_yes_or_names)]
OneForm = Annotated[bool | str, BeforeValidator(_one_form)]
Count = Annotated[int, Field(ge=0, le=MOST)]
Positive = Annotated[int, Field(ge=1, le=MOST)]
Above = Annotated[float, Field(gt=0)]
