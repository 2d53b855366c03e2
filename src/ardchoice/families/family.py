"""`Family`: how utilities become probabilities, and how persons differ.

Everything else (terms, designs, the one pass, Newton's method, covariances, selection, evaluation,
report, export, saved studies) is shared by all families and asks one for what is below.

Parameters θ come in one vector: first the coefficients β of the D columns of a design, then what
the family adds (scales, spreads, shares). Where a block is at hand, β is in the order of its
columns; `ParameterLayout.reordered` turns a layout into that order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from ardchoice._types import Bools, Floats, Ints
from ardchoice.data import ChoiceData
from ardchoice.design import (
    Block,
    CachedBlocks,
    Design,
    Encoding,
    Part,
    StreamedBlocks,
    person_columns,
)
from ardchoice.errors import SpecificationError
from ardchoice.numerics import NewtonFit, Order, Sums, map_reduce
from ardchoice.space import Term, parse_term

Kind = Literal["mean", "wtp", "sd", "correlation", "nest", "class", "scale"]
LOCATIONS: tuple[Kind, ...] = ("mean", "wtp")
"""Kinds of parameters that multiply a column: coefficients, and willingness to pay."""
"""What a parameter is: a (mean) coefficient, a spread of tastes, and so on."""
Separation = Literal["refuse", "allow"]
"""What to do when an estimate diverges: raise, or stop far out."""
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


@dataclass(frozen=True, eq=False)
class Scores:
    """Sums over a block, and every unit's own gradient.

    Attributes
    ----------
    sums
    each
        Weighted gradient of the log-likelihood of every situation or, for panel families, of
        every person of the block; shape (P, units).
    """

    sums: Sums
    each: Floats


@dataclass(frozen=True, eq=False)
class Prediction:
    """Of a block.

    Attributes
    ----------
    probabilities
        Zero where unavailable; shape (J, B).
    log_chosen
        Log of the probability of every observed choice; shape (B,).
    """

    probabilities: Floats
    log_chosen: Floats


@dataclass(frozen=True, eq=False)
class Individuals:
    """What a family says of every unit (person) of some blocks, given the unit's own choices.

    Attributes
    ----------
    persons
        Codes as in `Block.person`, or None for blocks without persons; shape (units,) each.
    columns
        What the numbers are: ``*: TT``, ``sd(*: TT)``, ``class 1``.
    values
        Shape (units, columns) each.
    """

    persons: tuple[Ints | None, ...]
    columns: tuple[str, ...]
    values: tuple[Floats, ...]

    def __add__(self, other: Individuals) -> Individuals:
        return Individuals(
            (*self.persons, *other.persons), self.columns, (*self.values, *other.values)
        )


class Information(str):
    """A note that says what was decided or found, and needs no action of the user."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class Resolved:
    """A family whose options are all decided.

    Attributes
    ----------
    family
    notes
        What was decided and why, a sentence each; `Information` where nothing is to be done.
    """

    family: Family
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TermRules:
    """Candidates that a family demands of every specification, as patterns of `Structure`.

    Attributes
    ----------
    force, forbid
        Terms that must be in, and terms that must not.
    """

    force: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Logsum:
    """Expected maximum utility of the situations of a block, for one kind of person.

    A family whose tastes vary has several kinds: classes, or draws of its coefficients.

    Attributes
    ----------
    value
        log Σ_j exp V_j in a multinomial logit; shape (B,).
    beta
        The coefficients of the columns that this kind has; shape (D,) or (D, B).
    weight
        Share of the kind; shape (B,), or one number.
    """

    value: Floats
    beta: Floats
    weight: Floats | float = 1.0


@dataclass(frozen=True, eq=False)
class TasteKind:
    """The coefficients of one kind of person.

    Attributes
    ----------
    name
        Such as ``class 2``.
    beta
        Shape (D,).
    gradient
        By all parameters; shape (D, P).
    """

    name: str
    beta: Floats
    gradient: Floats


@dataclass(frozen=True, eq=False)
class EstimationTask:
    """What a family needs in order to be estimated on some data.

    Attributes
    ----------
    design, blocks
        D columns, in the user's units.
    layout
        In block order.
    evaluate
        (θ, whether this pass is expected to be the last) -> Sums with gradient and Hessian.
    null_loglik
        With equal shares.
    tolerance
        Log-likelihood still to be gained at which Newton's method stops.
    max_iterations, separation
        As in `fit`.
    finish
        (family, θ) -> Sums that covariances can be computed from: the last pass, for a family
        that changed while it was estimated.
    """

    design: Design
    blocks: CachedBlocks | StreamedBlocks
    layout: ParameterLayout
    evaluate: Callable[[Floats, bool], Sums]
    null_loglik: float
    tolerance: float
    max_iterations: int
    separation: Separation
    finish: Callable[[Family, Floats], Sums]


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where estimation ended.

    Attributes
    ----------
    fit
        θ in block order.
    diverging
        Directions in which estimates diverge, shape (P, r); None for none.
    notes
        What a user must know of it, a sentence each; `Information` where nothing is to be done.
    family
        As estimated, such as with frozen nodes; None for the one that was given.
    """

    fit: NewtonFit
    diverging: Floats | None = None
    notes: tuple[str, ...] = ()
    family: Family | None = None


@dataclass(frozen=True)
class Family(ABC):
    """A model family. A subclass is a frozen dataclass whose fields are its options.

    Class attributes: `tag`, its name in study files and saved studies; `title`, in reports;
    `concave`, whether its log-likelihood is; `panel`, whether its unit is the person;
    `assumption`, a sentence or two for the report: what the family takes for granted;
    `formula`, how probabilities follow from utilities V.

    A family must say how to evaluate its log-likelihood, the scores of its units and its
    probabilities. The rest has defaults that hold for any family.
    """

    tag: ClassVar[str]
    title: ClassVar[str]
    concave: ClassVar[bool] = False
    panel: ClassVar[bool] = False
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
