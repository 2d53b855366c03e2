"""The page of the docs is what a full run made, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from ardchoice.reproduce.document import to_markdown
from ardchoice.reproduce.items import ITEMS
from ardchoice.reproduce.published import published

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_the_docs_is_made_from_its_results() -> None:
    results = json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))
    assert not results["quick"]
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert text == to_markdown(results, "images/reproduction")
    assert results["items"][0]["item"] == "specifications"
    assert {item["item"] for item in results["items"]} == set(ITEMS)


def test_published_figures_in_the_docs_are_the_published_ones() -> None:
    results = json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))
    real = next(item for item in results["items"] if item["item"] == "real")
    fits = next(t for t in real["tables"] if t["name"] == "real_fits")
    rows = {row[0]: row for row in fits["rows"]}
    for name, row in published()["real_results"]["rows"].items():
        assert rows[name][3] == row["loglik"]
