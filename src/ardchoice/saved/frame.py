"""`Frame`: a data frame as columns of plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray


@dataclass(frozen=True, eq=False)
class Frame:
    """A data frame; `index` is None where rows are only counted."""

    index: AnyArray | None
    index_name: str | None
    names: tuple[str, ...]
    columns: tuple[AnyArray, ...]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Frame:
        """The columns of a data frame."""
        name, counted = frame.index.name, frame.index.equals(pd.RangeIndex(len(frame)))
        return cls(
            index=None if counted else _array(frame.index),
            index_name=None if name is None else str(name),
            names=tuple(map(str, frame.columns)),
            columns=tuple(_array(frame.iloc[:, i]) for i in range(frame.shape[1])),
        )

    def restore(self) -> pd.DataFrame:
        """The data frame, with texts as pandas takes them."""
        frame = pd.DataFrame({i: _column(column) for i, column in enumerate(self.columns)})
        frame.columns = pd.Index(list(self.names))
        if self.index is not None:
            frame.index = pd.Index(_column(self.index))
        frame.index.name = self.index_name
        return frame


def _array(column: pd.Series[Any] | pd.Index[Any]) -> AnyArray:
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.to_numpy(object)


def _column(values: AnyArray) -> Any:
    return values if values.dtype != object else values.tolist()
