"""Docs, messages and docstrings speak the field's words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DIALECT = re.compile(
    r"unless told|left out|laid down|foretold|foreseen|told apart|runs? away|runs? to infinity"
    r"|near-twin|pleases nobody|gone through|\banew\b|\bin play\b|as it was\.\"|to be written\.",
    re.IGNORECASE,
)
"""What we used to say for: default, held-out or dropped, saved, predicted, not identified,
diverges, highly correlated, must not increase, processed, again, active."""
WANTED = (
    "cross-validation",
    "Hessian",
    "held-out",
    "callback",
    "warm start",
    "ELBO",
    "not identified",
    "separation",
    "dummy",
    "alternative-specific",
)
"""A modeller who searches for one of these finds what it means here."""


def texts() -> list[Path]:
    """Everything that users read, and the source."""
    found = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    found += (ROOT / "docs").rglob("*.md")
    for ending in ("*.py", "*.toml", "*.j2", "*.html"):
        found += (ROOT / "src").rglob(ending)
    return found


@pytest.mark.parametrize("path", texts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_dialect_is_left(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not [f"{i}: {line}" for i, line in enumerate(lines, 1) if DIALECT.search(line)]


@pytest.mark.parametrize("word", WANTED)
@pytest.mark.parametrize("where", ["docs", "src"])
def test_the_terms_of_the_field_are_found(word: str, where: str) -> None:
    pages = [p for p in texts() if p.is_relative_to(ROOT / where)]
    assert any(word.lower() in p.read_text(encoding="utf-8").lower() for p in pages)
