"""`Block`: a range of choice situations, expanded into numbers.

Columns come first, then alternatives, then rows, so that everything done to a column or to an
alternative runs along contiguous memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.design.mostly_constant import MostlyConstant, mostly_constant


@dataclass(frozen=True, eq=False)
class Part:
    """The columns that belong to one set of alternatives (one, some, or all of them).

    Attributes
    ----------
    alternatives
        Their positions among the J; A of them.
    columns
        Where these K columns stand among all coefficients of the block.
    x
        Shape (K, A, B); zero where the alternative is unavailable.
    """

    alternatives: tuple[int, ...]
    columns: slice
    x: Floats

    def squares(self) -> Floats:
        """Σ x² of every column, over rows and alternatives; shape (K,)."""
        x = self.x.reshape(len(self.x), 1, -1)
        return np.asarray((x @ x.swapaxes(1, 2))[:, 0, 0])


@dataclass(frozen=True, eq=False)
class Block:
    """B choice situations.

    Attributes
    ----------
    parts
        Their columns are contiguous and in order, D in all.
    available
        Shape (J, B); None when every alternative is available in every row.
    choice
        Shape (B,), positions of the chosen alternatives.
    weight
        Shape (B,); None when all count once.
    shape
        (J, B).
    person
        Shape (B,), as in the data; None without persons.
    covariates
        What the family uses of persons beside the terms, shape (M, B); None for nothing.
    """

    parts: tuple[Part, ...]
    available: npt.NDArray[np.bool_] | None
    choice: npt.NDArray[np.intp]
    weight: Floats | None
    shape: tuple[int, int]
    person: npt.NDArray[np.integer[Any]] | None = None
    covariates: Floats | None = None

    @cached_property
    def picked(self) -> npt.NDArray[np.intp]:
        """Where the chosen alternatives stand in a flattened (J, B) array; shape (B,)."""
        return self.choice * self.shape[1] + np.arange(self.shape[1])

    @cached_property
    def mostly_constant(self) -> tuple[MostlyConstant | None, ...]:
        """Every part of one alternative as columns that are mostly constant; None where not."""
        return tuple(self._mostly_constant(part) for part in self.parts)

    def _mostly_constant(self, part: Part) -> MostlyConstant | None:
        if len(part.alternatives) > 1:
            return None
        there = None if self.available is None else self.available[part.alternatives[0]]
        return mostly_constant(part.x[:, 0], there)

    @property
    def n_columns(self) -> int:
        """Number of coefficients, D."""
        return self.parts[-1].columns.stop if self.parts else 0

    def take(self, rows: npt.NDArray[np.intp]) -> Block:
        """Some of the rows, in that order."""
        return Block(
            parts=tuple(
                Part(p.alternatives, p.columns, p.x.take(rows, axis=2)) for p in self.parts
            ),
            available=None if self.available is None else self.available.take(rows, axis=1),
            choice=self.choice[rows],
            weight=None if self.weight is None else self.weight[rows],
            shape=(self.shape[0], len(rows)),
            person=None if self.person is None else self.person[rows],
            covariates=None if self.covariates is None else self.covariates[:, rows],
        )
