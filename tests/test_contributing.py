"""What CONTRIBUTING.md points to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "ardchoice"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
QUOTED = sorted(set(re.findall(r"`([^`\s]+)`", TEXT)))
PATHS = [word for word in QUOTED if re.fullmatch(r"[\w/.]+(\.py|\.toml|\.md|/)", word)]
CONSTANTS = [word for word in QUOTED if re.fullmatch(r"_?[A-Z][A-Z_]{3,}", word)]


def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_there_are_paths_and_constants() -> None:
    assert len(PATHS) > 40
    assert len(CONSTANTS) > 8


@pytest.mark.parametrize("path", PATHS)
def test_a_path_exists(path: str) -> None:
    places = [SOURCE / path, ROOT / path]
    if "/" not in path:
        # Named beside a path of the same room.
        places += [file for file in source_files() if file.name == path]
    assert any(place.exists() for place in places)


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_defined_in_a_file_that_is_named(name: str) -> None:
    defined = re.compile(rf"^{name}\b.*=", re.MULTILINE)
    files = [f for f in source_files() if defined.search(f.read_text(encoding="utf-8"))]
    named = [f for f in files if f.name in TEXT or f.parent.name in TEXT]
    assert named
