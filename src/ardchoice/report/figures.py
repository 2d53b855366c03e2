"""`write_figures`: the figures of a report as files; and as part of a page."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ardchoice.files import write
from ardchoice.record import StudyRecord
from ardchoice.report.findings import Findings
from ardchoice.report.style import report_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

FIGURES = (
    "families",
    "classes",
    "tastes",
    "wtp",
    "scenarios",
    "calibration",
    "relevance",
    "path",
    "stability",
)
FORMATS = ("svg", "png", "pdf")
UNDATED_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
"""So that the same study gives the same bytes."""
_DRAWN: WeakKeyDictionary[StudyRecord, dict[str, bytes | None]] = WeakKeyDictionary()
"""SVG of the figures written of a study, for its page, as long as the study lives."""


def write_figures(record: StudyRecord, folder: Path | str) -> list[Path]:
    """Write every figure as SVG, PNG and PDF.

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
    found, out = Findings(record), []
    pages = _DRAWN.setdefault(record, {})
    for name in FIGURES:
        picture = draw(name, found)
        pages[name] = None
        if picture is None:
            continue
        for kind in FORMATS:
            path, content = Path(folder) / f"{name}.{kind}", as_bytes(picture, kind)
            if kind == "svg":
                pages[name] = content
            write(path, content)
            out.append(path)
    return out


def as_svg(name: str, found: Findings) -> bytes | None:
    """One figure for a page: the one written as a file, where it was; None with nothing to show."""
    drawn = _DRAWN.get(found.record, {})
    if name not in drawn:
        picture = draw(name, found)
        return None if picture is None else as_bytes(picture, "svg")
    return drawn[name]


def draw(name: str, found: Findings) -> Picture | None:
    """One figure; None where the study has nothing to show."""
    from ardchoice.report import drawing

    with report_style():
        picture = drawing.FIGURES[name](found)
        if picture is not None:
            picture.draw_without_rendering()
            picture.set_layout_engine("none")  # the same for every kind of file
        return picture


def draw_figure(name: str, record: StudyRecord) -> Picture | None:
    """One figure of a study by its name, such as ``"relevance"``; None with nothing to show."""
    return draw(name, Findings(record))


def as_bytes(picture: Picture, kind: str) -> bytes:
    """A figure as a file of some kind."""
    buffer = io.BytesIO()
    with report_style():
        picture.savefig(buffer, format=kind, dpi=200, metadata=UNDATED_METADATA[kind])
    return buffer.getvalue()
