"""Log-likelihoods to compare with: equal shares, and constants only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ardchoice.data import ChoiceData
from ardchoice.logit import Block, Part, maximise, one_pass
from ardchoice.logit.block import Floats

BITS_IN_ONE_NUMBER = 40
"""Choice sets of up to this many alternatives fit, with the choice, into one whole number."""


def null_loglik(data: ChoiceData) -> float:
    """Every available alternative equally likely: -Σ w_n log J_n."""
    return -float(data.weights @ np.log(data.available.sum(axis=0)))


def constants_loglik(data: ChoiceData) -> float:
    """A constant per alternative and nothing else.

    Situations with the same choice set and the same choice are one row with their weight, so this
    costs next to nothing. An alternative that nobody chose counts as absent: its constant would
    run to minus infinity, where the log-likelihood is the same.
    """
    choice = data.chosen()
    counts = np.bincount(choice, data.weights, minlength=len(data.alternatives))
    if (counts == counts.sum()).any():
        return 0.0
    if data.available.all():
        shares = counts[counts > 0] / counts.sum()
        return float(counts[counts > 0] @ np.log(shares))
    used = counts > 0
    available, position = data.available[used], np.cumsum(used) - 1
    first, weight = _distinct(available, position[choice], data.weights)
    available = available[:, first]
    base = int(np.argmax(counts[used]))
    others = [j for j in range(len(available)) if j != base]
    parts = tuple(
        Part((j,), slice(k, k + 1), available[j].astype(float)[None, None])
        for k, j in enumerate(others)
    )
    block = Block(parts, available, position[choice[first]], weight, available.shape)
    # With everything available the log of the shares is the answer; otherwise it is close.
    start = np.log(counts[used][others] / counts[used][base])
    return maximise(lambda beta, _: one_pass(beta, [block]), start).loglik


def _distinct(
    available: npt.NDArray[np.bool_], choice: npt.NDArray[np.intp], weights: Floats
) -> tuple[npt.NDArray[np.intp], Floats]:
    """The first row of every combination of choice set and choice, and their total weights."""
    if len(available) <= BITS_IN_ONE_NUMBER:
        key = choice.astype(np.int64)
        for row in available:
            key = 2 * key + row
    else:
        rows = np.packbits(available, axis=0)
        words = np.vstack([rows, choice & 255, choice >> 8]).astype(np.uint8).T.copy()
        key = words.view(f"V{words.shape[1]}").ravel()
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first, np.bincount(group, weights).astype(float)
