"""The one pass: something is measured on every block, and the measures are added up.

Estimation, relevance, covariance and prediction all use it; where the blocks live is the only
thing that changes. A list of blocks is gone through here; anything else knows how to go through
its own (`Passing`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial, reduce
from operator import add
from typing import TypeVar

import threadpoolctl

from ardchoice.logit.block import Block, Floats
from ardchoice.logit.likelihood import Order, Sums, evaluate

Measured = TypeVar("Measured")
Task = TypeVar("Task")
Measure = Callable[[Block], Measured]
"""What is taken of a block. Its results can be added; it can be sent to another process."""


class Passing:
    """Blocks that know how a pass over them is made."""

    def total(self, measure: Measure[Measured]) -> Measured:
        """The sum of a measure over all blocks, in a fixed order."""
        raise NotImplementedError


@cache
def _blas() -> list[threadpoolctl.LibController]:
    # Looking for the libraries takes milliseconds, so it is done once.
    found = threadpoolctl.ThreadpoolController().select(user_api="blas")
    return list(found.lib_controllers)


_is_one = ContextVar("_is_one", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
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


def total(measure: Measure[Measured], blocks: Iterable[Block]) -> Measured:
    """The sum of a measure over all blocks, in a fixed order.

    Parameters
    ----------
    measure
        Block -> something that can be added.
    blocks
        At least one.
    """
    with one_thread():
        if isinstance(blocks, Passing):
            return blocks.total(measure)
        return reduce(add, map(measure, blocks))


def in_order(
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


def usual_threads() -> int:
    """As many as cores may be used: what ARDCHOICE_THREADS says, or all of this process."""
    said = os.environ.get("ARDCHOICE_THREADS", "")
    if said.isdigit() and int(said) > 0:
        return int(said)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def one_pass(
    beta: Floats, blocks: Iterable[Block], order: Order = 2, *, rough: bool = False
) -> Sums:
    """ℓ, ∇ℓ and -∇²ℓ summed over blocks in a fixed order.

    Parameters
    ----------
    beta
        Shape (D,).
    blocks
    order
        0 for ℓ alone, 1 with the gradient, 2 with the curvature.
    rough
        Whether five digits of the curvature will do.
    """
    return total(partial(evaluate, beta, order=order, rough=rough), blocks)
