"""`Encoding`: what meeting the data teaches about terms, so that new data are treated the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice.data import Attribute, ChoiceData, Covariate, values_of
from ardchoice.errors import SpecificationError, TransformError, did_you_mean, first_few
from ardchoice.space import (
    CONSTANT,
    INVERSE,
    Factor,
    Linear,
    Ratio,
    Term,
    column_of,
    parse_factor,
)


@dataclass(frozen=True)
class Levels:
    """A categorical covariate or attribute as terms use it.

    Attributes
    ----------
    name
    levels
        All of them, as first seen.
    reference
        Position of the one without a column.
    """

    name: str
    levels: tuple[str, ...]
    reference: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The levels that have a column."""
        return tuple(v for i, v in enumerate(self.levels) if i != self.reference)

    def lookup(self, levels: tuple[str, ...]) -> npt.NDArray[np.int32]:
        """Column of every level of some data, the count of columns for the reference, -1 for none.

        Levels are matched by label: their order may differ, and some may be missing.
        """
        known = {level: i for i, level in enumerate(self.columns)}
        known[self.levels[self.reference]] = len(known)
        return np.array([known.get(level, -1) for level in levels], dtype=np.int32)

    def refuse(
        self, codes: npt.NDArray[Any], rows: Sequence[object], levels: tuple[str, ...]
    ) -> None:
        """Raise when there are values without a column.

        Parameters
        ----------
        codes, rows
            These values, as positions in the levels of the data they come from, and the situations
            that have them.
        levels
        """
        if len(codes):
            new = [levels[c] for c in np.unique(codes)]
            raise SpecificationError(
                f"{self.name} has {'a level' if len(new) == 1 else 'levels'} that the model has "
                f"never seen: {', '.join(map(repr, new))} in {len(rows)} "
                f"row{'' if len(rows) == 1 else 's'} ({first_few(rows)}). It knows: "
                f"{', '.join(self.levels)}. Merge new levels into known ones when reading, or "
                "leave these rows out."
            )


