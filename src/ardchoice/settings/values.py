"""Values of a study file: what may stand there, brought into one form at the door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from ardchoice.data import label
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import parse_changes
from ardchoice.expressions import parse_expression
from ardchoice.selection import RECOGNISED_SIGNS, Sign, listed
from ardchoice.space import (
    Ratio,
    Term,
    Transform,
    number_text,
    parse_specification,
    parse_transform,
)

MAX_WHOLE_NUMBER = 2**31 - 1
"""Largest whole number of a setting."""
MAX_SHOWN_CHARACTERS = 60
MAX_INTERACTION_DEPTH = 10
"""No interaction has more covariates."""


def validation_error(message: str) -> PydanticCustomError:
    """A mistake in our own words."""
    # Braces would be taken for places to fill in.
    return PydanticCustomError("ours", "{message}", {"message": message})


def wanted(what: str, value: object) -> PydanticCustomError:
    """A mistake about a value of another type."""
    return validation_error(f"{what} is wanted here, not {shown(value)}.")


def shown(value: object) -> str:
    """A value as a message quotes it: short, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = f"the text {value!r}" if isinstance(value, str) else str(value)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[: MAX_SHOWN_CHARACTERS - 3]}..."


def as_tuple(value: object) -> object:
    """A list as a tuple; one text for a list of one."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _as_label(value: object) -> object:
    if isinstance(value, (str, int, float, np.generic)):
        return label(value)
    raise validation_error(
        f"a name or a code is wanted here (text or a number), not {shown(value)}."
    )


def require_unique(values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list that has something twice."""
    if len(set(values)) < len(values):
        twice = next(v for v, count in Counter(values).items() if count > 1)
        raise validation_error(f"{shown(twice)} is listed twice.")
    return values


def transform_text(how: Transform) -> str:
    """A form without its attribute, as `parse_transform` reads it: ``segments(4)``."""
    if isinstance(how, Ratio):
        return how.text("").strip()
    arguments = how.arguments()
    return how.name + (f"({', '.join(map(number_text, arguments))})" if arguments else "")


Read = TypeVar("Read")


def as_validation_error(read: Callable[..., Read], *values: object) -> Read:
    """Call something of ours; what it refuses is a mistake of the file."""
    try:
        return read(*values)
    except ArdchoiceError as error:
        raise validation_error(str(error)) from None


