"""One look for every figure: colours for all readers, and text that stays text."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ardchoice.text import shorten

BLUE, ORANGE, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#9AA5B1", "#1a1a1a"
COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9", "#B8860B", "#5D3A9B", "#6B7280")
"""Distinguished by colour-blind readers (Okabe and Ito), and most of them in grey."""
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "ardchoice",
}
REPORT_STYLE: dict[Any, Any] = STYLE | {
    "axes.edgecolor": "#5c6670",
    "axes.labelcolor": INK,
    "axes.titleweight": "bold",
    "axes.titlesize": 9.5,
    "xtick.color": "#5c6670",
    "ytick.color": INK,
    "ytick.left": False,
    "grid.color": "#e4e8ec",
    "grid.linewidth": 0.8,
    "pdf.fonttype": 42,
    "text.parse_math": False,  # a dollar in a name is a dollar
}
"""Of a study's report, where names come from anywhere."""


@contextmanager
def report_style() -> Iterator[None]:
    """The style of a report, without warnings on scripts that the font does not have."""
    import matplotlib

    with matplotlib.rc_context(REPORT_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s)Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="(?s)Matplotlib currently does not support")
        yield


def visible(text: str) -> str:
    """Text in which nothing is hidden: controls are shown as ``�``, line ends and tabs stay.

    Controls and halves of surrogate pairs would end a file; the signs that turn the direction of
    writing would make a line say something else than it does.
    """
    if text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if _hidden(c) else c for c in text)


def one_line(text: str, most: int | None = None) -> str:
    """Text in which nothing is hidden, on one line, of at most so many characters."""
    line = visible(" ".join(text.split()))
    return line if most is None else shorten(line, most)


def _hidden(sign: str) -> bool:
    return sign in _TURNS or (unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\t")


_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
