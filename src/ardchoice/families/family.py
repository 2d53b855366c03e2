"""`Family`: how utilities become probabilities, and how persons differ.

Everything else (terms, designs, the one pass, Newton's method, covariances, selection, evaluation,
report, export, saved studies) is shared by all families and asks one for what is below.

What its parameters are is in `parameters.py`, and what its methods take and return in `records.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.data import ChoiceData
from ardchoice.design import (
    Block,
    Design,
    Encoding,
    Part,
    person_columns,
)
from ardchoice.families.parameters import Parameter, ParameterLayout, coefficient_parameters
from ardchoice.families.records import (
    EstimationTask,
    Individuals,
    Logsum,
    Maximum,
    Prediction,
    Resolved,
    Scores,
    TasteKind,
    TermRules,
)
from ardchoice.numerics import Order, Sums, map_reduce

PROBABILITY_FLOOR = 1e-300
"""Below it a probability has no logarithm."""
DIFFERENCE_STEP = 1e-5
"""Relative step of central differences, where a family has no formula of its own."""
DIFFERENCE_SCALE = 1e-3
"""Least size of a parameter that the step is relative to."""
RESPONSE_STEP = 1e-4
"""Largest change of a utility in central differences by an attribute: errors of gradients are
differences of such differences, which a smaller step would drown in rounding."""


@dataclass(frozen=True)
class Family(ABC):
    """A model family. A subclass is a frozen dataclass whose fields are its options.

    Class attributes: `tag`, its name in study files and saved studies; `title`, in reports;
    `concave`, whether its log-likelihood is; `panel`, whether its unit is the person; `is_costly`,
    whether a row takes so long that threads are worth it for few rows;
    `assumption`, a sentence or two for the report: what the family takes for granted;
    `formula`, how probabilities follow from utilities V.

    A family must say how to evaluate its log-likelihood, the scores of its units and its
    probabilities. The rest has defaults that hold for any family.
    """

    tag: ClassVar[str]
    title: ClassVar[str]
    concave: ClassVar[bool] = False
    panel: ClassVar[bool] = False
    is_costly: ClassVar[bool] = False
    assumption: ClassVar[str] = ""
    formula: ClassVar[str] = ""

    # -- What a family must have ------------------------------------------------------------

    @abstractmethod
    def evaluate(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        order: Order = 2,
        *,
        single_precision: bool = False,
    ) -> Sums:
        """Log-likelihood of a block, its gradient and its Hessian (negative).

        Parameters
        ----------
        theta
            In block order; shape (P,).
        block
        layout
            In block order.
        order
            0 for the log-likelihood alone, 1 with the gradient, 2 with the Hessian.
        single_precision
            Whether five digits of the Hessian are enough: a family may ignore it.
        """

    @abstractmethod
    def scores(self, theta: Floats, block: Block, layout: ParameterLayout) -> Scores:
        """The same with the gradient of every situation's, or person's, own log-likelihood."""

    @abstractmethod
    def probabilities(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """P of every alternative in every situation, zero where unavailable; shape (J, B)."""

    # -- What it may say better ---------------------------------------------------------------

    def resolve(self, design: Design) -> Resolved:
        """The family with options that the data decide filled in. Default: itself.

        Called once before estimation, where `fit` knows the data and the columns. Options that
        cannot be used with them raise an error here.
        """
        return Resolved(self)

    @property
    def covariates(self) -> tuple[str, ...]:
        """Covariates of persons that it uses beside the terms. Default: none."""
        return ()

    @property
    def for_selection(self) -> Family:
        """The family that terms are selected with. Default: itself.

        Selecting with a simpler one, such as the multinomial logit, is for families whose options
        the data decide once the terms are known.
        """
        return self

    def must_fit(self, candidates: Encoding, data: ChoiceData) -> None:
        """Refuse options that name what is in no candidate term and not in the data.

        Called before terms are searched, so that a mistake is reported before the work.
        Default: covariates that it uses.
        """
        person_columns(data, self.covariates)

    def selection_rules(self, candidates: Encoding) -> TermRules:
        """Candidates that a specification must or must not have for it. Default: none."""
        return TermRules()

    @property
    def details(self) -> str:
        """Its options in a few words, such as its nests. Default: nothing."""
        return ""

    @property
    def named_terms(self) -> tuple[str, ...]:
        """Terms that its options name, such as random coefficients. Default: none."""
        return ()

    def for_terms(self, encoding: Encoding) -> Family:
        """The family for another specification. Default: itself.

        A family that names terms keeps what there is of them, by place and attribute.
        """
        return self

    def frozen_at(self, theta: Floats) -> Family:
        """A family whose log-likelihood is smooth near θ. Default: itself.

        A family that simulates with nodes adapted to θ returns one that keeps those nodes.
        """
        return self

    def started_at(self, estimates: Mapping[str, float]) -> Family:
        """The family as it is estimated again on nearly the same choices. Default: itself.

        One whose likelihood has several maxima starts at these estimates, by name.
        """
        return self

    @property
    def n_exchangeable(self) -> int:
        """How many classes could change places without a change of the model. Default: 0."""
        return 0

    def relabelled(self, theta: Floats, layout: ParameterLayout, order: Ints) -> Floats:
        """θ with such classes in another order. Default: θ."""
        return theta

    def individual(
        self, theta: Floats, block: Block, layout: ParameterLayout
    ) -> Individuals | None:
        """What is known of every person of a block given their choices. Default: nothing.

        Conditional means and standard deviations of tastes, or class probabilities.
        """
        return None

    def extra_parameters(self, encoding: Encoding) -> tuple[Parameter, ...]:
        """What θ has besides the coefficients of the columns. Default: nothing."""
        return ()

    def layout(self, encoding: Encoding) -> ParameterLayout:
        """All parameters, in the order of the terms."""
        parameters = (*coefficient_parameters(encoding), *self.extra_parameters(encoding))
        return ParameterLayout(parameters, encoding.n_columns, encoding.alternatives)

    def predict(self, theta: Floats, block: Block, layout: ParameterLayout) -> Prediction:
        """Probabilities, and the log of those of the observed choices."""
        p = self.probabilities(theta, block, layout)
        picked = np.maximum(p.ravel()[block.picked], PROBABILITY_FLOOR)
        return Prediction(p, np.log(picked))

    def response(
        self, theta: Floats, block: Block, layout: ParameterLayout, alternative: int
    ) -> Floats:
        """∂P_j/∂V_i of every alternative j, as the utility of one, i, changes; shape (J, B).

        Elasticities and marginal effects follow from it. Default: central differences, by a
        column that adds to the utility of that alternative.
        """
        wide, shifted = layout.with_shift(), np.insert(theta, layout.n_columns, 0.0)
        up, down = shifted.copy(), shifted.copy()
        up[layout.n_columns], down[layout.n_columns] = DIFFERENCE_STEP, -DIFFERENCE_STEP
        more = _with_shift(block, alternative)
        above, below = (self.probabilities(t, more, wide) for t in (up, down))
        return np.asarray((above - below) / (2 * DIFFERENCE_STEP))

    def attribute_response(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        alternative: int,
        slopes: Block,
    ) -> Floats:
        """∂P_j/∂x_i of every alternative j, as an attribute of one, i, changes; shape (J, B).

        Tastes that vary are correlated with probabilities, so that this is not `response` times a
        mean marginal utility. Default: central differences.

        Parameters
        ----------
        theta, block, layout
        alternative
            i.
        slopes
            The derivatives of all columns by the attribute.
        """
        push = _columns_at(slopes, alternative)
        size = float(np.abs(theta[: layout.n_columns] @ push).max(initial=0.0))
        if not size:
            return np.zeros(block.shape)
        step = RESPONSE_STEP / size
        above, below = (
            self.probabilities(theta, _moved(block, alternative, sign * step, push), layout)
            for sign in (1, -1)
        )
        return np.asarray((above - below) / (2 * step))

    def attribute_responses(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        alternatives: Iterable[int],
        slopes: Block,
    ) -> tuple[Floats, dict[int, Floats]]:
        """Probabilities, shape (J, B), and `attribute_response` of several alternatives."""
        responses = {
            i: self.attribute_response(theta, block, layout, i, slopes) for i in alternatives
        }
        return self.probabilities(theta, block, layout), responses

    def response_gradient(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        slopes: Block,
        pairs: Sequence[tuple[int, int]],
        weights: Floats,
    ) -> Floats | None:
        """Σ_n a_n ∂²P_nj/∂x_ni∂θ_k of pairs (i, j); shape (S, pairs, P).

        Errors of elasticities and marginal effects follow from it. Default: None, for a family
        that has no formula; central differences are taken then.

        Parameters
        ----------
        theta, block, layout
        slopes
            The derivatives of all columns by the attribute.
        pairs
            Whose attribute changes, and whose probability.
        weights
            a; shape (S, B).
        """
        return None

    def share_gradient(
        self, theta: Floats, block: Block, layout: ParameterLayout, weights: Floats
    ) -> Floats:
        """Σ_n a_n ∂P_nj/∂θ_k of every alternative j and parameter k; shape (S, J, P).

        Errors of predicted shares follow from it. Default: central differences.

        Parameters
        ----------
        theta, block, layout
        weights
            a, such as the weights of the situations in every segment; shape (S, B).
        """
        out = np.empty((len(weights), block.shape[0], len(theta)))
        for k, value in enumerate(theta):
            step = DIFFERENCE_STEP * max(abs(value), DIFFERENCE_SCALE)
            up, down = theta.copy(), theta.copy()
            up[k], down[k] = value + step, value - step
            above, below = (self.probabilities(t, block, layout) for t in (up, down))
            out[..., k] = weights @ ((above - below) / (2 * step)).T
        return out

    def logsums(
        self, theta: Floats, block: Block, layout: ParameterLayout
    ) -> Iterable[Logsum] | None:
        """Expected maximum utility, kind of person by kind; the surplus of scenarios needs it.

        Default: None, for a family that has no formula.
        """
        return None

    def mean_coefficients(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """E[β] of the situations of a block, of whom nothing else is known; (D,) or (D, B).

        Mean marginal utilities, and the willingness to pay, follow from it. Default: the first D
        parameters, for a family in which tastes do not vary.
        """
        return theta[: layout.n_columns]

    def taste_kinds(self, theta: Floats, layout: ParameterLayout) -> tuple[TasteKind, ...]:
        """The coefficients of every kind of person, such as a class. Default: no kinds."""
        return ()

    def start(self, layout: ParameterLayout, near: Floats | None = None) -> Floats:
        """Where estimation starts; shape (P,).

        Parameters
        ----------
        layout
        near
            Coefficients of the multinomial logit (a warm start); shape (D,).
        """
        theta = layout.starts.copy()
        if near is not None:
            theta[: layout.n_columns] = near
        return theta

    def maximise(self, task: EstimationTask) -> Maximum:
        """Maximum likelihood. Default: Newton's method from a warm start, the MNL."""
        from ardchoice.families.estimate import maximise_from_mnl

        return maximise_from_mnl(self, task)

    def inadmissible(self, theta: Floats, layout: ParameterLayout) -> tuple[str, ...]:
        """Why estimates contradict the theory of the family, a sentence each. Default: nothing.

        Such a model is estimated and shown, but never selected.
        """
        return ()

    def diagnose(self, theta: Floats, layout: ParameterLayout) -> tuple[str, ...]:
        """What to know of estimates of this family, a sentence each. Default: bounds reached."""
        return tuple(
            f"{p.name} is at its bound, {value:g}: its standard error is not defined."
            for p, value in zip(layout.parameters, theta, strict=True)
            if value in p.bounds
        )


