"""What a model implies: probabilities and elasticities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design, Encoding, Of, TermColumns
from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.families import choice_probabilities, utilities, weighted_columns
from ardchoice.numerics import map_reduce

ALL = "all"


@dataclass(frozen=True)
class Estimate:
    """A function of the coefficients for one alternative and segment, with its gradient.

    Attributes
    ----------
    alternative
        Whose it is; ``*`` where all alternatives share it.
    changed
        For an elasticity, the alternative whose attribute changes; otherwise empty.
    segment
        Such as ``GA=1, AGE=2``, or ``all``.
    n
        Situations it was evaluated on.
    value
    gradient
        By the coefficients; shape (D,).
    level
        Of an attribute that has levels, the one that is set against the reference.
    """

    alternative: str
    changed: str
    segment: str
    n: int
    value: float
    gradient: Floats
    level: str = ""


def probabilities(beta: Floats, encoding: Encoding, data: ChoiceData) -> Floats:
    """P for every alternative and situation; shape (J, N), zero where unavailable."""
    design = Design(data, encoding)
    out = np.empty(data.available.shape)
    for rows in design.ranges():
        block = design.block(rows)
        out[:, rows] = choice_probabilities(utilities(beta[design.order], block), block.available).p
    return out


@dataclass(frozen=True, eq=False)
class Predicted:
    """How well some choices are predicted: (weighted) sums over situations.

    Attributes
    ----------
    loglik
    hits
        Situations whose most likely alternative was chosen.
    weight
    shares
        P; shape (J,).
    """

    loglik: float
    hits: float
    weight: float
    shares: Floats

    def __add__(self, other: Predicted) -> Predicted:
        return Predicted(
            self.loglik + other.loglik,
            self.hits + other.hits,
            self.weight + other.weight,
            self.shares + other.shares,
        )


def prediction(beta: Floats, encoding: Encoding, data: ChoiceData) -> Predicted:
    """One pass over any choices; without observed ones, log-likelihood and hits mean nothing."""
    design = Design(data, encoding)
    return map_reduce(partial(_predicted, beta[design.order]), design.passing())


def _predicted(beta: Floats, block: Block) -> Predicted:
    v = utilities(beta, block)
    chance = choice_probabilities(v, block.available)
    # From utilities, not from log P: the probability of a hopeless choice rounds to zero.
    logs = v.ravel()[block.picked] - chance.log_total
    hit = chance.p.argmax(axis=0) == block.choice
    weight = np.ones(block.shape[1]) if block.weight is None else block.weight
    return Predicted(
        float(weight @ logs), float(weight @ hit), float(weight.sum()), chance.p @ weight
    )


def terms_of(encoding: Encoding, attribute: str) -> list[TermColumns]:
    """The terms of an attribute, or an error that says which attributes have some."""
    terms = [t for t in encoding.terms if t.term.what == attribute]
    if not terms:
        known = dict.fromkeys(t.term.what for t in encoding.terms if t.term.what)
        raise SpecificationError(
            f"The model has no term of {attribute!r}. {did_you_mean(attribute, known)}"
        )
    return terms


def attribute_terms(encoding: Encoding, attribute: str) -> list[TermColumns]:
    """The terms of an attribute that have a slope, or an error that says why there are none."""
    terms = [t for t in terms_of(encoding, attribute) if not t.is_stepwise]
    if not terms:
        raise SpecificationError(
            f"{attribute} enters in classes only, so utility has no slope in it: compare the "
            "coefficients of the classes instead."
        )
    return terms


def segments(data: ChoiceData, by: Sequence[str]) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Every combination of levels that occurs: its name and its rows; all rows without `by`."""
    by = [by] if isinstance(by, str) else by
    for name in by:
        if name not in data.covariates or not data.covariates[name].is_categorical:
            known = [c.name for c in data.covariates.values() if c.is_categorical]
            raise SpecificationError(
                f"There is no categorical covariate {name!r} to segment by. "
                f"{did_you_mean(name, known)}"
            )
    covariates = [data.covariates[name] for name in by]
    for levels in product(*(range(len(c.levels or ())) for c in covariates)):
        rows = np.ones(len(data), dtype=bool)
        for covariate, level in zip(covariates, levels, strict=True):
            rows &= covariate.values == level
        if rows.any():
            named = (
                f"{c.name}={(c.levels or ())[i]}" for c, i in zip(covariates, levels, strict=True)
            )
            yield ", ".join(named) or ALL, rows


