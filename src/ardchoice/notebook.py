"""Objects as compact HTML for notebooks: text is escaped, nothing runs, no style leaks out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 30
"""Rows of a table that are shown."""
MOST_LINES = 12
"""Lines of a folded list that are shown."""
_LEFT = ' style="text-align:left;padding:1px 1em 1px 0"'
_RIGHT = ' style="text-align:right;padding:1px 1em 1px 0"'
_TABLE = ' style="border-collapse:collapse;margin:0.5em 0"'
_PRE = ' style="margin:0;white-space:pre-wrap"'


def block(title: str, *parts: str) -> str:
    """A titled block; parts are HTML, empty ones are omitted."""
    body = "".join(part for part in parts if part)
    return f'<div class="ardchoice"><p><b>{escape(title)}</b></p>{body}</div>'


def paragraph(text: str) -> str:
    """A paragraph of text; empty for none."""
    return f"<p>{escape(text)}</p>" if text else ""


def code(text: str) -> str:
    """Lines as they are, such as a specification."""
    return f"<pre{_PRE}>{escape(text)}</pre>" if text else ""


def html_table(
    rows: Sequence[Sequence[str]], header: Sequence[str], *, left: int = 1, most: int = MOST_ROWS
) -> str:
    """Cells as a table: the first `left` columns flush left, the others right.

    Parameters
    ----------
    rows, header
        Text.
    left
    most
        Rows that are shown; how many more there are is said below.
    """
    if not rows:
        return ""
    head = _row("th", header, left)
    body = "".join(_row("td", row, left) for row in rows[:most])
    more = len(rows) - most
    below = paragraph(f"... and {more:,} more rows") if more > 0 else ""
    return f"<table{_TABLE}><thead>{head}</thead><tbody>{body}</tbody></table>{below}"


def _row(tag: str, cells: Sequence[str], left: int) -> str:
    inside = (
        f"<{tag}{_LEFT if j < left else _RIGHT}>{escape(cell)}</{tag}>"
        for j, cell in enumerate(cells)
    )
    return f"<tr>{''.join(inside)}</tr>"


def folded(title: str, lines: Iterable[str], *, most: int = MOST_LINES) -> str:
    """A list that opens on a click, without any script; empty for no lines."""
    texts = list(lines)
    if not texts:
        return ""
    shown = [*texts[:most], *([f"... and {len(texts) - most:,} more"] if texts[most:] else [])]
    items = "".join(f"<li>{escape(text)}</li>" for text in shown)
    return f"<details><summary>{escape(title)} ({len(texts):,})</summary><ul>{items}</ul></details>"
