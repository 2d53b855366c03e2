"""How sure predictions are: probabilities of situations, and numbers of choices of a sample."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy import special

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.estimation.delta import Uncertainty
from ardchoice.estimation.display import DisplayFrame
from ardchoice.estimation.model import Model
from ardchoice.numerics import normal_quantile

ROWS_TOGETHER = 64
"""Situations whose gradients are computed at once."""


def probability_intervals(model: Model, data: ChoiceData, uncertainty: Uncertainty) -> pd.DataFrame:
    """Probability of every situation and alternative with an interval on the scale of log odds."""
    inside = model.on(data)
    back = inside.layout.permutation(inside.design.position)
    frames = []
    for first in range(0, len(data), ROWS_TOGETHER):
        rows = slice(first, min(first + ROWS_TOGETHER, len(data)))
        block = inside.design.block(rows)
        p = inside.probabilities(block)
        each = np.eye(block.shape[1])
        gradient = inside.family.share_gradient(inside.theta, block, inside.layout, each)
        flat = gradient.reshape(-1, gradient.shape[-1])[:, back]
        flat = model.with_shapes(flat, partial(_probabilities_of, data, rows))
        frames.append((p.T.ravel(), uncertainty.std_err(flat)))
    p, std_err = (np.concatenate(parts) for parts in zip(*frames, strict=True))
    low, high = _between_zero_and_one(p, uncertainty.half_width(std_err))
    j = len(data.alternatives)
    return DisplayFrame(
        {
            "situation": np.repeat(np.asarray(data.situation), j),
            "alternative": list(data.alternatives) * len(data),
            "probability": p,
            "std_err": std_err,
            "low": low,
            "high": high,
        }
    )


def _probabilities_of(data: ChoiceData, rows: slice, model: Model) -> Floats:
    """Of some rows, alternatives of a row together; shape (rows x J,)."""
    inside = model.on(data)
    return np.asarray(inside.probabilities(inside.design.block(rows)).T.ravel())


def _expected(data: ChoiceData, model: Model) -> Floats:
    """Expected (weighted) numbers of choices; shape (J,)."""
    inside = model.on(data)
    parts = [
        inside.probabilities(inside.design.block(rows)) @ data.weights_of(rows)
        for rows in inside.design.ranges()
    ]
    return np.asarray(sum(parts))


def _between_zero_and_one(p: Floats, half: Floats) -> tuple[Floats, Floats]:
    """An interval of log odds, back on the scale of probabilities."""
    inside = (p > 0) & (p < 1)
    q = np.where(inside, p, 0.5)
    odds, width = special.logit(q), half / (q * (1 - q))
    low, high = special.expit(odds - width), special.expit(odds + width)
    return np.where(inside, low, p), np.where(inside, high, p)


def count_intervals(model: Model, data: ChoiceData, uncertainty: Uncertainty) -> pd.DataFrame:
    """Expected number of choices of every alternative, and where the number itself will lie.

    The variance of the number is that of the expectation, by the delta method, plus Σ w² P (1 - P):
    what chance adds when choices are independent given the attributes.
    """
    inside = model.on(data)
    back = inside.layout.permutation(inside.design.position)
    j = len(data.alternatives)
    expected, chance = np.zeros((2, j))
    gradient = np.zeros((j, len(model.theta)))
    for rows in inside.design.ranges():
        block, w = inside.design.block(rows), data.weights_of(rows)
        p = inside.probabilities(block)
        expected += p @ w
        chance += (p * (1 - p)) @ w**2
        gradient += inside.family.share_gradient(inside.theta, block, inside.layout, w[None])[0]
    whole = model.with_shapes(gradient[:, back], partial(_expected, data))
    std_err = uncertainty.std_err(whole)
    half = uncertainty.half_width(std_err)
    spread = normal_quantile(0.5 + uncertainty.level / 2) * np.sqrt(std_err**2 + chance)
    return DisplayFrame(
        {
            "alternative": list(data.alternatives),
            "expected": expected,
            "std_err": std_err,
            "low": expected - half,
            "high": expected + half,
            "prediction_low": np.maximum(expected - spread, 0.0),
            "prediction_high": np.minimum(expected + spread, data.total_weight),
        }
    )
