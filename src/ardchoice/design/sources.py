"""Where the blocks of a design live: kept in memory, or expanded again in every pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from ardchoice._types import Floats
from ardchoice.design.block import Block
from ardchoice.design.execution import running
from ardchoice.numerics import (
    BlockSource,
    ForkedPasses,
    Measure,
    Measured,
    may_fork,
    ordered_map,
    total,
)

if TYPE_CHECKING:
    from ardchoice.design.design import Design


COSTLY_WORTH_THREADS = 1 << 23
"""Bytes of two blocks, from which a costly pass is shared out."""
WORTH_THREADS = 1 << 26
"""Bytes of an expanded design from which threads are worth their while: smaller ones are passed
over in a few milliseconds."""


class Standardizer:
    """Columns become (x - centre) / scale, where their alternative is available.

    Parameters
    ----------
    centre, scale
        In the order of the blocks; shape (D,).
    """

    def __init__(self, centre: Floats, scale: Floats) -> None:
        self.centre, self.scale = centre, scale

    def __call__(self, block: Block) -> Block:
        """The same block, its columns changed in place."""
        for part in block.parts:
            x, k = part.x, part.columns
            if self.centre[k].any():
                shift = self.centre[k, None, None]
                if block.available is None:
                    x -= shift
                else:
                    x -= shift * block.available[list(part.alternatives)]
            x /= self.scale[k, None, None]
        return block


class CachedBlocks(list[Block], BlockSource):
    """Blocks that stay in memory, expanded once.

    Attributes
    ----------
    threads
        How many go through them.
    is_costly
        Whether a pass is a long row of small operations: where `in_processes` lasts, processes
        share it out instead of threads, if a fork is safe.
    """

    threads: int = 1
    is_costly: bool = False
    _forked: ForkedPasses | None = None

    def map_reduce(self, measure: Measure[Measured]) -> Measured:
        """The sum of a measure over all blocks."""
        if self._forked is not None and current_thread() is main_thread():
            return total(self._forked.measured(measure))
        if self.threads <= 1:
            return total(map(measure, self))
        return total(self._shared_out(measure))

    def release(self) -> None:
        """Give back the memory of the blocks: no pass follows."""
        self.clear()

    @contextmanager
    def in_processes(self) -> Iterator[None]:
        """Passes over costly blocks are made by several processes while it lasts."""
        n = min(self.threads, len(self))
        if self._forked is not None or not self.is_costly or n <= 1 or not may_fork():
            yield
            return
        # A process makes its passes by itself.
        with running(n_threads=1):
            self._forked = ForkedPasses(self, n)
        try:
            yield
        finally:
            self._forked.close()
            self._forked = None

    def _shared_out(self, measure: Measure[Measured]) -> Iterator[Measured]:
        # One block left over would keep one thread busy: a measure that shares out its own work
        # does so in the main thread only.
        is_odd = len(self) % self.threads == 1
        yield from ordered_map(measure, self[:-1] if is_odd else self, self.threads)
        if is_odd:
            yield measure(self[-1])


class StreamedBlocks(BlockSource):
    """Blocks that are expanded again in every pass.

    Parameters
    ----------
    design
    standardise
        What is done to every block; default: nothing.
    threads
        How many go through them.
    """

    def __init__(
        self, design: Design, standardise: Standardizer | None = None, threads: int = 1
    ) -> None:
        self.design, self.standardise, self.threads = design, standardise, threads

    def block(self, rows: slice) -> Block:
        """The columns of a range of rows."""
        block = self.design.block(rows)
        return block if self.standardise is None else self.standardise(block)

    def __iter__(self) -> Iterator[Block]:
        return (self.block(rows) for rows in self.design.ranges())

    def map_reduce(self, measure: Measure[Measured]) -> Measured:
        """The sum of a measure over all blocks."""
        # For who wants to know what a study cost: the columns of every pass.
        passes: list[int] = self.design.data.cached("passes", list)
        passes.append(self.design.n_columns)
        return total(
            ordered_map(lambda rows: measure(self.block(rows)), self.design.ranges(), self.threads)
        )
