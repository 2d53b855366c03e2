"""Plain text for terminals: tables and numbers that fit in 80 columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDTH = 80
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": r"{-}",  # two in a row would become a dash
}
"""What LaTeX takes for its own."""


def one_line(text: str) -> str:
    """Text for a comment: whatever could end the line or cannot be seen is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def tex(text: str) -> str:
    """Text in a LaTeX document, every sign of it printed as itself."""
    return "".join(LATEX.get(c, c) for c in one_line(text))


def table(
    rows: Sequence[Sequence[str]],
    header: Sequence[str] | None = None,
    *,
    left: int = 1,
    indent: int = 0,
    gap: int = 2,
    width: int = WIDTH,
) -> str:
    """Lay out cells in columns: the first `left` columns flush left, the others right.

    The first column gives way, with an ellipsis, when a line would be longer than `width`.
    """
    body = [list(r) for r in rows]
    lines = ([list(header)] if header else []) + body
    if not lines:
        return ""
    widths = [max(len(r[j]) for r in lines) for j in range(len(lines[0]))]
    spare = width - indent - sum(widths[1:]) - gap * (len(widths) - 1)
    widths[0] = min(widths[0], max(spare, 12))
    out = []
    for cells in lines:
        cells = [shorten(cells[0], widths[0]), *cells[1:]]
        out.append(
            " " * indent
            + (" " * gap)
            .join(
                c.ljust(w) if j < left else c.rjust(w)
                for j, (c, w) in enumerate(zip(cells, widths, strict=True))
            )
            .rstrip()
        )
    if header:
        out.insert(1, " " * indent + "-" * (sum(widths) + gap * (len(widths) - 1)))
    return "\n".join(out)


def shorten(text: str, width: int) -> str:
    """`text` in at most `width` characters, cut in the middle so that its ends stay readable."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def number(value: float, digits: int = 4) -> str:
    """A number in a few significant digits, without surprises for very large or small ones."""
    if value is None or math.isnan(value):
        return "."
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-4:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{value:,.{decimals}f}" if size >= 1e4 else f"{value:.{decimals}f}"


def brief(value: float) -> str:
    """A number in at most four significant digits, without trailing zeros."""
    return "." if math.isnan(value) else f"{value:.4g}"


def decimals(value: float) -> str:
    """A number with two decimals."""
    return "." if math.isnan(value) else f"{value:.2f}"


def p_value(p: float) -> str:
    """A p-value in four decimals, or ``<0.0001``."""
    if math.isnan(p):
        return "."
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f}%"
