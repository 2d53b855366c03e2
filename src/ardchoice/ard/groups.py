"""`Groups`: which columns share a prior variance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

FREE = -1


@dataclass(frozen=True, eq=False)
class Groups:
    """D columns in G groups; the columns of a group share one λ, or have none (are not shrunk).

    Attributes
    ----------
    of
        Shape (D,): the group of every column, `FREE` where it is not shrunk.
    n
        Number of groups, G.
    """

    of: npt.NDArray[np.intp]
    n: int

    @cached_property
    def columns(self) -> tuple[npt.NDArray[np.intp], ...]:
        """The columns of every group."""
        order = np.argsort(self.of, kind="stable")
        cuts = np.searchsorted(self.of[order], np.arange(self.n + 1))
        return tuple(order[a:b] for a, b in pairwise(cuts))

    @cached_property
    def sizes(self) -> npt.NDArray[np.intp]:
        """How many columns every group has; shape (G,)."""
        return np.array([len(c) for c in self.columns], dtype=np.intp)

    @cached_property
    def by_size(self) -> dict[int, tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Size -> the groups of that size, and their columns, shape (groups, size)."""
        out = {}
        for size in np.unique(self.sizes):
            members = np.flatnonzero(self.sizes == size)
            out[int(size)] = members, np.array([self.columns[g] for g in members])
        return out

    @cached_property
    def free(self) -> npt.NDArray[np.intp]:
        """The columns that are not shrunk."""
        return np.flatnonzero(self.of == FREE)

    def precision(self, lam: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """1/λ of every column, zero where free, infinite where λ is zero; shape (D,)."""
        with np.errstate(divide="ignore"):
            each = np.append(1 / lam, 0.0)
        return each[self.of]

    def active(self, lam: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Columns that are free or whose λ is above zero."""
        return np.flatnonzero(np.append(lam > 0, True)[self.of])

    def sum(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sums over the columns of every group; shape (G,)."""
        shrunk = self.of >= 0
        out = np.bincount(self.of[shrunk], values[shrunk], minlength=self.n)
        return out.astype(float)

    def subset(self, columns: npt.NDArray[np.intp]) -> GroupSubset:
        """The groups of some columns, renumbered from 0."""
        of = self.of[columns]
        numbers = np.unique(of[of >= 0])
        renumbered = np.where(of >= 0, np.searchsorted(numbers, of), FREE)
        return GroupSubset(Groups(renumbered, len(numbers)), numbers)


@dataclass(frozen=True, eq=False)
class GroupSubset:
    """The groups of some columns, and the numbers that they had."""

    groups: Groups
    numbers: npt.NDArray[np.intp]
