"""Changes applied to data: which columns they touch, and what to know of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice._types import Bools, Floats
from ardchoice.data import Attribute, ChoiceData, Covariate
from ardchoice.design import Encoding, TermColumns
from ardchoice.errors import SpecificationError, did_you_mean, first_few
from ardchoice.estimation.scenarios.changes import Change
from ardchoice.expressions import ExpressionError, evaluate_condition
from ardchoice.space import quoted

RANGE_TOLERANCE = 1e-9
"""Relative to the range: rounding does not take a value out of what was observed."""


@dataclass(frozen=True, eq=False)
class ChangedData:
    """Data after some changes.

    Attributes
    ----------
    data
    attributes
        Those that changed -> positions of the alternatives that they changed for.
    covariates
        Those that changed.
    alternatives
        Positions of the alternatives whose availability changed.
    notes
        What to know of it, a sentence each.
    """

    data: ChoiceData
    attributes: Mapping[str, frozenset[int]]
    covariates: frozenset[str]
    alternatives: frozenset[int]
    notes: tuple[str, ...] = ()

    def touches(self, term: TermColumns) -> bool:
        """Whether the columns of a term may be different now."""
        places = set(term.alternatives)
        if self.alternatives & places:
            return True
        names = names_of(term)
        return any(self.attributes.get(n, frozenset()) & places for n in names) or bool(
            self.covariates & set(names)
        )


def names_of(term: TermColumns) -> tuple[str, ...]:
    """The attributes and covariates that the columns of a term are made of."""
    return term.columns_used


def apply_changes(data: ChoiceData, changes: Sequence[Change]) -> ChangedData:
    """The same situations with every change made, one after the other.

    Parameters
    ----------
    data
        What was observed; not changed itself.
    changes
        Conditions refer to what was observed, not to earlier changes.

    Raises
    ------
    SpecificationError
        A change names what the data do not have, sets a level that does not exist, or leaves a
        situation without alternatives.
    """
    attributes, covariates = dict(data.attributes), dict(data.covariates)
    available = np.array(data.available)
    touched: dict[str, set[int]] = {}
    facts: set[str] = set()
    moved: set[int] = set()
    for change in changes:
        rows = rows_where(data, change)
        if change.is_covariate:
            covariate = _covariate(data, covariates, change)
            covariates[change.name] = _changed_covariate(covariate, change, rows)
            facts.add(change.name)
        elif not change.name:
            places = _alternatives(data, change)
            for place in places:
                available[place, rows] = change.operator == "available"
            moved.update(places)
        else:
            places = _having(data, attributes, change)
            attribute = attributes[change.name]
            attributes[change.name] = _changed_attribute(attribute, change, places, rows)
            here = {attribute.alternatives[place] for place in places}
            touched.setdefault(change.name, set()).update(here)
    if moved:
        _must_leave_choices(data, available)
    new = replace(
        data,
        available=available if moved else data.available,
        attributes=attributes,
        covariates=covariates,
        choice=None if moved else data.choice,
        mapped_from=None,
    )
    changed = {name: frozenset(where) for name, where in touched.items()}
    return ChangedData(new, changed, frozenset(facts), frozenset(moved))


# -- Which rows -----------------------------------------------------------------------------------


def rows_where(data: ChoiceData, change: Change) -> Bools | slice:
    """The situations that a change applies to; shape (N,), or all."""
    if change.condition is None:
        return slice(None)
    try:
        rows = evaluate_condition(change.condition, lambda name: _column(data, name), len(data))
    except ExpressionError as error:
        raise SpecificationError(f"'{change}', in its condition, at {error}") from None
    if not rows.any():
        raise SpecificationError(
            f"'{change}': its condition holds in none of the {len(data):,} situations."
        )
    return rows


def _column(data: ChoiceData, name: str) -> npt.NDArray[Any]:
    """A covariate, or an attribute of an alternative as ``TRAIN.CO``; shape (N,)."""
    if name in data.covariates:
        covariate = data.covariates[name]
        return _labels(covariate.values, covariate.levels)
    alternative, _, attribute = name.partition(".")
    if attribute in data.attributes and alternative in data.alternatives:
        j, found = data.alternatives.index(alternative), data.attributes[attribute]
        if j in found.alternatives:
            values = _labels(found.of(j), found.levels)
            missing = np.array(None if values.dtype == object else np.nan)
            return np.where(data.available[j], values, missing)
    having = [n for n, c in data.covariates.items() if name in (c.levels or ())]
    if having:
        raise SpecificationError(
            f"{name!r} is a level of {having[0]}: text stands in quotes, as in "
            f"{quoted(having[0])} == {name!r}."
        )
    examples = [f"{data.alternatives[a.alternatives[0]]}.{n}" for n, a in data.attributes.items()]
    raise SpecificationError(
        f"There is no covariate {name!r}, nor an attribute of an alternative written as "
        f"{first_few(examples, 1) or 'ALTERNATIVE.ATTRIBUTE'}. "
        f"{did_you_mean(name, [*data.covariates, *examples])}"
    )


def _labels(values: npt.NDArray[Any], levels: tuple[str, ...] | None) -> npt.NDArray[Any]:
    """Numbers, or labels of levels; as numbers where all of them are."""
    if levels is None:
        return np.asarray(values, dtype=float)
    try:
        labels: npt.NDArray[Any] = np.array([float(level) for level in levels])
    except ValueError:
        labels = np.array(levels, dtype=object)
    # Where an alternative is unavailable there may be any code.
    return labels[np.clip(values.astype(np.intp), 0, len(levels) - 1)]


# -- Attributes and covariates ---------------------------------------------------------------------


def _alternatives(data: ChoiceData, change: Change) -> list[int]:
    for name in change.where or ():
        if name not in data.alternatives:
            raise SpecificationError(
                f"'{change}': there is no alternative {name!r}. "
                f"{did_you_mean(name, data.alternatives)}"
            )
    names = change.where or data.alternatives
    return [data.alternatives.index(name) for name in names]


def _having(data: ChoiceData, attributes: dict[str, Attribute], change: Change) -> list[int]:
    """Positions, among the alternatives of the attribute, of those that change."""
    places = _alternatives(data, change)
    if change.name not in attributes:
        hint = did_you_mean(change.name, attributes)
        if change.name in data.covariates:
            value = str(change).partition(": ")[2]
            hint = f"It is a covariate, the same for every alternative: write '{value}'."
        raise SpecificationError(f"'{change}': there is no attribute {change.name!r}. {hint}")
    having = attributes[change.name].alternatives
    without = [data.alternatives[j] for j in places if j not in having]
    if without and change.where:
        named = ", ".join(data.alternatives[j] for j in having)
        raise SpecificationError(
            f"'{change}': {', '.join(without)} {'has' if len(without) == 1 else 'have'} no "
            f"{change.name}. Alternatives with it: {named}."
        )
    return [having.index(j) for j in places if j in having]


def _covariate(data: ChoiceData, covariates: dict[str, Covariate], change: Change) -> Covariate:
    if change.name not in covariates:
        hint = did_you_mean(change.name, covariates)
        if change.name in data.attributes:
            hint = (
                f"It is an attribute of the alternatives: write '*: {change}', or an alternative "
                "before the colon."
            )
        raise SpecificationError(f"'{change}': there is no covariate {change.name!r}. {hint}")
    return covariates[change.name]


def _changed_attribute(
    attribute: Attribute, change: Change, places: list[int], rows: Bools | slice
) -> Attribute:
    if attribute.levels is not None:
        values = np.array(attribute.values)
        code = _level(attribute.name, attribute.levels, change)
        for place in places:
            values[place, rows] = code
        return replace(attribute, values=values)
    numbers = np.array(attribute.values, dtype=np.float64)
    for place in places:
        numbers[place, rows] = _changed_numbers(numbers[place, rows], change)
    return replace(attribute, values=numbers)


def _changed_covariate(covariate: Covariate, change: Change, rows: Bools | slice) -> Covariate:
    if covariate.levels is not None:
        values = np.array(covariate.values)
        values[rows] = _level(covariate.name, covariate.levels, change)
        return replace(covariate, values=values)
    numbers = np.array(covariate.values, dtype=np.float64)
    numbers[rows] = _changed_numbers(numbers[rows], change)
    return replace(covariate, values=numbers)


def _changed_numbers(values: Floats, change: Change) -> Floats:
    value = change.value
    if not isinstance(value, float):
        raise SpecificationError(f"'{change}': {change.name} is a number, and {value!r} is none.")
    if change.operator == "=":
        return np.full_like(values, value)
    operations = {"*": np.multiply, "/": np.divide, "+": np.add, "-": np.subtract}
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(operations[change.operator](values, value))


def _level(name: str, levels: tuple[str, ...], change: Change) -> int:
    """The code of the level that is set."""
    if change.operator != "=":
        raise SpecificationError(
            f"'{change}': {name} is categorical, so that a level can be set, as in "
            f"'{name} = {levels[0]}'. There are: {', '.join(levels)}."
        )
    value = change.value
    label = value if isinstance(value, str) else f"{value:g}"
    if label not in levels:
        raise SpecificationError(
            f"'{change}': {name} has no level {label!r}. {did_you_mean(label, levels)}"
        )
    return levels.index(label)


def _must_leave_choices(data: ChoiceData, available: Bools) -> None:
    empty = np.flatnonzero(~available.any(axis=0))
    if len(empty):
        raise SpecificationError(
            f"Nothing is left to choose in {len(empty):,} of {len(data):,} situations "
            f"({first_few(data.situation[empty].tolist())}): all their alternatives are "
            "unavailable. Let the change hold elsewhere only, with 'where'."
        )


# -- What was observed ----------------------------------------------------------------------------


class ObservedRange:
    """Smallest and largest values that a model was estimated on, looked up once each.

    Parameters
    ----------
    data
        The data of the estimation.
    encoding
        Of the model.
    """

    def __init__(self, data: ChoiceData, encoding: Encoding) -> None:
        self.data, self.encoding = data, encoding
        self._found: dict[object, tuple[float, float]] = {}

    @cached_property
    def _used(self) -> frozenset[str]:
        """Attributes and covariates in the model."""
        return frozenset(name for term in self.encoding.terms for name in names_of(term))

    def notes(self, before: ChoiceData, after: ChangedData, changes: Sequence[Change]) -> list[str]:
        """What a scenario asks of the model that it cannot know, a sentence each."""
        out: list[str] = []
        used = self._used
        for name in dict.fromkeys(change.name for change in changes if change.name):
            if name not in used:
                out.append(f"{name} is not in the model: changing it changes nothing.")
            elif name in after.data.attributes:
                out += self._attribute_notes(before, after.data, name)
            elif after.data.covariates[name].levels is None:
                out += self._covariate_notes(before, after.data, name)
        for j in sorted(after.alternatives):
            out += _newly_available(before, after.data, j, used)
        return out

    def beyond(self, new: ChoiceData) -> list[str]:
        """Where situations to be predicted leave what the model was estimated on."""
        out: list[str] = []
        used = dict.fromkeys(name for term in self.encoding.terms for name in names_of(term))
        for name in used:
            if name in new.attributes and new.attributes[name].levels is None:
                attribute = new.attributes[name]
                for j in attribute.alternatives:
                    shared, here = self._sharing(name, j), new.available[j]
                    if shared and here.any():
                        what = f"{name} of {new.alternatives[j]}"
                        known = self._range((name, shared))
                        out += _outside(what, attribute.of(j)[here], known, "here")
            elif name in new.covariates and new.covariates[name].levels is None:
                values = new.covariates[name].numbers()
                if len(values):
                    out += _outside(name, values, self._covariate_range(name), "here")
        return out

    def _attribute_notes(self, before: ChoiceData, after: ChoiceData, name: str) -> list[str]:
        old, new = before.attributes[name], after.attributes[name]
        if new.levels is not None:
            return []
        out = []
        for j in new.alternatives:
            shared = self._sharing(name, j)
            here = after.available[j]
            values = new.of(j)[here]
            if not shared or not len(values) or not has_changed(old, new, j, here):
                continue
            known = self._range((name, shared))
            out += _outside(f"{name} of {after.alternatives[j]}", values, known)
        return out

    def _covariate_notes(self, before: ChoiceData, after: ChoiceData, name: str) -> list[str]:
        return _outside(name, after.covariates[name].numbers(), self._covariate_range(name))

    def _covariate_range(self, name: str) -> tuple[float, float]:
        key = (name, ())
        if key not in self._found:
            values = self.data.covariates[name].numbers()
            self._found[key] = float(values.min()), float(values.max())
        return self._found[key]

    def _sharing(self, name: str, alternative: int) -> tuple[int, ...]:
        """The alternatives that share coefficients of an attribute with one."""
        terms = [t for t in self.encoding.terms if name in names_of(t)]
        return tuple(
            sorted({j for t in terms if alternative in t.alternatives for j in t.alternatives})
        )

    def _range(self, key: tuple[str, tuple[int, ...]]) -> tuple[float, float]:
        if key not in self._found:
            name, alternatives = key
            attribute = self.data.attributes[name]
            values = [
                attribute.of(j)[self.data.available[j]]
                for j in alternatives
                if j in attribute.alternatives and self.data.times_available[j]
            ]
            self._found[key] = (
                float(min(v.min() for v in values)),
                float(max(v.max() for v in values)),
            )
        return self._found[key]


def has_changed(old: Attribute, new: Attribute, alternative: int, rows: Bools) -> bool:
    """Whether an attribute of an alternative differs in some rows."""
    return not np.array_equal(old.of(alternative)[rows], new.of(alternative)[rows])


def _outside(
    what: str, values: Floats, known: tuple[float, float], where: str = "in the scenario"
) -> list[str]:
    """A sentence when values leave the range that is known."""
    low, high = known
    slack = RANGE_TOLERANCE * max(high - low, abs(high), abs(low))
    smallest, largest = float(values.min()), float(values.max())
    if smallest >= low - slack and largest <= high + slack:
        return []
    beyond = int(np.count_nonzero((values < low - slack) | (values > high + slack)))
    return [
        f"{what} runs from {smallest:.4g} to {largest:.4g} {where}; the model was "
        f"estimated on {low:.4g} to {high:.4g}. It extrapolates in {beyond:,} of {len(values):,} "
        "situations."
    ]


def _newly_available(
    before: ChoiceData, after: ChoiceData, j: int, used: frozenset[str]
) -> list[str]:
    """A sentence when an alternative becomes available where its attributes may be unknown."""
    new = after.available[j] & ~before.available[j]
    count = int(np.count_nonzero(new))
    if not count:
        return []
    name = after.alternatives[j]
    for attribute in after.attributes.values():
        if attribute.name in used and j in attribute.alternatives:
            values = attribute.of(j)[new]
            valid = (
                np.isfinite(values)
                if attribute.levels is None
                else (values >= 0) & (values < len(attribute.levels))
            )
            if not valid.all():
                raise SpecificationError(
                    f"{name} becomes available in {count:,} situations, and {attribute.name} is "
                    f"not known in {int((~valid).sum()):,} of them. Set it: "
                    f"'{name}: {attribute.name} = ...'."
                )
    return [
        f"{name} becomes available in {count:,} situations where it was not: its attributes there "
        "are as in the table, which may hold zeros."
    ]
