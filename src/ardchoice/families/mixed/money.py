"""WTP space: utility as the cost coefficient times cost and willingness to pay.

In preference space V = β_c c + Σ β_k x_k. In WTP space the parameters are the cost coefficient α
and the willingness to pay w of everything else, in units of the cost:

    V = α (c + Σ_k s_k w_k x_k),    β_c = α,    β_k = s_k α w_k

with s_k = 1 for what one pays to have less of (time, waiting, changes) and -1 for anything else, so
that a positive w would be paid. α < 0 is one number, or differs between persons on one side of
zero; w_k is a number or any random coefficient. Derivatives by w_k act on x_k times α, those by the
parameters of α on the index c + Σ s w x, which differs between nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats, Ints
from ardchoice.data import recognised_kind
from ardchoice.design import Encoding, TermColumns
from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.families.mixed.distributions import Draws
from ardchoice.families.mixed.structure import InMoney, Structure
from ardchoice.families.parameters import Parameter, ParameterLayout
from ardchoice.families.records import TermRules
from ardchoice.space import Linear, parse_term

SMALLEST_COST = 1e-30
"""Size of a cost coefficient that is taken for zero."""
Array = npt.NDArray[Any]


# -- Which coefficient is the cost's ---------------------------------------------------------------


def cost_column(encoding: Encoding, cost: str) -> int:
    """The column of the cost: one linear coefficient, the same for all alternatives."""
    found = [t for t in encoding.terms if t.term.what == cost]
    if not found:
        known = dict.fromkeys(t.term.what for t in encoding.terms if t.term.what is not None)
        raise SpecificationError(
            f"WTP space: the model has no term of the cost {cost!r}. {did_you_mean(cost, known)}"
        )
    everywhere = set(range(len(encoding.alternatives)))
    plain = _plain(encoding, cost)
    lacking = everywhere - {j for t in found for j in t.alternatives}
    if lacking:
        names = ", ".join(encoding.alternatives[j] for j in sorted(lacking))
        raise SpecificationError(
            f"WTP space: the cost {cost!r} is not in the utility of {names}, so that nothing there "
            f"could be measured in it. Give all alternatives one coefficient: '*: {cost}'."
        )
    if not plain or len(found) > 1:
        names = ", ".join(str(t.term) for t in found)
        raise SpecificationError(
            f"WTP space: the cost {cost!r} enters as {names}. All willingness to pay is measured "
            f"in one linear coefficient that all alternatives share, '*: {cost}', without "
            "interactions or other forms of it."
        )
    return plain[0].start


def cost_term(candidates: Encoding, cost: str) -> TermColumns:
    """The candidate that is the unit of willingness to pay; an error where there is none.

    Other forms and interactions of the cost may be among the candidates.
    """
    plain = _plain(candidates, cost)
    if plain:
        return plain[0]
    if not any(t.term.what == cost for t in candidates.terms):
        cost_column(candidates, cost)  # says which attributes there are
    raise SpecificationError(
        f"WTP space: '*: {cost}' is not among the candidate terms. All willingness to pay is "
        f"measured in one linear coefficient of {cost} that all alternatives share: it takes "
        '"linear" among the transforms, generic coefficients, and an attribute that every '
        "alternative has."
    )


def has_unit(encoding: Encoding, cost: str) -> bool:
    """Whether willingness to pay can be measured in the cost of these terms."""
    try:
        cost_column(encoding, cost)
    except SpecificationError:
        return False
    return True


def unit_rules(candidates: Encoding, cost: str) -> TermRules:
    """The cost has one linear coefficient, and no other form or interaction."""
    unit = cost_term(candidates, cost)
    others = [t.term for t in candidates.terms if t.term.what == cost and t != unit]
    # A place in brackets is itself: '*' alone would be any place.
    return TermRules((f"[*]: {unit.term.content}",), tuple(map(str, others)))


def one_sign_of_cost(random: Mapping[str, str], cost: str | None) -> dict[str, str]:
    """Random coefficients that were searched, lognormal where they are the cost's."""
    return {
        key: "lognormal" if cost is not None and parse_term(key).what == cost else text
        for key, text in random.items()
    }


