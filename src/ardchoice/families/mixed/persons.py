"""Persons of a block: differences to the chosen alternative, by person, situation and alternative.

Persons with equally many situations stand together, so that everything is a product of dense
arrays. What pads a person's situations has no alternative besides the chosen one and adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ardchoice._types import Bools, Floats, Ints
from ardchoice.design import Block

EXACT_LENGTHS = 12
"""Situations of a person up to which persons are grouped exactly; longer ones are padded."""
PADDING_STEPS = 8
"""Groups of persons between so many situations and twice as many."""
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Component:
    """A column that is not in the design.

    Attributes
    ----------
    alternatives
        It is one for these: an error component.
    columns
        It is the sum of these columns of the design: a taste that their terms share.
    """

    alternatives: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()

    def fill(self, x: Floats, column: int) -> None:
        """Put it into an array of all columns; shape (J, B, E)."""
        if self.alternatives:
            x[list(self.alternatives), :, column] = 1.0
        if self.columns:
            x[:, :, column] = x[:, :, list(self.columns)].sum(axis=2)


@dataclass(frozen=True, eq=False)
class PersonGroup:
    """n persons with T situations each and A other alternatives in every situation.

    Attributes
    ----------
    x
        x_j - x_chosen; shape (A, n, T, E).
    absent
        Where an alternative is unavailable, or pads; shape (A, n, T). None for nowhere.
    unit
        Positions of the persons among the units of the block; shape (n,).
    """

    x: Floats
    absent: Bools | None
    unit: Ints

    @property
    def n_persons(self) -> int:
        """How many."""
        return len(self.unit)

    def take(self, which: Bools) -> PersonGroup:
        """Some of the persons."""
        absent = None if self.absent is None else self.absent[:, which]
        return PersonGroup(np.ascontiguousarray(self.x[:, which]), absent, self.unit[which])

    @cached_property
    def single(self) -> Array:
        """The same differences in single precision."""
        return self.x.astype(np.float32)

    def in_precision(self, dtype: npt.DTypeLike) -> Array:
        """The differences as float32 or float64."""
        return self.single if dtype == np.float32 else self.x


@dataclass(frozen=True, eq=False)
class Persons:
    """All persons of a block; U units.

    Attributes
    ----------
    groups
    weight
        Of every unit, the mean of its situations; shape (U,).
    code
        As in `Block.person`, the row of the block without persons; shape (U,).
    row_unit
        The unit of every row of the block; shape (B,).
    """

    groups: tuple[PersonGroup, ...]
    weight: Floats
    code: Ints
    row_unit: Ints


_known: WeakKeyDictionary[Block, dict[tuple[Component, ...], Persons]] = WeakKeyDictionary()


def persons_of(block: Block, components: Sequence[Component] = ()) -> Persons:
    """Of a block; kept as long as the block is.

    Parameters
    ----------
    block
        With whole persons.
    components
        Columns behind those of the design.
    """
    key = tuple(components)
    known = _known.setdefault(block, {})
    if key not in known:
        known[key] = _persons(block, key)
    return known[key]


def _persons(block: Block, components: tuple[Component, ...]) -> Persons:
    b = block.shape[1]
    person = np.arange(b) if block.person is None else np.asarray(block.person)
    code, row_unit = _units(person)
    order = np.argsort(row_unit, kind="stable")
    count = np.bincount(row_unit, minlength=len(code))
    first = np.cumsum(count) - count
    x, absent = _differences(block, components)
    groups = []
    padded = _padded_lengths(count)
    for length in np.unique(padded):
        unit = np.flatnonzero(padded == length)
        place = np.arange(length)
        inside = place < count[unit, None]
        rows = order[np.where(inside, first[unit, None] + place, first[unit, None])]
        gone = None if absent is None else absent[:, rows]
        if not inside.all():
            gone = np.zeros((len(x), *rows.shape), dtype=bool) if gone is None else gone.copy()
            gone[:, ~inside] = True
        groups.append(PersonGroup(np.ascontiguousarray(x[:, rows]), gone, unit))
    weight = np.ones(len(code))
    if block.weight is not None:
        weight = np.bincount(row_unit, block.weight, minlength=len(code)) / count
    return Persons(tuple(groups), weight, code, row_unit)


def _units(person: Array) -> tuple[Ints, Ints]:
    """Codes in order of appearance, and the unit of every row."""
    code, first, inverse = np.unique(person, return_index=True, return_inverse=True)
    rank = np.argsort(first, kind="stable")
    place = np.empty_like(rank)
    place[rank] = np.arange(len(rank))
    return code[rank].astype(np.intp), place[inverse]


def _padded_lengths(count: Ints) -> Ints:
    """Small numbers of situations as they are, large ones rounded up."""
    step = np.maximum(1, 2 ** np.ceil(np.log2(np.maximum(count, 1))).astype(int) // 2)
    step = np.maximum(1, step // PADDING_STEPS)
    return np.asarray(np.where(count <= EXACT_LENGTHS, count, -(-count // step) * step))


def _differences(block: Block, components: tuple[Component, ...]) -> tuple[Floats, Bools | None]:
    """x_j - x_chosen of the other alternatives (J - 1, B, E), and which are unavailable."""
    j, b = block.shape
    d = block.n_columns
    x = np.zeros((j, b, d + len(components)))
    for part in block.parts:
        x[list(part.alternatives), :, part.columns] = part.x.transpose(1, 2, 0)
    for e, component in enumerate(components):
        component.fill(x, d + e)
    other = np.arange(j - 1)[:, None]
    other = other + (other >= block.choice)
    rows = np.arange(b)
    away = x[other, rows] - x[block.choice, rows]
    absent = None if block.available is None else ~block.available[other, rows]
    if absent is not None:
        away[absent] = 0.0
        absent = absent if absent.any() else None
    return away, absent
