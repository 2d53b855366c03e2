"""Calibration: constants moved until predicted shares are those given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.errors import ArdchoiceError, SpecificationError, did_you_mean
from ardchoice.estimation.model import Model
from ardchoice.families import LOCATIONS, Mnl

Calibration = Literal["prediction", "choice-based"]
METHODS: tuple[Calibration, ...] = ("prediction", "choice-based")
SUM_TOLERANCE = 1e-6
"""How far given shares may be from summing to one."""
LOG_TOLERANCE = 1e-12
"""On logarithms of shares: far below the 1e-8 that is promised."""
SHARE_TOLERANCE = 1e-9
"""On shares: how far from those given calibration may end."""
MAX_STEPS = 100
MOST_HALVINGS = 30
LARGEST_MOVE = 5.0
"""Of a constant in one step."""


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Parameters after calibration.

    Attributes
    ----------
    theta
        In the order of the terms; shape (P,).
    covariances
        Shape (P, P) each.
    note
        What was done, in a sentence.
    """

    theta: Floats
    covariances: dict[str, Floats]
    note: str


def calibrated(
    model: Model,
    covariances: Mapping[str, Floats],
    data: ChoiceData,
    sample: ChoiceData,
    shares: Mapping[str, float],
    method: Calibration,
) -> Calibrated:
    """Constants moved by δ, the same δ_j in every class.

    Parameters
    ----------
    model, covariances
        As estimated.
    data
        Situations to predict.
    sample
        Of the estimation, whose shares a choice-based correction starts from.
    shares
        Alternative -> share.
    method
    """
    target = _target(shares, model.encoding.alternatives)
    moves = constants_of(model)
    if method == "choice-based":
        return _corrected(model, covariances, sample, target, moves)
    if method != "prediction":
        raise ArdchoiceError(
            f"There is no method {method!r} of calibration. {did_you_mean(str(method), METHODS)}"
        )
    there, gradient = _solved(model, data, target, moves)
    turn = np.eye(len(model.theta)) - moves @ np.linalg.pinv(gradient @ moves) @ gradient
    texts = (f"{name} {value:.4g}" for name, value in shares.items())
    return Calibrated(
        there.theta,
        _moved_covariances(covariances, turn),
        f"Constants were calibrated to the shares {', '.join(texts)}: they are not estimates.",
    )


def _target(shares: Mapping[str, float], alternatives: tuple[str, ...]) -> Floats:
    """Shape (J,)."""
    for name in shares:
        if name not in alternatives:
            raise ArdchoiceError(
                f"There is no alternative {name!r}. {did_you_mean(name, alternatives)}"
            )
    missing = [name for name in alternatives if name not in shares]
    if missing:
        raise ArdchoiceError(f"Give a share for every alternative: {', '.join(missing)} has none.")
    target = np.array([float(shares[name]) for name in alternatives])
    if not (target > 0).all() or abs(target.sum() - 1) > SUM_TOLERANCE:
        raise ArdchoiceError(
            f"Shares are above zero and sum to one; these sum to {target.sum():.6g}"
            + (", with some at or below zero." if not (target > 0).all() else ".")
            + (" Percentages are divided by 100." if abs(target.sum() - 100) < 1 else "")
        )
    return np.asarray(target / target.sum())


def constants_of(model: Model) -> Floats:
    """Which parameters move the utility of each alternative alone; shape (P, J).

    Raises
    ------
    SpecificationError
        More than one alternative has none.
    """
    alternatives = model.encoding.alternatives
    layout = model.family.layout(model.encoding)
    moves = np.zeros((len(layout.parameters), len(alternatives)))
    columns = {
        term.start: term.alternatives[0]
        for term in model.encoding.terms
        if term.term.what is None and not term.term.by and len(term.alternatives) == 1
    }
    for k, parameter in enumerate(layout.parameters):
        if parameter.column in columns and parameter.kind in LOCATIONS:
            moves[k, columns[parameter.column]] = 1.0
    lacking = [alternatives[j] for j in np.flatnonzero(~moves.any(axis=0))]
    if len(lacking) > 1:
        raise SpecificationError(
            f"Calibration moves constants, and {', '.join(lacking)} have none: give every "
            f"alternative but one a constant, as in '{lacking[0]}: ASC'."
        )
    return moves


