"""The numbers of the README are those of the reproduction that the docs hold."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NUMBER = re.compile(r"[−-]?\d[\d,]*\.?\d*")


def test_every_figure_is_on_the_page_of_the_reproduction() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    start = readme.index("## How well it finds")
    section = readme[start : readme.index("## Documentation")]
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    figures = set(NUMBER.findall(page))
    # Names such as R6 and S9 and small counts written out are not figures.
    shown = {n.rstrip(".,") for n in NUMBER.findall(re.sub(r"\b[RS]\d\b", "", section))}
    assert len(shown) > 15
    assert not shown - figures
