"""What is known to go wrong with mixed logits: found before estimation, or said after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design, Encoding
from ardchoice.errors import IdentificationError, SpecificationError
from ardchoice.families.family import family_pass
from ardchoice.families.mixed.distributions import SIGNED, moments
from ardchoice.families.mixed.estimate import SimulatedMaximum
from ardchoice.families.mixed.kernel import Rule, simulate
from ardchoice.families.mixed.measures import unit_weights
from ardchoice.families.mixed.money import cost_spread, less_of, to_money
from ardchoice.families.mixed.options import Draw, spreads_of
from ardchoice.families.mixed.structure import Spread, Structure, structure_of, to_loadings
from ardchoice.families.mnl import Mnl
from ardchoice.families.records import EstimationTask, Information, Resolved
from ardchoice.numerics import Sums, map_reduce, maximise

if TYPE_CHECKING:
    from ardchoice.families.mixed.family import Mixed

FEW_EFFECTIVE_NODES = 5.0
"""Below so many effective nodes the likelihood of a person is hardly known."""
FRESH_REPLICATES = 4
"""Sets of fresh nodes that the final log-likelihood is computed with again."""
LARGE_SIMULATION_ERROR = 2.0
"""Of the log-likelihood: a difference that a test at 5 % would take for one parameter."""
LEAST_ERROR_SHARE = 0.9
"""Of σ/√persons, below which the standard error of a mean cannot be right."""
NEARLY_SINGULAR = 1e-4
"""Smallest eigenvalue of a correlation matrix that counts as positive."""


def check_before(family: Mixed, design: Design) -> Resolved:
    """Signs filled in; combinations that are not identified are refused."""
    random = dict(family.random or {})
    spreads = spreads_of(random, design.encoding)
    _refuse_all_constants(spreads, design)
    notes = list(_weak_identification(design.data)) if spreads else []
    structure = structure_of(family.layout(design.encoding))
    if structure.money is not None:
        _refuse_costs_of_both_signs(structure)
    if structure.money is not None or any(s.distribution in SIGNED for s in spreads):
        beta = _mnl_coefficients(design)
        notes += _in_money(family, structure, beta, design.encoding)
        what = "coefficient" if structure.money is None else "willingness to pay"
        cost = None if structure.money is None else structure.money.cost
        random, found = _signs(random, design, to_money(structure, beta), what, cost)
        notes += found
    if design.data.weight is not None:
        notes += _uneven_weights(design.data)
    return Resolved(replace(family, random=random), tuple(notes))


def _refuse_all_constants(spreads: tuple[Spread, ...], design: Design) -> None:
    names = design.encoding.alternatives
    if len(names) > 2 and (design.data.n_persons or len(design.data)) < len(design.data):
        # J variances make J (J - 1) / 2 covariances of differences between persons. The scale is
        # known from the choices of one person; with one choice per person it is not.
        return
    own = {
        s.term.where[0]
        for s in spreads
        if s.term is not None and s.term.what is None and not s.term.by and len(s.term.where) == 1
    }
    if own == set(names):
        raise IdentificationError(
            f"The constants of all {len(names)} alternatives are random: only differences of "
            "utilities matter, so that one of their variances is not identified. Leave one out, "
            f"for example {names[0]!r}; the one with the smallest variance is the best."
        )


def _weak_identification(data: ChoiceData) -> list[str]:
    if data.person is None:
        return [
            "The data have no person ids: tastes are drawn again for every choice. With one choice "
            "per person, standard deviations are weakly identified: read the data with person=... "
            "if persons chose more than once."
        ]
    if data.n_persons == len(data):
        return [
            "Every person chose once: standard deviations of tastes are weakly identified, and "
            "depend on the shape of the distributions."
        ]
    return []


def _uneven_weights(data: ChoiceData) -> list[str]:
    if data.person is None or data.weight is None:
        return []
    low = np.full(data.n_persons or 0, np.inf)
    high = np.zeros(data.n_persons or 0)
    np.minimum.at(low, data.person, data.weight)
    np.maximum.at(high, data.person, data.weight)
    if not (high > low * (1 + 1e-9)).any():
        return []
    return [
        "Weights differ between the choices of a person. A mixed logit weights persons: each has "
        "the mean weight of their choices."
    ]


def _refuse_costs_of_both_signs(structure: Structure) -> None:
    k = cost_spread(structure)
    if k is None or structure.spreads[k].distribution in SIGNED:
        return
    spread = structure.spreads[k]
    raise SpecificationError(
        f"WTP space: {spread.name[3:-1]} was to be {spread.distribution}, but utility is measured "
        "in the cost, whose coefficient must have one sign: make it lognormal or truncated, or do "
        "not make it random."
    )


def _in_money(family: Mixed, structure: Structure, beta: Floats, encoding: Encoding) -> list[str]:
    """What the estimates are; a cost that is liked is refused."""
    money = structure.money
    if money is None:
        return []
    size = float(beta[money.cost])
    if size >= 0:
        raise SpecificationError(
            f"WTP space: the coefficient of the cost {family.cost!r} is {size:.4g} in the "
            "multinomial logit. It must be negative: money that is liked measures nothing. Look at "
            "the data and the other terms first, or stay in preference space."
        )
    text = (
        f"WTP space: estimates are willingness to pay in units of {family.cost}, positive for what "
        f"would be paid for{_direction(encoding, str(family.cost))}; "
        f"*: {family.cost} is the cost coefficient."
    )
    return [Information(text)]


def _direction(encoding: Encoding, cost: str) -> str:
    """Which attributes are paid for to have less of, and which to have more of."""
    names = dict.fromkeys(t.term.what for t in encoding.terms if t.term.what is not None)
    less = [name for name in less_of(encoding) if name != cost]
    more = [name for name in names if name not in (cost, *less)]
    parts = [f"{word} of {', '.join(of)}" for word, of in (("less", less), ("more", more)) if of]
    return f" ({', '.join(parts)})" if parts else ""


def _signs(
    random: dict[str, str], design: Design, beta: Floats, what: str, cost: int | None
) -> tuple[dict[str, str], list[str]]:
    """Every lognormal or truncated coefficient with the sign of the multinomial logit."""
    out: dict[str, str] = {}
    notes: list[str] = []
    for key, given in random.items():
        drawn = Draw.parse(given)
        if drawn.distribution not in SIGNED:
            out[key] = given
            continue
        found = spreads_of({key: given}, design.encoding)
        signs = {int(np.sign(beta[s.column])) for s in found if s.column is not None}
        names = ", ".join(s.name[3:-1] for s in found)
        if len(signs) > 1:
            raise SpecificationError(
                f"{key!r} names coefficients of both signs in the multinomial logit ({names}), so "
                f"that they cannot all be {drawn.distribution}. Name them one by one."
            )
        sign = signs.pop()
        if drawn.sign and drawn.sign != sign:
            values = ", ".join(f"{beta[s.column]:.4g}" for s in found if s.column is not None)
            raise SpecificationError(
                f"{names} was to be {given}, but its {what} in the multinomial logit is "
                f"{values}: a {drawn.distribution} one can only have one sign. Make it normal, or "
                "look at the data and the other terms first."
            )
        out[key] = str(replace(drawn, sign=sign))
        is_cost = any(s.column == cost for s in found)
        if not drawn.sign:
            side = "negative" if sign < 0 else "positive"
            text = (
                f"{names} is {drawn.distribution} and {side} for everyone: that is the sign of its "
                f"{'coefficient' if is_cost else what} in the multinomial logit."
            )
            notes.append(Information(text))
    return out, notes


def _mnl_coefficients(design: Design) -> Floats:
    """In the order of the terms; shape (D,)."""
    family = Mnl()
    layout = family.layout(design.encoding).reordered(design.order)
    blocks = design.blocks()

    def evaluate(theta: Floats, last: bool) -> Sums:
        return family_pass(family, layout, theta, blocks)

    fit = maximise(evaluate, np.zeros(design.n_columns), max_iterations=30)
    return fit.beta[design.position]


# -- After estimation ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FreshCheck:
    """The log-likelihood on fresh nodes.

    Attributes
    ----------
    loglik
        Of the mean of all replicates.
    variance
        Of its simulation error.
    fewest
        Effective nodes of the person who has fewest.
    n_low
        Persons with too few.
    units
    """

    loglik: float
    variance: float
    fewest: float
    n_low: int
    units: int

    def __add__(self, other: FreshCheck) -> FreshCheck:
        return FreshCheck(
            self.loglik + other.loglik,
            self.variance + other.variance,
            min(self.fewest, other.fewest),
            self.n_low + other.n_low,
            self.units + other.units,
        )


@dataclass(frozen=True, eq=False)
class FreshMeasure:
    """`FreshCheck` of a block; can be sent to another process."""

    structure: Structure
    phi: Floats
    nodes: int
    seed: int

    def __call__(self, block: Block) -> FreshCheck:
        """Of one block."""
        each = []
        for k in range(FRESH_REPLICATES):
            rule = Rule(self.nodes, self.seed + 1 + k, True)
            found = simulate(block, self.structure, self.phi, rule, 0, self.phi)
            each.append(found.loglik)
        effective = found.effective
        top = np.max(each, axis=0)
        ratio = np.exp(np.array(each) - top)
        mean = ratio.mean(axis=0)
        weight = unit_weights(block, self.structure)
        error = ratio.var(axis=0, ddof=1) / (FRESH_REPLICATES * mean**2)
        return FreshCheck(
            float(weight @ (np.log(mean) + top)),
            float(weight**2 @ error),
            float(effective.min()),
            int((effective < FEW_EFFECTIVE_NODES).sum()),
            len(effective),
        )


def notes_after(
    family: Mixed, task: EstimationTask, found: SimulatedMaximum, sums: Sums
) -> tuple[str, ...]:
    """What to know of the estimates, a sentence or two each."""
    structure = structure_of(task.layout)
    if not structure.q:  # a multinomial logit: nothing is simulated
        return ()
    d = structure.n_columns
    phi = np.concatenate([found.theta[:d], to_loadings(structure, found.theta[d:])])
    fresh = map_reduce(FreshMeasure(structure, phi, family.nodes, family.seed), task.blocks)
    return (
        *_simulation(family, fresh, sums),
        *_against_mnl(structure, found, sums),
        *_boundaries(structure, found.theta),
        *_what_estimates_mean(structure, found.theta),
        *_singular(structure, found.theta),
        *_too_certain(structure, found.theta, sums, task.design.data),
        *_counted(task.design.data),
    )


def _simulation(family: Mixed, fresh: FreshCheck, sums: Sums) -> list[str]:
    error = float(np.sqrt(fresh.variance))
    simulated = (
        f"Simulated with {family.nodes} nodes per person (seed {family.seed}). With "
        f"{FRESH_REPLICATES * family.nodes} fresh nodes the log-likelihood is "
        f"{fresh.loglik:,.2f} (simulation error {max(error, 0.005):.2f}). Compare log-likelihoods "
        "of mixed logits with the same nodes and seed only."
    )
    out: list[str] = [Information(simulated)]
    if error > LARGE_SIMULATION_ERROR or abs(fresh.loglik - sums.loglik) > 3 * max(
        LARGE_SIMULATION_ERROR, error
    ):
        out.append(
            f"The simulation error of the log-likelihood is large: raise nodes to "
            f"{4 * family.nodes}, and compare the estimates of two seeds."
        )
    if fresh.n_low:
        out.append(
            f"{fresh.n_low} of {fresh.units} persons have fewer than {FEW_EFFECTIVE_NODES:g} "
            f"effective nodes (the fewest {fresh.fewest:.1f}), even with four times as many nodes: "
            "raise nodes."
        )
    return out


def _against_mnl(structure: Structure, found: SimulatedMaximum, sums: Sums) -> list[str]:
    from scipy import stats

    before = found.warm.maximum.fit.loglik
    ratio = max(2 * (sums.loglik - before), 0.0)
    q, r = structure.q, len(structure.correlations)
    # Standard deviations are on the boundary under the null: between χ² with q - 1 and with q
    # degrees of freedom (exactly so for q = 1); correlations then do not exist.
    tail = 0.5 * ((ratio <= 0) if q == 1 else stats.chi2.sf(ratio, q - 1 + r))
    p = float(tail + 0.5 * stats.chi2.sf(ratio, q + r)) if ratio > 0 else 1.0
    size = "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"
    what = "standard deviation" if q == 1 else "standard deviations"
    text = (
        f"Against the multinomial logit (log-likelihood {before:,.2f}) the likelihood ratio is "
        f"{ratio:,.1f} with {q} {what}"
        + (f" and {r} correlation{'s' if r > 1 else ''}" if r else "")
        + f", {size} (standard deviations at the boundary, zero)."
    )
    return [Information(text)]


def _boundaries(structure: Structure, theta: Floats) -> list[str]:
    d = structure.n_columns
    return [
        f"{s.name} is at its boundary, zero: the data show no heterogeneity of {s.name[3:-1]}. "
        "Its standard error is not defined; remove it from the random coefficients."
        for s, value in zip(structure.spreads, theta[d : d + structure.q], strict=True)
        if value == 0
    ]


def _what_estimates_mean(structure: Structure, theta: Floats) -> list[str]:
    d = structure.n_columns
    out: list[str] = []
    for k, s in enumerate(structure.spreads):
        if s.column is None or s.distribution not in SIGNED:
            continue
        name, b, sd = s.name[3:-1], float(theta[s.column]), float(theta[d + k])
        mean, spread = moments(s.distribution, s.sign, b, sd)
        in_money = structure.money is not None and s.column != structure.money.cost
        symbol = "WTP" if in_money else "β"
        if s.distribution == "lognormal":
            minus, median = "-" if s.sign < 0 else "", s.sign * np.exp(b)
            what = f"the estimates are the mean and standard deviation of ln({minus}{symbol})"
            rest = (
                f"{symbol} has median {median:.4g}, mean {mean:.4g} and standard deviation "
                f"{spread:.4g}"
            )
        else:
            what = "the estimates are those of the normal distribution before truncation at zero"
            rest = f"{symbol} has mean {mean:.4g} and standard deviation {spread:.4g}"
        out.append(Information(f"{name} is {s.distribution}: {what}; {rest}."))
    return out


def _counted(data: ChoiceData) -> list[str]:
    if data.n_persons is None or data.n_persons == len(data):
        return []
    return [Information(f"BIC counts {data.n_persons:,} persons, not {len(data):,} choices.")]


def _singular(structure: Structure, theta: Floats) -> list[str]:
    if structure.is_plain:
        return []
    matrix = np.eye(structure.q)
    values = theta[structure.n_columns + structure.q :]
    for c, value in zip(structure.correlations, values, strict=True):
        matrix[c.first, c.second] = matrix[c.second, c.first] = value
    if float(np.linalg.eigvalsh(matrix)[0]) > NEARLY_SINGULAR:
        return []
    return [
        "The covariance of tastes is nearly singular: some random coefficients move together "
        "exactly. Standard errors of correlations mean little; correlate fewer coefficients."
    ]


def _too_certain(structure: Structure, theta: Floats, sums: Sums, data: ChoiceData) -> list[str]:
    """se(b) ≥ σ/√persons: nobody knows a mean better than from the persons' tastes themselves."""
    d, persons = structure.n_columns, data.n_persons or len(data)
    variance = np.diag(np.linalg.pinv(sums.curvature))
    out = []
    for k, s in enumerate(structure.spreads):
        if s.column is None or s.distribution in SIGNED:
            continue
        least = float(theta[d + k]) / np.sqrt(persons)
        if variance[s.column] < (LEAST_ERROR_SHARE * least) ** 2:
            out.append(
                f"The classical standard error of {s.name[3:-1]} is below σ/√persons = "
                f"{least:.3g}, which it cannot be: raise nodes, and use errors clustered by "
                "person."
            )
    return out