@dataclass(frozen=True)
class TermColumns:
    """One term met with data.

    Attributes
    ----------
    term
    alternatives
        Positions of the alternatives it enters.
    parameters
        What its transform learned.
    base
        The levels of its attribute, when that is categorical.
    by
        Its categorical covariates.
    times
        Its numeric covariates.
    names
        One per column.
    start
        Where its columns begin among all coefficients.
    functions
        Functions of numeric covariates that it is multiplied by, such as an inverse.
    products
        Other attributes, or functions of them, that it is multiplied by.
    """

    term: Term
    alternatives: tuple[int, ...]
    parameters: tuple[float, ...]
    base: Levels | None
    by: tuple[Levels, ...]
    times: tuple[str, ...]
    names: tuple[str, ...]
    start: int
    functions: tuple[Factor, ...] = ()
    products: tuple[Factor, ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that the columns are made of, that of the form first."""
        first = () if self.term.what is None else (self.term.what,)
        return (*first, *(factor.name for factor in self.products))

    @cached_property
    def columns_used(self) -> tuple[str, ...]:
        """Attributes and covariates that the columns are made of."""
        levels = tuple(levels.name for levels in self.by)
        return (*self.attributes, *levels, *self.times, *(f.name for f in self.functions))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Everything that is no level and that the columns are multiplied by, as text."""
        return (*self.times, *(f.text for f in (*self.functions, *self.products)))

    def has_slope(self, attribute: str) -> bool:
        """Whether utility has a slope in an attribute."""
        if any(factor.name == attribute for factor in self.products):
            return True
        return self.term.what == attribute and not self.is_stepwise

    @property
    def n_columns(self) -> int:
        """How many columns the term has."""
        return len(self.names)

    @property
    def columns(self) -> slice:
        """Where they stand among all coefficients."""
        return slice(self.start, self.start + len(self.names))

    @property
    def is_stepwise(self) -> bool:
        """Whether utility changes in steps with the attribute, so that it has no slope."""
        return self.base is not None or self.term.how.is_classes


@dataclass(frozen=True)
class PersonColumns:
    """A covariate that a family uses beside the terms, such as one of class membership.

    Attributes
    ----------
    name
    levels
        Of a categorical one, with a column for each but the reference; None for a number.
    """

    name: str
    levels: Levels | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """One per column."""
        if self.levels is None:
            return (self.name,)
        return tuple(f"{self.name} [{level}]" for level in self.levels.columns)

    def expand(self, data: ChoiceData, rows: slice) -> npt.NDArray[np.float64]:
        """The columns of some rows; shape (K, B)."""
        if self.name not in data.covariates:
            raise SpecificationError(
                f"The model needs the covariate {self.name!r}, which these data do not have. "
                f"{did_you_mean(self.name, data.covariates)}"
            )
        covariate = data.covariates[self.name]
        if self.levels is None:
            return covariate.numbers(rows)[None]
        codes = covariate.values[rows]
        columns = self.levels.lookup(covariate.levels or ())[codes]
        unknown = columns < 0
        self.levels.refuse(codes[unknown], data.situation[rows][unknown], covariate.levels or ())
        return np.asarray(columns == np.arange(len(self.names))[:, None], dtype=np.float64)


@dataclass(frozen=True)
class Encoding:
    """Every term of a design, ready for any data with the same columns.

    Attributes
    ----------
    alternatives
        The J names.
    terms
    persons
        Covariates that a family uses beside the terms.
    """

    alternatives: tuple[str, ...]
    terms: tuple[TermColumns, ...]
    persons: tuple[PersonColumns, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every coefficient."""
        return tuple(name for term in self.terms for name in term.names)

    @property
    def n_columns(self) -> int:
        """Number of coefficients, D."""
        return sum(term.n_columns for term in self.terms)

    def columns_of(self, terms: Iterable[int]) -> npt.NDArray[np.intp]:
        """The columns of some terms, given by number, one term after the other."""
        slices = [self.terms[t].columns for t in terms]
        return np.concatenate([np.arange(0), *(np.arange(s.start, s.stop) for s in slices)])

    def restrict(self, terms: Iterable[int]) -> Encoding:
        """The same with some terms only, given by number."""
        kept: list[TermColumns] = []
        for t in terms:
            start = kept[-1].columns.stop if kept else 0
            kept.append(replace(self.terms[t], start=start))
        return replace(self, terms=tuple(kept))


def person_columns(data: ChoiceData, names: Iterable[str]) -> tuple[PersonColumns, ...]:
    """Covariates that a family uses beside the terms, as columns."""
    out = []
    for name in names:
        if name not in data.covariates:
            raise SpecificationError(
                f"There is no covariate {name!r}. {did_you_mean(name, data.covariates)}"
            )
        covariate = data.covariates[name]
        levels = None
        if covariate.levels is not None:
            levels = Levels(name, covariate.levels, covariate.reference)
            if not levels.columns:
                raise SpecificationError(
                    f"{name} has one level only, {levels.levels[0]!r}, so there is nothing to "
                    "compare. Leave it out."
                )
        out.append(PersonColumns(name, levels))
    return tuple(out)


def learn_encoding(data: ChoiceData, terms: Iterable[Term]) -> Encoding:
    """Find alternatives, attributes and covariates of every term, and learn its transform."""
    encoded: list[TermColumns] = []
    learned: dict[object, tuple[float, ...]] = {}
    start = 0
    for term in terms:
        alternatives = _alternatives(data, term)
        attribute = _attribute(data, term, alternatives)
        factors = _factors(data, term, alternatives)
        covariates = factors.covariates
        key = (term.what, term.how, alternatives)
        if key not in learned:
            learned[key] = _learn(data, term, attribute, alternatives)
        base = None
        if attribute is not None and attribute.levels is not None:
            base = Levels(attribute.name, attribute.levels, attribute.reference)
        by = tuple(Levels(c.name, c.levels, c.reference) for c in covariates if c.levels)
        _refuse_single_levels(term, (*((base,) if base else ()), *by))
        names = _names(term, learned[key], base, by)
        times = tuple(c.name for c in covariates if c.levels is None)
        encoded.append(
            TermColumns(
                term,
                alternatives,
                learned[key],
                base,
                by,
                times,
                names,
                start,
                factors.functions,
                factors.products,
            )
        )
        start += len(names)
    return Encoding(data.alternatives, tuple(encoded))


def _alternatives(data: ChoiceData, term: Term) -> tuple[int, ...]:
    for name in term.where:
        if name not in data.alternatives:
            raise SpecificationError(
                f"'{term}': there is no alternative {name!r}. "
                f"{did_you_mean(name, data.alternatives)}"
            )
    if term.where:
        return tuple(sorted(data.alternatives.index(name) for name in term.where))
    having = [
        set(data.attributes[name].alternatives)
        for name in (term.what, *(column_of(name, data.covariates) for name in term.by))
        if name is not None and name in data.attributes and name not in data.covariates
    ]
    everywhere = set(range(len(data.alternatives)))
    return tuple(sorted(everywhere.intersection(*having)))


def _attribute(data: ChoiceData, term: Term, alternatives: tuple[int, ...]) -> Attribute | None:
    if term.what is None:
        return None
    if term.what not in data.attributes:
        hint = did_you_mean(term.what, data.attributes)
        if term.what.upper() == CONSTANT:
            hint = f"A constant is written {CONSTANT}."
        if term.what in data.covariates:
            instead = Term(term.where, by=tuple(dict.fromkeys((term.what, *term.by))))
            hint = (
                f"It is a covariate, the same for every alternative; interact a constant with it: "
                f"'{instead}'."
            )
        raise SpecificationError(f"'{term}': there is no attribute {term.what!r}. {hint}")
    attribute = data.attributes[term.what]
    without = [data.alternatives[j] for j in alternatives if j not in attribute.alternatives]
    if without:
        having = ", ".join(data.alternatives[j] for j in attribute.alternatives)
        raise SpecificationError(
            f"'{term}': {', '.join(without)} {'has' if len(without) == 1 else 'have'} no "
            f"{term.what}. Alternatives with it: {having}."
        )
    if attribute.levels is not None and term.how != Linear():
        raise SpecificationError(
            f"'{term}': {term.what} is categorical and takes no transform; write "
            f"'{Term(term.where, term.what, by=term.by)}'."
        )
    return attribute


@dataclass(frozen=True)
class _Factors:
    """What a term is multiplied by."""

    covariates: tuple[Covariate, ...]
    functions: tuple[Factor, ...]
    products: tuple[Factor, ...]


def _factors(data: ChoiceData, term: Term, alternatives: tuple[int, ...]) -> _Factors:
    """Covariates, functions of them, other attributes."""
    covariates: list[Covariate] = []
    functions: list[Factor] = []
    products: list[Factor] = []
    for name in term.by:
        factor = Factor(name) if name in data.covariates else parse_factor(name)
        if factor.name in data.covariates and not factor.function:
            covariates.append(data.covariates[name])
        elif factor.name in data.attributes and factor.name not in data.covariates:
            products.append(_product(data, factor, term, alternatives))
        else:
            functions.append(_function(data, factor, term))
    if isinstance(term.how, Ratio):
        functions.append(_function(data, Factor(term.how.covariate, INVERSE), term))
    return _Factors(tuple(covariates), tuple(functions), tuple(products))


def _function(data: ChoiceData, factor: Factor, term: Term) -> Factor:
    covariate = _covariate(data, factor.name, term)
    if covariate.is_categorical:
        raise SpecificationError(
            f"'{term}': {factor.name} is categorical, and {factor.text} needs a number. Read it as "
            "a number, ac.Numeric(), or interact with its levels."
        )
    check_factor(term, factor, covariate.numbers())
    return factor


def check_factor(term: Term, factor: Factor, values: npt.NDArray[np.float64]) -> None:
    """Raise where a factor is not defined for some values, with the term."""
    try:
        factor.check(values)
    except TransformError as error:
        raise TransformError(f"'{term}': {error}") from None


def _product(data: ChoiceData, factor: Factor, term: Term, alternatives: tuple[int, ...]) -> Factor:
    attribute = data.attributes[factor.name]
    if term.what is None or term.what == factor.name:
        instead = "itself" if term.what is None else f"square({factor.name})"
        raise SpecificationError(
            f"'{term}': {'a constant' if term.what is None else factor.name} times {factor.text} "
            f"is written {instead if term.what else factor.name}."
        )
    if attribute.levels is not None:
        raise SpecificationError(
            f"'{term}': {factor.name} is categorical; write it first, as in "
            f"'{Term(term.where, factor.name, by=(term.what,))}'."
        )
    without = [data.alternatives[j] for j in alternatives if j not in attribute.alternatives]
    if without or not alternatives:
        having = ", ".join(data.alternatives[j] for j in attribute.alternatives)
        named = ", ".join(without) or "no alternative"
        raise SpecificationError(
            f"'{term}': {named} {'has' if len(without) == 1 else 'have'} no {factor.name}. "
            f"Alternatives with it: {having}."
        )
    check_factor(term, factor, available_values(data, attribute, alternatives))
    return factor


def _covariate(data: ChoiceData, name: str, term: Term) -> Covariate:
    if name not in data.covariates:
        hint = did_you_mean(name, {**data.covariates, **data.attributes})
        raise SpecificationError(f"'{term}': there is no covariate {name!r}. {hint}")
    return data.covariates[name]


def _refuse_single_levels(term: Term, variables: tuple[Levels, ...]) -> None:
    for variable in variables:
        if not variable.columns:
            raise SpecificationError(
                f"'{term}': {variable.name} has one level only, {variable.levels[0]!r}, so there "
                "is nothing to compare. Leave the term out."
            )


def _learn(
    data: ChoiceData, term: Term, attribute: Attribute | None, alternatives: tuple[int, ...]
) -> tuple[float, ...]:
    if attribute is None or attribute.levels is not None:
        return ()
    if not any(data.times_available[j] for j in alternatives):
        raise SpecificationError(f"'{term}': {term.place} is never available.")
    if isinstance(term.how, Linear | Ratio):  # neither learns nor refuses anything
        return ()
    values = values_of(data, attribute, alternatives)
    try:
        parameters = term.how.learn(values.values, values.counts)
        term.how.check(values.values, parameters, values.counts)
    except TransformError as error:
        raise TransformError(f"'{term}': {error}") from None
    data.cached(checked(term, alternatives, parameters), lambda: None)
    return parameters


def available_values(
    data: ChoiceData, attribute: Attribute, alternatives: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    """All values of an attribute where these alternatives are available; shape (n,)."""
    return np.concatenate([attribute.of(j)[data.available[j]] for j in alternatives])


def checked(term: Term, alternatives: tuple[int, ...], parameters: tuple[float, ...]) -> object:
    """Where data remember that a transform allows their values."""
    return ("checked", term.what, term.how, alternatives, parameters)


def _names(
    term: Term,
    parameters: tuple[float, ...],
    base: Levels | None,
    by: tuple[Levels, ...],
) -> tuple[str, ...]:
    first = base.columns if base is not None else term.how.labels(parameters)
    labels = [levels.columns for levels in by]
    if first != ("",):
        labels.insert(0, first)
    shown = [", ".join(combination) for combination in product(*labels)]
    return tuple(f"{term} [{label}]" if labels else str(term) for label in shown)
