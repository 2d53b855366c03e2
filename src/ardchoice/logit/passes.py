"""The one pass: coefficients go in, sums over all blocks come out.

Estimation, relevance, covariance and prediction all use it; where the blocks live is the only
thing that changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache, reduce

import threadpoolctl

from ardchoice.logit.block import Block, Floats
from ardchoice.logit.likelihood import Order, Sums, evaluate


@cache
def _blas() -> threadpoolctl.ThreadpoolController:
    # Looking for the libraries takes milliseconds, so it is done once.
    return threadpoolctl.ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """One BLAS thread while it lasts.

    The products of a block are small: a second thread spends more on waiting than it saves, and
    far more when something else runs on the machine.
    """
    return _blas().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


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