def _plain(encoding: Encoding, cost: str) -> list[TermColumns]:
    """Linear terms of the cost, without interactions, that all alternatives share."""
    everywhere = set(range(len(encoding.alternatives)))
    return [
        t
        for t in encoding.terms
        if t.term.what == cost
        and isinstance(t.term.how, Linear)
        and not t.term.by
        and set(t.alternatives) == everywhere
    ]


def less_of(encoding: Encoding) -> tuple[str, ...]:
    """Attributes that one pays to have less of, by their names."""
    names = dict.fromkeys(t.term.what for t in encoding.terms if t.term.what is not None)
    return tuple(name for name in names if recognised_kind(name) is not None)


def in_money(
    layout: ParameterLayout, encoding: Encoding, cost: str, less: Sequence[str] | None
) -> ParameterLayout:
    """A layout of preference space with coefficients that are willingness to pay."""
    column = cost_column(encoding, cost)
    less = less_of(encoding) if less is None else less
    parameters = layout.parameters[: layout.n_columns]
    first = [_money_parameter(p, p.column == column, less) for p in parameters]
    parameters = (*first, *layout.parameters[layout.n_columns :])
    return ParameterLayout(parameters, layout.n_columns, layout.alternatives)


def _money_parameter(plain: Parameter, is_cost: bool, less: Sequence[str]) -> InMoney:
    known = dict(plain.__dict__)
    what = None if plain.term is None else plain.term.what
    is_less = what is not None and what in less
    known |= {"kind": "mean" if is_cost else "wtp", "is_cost": is_cost}
    return InMoney(**known, sign=1 if is_cost or is_less else -1)


# -- Between preference space and WTP space --------------------------------------------------------


def to_money(structure: Structure, beta: Floats) -> Floats:
    """Coefficients β as cost coefficient and willingness to pay; shape (D,)."""
    money = structure.money
    if money is None:
        return beta
    out = np.array(money.signs[: len(beta)] * beta / beta[money.cost])
    out[money.cost] = beta[money.cost]
    return out


def units_in_money(structure: Structure, beta: Floats) -> Floats:
    """What a unit of every random coefficient is in utility per unit of its column; shape (q,)."""
    money = structure.money
    if money is None:
        return np.ones(structure.q)
    size = abs(float(beta[money.cost]))
    return np.asarray(np.where(structure.columns == money.cost, 1.0, size))


def to_preference(structure: Structure, means: Floats) -> Floats:
    """Mean cost coefficient and mean WTP as coefficients; shape (D,)."""
    money = structure.money
    if money is None:
        return means
    out = np.array(money.signs[: len(means)] * means[money.cost] * means)
    out[money.cost] = means[money.cost]
    return out


def cost_spread(structure: Structure) -> int | None:
    """Which random coefficient is the cost's; None where the cost is not random."""
    money = structure.money
    if money is None:
        return None
    found = np.flatnonzero(structure.columns == money.cost)
    return int(found[0]) if len(found) else None


def cost_draws(structure: Structure, phi: Floats, draws: Sequence[Draws], dtype: Any) -> Draws:
    """α at the nodes, with its derivatives; of shape (1, 1) where it is not random."""
    k = cost_spread(structure)
    if k is not None:
        return draws[k]
    assert structure.money is not None  # noqa: S101 - the caller knows
    return Draws(np.full((1, 1), phi[structure.money.cost], dtype), None, ())


def fixed_index(structure: Structure, phi: Floats) -> Floats:
    """What multiplies every column in c + Σ s w x, but for what is random; shape (D,)."""
    money, d = structure.money, structure.n_columns
    assert money is not None  # noqa: S101 - the caller knows
    out = np.array(money.signs[:d] * phi[:d])
    out[structure.columns[structure.columns < d]] = 0.0
    out[money.cost] = 1.0
    return out