def slopes_of(
    data: ChoiceData, encoding: Encoding, attribute: str, of: Of
) -> Iterator[tuple[slice, Design, Block]]:
    """Derivatives by an attribute, block after block: its rows, and what its columns mean."""
    design = Design(data, encoding, of=of, attribute=attribute)
    for rows in design.ranges():
        yield rows, design, design.block(rows)


def alternative_columns(block: Block, alternative: int) -> Floats:
    """The columns of one alternative, zero for those of others; shape (D, B)."""
    out = np.zeros((block.n_columns, block.shape[1]))
    for part in block.parts:
        if alternative in part.alternatives:
            out[part.columns] = part.x[:, part.alternatives.index(alternative)]
    return out


def times_columns(block: Block, alternative: int, weights: Floats) -> Floats:
    """Σ_n a_n x_n of one alternative, zero for columns of others; shape (D,)."""
    out = np.zeros(block.n_columns)
    for part in block.parts:
        if alternative in part.alternatives:
            out[part.columns] = part.x[:, part.alternatives.index(alternative)] @ weights
    return out


# -- Elasticities ---------------------------------------------------------------------------


def elasticities(
    beta: Floats,
    encoding: Encoding,
    data: ChoiceData,
    attribute: str,
    by: Sequence[str],
    *,
    cross: bool,
) -> list[Estimate]:
    """Percent change of an alternative's expected demand per percent change of an attribute.

    E_ji = Σ_n w_n P_nj (1[i=j] - P_ni) x_ni ∂V_ni/∂x_ni / Σ_n w_n P_nj: sample enumeration.
    """
    terms = attribute_terms(encoding, attribute)
    changed = sorted({j for t in terms for j in t.alternatives})
    pieces = list(segments(data, by))
    pairs = [(i, j) for i in changed for j in range(len(encoding.alternatives)) if cross or i == j]
    sums = {(s, i, j): _Ratio(encoding.n_columns) for s, _ in pieces for i, j in pairs}
    plain = Design(data, encoding)
    for rows, design, slopes in slopes_of(data, encoding, attribute, "elasticity"):
        block = plain.block(rows)
        p = choice_probabilities(utilities(beta[plain.order], block), block.available).p
        mean = weighted_columns(p, block)
        slope_utilities = utilities(beta[design.order], slopes)
        for i, j in pairs:
            push = slope_utilities[i]
            own = (1.0 if i == j else 0.0) - p[i]
            for segment, inside in pieces:
                w = data.weights_of(rows) * inside[rows]
                ratio = sums[segment, i, j]
                ratio.top += float(w @ (p[j] * own * push))
                ratio.bottom += float(w @ p[j])
                # The gradient of P_j (1[i=j] - P_i) D_i by the coefficients, D_i = push.
                ratio.d_top[design.order] += (
                    _pull(block, p, mean, j, w * own * push)
                    + times_columns(slopes, i, w * p[j] * own)
                    - _pull(block, p, mean, i, w * p[j] * push)
                )
                ratio.d_bottom[design.order] += _pull(block, p, mean, j, w)
    names = encoding.alternatives
    return [
        Estimate(names[j], names[i], segment, int(inside.sum()), *sums[segment, i, j].result())
        for segment, inside in pieces
        for i, j in pairs
    ]


def _pull(block: Block, p: Floats, mean: Floats, j: int, weights: Floats) -> Floats:
    """Σ_n a_n ∂P_j/∂β with weights a, where ∂P_j/∂β = P_j (x_j - x̄); shape (D,)."""
    a = p[j] * weights
    return np.asarray(times_columns(block, j, a) - mean @ a)


class _Ratio:
    """Sums of a numerator and a denominator, with their gradients."""

    def __init__(self, size: int) -> None:
        self.top, self.bottom = 0.0, 0.0
        self.d_top, self.d_bottom = np.zeros(size), np.zeros(size)

    def result(self) -> tuple[float, Floats]:
        if not self.bottom:
            return np.nan, np.full_like(self.d_top, np.nan)
        value = self.top / self.bottom
        return value, (self.d_top - value * self.d_bottom) / self.bottom
