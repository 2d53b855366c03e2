"""Willingness to pay: what a unit of an attribute, or one level of it against another, is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, recognised_kind
from ardchoice.design import ColumnStore, Encoding, TermColumns
from ardchoice.errors import SpecificationError
from ardchoice.estimation.elasticities import (
    Estimate,
    alternative_columns,
    attribute_terms,
    segments,
    slopes_of,
    terms_of,
)
from ardchoice.estimation.model import Model
from ardchoice.families import Family
from ardchoice.space import Linear, Ratio

DIFFERENCE_STEP = 1e-5
"""Relative step of central differences by a parameter, where tastes vary."""
DIFFERENCE_SCALE = 1e-3
"""Least size of a parameter that the step is relative to."""


class Mean(NamedTuple):
    """A mean over situations: what every column adds (see `Tastes`), and how many situations."""

    added: Floats
    n: int


Means = Mapping[str, Mean]
"""By segment."""


def willingness_to_pay(
    model: Model,
    data: ChoiceData,
    attribute: str,
    cost: str,
    by: Sequence[str] | None,
) -> list[Estimate]:
    """∓(mean ∂V/∂attribute) / (mean ∂V/∂cost), by alternative and segment.

    The sign is such that what would be paid for is positive: a unit less of money, time, waiting or
    changes (value of travel time), a unit more of anything else.

    Both means run over the situations of the segment where the alternative is available. With
    linear terms each is a coefficient (or a sum of some); otherwise an average marginal utility.
    Where the cost of an alternative enters in a form that is not linear, situations in which it is
    exactly zero are excluded from both: nobody trades money there, and logarithms are steepest.

    Where the attribute has levels or classes, the numerator is minus the mean of V(level) -
    V(reference): what one would pay to have the level instead of the reference.
    """
    encoding, tastes = model.encoding, Tastes(model, data)
    for_cost = attribute_terms(encoding, cost)
    for_attribute = terms_of(encoding, attribute)
    sloped = [t for t in for_attribute if t.has_slope(attribute)]
    sign = 1.0 if is_saved(attribute) else -1.0
    for_attribute = sloped or for_attribute
    paid, groups = Paid(data, cost, for_cost), _groups(encoding, for_attribute, for_cost)
    out = []
    for group, name in groups:
        terms = [t for t in for_attribute if set(group) & set(t.alternatives)]
        split = by
        if split is None:
            priced = [t for t in for_cost if set(group) & set(t.alternatives)]
            every = [levels.name for t in (*terms, *priced) for levels in t.by]
            split = list(dict.fromkeys(every))
        tops: Mapping[str, Means]
        bottom = _mean_slopes(data, tastes, cost, group, split, paid)
        if sloped:
            slopes = _mean_slopes(data, tastes, attribute, group, split, paid)
            tops = {"": {s: Mean(sign * mean.added, mean.n) for s, mean in slopes.items()}}
        else:
            tops = _mean_steps(data, tastes, terms, group, split, paid)
        for level, top in tops.items():
            for segment, (added, n) in top.items():
                over, by_over = tastes.total(added)
                under, by_under = tastes.total(bottom[segment].added)
                value = over / under if under else np.nan
                gradient = np.full_like(by_over, np.nan)
                if under:
                    gradient = (by_over - value * by_under) / under
                out.append(Estimate(name, "", segment, n, value, gradient, level))
    if not out and groups:
        raise SpecificationError(
            f"{cost} is zero wherever both {attribute} and it are in the model, and its form is "
            "not linear: nobody trades money there."
        )
    if not out:
        raise SpecificationError(
            f"No alternative has both {attribute} and {cost} in the model. Coefficients that all "
            "alternatives share may bring them together: try generic = true in [space]."
        )
    return out


def is_saved(attribute: str) -> bool:
    """Whether willingness to pay is for a unit less: of money, time, waiting and changes."""
    return recognised_kind(attribute) is not None


def levels_of(term: TermColumns) -> tuple[tuple[str, ...], str]:
    """The levels or classes of a term that have columns, and the one without."""
    if term.base is not None:
        return term.base.columns, term.base.levels[term.base.reference]
    labels = term.term.how.labels(term.parameters)
    return labels, str(len(labels) + 1)


class Tastes:
    """How mean coefficients turn sums over situations into mean marginal utilities.

    Where tastes do not vary, Σ_n w_n z_n of every column is summed, and coefficients come last.
    Where they do, Σ_n w_n z_n E[β_n] is summed, at the estimates and, for the gradient, at a step
    up and down from every parameter.
    """

    def __init__(self, model: Model, data: ChoiceData) -> None:
        self.model, self.inside = model, model.on(data)
        own = type(model.family).mean_coefficients
        self.vary = own is not Family.mean_coefficients

    @cached_property
    def steps(self) -> Floats:
        """Of every parameter, in block order; shape (P,)."""
        return DIFFERENCE_STEP * np.maximum(np.abs(self.inside.theta), DIFFERENCE_SCALE)

    @property
    def shape(self) -> tuple[int, int]:
        """Of a sum: every column, at every θ."""
        return self.model.encoding.n_columns, 1 + 2 * len(self.model.theta) if self.vary else 1

    def of(self, rows: slice) -> Floats | None:
        """E[β] of some rows at every θ, in the order of the terms; (M, D, B) or (M, D, 1)."""
        if not self.vary:
            return None
        inside, theta = self.inside, self.inside.theta
        block, moves = inside.design.block(rows), np.diag(self.steps)
        points = [theta, *(theta + sign * move for move in moves for sign in (1, -1))]
        found = [inside.family.mean_coefficients(t, block, inside.layout) for t in points]
        means = np.stack([mean[:, None] if mean.ndim == 1 else mean for mean in found])
        return np.asarray(means[:, inside.design.position])

    def add(self, target: Floats, z: Floats, means: Floats | None, w: Floats) -> None:
        """Σ_n w_n z_n (E[β_n]) on top of a sum; z has the shape (D, B)."""
        if means is None:
            target[:, 0] += z @ w
        elif means.shape[2] == 1:
            target += (z @ w)[:, None] * means[:, :, 0].T
        else:
            target += np.einsum("db,mdb,b->dm", z, means, w, optimize=True)

    def total(self, added: Floats) -> tuple[float, Floats]:
        """A mean marginal utility, and its gradient in the order of the terms; shape (P,)."""
        if not self.vary:
            beta, theta = self.model.beta, self.model.theta
            # What a family has besides coefficients does not change marginal utilities.
            extras = np.zeros(len(theta) - len(beta))
            return float(added[:, 0] @ beta), np.concatenate([added[:, 0], extras])
        totals, inside = added.sum(axis=0), self.inside
        gradient = (totals[1::2] - totals[2::2]) / (2 * self.steps)
        return float(totals[0]), gradient[inside.layout.permutation(inside.design.position)]


def _is_linear(term: TermColumns, attribute: str) -> bool:
    """Whether utility is linear in an attribute, whatever it is multiplied by."""
    if term.term.what == attribute:
        return isinstance(term.term.how, Linear | Ratio)
    return not any(factor.function for factor in term.products if factor.name == attribute)


class Paid:
    """Which situations count: those with a cost, for alternatives where its form is not linear."""

    def __init__(self, data: ChoiceData, cost: str, for_cost: list[TermColumns]) -> None:
        self.data, self.cost = data, data.attributes[cost]
        curved = [t for t in for_cost if not _is_linear(t, cost)]
        self.curved = {j for t in curved for j in t.alternatives}

    def where(self, alternative: int, rows: slice) -> npt.NDArray[np.bool_]:
        """Shape (B,)."""
        available = self.data.available[alternative, rows]
        if alternative not in self.curved:
            return np.asarray(available)
        return np.asarray(available & (self.cost.of(alternative, rows) != 0))


def _groups(
    encoding: Encoding, for_attribute: list[TermColumns], for_cost: list[TermColumns]
) -> list[tuple[list[int], str]]:
    """Alternatives with the same terms for both share one willingness to pay."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for j in range(len(encoding.alternatives)):
        a = tuple(t.start for t in for_attribute if j in t.alternatives)
        c = tuple(t.start for t in for_cost if j in t.alternatives)
        if a and c:
            groups.setdefault((*a, -1, *c), []).append(j)
    names = encoding.alternatives
    return [
        (g, "*" if len(g) == len(names) else "+".join(names[j] for j in g)) for g in groups.values()
    ]


