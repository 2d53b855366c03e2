"""The parameters of a family: what each is, and in which order they come.

Parameters θ come in one vector: first the coefficients β of the D columns of a design, then what
the family adds (scales, spreads, shares). Where a block is at hand, β is in the order of its
columns; `ParameterLayout.reordered` turns a layout into that order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ardchoice._types import Bools, Floats, Ints
from ardchoice.design import Encoding
from ardchoice.errors import SpecificationError
from ardchoice.space import Term, parse_term

Kind = Literal["mean", "wtp", "sd", "correlation", "nest", "class", "scale"]
"""What a parameter is: a (mean) coefficient, a spread of tastes, and so on."""
LOCATIONS: tuple[Kind, ...] = ("mean", "wtp")
"""Kinds of parameters that multiply a column: coefficients, and willingness to pay."""


@dataclass(frozen=True)
class Parameter:
    """One element of θ.

    Attributes
    ----------
    name
        As in tables: ``SM: TT x GA [1]``, ``sd(SM: TT)``.
    kind
    term
        The term it belongs to: its ARD group, its heredity, its row in the report. None for one
        that belongs to the whole model.
    column
        The column of the design that it multiplies; None where it multiplies none.
    start
        Where estimation starts without a better guess.
    bounds
        Smallest and largest value.
    is_shrunk
        Whether relevance shrinks it: it has a Gaussian prior with the λ of its term.
    null_value
        What z and p test it against: 0 for a coefficient, 1 for the scale of a nest.
    classes
        The latent classes, from 0, that have it; empty for all.
    """

    name: str
    kind: Kind = "mean"
    term: Term | None = None
    column: int | None = None
    start: float = 0.0
    bounds: tuple[float, float] = (-np.inf, np.inf)
    is_shrunk: bool = False
    null_value: float = 0.0
    classes: tuple[int, ...] = ()

    def at(self, column: int) -> Parameter:
        """The same for another column."""
        # Every refit of a search moves all of its parameters: `replace` takes six times as long.
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__, column=column)
        return moved

    def moved(self, place: Mapping[int, int]) -> Parameter | None:
        """The same where columns stand elsewhere; None where its own is not among them."""
        if self.column is None:
            return self
        return self.at(place[self.column]) if self.column in place else None


@dataclass(frozen=True)
class ParameterLayout:
    """What θ consists of: P parameters, the first D of them the coefficients of the columns.

    Attributes
    ----------
    parameters
    n_columns
        D.
    alternatives
        Names of the J alternatives, for families that group them.
    """

    parameters: tuple[Parameter, ...]
    n_columns: int
    alternatives: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """One per parameter."""
        return tuple(p.name for p in self.parameters)

    @property
    def extras(self) -> tuple[Parameter, ...]:
        """What the family adds to the coefficients."""
        return self.parameters[self.n_columns :]

    @cached_property
    def starts(self) -> Floats:
        """Shape (P,)."""
        return np.array([p.start for p in self.parameters])

    @cached_property
    def bounds(self) -> Floats | None:
        """Smallest and largest values, shape (2, P); None where nothing is bounded."""
        limits = np.array([p.bounds for p in self.parameters]).reshape(-1, 2).T
        return limits if np.isfinite(limits).any() else None

    def at_bound(self, theta: Floats) -> Bools:
        """Which parameters stand at a bound; shape (P,)."""
        if self.bounds is None:
            return np.zeros(len(theta), dtype=bool)
        return np.asarray((theta == self.bounds[0]) | (theta == self.bounds[1]))

    def reordered(self, order: Ints) -> ParameterLayout:
        """The same with coefficients in the order of a block's columns.

        Parameters
        ----------
        order
            The coefficient that each column of a block holds (`Design.order`); shape (D,).
        """
        place = {int(column): k for k, column in enumerate(order)}
        moved = [p for q in self.parameters if (p := q.moved(place)) is not None]
        first = [moved[k] for k in order]
        return replace(self, parameters=(*first, *moved[self.n_columns :]))

    def subset(self, columns: Ints) -> ParameterLayout:
        """The same with some columns only, in their order; extras of other columns leave."""
        place = {int(column): k for k, column in enumerate(columns)}
        kept = [self.parameters[c].at(k) for c, k in place.items()]
        extras = [p for q in self.extras if (p := q.moved(place)) is not None]
        return replace(self, parameters=(*kept, *extras), n_columns=len(kept))

    def extra_values(self, known: Mapping[str, float]) -> Floats:
        """What the family adds, by name where it is known and else where it starts; (P - D,)."""
        return np.array([known.get(p.name, p.start) for p in self.extras])

    def with_shift(self) -> ParameterLayout:
        """The same with one coefficient more, behind those of the columns."""
        d = self.n_columns
        shift = Parameter("shift", column=d)
        parameters = (*self.parameters[:d], shift, *self.extras)
        return replace(self, parameters=parameters, n_columns=d + 1)

    def permutation(self, position: Ints) -> Ints:
        """Where every parameter stands in θ of block order; shape (P,)."""
        return np.concatenate([position, np.arange(self.n_columns, len(self.parameters))])


def coefficient_parameters(encoding: Encoding) -> tuple[Parameter, ...]:
    """One mean coefficient per column, in the order of the terms; a constant is not shrunk."""
    return tuple(
        Parameter(name, "mean", t.term, t.start + k, is_shrunk=not _is_constant(t.term))
        for t in encoding.terms
        for k, name in enumerate(t.names)
    )


def term_like(name: str, encoding: Encoding) -> str | None:
    """The term of this name; else one of the same place, attribute and covariates in another form.

    None where there is neither.
    """
    known = [t.term for t in encoding.terms]
    if name in map(str, known):
        return name
    try:
        asked = parse_term(name)
    except SpecificationError:
        return None
    alike = [t for t in known if (t.where, t.what, t.by) == (asked.where, asked.what, asked.by)]
    return str(alike[0]) if alike else None


def _is_constant(term: Term) -> bool:
    return term.what is None and not term.by
