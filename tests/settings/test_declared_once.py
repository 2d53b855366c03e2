"""An option is declared once, as a field: keys of study files and objects follow from it."""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields
from inspect import signature
from pathlib import Path

import pytest
from pydantic import ValidationError

import ardchoice as ac
from ardchoice.data import ReadingOptions
from ardchoice.settings import example_settings
from ardchoice.settings.schema import section

SOURCE = Path(ac.__file__).parent
MOST_FILES = 4
"""Where an option may be named: its class, its use, its bounds or argument, the example."""


@pytest.mark.parametrize(
    "option",
    [
        *("max_levels", "interact_classes", "linear_unless", "one_coefficient", "exclusive"),
        *("max_passes", "max_epochs", "decay_every", "heredity"),
    ],
)
def test_an_option_is_named_in_at_most_four_files(option: str) -> None:
    word = re.compile(rf"\b{option}\b *[:=]|\.{option}\b")
    files = [
        file.relative_to(SOURCE).as_posix()
        for file in sorted(SOURCE.rglob("*"))
        if file.suffix in (".py", ".toml", ".j2") and word.search(file.read_text(encoding="utf-8"))
    ]
    assert 2 <= len(files) <= MOST_FILES, files
    assert "settings/example.toml" in files
    assert re.search(rf"\b{option}\b", example_settings())


@dataclass(frozen=True)
class Rigour:
    """Options that only this test knows.

    Attributes
    ----------
    width, notes
        Some options.
    folds
        With a bound that fields of this name have in every section.
    """

    width: float = 0.5
    notes: tuple[str, ...] = ()
    folds: int = 5


def test_a_section_of_a_study_file_follows_from_the_fields_of_a_class() -> None:
    keys = section("RigourSettings", Rigour)
    assert keys().make(Rigour) == Rigour()
    read = keys.model_validate({"width": 2, "notes": "one", "folds": 3})
    assert read.make(Rigour) == Rigour(width=2.0, notes=("one",), folds=3)


@pytest.mark.parametrize(
    ("written", "key"),
    [({"width": "wide"}, "width"), ({"folds": 1}, "folds"), ({"breadth": 1.0}, "breadth")],
)
def test_a_wrong_value_of_such_a_key_is_refused(written: dict[str, object], key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        section("RigourSettings", Rigour).model_validate(written)
    assert [error["loc"] for error in caught.value.errors()] == [(key,)]


@pytest.mark.parametrize("read", [ac.read_wide, ac.read_long])
def test_arguments_of_a_reader_are_the_reading_options_with_their_defaults(read: object) -> None:
    assert callable(read)
    arguments = signature(read).parameters
    of_one_layout = {"layout", "choice", "availability", "situation", "alternative"}
    for option in fields(ReadingOptions):
        if option.name in of_one_layout:
            continue
        given = arguments[option.name].default
        if option.default is not MISSING and given is not arguments[option.name].empty:
            assert given == option.default, option.name
