"""Sections of a reproduction (text, tables, figures) as Markdown and HTML.

Everything is saved in `results.json`; pages are made from that and from nothing else.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ardchoice.report import Cell, Figure, Mark, Table, environment, show

__all__ = ["Cell", "Figure", "Mark", "Section", "Table", "show", "to_html", "to_markdown"]


@dataclass(frozen=True)
class Section:
    """One item.

    Attributes
    ----------
    item, title
    text
        Paragraphs; what agrees, what differs and why.
    tables, figures
    numbers
        What the paragraphs and figures are made from.
    """

    item: str
    title: str
    text: list[str]
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """For `results.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, made: dict[str, Any]) -> Section:
        """Back from it."""
        tables, figures = (
            [Table(**t) for t in made["tables"]],
            [Figure(**f) for f in made["figures"]],
        )
        return cls(**made | {"tables": tables, "figures": figures})


# -- Markdown --------------------------------------------------------------------------------------


def to_markdown(results: dict[str, Any], figures: str = "figures") -> str:
    """The whole document; `figures` is where the pictures are."""
    lines = [f"# {_plain(results['title'])}", "", *_paragraphs(results["text"])]
    for made in results["items"]:
        section = Section.from_json(made)
        lines += [f"## {_plain(section.title)}", "", *_paragraphs(section.text)]
        for figure in section.figures:
            lines += [f"![{_plain(figure.caption)}]({figures}/{figure.name}.png)", ""]
            lines += [f"*{_plain(figure.caption)}*", ""]
        for table in section.tables:
            lines += [f"**{_plain(table.caption)}**", "", *_markdown_table(table), ""]
    return "\n".join(lines).rstrip() + "\n"


def _paragraphs(text: list[str]) -> list[str]:
    return [line for paragraph in text for line in (_plain(paragraph), "")]


def _plain(text: str) -> str:
    """Signs that Markdown would take for its own, as themselves."""
    for sign in ("\\", "*", "_", "<", "|", "[", "]", "`", "&"):
        text = text.replace(sign, f"\\{sign}")
    return text


def _markdown_table(table: Table) -> list[str]:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rules = ["---" if not how else "---:" for how in table.formats]
    body = []
    for r, row in enumerate(table.rows):
        cells = []
        for c, value in enumerate(row):
            text, mark = _plain(show(value, table.formats[c])), table.marks.get(f"{r},{c}")
            cells.append({"true": f"**{text}**", "missed": f"<u>{text}</u>"}.get(mark or "", text))
        body.append(line(cells))
    return [line([_plain(h) for h in table.head]), line(rules), *body]


# -- HTML ------------------------------------------------------------------------------------------


def to_html(results: dict[str, Any]) -> str:
    """One page; names are escaped, pictures are separate files."""
    sections = [Section.from_json(made) for made in results["items"]]
    page = environment("ardchoice.reproduce").get_template("page.html")
    return page.render(results=results, sections=sections) + "\n"