class _Sums:
    """Sums by segment over the situations that count."""

    def __init__(self, data: ChoiceData, by: Sequence[str], shape: tuple[int, int]) -> None:
        self.data, self.pieces = data, list(segments(data, by))
        self.summed = {name: np.zeros(shape) for name, _ in self.pieces}
        self.weight = dict.fromkeys(self.summed, 0.0)
        self.seen = dict.fromkeys(self.summed, 0)

    def weights(self, rows: slice, use: npt.NDArray[np.bool_]) -> Iterator[tuple[Floats, Floats]]:
        """Of every segment: where its sum stands, and what the situations in use weigh."""
        weights = self.data.weights_of(rows)
        for name, inside in self.pieces:
            w = (weights * inside[rows])[use]
            self.weight[name] += float(w.sum())
            yield self.summed[name], w

    def count(self, rows: slice, counted: npt.NDArray[np.bool_]) -> None:
        """Situations in which some alternative counts."""
        for name, inside in self.pieces:
            self.seen[name] += int((inside[rows] & counted).sum())

    def means(self) -> dict[str, Mean]:
        return {
            name: Mean(total / self.weight[name], self.seen[name])
            for name, total in self.summed.items()
            if self.weight[name] > 0
        }


def _mean_slopes(
    data: ChoiceData,
    tastes: Tastes,
    attribute: str,
    group: list[int],
    by: Sequence[str],
    paid: Paid,
) -> Means:
    """Mean of ∂V/∂attribute by segment."""
    encoding = tastes.model.encoding
    sums = _Sums(data, by, tastes.shape)
    for rows, design, block in slopes_of(data, encoding, attribute, "slope"):
        counted, means = np.zeros(block.shape[1], dtype=bool), tastes.of(rows)
        for j in group:
            use = paid.where(j, rows)
            counted |= use
            z = alternative_columns(block, j)[design.position][:, use]
            if not np.isfinite(z).all():
                raise SpecificationError(
                    f"{attribute} of {encoding.alternatives[j]} is zero somewhere, where its "
                    "transform has no finite slope."
                )
            for target, w in sums.weights(rows, use):
                tastes.add(target, z, _among(means, use), w)
        sums.count(rows, counted)
    return sums.means()


