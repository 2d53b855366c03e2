"""How the parameters of a mixed logit act on utility at the nodes: a column times a feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats, Ints
from ardchoice.families.mixed.distributions import Draws, basis, draw
from ardchoice.families.mixed.money import MoneyFeatures, cost_draws, cost_spread
from ardchoice.families.mixed.structure import Structure

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Features:
    """How parameters act: utility changes by x_column · feature.

    Attributes
    ----------
    arrays
        Distinct features, (n, R) each; the first is None and means 1.
    column, feature
        Of every parameter; shape (P,).
    draws
        Of every random coefficient.
    money
        In WTP space: the cost coefficient, whose parameters act on the index. Else None.
    """

    arrays: list[Array | None]
    column: Ints
    feature: Ints
    draws: list[Draws]
    money: MoneyFeatures | None = None


def features_at(structure: Structure, phi: Floats, z: Array) -> Features:
    """At nodes of n persons; z of shape (n, q, R)."""
    d = structure.n_columns
    column = np.concatenate([np.arange(d), structure.columns[structure.coefficient]])
    feature = np.zeros(structure.size, dtype=np.intp)
    arrays: list[Array | None] = [None]
    place: dict[int, int] = {}
    bases: dict[tuple[str, int], Array] = {}

    def position(array: Array) -> int:
        if id(array) not in place:
            place[id(array)] = len(arrays)
            arrays.append(array)
        return place[id(array)]

    draws = []
    for k, spread in enumerate(structure.spreads):
        places = structure.loadings_of(k)
        kind = spread.distribution
        xi = []
        for node in structure.node[places]:
            shared = kind if kind in ("uniform", "triangular") else "normal"
            key = (shared, int(node))
            if key not in bases:
                bases[key] = basis(kind, np.ascontiguousarray(z[:, node]))
            xi.append(bases[key])
        location = 0.0 if spread.column is None else float(phi[spread.column])
        found = draw(kind, spread.sign, location, phi[d + places], tuple(xi))
        draws.append(found)
        if spread.column is not None and found.by_location is not None:
            feature[spread.column] = position(found.by_location)
        for m, array in zip(places, found.by_loading, strict=True):
            feature[d + m] = position(array)
    plain = Features(arrays, column, feature, draws)
    return plain if structure.money is None else _in_money(structure, phi, plain, z.dtype)


def _in_money(structure: Structure, phi: Floats, plain: Features, dtype: Any) -> Features:
    """Features times α and the signs of WTP; those of α act on the column behind all others."""
    assert structure.money is not None  # noqa: S101 - the caller knows
    alpha = cost_draws(structure, phi, plain.draws, dtype).value
    signs, k = structure.money.signs, cost_spread(structure)
    d = structure.n_columns
    of_cost = [structure.money.cost]
    if k is not None:
        of_cost += [int(d + m) for m in structure.loadings_of(k)]
    column, feature = plain.column.copy(), plain.feature.copy()
    arrays = list(plain.arrays)
    place: dict[tuple[int, float], int] = {}
    for p in np.setdiff1d(np.arange(structure.size), of_cost):
        key = (int(feature[p]), float(signs[column[p]]))
        if key not in place:
            place[key] = len(arrays)
            raw, signed = arrays[key[0]], dtype.type(key[1]) * alpha
            arrays.append(signed if raw is None else raw * signed)
        feature[p] = place[key]
    column[of_cost] = len(signs)
    money = MoneyFeatures(alpha, np.array(of_cost, dtype=np.intp))
    return Features(arrays, column, feature, plain.draws, money)