def _with_shift(block: Block, alternative: int) -> Block:
    """A block with a last column that is one for an alternative, where it is available."""
    x = np.ones((1, 1, block.shape[1]))
    if block.available is not None:
        x = x * block.available[alternative]
    d = block.n_columns
    return replace(block, parts=(*block.parts, Part((alternative,), slice(d, d + 1), x)))


def _columns_at(block: Block, alternative: int) -> Floats:
    """The columns of one alternative, zero for those of others; shape (D, B)."""
    out = np.zeros((block.n_columns, block.shape[1]))
    for part in block.parts:
        if alternative in part.alternatives:
            out[part.columns] = part.x[:, part.alternatives.index(alternative)]
    return out


def _moved(block: Block, alternative: int, step: float, push: Floats) -> Block:
    """A block with the columns of one alternative moved by a step times `push`, (D, B)."""
    parts = []
    for part in block.parts:
        if alternative in part.alternatives and push[part.columns].any():
            x = part.x.copy()
            x[:, part.alternatives.index(alternative)] += step * push[part.columns]
            part = replace(part, x=x)
        parts.append(part)
    return replace(block, parts=tuple(parts))


def family_pass(
    family: Family,
    layout: ParameterLayout,
    theta: Floats,
    blocks: Iterable[Block],
    order: Order = 2,
    *,
    single_precision: bool = False,
) -> Sums:
    """One pass: log-likelihood, gradient and Hessian summed over blocks in a fixed order."""
    return map_reduce(
        FamilyMeasure(family, layout, theta, order, single_precision=single_precision), blocks
    )


@dataclass(frozen=True, eq=False)
class FamilyMeasure:
    """`Family.evaluate` of one block at given parameters; can be sent to another process."""

    family: Family
    layout: ParameterLayout
    theta: Floats
    order: Order = 2
    single_precision: bool = False

    def __call__(self, block: Block) -> Sums:
        """Of one block."""
        return self.family.evaluate(
            self.theta, block, self.layout, self.order, single_precision=self.single_precision
        )
