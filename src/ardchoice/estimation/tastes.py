"""Mean coefficients over persons, those of every kind of person, and class profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import Bools, Floats, Ints
from ardchoice.data import ChoiceData, Covariate, grouped_by_person
from ardchoice.design import Block, Encoding
from ardchoice.estimation.elasticities import Estimate
from ardchoice.estimation.model import Model
from ardchoice.estimation.wtp import willingness_to_pay
from ardchoice.families import Family, Mnl, ParameterLayout, TasteKind
from ardchoice.numerics import map_reduce

if TYPE_CHECKING:
    from ardchoice.estimation.result import Result

SHARE, MEAN = "share", "mean"


def mean_coefficients(model: Model, data: ChoiceData) -> Floats:
    """E[β] over the persons of some data, in the order of the terms; shape (D,)."""
    inside = model.on(data)
    measure = _MeanMeasure(inside.family, inside.layout, inside.theta)
    found = map_reduce(measure, inside.design.passing())
    return np.asarray((found.total / found.weight)[inside.design.position])


@dataclass(frozen=True, eq=False)
class _Mean:
    """A weighted sum of coefficients, shape (D,), and the sum of weights."""

    total: Floats
    weight: float

    def __add__(self, other: _Mean) -> _Mean:
        return _Mean(self.total + other.total, self.weight + other.weight)


@dataclass(frozen=True, eq=False)
class _MeanMeasure:
    """Of a block; can be sent to another process."""

    family: Family
    layout: ParameterLayout
    theta: Floats

    def __call__(self, block: Block) -> _Mean:
        weight = np.ones(block.shape[1]) if block.weight is None else block.weight
        beta = self.family.mean_coefficients(self.theta, block, self.layout)
        total = beta @ weight if beta.ndim == 2 else beta * weight.sum()
        return _Mean(total, float(weight.sum()))


def finite_in_kinds(kinds: Sequence[TasteKind], is_infinite: Bools) -> Bools:
    """Which coefficients of every kind do not diverge; shape (Q, D)."""
    return np.array([~(kind.gradient[:, is_infinite] != 0).any(axis=1) for kind in kinds])


def mean_of_finite(
    mean: Floats, kinds: Sequence[TasteKind], shares: Floats, is_infinite: Bools
) -> Floats:
    """Mean coefficients, each without the kinds in which it diverges, unless it does in all."""
    finite = finite_in_kinds(kinds, is_infinite)
    betas, weight = np.array([kind.beta for kind in kinds]), shares[:, None] * finite
    total = weight.sum(axis=0)
    partly = ~finite.all(axis=0) & (total > 0)
    found = (weight * betas).sum(axis=0) / np.where(partly, total, 1.0)
    return np.where(partly, found, mean)


def mean_of_classes(result: Result) -> str:
    """A sentence on mean coefficients that are not of all classes; empty where all are."""
    kinds = result.taste_kinds
    if not kinds or not result.is_infinite.any():
        return ""
    finite = finite_in_kinds(kinds, result.is_infinite)
    names = [name for term in result.encoding.terms for name in term.names]
    shown = [name for k, name in enumerate(names) if not finite[:, k].all()]
    if not shown:
        return ""
    return f"Means of {', '.join(shown)} leave out classes in which their estimates diverge."


def wtp_of_kinds(
    kinds: Sequence[TasteKind], encoding: Encoding, data: ChoiceData, attribute: str, cost: str
) -> list[Estimate]:
    """Willingness to pay of every kind of person, each a segment."""
    out = []
    for kind in kinds:
        model = Model(kind.beta, encoding, Mnl())
        out += [
            replace(one, segment=kind.name, gradient=one.gradient @ kind.gradient)
            for one in willingness_to_pay(model, data, attribute, cost, [])
        ]
    return out


def class_profiles(membership: pd.DataFrame, data: ChoiceData) -> pd.DataFrame:
    """Who is in every class: shares, and covariates weighted by membership.

    Parameters
    ----------
    membership
        Probability of every class given the person's choices; a row per person.
    data
        Whose persons they are, in the order in which they first occur.
    """
    whole = grouped_by_person(data)
    first = np.arange(len(whole))
    if whole.person is not None:
        first = np.flatnonzero(np.append(True, whole.person[1:] != whole.person[:-1]))
    weight = whole.weights[first]
    h = membership.to_numpy().T * weight
    h = np.vstack([h, weight])
    rows = [("", SHARE, h.sum(axis=1) / weight.sum())]
    for covariate in data.covariates.values():
        rows += _of_covariate(whole.covariates[covariate.name], first, h)
    index = pd.MultiIndex.from_tuples([row[:2] for row in rows], names=["covariate", "value"])
    return pd.DataFrame([row[2] for row in rows], index=index, columns=[*membership, "all"])


def _of_covariate(covariate: Covariate, first: Ints, h: Floats) -> list[tuple[str, str, Floats]]:
    """The share of every level, or the mean, in every class."""
    values, total = covariate.values[first], h.sum(axis=1)
    if covariate.levels is None:
        return [(covariate.name, MEAN, h @ values / total)]
    return [
        (covariate.name, level, h @ (values == k) / total)
        for k, level in enumerate(covariate.levels)
    ]
