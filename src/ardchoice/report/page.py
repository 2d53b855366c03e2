"""`write_report`: a study as one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ardchoice.estimation import mean_of_classes
from ardchoice.files import write
from ardchoice.record import StudyRecord
from ardchoice.report.document import Section, show
from ardchoice.report.figures import as_svg
from ardchoice.report.findings import Findings
from ardchoice.report.sections import contents
from ardchoice.report.sections.answer import Answer, answer
from ardchoice.report.style import visible
from ardchoice.report.utilities import MAX_EQUATIONS_SHOWN, spoken
from ardchoice.text import brief, number

EQUATION_DIGITS = 3
"""Significant figures of the equations; the table of estimates has more."""
MAX_PIXELS_PER_POINT, MIN_PIXELS_PER_POINT = 1.55, 0.93
"""Of a figure on a page."""
SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"


def environment(*packages: str) -> Environment:
    """Templates of a package, and those that all pages share; whatever they show is escaped."""
    loaders = [PackageLoader(name, "templates") for name in (*packages, "ardchoice.report")]
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.globals.update(show=show, style=_asset("page.css"), script=_script(), policy=_policy())
    return made


def _shown(value: object) -> object:
    """Control characters are shown, never written into a page."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _asset(name: str) -> Markup:
    folder = files("ardchoice.report") / "templates"
    return Markup((folder / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


@cache
def _script() -> Markup:
    return Markup("\n") + _asset("page.js")


def _policy() -> str:
    """Content security policy: the browser shows the page and runs its one script."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def write_report(record: StudyRecord, path: Path | str, *, command: str | None = None) -> Path:
    """Write a study as one self-contained HTML file.

    Parameters
    ----------
    record
        The study; its page shows what its `evaluation` has.
    path
        The file.
    command
        The command that runs it again.

    Returns
    -------
    Path
        Of the file.
    """
    path = Path(path)
    write(path, render(record, command=command))
    return path


def render(record: StudyRecord, *, command: str | None = None) -> str:
    """The page as text."""
    found = Findings(record)
    return render_page(found, answer(found), contents(found, command))


def render_page(found: Findings, top: Answer, sections: list[Section]) -> str:
    """A page with its answer on top, and sections below."""
    template = environment().get_template("report.html")
    return template.render(
        answer=top,
        sections=sections,
        pictures=_pictures(found, sections),
        record=found.record,
        mean_of=mean_of_classes(found.record.result),
        number=lambda value: number(value, EQUATION_DIGITS).replace("-", "−"),
        brief=lambda value: brief(value).replace("-", "−"),
        spoken=spoken,
        most_equations=MAX_EQUATIONS_SHOWN,
        infinity=float("inf"),
    )


def _pictures(found: Findings, sections: list[Section]) -> dict[str, Markup]:
    """Every figure that there is something to draw for, as markup."""
    out = {}
    for figure in (figure for section in sections for figure in section.figures):
        drawn = as_svg(figure.name, found)
        if drawn is not None:
            out[figure.name] = inline(drawn, figure.name, figure.caption)
    return out


def inline(svg: bytes, name: str, label: str) -> Markup:
    """An SVG file as part of a page: no name spaces, ids of its own, text in the page's font."""
    root = ElementTree.fromstring(svg)  # noqa: S314 - written by matplotlib a moment ago
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        if "id" in element.attrib:
            element.set("id", f"{name}-{element.get('id')}")
        if LINK in element.attrib:
            element.set("href", f"#{name}-{element.attrib.pop(LINK).removeprefix('#')}")
        if "clip-path" in element.attrib:
            element.set("clip-path", element.attrib["clip-path"].replace("url(#", f"url(#{name}-"))
        if element.tag == "text" and "style" in element.attrib:
            element.set("style", re.sub(r"font: *([\d.]+px)[^;]*", _font, element.attrib["style"]))
    for metadata in root.findall("metadata"):
        root.remove(metadata)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    points = float(root.attrib["viewBox"].split()[2])
    widest, narrowest = points * MAX_PIXELS_PER_POINT, points * MIN_PIXELS_PER_POINT
    root.set("style", f"max-width: {widest:.0f}px; min-width: {narrowest:.0f}px")
    root.set("role", "img")
    root.set("aria-label", visible(label))
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - escaped by it


def _font(found: re.Match[str]) -> str:
    return f"font-size: {found[1]}"