def _share_gradient(model: Model, data: ChoiceData) -> tuple[Floats, Floats]:
    """Predicted shares, (J,), and their gradient in the order of the terms, (J, P)."""
    inside = model.on(data)
    total = np.zeros(len(data.alternatives))
    gradient = np.zeros((len(total), len(model.theta)))
    for rows in inside.design.ranges():
        block, w = inside.design.block(rows), data.weights_of(rows)
        total += inside.probabilities(block) @ w
        gradient += inside.family.share_gradient(inside.theta, block, inside.layout, w[None])[0]
    back = inside.layout.permutation(inside.design.position)
    return total / data.total_weight, gradient[:, back] / data.total_weight


def _solved(model: Model, data: ChoiceData, target: Floats, moves: Floats) -> tuple[Model, Floats]:
    """Newton's method on the logarithms of shares; the model, and the gradient of its shares."""
    shares, gradient = _share_gradient(model, data)
    for _ in range(MAX_STEPS):
        error = np.log(target / shares)
        if np.abs(error).max() <= LOG_TOLERANCE:
            break
        slope = gradient @ moves / shares[:, None]
        step = np.linalg.lstsq(slope, error, rcond=None)[0]
        step *= min(1.0, LARGEST_MOVE / max(np.abs(step).max(), LARGEST_MOVE))
        for _ in range(MOST_HALVINGS):
            there = replace(model, theta=model.theta + moves @ step)
            shares_there, gradient_there = _share_gradient(there, data)
            with np.errstate(divide="ignore"):
                left = np.abs(np.log(target / shares_there)).max()
            if left < np.abs(error).max():
                break
            step = step / 2
        else:  # what is left is rounding, or out of reach
            break
        model, shares, gradient = there, shares_there, gradient_there
    if np.abs(shares - target).max() > SHARE_TOLERANCE:
        closest = ", ".join(
            f"{name} {share:.4g}" for name, share in zip(data.alternatives, shares, strict=True)
        )
        raise ArdchoiceError(
            f"No constants give these shares: the closest are {closest}. An alternative "
            "cannot have more than the share of the situations in which it is available."
        )
    return model, gradient


def _moved_covariances(covariances: Mapping[str, Floats], turn: Floats) -> dict[str, Floats]:
    """T Σ T'; what had no variance has none, unless it follows from the rest."""
    follows = np.abs(turn - np.eye(len(turn))).sum(axis=1) > 0
    out = {}
    for kind, covariance in covariances.items():
        unknown = np.isnan(np.diag(covariance)) & ~follows
        moved = turn @ np.nan_to_num(covariance) @ turn.T
        moved[unknown] = np.nan
        moved[:, unknown] = np.nan
        out[kind] = moved
    return out


def _corrected(
    model: Model,
    covariances: Mapping[str, Floats],
    sample: ChoiceData,
    target: Floats,
    moves: Floats,
) -> Calibrated:
    """Every constant less the logarithm of sample share over population share."""
    if not isinstance(model.family, Mnl):
        raise SpecificationError(
            f"In a {model.family.title.lower()} a choice-based sample biases more than the "
            "constants. Estimate with weights, the population's share over the sample's, or "
            "calibrate with method='prediction'."
        )
    chosen = sample.shares().to_numpy()
    never = [name for name, share in zip(sample.alternatives, chosen, strict=True) if not share]
    if never:
        raise ArdchoiceError(f"{', '.join(never)} was never chosen: there is nothing to correct.")
    away = np.log(chosen / target)
    fixed = np.flatnonzero(~moves.any(axis=0))
    if len(fixed):  # what has no constant is the base of all others
        away = away - away[fixed[0]]
    return Calibrated(
        model.theta - moves @ away,
        dict(covariances),
        "Constants were corrected for a choice-based sample: minus log(sample share / population "
        "share).",
    )
