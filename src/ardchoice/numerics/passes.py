"""The one pass: something is measured on every block, and the measures are added up.

Estimation, relevance, covariance and prediction all use it; where the blocks live is the only
thing that changes. A list of blocks is processed here; anything else knows how to process
its own (`BlockSource`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from operator import add
from typing import Any, TypeVar, cast

import threadpoolctl

Measured = TypeVar("Measured")
Task = TypeVar("Task")
Measure = Callable[[Any], Measured]
"""What is taken of a block. Its results can be added; it can be sent to another process."""


class BlockSource:
    """Blocks that know how a pass over them is made."""

    def map_reduce(self, measure: Measure[Measured]) -> Measured:
        """The sum of a measure over all blocks, in a fixed order."""
        raise NotImplementedError

    def release(self) -> None:
        """Give back what is kept of the blocks: no pass follows."""

    @contextmanager
    def in_processes(self) -> Iterator[None]:
        """Passes may be made by several processes while it lasts; here they are not."""
        yield


@cache
def _blas() -> list[threadpoolctl.LibController]:
    # Looking for the libraries takes milliseconds, so it is done once.
    found = threadpoolctl.ThreadpoolController().select(user_api="blas")
    return list(found.lib_controllers)


_is_one = ContextVar("_is_one", default=False)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """One BLAS thread while it lasts.

    The products of a block are small: a second thread spends more on waiting than it saves, and
    far more when something else runs on the machine.
    """
    if _is_one.get():
        yield
        return
    counts = [(library, library.get_num_threads()) for library in _blas()]
    several = [(library, count) for library, count in counts if count not in (None, 1)]
    before = _is_one.set(True)
    try:
        for library, _ in several:
            library.set_num_threads(1)
        yield
    finally:
        for library, count in several:
            library.set_num_threads(count)
        _is_one.reset(before)


def total(results: Iterable[Measured]) -> Measured:
    """The sum of results in their order, in place from the second on where they know how.

    Parameters
    ----------
    results
        At least one. Those whose class defines `absorb` add another to themselves.
    """
    each = iter(results)
    first = next(each)
    second = next(each, None)
    if second is None:
        return first
    # The sum of two is new, so that nobody else has its arrays.
    out: Any = add(first, second)
    # A subclass with sums of its own adds them in its __add__.
    absorb = "absorb" in vars(type(out))
    for one in each:
        out = out.absorb(one) if absorb else out + one
    return cast("Measured", out)


def map_reduce(measure: Measure[Measured], blocks: Iterable[Any]) -> Measured:
    """The sum of a measure over all blocks, in a fixed order.

    Parameters
    ----------
    measure
        Block -> something that can be added.
    blocks
        At least one.
    """
    with single_blas_thread():
        if isinstance(blocks, BlockSource):
            return blocks.map_reduce(measure)
        return total(map(measure, blocks))


def ordered_map(
    work: Callable[[Task], Measured], tasks: Sequence[Task], threads: int = 1
) -> Iterator[Measured]:
    """What work makes of every task, in the order of the tasks, by several threads.

    Only so many tasks are under way that results do not pile up. Since results come in order,
    sums of them are the same to the last bit whatever the number of threads.
    """
    if threads <= 1 or len(tasks) <= 1:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Measured]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


def default_threads() -> int:
    """As many as cores may be used: what ARDCHOICE_THREADS says, or all of this process."""
    said = os.environ.get("ARDCHOICE_THREADS", "")
    if said.isdigit() and int(said) > 0:
        return int(said)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
