"""Willingness to pay: what a unit of an attribute, or one level of it against another, is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, recognised_kind
from ardchoice.design import Block, ColumnStore, Design, Encoding, TermColumns
from ardchoice.errors import SpecificationError
from ardchoice.estimation.elasticities import (
    Estimate,
    alternative_columns,
    attribute_terms,
    segments,
    slopes_of,
    terms_of,
)
from ardchoice.estimation.mean_tastes import Tastes
from ardchoice.estimation.model import Model
from ardchoice.estimation.wtp_of_each import Ratio, Rows, mean_ratios
from ardchoice.space import Linear
from ardchoice.space import Ratio as RatioForm


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

    Where the cost of an alternative enters in a form that is not linear, every situation has a
    ratio of its own, and the mean of these is taken (see `wtp_of_each`), unless the utility of
    money changes its sign. Situations in which the cost is exactly zero are excluded: nobody trades
    money there. So are those in which what would be saved is zero, where its form is not linear.

    Where the attribute has levels or classes, the numerator is minus the mean of V(level) -
    V(reference): what one would pay to have the level instead of the reference.
    """
    encoding, tastes = model.encoding, Tastes(model, data)
    for_cost = attribute_terms(encoding, cost)
    for_attribute = terms_of(encoding, attribute)
    for_attribute = [t for t in for_attribute if t.has_slope(attribute)] or for_attribute
    paid = Paid(data, cost, for_cost, attribute, for_attribute)
    groups = _groups(encoding, for_attribute, for_cost)
    out: list[Estimate] = []
    for group, name in groups:
        terms = [t for t in for_attribute if set(group) & set(t.alternatives)]
        split = by
        if split is None:
            priced = [t for t in for_cost if set(group) & set(t.alternatives)]
            every = [levels.name for t in (*terms, *priced) for levels in t.by]
            split = list(dict.fromkeys(every))
        out += _of_group(data, tastes, _Priced(attribute, cost, terms, paid), group, name, split)
    if not out and groups:
        raise SpecificationError(
            f"{cost} or {attribute} is zero wherever both are in the model, and the form of that "
            "is not linear: nobody trades money there."
        )
    if not out:
        raise SpecificationError(
            f"No alternative has both {attribute} and {cost} in the model. Coefficients that all "
            "alternatives share may bring them together: try generic = true in [space]."
        )
    return out


@dataclass(frozen=True, eq=False)
class _Priced:
    """An attribute and the cost that it is put in, with the terms of the attribute."""

    attribute: str
    cost: str
    terms: Sequence[TermColumns]
    paid: Paid

    @property
    def is_sloped(self) -> bool:
        """Whether the attribute has a slope; else it has levels or classes."""
        return any(t.has_slope(self.attribute) for t in self.terms)

    @property
    def sign(self) -> float:
        """Of a slope, such that what would be paid for is positive."""
        return 1.0 if is_saved(self.attribute) else -1.0


def _of_group(
    data: ChoiceData,
    tastes: Tastes,
    priced: _Priced,
    group: list[int],
    name: str,
    by: Sequence[str],
) -> list[Estimate]:
    """For alternatives that share the terms of both; by level, then segment."""
    paid, tops = priced.paid, _tops(data, tastes, priced, group, by)
    bottom = _mean_slopes(data, tastes, priced.cost, group, by, paid)
    each: Mapping[str, Mapping[str, Ratio]] = {}
    if paid.curved & set(group):
        above = partial(_columns, data, tastes, priced)
        below = partial(_slopes, data, tastes, priced.cost, 1.0)
        each = mean_ratios(data, tastes, above, below, list(tops), group, by, paid.where)
    out = []
    for level, top in tops.items():
        for segment, (added, n) in top.items():
            ratio = each.get(level, {}).get(segment)
            if ratio is None:
                ratio = _ratio_of_means(tastes, added, bottom[segment].added)
            out.append(Estimate(name, "", segment, n, ratio.value, ratio.gradient, level))
    return out


def _tops(
    data: ChoiceData, tastes: Tastes, priced: _Priced, group: list[int], by: Sequence[str]
) -> Mapping[str, Means]:
    """Level (empty for a slope) -> mean marginal utilities of the attribute."""
    if not priced.is_sloped:
        return _mean_steps(data, tastes, priced.terms, group, by, priced.paid)
    slopes = _mean_slopes(data, tastes, priced.attribute, group, by, priced.paid)
    return {"": {s: Mean(priced.sign * mean.added, mean.n) for s, mean in slopes.items()}}


def _ratio_of_means(tastes: Tastes, above: Floats, below: Floats) -> Ratio:
    over, by_over = tastes.total(above)
    under, by_under = tastes.total(below)
    if not under:
        return Ratio(np.nan, np.full_like(by_over, np.nan))
    value = over / under
    return Ratio(value, (by_over - value * by_under) / under)


