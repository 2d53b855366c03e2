"""docs/reference.md has all that is public: names, methods and attributes."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import ardchoice as ac
from ardchoice.estimation import Bootstrap
from ardchoice.record import FamilyComparison

REFERENCE = (Path(__file__).parents[1] / "docs" / "reference.md").read_text(encoding="utf-8")
OWN_SECTION = {"Result": ac.Result, "Study": ac.Study, "ChoiceData": ac.ChoiceData}
IN_ROWS = {
    "SearchSpace": ac.SearchSpace,
    "ArdFit": ac.ArdFit,
    "Specification": ac.Specification,
    "Term": ac.Term,
    "Rival": ac.Rival,
    "Scenario": ac.Scenario,
    "Scenarios": ac.Scenarios,
    "Curve": ac.Curve,
    "Bootstrap": Bootstrap,
    "FamilyComparison": FamilyComparison,
    "Path": ac.Path,
    "ScriptModel": ac.ScriptModel,
}
FAMILIES = {"Nested": ac.Nested, "LatentClass": ac.LatentClass, "Mixed": ac.Mixed}


def public(kind: type) -> set[str]:
    """Methods, properties and fields of a class."""
    own = {name for name in dir(kind) if not name.startswith("_")}
    if dataclasses.is_dataclass(kind):
        own |= {f.name for f in dataclasses.fields(kind) if not f.name.startswith("_")}
    return own


def named(text: str) -> set[str]:
    """All words in code of a part of the page."""
    code = re.findall(r"`([^`]*)`", text)
    return {word for part in code for word in re.findall(r"[A-Za-z_][A-Za-z_0-9]*", part)}


def test_every_public_name_stands_on_the_page() -> None:
    assert set(ac.__all__) - named(REFERENCE) == set()


@pytest.mark.parametrize("name", OWN_SECTION)
def test_every_method_stands_in_the_section_of_its_class(name: str) -> None:
    section = REFERENCE.split(f"### `{name}`")[1].split("\n##")[0]
    assert public(OWN_SECTION[name]) - named(section) == set()


@pytest.mark.parametrize("name", IN_ROWS)
def test_every_method_stands_in_a_row_of_its_class(name: str) -> None:
    rows = [row for row in REFERENCE.splitlines() if row.startswith("|") and f"`{name}" in row]
    assert public(IN_ROWS[name]) - named("\n".join(rows)) == set()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_option_of_a_family_stands_in_its_row(name: str) -> None:
    [row] = [row for row in REFERENCE.splitlines() if row.startswith(f"| `{name}(")]
    options = {f.name for f in dataclasses.fields(FAMILIES[name]) if not f.metadata.get("internal")}
    assert options - named(row) == set()


@pytest.mark.parametrize("name", OWN_SECTION)
def test_what_the_page_says_of_a_class_exists(name: str) -> None:
    section = REFERENCE.split(f"### `{name}`")[1].split("\n##")[0]
    first = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    members = {part.split("(")[0] for cell in first for part in re.findall(r"`([^`]*)`", cell)}
    kind = OWN_SECTION[name]
    assert {m.split(".")[0] for m in members} - public(kind) == set()
