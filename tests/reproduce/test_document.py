"""Pages say what the results say, and nothing in them can break or script a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

from ardchoice.reproduce.document import Section, Table, show, to_html, to_markdown

EVIL = "<script>alert(1)</script> | *x*"


def _results() -> dict[str, Any]:
    table = Table(
        name="t",
        caption=EVIL,
        head=["term", "λ"],
        formats=["", ".3f"],
        rows=[[EVIL, 1.23456], ["CAR: CO", None], ["SM: TT", -0.5]],
        marks={"1,0": "missed", "2,0": "true"},
    )
    section = Section("one", f"Title {EVIL}", [f"Text {EVIL}"], [table], [], {"a": 1})
    made: dict[str, Any] = json.loads(json.dumps(section.to_json()))
    return {"title": EVIL, "text": ["words"], "items": [made]}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_no_name_becomes_a_tag() -> None:
    parser = _Tags()
    parser.feed(to_html(_results()))
    assert "script" not in parser.tags
    assert parser.tags.count("td") == 6


def test_markdown_has_a_table_and_marks() -> None:
    text = to_markdown(_results())
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[1] == "| --- | ---: |"
    assert lines[3] == "| <u>CAR: CO</u> | – |"
    assert lines[4] == "| **SM: TT** | −0.500 |"
    assert "<script" not in text.replace("\\<script", "")
    # A pipe in a name does not make a cell.
    assert lines[2].replace("\\|", "").count("|") == 3


def test_cells_are_written_in_their_formats() -> None:
    assert show(12345.678, ",.1f") == "12,345.7"
    assert show(None, ".1f") == "–"
    assert show(True, "") == "yes"
    assert show(float("nan"), ".1f") == "–"


def test_a_section_comes_back_from_json() -> None:
    made = _results()["items"][0]
    assert Section.from_json(made).to_json() == made
