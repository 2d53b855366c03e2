"""`Design`: terms met with data, expanded into columns only while a block is being used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, must_be_choice_data, whole_person_ranges
from ardchoice.design.block import Block, Part
from ardchoice.design.column_store import Base, ColumnStore, Multiplier, Of
from ardchoice.design.encoding import (
    Encoding,
    TermColumns,
    learn_encoding,
    person_columns,
)
from ardchoice.design.execution import Execution, current_execution
from ardchoice.design.sources import (
    COSTLY_WORTH_THREADS,
    WORTH_THREADS,
    CachedBlocks,
    Standardizer,
    StreamedBlocks,
)
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import default_threads, map_reduce
from ardchoice.space import Term

__all__ = ["BLOCK_BYTES", "FEWEST_ROWS", "KEEP_BYTES", "Design", "Moments", "Of", "Rows"]

BLOCK_BYTES = 1 << 22
"""Expanded size of a block: about what a core keeps near itself."""
KEEP_BYTES = 1 << 28
"""Expanded designs up to this size are kept rather than expanded again in every pass."""
FEWEST_ROWS = 64
MANY_COLUMNS = 1024
"""Columns from which the Hessian is larger than a block."""
LARGEST_BLOCK_BYTES = 1 << 26
"""Expanded size that a block of many columns may have."""
Rows = Literal["available", "all"]
"""Over which rows moments are taken."""


@dataclass(frozen=True, eq=False)
class _Piece:
    """One term in a part: where its columns stand there, and what they are made of."""

    columns: slice
    base: Base
    multiplier: Multiplier | None


@dataclass(frozen=True, eq=False)
class _PartPlan:
    """The terms that enter the same alternatives; columns without a piece are zero."""

    alternatives: tuple[int, ...]
    columns: slice
    pieces: tuple[_Piece, ...]

    @property
    def width(self) -> int:
        return int(self.columns.stop - self.columns.start)


class _Expanded:
    """Bases and multipliers of one block, expanded once for all terms that have them."""

    def __init__(self, rows: slice) -> None:
        self.rows = rows
        self._found: dict[int, Floats] = {}

    def __getitem__(self, held: Base | Multiplier) -> Floats:
        if id(held) not in self._found:
            self._found[id(held)] = held.expand(self.rows)
        return self._found[id(held)]


@dataclass(frozen=True, eq=False)
class Moments:
    """Of every column; shape (D,) each."""

    mean: Floats
    sd: Floats
    rms: Floats


class Design:
    """Terms met with data; N situations, J alternatives, D columns.

    Holds each base value once and each category code once, and expands a block of rows into
    columns only while that block is being used.

    Parameters
    ----------
    data
        The choices.
    terms
        Terms to learn from these data, or the `Encoding` of an earlier design to repeat exactly.
    of, attribute
        ``"value"`` for the columns of the model; ``"slope"`` or ``"elasticity"`` for their
        derivatives by one attribute or by its logarithm, zero for every other term.
    execution
        Where passes run. Default: as `running` says.
    only
        Which terms are expanded: the columns of the others are zero, or those of a block that
        `block` is given. Default: all.

    Attributes
    ----------
    encoding
        What was learned; ``Design(new_data, design.encoding)`` treats new data the same way.
    order
        Shape (D,): the coefficient, in the order of the terms, that each column of a block holds.
    position
        Shape (D,): the column of a block that holds each coefficient.
    """

    def __init__(
        self,
        data: ChoiceData,
        terms: Iterable[Term] | Encoding,
        *,
        of: Of = "value",
        attribute: str | None = None,
        execution: Execution | None = None,
        only: Callable[[TermColumns], bool] | None = None,
    ) -> None:
        must_be_choice_data(data)
        if of != "value" and attribute is None:
            raise ArdchoiceError(f"Say by which attribute the {of} is to be taken.")
        self.data, self.execution = data, execution or current_execution()
        self.encoding = terms if isinstance(terms, Encoding) else learn_encoding(data, terms)
        if self.encoding.alternatives != data.alternatives:
            raise ArdchoiceError(
                f"The model knows the alternatives {', '.join(self.encoding.alternatives)}; these "
                f"data have {', '.join(data.alternatives)}."
            )
        groups = _by_alternatives(self.encoding)
        self._is_derivative = of != "value"
        self._is_partial = self._is_derivative or only is not None
        self._plans = _plan(groups, ColumnStore(data, of, attribute), attribute, only)
        ordered = [
            k for g in groups.values() for t in g for k in range(t.start, t.start + t.n_columns)
        ]
        self.order: npt.NDArray[np.intp] = np.array(ordered, dtype=np.intp)
        self.position = np.argsort(self.order)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every coefficient; D of them."""
        return self.encoding.names

    @property
    def n_columns(self) -> int:
        """Number of coefficients, D."""
        return self.encoding.n_columns

    def with_covariates(self, names: Iterable[str]) -> Design:
        """The same with covariates of persons that a family uses beside the terms."""
        persons = person_columns(self.data, names)
        if persons == self.encoding.persons:
            return self
        encoding = replace(self.encoding, persons=persons)
        return Design(self.data, encoding, execution=self.execution)

    # -- Blocks -----------------------------------------------------------------------------

    def row_bytes(self) -> int:
        """Bytes of one expanded row."""
        return 8 * sum(plan.width * len(plan.alternatives) for plan in self._plans)

    def expanded_bytes(self) -> int:
        """Bytes of the whole design, were it expanded at once."""
        return self.row_bytes() * len(self.data)

    def block_rows(self) -> int:
        """Rows of a block that is neither too large for the cache nor too small to be worth it."""
        row = max(self.row_bytes(), 8 * len(self.data.alternatives))
        rows = max(FEWEST_ROWS, BLOCK_BYTES // row)
        if self.n_columns <= MANY_COLUMNS:
            return rows
        # Adding up Hessians must take less time than making them.
        return max(rows, min(self.n_columns // 2, LARGEST_BLOCK_BYTES // row))

    def ranges(self) -> list[slice]:
        """The rows of every block: whole persons, where the rows of each stand together."""
        return whole_person_ranges(self.data, self.block_rows())

    def __iter__(self) -> Iterator[Block]:
        """Expand block after block."""
        return (self.block(rows) for rows in self.ranges())

    def passing(self, standardise: Standardizer | None = None) -> StreamedBlocks:
        """Something to pass over once: every block is expanded for it, on workers if there are."""
        if self.execution.workers is not None and not self._is_derivative:
            # Only who has workers needs Dask.
            from ardchoice.design.remote import Remote

            return Remote(self, self.execution.workers, standardise)
        return StreamedBlocks(self, standardise, self._threads())

    def blocks(
        self, standardise: Standardizer | None = None, *, is_costly: bool = False
    ) -> CachedBlocks | StreamedBlocks:
        """Something to pass over again and again: expanded once if small, each time if large.

        Where a row is costly, as with simulated integrals, threads are worth it for fewer rows.
        """
        passing = self.passing(standardise)
        if self.expanded_bytes() > KEEP_BYTES or self.execution.workers is not None:
            return passing
        kept = CachedBlocks(passing)
        kept.is_costly = is_costly
        kept.threads = self._threads(COSTLY_WORTH_THREADS) if is_costly else passing.threads
        return kept

    def _threads(self, worth: int = WORTH_THREADS) -> int:
        if self.expanded_bytes() < worth:
            return 1
        return self.execution.n_threads or default_threads()

    def block(self, rows: slice, like: Block | None = None) -> Block:
        """Expand a range of rows.

        Parameters
        ----------
        rows
        like
            The same rows of a design with the same encoding, whose columns stand for those of
            terms that are not expanded here. It is not changed. Default: zeros.
        """
        data = self.data
        rows = slice(*rows.indices(len(data))[:2])
        n = len(range(rows.start, rows.stop))
        expanded = _Expanded(rows)
        parts = tuple(
            Part(plan.alternatives, plan.columns, self._expand(plan, n, expanded, old))
            for plan, old in zip(self._plans, _columns_of(like, len(self._plans)), strict=True)
        )
        available = data.available[:, rows]
        return Block(
            parts,
            available=None if available.all() else available,
            choice=_choices(data, rows, n),
            weight=None if data.weight is None else data.weight[rows],
            shape=(len(data.alternatives), n),
            person=None if data.person is None else data.person[rows],
            covariates=self._covariates(rows),
        )

    def _covariates(self, rows: slice) -> Floats | None:
        """What the family uses of persons beside the terms; shape (M, B)."""
        if not self.encoding.persons:
            return None
        return np.concatenate([p.expand(self.data, rows) for p in self.encoding.persons])

    def _expand(self, plan: _PartPlan, n: int, expanded: _Expanded, old: Floats | None) -> Floats:
        """The columns of a part; shape (K, A, B)."""
        if old is not None and not plan.pieces:
            return old
        shape = (plan.width, len(plan.alternatives), n)
        out = np.zeros(shape) if self._is_partial else np.empty(shape)
        if old is not None:
            out[:] = old
        for piece in plan.pieces:
            base, target = expanded[piece.base], out[piece.columns]
            if piece.multiplier is None:
                target[:] = base
                continue
            times = expanded[piece.multiplier][:, None]
            target = target.reshape(len(base), len(times), *shape[1:])
            # A slope may be infinite, and infinity times zero is not zero.
            use = times != 0 if self._is_derivative else True
            np.multiply(base[:, None], times, out=target, where=use)
        return out

    # -- Moments ----------------------------------------------------------------------------

    def moments(self, blocks: Iterable[Block], over: Rows = "available") -> Moments:
        """Mean, standard deviation and root mean square of every column.

        Parameters
        ----------
        blocks
            Of this design.
        over
            The rows where the alternatives of a column are available, or all: a column is zero
            where they are not.
        """
        found = map_reduce(partial(deviations, over), blocks)
        variance, mean = found.squares / np.maximum(found.count, 1), found.mean
        back = self.position
        return Moments(mean[back], np.sqrt(variance)[back], np.sqrt(variance + mean**2)[back])


@dataclass(frozen=True, eq=False)
class Deviations:
    """How many values every column has, their mean, and squared deviations from it; (D,) each.

    Deviations from the mean of a block, then of all: squares of the values themselves would lose
    the deviations of a column far from zero.
    """

    count: Floats
    mean: Floats
    squares: Floats

    def __add__(self, other: Deviations) -> Deviations:
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        away = other.mean - self.mean
        squares = self.squares + other.squares + away**2 * self.count * share
        return Deviations(count, self.mean + away * share, squares)


def deviations(over: Rows, block: Block) -> Deviations:
    """Of one block."""
    count, mean, squares = np.zeros((3, block.n_columns))
    for part in block.parts:
        k = part.columns
        x = part.x.reshape(len(part.x), -1)
        if block.available is not None and over == "available":
            x = x[:, block.available[list(part.alternatives)].ravel()]
        if x.shape[1]:
            count[k], mean[k] = x.shape[1], x.mean(axis=1)
            x = x - mean[k, None]
            squares[k] = np.einsum("kb,kb->k", x, x)
    return Deviations(count, mean, squares)


def _columns_of(block: Block | None, n_parts: int) -> list[Floats] | list[None]:
    """The columns of every part of a block."""
    return [None] * n_parts if block is None else [part.x for part in block.parts]


def _choices(data: ChoiceData, rows: slice, n: int) -> npt.NDArray[np.intp]:
    """Of some rows, zeros where there are none; shape (n,)."""
    if data.choice is None:
        return np.zeros(n, dtype=np.intp)
    return np.asarray(data.choice[rows], dtype=np.intp)


def _by_alternatives(encoding: Encoding) -> dict[tuple[int, ...], list[TermColumns]]:
    """The terms that enter the same alternatives, together."""
    groups: dict[tuple[int, ...], list[TermColumns]] = {}
    for term in encoding.terms:
        groups.setdefault(term.alternatives, []).append(term)
    return groups


def _plan(
    groups: dict[tuple[int, ...], list[TermColumns]],
    held: ColumnStore,
    attribute: str | None,
    only: Callable[[TermColumns], bool] | None,
) -> tuple[_PartPlan, ...]:
    """A part for every group of terms, one behind the other."""
    plans, start = [], 0
    for alternatives, terms in groups.items():
        pieces, width = [], 0
        for term in terms:
            columns = slice(width, width + term.n_columns)
            has_slope = attribute is not None and term.has_slope(attribute)
            if (held.of == "value" or has_slope) and (only is None or only(term)):
                pieces.append(_Piece(columns, held.base(term), held.multiplier(term)))
            width = columns.stop
        plans.append(_PartPlan(alternatives, slice(start, start + width), tuple(pieces)))
        start += width
    return tuple(plans)
