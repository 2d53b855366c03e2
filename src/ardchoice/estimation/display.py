"""`DisplayFrame`: a data frame that prints whole in 80 columns."""

from __future__ import annotations

import textwrap

import pandas as pd

from ardchoice.text import WIDTH, number, shorten, table

GAP = 2
LEAST = 8
"""Characters that a name keeps."""
COMFORTABLE = 24
"""The same, where numbers do not fit beside each other anyway."""
BELOW = "below"
"""In `attrs`: a sentence that is printed below."""


class DisplayFrame(pd.DataFrame):
    """A data frame like any other, but printed with every column: names give way, numbers do not.

    Where numbers do not fit beside each other, those that are left stand in a table below, behind
    the first column. Whatever is made of it is a plain data frame.
    """

    def __repr__(self) -> str:
        most = pd.get_option("display.max_rows") or len(self)
        part = self if len(self) <= most else self.head(most)
        columns = {str(name): _texts(part.iloc[:, i]) for i, name in enumerate(self.columns)}
        if not len(part):
            return ", ".join(columns)
        names = [str(n) for n in self.columns if self[n].dtype.kind not in "fiu"]
        groups, least = [list(columns)], LEAST
        if _width(columns, groups[0], names, least) > WIDTH:
            groups, least = _groups(columns, names), COMFORTABLE
        texts = ["\n\n".join(_table(columns, group, names, least) for group in groups)]
        more = len(self) - len(part)
        texts += [f"... and {more} more rows"] if more > 0 else []
        below = str(self.attrs.get(BELOW, ""))
        texts += ["", textwrap.fill(below, WIDTH)] if below else []
        return "\n".join(texts)


def _groups(columns: dict[str, list[str]], names: list[str]) -> list[list[str]]:
    """Columns that stand beside each other; the first column begins every group."""
    first, *rest = columns
    groups = [[first]]
    for name in rest:
        width = _width(columns, [*groups[-1], name], names, COMFORTABLE)
        if width > WIDTH and len(groups[-1]) > 1:
            groups.append([first])
        groups[-1].append(name)
    return groups


def _widths(
    columns: dict[str, list[str]], group: list[str], names: list[str], least: int
) -> dict[str, int]:
    """Characters of every column of a group; names give way to numbers."""
    widths = {n: max(map(len, [n, *columns[n]])) for n in group}
    own = [n for n in names if n in widths]
    while sum(widths.values()) + GAP * (len(widths) - 1) > WIDTH:
        widest = max(own, key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= max(least, len(widest)):
            break
        widths[widest] -= 1
    return widths


def _width(columns: dict[str, list[str]], group: list[str], names: list[str], least: int) -> int:
    return sum(_widths(columns, group, names, least).values()) + GAP * (len(group) - 1)


def _table(columns: dict[str, list[str]], group: list[str], names: list[str], least: int) -> str:
    widths = _widths(columns, group, names, least)
    rows = list(zip(*([shorten(c, widths[n]) for c in columns[n]] for n in group), strict=True))
    left = sum(n in names for n in group)
    return table(rows, group, left=left, gap=GAP)


def _texts(column: pd.Series) -> list[str]:
    if column.dtype.kind == "f":
        return [number(float(v)) for v in column]
    if column.dtype.kind in "iu":
        return [f"{v:,}" for v in column]
    return [" ".join(str(v).split()) for v in column]
