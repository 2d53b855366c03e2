"""Which candidates cannot be: values outside a transform, no variation, empty cells, duplicates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, Covariate, pick, values_of
from ardchoice.errors import SpecificationError, TransformError, did_you_mean
from ardchoice.space.factors import INVERSE, Factor, column_of, parse_factor
from ardchoice.space.terms import Term
from ardchoice.space.transforms import Ratio

SAME_CORRELATION_GAP = 1e-10
"""Two candidates whose correlation is closer to one than this are the same candidate."""
MIN_COLUMN_LENGTH = 1e-12
"""A column shorter than this, once centred, does not vary."""
COMPARED_ROWS = 20_000
"""Rows on which candidates are compared at first."""


@dataclass(frozen=True)
class _Base:
    """A form without interactions: its columns, why it cannot be (or None), what it learned."""

    columns: int
    reason: str | None = None
    parameters: tuple[float, ...] = ()


class Candidates:
    """Whether a term can be estimated at all, and how many columns it has."""

    def __init__(self, data: ChoiceData) -> None:
        self.data = data
        self.n_columns: dict[Term, int] = {}
        self._bases: dict[object, _Base] = {}
        self._cells: dict[object, npt.NDArray[np.intp]] = {}
        self._prints: dict[tuple[object, ...], list[Term]] = {}
        self._sample = slice(None, None, max(1, len(data) // COMPARED_ROWS))

    def refuse(self, term: Term) -> str | None:
        """Why the term cannot be, or None."""
        alternatives = self._alternatives(term)
        key = (term.what, term.how, alternatives)
        if key not in self._bases:
            self._bases[key] = self._base(term, alternatives)
        base = self._bases[key]
        if base.reason is not None:
            return base.reason
        columns = base.columns
        levels = []
        for name in term.by:
            column = column_of(name, self.data.covariates)
            if name not in self.data.covariates and column in self._numbers:
                reason = self._refuse_factor(parse_factor(name), alternatives)
                if reason is not None:
                    return reason
                continue
            if name not in self.data.covariates:
                raise SpecificationError(
                    f"'{term}': there is no covariate {name!r}. "
                    f"{did_you_mean(name, self.data.covariates)}"
                )
            covariate = self.data.covariates[name]
            if covariate.levels is not None:
                levels.append(covariate)
                columns *= len(covariate.levels) - 1
        self.n_columns[term] = columns
        if columns == 0:
            return "a covariate has one level only"
        reason = self._empty_cell(levels, alternatives)
        if reason is not None:
            return reason
        duplicate = self._duplicate(term, alternatives)
        return None if duplicate is None else f"the same as '{duplicate}'"

    @property
    def _numbers(self) -> set[str]:
        """What functions and products can be made of."""
        numeric = {c.name for c in self.data.covariates.values() if not c.is_categorical}
        return numeric | {a.name for a in self.data.attributes.values() if a.levels is None}

    def _refuse_factor(self, factor: Factor, alternatives: tuple[int, ...]) -> str | None:
        """Why nothing can be multiplied by a factor; None where it can."""
        if factor.name in self.data.covariates:
            values = self.data.covariates[factor.name].numbers()
        else:
            attribute = self.data.attributes[factor.name]
            if not alternatives or not set(alternatives) <= set(attribute.alternatives):
                return f"not every alternative has {factor.name}"
            values = values_of(self.data, attribute, alternatives).values
        try:
            factor.check(values)
        except TransformError as error:
            return str(error).rstrip(".")
        return None

    def _factor_values(self, factor: Factor, j: int, rows: slice) -> Floats:
        """Of one alternative, one where it is unavailable; shape (n,)."""
        if factor.name in self.data.covariates:
            return factor.apply(self.data.covariates[factor.name].numbers(rows))
        available = self.data.available[j, rows]
        values = np.asarray(self.data.attributes[factor.name].of(j, rows), dtype=float)
        out = np.ones(len(available))
        out[available] = factor.apply(values[available])
        return out

    def _empty_cell(self, covariates: list[Covariate], alternatives: tuple[int, ...]) -> str | None:
        """A combination of levels, none the reference, that no situation has; None without."""
        if not covariates:
            return None
        levels = [c.levels or () for c in covariates]
        shape = tuple(len(names) for names in levels)
        counts = self._counts(covariates, shape, alternatives)
        for cell in np.argwhere(counts == 0):
            if all(i != c.reference for i, c in zip(cell, covariates, strict=True)):
                named = (
                    f"{c.name}={names[i]}"
                    for c, names, i in zip(covariates, levels, cell, strict=True)
                )
                return f"no situation with {', '.join(named)}"
        return None

    def _counts(
        self, covariates: list[Covariate], shape: tuple[int, ...], alternatives: tuple[int, ...]
    ) -> npt.NDArray[np.intp]:
        """How many situations have every combination of levels, an alternative being available."""
        key = (tuple(c.name for c in covariates), alternatives)
        if key not in self._cells:
            counts = np.zeros(math.prod(shape), dtype=np.intp)
            for rows in self.data.ranges():
                seen = pick(self.data.available, alternatives, rows).any(axis=0)
                codes = [c.values[rows][seen] for c in covariates]
                code = np.ravel_multi_index(codes, shape)
                counts += np.bincount(code, minlength=len(counts))
            self._cells[key] = counts.reshape(shape)
        return self._cells[key]

    def _alternatives(self, term: Term) -> tuple[int, ...]:
        if term.where:
            return tuple(sorted(self.data.alternative(name) for name in term.where))
        names = [term.what, *(column_of(name, self.data.covariates) for name in term.by)]
        having = [
            set(self.data.attributes[name].alternatives)
            for name in names
            if name is not None and name in self.data.attributes
            if name == term.what or name not in self.data.covariates
        ]
        everywhere = set(range(len(self.data.alternatives)))
        return tuple(sorted(everywhere.intersection(*having)))

    def _base(self, term: Term, alternatives: tuple[int, ...]) -> _Base:
        """The term without its interactions."""
        if term.what is None:
            return _Base(1)
        if term.what not in self.data.attributes:
            raise SpecificationError(
                f"'{term}': there is no attribute {term.what!r}. "
                f"{did_you_mean(term.what, self.data.attributes)}"
            )
        attribute = self.data.attributes[term.what]
        if not set(alternatives) <= set(attribute.alternatives):
            return _Base(0, f"not every alternative has {term.what}")
        if isinstance(term.how, Ratio):
            below = self.data.covariates.get(term.how.covariate)
            if below is None or below.is_categorical:
                raise SpecificationError(
                    f"'{term}': there is no numeric covariate {term.how.covariate!r} to divide by. "
                    f"{did_you_mean(term.how.covariate, self._numbers)}"
                )
            reason = self._refuse_factor(Factor(below.name, INVERSE), alternatives)
            if reason is not None:
                return _Base(0, reason)
        known = values_of(self.data, attribute, alternatives)
        values = known.values
        if not len(values) or values.min() == values.max():
            return _Base(0, "it never varies where available")
        if attribute.levels is not None:
            return _Base(len(attribute.levels) - 1)
        try:
            parameters = term.how.learn(values, known.counts)
            term.how.check(values, parameters, known.counts)
        except TransformError as error:
            return _Base(0, str(error).rstrip("."))
        return _Base(len(term.how.labels(parameters)), None, parameters)

    def _duplicate(self, term: Term, alternatives: tuple[int, ...]) -> Term | None:
        """An earlier candidate with the same columns up to scale and shift."""
        some = self._standardised(term, alternatives, self._sample)
        if some is None:
            return None
        # Only candidates with the same print on some rows are compared in full.
        mark = np.random.default_rng(0).standard_normal(some.shape[1])
        key = (alternatives, len(some), *np.round(np.abs(some @ mark), 5))
        earlier = self._prints.setdefault(key, [])
        for other in earlier:
            if self._alike(term, other, alternatives):
                return other
        earlier.append(term)
        return None

    def _alike(self, term: Term, other: Term, alternatives: tuple[int, ...]) -> bool:
        """Whether two candidates have the same columns up to scale and shift, in all rows."""
        count, means, products = 0, np.zeros(1), np.zeros(1)
        for rows in self.data.ranges():
            for j in alternatives:
                seen = self.data.available[j, rows]
                if not seen.any():
                    continue
                both = np.stack(
                    [self._values(t, j, alternatives, rows)[:, seen] for t in (term, other)]
                )
                # Deviations from the mean of these rows, then of all.
                here, n = both.mean(axis=2), both.shape[2]
                both -= here[:, :, None]
                away, share = here - means, n / (count + n)
                products = products + np.einsum("akn,bkn->kab", both, both)
                products += count * share * np.einsum("ak,bk->kab", away, away)
                means, count = means + share * away, count + n
        size = np.einsum("kaa->ka", products)
        if not count or (np.sqrt(size) <= MIN_COLUMN_LENGTH).any():
            return False
        alike = np.abs(products[:, 0, 1]) / np.sqrt(size.prod(axis=1))
        return bool((alike > 1 - SAME_CORRELATION_GAP).all())

    def _standardised(
        self, term: Term, alternatives: tuple[int, ...], rows: slice
    ) -> Floats | None:
        """Columns with mean zero and length one over available rows; None if some never vary."""
        parts = []
        for j in alternatives:
            seen = self.data.available[j, rows]
            parts.append(self._values(term, j, alternatives, rows)[:, seen])
        columns = np.concatenate(parts, axis=1)
        if not columns.shape[1]:
            return None
        columns = columns - columns.mean(axis=1, keepdims=True)
        size = np.sqrt(np.einsum("kn,kn->k", columns, columns))[:, None]
        return None if (size <= MIN_COLUMN_LENGTH).any() else np.asarray(columns / size)

    def _values(self, term: Term, j: int, alternatives: tuple[int, ...], rows: slice) -> Floats:
        """The columns of a term for one alternative, as the design would expand them; (K, n)."""
        available = self.data.available[j, rows]
        out = np.ones((1, len(available)))
        if term.what is not None:
            attribute = self.data.attributes[term.what]
            values = attribute.of(j, rows)
            if attribute.levels is not None:
                others = [i for i in range(len(attribute.levels)) if i != attribute.reference]
                out = (values == np.array(others)[:, None]).astype(float)
            else:
                base = self._bases[term.what, term.how, alternatives]
                out = np.zeros((base.columns, len(available)))
                out[:, available] = term.how.apply(values[available], base.parameters)
        if isinstance(term.how, Ratio):
            out = out * self._factor_values(Factor(term.how.covariate, INVERSE), j, rows)
        for name in term.by:
            if name not in self.data.covariates:
                out = out * self._factor_values(parse_factor(name), j, rows)
                continue
            covariate = self.data.covariates[name]
            times = covariate.values[rows][None].astype(float)
            if covariate.levels is not None:
                others = [i for i in range(len(covariate.levels)) if i != covariate.reference]
                times = (covariate.values[rows] == np.array(others)[:, None]).astype(float)
            out = (out[:, None] * times[None]).reshape(-1, len(available))
        return out
