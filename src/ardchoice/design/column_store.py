"""What a design is made of: each base once, each combination of levels once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ardchoice._types import Bools, Codes, Floats
from ardchoice.data import Attribute, ChoiceData, Covariate, pick, values_of
from ardchoice.design.encoding import TermColumns, available_values, check_factor, checked
from ardchoice.errors import SpecificationError, TransformError, did_you_mean
from ardchoice.space import Classes, Factor, Linear, Ratio

Of = Literal["value", "slope", "elasticity"]
"""What a column holds: h(x), h'(x), or x h'(x)."""

KINDS = {True: "categorical", False: "numeric"}


class ColumnStore:
    """Bases and multipliers of the terms of one design, made once and shared.

    They hold nothing themselves: a range of rows is made from the data when it is wanted, so that
    data may lie anywhere.
    """

    def __init__(self, data: ChoiceData, of: Of, attribute: str | None = None) -> None:
        self.data, self.of, self.attribute = data, of, attribute
        self._bases: dict[object, Base] = {}
        self._multipliers: dict[object, Multiplier] = {}

    def base(self, term: TermColumns) -> Base:
        """What the columns of a term are before its interactions."""
        key = (term.term.what, term.term.how, term.parameters, term.alternatives, term.products)
        if key not in self._bases:
            self._bases[key] = make_product(self.data, term, self.of, self.attribute)
        return self._bases[key]

    def multiplier(self, term: TermColumns) -> Multiplier | None:
        """What its interactions multiply them by; None when it has none."""
        key = (term.by, term.times, term.functions)
        if not any(key):
            return None
        if key not in self._multipliers:
            self._multipliers[key] = make_multiplier(self.data, term)
        return self._multipliers[key]


# -- Bases --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Place:
    """The alternatives that a term enters: A of the J of some data."""

    data: ChoiceData
    alternatives: tuple[int, ...]
    always: bool

    def available(self, rows: slice) -> Bools | None:
        """Shape (A, B); None where always."""
        return None if self.always else pick(self.data.available, self.alternatives, rows)


@dataclass(frozen=True, eq=False)
class Ones:
    """A constant: one where its alternatives are available."""

    place: _Place

    def expand(self, rows: slice) -> Floats:
        """Shape (1, A, B), or one that broadcasts to it."""
        available = self.place.available(rows)
        return np.ones((1, 1, 1)) if available is None else available.astype(float)[None]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns made of the numbers of an attribute, zero where they do not count.

    Attributes
    ----------
    place
    attribute
    at
        Where the alternatives of the place stand among those of the attribute.
    make
        (n,) -> (C, n), or None for the numbers as they are.
    """

    place: _Place
    attribute: Attribute
    at: tuple[int, ...]
    make: Callable[[Floats], Floats] | None

    def expand(self, rows: slice) -> Floats:
        """Shape (C, A, B)."""
        values, available = self.attribute.at(self.at, rows), self.place.available(rows)
        if self.make is None:
            return values[None] if available is None else np.where(available, values, 0.0)[None]
        if available is None:
            return self.make(values.reshape(-1)).reshape(-1, *values.shape)
        # Only values of available alternatives are looked at: elsewhere there may be anything.
        columns = self.make(values[available])
        out = np.zeros((len(columns), *values.shape))
        out[:, available] = columns
        return out


@dataclass(frozen=True, eq=False)
class Members:
    """Classes: the column of a value is one, where it has one.

    Attributes
    ----------
    place, attribute, at
    codes
        (n,) -> which of `n_columns` columns, `n_columns` for none; shape (n,).
    n_columns
    """

    place: _Place
    attribute: Attribute
    at: tuple[int, ...]
    codes: Callable[[npt.NDArray[Any]], Codes]
    n_columns: int

    def expand(self, rows: slice) -> Floats:
        """Shape (C, A, B)."""
        values, available = self.attribute.at(self.at, rows), self.place.available(rows)
        if available is None:
            column = self.codes(values)
        else:
            column = np.full(values.shape, self.n_columns, dtype=np.int32)
            column[available] = self.codes(values[available])
        columns = np.arange(self.n_columns, dtype=np.int32)[:, None, None]
        return np.asarray(column == columns, dtype=float)


