"""`DisplayFrame`: a data frame that prints whole in 80 columns."""

from __future__ import annotations

import pandas as pd

from ardchoice.text import WIDTH, number, shorten, table

GAP = 2
LEAST = 8
"""Characters that a name keeps."""


class DisplayFrame(pd.DataFrame):
    """A data frame like any other, but printed with every column: names give way, numbers do not.

    Whatever is made of it is a plain data frame.
    """

    def __repr__(self) -> str:
        most = pd.get_option("display.max_rows") or len(self)
        part = self if len(self) <= most else self.head(most)
        columns = {str(name): _texts(part.iloc[:, i]) for i, name in enumerate(self.columns)}
        names = [str(n) for n in self.columns if self[n].dtype.kind not in "fiu"]
        widths = {n: max(map(len, [n, *cells])) for n, cells in columns.items()}
        while sum(widths.values()) + GAP * (len(widths) - 1) > WIDTH:
            widest = max(names, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] <= max(LEAST, len(widest)):
                break
            widths[widest] -= 1
        cells = [[shorten(c, widths[n]) for c in columns[n]] for n in columns]
        rows = list(zip(*cells, strict=True))
        text = table(rows, list(columns), left=len(names), gap=GAP) if rows else ", ".join(columns)
        more = len(self) - len(part)
        return f"{text}\n... and {more} more rows" if more > 0 else text


def _texts(column: pd.Series) -> list[str]:
    if column.dtype.kind == "f":
        return [number(float(v)) for v in column]
    if column.dtype.kind in "iu":
        return [f"{v:,}" for v in column]
    return [" ".join(str(v).split()) for v in column]