def _among(means: Floats | None, use: npt.NDArray[np.bool_]) -> Floats | None:
    """Mean coefficients of some situations."""
    return means if means is None or means.shape[2] == 1 else means[:, :, use]


def _mean_steps(
    data: ChoiceData,
    tastes: Tastes,
    terms: list[TermColumns],
    group: list[int],
    by: Sequence[str],
    paid: Paid,
) -> dict[str, Means]:
    """Level -> mean of V(reference) - V(level) by segment."""
    if len({(t.base, t.term.how, t.parameters) for t in terms}) > 1:
        raise SpecificationError(
            f"{terms[0].term.what} enters in classes of several kinds: compare their coefficients."
        )
    labels, _ = levels_of(terms[0])
    held, size = ColumnStore(data, "value"), tastes.shape[0]
    sums = _Sums(data, by, tastes.shape)
    for rows in data.ranges():
        n = len(data.situation[rows])
        counted, means = np.zeros(n, dtype=bool), tastes.of(rows)
        z = np.zeros((size, n))
        for term in terms:
            multiplier = held.multiplier(term)
            # The columns of every level: the same interactions.
            times = 1.0 if multiplier is None else multiplier.expand(rows)
            z[term.columns].reshape(len(labels), -1, n)[:] = -times
        for j in group:
            use = paid.where(j, rows)
            counted |= use
            for target, w in sums.weights(rows, use):
                tastes.add(target, z[:, use], _among(means, use), w)
        sums.count(rows, counted)
    found = sums.means()
    out: dict[str, Means] = {}
    for k, level in enumerate(labels):
        keep = np.zeros((size, 1))
        for term in terms:
            keep[term.columns].reshape(len(labels), -1)[k] = 1.0
        out[level] = {name: Mean(mean.added * keep, mean.n) for name, mean in found.items()}
    return out
