"""Calibration: predicted probabilities against observed shares, in bins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice._types import Floats, Ints
from ardchoice.numerics import normal_quantile

MAX_BINS = 10
MIN_BIN_SITUATIONS = 20
MAX_SEPARATE_ALTERNATIVES = 8
"""With more alternatives they are binned together."""
ALL_ALTERNATIVES = "all alternatives"
CONFIDENCE_LEVEL = 0.95
ZERO_VARIANCE = 1e-12


def calibration(
    alternatives: tuple[str, ...],
    p: Floats,
    available: npt.NDArray[np.bool_],
    choice: Ints,
    weights: Floats,
    person: Ints | None,
) -> pd.DataFrame:
    """Predicted and observed shares in bins of (nearly) equal size.

    Where many alternatives are binned together, most of them have a probability close to zero in
    any situation: bins then have equally many expected choices.

    Parameters
    ----------
    alternatives
        J names.
    p, available
        Probabilities, and where they mean anything; shape (J, N) each.
    choice, weights
        Shape (N,) each.
    person
        Shape (N,): choices of one person are not independent, so intervals widen; None where each
        row is a person.

    Returns
    -------
    DataFrame
        alternative, predicted (mean), observed (share), n, low, high (Wilson interval at the
        effective number of independent choices).
    """
    chosen = np.arange(len(alternatives))[:, None] == choice
    rows = []
    if len(alternatives) > MAX_SEPARATE_ALTERNATIVES:
        where, n = np.nonzero(available)
        by = n if person is None else person[n]
        rows += _bins(
            ALL_ALTERNATIVES, p[where, n], chosen[where, n], weights[n], by, by_choices=True
        )
    else:
        everyone = np.arange(len(choice)) if person is None else person
        for j, name in enumerate(alternatives):
            here = available[j]
            rows += _bins(name, p[j, here], chosen[j, here], weights[here], everyone[here])
    names = ["alternative", "predicted", "observed", "n", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def _bins(
    name: str,
    p: Floats,
    hit: npt.NDArray[np.bool_],
    weights: Floats,
    person: Ints,
    *,
    by_choices: bool = False,
) -> list[list[object]]:
    order = np.argsort(p, kind="stable")
    share = np.cumsum((p if by_choices else np.ones_like(p))[order])
    count = int(np.clip(share[-1] // MIN_BIN_SITUATIONS, 1, MAX_BINS)) if len(share) else 0
    cuts = np.searchsorted(share, share[-1] * np.arange(1, count) / count) if count > 1 else []
    rows: list[list[object]] = []
    for inside in np.split(order, cuts):
        w = weights[inside]
        if not w.sum():
            continue
        predicted = float(w @ p[inside] / w.sum())
        observed = float(w @ hit[inside] / w.sum())
        low, high = interval(observed, hit[inside], w, person[inside])
        rows.append([name, predicted, observed, len(inside), low, high])
    return rows


def interval(
    share: float, hit: npt.NDArray[np.bool_], weights: Floats, person: Ints
) -> tuple[float, float]:
    """Wilson interval of a share, at the effective sample size that clustering by person leaves."""
    who = np.unique(person, return_inverse=True)[1]
    by_person = np.bincount(who, weights * (hit - share))
    squared = float(weights.sum()) ** 2
    variance = float(by_person @ by_person) / squared
    plain = share * (1 - share)
    if variance > ZERO_VARIANCE and plain > ZERO_VARIANCE:
        n = min(squared / float(weights @ weights), plain / variance)
    else:
        # Always or never: the correlation within persons is not identified, so each person counts
        # as one choice.
        weight = np.bincount(who, weights)
        n = squared / float(weight @ weight)
    z = float(normal_quantile(0.5 + CONFIDENCE_LEVEL / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(plain / n + z**2 / (4 * n**2))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))
