"""Tables in LaTeX, with everything escaped that means something to it."""

from __future__ import annotations

from ardchoice.report.document import Table, show
from ardchoice.report.style import one_line
from ardchoice.text import LATEX

LONG_TABLE_ROWS = 40
"""Rows from which a table may break across pages."""
WRAPPED_CHARACTERS = 55
"""Characters from which a column of text is broken into lines."""

_ESCAPES = LATEX | {
    "[": r"{[}",
    "]": r"{]}",
    "*": r"{*}",
    "−": r"\ensuremath{-}",
    "–": r"\textendash{}",
    "∞": r"\ensuremath{\infty}",
    "λ": r"\ensuremath{\lambda}",
    "ρ": r"\ensuremath{\rho}",
    "χ": r"\ensuremath{\chi}",
    "²": r"\textsuperscript{2}",
    "\u0304": "",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "…": r"\dots{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "\N{REPLACEMENT CHARACTER}": "?",
}
"""And what its usual fonts do not have; a bracket could be an option, a star after a line break a
command."""


def escape(text: str) -> str:
    """Text as LaTeX prints it, on one line."""
    line = one_line(text).replace("ρ̄²", "\0")
    out = "".join(_ESCAPES.get(sign, sign) for sign in line)
    return out.replace("\0", r"\ensuremath{\bar\rho^2}")


def latex_table(table: Table) -> str:
    """A table with the rules of booktabs; long ones break across pages.

    Names with letters that pdfLaTeX does not know need LuaLaTeX or XeLaTeX.
    """
    widths = [
        max((len(str(row[c])) for row in table.rows), default=0) for c in range(len(table.head))
    ]
    columns = "".join(
        "r" if how else (r"p{0.5\linewidth}" if width > WRAPPED_CHARACTERS else "l")
        for how, width in zip(table.formats, widths, strict=True)
    )
    head = _line([escape(name) for name in table.head])
    body = [_row(table, r) for r in range(len(table.rows))]
    start = "% needs \\usepackage{booktabs,longtable,textcomp} and the T1 encoding"
    if len(table.rows) > LONG_TABLE_ROWS:
        lines = [
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{escape(table.caption)}}}\label{{tab:{table.name}}}\\",
            *(r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
            *body,
            r"\end{longtable}",
        ]
    else:
        lines = [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{escape(table.caption)}}}\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
    return "\n".join([start, *lines]) + "\n"


def _row(table: Table, r: int) -> str:
    cells = []
    for c, value in enumerate(table.rows[r]):
        text = escape(show(value, table.formats[c]))
        cells.append(rf"\textbf{{{text}}}" if table.marks.get(f"{r},{c}") == "true" else text)
    return _line(cells)


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