@dataclass(frozen=True, eq=False)
class Product:
    """A base times other attributes.

    Attributes
    ----------
    first
    place
    factors
        An attribute, where the alternatives stand among its own, and what is made of its values.
    """

    first: Ones | Numbers | Members
    place: _Place
    factors: tuple[tuple[Attribute, tuple[int, ...], Callable[[Floats], Floats]], ...]

    def expand(self, rows: slice) -> Floats:
        """Shape (C, A, B)."""
        out, available = self.first.expand(rows), self.place.available(rows)
        for attribute, at, make in self.factors:
            values = np.asarray(attribute.at(at, rows), dtype=float)
            if available is None:
                out = out * make(values)
            else:
                made = np.zeros(values.shape)
                made[available] = make(values[available])
                # An infinite slope times what does not count is nothing.
                out = np.where(available, out * made, 0.0)
        return np.asarray(out)


Base = Ones | Numbers | Members | Product


def make_product(data: ChoiceData, term: TermColumns, of: Of, attribute: str | None) -> Base:
    """The base of a term, times the attributes that it is multiplied by; or its derivative."""
    if not term.products:
        return make_base(data, term, of)
    is_first = of == "value" or attribute == term.term.what
    first = make_base(data, term, of if is_first else "value")
    factors = []
    for factor in term.products:
        other = _attribute(data, term, factor.name)
        at = tuple(other.alternatives.index(j) for j in term.alternatives)
        check_factor(term.term, factor, available_values(data, other, term.alternatives))
        make: Callable[[Floats], Floats] = factor.apply
        if not is_first and factor.name == attribute:
            make = factor.slope if of == "slope" else partial(_by_log, factor)
        factors.append((other, at, make))
    place = _Place(data, term.alternatives, data.always(term.alternatives))
    return Product(first, place, tuple(factors))


def _by_log(factor: Factor, x: Floats) -> Floats:
    """The derivative of a factor by log x."""
    return np.asarray(x * factor.slope(x))


def make_base(data: ChoiceData, term: TermColumns, of: Of) -> Ones | Numbers | Members:
    """What a term starts from; a stepwise term has values but no slopes."""
    place = _Place(data, term.alternatives, data.always(term.alternatives))
    if term.term.what is None:
        return Ones(place)
    attribute = _attribute(data, term, term.term.what)
    at = tuple(attribute.alternatives.index(j) for j in term.alternatives)
    how, parameters = term.term.how, term.parameters
    if term.base is not None:
        lookup = term.base.lookup(attribute.levels or ())
        if (lookup < 0).any():
            unseen = _unseen(data, lookup, lambda rows: attribute.at(at, rows), place.available)
            term.base.refuse(*unseen, attribute.levels or ())
        return Members(place, attribute, at, lookup.__getitem__, len(term.base.columns))
    if isinstance(how, Classes):
        codes = partial(how.codes, parameters=parameters)
        return Members(place, attribute, at, codes, len(parameters))
    if isinstance(how, Linear | Ratio) and of == "value":
        return Numbers(place, attribute, at, None)
    _check(data, term, attribute)
    make = {"value": how.apply, "slope": how.slope, "elasticity": how.elasticity}[of]
    return Numbers(place, attribute, at, partial(make, parameters=parameters))


def _check(data: ChoiceData, term: TermColumns, attribute: Attribute) -> None:
    """Whether the transform allows these values, checked once for every data."""
    how = term.term.how

    def check() -> None:
        values = values_of(data, attribute, term.alternatives)
        try:
            how.check(values.values, term.parameters, values.counts)
        except TransformError as error:
            raise TransformError(f"'{term.term}': {error}") from None

    data.cached(checked(term.term, term.alternatives, term.parameters), check)


def _attribute(data: ChoiceData, term: TermColumns, what: str) -> Attribute:
    """An attribute, or an error when these data do not have what the term was learned on."""
    if what not in data.attributes:
        raise SpecificationError(
            f"'{term.term}' needs the attribute {what!r}, which these data do not have. "
            f"{did_you_mean(what, data.attributes)}"
        )
    attribute = data.attributes[what]
    is_categorical = attribute.levels is not None
    if is_categorical != (term.base is not None and what == term.term.what):
        raise SpecificationError(
            f"'{term.term}' needs the attribute {what!r} to be {KINDS[not is_categorical]}, as it "
            f"was at first; in these data it is {KINDS[is_categorical]}."
        )
    lacking = [data.alternatives[j] for j in term.alternatives if j not in attribute.alternatives]
    if lacking:
        raise SpecificationError(
            f"'{term.term}' needs the attribute {what!r} of {', '.join(lacking)}, which these data "
            "do not have."
        )
    return attribute


