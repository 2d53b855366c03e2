"""Elasticities of demand and marginal effects, and what they share with willingness to pay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from ardchoice._types import Bools, Floats
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design, Encoding, Of, TermColumns
from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.estimation.model import Model
from ardchoice.families import Mnl, choice_probabilities, utilities, weighted_columns

ALL = "all"
DIFFERENCE_STEP = 1e-5
"""Relative step of central differences by a parameter."""
DIFFERENCE_SCALE = 1e-3
"""Least size of a parameter that the step is relative to."""


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


def terms_of(encoding: Encoding, attribute: str) -> list[TermColumns]:
    """The terms of an attribute, or an error that says which attributes have some."""
    terms = [t for t in encoding.terms if attribute in t.attributes]
    if not terms:
        known = dict.fromkeys(name for t in encoding.terms for name in t.attributes)
        raise SpecificationError(
            f"The model has no term of {attribute!r}. {did_you_mean(attribute, known)}"
        )
    return terms


def attribute_terms(encoding: Encoding, attribute: str) -> list[TermColumns]:
    """The terms of an attribute that have a slope, or an error that says why there are none."""
    terms = [t for t in terms_of(encoding, attribute) if t.has_slope(attribute)]
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
    model: Model,
    data: ChoiceData,
    attribute: str,
    by: Sequence[str],
    *,
    cross: bool,
) -> list[Estimate]:
    """Percent change of an alternative's expected demand per percent change of an attribute.

    E_ji = Σ_n w_n ∂P_nj/∂x_ni x_ni / Σ_n w_n P_nj: sample enumeration.
    """
    return _responses(model, data, attribute, by, "elasticity", cross=cross)


def marginal_effects(
    model: Model,
    data: ChoiceData,
    attribute: str,
    by: Sequence[str],
    *,
    cross: bool,
) -> list[Estimate]:
    """Change of an alternative's share per unit of an attribute, wherever it is available.

    M_ji = Σ_n w_n ∂P_nj/∂x_ni / Σ_n w_n: sample enumeration.
    """
    found = _responses(model, data, attribute, by, "slope", cross=cross)
    if not np.isfinite([e.value for e in found]).all():
        raise SpecificationError(
            f"{attribute} is zero somewhere, where its transform has no finite slope: there are no "
            "marginal effects. Use elasticities, or a scenario."
        )
    return found


def _responses(
    model: Model, data: ChoiceData, attribute: str, by: Sequence[str], of: Of, *, cross: bool
) -> list[Estimate]:
    """Elasticities, or with ``"slope"`` marginal effects, of every segment and pair."""
    terms = attribute_terms(model.encoding, attribute)
    changed = sorted({j for t in terms for j in t.alternatives})
    names = model.encoding.alternatives
    pairs = [(i, j) for i in changed for j in range(len(names)) if cross or i == j]
    pieces = list(segments(data, by))
    ratios_of = _mnl_ratios if isinstance(model.family, Mnl) else _family_ratios
    with np.errstate(invalid="ignore"):  # an infinite slope is reported by who asked for it
        ratios = ratios_of(model, data, attribute, pieces, pairs, of)
    return [
        Estimate(names[j], names[i], segment, int(inside.sum()), *ratios[segment, i, j].result())
        for segment, inside in pieces
        for i, j in pairs
    ]


Pieces = list[tuple[str, Bools]]
"""Segments: their names and rows."""
Pairs = list[tuple[int, int]]
"""Whose attribute changes, and whose demand."""


def _mnl_ratios(
    model: Model, data: ChoiceData, attribute: str, pieces: Pieces, pairs: Pairs, of: Of
) -> dict[tuple[str, int, int], _Ratio]:
    """With the gradient by the coefficients in closed form."""
    beta, encoding = model.theta, model.encoding
    sums = {(s, i, j): _Ratio(encoding.n_columns) for s, _ in pieces for i, j in pairs}
    plain = Design(data, encoding)
    for rows, design, slopes in slopes_of(data, encoding, attribute, of):
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
                ratio.bottom += float(w.sum() if of == "slope" else w @ p[j])
                # The gradient of P_j (1[i=j] - P_i) D_i by the coefficients, D_i = push.
                ratio.d_top[design.order] += (
                    _pull(block, p, mean, j, w * own * push)
                    + times_columns(slopes, i, w * p[j] * own)
                    - _pull(block, p, mean, i, w * p[j] * push)
                )
                if of != "slope":
                    ratio.d_bottom[design.order] += _pull(block, p, mean, j, w)
    return sums


def _family_ratios(
    model: Model, data: ChoiceData, attribute: str, pieces: Pieces, pairs: Pairs, of: Of
) -> dict[tuple[str, int, int], _Ratio]:
    """Of any family, from its response ∂P/∂x; the gradient by its formula, or by differences."""
    here = _ratio_sums(model, data, attribute, pieces, pairs, of)
    gradient = _gradient_sums(model, data, attribute, pieces, pairs, of)
    if gradient is None:
        gradient = _numeric_sums(model, data, attribute, pieces, pairs, of)
    out = {}
    keys = [(s, i, j) for s, _ in pieces for i, j in pairs]
    for key, (top, bottom), (d_top, d_bottom) in zip(keys, here, gradient, strict=True):
        out[key] = _Ratio(len(model.theta))
        out[key].top, out[key].bottom = float(top), float(bottom)
        out[key].d_top, out[key].d_bottom = d_top, d_bottom
    return out


def _numeric_sums(
    model: Model, data: ChoiceData, attribute: str, pieces: Pieces, pairs: Pairs, of: Of
) -> Floats:
    """Gradients of both by central differences; shape (segments x pairs, 2, P)."""
    out = np.empty((len(pieces) * len(pairs), 2, len(model.theta)))
    for k, value in enumerate(model.theta):
        step = DIFFERENCE_STEP * max(abs(value), DIFFERENCE_SCALE)
        up, down = model.theta.copy(), model.theta.copy()
        up[k], down[k] = value + step, value - step
        above, below = (
            _ratio_sums(replace(model, theta=theta), data, attribute, pieces, pairs, of)
            for theta in (up, down)
        )
        out[..., k] = (above - below) / (2 * step)
    return out


def _gradient_sums(
    model: Model, data: ChoiceData, attribute: str, pieces: Pieces, pairs: Pairs, of: Of
) -> Floats | None:
    """The same by the formula of the family; None where it has none."""
    inside = model.on(data)
    d = inside.layout.n_columns
    out = np.zeros((len(pieces), len(pairs), 2, len(model.theta)))
    place = np.concatenate([inside.design.order, np.arange(d, len(model.theta))])
    for rows, _, slopes in slopes_of(data, model.encoding, attribute, of):
        block = inside.design.block(rows)
        weights = np.stack([data.weights_of(rows) * members[rows] for _, members in pieces])
        top = inside.response_gradient(block, slopes, pairs, weights)
        if top is None:
            return None
        out[:, :, 0, place] += top
        if of != "slope":
            shares = inside.share_gradient(block, weights)
            out[:, :, 1, place] += shares[:, [j for _, j in pairs]]
    return out.reshape(-1, *out.shape[2:])


def _ratio_sums(
    model: Model, data: ChoiceData, attribute: str, pieces: Pieces, pairs: Pairs, of: Of
) -> Floats:
    """Numerator and denominator of every segment and pair; shape (segments x pairs, 2)."""
    inside = model.on(data)
    out = np.zeros((len(pieces), len(pairs), 2))
    for rows, _, slopes in slopes_of(data, model.encoding, attribute, of):
        block = inside.design.block(rows)
        p, responses = inside.attribute_responses(block, {i for i, _ in pairs}, slopes)
        for s, (_, members) in enumerate(pieces):
            w = data.weights_of(rows) * members[rows]
            for k, (i, j) in enumerate(pairs):
                out[s, k] += w @ responses[i][j], w.sum() if of == "slope" else w @ p[j]
    return out.reshape(-1, 2)


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
