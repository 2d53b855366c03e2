"""Expected signs: utility must not rise (or fall) with an attribute, in any segment.

For an alternative and an attribute, take the terms of a specification that hold the attribute
there. A segment is a combination of the levels that they are interacted with. In every segment the
sum of their contributions must go the right way from each value of the attribute to the next: a set
of linear inequalities on the coefficients, A β ≤ 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import (
    ChoiceData,
    Values,
    recognised_kind,
    values_of,
    weighted_quantiles,
)
from ardchoice.design import Encoding, TermColumns
from ardchoice.errors import SpecificationError
from ardchoice.selection.structure import Sign, Structure
from ardchoice.space import Classes, Piecewise, Spline, Term, Thresholds

SIGN_GRID_POINTS = 101
"""Values of an attribute at which its contribution is looked at, ends included."""
MOST_SEGMENTS = 5_000
"""With more combinations of levels than this, only those that occur are looked at."""
ROUNDING_SHARE = 1e-9
"""Share of the size of the coefficients by which a sum may miss zero."""


@dataclass(frozen=True, eq=False)
class _Inequalities:
    """A β ≤ 0 over the columns of some terms; a row per segment and step."""

    matrix: Floats
    columns: npt.NDArray[np.intp]
    segments: tuple[str, ...]
    steps: int

    def excess(self, beta: Floats) -> Floats:
        """By how much every segment goes the wrong way at worst; shape (segments,)."""
        here = beta[self.columns]
        rounding = ROUNDING_SHARE * (self._sizes @ np.abs(here))
        return np.asarray((self.matrix @ here - rounding).reshape(-1, self.steps).max(axis=1))

    @cached_property
    def _sizes(self) -> Floats:
        return np.abs(self.matrix)


@dataclass(frozen=True)
class WrongSign:
    """Where utility goes the wrong way: an alternative, an attribute and a segment."""

    alternative: str
    attribute: str
    segment: str
    excess: float

    def __str__(self) -> str:
        return f"{self.alternative}: {self.attribute}" + (
            f" for {self.segment}" if self.segment else ""
        )


@dataclass(frozen=True, eq=False)
class SignRules:
    """Expected signs met with data.

    Attributes
    ----------
    signs
        Attribute -> sign.
    encoding
        Of all candidates.
    data
    """

    signs: Mapping[str, Sign]
    encoding: Encoding
    data: ChoiceData
    _known: dict[object, _Inequalities] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_signs(self.signs, self.data)

    def violations(self, selected: Iterable[int], beta: Floats) -> list[WrongSign]:
        """Every segment in which a set of terms goes the wrong way.

        Parameters
        ----------
        selected
            Positions of the terms.
        beta
            Coefficients of all candidates in the user's units, in the order of the terms; (D,).
        """
        out = []
        for (j, attribute), terms in self._holders(selected).items():
            rules = self._inequalities(j, attribute, terms)
            excess = rules.excess(beta)
            out += [
                WrongSign(
                    self.encoding.alternatives[j], attribute, rules.segments[i], float(excess[i])
                )
                for i in np.flatnonzero(excess > 0)
            ]
        return out

    def count(self, selected: Iterable[int], beta: Floats) -> int:
        """How many segments go the wrong way."""
        if not self.signs:
            return 0
        return sum(
            int(np.count_nonzero(self._inequalities(j, attribute, terms).excess(beta) > 0))
            for (j, attribute), terms in self._holders(selected).items()
        )

    def segments(self, selected: Iterable[int]) -> dict[tuple[str, str], int]:
        """(alternative, attribute) -> in how many segments its sign is asked for."""
        return {
            (self.encoding.alternatives[j], attribute): len(
                self._inequalities(j, attribute, terms).segments
            )
            for (j, attribute), terms in self._holders(selected).items()
        }

    def concern(self, t: int) -> bool:
        """Whether a term holds an attribute with an expected sign."""
        return any(name in self.signs for name in self.encoding.terms[t].attributes)

    def _holders(self, selected: Iterable[int]) -> dict[tuple[int, str], tuple[int, ...]]:
        """(alternative, attribute) -> the terms that hold it; no alternative that never occurs."""
        out: dict[tuple[int, str], tuple[int, ...]] = {}
        occurs = self.data.times_available > 0
        for t in sorted(selected):
            encoded = self.encoding.terms[t]
            for what in encoded.attributes:
                for j in encoded.alternatives if what in self.signs else ():
                    if not occurs[j]:
                        continue
                    out[(j, what)] = (*out.get((j, what), ()), t)
        return out

    def _inequalities(self, j: int, attribute: str, terms: tuple[int, ...]) -> _Inequalities:
        key = (j, attribute, terms)
        if key not in self._known:
            encoded = [self.encoding.terms[t] for t in terms]
            direction = 1.0 if self.signs[attribute] == "-" else -1.0
            self._known[key] = _make(self.data, j, attribute, encoded, direction)
        return self._known[key]


def recognised_signs(data: ChoiceData, terms: Iterable[Term]) -> dict[str, Sign]:
    """``"-"`` for every attribute of some terms that is called like money, time, waits or changes.

    What is categorical has no more or less of it, and what may be negative (a difference, a saving)
    is not what its name says.
    """
    used = dict.fromkeys(t.what for t in terms if t.what is not None)
    return {
        name: "-"
        for name in used
        if recognised_kind(name) is not None
        and data.attributes[name].levels is None
        and _is_never_negative(data, name)
    }


def _is_never_negative(data: ChoiceData, name: str) -> bool:
    attribute = data.attributes[name]
    return all(
        values_of(data, attribute, (j,)).values.min(initial=0.0) >= 0
        for j in attribute.alternatives
    )


def with_expected_signs(
    structure: Structure | None, data: ChoiceData, terms: Iterable[Term]
) -> Structure | None:
    """The structure with the signs of recognised attributes given by name."""
    if structure is None or not isinstance(structure.signs, str):
        return structure
    return replace(structure, signs=recognised_signs(data, terms))


def check_signs(signs: Mapping[str, Sign], data: ChoiceData) -> None:
    """Refuse signs of attributes that have no more and less."""
    for name in signs:
        if name in data.attributes and data.attributes[name].levels is not None:
            raise SpecificationError(
                f"signs: {name} is categorical, so there is no more or less of it."
            )


def _make(
    data: ChoiceData, j: int, attribute: str, terms: list[TermColumns], direction: float
) -> _Inequalities:
    grid = _grid(values_of(data, data.attributes[attribute], (j,)), attribute, terms)
    cells = _cells(data, j, attribute, terms)
    rows: list[Floats] = []
    steps = max(len(grid) - 1, 1)
    first = terms[0]
    if first.term.how.name in _MONOTONE_TRANSFORMS and all(
        (t.term.what, t.term.how, t.parameters) == (attribute, first.term.how, first.parameters)
        for t in terms
    ):
        grid, steps = grid[[0, -1]], 1  # one monotone form: what holds from end to end holds inside
    for term in terms:
        base = np.diff(_form_of(term, attribute, grid), axis=1).T  # (steps, C)
        if not len(base):
            base = np.zeros((1, base.shape[1]))
        shares = np.array([_multiplier(term, attribute, cell) for cell in cells])  # (E, K)
        block = direction * base[None, :, :, None] * shares[:, None, None, :]
        rows.append(block.reshape(len(cells) * steps, -1))
    columns = np.concatenate([np.arange(t.start, t.columns.stop) for t in terms])
    names = tuple(
        ", ".join(f"{k} {v if isinstance(v, str) else f'{v:g}'}" for k, v in cell.items())
        for cell in cells
    )
    return _Inequalities(np.hstack(rows), columns, names, steps)


def _form_of(term: TermColumns, attribute: str, grid: Floats) -> Floats:
    """What a term makes of the attribute, before everything else; shape (C, n), or (1, n)."""
    if term.term.what == attribute:
        return term.term.how.apply(grid, term.parameters)
    factor = next(f for f in term.products if f.name == attribute)
    return factor.apply(grid)[None]


_MONOTONE_TRANSFORMS = ("linear", "ratio", "log", "log1p", "sqrt", "boxcox")


def _grid(known: Values, attribute: str, terms: list[TermColumns]) -> Floats:
    """Values to look at, ascending: spread evenly over the data, and one in every class."""
    values = known.values
    points = [weighted_quantiles(known, np.linspace(0, 1, SIGN_GRID_POINTS))]
    low, high = values.min(), values.max()
    for term in terms:
        how = term.term.how
        if term.term.what != attribute:
            continue
        if isinstance(how, Spline):
            points.append(np.clip(np.array(term.parameters), low, high))
        if isinstance(how, Classes):
            codes = how.codes(values, term.parameters)
            for c in np.unique(codes):
                inside = values[codes == c]
                points.append(np.array([inside.min(), inside.max()]))
        if isinstance(how, Piecewise):
            points.append(np.clip(np.array(how.knots), low, high))
        if isinstance(how, Thresholds):
            points.append(np.clip(np.array(term.parameters), low, high))
    return np.unique(np.concatenate(points))


Cell = dict[str, str | float]


def _cells(data: ChoiceData, j: int, attribute: str, terms: list[TermColumns]) -> list[Cell]:
    """Combinations of levels that the terms tell apart; ends of numbers."""
    names = dict.fromkeys(c.name for t in terms for c in t.by)
    numbers = dict.fromkeys(
        name
        for t in terms
        for name in (*t.times, *(f.name for f in t.functions), *t.attributes)
        if name != attribute
    )
    ends = [_ends(data, name, j) for name in numbers]
    levels = [data.covariates[name].levels or () for name in names]
    if prod(len(x) for x in levels) <= MOST_SEGMENTS:
        combinations = list(product(*levels))
    else:
        combinations = [
            tuple(levels[i][c] for i, c in enumerate(row)) for row in _occurring(data, names, j)
        ]
    return [
        {**dict(zip(names, combination, strict=True)), **dict(zip(numbers, end, strict=True))}
        for combination in combinations
        for end in product(*ends)
    ]


def _ends(data: ChoiceData, name: str, j: int) -> list[float]:
    """The least and the most of a number where an alternative is available."""
    if name not in data.covariates:
        values = values_of(data, data.attributes[name], (j,)).values
        return [float(values.min()), float(values.max())]

    def ends() -> list[float]:
        low, high = np.inf, -np.inf
        for rows in data.ranges():
            values = data.covariates[name].numbers(rows)[data.available[j, rows]]
            low = min(low, float(values.min(initial=np.inf)))
            high = max(high, float(values.max(initial=-np.inf)))
        return [low, high]

    return data.cached(("ends", name, j), ends)


def _occurring(data: ChoiceData, names: Iterable[str], j: int) -> npt.NDArray[np.intp]:
    """Combinations of codes that occur where an alternative is available; (combinations, names)."""
    pieces = []
    for rows in data.ranges():
        here = data.available[j, rows]
        codes = [data.covariates[name].values[rows][here] for name in names]
        pieces.append(np.unique(np.stack(codes, axis=1), axis=0))
    return np.asarray(np.unique(np.concatenate(pieces), axis=0))


def _multiplier(term: TermColumns, attribute: str, cell: Cell) -> Floats:
    """What a term multiplies its form of the attribute by in a segment; shape (K,)."""
    out = np.ones(1)
    if term.term.what != attribute and term.term.what is not None:
        value = cell[term.term.what]
        if isinstance(value, str):
            raise SpecificationError(f"signs: {term.term} has a categorical attribute.")
        out = term.term.how.apply(np.array([value]), term.parameters)[:, 0]
    for known in term.by:
        mine = np.array([float(level == cell[known.name]) for level in known.columns])
        out = np.outer(out, mine).ravel()
    for name in term.times:
        out = out * float(cell[name])
    for factor in (*term.functions, *term.products):
        if factor.name != attribute:
            out = out * float(factor.apply(np.array([float(cell[factor.name])]))[0])
    return out