def _unseen(
    data: ChoiceData,
    lookup: Codes,
    codes: Callable[[slice], npt.NDArray[Any]],
    available: Callable[[slice], Bools | None],
) -> tuple[npt.NDArray[Any], list[Any]]:
    """Codes without a column, and the situations that have them."""
    found: list[npt.NDArray[Any]] = [np.empty(0, dtype=np.int32)]
    situations: dict[Any, None] = {}
    for rows in data.ranges():
        here, may = codes(rows), available(rows)
        # Where an alternative is unavailable there may be anything, also beyond the levels.
        new = np.zeros(here.shape, dtype=bool)
        use = np.ones(here.shape, dtype=bool) if may is None else may
        new[use] = lookup[here[use]] < 0
        found.append(here[new])
        names = np.broadcast_to(data.situation[rows], here.shape)[new]
        situations |= dict.fromkeys(names.tolist())
    return np.concatenate(found), list(situations)


# -- Multipliers --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Multiplier:
    """What interactions multiply a base by: K columns of the person, the same for all alternatives.

    Attributes
    ----------
    levels
        Categorical covariates, the column of every level of each (its count of columns for the
        reference), and that count.
    n_codes
        Combinations that have a column, K.
    times
        Numeric covariates.
    functions
        Functions of numeric covariates.
    """

    levels: tuple[tuple[Covariate, Codes, int], ...]
    n_codes: int
    times: tuple[Covariate, ...]
    functions: tuple[tuple[Covariate, Factor], ...] = ()

    def expand(self, rows: slice) -> Floats:
        """Shape (K, B)."""
        times: Floats | float = 1.0
        for covariate in self.times:
            times = times * covariate.numbers(rows)
        for covariate, factor in self.functions:
            times = times * factor.apply(covariate.numbers(rows))
        if not self.levels:
            return np.asarray(times)[None]
        codes = np.arange(self.n_codes, dtype=np.int32)[:, None]
        return np.asarray((self.code(rows) == codes) * times)

    def code(self, rows: slice) -> Codes:
        """Which combination of levels, the last covariate fastest; `n_codes` with a reference."""
        if len(self.levels) == 1:
            covariate, lookup, _ = self.levels[0]
            return np.asarray(lookup[covariate.values[rows]])
        code: Codes = np.zeros(1, dtype=np.int32)
        is_reference: Bools = np.zeros(1, dtype=bool)
        for covariate, lookup, columns in self.levels:
            position = lookup[covariate.values[rows]]
            is_reference = is_reference | (position == columns)
            code = code * np.int32(columns) + position
        code[is_reference] = self.n_codes
        return code


def make_multiplier(data: ChoiceData, term: TermColumns) -> Multiplier:
    """What the covariates of a term multiply its base by."""
    levels = []
    for known in term.by:
        covariate = _covariate(data, term, known.name, categorical=True)
        names = covariate.levels or ()
        lookup = known.lookup(names)
        if (lookup < 0).any():
            codes = covariate.values
            unseen = _unseen(data, lookup, codes.__getitem__, lambda rows: None)
            known.refuse(*unseen, names)
        levels.append((covariate, lookup, len(known.columns)))
    times = [_covariate(data, term, name, categorical=False) for name in term.times]
    functions = []
    for factor in term.functions:
        covariate = _covariate(data, term, factor.name, categorical=False)
        check_factor(term.term, factor, covariate.numbers())
        functions.append((covariate, factor))
    n_codes = prod(len(k.columns) for k in term.by)
    return Multiplier(tuple(levels), n_codes, tuple(times), tuple(functions))


def _covariate(data: ChoiceData, term: TermColumns, name: str, *, categorical: bool) -> Covariate:
    needs = f"'{term.term}' needs the covariate {name!r}"
    if name not in data.covariates:
        raise SpecificationError(
            f"{needs}, which these data do not have. {did_you_mean(name, data.covariates)}"
        )
    covariate = data.covariates[name]
    if covariate.is_categorical != categorical:
        raise SpecificationError(
            f"{needs} to be {KINDS[categorical]}, as it was at first; in these data it is "
            f"{KINDS[not categorical]}."
        )
    return covariate