def _slopes(data: ChoiceData, tastes: Tastes, attribute: str, sign: float) -> Iterator[Rows]:
    """Derivatives of every column by an attribute."""
    for rows, design, block in slopes_of(data, tastes.model.encoding, attribute, "slope"):

        def columns(_: str, j: int, design: Design = design, block: Block = block) -> Floats:
            return sign * alternative_columns(block, j)[design.position]

        yield Rows(rows, columns)


def _columns(data: ChoiceData, tastes: Tastes, priced: _Priced) -> Iterator[Rows]:
    """What the attribute of a group adds to utility: its slope, or minus that of each level."""
    if priced.is_sloped:
        yield from _slopes(data, tastes, priced.attribute, priced.sign)
        return
    terms, (labels, _) = priced.terms, levels_of(priced.terms[0])
    held = ColumnStore(data, "value")
    for rows, _, _ in slopes_of(data, tastes.model.encoding, priced.cost, "slope"):
        every = _steps(held, terms, tastes.shape[0], rows)
        only = {level: _kept(terms, labels, k, tastes.shape[0]) for k, level in enumerate(labels)}

        def columns(
            level: str, _: int, z: Floats = every, only: Mapping[str, Floats] = only
        ) -> Floats:
            return z * only[level]

        yield Rows(rows, columns)


def is_saved(attribute: str) -> bool:
    """Whether willingness to pay is for a unit less: of money, time, waiting and changes."""
    return recognised_kind(attribute) is not None


def levels_of(term: TermColumns) -> tuple[tuple[str, ...], str]:
    """The levels or classes of a term that have columns, and the one without."""
    if term.base is not None:
        return term.base.columns, term.base.levels[term.base.reference]
    labels = term.term.how.labels(term.parameters)
    return labels, str(len(labels) + 1)


def _is_linear(term: TermColumns, attribute: str) -> bool:
    """Whether utility is linear in an attribute, whatever it is multiplied by."""
    if term.term.what == attribute:
        return isinstance(term.term.how, Linear | RatioForm)
    return not any(factor.function for factor in term.products if factor.name == attribute)


class Paid:
    """Which situations count: those with a cost, for alternatives where its form is not linear.

    And with something to be saved, where the form of what is saved is not linear.
    """

    def __init__(
        self,
        data: ChoiceData,
        cost: str,
        for_cost: list[TermColumns],
        attribute: str,
        for_attribute: list[TermColumns],
    ) -> None:
        self.data, self.cost, self.saved = data, data.attributes[cost], data.attributes[attribute]
        self.curved = _curved(for_cost, cost)
        sloped = [t for t in for_attribute if t.has_slope(attribute)]
        self.curved_saved = _curved(sloped, attribute) if is_saved(attribute) else set()

    def where(self, alternative: int, rows: slice) -> npt.NDArray[np.bool_]:
        """Shape (B,)."""
        counted = np.asarray(self.data.available[alternative, rows])
        if alternative in self.curved:
            counted = counted & (self.cost.of(alternative, rows) != 0)
        if alternative in self.curved_saved:
            counted = counted & (self.saved.of(alternative, rows) != 0)
        return counted


def _curved(terms: Sequence[TermColumns], attribute: str) -> set[int]:
    """Alternatives in which utility is not linear in an attribute."""
    return {j for t in terms if not _is_linear(t, attribute) for j in t.alternatives}


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
    terms: Sequence[TermColumns],
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
        z = _steps(held, terms, size, rows)
        for j in group:
            use = paid.where(j, rows)
            counted |= use
            for target, w in sums.weights(rows, use):
                tastes.add(target, z[:, use], _among(means, use), w)
        sums.count(rows, counted)
    found = sums.means()
    out: dict[str, Means] = {}
    for k, level in enumerate(labels):
        keep = _kept(terms, labels, k, size)
        out[level] = {name: Mean(mean.added * keep, mean.n) for name, mean in found.items()}
    return out


def _steps(held: ColumnStore, terms: Sequence[TermColumns], size: int, rows: slice) -> Floats:
    """Minus the columns of every level, as if all were chosen; shape (D, B)."""
    n = len(held.data.situation[rows])
    z = np.zeros((size, n))
    for term in terms:
        multiplier = held.multiplier(term)
        # The columns of every level: the same interactions.
        times = 1.0 if multiplier is None else multiplier.expand(rows)
        z[term.columns].reshape(len(levels_of(term)[0]), -1, n)[:] = -times
    return z


def _kept(terms: Sequence[TermColumns], labels: Sequence[str], k: int, size: int) -> Floats:
    """One for the columns of a level; shape (D, 1)."""
    keep = np.zeros((size, 1))
    for term in terms:
        keep[term.columns].reshape(len(labels), -1)[k] = 1.0
    return keep
