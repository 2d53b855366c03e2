"""`Model`: a family at given parameters, and what it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Block, Design, Encoding
from ardchoice.families import Family, Mnl, ParameterLayout
from ardchoice.numerics import map_reduce


@dataclass(frozen=True, eq=False)
class Move:
    """An exponent or threshold a step up and down, for derivatives by it.

    Attributes
    ----------
    up, down
        The columns then.
    width
        Between both.
    """

    up: Encoding
    down: Encoding
    width: float


@dataclass(frozen=True, eq=False)
class Model:
    """What prediction needs: parameters, how data become columns, and the family.

    Attributes
    ----------
    theta
        All parameters, in the order of the terms; shape (P,).
    encoding
        D columns.
    family
    moves
        Of the m exponents and thresholds that were estimated too, in their order.
    """

    theta: Floats
    encoding: Encoding
    family: Family = field(default_factory=Mnl)
    moves: tuple[Move, ...] = ()

    def moved(self) -> Iterator[tuple[Model, Model, float]]:
        """The models with each of them a step up and down, and the width between both."""
        for move in self.moves:
            up, down = (Model(self.theta, e, self.family) for e in (move.up, move.down))
            yield up, down, move.width

    def with_shapes(self, gradient: Floats, compute: Callable[[Model], Floats]) -> Floats:
        """Gradients of some numbers with their derivatives by exponents and thresholds behind.

        Parameters
        ----------
        gradient
            By the parameters; shape (..., P).
        compute
            The numbers, shape (...), of a model.
        """
        more = [(compute(up) - compute(down)) / width for up, down, width in self.moved()]
        return np.concatenate([gradient, np.stack(more, axis=-1)], axis=-1) if more else gradient

    @property
    def beta(self) -> Floats:
        """The coefficients of the columns; shape (D,)."""
        return self.theta[: self.encoding.n_columns]

    def on(self, data: ChoiceData) -> BlockModel:
        """Ready for the blocks of a design of some data."""
        design = Design(data, self.encoding)
        layout = self.family.layout(self.encoding)
        theta = np.concatenate([self.beta[design.order], self.theta[layout.n_columns :]])
        return BlockModel(self.family, layout.reordered(design.order), theta, design)


@dataclass(frozen=True, eq=False)
class BlockModel:
    """The same in block order, beside the design that the blocks come from."""

    family: Family
    layout: ParameterLayout
    theta: Floats
    design: Design

    def probabilities(self, block: Block) -> Floats:
        """Shape (J, B)."""
        return self.family.probabilities(self.theta, block, self.layout)

    def attribute_responses(
        self, block: Block, alternatives: Iterable[int], slopes: Block
    ) -> tuple[Floats, dict[int, Floats]]:
        """P, and ∂P_j/∂x_i of every j as an attribute of one, i, changes; shape (J, B) each."""
        return self.family.attribute_responses(self.theta, block, self.layout, alternatives, slopes)

    def response_gradient(
        self, block: Block, slopes: Block, pairs: Sequence[tuple[int, int]], weights: Floats
    ) -> Floats | None:
        """Gradient of weighted sums of ∂P_j/∂x_i of pairs (i, j); shape (S, pairs, P)."""
        family = self.family
        return family.response_gradient(self.theta, block, self.layout, slopes, pairs, weights)

    def share_gradient(self, block: Block, weights: Floats) -> Floats:
        """Gradient of weighted sums of P; shape (S, J, P)."""
        return self.family.share_gradient(self.theta, block, self.layout, weights)


def probabilities(model: Model, data: ChoiceData) -> Floats:
    """P for every alternative and situation; shape (J, N), zero where unavailable."""
    inside = model.on(data)
    out = np.empty(data.available.shape)
    for rows in inside.design.ranges():
        out[:, rows] = inside.probabilities(inside.design.block(rows))
    return out


@dataclass(frozen=True, eq=False)
class Predicted:
    """How well some choices are predicted: (weighted) sums over situations.

    Attributes
    ----------
    loglik
    hits
        Situations whose most likely alternative was chosen.
    weight
    shares
        P; shape (J,).
    """

    loglik: float
    hits: float
    weight: float
    shares: Floats

    def __add__(self, other: Predicted) -> Predicted:
        return Predicted(
            self.loglik + other.loglik,
            self.hits + other.hits,
            self.weight + other.weight,
            self.shares + other.shares,
        )


def prediction(model: Model, data: ChoiceData) -> Predicted:
    """One pass over any choices; without observed ones, log-likelihood and hits mean nothing."""
    inside = model.on(grouped_by_person(data) if model.family.panel else data)
    measure = _PredictionMeasure(inside.family, inside.layout, inside.theta)
    return map_reduce(measure, inside.design.passing())


@dataclass(frozen=True, eq=False)
class _PredictionMeasure:
    """Sums over a block; can be sent to another process."""

    family: Family
    layout: ParameterLayout
    theta: Floats

    def __call__(self, block: Block) -> Predicted:
        found = self.family.predict(self.theta, block, self.layout)
        p = found.probabilities
        hit = p.argmax(axis=0) == block.choice
        weight = np.ones(block.shape[1]) if block.weight is None else block.weight
        return Predicted(
            float(weight @ found.log_chosen),
            float(weight @ hit),
            float(weight.sum()),
            p @ weight,
        )
