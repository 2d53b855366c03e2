"""`read_settings`: a study file, with every mistake in it reported at once."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ardchoice.errors import ArdchoiceError, Mistake, SettingsError, did_you_mean
from ardchoice.families import FAMILIES
from ardchoice.settings.lines import Key, key_lines, line_of
from ardchoice.settings.names import name_mistakes
from ardchoice.settings.schema import StudySettings, columns_by_alternative, family_section
from ardchoice.settings.values import shown

MAX_FILE_BYTES = 2_000_000
"""A larger file is something else than settings."""
MAX_MISTAKES = 100
"""More are not looked for."""
MAX_ROUNDS = 50
"""Most times that what is wrong is set aside to see what else is wrong."""
TABLE_SUFFIXES = (
    *(".csv", ".tsv", ".tab", ".dat", ".txt", ".gz", ".parquet", ".pq"),
    *(".xlsx", ".xlsm", ".dta", ".sav", ".zsav"),
)
"""Endings that files with choices have, and study files have not."""
DRAW_KEYS = ("draws", "n_draws", "number_of_draws", "ndraws", "R")
"""What other packages call the nodes of a mixed logit."""


def read_settings(path: str | Path) -> StudySettings:
    """Read a study file.

    Parameters
    ----------
    path
        Of a TOML file; `example_settings` shows all it may hold.

    Returns
    -------
    StudySettings

    Raises
    ------
    SettingsError
        With every mistake: line, key, what is allowed, the nearest valid name.
    """
    return parse_settings(settings_text(Path(path)), Path(path).name)


def settings_text(path: Path) -> str:
    """The text of a study file."""
    if path.is_dir():
        raise ArdchoiceError(f"'{path}' is a folder; a study file such as study.toml is wanted.")
    if path.exists() and not path.is_file():
        raise ArdchoiceError(f"'{path}' is not a file but a pipe or a device: give a study file.")
    if not path.is_file():
        folder = path.parent if path.parent.is_dir() else Path()
        hint = did_you_mean(path.name, sorted(p.name for p in folder.glob("*.toml")))
        raise ArdchoiceError(
            f"There is no study file '{path}'. {hint} `ardchoice init TABLE` writes one."
        )
    if path.suffix.lower() in TABLE_SUFFIXES:
        raise ArdchoiceError(
            f"'{path}' is a table, not a study file. `ardchoice init {path}` writes a study file "
            "for it."
        )
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ArdchoiceError(f"'{path}' cannot be read: {error.strerror or error}.") from None
    if len(content) > MAX_FILE_BYTES:
        raise _one(path.name, f"has more than {MAX_FILE_BYTES // 10**6} MB: this is no study file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        said = "is not UTF-8 text. Save it as UTF-8; a table is named in it, as data.table."
        raise _one(path.name, said, line) from None
    return text


def parse_settings(text: str, name: str = "study.toml", *, complete: bool = True) -> StudySettings:
    """Read settings from the text of a study file.

    Parameters
    ----------
    text
    name
        As messages call it.
    complete
        Whether a table must be named and the roles of its columns given; settings of a study that
        was made from a data frame have none.
    """
    settings, mistakes = parse_partly(text, name, complete=complete)
    if mistakes or settings is None:
        raise with_lines(mistakes, text, name)
    return settings


def with_lines(mistakes: Sequence[Mistake], text: str, name: str) -> SettingsError:
    """Mistakes in the order of the file, with their lines in it."""
    lines = key_lines(text)
    placed = [Mistake(m.key, m.message, m.line or line_of(lines, m.key)) for m in mistakes]
    return SettingsError(sorted(placed, key=lambda m: m.line or 0), name)


def parse_partly(
    text: str, name: str = "study.toml", *, complete: bool = True
) -> tuple[StudySettings | None, list[Mistake]]:
    """What can be read of a study file, and every mistake in it, without lines."""
    raw = _load(text, name)
    if not raw and complete:
        raise _one(name, "there is nothing in it. `ardchoice init TABLE` writes a study file.")
    settings, mistakes = _validate(raw)
    if settings is not None:
        mistakes += islice(name_mistakes(settings, raw, complete), MAX_MISTAKES)
    return settings, mistakes


def _one(name: str, said: str, line: int | None = None) -> SettingsError:
    return SettingsError([Mistake((), said, line)], name)


# -- TOML itself ---------------------------------------------------------------------------------

_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_WORDS = (
    ("Invalid value", "a value is wanted here"),
    ('Unterminated string|Expected "[\'"]', "a text is not closed: its second quote is missing"),
    ("Illegal character '\\n'", "a text is not closed on its line: its second quote is missing"),
    ("Expected '=' after", "a key is followed by '=' and its value"),
    ("Expected '\\]' at the end", "the name of a section is closed by ']': [data]"),
    ("Cannot overwrite", "a key is set twice; keep one of them"),
    ("Cannot declare|Cannot mutate", "a section or key is set twice; keep one of them"),
    ("Unclosed array", "a list is not closed: ']' is missing, or a comma between its entries"),
    ("Unclosed inline table", "a table is not closed: '}' is missing, or a comma"),
    ("Expected newline", "something is left over here: one key a line, text in quotes"),
    ("Invalid statement", "neither 'key = value' nor the [name] of a section"),
    ("Unescaped", "a backslash in a text is doubled (\\\\), or the text put in single quotes"),
    ("Invalid initial character for a key", "a key is wanted here; odd ones go in quotes"),
    ("Duplicate inline table key", "a key is set twice; keep one of them"),
    ("Illegal character|Found invalid character", "a character that cannot stand here"),
)


def _load(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _one(name, "lists or tables are nested too deep to be read.") from None
    except tomllib.TOMLDecodeError as error:
        raise _one(name, *_syntax(str(error), text)) from None
    except ValueError:  # a number with thousands of digits
        raise _one(name, "a number in it has too many digits.") from None


def _syntax(message: str, text: str) -> tuple[str, int]:
    """What TOML does not understand, in plain words, and on which line."""
    found = _PLACE.fullmatch(message)
    rows = text.split("\n")
    if found and found[2]:
        line, column = int(found[2]), int(found[3])
    else:
        line = len(rows)
        while line > 1 and not rows[line - 1].strip():
            line -= 1
        column = len(rows[line - 1]) + 1
    said = found[1] if found else message
    plain = next((words for start, words in _WORDS if re.match(start, said)), said)
    row = rows[line - 1] if line <= len(rows) else ""
    word = re.match(r"[^\W\d]\w*", row[column - 1 :])
    if word and plain == _WORDS[0][1]:
        small = word[0].lower() in ("true", "false")
        plain += f": write {word[0].lower()}" if small else f'; text stands in quotes: "{word[0]}"'
    excerpt, mark = _excerpt(row, column)
    return f"column {column}: {plain}.\n       {excerpt}\n       {mark}", line


def _excerpt(row: str, column: int) -> tuple[str, str]:
    """The part of a line around a column, and a mark under it."""
    start = max(0, column - 40)
    piece = "".join(c if c.isprintable() else " " for c in row[start : start + 64])
    return piece, " " * (column - 1 - start) + "^"


# -- What the schema refuses ---------------------------------------------------------------------


def _validate(raw: dict[str, Any]) -> tuple[StudySettings | None, list[Mistake]]:
    """The settings and every mistake; what is wrong is set aside to see what else is."""
    rest = copy.deepcopy(raw)
    if isinstance(rest.get("data"), dict):
        rest["data"] = columns_by_alternative(rest["data"])
    mistakes: list[Mistake] = []
    aside: set[Key] = set()
    for _ in range(MAX_ROUNDS):
        try:
            return StudySettings.model_validate(rest), mistakes
        except ValidationError as error:
            for one in error.errors(include_url=False):
                key = _key(one)
                # What is wrong only since a part of it was set aside is no mistake of the user.
                if key not in aside:
                    mistakes.append(Mistake(key, _message(one, key)))
                if len(mistakes) == MAX_MISTAKES:
                    return None, mistakes
                gone = _set_aside(rest, key)
                aside |= {gone[:end] for end in range(1, len(gone) + 1)}
    return None, mistakes


def _key(error: ErrorDetails) -> Key:
    """Where an error is, in the words of the file: without the tags of unions."""
    loc: Key = error["loc"]
    if error["type"] == "union_tag_invalid":
        return (*loc, str(error["ctx"]["discriminator"]).strip("'"))
    if loc[:1] in (("solver",), ("selection",)):
        return (*loc[:1], *loc[2:])
    return loc


def _set_aside(rest: Any, key: Key) -> Key:
    """Remove the deepest part of a key that is there; returns which that was."""
    for depth, part in enumerate(key, 1):
        if not _holds(rest, part):
            return key[:depth]
        if depth == len(key) or not _holds(rest[part], key[depth]):
            rest.pop(part)
            return key[:depth]
        rest = rest[part]
    return key


def _holds(container: Any, part: str | int) -> bool:
    if isinstance(container, list):
        return isinstance(part, int) and part < len(container)
    return isinstance(container, dict) and part in container


_WANTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list in square brackets",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
    "int_parsing_size": "a smaller number",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def _message(error: ErrorDetails, key: Key) -> str:
    """What is wrong, what is allowed, the nearest valid name."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "ours":
        return error["msg"]
    if kind == "extra_forbidden":
        return _unknown_key(error["loc"], key)
    if kind in _WANTED:
        return f"{_WANTED[kind]} is wanted here, not {shown(value)}."
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"must be {words} {context[bound]}, not {shown(value)}."
    if kind in ("literal_error", "union_tag_invalid"):
        expected = str(context.get("expected", context.get("expected_tags", "")))
        allowed = re.findall(r"'([^']*)'", expected)
        asked = context.get("tag", value)
        hint = did_you_mean(str(asked), allowed)
        return f"there is no {shown(asked).removeprefix('the text ')} here. {hint}"
    if kind in ("too_short", "string_too_short"):
        return "must not be empty."
    return f"{error['msg']}."


