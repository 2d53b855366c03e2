"""`Mixed`: the mixed logit, whose coefficients differ between persons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design, Encoding
from ardchoice.errors import SpecificationError
from ardchoice.families.family import Family
from ardchoice.families.mixed.checks import check_before, notes_after
from ardchoice.families.mixed.distributions import moments
from ardchoice.families.mixed.estimate import maximise_simulated
from ardchoice.families.mixed.kernel import Rule, Simulated, simulate
from ardchoice.families.mixed.measures import unit_weights
from ardchoice.families.mixed.money import (
    cost_column,
    cost_term,
    has_unit,
    in_money,
    less_of,
    one_sign_of_cost,
    to_money,
    to_preference,
    unit_rules,
)
from ardchoice.families.mixed.options import (
    Draw,
    Space,
    check_space,
    correlations_of,
    must_be_candidates,
    set_by_estimation,
    spreads_of,
)
from ardchoice.families.mixed.persons import persons_of
from ardchoice.families.mixed.prediction import (
    chunks,
    mean_attribute_responses,
    mean_probabilities,
    mean_response,
    population,
    summed_gradient,
)
from ardchoice.families.mixed.response_gradients import response_gradient
from ardchoice.families.mixed.search import search_random
from ardchoice.families.mixed.structure import (
    Structure,
    chain_rule,
    in_extras,
    structure_of,
    to_loadings,
)
from ardchoice.families.mnl import Mnl
from ardchoice.families.parameters import Parameter, ParameterLayout, term_like
from ardchoice.families.records import (
    EstimationTask,
    Individuals,
    Information,
    Logsum,
    Maximum,
    Resolved,
    Scores,
    TermRules,
)
from ardchoice.families.registry import register_family
from ardchoice.numerics import NewtonFit, Order, Sums, ascent_step, single_blas_thread

CONVERGED_DECREMENT = 1e-6
"""Log-likelihood still to be gained with frozen nodes at which estimation has converged."""


@register_family
@dataclass(frozen=True)
class Mixed(Family):
    """The mixed logit: some coefficients are drawn for every person.

    V_ntj = x_ntj'β_n with β_n from a distribution whose parameters are estimated by maximum
    simulated likelihood over all choices of a person. Interactions in the specification shift the
    mean: ``*: TT x INCOME``.

    Attributes
    ----------
    random
        Term or pattern -> distribution: ``normal``, ``lognormal``, ``truncated`` (normal, on one
        side of zero), ``triangular``, ``uniform``. A lognormal or truncated coefficient takes its
        sign from the multinomial logit, or as given: ``-lognormal``. The constant of several
        alternatives that is no term of the specification is an error component:
        ``TRAIN+SM: ASC``. A taste that the terms of several alternatives share around means of
        their own is shared: ``"TRAIN+SM: TT": "shared normal"``. None: the data decide which
        coefficients are random. Default: None.
    correlated
        Whether normal and lognormal coefficients are correlated: all of them (True), or those of
        each of some groups of terms. Default: False.
    nodes
        Quasi-random nodes per person, a power of two, at least 16. Default: 64.
    seed
        Of the nodes: the same seed gives the same estimates. Default: 0.
    space
        ``preference``: coefficients are those of utility. ``wtp``: they are willingness to pay, in
        units of the cost: V = α (cost + Σ ± w x), with a cost coefficient α that is one number, or
        random and lognormal or truncated. Default: preference.
    cost
        The attribute that stands for money in WTP space; one linear coefficient for all
        alternatives. Default: none.
    anchor
        Set by estimation: the parameters that the nodes of the likelihood are adapted to.
    near
        Set by searches: parameters close to the maximum, by name, to start from.
    less
        Set by estimation in WTP space: attributes that are paid for to have less of.

    Examples
    --------
    >>> import ardchoice as ac
    >>> ac.Mixed({"*: TT": "normal", "SM: CO": "lognormal"}).title
    'Mixed logit'
    >>> ac.Mixed({"*: TT": "normal", "*: CO": "lognormal"}, space="wtp", cost="CO").details
    'random: *: TT, *: CO; WTP space: V = a (CO ± WTP x), a the coefficient of CO'
    """

    random: Mapping[str, str] | None = None
    correlated: bool | Sequence[Sequence[str]] = False
    nodes: int = 64
    seed: int = 0
    space: Space = "preference"
    cost: str | None = None
    anchor: Mapping[str, float] | None = set_by_estimation()
    near: Mapping[str, float] | None = set_by_estimation()
    less: Sequence[str] | None = set_by_estimation()

    tag: ClassVar[str] = "mixed"
    title: ClassVar[str] = "Mixed logit"
    panel: ClassVar[bool] = True
    is_costly: ClassVar[bool] = True
    assumption: ClassVar[str] = (
        "The model is a mixed logit: tastes differ between persons as the distributions say, stay "
        "the same over the choices of a person, and do not depend on the attributes on offer. "
        "Choices given a person's tastes are a multinomial logit."
    )
    formula: ClassVar[str] = (
        "Choice probabilities are P = exp V / Σ exp V over the available alternatives, averaged "
        "over the distribution of tastes; V is shown with mean coefficients."
    )

    def __post_init__(self) -> None:
        check_space(self.space, self.cost)
        if self.random is not None:
            known = isinstance(self.random, Mapping)
            if not known or not (self.random or self.space == "wtp"):
                raise SpecificationError(
                    "random is a table of terms and distributions, such as "
                    "Mixed({'*: TT': 'normal'}); without any, Mixed() lets the data decide."
                )
            named = {str(key): str(Draw.parse(text)) for key, text in self.random.items()}
            object.__setattr__(self, "random", named)
        if not isinstance(self.correlated, bool):
            groups = tuple(tuple(map(str, group)) for group in self.correlated)
            object.__setattr__(self, "correlated", groups)
        is_power = isinstance(self.nodes, int) and self.nodes >= 16
        if not is_power or self.nodes & (self.nodes - 1):
            raise SpecificationError(
                f"nodes is a power of two from 16 on, such as 64 or 128, not {self.nodes!r}."
            )
        if not isinstance(self.seed, int) or self.seed < 0:
            raise SpecificationError(f"seed is a whole number from 0 on, not {self.seed!r}.")

    def __hash__(self) -> int:
        named = None if self.random is None else tuple(self.random.items())
        return hash((named, self.correlated, self.nodes, self.seed, self.space, self.cost))

    @property
    def for_selection(self) -> Family:
        """The multinomial logit where the data decide what is random, and for WTP space.

        Without random coefficients the model is the same in both spaces.
        """
        from ardchoice.families.mnl import Mnl

        return Mnl() if self.random is None or self.space == "wtp" else self

    # -- Parameters -----------------------------------------------------------------------------

    def extra_parameters(self, encoding: Encoding) -> tuple[Parameter, ...]:
        """Standard deviations, then correlations."""
        spreads = spreads_of(self.random or {}, encoding)
        return (*spreads, *correlations_of(self.correlated, spreads, encoding))

    def layout(self, encoding: Encoding) -> ParameterLayout:
        """All parameters, in the order of the terms."""
        plain = super().layout(encoding)
        return plain if self.cost is None else in_money(plain, encoding, self.cost, self.less)

    def must_fit(self, candidates: Encoding, data: ChoiceData) -> None:
        """Refuse random coefficients like no candidate, and a cost that cannot be the unit."""
        if self.cost is not None:
            cost_term(candidates, self.cost)
        must_be_candidates(self.random or {}, candidates)

    def selection_rules(self, candidates: Encoding) -> TermRules:
        """In WTP space the cost has one linear coefficient, and no other form or interaction."""
        return TermRules() if self.cost is None else unit_rules(candidates, self.cost)

    def resolve(self, design: Design) -> Resolved:
        """Random coefficients that the data choose, and signs; what cannot be used is refused."""
        asked = replace(self, anchor=None)
        if self.cost is not None:
            cost_column(design.encoding, self.cost)
            # Kept with the estimates, whatever names later versions recognise.
            asked = replace(asked, less=less_of(design.encoding))
        if self.random is not None:
            return check_before(asked, design)
        found = search_random(design, self.seed)
        if not found.random:
            return Resolved(Mnl(), (*found.notes, Information("The model is a multinomial logit.")))
        correlated = self.correlated if len(found.random) > 1 else False
        chosen = asked.with_random(dict.fromkeys(found.random, "normal"))
        resolved = check_before(replace(chosen, correlated=correlated), design)
        return Resolved(resolved.family, (*found.notes, *resolved.notes))

    def with_random(self, random: Mapping[str, str]) -> Mixed:
        """With random coefficients that were searched; a normal cost has one sign in WTP space."""
        return replace(self, random=one_sign_of_cost(random, self.cost))

    @property
    def details(self) -> str:
        """Which coefficients are random."""
        if self.random is None:
            return "random coefficients found by the data"
        text = f"random: {', '.join(self.random)}" if self.random else "nothing random"
        text = f"{text}; correlated" if self.correlated else text
        unit = f"; WTP space: V = a ({self.cost} ± WTP x), a the coefficient of {self.cost}"
        return text if self.cost is None else text + unit

    @property
    def named_terms(self) -> tuple[str, ...]:
        """Random coefficients, as they were given."""
        return tuple(self.random or ())

    def for_terms(self, encoding: Encoding) -> Family:
        """The same with those of the random coefficients that there are; the MNL without any."""
        from ardchoice.families.mnl import Mnl

        if self.random is None:
            return self
        random: dict[str, str] = {}
        for key, text in self.random.items():
            try:
                spreads_of({key: text}, encoding)
                random[key] = text
            except SpecificationError:
                like = term_like(key, encoding)
                if like is not None:
                    random.setdefault(like, text)
        if not random and (self.cost is None or not has_unit(encoding, self.cost)):
            return Mnl()
        same = random == dict(self.random)
        correlated = self.correlated if same else self.correlated is True and len(random) > 1
        return replace(
            self, random=random, correlated=correlated, anchor=None, near=None, less=None
        )

    def frozen_at(self, theta: Floats) -> Family:
        """The same with nodes that stay where they are at θ (in the order of the layout)."""
        return replace(self, anchor={str(k): float(v) for k, v in enumerate(theta)})

    def start(self, layout: ParameterLayout, near: Floats | None = None) -> Floats:
        """Coefficients of the multinomial logit; half of each as its standard deviation."""
        structure = structure_of(layout)
        if near is not None:
            near = to_money(structure, near)
        theta = super().start(layout, near)
        d = layout.n_columns
        for k, p in enumerate(layout.extras):
            if p.kind == "sd" and p.column is not None and theta[p.column]:
                theta[d + k] = 0.5 * abs(theta[p.column])
        return theta

    def _frame(self, layout: ParameterLayout, theta: Floats) -> Floats:
        """Where nodes are adapted: at the anchor where there is one, else at θ."""
        if self.anchor is None:
            return theta
        by_place = all(str(k) in self.anchor for k in range(len(theta)))
        keys = [str(k) for k in range(len(theta))] if by_place else list(layout.names)
        if not all(key in self.anchor for key in keys):
            return theta
        return np.array([self.anchor[key] for key in keys])

    # -- Likelihood -----------------------------------------------------------------------------

    def _simulate(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        order: Order,
        single_precision: bool = False,
    ) -> tuple[Structure, Simulated]:
        structure = structure_of(layout)
        rule = Rule(self.nodes, self.seed, single_precision)
        phi, frame = (in_loadings(structure, v) for v in (theta, self._frame(layout, theta)))
        return structure, simulate(block, structure, phi, rule, order, frame)

    def evaluate(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        order: Order = 2,
        *,
        single_precision: bool = False,
    ) -> Sums:
        """Simulated log-likelihood over persons, gradient, Hessian."""
        if not structure_of(layout).q and self.space == "preference":
            # A search may drop every term that is random.
            return Mnl().evaluate(theta, block, layout, order, single_precision=single_precision)
        structure, found = self._simulate(theta, block, layout, order, single_precision)
        weight = unit_weights(block, structure)
        gradient = found.scores @ weight if order else np.empty(0)
        sums = Sums(float(weight @ found.loglik), gradient, found.curvature)
        return in_extras(structure, theta[structure.n_columns :], sums)

    def scores(self, theta: Floats, block: Block, layout: ParameterLayout) -> Scores:
        """The same with the weighted gradient of every person; shape (P, persons)."""
        structure, found = self._simulate(theta, block, layout, 2)
        weight = unit_weights(block, structure)
        each = found.scores * weight
        sums = Sums(float(weight @ found.loglik), each.sum(axis=1), found.curvature)
        extras = theta[structure.n_columns :]
        sums = in_extras(structure, extras, sums)
        if not structure.is_plain:
            d = structure.n_columns
            each = np.vstack([each[:d], chain_rule(structure, extras).first.T @ each[d:]])
        return Scores(sums, each)

    def individual(
        self, theta: Floats, block: Block, layout: ParameterLayout
    ) -> Individuals | None:
        """Mean and standard deviation of every random coefficient given a person's choices."""
        structure, found = self._simulate(theta, block, layout, 0)
        names = [s.name[3:-1] for s in structure.spreads]
        columns = (*names, *(s.name for s in structure.spreads))
        values = np.vstack([found.mean, np.sqrt(found.variance)]).T
        code = persons_of(block, structure.keys).code
        return Individuals((None if block.person is None else code,), columns, (values,))

    # -- Prediction -----------------------------------------------------------------------------

    def probabilities(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """Of persons of whom nothing is known: tastes are integrated out; shape (J, B)."""
        structure = structure_of(layout)
        phi = in_loadings(structure, theta)
        return mean_probabilities(block, structure, phi, population(structure, phi, self.seed))

    def response(
        self, theta: Floats, block: Block, layout: ParameterLayout, alternative: int
    ) -> Floats:
        """∂P_j/∂V_i, integrated over tastes; shape (J, B)."""
        structure = structure_of(layout)
        phi = in_loadings(structure, theta)
        tastes = population(structure, phi, self.seed)
        return mean_response(block, structure, phi, tastes, alternative)

    def attribute_response(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        alternative: int,
        slopes: Block,
    ) -> Floats:
        """∂P_j/∂x_i, integrated over tastes; shape (J, B)."""
        found = self.attribute_responses(theta, block, layout, [alternative], slopes)
        return found[1][alternative]

    def attribute_responses(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        alternatives: Iterable[int],
        slopes: Block,
    ) -> tuple[Floats, dict[int, Floats]]:
        """The same of several alternatives, with the probabilities, at the same nodes."""
        structure = structure_of(layout)
        phi = in_loadings(structure, theta)
        tastes = population(structure, phi, self.seed)
        return mean_attribute_responses(block, structure, phi, tastes, alternatives, slopes)

    def response_gradient(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        slopes: Block,
        pairs: Sequence[tuple[int, int]],
        weights: Floats,
    ) -> Floats | None:
        """Σ_n a_n ∂²P_nj/∂x_ni∂θ of pairs (i, j), at the same nodes; shape (S, pairs, P)."""
        structure = structure_of(layout)
        phi = in_loadings(structure, theta)
        tastes = population(structure, phi, self.seed)
        out = response_gradient(block, structure, phi, tastes, slopes, pairs, weights)
        return self._by_extras(structure, theta, out)

    def share_gradient(
        self, theta: Floats, block: Block, layout: ParameterLayout, weights: Floats
    ) -> Floats:
        """Σ_n a_n ∂P_nj/∂θ_k; shape (S, J, P)."""
        structure = structure_of(layout)
        phi = in_loadings(structure, theta)
        tastes = population(structure, phi, self.seed)
        out = summed_gradient(block, structure, phi, tastes, weights)
        return self._by_extras(structure, theta, out)

    def _by_extras(self, structure: Structure, theta: Floats, gradient: Floats) -> Floats:
        """By standard deviations and correlations in place of loadings, in place; (..., P)."""
        if not structure.is_plain:
            d = structure.n_columns
            gradient[..., d:] = gradient[..., d:] @ chain_rule(structure, theta[d:]).first
        return gradient

    def logsums(self, theta: Floats, block: Block, layout: ParameterLayout) -> Iterable[Logsum]:
        """Expected maximum utility at nodes of the distribution of tastes."""
        structure = structure_of(layout)
        phi = in_loadings(structure, theta)
        tastes = population(structure, phi, self.seed)
        count = tastes.beta.shape[1]
        value = np.empty((block.shape[1], count))
        with single_blas_thread():
            for chunk in chunks(block, structure, phi, tastes):
                value[chunk.rows] = chunk.log_total
        own = np.array([s.column is not None for s in structure.spreads], dtype=bool)
        for r in range(count):
            if tastes.every is not None:
                own_beta = tastes.every[: structure.n_columns, r]
                yield Logsum(value[:, r], own_beta, np.array(1 / count))
                continue
            beta = phi[: structure.n_columns].copy()
            beta[structure.columns[own]] = tastes.beta[own, r]
            yield Logsum(value[:, r], beta, np.array(1 / count))

    def mean_coefficients(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """Means of the distributions of tastes; shape (D,).

        In WTP space the mean cost coefficient times mean WTP, so that ratios are mean WTP.
        """
        structure = structure_of(layout)
        d = structure.n_columns
        beta = theta[:d].copy()
        for k, spread in enumerate(structure.spreads):
            if spread.column is not None:
                location, sd = float(theta[spread.column]), float(theta[d + k])
                beta[spread.column] = moments(spread.distribution, spread.sign, location, sd)[0]
        return to_preference(structure, beta)

    # -- Estimation -----------------------------------------------------------------------------

    def started_at(self, estimates: Mapping[str, float]) -> Family:
        """The same, started from these estimates."""
        return replace(self, near=dict(estimates))

    def _near(self, layout: ParameterLayout) -> Floats | None:
        """Where estimation starts, if something close to the maximum is known."""
        if self.near is None or not self.near.keys() >= set(layout.names) or self.correlated:
            return None
        return np.array([self.near[name] for name in layout.names])

    def maximise(self, task: EstimationTask) -> Maximum:
        """Maximum simulated likelihood; the nodes it ends with stay with the family."""
        start = self._near(task.layout)
        is_near = start is not None
        found = maximise_simulated(task, self.nodes, self.seed, start=start, is_near=is_near)
        anchor = dict(zip(task.layout.names, map(float, found.anchor), strict=True))
        fitted = replace(self, anchor=anchor, near=None)
        sums = task.finish(fitted, found.theta)
        free = ~task.layout.at_bound(found.theta)
        inside = Sums(sums.loglik, sums.gradient[free], sums.curvature[np.ix_(free, free)])
        decrement = 0.5 * float(inside.gradient @ ascent_step(inside))
        fit = NewtonFit(
            found.theta,
            sums,
            decrement,
            found.steps,
            found.passes,
            decrement <= CONVERGED_DECREMENT,
        )
        notes = notes_after(fitted, task, found, sums)
        return Maximum(fit, found.diverging, (*found.warm.maximum.notes, *notes), fitted)


def in_loadings(structure: Structure, theta: Floats) -> Floats:
    """θ with loadings in place of standard deviations and correlations."""
    d = structure.n_columns
    return np.concatenate([theta[:d], to_loadings(structure, theta[d:])])
