"""What goes into the methods of a family and comes out of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ardchoice._types import Floats, Ints
from ardchoice.design import CachedBlocks, Design, StreamedBlocks
from ardchoice.families.parameters import ParameterLayout
from ardchoice.numerics import NewtonFit, Sums

if TYPE_CHECKING:
    from ardchoice.families.family import Family

Separation = Literal["refuse", "allow"]
"""What to do when an estimate diverges: raise, or stop far out."""


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
