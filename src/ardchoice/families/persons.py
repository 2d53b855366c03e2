"""Rows of a block by person, for families whose unit is the person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.design import Block


@dataclass(frozen=True, eq=False)
class PersonRows:
    """Which rows of a block belong to which of its n persons; each row a person without ids.

    Attributes
    ----------
    order
        Rows, those of a person together; None where they are already. Shape (B,).
    starts
        Where each person begins in that order; shape (n,).
    of_row
        The person of every row of the block; shape (B,).
    """

    order: Ints | None
    starts: Ints
    of_row: Ints

    @property
    def first_rows(self) -> Ints:
        """A row of every person; shape (n,)."""
        return self.starts if self.order is None else self.order[self.starts]

    def sums(self, each: Floats) -> Floats:
        """Sums by person along the last axis: (..., B) -> (..., n)."""
        if len(self.starts) == each.shape[-1]:
            return each if self.order is None else each[..., self.order]
        ordered = each if self.order is None else each[..., self.order]
        return np.asarray(np.add.reduceat(ordered, self.starts, axis=-1))

    def weights(self, block: Block) -> Floats:
        """The mean weight of every person's rows; shape (n,)."""
        if block.weight is None:
            return np.ones(len(self.starts))
        return self.sums(block.weight) / self.sums(np.ones(block.shape[1]))


def person_rows(block: Block) -> PersonRows:
    """Of a block."""
    n = block.shape[1]
    if block.person is None:
        every = np.arange(n)
        return PersonRows(None, every, every)
    person = np.asarray(block.person)
    starts = np.append(0, 1 + np.flatnonzero(person[1:] != person[:-1]))
    order = None
    if len(np.unique(person[starts])) < len(starts):
        order = np.argsort(person, kind="stable")
        person = person[order]
        starts = np.append(0, 1 + np.flatnonzero(person[1:] != person[:-1]))
    sizes = np.diff(np.append(starts, n))
    number = np.repeat(np.arange(len(starts)), sizes)
    if order is not None:
        back = np.empty(n, dtype=np.intp)
        back[order] = number
        number = back
    return PersonRows(order, starts, number)
