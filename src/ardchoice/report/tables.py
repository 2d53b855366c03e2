"""`write_tables`: every table of a report as CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from ardchoice.files import write
from ardchoice.record import StudyRecord
from ardchoice.report.document import Cell, Table
from ardchoice.report.findings import Findings
from ardchoice.report.latex import latex_table
from ardchoice.report.sections import contents
from ardchoice.report.style import visible

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How text begins that a spreadsheet would calculate."""


def write_tables(record: StudyRecord, folder: Path | str) -> list[Path]:
    """Write every table of the report as ``NAME.csv`` and ``NAME.tex``.

    In CSV files numbers are whole and plain, and a text that a spreadsheet would take for a formula
    has an apostrophe before it. LaTeX files need ``booktabs`` and ``longtable``.

    Parameters
    ----------
    record
        The study.
    folder
        Made if it is not there.

    Returns
    -------
    list of Path
        What was written.
    """
    out = []
    for section in contents(Findings(record)):
        for table in section.tables:
            for kind, text in (("csv", to_csv(table)), ("tex", latex_table(table))):
                path = Path(folder) / f"{table.name}.{kind}"
                write(path, text)
                out.append(path)
    return out


def to_csv(table: Table) -> str:
    """A table with a line of names; missing values are empty."""
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow([strip_control_characters(name) for name in table.head])
    lines.writerows([_plain(value) for value in row] for row in table.rows)
    return buffer.getvalue()


def _plain(value: Cell) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return strip_control_characters(value) if isinstance(value, str) else repr(value)


def strip_control_characters(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe before it where one might."""
    text = visible(text)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA_STARTS) else text
