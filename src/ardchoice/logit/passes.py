"""The one pass: coefficients go in, sums over all blocks come out.

Estimation, relevance, covariance and prediction all use it; where the blocks live is the only
thing that changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, reduce

import threadpoolctl

from ardchoice.logit.block import Block, Floats
from ardchoice.logit.likelihood import Order, Sums, evaluate


@cache
def _blas() -> threadpoolctl.ThreadpoolController:
    # Looking for the libraries takes milliseconds, so it is done once.
    return threadpoolctl.ThreadpoolController()


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
    with _blas().limit(limits=1, user_api="blas"):
        before = _is_one.set(True)
        try:
            yield
        finally:
            _is_one.reset(before)


def one_pass(beta: Floats, blocks: Iterable[Block], order: Order = 2) -> Sums:
    """ℓ, ∇ℓ and -∇²ℓ summed over blocks in a fixed order.

    Parameters
    ----------
    beta
        Shape (D,).
    blocks
    order
        0 for ℓ alone, 1 with the gradient, 2 with the curvature.
    """
    with one_thread():
        return reduce(Sums.__add__, (evaluate(beta, block, order) for block in blocks))
