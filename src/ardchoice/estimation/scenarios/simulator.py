"""`Simulator`: a model on some data, whose design is expanded once for any number of scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import KEEP_BYTES, Block, Design
from ardchoice.estimation.elasticities import ALL, segments
from ardchoice.estimation.model import BlockModel, Model
from ardchoice.estimation.scenarios.apply import ChangedData, ObservedRange, apply_changes
from ardchoice.estimation.scenarios.changes import Change


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows as they were observed.

    Attributes
    ----------
    rows
    block
    probabilities
        Shape (J, B).
    """

    rows: slice
    block: Block
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class Segments:
    """Groups of situations: the whole sample first, then every group.

    Attributes
    ----------
    names
        S of them.
    weights
        Of every situation in each, zero outside; shape (S, N).
    counts
        Situations; shape (S,).
    """

    names: tuple[str, ...]
    weights: Floats
    counts: tuple[int, ...]

    @property
    def total(self) -> Floats:
        """Weight of each; shape (S,)."""
        return np.asarray(self.weights.sum(axis=1))


def make_segments(data: ChoiceData, by: Sequence[str]) -> Segments:
    """The whole sample and, with `by`, every combination of levels that occurs."""
    weights = data.weights
    groups = list(segments(data, by)) if by else []
    rows = [weights, *(weights * inside for _, inside in groups)]
    counts = (len(data), *(int(inside.sum()) for _, inside in groups))
    return Segments((ALL, *(name for name, _ in groups)), np.stack(rows), counts)


class Simulator:
    """A model on some data: what it predicts there, and what it would after changes.

    Blocks of the data as observed, and their probabilities, are computed once. A scenario expands
    again only the terms that its changes touch.

    Parameters
    ----------
    model
    data
        The situations that scenarios change.
    estimated_on
        The data that the model was estimated on, for notes on values that it has not seen.
    """

    def __init__(self, model: Model, data: ChoiceData, estimated_on: ChoiceData) -> None:
        self.model, self.data, self.estimated_on = model, data, estimated_on
        self.inside: BlockModel = model.on(data)
        self.observed = ObservedRange(estimated_on, model.encoding)
        self._segments: dict[tuple[str, ...], Segments] = {}
        self._base_gradients: dict[tuple[str, ...], Floats] = {}
        self._latest: tuple[ChangedData, list[tuple[Piece, Block]]] | None = None

    def segments(self, by: Sequence[str]) -> Segments:
        """The whole sample and the segments, made once."""
        key = tuple(by)
        if key not in self._segments:
            self._segments[key] = make_segments(self.data, by)
        return self._segments[key]

    def change(self, changes: Sequence[Change]) -> ChangedData:
        """The data after changes, with notes on what the model has not seen."""
        found = apply_changes(self.data, changes)
        notes = self.observed.notes(self.data, found, changes)
        return replace(found, notes=tuple(notes))

    # -- Passes ---------------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> list[Piece] | None:
        """All pieces, where they fit in memory."""
        if self.inside.design.expanded_bytes() > KEEP_BYTES:
            return None
        return list(self._expand())

    def _expand(self) -> Iterator[Piece]:
        for rows in self.inside.design.ranges():
            block = self.inside.design.block(rows)
            yield Piece(rows, block, self.inside.probabilities(block))

    def pieces(self) -> Iterator[Piece]:
        """The data as observed."""
        return iter(self._kept) if self._kept is not None else self._expand()

    def pairs(self, changed: ChangedData) -> Iterator[tuple[Piece, Block]]:
        """The data as observed, and the same rows after the changes."""
        if self._kept is None:
            return self._changed_pairs(changed)
        # Shares, gradients and surplus of a scenario pass over the same blocks one after the other.
        if self._latest is None or self._latest[0] is not changed:
            self._latest = changed, list(self._changed_pairs(changed))
        return iter(self._latest[1])

    def _changed_pairs(self, changed: ChangedData) -> Iterator[tuple[Piece, Block]]:
        design = Design(changed.data, self.model.encoding, only=changed.touches)
        for piece in self.pieces():
            yield piece, design.block(piece.rows, like=piece.block)

    @cached_property
    def moved(self) -> list[tuple[Simulator, Simulator, float]]:
        """The same with every exponent and threshold a step up and down, and the width."""
        return [
            (
                Simulator(up, self.data, self.estimated_on),
                Simulator(down, self.data, self.estimated_on),
                h,
            )
            for up, down, h in self.model.moved()
        ]

    def demand(self, changed: ChangedData | None, by: Sequence[str]) -> Floats:
        """Expected choices, as observed or after changes; shape (S, J)."""
        weights, inside = self.segments(by).weights, self.inside
        if changed is None:
            parts = [weights[:, one.rows] @ one.probabilities.T for one in self.pieces()]
        else:
            parts = [
                weights[:, one.rows] @ inside.probabilities(block).T
                for one, block in self.pairs(changed)
            ]
        return np.asarray(sum(parts))

    def _by_shapes(
        self, gradient: Floats, changed: ChangedData | None, by: Sequence[str]
    ) -> Floats:
        """A gradient of the demand with derivatives by exponents and thresholds behind."""
        more = [
            (up.demand(changed, by) - down.demand(changed, by)) / width
            for up, down, width in self.moved
        ]
        return np.concatenate([gradient, np.stack(more, axis=-1)], axis=-1) if more else gradient

    # -- Gradients ------------------------------------------------------------------------------

    def share_gradient(self, block: Block, weights: Floats) -> Floats:
        """Σ_n a_n ∂P_nj/∂θ in block order; shape (S, J, P)."""
        inside = self.inside
        return inside.family.share_gradient(inside.theta, block, inside.layout, weights)

    def in_term_order(self, gradient: Floats) -> Floats:
        """From block order; last axis (P,)."""
        layout, design = self.inside.layout, self.inside.design
        return np.asarray(gradient[..., layout.permutation(design.position)])

    def base_gradient(self, by: Sequence[str]) -> Floats:
        """Of the demand as observed, in the order of the terms; shape (S, J, P)."""
        key = tuple(by)
        if key not in self._base_gradients:
            weights = self.segments(by).weights
            found = sum(
                self.share_gradient(piece.block, weights[:, piece.rows]) for piece in self.pieces()
            )
            inside = self.in_term_order(np.asarray(found))
            self._base_gradients[key] = self._by_shapes(inside, None, by)
        return self._base_gradients[key]

    def changed_gradient(self, changed: ChangedData, by: Sequence[str]) -> Floats:
        """The same after changes."""
        weights = self.segments(by).weights
        found = sum(
            self.share_gradient(block, weights[:, piece.rows])
            for piece, block in self.pairs(changed)
        )
        return self._by_shapes(self.in_term_order(np.asarray(found)), changed, by)
