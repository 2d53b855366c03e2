"""`to_toml`: settings as the text of a study file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ardchoice.settings.schema import DataSettings, StudySettings

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
LIST_CHARACTERS = 88
"""A longer list takes several lines."""


def to_toml(settings: StudySettings) -> str:
    """The text of a study file that reads back to the same settings.

    Only what differs from the defaults is written, and the kind of solver and rule.
    """
    parts = [_data(settings.data)]
    for name in ("model", "space", "structure", "solver", "selection", "output"):
        section = getattr(settings, name)
        said = section.model_dump(exclude_defaults=True)
        said = {
            field: said[field] if field in said else getattr(section, field)
            for field in type(section).model_fields
            if field in said or field in ("family", "method", "rule", "folder")
        }
        # Those that may hold more than a line go below as tables of their own.
        below = {k: v for k, v in said.items() if isinstance(v, Mapping)}
        lines = [f"{k} = {toml_value(v)}" for k, v in said.items() if k not in below]
        parts.append("\n".join([f"[{name}]", *lines]))
        parts += [toml_table(f"{name}.{k}", v) for k, v in below.items()]
    scenarios = settings.model_dump(exclude_defaults=True).get("scenarios", {})
    if scenarios:
        short = {k: v["changes"] if set(v) == {"changes"} else v for k, v in scenarios.items()}
        parts.append(toml_table("scenarios", short))
    return "\n\n".join(parts) + "\n"


def _data(data: DataSettings) -> str:
    said = data.model_dump(exclude_defaults=True)
    said = {"table": data.table, "layout": data.layout, **said}
    if "missing_values" in said:
        said["missing_values"] = _missing_values(said["missing_values"])
    codes = said.pop("alternatives", None)
    lines = [
        f"{k} = {toml_value(v)}" for k, v in said.items() if v is not None and k not in _TABLES
    ]
    below = []
    if codes and all(name == code for name, code in codes.items()):
        lines.append(f"alternatives = {toml_value(list(codes))}")
    elif codes:
        below.append(toml_table("data.alternatives", {k: Code(v) for k, v in codes.items()}))
    for key in _BELOW:
        roles = {name: _role(name, how) for name, how in said.get(key, {}).items()}
        if roles and all(how == name for name, how in roles.items()):
            lines.append(f"{key} = {toml_value(list(roles))}")
        elif roles:
            below.append(toml_table(f"data.{key}", roles))
    for key in _TEXTS:
        if said.get(key):
            below.append(toml_table(f"data.{key}", said[key]))
    return "\n\n".join(["\n".join(["[data]", *lines]), *below])


_BELOW = ("attributes", "covariates")
_TEXTS = ("derive", "units", "labels")
_TABLES = (*_BELOW, *_TEXTS)
"""Keys of [data] that are tables of their own."""


def _missing_values(value: object) -> object:
    if isinstance(value, Mapping):
        return {column: _codes(codes) for column, codes in value.items()}
    return _codes(value)


def _role(name: str, how: Mapping[str, Any]) -> object:
    """A column alone as text, or a table."""
    if not set(how) - {"column"} and not isinstance(how.get("column"), Mapping):
        return how.get("column", name)
    codes = {"levels", "reference", "labels"}
    out: dict[str, Any] = {k: _codes(v) if k in codes else v for k, v in how.items()}
    if "merge" in out:
        out["merge"] = {new: _codes(olds) for new, olds in out["merge"].items()}
    return out


class Code(str):
    """A code of the table, written as a number where it is one."""

    __slots__ = ()


def _codes(value: object) -> object:
    if isinstance(value, str):
        return Code(value)
    return [Code(v) for v in value] if isinstance(value, Iterable) else value


def toml_table(name: str, content: Mapping[str, Any]) -> str:
    """A section with a line per key."""
    lines = [f"{toml_key(k)} = {toml_value(v)}" for k, v in content.items()]
    return "\n".join([f"[{name}]", *lines])


def toml_key(name: str) -> str:
    """A key: bare when plain, in quotes when odd."""
    return name if _BARE.fullmatch(name) else _quoted(name)


def toml_text(text: str) -> str:
    """A text in quotes; over several lines where it has them."""
    if "\n" in text:
        inner = "\n".join(_quoted(line)[1:-1] for line in text.split("\n"))
        return f'"""\n{inner}"""'
    return _quoted(text)


def _quoted(text: str) -> str:
    # TOML's basic strings are JSON's, but for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: object) -> str:
    """A value on one line; a long list on several."""
    if isinstance(value, Code) and _WHOLE.fullmatch(value):
        return str(value)
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml_key(k)} = {_inline(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        entries = [_inline(v) for v in value]
        text = f"[{', '.join(entries)}]"
        if len(text) <= LIST_CHARACTERS:
            return text
        return "[\n" + "".join(f"    {e},\n" for e in entries) + "]"
    return repr(value)


def _inline(value: object) -> str:
    """A value inside another: always on one line."""
    if isinstance(value, Code) or not isinstance(value, (str, list, tuple)):
        return toml_value(value)
    if isinstance(value, str):
        return _quoted(value)
    return f"[{', '.join(_inline(v) for v in value)}]"