def _unknown_key(loc: Key, key: Key) -> str:
    """A key that is not known here: the nearest one, or the section where it belongs."""
    name, model = str(key[-1]), _model_at(loc[:-1])
    kind = "section" if len(key) == 1 else "key"
    known = list(model.model_fields) if model is not None else []
    if key[:-1] == ("model",):
        options = {k: tag for tag, c in FAMILIES.items() for k in family_section(c).model_fields}
        if name in options:
            return f"{name} is an option of family = {options[name]!r}, and this is another."
        known = list(options)
        if name in DRAW_KEYS:
            return f"there is no key {name!r} here: a mixed logit has 'nodes', such as nodes = 64."
    near = did_you_mean(name, known)
    others = [
        section
        for section, field in StudySettings.model_fields.items()
        if any(name in m.model_fields for m in _members(field.annotation))
        and (section,) != key[:-1]
    ]
    if others and not near.startswith("Did you mean"):
        near = f"It belongs in [{others[0]}]. {near}"
    return f"there is no {kind} {name!r} here. {near}"


def _members(annotation: Any) -> list[type[BaseModel]]:
    """The sections that a type allows."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    inside = get_args(annotation) if get_origin(annotation) is not dict else ()
    return [m for a in inside for m in _members(a)]


def _model_at(loc: Key) -> type[BaseModel] | None:
    """The section whose keys stand at a place; tags of unions are part of the place."""
    here: Any = StudySettings
    for part in loc:
        members = _members(here)
        if here in members:
            field = here.model_fields.get(str(part))
            here = field.annotation if field else None
        elif members:  # a union, of which the tag says the member
            here = next((m for m in members if part in (_tag(m, "method"), _tag(m, "rule"))), None)
        else:
            here = get_args(here)[1] if get_origin(here) is dict else None
    return next(iter(_members(here)), None)


def _tag(model: type[BaseModel], key: str) -> object:
    field = model.model_fields.get(key)
    return None if field is None else field.default
