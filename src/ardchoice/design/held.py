"""What a design holds: each base value once, each combination of levels once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ardchoice.data import ChoiceData, Covariate
from ardchoice.design.encoding import TermColumns
from ardchoice.errors import SpecificationError, TransformError, did_you_mean
from ardchoice.space.transforms import Classes, Linear

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Of = Literal["value", "slope", "elasticity"]
"""What a column holds: h(x), h'(x), or x h'(x)."""

Scalar = TypeVar("Scalar", bound=np.generic)
KINDS = {True: "categorical", False: "numeric"}


class Held:
    """Bases and multipliers of the terms of one design, made once and shared."""

    def __init__(self, data: ChoiceData, of: Of) -> None:
        self.data, self.of = data, of
        self._bases: dict[object, Base] = {}
        self._codes: dict[object, Codes] = {}
        self._multipliers: dict[object, Multiplier] = {}

    def base(self, term: TermColumns) -> Base:
        """What the columns of a term are before its interactions."""
        key = (term.term.what, term.term.how, term.parameters, term.alternatives)
        if key not in self._bases:
            self._bases[key] = make_base(self.data, term, self.of)
        return self._bases[key]

    def multiplier(self, term: TermColumns) -> Multiplier | None:
        """What its interactions multiply them by; None when it has none."""
        key = (term.by, term.times)
        if not any(key):
            return None
        if key not in self._multipliers:
            if term.by and term.by not in self._codes:
                self._codes[term.by] = combine_levels(self.data, term)
            times = multiply_numbers(self.data, term)
            n_codes = prod(len(levels.columns) for levels in term.by)
            self._multipliers[key] = Multiplier(self._codes.get(term.by), n_codes, times)
        return self._multipliers[key]


# -- Bases --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ones:
    """A constant: one where its alternatives are available, shape (A, N); None where always."""

    available: Bools | None

    def expand(self, rows: slice) -> Floats:
        """Shape (1, A, B), or one that broadcasts to it."""
        if self.available is None:
            return np.ones((1, 1, 1))
        return self.available[:, rows].astype(float)[None]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, shape (C, A, N), that count where `available`, shape (A, N); None where always."""

    values: Floats
    available: Bools | None = None

    def expand(self, rows: slice) -> Floats:
        """Shape (C, A, B)."""
        values = self.values[..., rows]
        if self.available is None:
            return values
        return np.where(self.available[:, rows], values, 0.0)


@dataclass(frozen=True, eq=False)
class Members:
    """Classes: which of `n_columns` columns is one, shape (A, N); `n_columns` for none."""

    column: Codes
    n_columns: int

    def expand(self, rows: slice) -> Floats:
        """Shape (C, A, B)."""
        columns = np.arange(self.n_columns, dtype=np.int32)[:, None, None]
        return np.asarray(self.column[:, rows] == columns, dtype=float)


Base = Ones | Numbers | Members


def make_base(data: ChoiceData, term: TermColumns, of: Of) -> Base:
    """The values that a term starts from; a stepwise term has them but no slopes.

    Only values of available alternatives are looked at: elsewhere there may be anything.
    """
    available = _pick(data.available, term.alternatives)
    if term.term.what is None:
        return Ones(None if available.all() else available)
    values = _attribute_values(data, term)
    if not term.is_stepwise:
        return _numbers(term, values, available, of)
    codes, n_columns = _members(data, term, values, available)
    column = np.full(values.shape, n_columns, dtype=np.int32)
    column[available] = codes
    return Members(column, n_columns)


def _numbers(term: TermColumns, values: Floats, available: Bools, of: Of) -> Numbers:
    how, everywhere = term.term.how, bool(available.all())
    if isinstance(how, Linear) and of == "value":  # as they are: no copy
        return Numbers(values[None], None if everywhere else available)
    x = values[available]
    try:
        how.check(x, term.parameters)
    except TransformError as error:
        raise TransformError(f"'{term.term}': {error}") from None
    make = {"value": how.apply, "slope": how.slope, "elasticity": how.elasticity}[of]
    columns = make(x, term.parameters)
    if everywhere:
        return Numbers(columns.reshape(-1, *values.shape))
    out = np.zeros((len(columns), *values.shape))
    out[:, available] = columns
    return Numbers(out)


