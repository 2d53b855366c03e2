"""`Design`: terms met with data, expanded into columns only while a block is being used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ardchoice.data import Attribute, ChoiceData, Covariate
from ardchoice.design.encoding import Encoding, TermColumns, learn_encoding
from ardchoice.errors import ArdchoiceError, SpecificationError, TransformError
from ardchoice.logit import Block, Part
from ardchoice.space import Term
from ardchoice.space.transforms import Classes

Floats = npt.NDArray[np.float64]
Of = Literal["value", "slope", "elasticity"]
"""What a column holds: h(x), h'(x), or x h'(x)."""

BLOCK_BYTES = 1 << 22
"""Expanded size of a block: about what a core keeps near itself."""
KEEP_BYTES = 1 << 28
"""Expanded designs up to this size are kept rather than expanded again in every pass."""
FEWEST_ROWS = 64


@dataclass(frozen=True, eq=False)
class _Base:
    """The values that one or more terms start from, held once.

    Either numbers, shape (C, A, N), or classes, shape (A, N), of which C have a column; None for a
    constant, which is one wherever the alternative is available.
    """

    values: Floats | None
    classes: npt.NDArray[np.int32] | None
    n_columns: int


@dataclass(frozen=True, eq=False)
class _Piece:
    """One term in a part: its base, the combination of levels (None without), its multiplier."""

    base: _Base
    code: npt.NDArray[np.int32] | None
    n_codes: int
    times: Floats | None
    columns: slice

    @property
    def n_columns(self) -> int:
        return self.base.n_columns * self.n_codes


@dataclass(frozen=True, eq=False)
class _PartPlan:
    """The terms that enter the same alternatives; their columns stand together."""

    alternatives: tuple[int, ...]
    columns: slice
    pieces: tuple[_Piece, ...]


class Design:
    """Terms met with data; N situations, J alternatives, D columns.

    Holds each base value once and each category code once, and expands a block of rows into
    columns only while that block is being used.

    Parameters
    ----------
    data
        The choices.
    terms
        Terms to learn from these data, or the `Encoding` of an earlier design to repeat exactly.

    Attributes
    ----------
    encoding
        What was learned; ``Design(new_data, design.encoding)`` treats new data the same way.
    order
        Shape (D,): the coefficient, in the order of the terms, that each column of a block holds.
    """

    def __init__(
        self,
        data: ChoiceData,
        terms: Iterable[Term] | Encoding,
        *,
        of: Of = "value",
        attribute: str | None = None,
    ) -> None:
        self.data = data
        self.encoding = terms if isinstance(terms, Encoding) else learn_encoding(data, terms)
        if self.encoding.alternatives != data.alternatives:
            raise ArdchoiceError(
                f"The model knows the alternatives {', '.join(self.encoding.alternatives)}; these "
                f"data have {', '.join(data.alternatives)}."
            )
        self._all_available = bool(data.available.all())
        self._codes: dict[object, npt.NDArray[np.int32]] = {}
        self._bases: dict[object, _Base] = {}
        self._plans, self.order = self._plan(of, attribute)
        self.position = np.argsort(self.order)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every coefficient; D of them."""
        return self.encoding.names

    @property
    def n_columns(self) -> int:
        """Number of coefficients, D."""
        return self.encoding.n_columns

    # -- Planning: what is held -------------------------------------------------------------

    def _plan(
        self, of: Of, attribute: str | None
    ) -> tuple[tuple[_PartPlan, ...], npt.NDArray[np.intp]]:
        groups: dict[tuple[int, ...], list[TermColumns]] = {}
        for term in self.encoding.terms:
            groups.setdefault(term.alternatives, []).append(term)
        plans, order, start = [], [], 0
        for alternatives, terms in groups.items():
            first, pieces = start, []
            for term in terms:
                base = self._base(term, of if term.term.what == attribute else "value")
                if of != "value" and term.term.what != attribute:
                    base = _Base(np.zeros((base.n_columns, 1, 1)), None, base.n_columns)
                code, n_codes = self._code(term)
                columns = slice(start - first, start - first + term.n_columns)
                pieces.append(_Piece(base, code, n_codes, self._times(term), columns))
                order += list(range(term.start, term.start + term.n_columns))
                start += term.n_columns
            plans.append(_PartPlan(alternatives, slice(first, start), tuple(pieces)))
        return tuple(plans), np.array(order, dtype=np.intp)

    def _base(self, term: TermColumns, of: Of) -> _Base:
        key = (term.term.what, term.term.how, term.alternatives, of)
        if key not in self._bases:
            self._bases[key] = self._make_base(term, of)
        return self._bases[key]

    def _make_base(self, term: TermColumns, of: Of) -> _Base:
        what, how = term.term.what, term.term.how
        if what is None:
            return _Base(None, None, 1)
        if what not in self.data.attributes:
            raise SpecificationError(
                f"'{term.term}' needs the attribute {what!r}, which these data do not have."
            )
        attribute = self.data.attributes[what]
        if (term.base is None) != (attribute.levels is None):
            kinds = ("numeric", "categorical")
            kind = kinds[attribute.levels is not None]
            raise SpecificationError(
                f"{what} is {kind} in these data, but {kinds[kind == kinds[0]]} in the model."
            )
        available = self.data.available[list(term.alternatives)]
        if term.base is not None:
            if of != "value":
                return _Base(np.zeros((len(term.base.columns), 1, 1)), None, len(term.base.columns))
            here = self._restrict(attribute, term.alternatives)
            term.base.refuse_unseen(here, available)
            codes = term.base.positions(here)
            none = len(term.base.columns)
            return _Base(None, np.where(available, codes, none).astype(np.int32), none)
        values = self._restrict(attribute, term.alternatives).values
        if isinstance(how, Classes) and of == "value":
            codes = how.codes(np.where(available, values, 0.0).ravel(), term.parameters)
            none = len(term.parameters)
            return _Base(None, np.where(available, codes.reshape(values.shape), none), none)
        return self._numeric_base(term, values, available, of)

    @staticmethod
    def _restrict(attribute: Attribute, alternatives: tuple[int, ...]) -> Attribute:
        if attribute.alternatives == alternatives:
            return attribute
        rows = [attribute.alternatives.index(j) for j in alternatives]
        keep = slice(rows[0], rows[-1] + 1) if rows == list(range(rows[0], rows[-1] + 1)) else rows
        return Attribute(
            attribute.name,
            alternatives,
            attribute.values[keep],
            attribute.levels,
            attribute.reference,
        )

    def _numeric_base(
        self, term: TermColumns, values: Floats, available: npt.NDArray[np.bool_], of: Of
    ) -> _Base:
        how = term.term.how
        everywhere = bool(available.all())
        # Only values that count: elsewhere there may be anything, and the column is zero.
        x = values.ravel() if everywhere else values[available]
        try:
            how.check(x, term.parameters)
        except TransformError as error:
            raise TransformError(f"'{term.term}': {error}") from None
        if of == "value":
            columns = how.apply(x, term.parameters)
        else:
            columns = how.slope(x, term.parameters)
            if of == "elasticity":
                columns = np.where(x == 0, 0.0, x * np.where(x == 0, 0.0, columns))
        if everywhere:
            return _Base(columns.reshape(len(columns), *values.shape), None, len(columns))
        out = np.zeros((len(columns), *values.shape))
        out[:, available] = columns
        return _Base(out, None, len(out))

    def _code(self, term: TermColumns) -> tuple[npt.NDArray[np.int32] | None, int]:
        """Combined position of the levels, and how many combinations have a column."""
        n_codes = 1
        for levels in term.by:
            n_codes *= len(levels.columns)
        key = tuple(levels.name for levels in term.by)
        if not key:
            return None, 1
        if key not in self._codes:
            code = np.zeros(len(self.data), dtype=np.int32)
            reference = np.zeros(len(self.data), dtype=bool)
            for levels in term.by:
                covariate = self._covariate(levels.name, term, categorical=True)
                levels.refuse_unseen(covariate)
                position = levels.positions(covariate)
                reference |= position == len(levels.columns)
                code = code * len(levels.columns) + position
            code[reference] = n_codes
            self._codes[key] = code
        return self._codes[key], n_codes

    def _times(self, term: TermColumns) -> Floats | None:
        out: Floats | None = None
        for name in term.times:
            values = self._covariate(name, term, categorical=False).values
            out = values if out is None else out * values
        return out

    def _covariate(self, name: str, term: TermColumns, *, categorical: bool) -> Covariate:
        covariates = self.data.covariates
        if name not in covariates or covariates[name].is_categorical != categorical:
            kind = "categorical" if categorical else "numeric"
            raise SpecificationError(
                f"'{term.term}' needs the {kind} covariate {name!r}, which these data do not have."
            )
        return covariates[name]

    # -- Expanding: what is used ------------------------------------------------------------

    def row_bytes(self) -> int:
        """Bytes of one expanded row."""
        widths = (int(p.columns.stop - p.columns.start) * len(p.alternatives) for p in self._plans)
        return 8 * sum(widths)

    def expanded_bytes(self) -> int:
        """Bytes of the whole design, were it expanded at once."""
        return self.row_bytes() * len(self.data)

    def block(self, rows: slice) -> Block:
        """Expand a range of rows."""
        masks: dict[int, npt.NDArray[np.bool_]] = {}
        parts = tuple(
            Part(plan.alternatives, plan.columns, self._expand(plan, rows, masks))
            for plan in self._plans
        )
        data = self.data
        available = None if self._all_available else data.available[:, rows]
        if available is not None and available.all():
            available = None
        n = rows.stop - rows.start
        choice = np.zeros(n, dtype=np.intp) if data.choice is None else data.choice[rows]
        weight = None if data.weight is None else data.weight[rows]
        return Block(parts, available, choice, weight, (len(data.alternatives), n))

    def _expand(
        self, plan: _PartPlan, rows: slice, masks: dict[int, npt.NDArray[np.bool_]]
    ) -> Floats:
        n = rows.stop - rows.start
        out = np.empty((plan.columns.stop - plan.columns.start, len(plan.alternatives), n))
        for piece in plan.pieces:
            target = out[piece.columns]
            base = self._expand_base(piece.base, plan.alternatives, rows)
            if piece.times is not None:
                base = base * piece.times[rows]
            if piece.code is None:
                target[:] = base
                continue
            if id(piece.code) not in masks:
                levels = np.arange(piece.n_codes, dtype=np.int32)[:, None]
                masks[id(piece.code)] = piece.code[rows] == levels
            mask = masks[id(piece.code)]
            shape = (piece.base.n_columns, piece.n_codes, len(plan.alternatives), n)
            np.multiply(base[:, None], mask[None, :, None], out=target.reshape(shape))
        return out

    def _expand_base(self, base: _Base, alternatives: tuple[int, ...], rows: slice) -> Floats:
        """Shape (C, A, B), or one that broadcasts to it."""
        if base.classes is not None:
            levels = np.arange(base.n_columns, dtype=np.int32)[:, None, None]
            return np.asarray(base.classes[:, rows] == levels, dtype=float)
        if base.values is None:
            if self._all_available:
                return np.ones((1, 1, 1))
            return self.data.available[list(alternatives), rows].astype(float)[None]
        return base.values[..., rows] if base.values.shape[-1] > 1 else base.values

    def block_rows(self) -> int:
        """Rows of a block that is neither too large for the cache nor too small to be worth it."""
        row = max(self.row_bytes(), 8 * len(self.data.alternatives))
        return max(FEWEST_ROWS, BLOCK_BYTES // row)

    def ranges(self) -> list[slice]:
        """The rows of every block."""
        n, size = len(self.data), self.block_rows()
        return [slice(a, min(a + size, n)) for a in range(0, n, size)]

    def __iter__(self) -> Iterator[Block]:
        """Expand block after block."""
        return (self.block(rows) for rows in self.ranges())

    def blocks(self) -> Iterable[Block]:
        """Something to pass over again and again: expanded once if small, each time if large."""
        return list(self) if self.expanded_bytes() <= KEEP_BYTES else self

    def moments(self, blocks: Iterable[Block]) -> Moments:
        """Mean and standard deviation of every column where its alternatives are available."""
        total, square, count = np.zeros((3, self.n_columns))
        for block in blocks:
            for part in block.parts:
                x = part.x.reshape(len(part.x), -1)
                total[part.columns] += x.sum(axis=1)
                square[part.columns] += np.einsum("kb,kb->k", x, x)
        for plan in self._plans:
            count[plan.columns] = self.data.available[list(plan.alternatives)].sum()
        mean = total / np.maximum(count, 1)
        variance = np.maximum(square / np.maximum(count, 1) - mean**2, 0.0)
        back = self.position
        rms = np.sqrt(square / np.maximum(count, 1))
        return Moments(mean[back], np.sqrt(variance)[back], rms[back])


@dataclass(frozen=True, eq=False)
class Moments:
    """Of every column, over the rows where its alternatives are available; shape (D,) each."""

    mean: Floats
    sd: Floats
    rms: Floats
