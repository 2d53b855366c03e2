"""Log-likelihoods to compare with: equal shares, and constants only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.families import choice_probabilities
from ardchoice.numerics import Sums, maximise

SLICE = 4096
BITS_IN_ONE_NUMBER = 40
"""Choice sets of up to this many alternatives fit, with the choice, into one whole number."""


def null_loglik(data: ChoiceData) -> float:
    """Every available alternative equally likely: -Σ w_n log J_n."""
    # Every model of the same data is compared with it.
    return data.cached(
        "null_loglik",
        lambda: (
            -sum(
                float(data.weights_of(rows) @ np.log(data.available[:, rows].sum(axis=0)))
                for rows in data.ranges()
            )
        ),
    )


def constants_loglik(data: ChoiceData) -> float:
    """A constant per alternative and nothing else.

    Situations with the same choice set and the same choice are one row with their weight, so this
    costs little. An alternative that nobody chose counts as absent: its constant would
    run to minus infinity, where the log-likelihood is the same.
    """
    counts = data.times_chosen()
    if (counts == counts.sum()).any():
        return 0.0
    if data.always(range(len(counts))):
        shares = counts[counts > 0] / counts.sum()
        return float(counts[counts > 0] @ np.log(shares))
    table = _choice_sets(data, counts)
    # With everything available the log of the shares is the answer; otherwise it is close.
    start = np.log(table.counts[1:] / table.counts[0])
    return maximise(lambda beta, _: _constants_sums(beta, table), start).loglik


@dataclass(frozen=True, eq=False)
class _Table:
    """Distinct choice sets, shape (J, M), their weights, and how often each was chosen."""

    available: npt.NDArray[np.bool_]
    weight: Floats
    counts: Floats


def _choice_sets(data: ChoiceData, counts: Floats) -> _Table:
    """Distinct choice sets of alternatives that somebody chose."""
    used = counts > 0
    position = np.cumsum(used) - 1
    sets, choices, weights = [], [], []
    for rows in data.ranges():
        weight = data.weights_of(rows)
        seen = weight > 0
        choice = position[data.chosen()[rows][seen]]
        available = data.available[:, rows][used][:, seen]
        first, total = _distinct(available, choice, weight[seen])
        sets.append(available[:, first])
        choices.append(choice[first])
        weights.append(total)
    available, weight = np.concatenate(sets, axis=1), np.concatenate(weights)
    if len(sets) > 1:
        first, weight = _distinct(available, np.concatenate(choices), weight)
        available = available[:, first]
    return _Table(available, weight, counts[used])


def _constants_sums(beta: Floats, table: _Table) -> Sums:
    """Log-likelihood, gradient and curvature of constants, that of the first alternative zero."""
    constants = np.concatenate([[0.0], beta])
    loglik, expected = float(table.counts @ constants), np.zeros(len(constants))
    curvature = np.zeros((len(constants), len(constants)))
    for start in range(0, len(table.weight), SLICE):
        rows = slice(start, start + SLICE)
        w = table.weight[rows]
        v = np.broadcast_to(constants[:, None], (len(constants), len(w)))
        chance = choice_probabilities(v, table.available[:, rows])
        loglik -= float(w @ chance.log_total)
        weighted = chance.p * w
        expected += weighted.sum(axis=1)
        curvature -= weighted @ chance.p.T
    curvature += np.diag(expected)
    return Sums(loglik, (table.counts - expected)[1:], curvature[1:, 1:])


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