def _members(
    data: ChoiceData, term: TermColumns, values: npt.NDArray[Any], available: Bools
) -> tuple[Codes, int]:
    """The column of every available value, and how many columns there are."""
    if term.base is not None:
        levels = data.attributes[term.base.name].levels or ()
        situation = np.broadcast_to(data.situation, values.shape)[available]
        codes = term.base.positions(values[available], levels, situation)
        return codes, len(term.base.columns)
    how = term.term.how
    assert isinstance(how, Classes)  # noqa: S101 - a stepwise term is one or the other
    return how.codes(values[available], term.parameters), len(term.parameters)


def _attribute_values(data: ChoiceData, term: TermColumns) -> npt.NDArray[Any]:
    """Shape (A, N), or an error when these data do not have what the term was learned on."""
    what = term.term.what or ""
    needs = f"'{term.term}' needs the attribute {what!r}"
    if what not in data.attributes:
        raise SpecificationError(
            f"{needs}, which these data do not have. {did_you_mean(what, data.attributes)}"
        )
    attribute = data.attributes[what]
    is_categorical = attribute.levels is not None
    if is_categorical != (term.base is not None):
        raise SpecificationError(
            f"{needs} to be {KINDS[not is_categorical]}, as it was at first; in these data it is "
            f"{KINDS[is_categorical]}."
        )
    lacking = [data.alternatives[j] for j in term.alternatives if j not in attribute.alternatives]
    if lacking:
        raise SpecificationError(f"{needs} of {', '.join(lacking)}, which these data do not have.")
    return _pick(attribute.values, [attribute.alternatives.index(j) for j in term.alternatives])


def _pick(array: npt.NDArray[Scalar], rows: Sequence[int]) -> npt.NDArray[Scalar]:
    """Some rows, as a view where they follow each other."""
    first, last = rows[0], rows[-1]
    return array[first : last + 1] if last - first + 1 == len(rows) else array[list(rows)]


# -- Multipliers --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Multiplier:
    """What interactions multiply a base by: K columns of the person, the same for all alternatives.

    Attributes
    ----------
    code
        Shape (N,): which combination of levels, `n_codes` where one is a reference; None without.
    n_codes
        Combinations that have a column, K.
    times
        Shape (N,): the product of the numeric covariates; None without.
    """

    code: Codes | None
    n_codes: int
    times: Floats | None

    def expand(self, rows: slice) -> Floats:
        """Shape (K, B)."""
        times = 1.0 if self.times is None else self.times[None, rows]
        if self.code is None:
            return np.asarray(times)
        codes = np.arange(self.n_codes, dtype=np.int32)[:, None]
        return np.asarray((self.code[rows] == codes) * times)


def combine_levels(data: ChoiceData, term: TermColumns) -> Codes:
    """Position among all combinations of levels that have a column, the last covariate fastest."""
    code = np.zeros(len(data), dtype=np.int32)
    is_reference = np.zeros(len(data), dtype=bool)
    for known in term.by:
        covariate = _covariate(data, term, known.name, categorical=True)
        position = known.positions(covariate.values, covariate.levels or (), data.situation)
        is_reference |= position == len(known.columns)
        code = code * np.int32(len(known.columns)) + position
    code[is_reference] = prod(len(known.columns) for known in term.by)
    return code


def multiply_numbers(data: ChoiceData, term: TermColumns) -> Floats | None:
    """The product of the numeric covariates of a term; shape (N,)."""
    out: Floats | None = None
    for name in term.times:
        values = _covariate(data, term, name, categorical=False).values
        out = values if out is None else out * values
    return out


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