def index_coefficients(structure: Structure, phi: Floats, values: Floats) -> Floats:
    """What multiplies every column, components too, at nodes (q, R); shape (E, R)."""
    money = structure.money
    assert money is not None  # noqa: S101 - the caller knows
    out = np.zeros((len(money.signs), values.shape[1]))
    out[: structure.n_columns] = fixed_index(structure, phi)[:, None]
    for k, column in enumerate(structure.columns):
        if column != money.cost:
            out[column] = money.signs[column] * values[k]
    return out


def random_index(structure: Structure) -> tuple[Ints, Floats]:
    """Which random coefficients are in the index, and their signs."""
    money = structure.money
    assert money is not None  # noqa: S101 - the caller knows
    which = np.flatnonzero(structure.columns != money.cost)
    return which, money.signs[structure.columns[which]]


# -- Derivatives -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MoneyFeatures:
    """How parameters of WTP space act: V changes by column · feature.

    Attributes
    ----------
    alpha
        At the nodes; shape (n, R) or (1, 1).
    cost_parameters
        Positions of the parameters of α, which act on the index: the column behind all others.
    """

    alpha: Array
    cost_parameters: Ints


def add_index_column(p: list[Array], index: list[Array], m: Array) -> Array:
    """Mean over alternatives of every column, (n, E, T, R), and of the index behind them."""
    last = np.zeros_like(p[0])
    for chance, y in zip(p, index, strict=True):
        last += chance * y
    return np.concatenate([m, last[:, None]], axis=1)


def index_information(
    x: Array,
    p: list[Array],
    index: list[Array],
    w: Array,
    column: Ints,
    act: Array,
    cost_parameters: Ints,
    out: Floats,
) -> None:
    """Σ w P x x' f f' in the rows and columns of the parameters of α, added to `out`.

    Parameters
    ----------
    x
        Shape (A, n, T, E).
    p, index
        Of every other alternative; shape (n, T, R) each.
    w
        Weights of the nodes; shape (n, R).
    column, act
        Of every parameter: its column, (P,), and its feature, (n, P, R).
    cost_parameters
    """
    own = np.setdiff1d(np.arange(len(column)), cost_parameters)
    for k, chance in enumerate(p):
        once = chance * index[k] * w[:, None]
        for i, q in enumerate(cost_parameters):
            pushed = once * act[:, q, None]
            moment = pushed @ act[:, own].swapaxes(1, 2)  # (n, T, P)
            cross = np.einsum("ntp,ntp->p", x[k][..., column[own]], moment, dtype=np.float64)
            out[own, q] += cross
            out[q, own] += cross
            pushed *= index[k]
            for r in cost_parameters[: i + 1]:
                both = float((pushed.sum(axis=1) * act[:, r]).sum(dtype=np.float64))
                out[q, r] += both
                if q != r:
                    out[r, q] += both


def subtract_products(
    score: Array, w: Array, alpha: Array, act: Array, cost_parameters: Ints, curvature: Floats
) -> None:
    """-Σ w ∂²V/∂w∂α: a derivative by w is proportional to α.

    Parameters
    ----------
    score
        By every parameter, at the nodes; shape (n, P, R).
    w
        Shape (n, R).
    """
    own = np.setdiff1d(np.arange(score.shape[1]), cost_parameters)
    for q in cost_parameters:
        # Where α vanishes its derivatives do too.
        ratio = w * act[:, q] / np.where(np.abs(alpha) < SMALLEST_COST, -SMALLEST_COST, alpha)
        cross = (score[:, own] * ratio[:, None]).sum(axis=(0, 2), dtype=np.float64)
        curvature[own, q] -= cross
        curvature[q, own] -= cross
