"""Willingness to pay: what a unit of an attribute, or one level of it against another, is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
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
from ardchoice.space import Linear


class Mean(NamedTuple):
    """A mean over situations: weights on the coefficients, shape (D,), and how many situations."""

    weights: Floats
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
    """(mean ∂V/∂attribute) / (mean ∂V/∂cost), by alternative and segment.

    Both means run over the situations of the segment where the alternative is available. With
    linear terms each is a coefficient (or a sum of some); otherwise an average marginal utility.
    Where the cost of an alternative enters in a form that is not linear, situations in which it is
    exactly zero are excluded from both: nobody trades money there, and logarithms are steepest.

    Where the attribute has levels or classes, the numerator is minus the mean of V(level) -
    V(reference): what one would pay to have the level instead of the reference.
    """
    encoding, beta = model.encoding, model.beta
    # What a family has besides coefficients does not change marginal utilities.
    extras = np.zeros(len(model.theta) - len(beta))
    for_cost = attribute_terms(encoding, cost)
    for_attribute = terms_of(encoding, attribute)
    sloped = [t for t in for_attribute if not t.is_stepwise]
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
        bottom = _mean_slopes(data, encoding, cost, group, split, paid)
        if sloped:
            tops = {"": _mean_slopes(data, encoding, attribute, group, split, paid)}
        else:
            tops = _mean_steps(data, encoding, terms, group, split, paid)
        for level, top in tops.items():
            for segment, (a, n) in top.items():
                b = bottom[segment].weights
                over, under = float(a @ beta), float(b @ beta)
                value = over / under if under else np.nan
                gradient = (a - value * b) / under if under else np.full_like(a, np.nan)
                gradient = np.concatenate([gradient, extras])
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


def levels_of(term: TermColumns) -> tuple[tuple[str, ...], str]:
    """The levels or classes of a term that have columns, and the one without."""
    if term.base is not None:
        return term.base.columns, term.base.levels[term.base.reference]
    labels = term.term.how.labels(term.parameters)
    return labels, str(len(labels) + 1)


class Paid:
    """Which situations count: those with a cost, for alternatives where its form is not linear."""

    def __init__(self, data: ChoiceData, cost: str, for_cost: list[TermColumns]) -> None:
        self.data, self.cost = data, data.attributes[cost]
        curved = [t for t in for_cost if t.term.how != Linear()]
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

    def __init__(self, data: ChoiceData, by: Sequence[str], size: int) -> None:
        self.data, self.pieces = data, list(segments(data, by))
        self.summed = {name: np.zeros(size) for name, _ in self.pieces}
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
    encoding: Encoding,
    attribute: str,
    group: list[int],
    by: Sequence[str],
    paid: Paid,
) -> Means:
    """Mean of ∂V/∂attribute by segment."""
    sums = _Sums(data, by, encoding.n_columns)
    for rows, design, block in slopes_of(data, encoding, attribute, "slope"):
        counted = np.zeros(block.shape[1], dtype=bool)
        for j in group:
            use = paid.where(j, rows)
            counted |= use
            z = alternative_columns(block, j)[:, use]
            if not np.isfinite(z).all():
                raise SpecificationError(
                    f"{attribute} of {encoding.alternatives[j]} is zero somewhere, where its "
                    "transform has no finite slope."
                )
            for target, w in sums.weights(rows, use):
                target[design.order] += z @ w
        sums.count(rows, counted)
    return sums.means()


def _mean_steps(
    data: ChoiceData,
    encoding: Encoding,
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
    held = ColumnStore(data, "value")
    sums = _Sums(data, by, encoding.n_columns)
    for rows in data.ranges():
        counted = np.zeros(len(data.situation[rows]), dtype=bool)
        for j in group:
            use = paid.where(j, rows)
            counted |= use
            for target, w in sums.weights(rows, use):
                for term in terms:
                    multiplier = held.multiplier(term)
                    times = w.sum() if multiplier is None else multiplier.expand(rows)[:, use] @ w
                    # The columns of every level: the same interactions.
                    target[term.columns].reshape(len(labels), -1)[:] -= times
        sums.count(rows, counted)
    found = sums.means()
    out: dict[str, Means] = {}
    for k, level in enumerate(labels):
        keep = np.zeros(encoding.n_columns)
        for term in terms:
            keep[term.columns].reshape(len(labels), -1)[k] = 1.0
        out[level] = {name: Mean(mean.weights * keep, mean.n) for name, mean in found.items()}
    return out
