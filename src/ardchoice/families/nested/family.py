"""`Nested`: alternatives that resemble each other share a nest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design, Encoding
from ardchoice.errors import IdentificationError, SpecificationError
from ardchoice.families.estimate import maximise_from_mnl
from ardchoice.families.family import Family
from ardchoice.families.mnl import Mnl
from ardchoice.families.mnl.kernel import utilities, weighted_columns
from ardchoice.families.nested.kernel import (
    NestState,
    derivatives,
    evaluate,
    log_chosen,
    nest_state,
    parameter_order,
)
from ardchoice.families.nested.search import find_nests
from ardchoice.families.nested.structure import (
    SCALE_BOUNDS,
    NestArrays,
    checked_allocation,
    checked_nests,
    nest_arrays,
)
from ardchoice.families.parameters import Parameter, ParameterLayout
from ardchoice.families.records import (
    EstimationTask,
    Information,
    Logsum,
    Maximum,
    Prediction,
    Resolved,
    Scores,
)
from ardchoice.families.registry import register_family
from ardchoice.numerics import Order, Sums

CROSS_TITLE = "Cross-nested logit"
CROSS_FORMULA = (
    "The probability of a nest is exp I / Σ exp I with I = log(Σ (α exp V)^μ) / μ over its "
    "available alternatives, that of an alternative in it (α exp V)^μ / Σ (α exp V)^μ; α is the "
    "allocation of the alternative to the nest."
)
DIVERGING = (
    "Choices in the nest are all but without error, or what decides them says next to nothing of "
    "the choice between nests"
)
"""What a scale without bound means."""
FEWEST_ALTERNATIVES = 3
"""With fewer, a nest would hold them all."""
ALLOCATION_BOUNDS = (1e-4, 1.0 - 1e-4)
"""Of α: at zero or one the alternative has left a nest."""


@register_family
@dataclass(frozen=True)
class Nested(Family):
    """The nested logit: alternatives of a nest are closer substitutes for each other.

    P(j) = P(nest) P(j | nest), with P(j | m) proportional to exp(μ_m V_j) and
    P(m) to exp(I_m), I_m = (1/μ_m) log Σ_j exp(μ_m V_j). The scale at the top is 1. With μ = 1 it
    is the multinomial logit; the correlation of utilities in a nest is 1 - 1/μ². λ = 1/μ is the
    dissimilarity (logsum) parameter of other programs.

    Attributes
    ----------
    nests
        Name -> alternatives. Alternatives that no nest names stand alone. None: the data decide.
        Default: None.
    equal
        Whether all nests share one scale. Default: False.
    cross
        Whether an alternative may be in several nests (cross-nested logit), with allocations α
        that add up to one over its nests, P(j | m) proportional to (α_jm exp V_j)^μ_m. Default:
        False.
    allocation
        With `cross`, alternative -> nest -> α, where it is given. Default: estimated.

    Examples
    --------
    >>> import ardchoice as ac
    >>> ac.Nested({"existing": ["TRAIN", "CAR"]}).title
    'Nested logit'
    """

    nests: Mapping[str, Sequence[str]] | None = None
    equal: bool = False
    cross: bool = False
    allocation: Mapping[str, Mapping[str, float]] | None = None

    tag: ClassVar[str] = "nested"
    title: ClassVar[str] = "Nested logit"
    assumption: ClassVar[str] = (
        "The model is a nested logit: alternatives of a nest share what is not observed, "
        "alternatives of different nests do not, and everyone has the same tastes."
    )
    formula: ClassVar[str] = (
        "The probability of a nest is exp I / Σ exp I with I = log(Σ exp μV) / μ over its "
        "available alternatives, that of an alternative in it exp μV / Σ exp μV."
    )

    def __post_init__(self) -> None:
        if self.nests is None:
            if self.cross or self.allocation is not None:
                raise SpecificationError(
                    "A cross-nested logit needs its nests: Nested({...}, cross=True). Only nests "
                    "that do not overlap can be searched for."
                )
            return
        nests = checked_nests(self.nests, cross=self.cross)
        object.__setattr__(self, "nests", nests)
        if self.cross:
            object.__setattr__(self, "title", CROSS_TITLE)
            object.__setattr__(self, "formula", CROSS_FORMULA)
        if self.allocation is not None:
            if not self.cross:
                raise SpecificationError("An allocation needs cross=True: nests that overlap.")
            object.__setattr__(self, "allocation", checked_allocation(self.allocation, nests))

    def __hash__(self) -> int:
        return hash((self._key, self.equal, self.cross, self._allocation_key))

    @property
    def _key(self) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
        if self.nests is None:
            return None
        return tuple((name, tuple(members)) for name, members in self.nests.items())

    @property
    def _allocation_key(self) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
        given = self.allocation or {}
        return tuple((name, tuple(shares.items())) for name, shares in given.items())

    @property
    def for_selection(self) -> Family:
        """The multinomial logit, where nests are still to be found."""
        return Mnl() if self.nests is None else self

    @property
    def details(self) -> str:
        """Nests and their alternatives."""
        if self.nests is None:
            return "nests found by the data"
        shown = "; ".join(f"{name} ({', '.join(m)})" for name, m in self.nests.items())
        return f"cross-nested: {shown}" if self.cross else shown

    def arrays(self, alternatives: tuple[str, ...]) -> NestArrays:
        """The structure among these alternatives; an error where it does not fit them."""
        if self._key is None:
            raise SpecificationError(
                "The nests are still to be found: estimate with ac.fit(data, spec, "
                "family=ac.Nested(None)), and use result.family."
            )
        return nest_arrays(
            self._key, alternatives, equal=self.equal, allocation=self._allocation_key
        )

    def must_fit(self, candidates: Encoding, data: ChoiceData) -> None:
        """Refuse nests and allocations of alternatives that there are not."""
        if self.nests is not None:
            self.arrays(candidates.alternatives)

    def resolve(self, design: Design) -> Resolved:
        """The nests that the data support, where none are given; the MNL where there are none."""
        if self.nests is not None:
            return Resolved(self)
        if len(design.encoding.alternatives) < FEWEST_ALTERNATIVES:
            raise SpecificationError(
                "A nest needs two alternatives and one outside it: there are only "
                f"{len(design.encoding.alternatives)} alternatives. Use Mnl()."
            )
        found = find_nests(design, equal=self.equal)
        tried = f"{found.fits} structure{'' if found.fits == 1 else 's'} estimated"
        diverging = tuple(
            f"Not accepted: nest {', '.join(members)}, whose scale diverges (mu at its bound of "
            f"{SCALE_BOUNDS[1]:g}). {DIVERGING}."
            for members in found.diverging
        )
        if not found.nests:
            note = f"No nest is supported by the data ({tried}): this is the multinomial logit."
            return Resolved(Mnl(), (Information(note), *diverging))
        shown = "; ".join(f"{name} ({', '.join(m)})" for name, m in found.nests.items())
        note = (
            f"Nests found by the data, {tried}: {shown}. "
            f"Log-likelihood {found.loglik:,.1f}, {found.loglik - found.mnl_loglik:,.1f} above "
            "the multinomial logit. Standard errors take the nests as given."
        )
        return Resolved(replace(self, nests=found.nests), (Information(note), *diverging))

    def extra_parameters(self, encoding: Encoding) -> tuple[Parameter, ...]:
        """A scale per nest (or one for all), and the allocations that are estimated."""
        arrays = self.arrays(encoding.alternatives)
        scales = (
            Parameter(name, "nest", start=1.0, bounds=SCALE_BOUNDS, null_value=1.0)
            for name in arrays.scale_names
        )
        counts = np.bincount(arrays.alternative)
        owner = [arrays.alternative[np.argmax(column > 0)] for column in arrays.allocation_slopes.T]
        even = [1 / counts[j] for j in owner]
        shares = (
            Parameter(name, "nest", start=start, bounds=ALLOCATION_BOUNDS)
            for name, start in zip(arrays.allocation_names, even, strict=True)
        )
        return (*scales, *shares)

    def evaluate(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        order: Order = 2,
        *,
        single_precision: bool = False,
    ) -> Sums:
        """Log-likelihood, gradient, Hessian."""
        return evaluate(theta, block, layout.n_columns, self.arrays(layout.alternatives), order)

    def scores(self, theta: Floats, block: Block, layout: ParameterLayout) -> Scores:
        """The same with the gradient of every situation."""
        arrays, d = self.arrays(layout.alternatives), layout.n_columns
        state = self._state(theta, block, layout)
        first = derivatives(state, block)
        by_alternative = np.zeros(block.shape)
        np.add.at(by_alternative, arrays.alternative, first.by_utility)
        scales = np.zeros((arrays.n_scales, block.shape[1]))
        np.add.at(scales, arrays.scale_of, first.by_scale[: len(arrays.names)])
        each = [weighted_columns(by_alternative, block)]
        if arrays.is_cross:
            alpha = arrays.allocations(theta[d + arrays.n_scales :])
            each.append((arrays.allocation_slopes / alpha[:, None]).T @ first.by_utility)
        stacked = np.vstack([*each, scales])[parameter_order(d, arrays)]
        if block.weight is not None:
            stacked = stacked * block.weight
        return Scores(self.evaluate(theta, block, layout), stacked)

    def probabilities(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """P(nest) P(alternative | nest); shape (J, B)."""
        return self._state(theta, block, layout).probabilities(block.shape[0])

    def predict(self, theta: Floats, block: Block, layout: ParameterLayout) -> Prediction:
        """Logs from utilities: the probability of a hopeless choice rounds to zero."""
        state = self._state(theta, block, layout)
        return Prediction(state.probabilities(block.shape[0]), log_chosen(state, block))

    def response(
        self, theta: Floats, block: Block, layout: ParameterLayout, alternative: int
    ) -> Floats:
        """∂P_j/∂V_i = Σ_l P_l π_jl (μ_l (1[i = j] - π_il) + π_il - P_i); shape (J, B)."""
        state = self._state(theta, block, layout)
        arrays, p = state.arrays, state.probabilities(block.shape[0])
        joint = np.exp(state.log_joint)
        own = (arrays.alternative == alternative)[:, None]
        within = state.sums(np.where(own, state.within, 0.0))[arrays.nest]
        mu = state.mu[arrays.nest][:, None]
        each = joint * (mu * (own - within) + within - p[alternative])
        # π_il is zero in nests without i, where only the shares of nests respond.
        out = np.zeros(block.shape)
        np.add.at(out, arrays.alternative, each)
        return out

    def logsums(self, theta: Floats, block: Block, layout: ParameterLayout) -> tuple[Logsum]:
        """Expected maximum utility, log Σ_l exp I_l."""
        total = self._state(theta, block, layout).log_total
        return (Logsum(total, theta[: layout.n_columns]),)

    def _state(self, theta: Floats, block: Block, layout: ParameterLayout) -> NestState:
        v, arrays = utilities(theta[: layout.n_columns], block), self.arrays(layout.alternatives)
        return nest_state(v, block.available, arrays, theta[layout.n_columns :])

    def maximise(self, task: EstimationTask) -> Maximum:
        """Newton's method from the multinomial logit, which is the nested logit with μ = 1."""
        self._refuse_separate(task)
        return maximise_from_mnl(self, task)

    def _refuse_separate(self, task: EstimationTask) -> None:
        """Nests whose alternatives are never available together have no scale."""
        data, nests = task.design.data, self.nests or {}
        for name, members in nests.items():
            places = [data.alternative(member) for member in members]
            together = sum(
                int((data.available[places, rows].sum(axis=0) > 1).sum()) for rows in data.ranges()
            )
            if not together:
                raise IdentificationError(
                    f"The scale of nest {name!r} is not identified: its alternatives "
                    f"({', '.join(members)}) are never available together. Leave the nest out."
                )

    def inadmissible(self, theta: Floats, layout: ParameterLayout) -> tuple[str, ...]:
        """Nests with a scale below 1, and those whose scale diverges."""
        notes = (_scale_note(*nest) for nest in self._scales(theta, layout))
        return tuple(note for note in notes if not isinstance(note, Information))

    def diagnose(self, theta: Floats, layout: ParameterLayout) -> tuple[str, ...]:
        """What each scale means, and allocations at their bounds."""
        notes = (_scale_note(*nest) for nest in self._scales(theta, layout))
        scales = self.arrays(layout.alternatives).scale_names
        bounds = super().diagnose(theta, layout)
        # A scale at its bound has its note already.
        others = (note for note in bounds if note.partition(" is at its bound")[0] not in scales)
        return (*notes, *others)

    def _scales(self, theta: Floats, layout: ParameterLayout) -> Iterator[tuple[str, str, float]]:
        """Name, alternatives and scale of every nest."""
        arrays = self.arrays(layout.alternatives)
        scales = theta[layout.n_columns :][: arrays.n_scales]
        for name, place in zip(arrays.names, arrays.scale_of, strict=True):
            yield name, ", ".join((self.nests or {})[name]), float(scales[place])


def _scale_note(name: str, members: str, mu: float) -> str:
    """What a scale says."""
    both = f"mu {mu:.4g}, lambda = 1/mu {1 / mu:.4g}"
    if mu < 1:
        return (
            f"Nest {name} ({members}): {both}. A scale below 1 is inadmissible: these alternatives "
            "do not belong together. The model contradicts utility maximisation; remove the nest "
            "or try another (result.nests() of the multinomial logit)."
        )
    if mu >= SCALE_BOUNDS[1]:
        return (
            f"Nest {name} ({members}): the scale diverges, mu is at its bound of {mu:g} and has no "
            f"standard error. {DIVERGING}: remove the nest or try another (result.nests() of the "
            "multinomial logit)."
        )
    return Information(
        f"Nest {name} ({members}): {both}; correlation in the nest {1 - 1 / mu**2:.2f}."
    )