def _text_of(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise validation_error(f"{what} is text, not {shown(value)}.")
    return value


def _forms(value: object) -> tuple[str, ...]:
    """Functional forms in their usual spelling, none twice."""
    values = as_tuple(value)
    if not isinstance(values, tuple):
        raise validation_error(
            f'a list of forms is wanted here, such as ["linear"], not {shown(value)}.'
        )
    if not values:
        raise validation_error(
            'the list of forms is empty; write ["linear"] for attributes as they are.'
        )
    texts = [_text_of(v, "a form such as 'log1p'") for v in values]
    return tuple(
        dict.fromkeys(transform_text(as_validation_error(parse_transform, t)) for t in texts)
    )


def _transforms(value: object) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    if isinstance(value, Mapping):
        return {_text_of(key, "an attribute"): _forms(forms) for key, forms in value.items()}
    return _forms(value)


def _term_texts(value: object) -> tuple[str, ...]:
    """Terms one by one, from a list of them or from a text with several lines."""
    values = as_tuple(value)
    if not isinstance(values, tuple):
        raise validation_error(
            f'terms are wanted here, such as ["TRAIN: log(TT) x GA"], not {shown(value)}.'
        )
    texts = [_text_of(v, "a term") for v in values]
    terms = [
        t
        for text in texts
        if text.strip()
        for t in as_validation_error(parse_specification, text).terms
    ]
    return tuple(dict.fromkeys(map(str, terms)))


def _pattern(text: str) -> str:
    if ":" not in text:
        raise validation_error(
            f"{text!r} is not a pattern of terms: write 'TRAIN: log(*)' or '*: * x AGE'."
        )
    return text


def _specification(text: str) -> str:
    as_validation_error(parse_specification, text)
    return text.strip()


def _groups(value: object) -> object:
    """A list of groups of patterns; one text is a group of one."""
    if isinstance(value, str):
        raise validation_error('a list of groups is wanted here, such as [["A: TT", "A: CO"]].')
    value = as_tuple(value)
    if isinstance(value, tuple):
        return tuple(listed(v) if isinstance(v, (str, list, tuple)) else v for v in value)
    return value


def _columns(value: object) -> object:
    """A column or a pattern; or a table alternative -> column."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise wanted(
            'a column, a pattern such as "{alt}_TT" or a table alternative = "column"', value
        )
    if not value:
        raise validation_error("the table alternative -> column is empty.")
    return {label(k): _text_of(v, f"the column of {label(k)}") for k, v in value.items()}


def _column_or_several(value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)) or not value:
        raise wanted('a column or a list of them, such as ["person", "task"],', value)
    columns = tuple(_text_of(v, "a column") for v in value)
    return columns[0] if len(columns) == 1 else require_unique(columns)


def _yes_or_names(value: object) -> object:
    value = as_tuple(value)
    if isinstance(value, tuple):
        return tuple(_text_of(v, "an attribute") for v in value)
    if not isinstance(value, bool):
        raise wanted("true, false or a list of attributes", value)
    return value


def _one_form(value: object) -> object:
    if value in ("everywhere",) or isinstance(value, bool):
        return value
    raise wanted('true, false or "everywhere"', value)


def _signs(value: object) -> object:
    if value == RECOGNISED_SIGNS or isinstance(value, Mapping):
        return value
    raise wanted('"recognised" or a table attribute = "-" or "+"', value)


def _alternatives(value: object) -> object:
    """Name -> code; a list where the codes are the names."""
    if isinstance(value, (list, tuple)):
        names = tuple(str(_as_label(v)) for v in value)
        value = dict(zip(require_unique(names), names, strict=True))
    if value is not None and not isinstance(value, Mapping):
        raise wanted("a table name = code, such as {car = 1, bus = 2}, or a list of names", value)
    return value


def _distinct_codes(codes: dict[str, str] | None) -> dict[str, str] | None:
    if codes is None:
        return None
    if len(codes) < 2:
        raise validation_error("a choice needs at least two alternatives.")
    seen: dict[str, str] = {}
    for name, code in codes.items():
        if code in seen:
            raise validation_error(f"{seen[code]!r} and {name!r} have the same code, {code}.")
        seen[code] = name
    return codes


Label = Annotated[str, BeforeValidator(_as_label)]
Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(require_unique)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(as_tuple), AfterValidator(require_unique)]
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
ExpectedSigns = Annotated[
    Literal["recognised"] | dict[str, Literal["-", "+"]], BeforeValidator(_signs)
]
OneForm = Annotated[bool | str, BeforeValidator(_one_form)]
Count = Annotated[int, Field(ge=0, le=MAX_WHOLE_NUMBER)]
Positive = Annotated[int, Field(ge=1, le=MAX_WHOLE_NUMBER)]
Above = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]


def _missing_values(value: object) -> object:
    if not isinstance(value, Mapping):
        return as_tuple(value)
    return {_text_of(key, "a column"): as_tuple(codes) for key, codes in value.items()}


def _expression(text: str) -> str:
    as_validation_error(parse_expression, text)
    return text


MissingValues = Annotated[
    tuple[Label, ...] | dict[str, tuple[Label, ...]], BeforeValidator(_missing_values)
]
Condition = Annotated[str, AfterValidator(_expression)]
Derivations = dict[str, Condition]


def _changes(texts: tuple[str, ...]) -> tuple[str, ...]:
    as_validation_error(lambda: parse_changes(texts))
    return texts


def _positive(weights: tuple[float, ...]) -> tuple[float, ...]:
    if weights and min(weights) <= 0:
        raise validation_error("weights of a penalty are positive.")
    return weights


# -- From the types of Python's dataclasses to those of a study file -------------------------------

FILE_TYPES: Mapping[Any, Any] = {
    Mapping[str, str]: dict[str, str],
    tuple[Transform, ...] | Mapping[str, tuple[Transform, ...]]: Transforms,
    tuple[Term, ...]: Terms,
    tuple[str, ...]: Names,
    tuple[str, ...] | None: Names | None,
    tuple[float, ...]: Numbers,
    bool | tuple[str, ...]: YesOrNames,
    bool | Literal["everywhere"]: OneForm,
    str | Sequence[str]: Patterns,
    Sequence[str | Sequence[str]]: Groups,
    Mapping[str, Sign]: dict[str, Sign],
    str | Mapping[str, str] | None: Columns,
    object: Label | None,
    Sequence[object] | None: Labels | None,
    Sequence[str] | None: Labels | None,
    Mapping[str, Sequence[object]]: dict[str, Merged],
    Sequence[float]: Numbers,
}
"""Type of a field -> what stands for it in a study file, where that is something else."""
FIELD_BOUNDS: Mapping[str, Any] = {
    "base": Label | None,
    "missing_values": MissingValues,
    "derive": Derivations,
    "where": Condition | None,
    "skip_rows": Count,
    "remove": Patterns,
    "changes": Annotated[Names, Field(min_length=1), AfterValidator(_changes)],
    "weights": Annotated[Numbers, Field(min_length=1), AfterValidator(_positive)],
    "depth": Annotated[int, Field(ge=0, le=MAX_INTERACTION_DEPTH)],
    "quantiles": Annotated[int, Field(ge=2, le=100)] | None,
    "folds": Annotated[int, Field(ge=2, le=1000)],
    "pool_below": Annotated[float, Field(ge=0, lt=1)],
    "decay": Annotated[float, Field(gt=0, le=1)],
    "q": Annotated[float, Field(gt=0, lt=1)],
    "gamma": NotNegative | None,
    **dict.fromkeys(("linear_unless", "threshold"), NotNegative),
    **dict.fromkeys(("sample", "max_terms", "max_coefficients"), Count | None),
    "seed": Count,
    **dict.fromkeys(
        ("max_passes", "max_epochs", "batches", "quiet", "steps", "decay_every", "record_every"),
        Positive,
    ),
    **dict.fromkeys(
        ("start", "tolerance", "learning_rate", "scale_rate", "start_scale", "noise", "weight"),
        Above,
    ),
}
"""Field -> its type in a study file, where that is narrower than in Python."""


def file_value(value: Any) -> Any:
    """A value of a field as a study file has it: text, numbers, lists and tables."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(k): file_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(file_value(v) for v in value)
    if isinstance(value, Transform):
        return transform_text(value)
    return value if value is None or isinstance(value, (str, int, float)) else label(value)
