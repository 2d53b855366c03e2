"""What θ of a mixed logit consists of: locations, standard deviations, correlations.

`Spread` and `Correlation` are parameters that say what they belong to, so that a layout alone tells
how to evaluate a block. Estimation works on loadings (a lower triangular matrix where coefficients
are correlated); users see standard deviations and correlations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats, Ints
from ardchoice.families.mixed.distributions import Distribution
from ardchoice.families.mixed.persons import Component
from ardchoice.families.parameters import Parameter, ParameterLayout
from ardchoice.numerics import Sums

COMPLEX_STEP = 1e-30
"""Of complex-step differentiation, which has no rounding error."""
SECOND_STEP = 1e-5
"""Of central differences of complex-step derivatives."""


@dataclass(frozen=True)
class Spread(Parameter):
    """The standard deviation of a random coefficient, or of an error component.

    Attributes
    ----------
    distribution, sign
    alternatives
        Of an error component, which multiplies no column: those that share it. Else empty.
    shared
        Columns that vary together around means of their own: it multiplies their sum. Else empty.
    """

    distribution: Distribution = "normal"
    sign: int = 1
    alternatives: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()

    @property
    def component(self) -> Component:
        """What it multiplies where that is no column of the design."""
        return Component(self.alternatives, self.shared)

    def moved(self, place: Mapping[int, int]) -> Parameter | None:
        """The same where columns stand elsewhere."""
        if not self.shared:
            return super().moved(place)
        if not all(c in place for c in self.shared):
            return None
        return replace(self, shared=tuple(sorted(place[c] for c in self.shared)))


@dataclass(frozen=True)
class Correlation(Parameter):
    """The correlation between two random coefficients, by their positions among the spreads."""

    first: int = 0
    second: int = 1


@dataclass(frozen=True)
class InMoney(Parameter):
    """A coefficient in WTP space: the cost's own, or a willingness to pay.

    Attributes
    ----------
    sign
        1 for what one pays to have less of, -1 for what one pays to have more of.
    is_cost
    """

    sign: int = 1
    is_cost: bool = False


@dataclass(frozen=True, eq=False)
class Money:
    """How columns become money in WTP space; E columns, components behind those of the design.

    Attributes
    ----------
    cost
        Column of the cost.
    signs
        Of every column; shape (E,).
    """

    cost: int
    signs: Floats


@dataclass(frozen=True, eq=False)
class Structure:
    """How parameters act on utility; q random coefficients, M loadings.

    Attributes
    ----------
    n_columns
        D, of the design.
    spreads
        The q random coefficients.
    coefficient, node
        Of every loading: which random coefficient, and which of the q normal draws; shape (M,).
    correlations
    money
        In WTP space; else None.
    """

    n_columns: int
    spreads: tuple[Spread, ...]
    coefficient: Ints
    node: Ints
    correlations: tuple[Correlation, ...] = ()
    money: Money | None = None

    @property
    def q(self) -> int:
        """How many coefficients are random."""
        return len(self.spreads)

    @property
    def size(self) -> int:
        """D + M."""
        return self.n_columns + len(self.coefficient)

    @cached_property
    def components(self) -> tuple[Spread, ...]:
        """Error components and shared tastes: their columns stand behind those of the design."""
        return tuple(s for s in self.spreads if s.column is None)

    @cached_property
    def keys(self) -> tuple[Component, ...]:
        """What the components multiply."""
        return tuple(s.component for s in self.components)

    @cached_property
    def columns(self) -> Ints:
        """The column of every random coefficient, error components behind the D; shape (q,)."""
        extra = iter(range(self.n_columns, self.n_columns + len(self.components)))
        return np.array(
            [next(extra) if s.column is None else s.column for s in self.spreads], dtype=np.intp
        )

    @cached_property
    def signature(self) -> tuple[object, ...]:
        """What tells structures apart."""
        kinds = tuple((s.distribution, s.sign, s.column, s.component) for s in self.spreads)
        money = None
        if self.money is not None:
            money = (self.money.cost, tuple(self.money.signs.tolist()))
        return (kinds, tuple(self.coefficient.tolist()), tuple(self.node.tolist()), money)

    def loadings_of(self, k: int) -> Ints:
        """Positions of the loadings of a random coefficient."""
        return np.flatnonzero(self.coefficient == k)

    @cached_property
    def is_plain(self) -> bool:
        """Whether loadings are the standard deviations themselves."""
        return not self.correlations


def structure_of(layout: ParameterLayout) -> Structure:
    """Read from a layout, in block order."""
    spreads = tuple(p for p in layout.extras if isinstance(p, Spread))
    correlations = tuple(p for p in layout.extras if isinstance(p, Correlation))
    pairs = [(k, k) for k in range(len(spreads))]
    pairs += [(max(c.first, c.second), min(c.first, c.second)) for c in correlations]
    return Structure(
        layout.n_columns,
        spreads,
        np.array([k for k, _ in pairs], dtype=np.intp),
        np.array([node for _, node in pairs], dtype=np.intp),
        correlations,
        _money(layout, spreads),
    )


def _money(layout: ParameterLayout, spreads: tuple[Spread, ...]) -> Money | None:
    """Read from the coefficients, where they are in WTP space."""
    own = [p for p in layout.parameters[: layout.n_columns] if isinstance(p, InMoney)]
    costs = [k for k, p in enumerate(own) if p.is_cost]
    if not costs:
        return None
    signs = [p.sign for p in own]
    # A taste that terms share has their sign; an error component is like a constant.
    signs += [own[s.shared[0]].sign if s.shared else -1 for s in spreads if s.column is None]
    return Money(costs[0], np.array(signs, dtype=float))


# -- Loadings <-> standard deviations and correlations --------------------------------------------


def to_loadings(structure: Structure, extras: Floats) -> Floats:
    """Standard deviations and correlations as loadings; shape (M,) both.

    The loadings are the lower triangular L with L L' = covariance, diagonal first.
    """
    if structure.is_plain:
        return extras
    return np.asarray(_loadings(structure, extras[None])[0].real)


def from_loadings(structure: Structure, loadings: Floats) -> Floats:
    """Loadings as standard deviations and correlations, whatever the signs of their diagonal."""
    if structure.is_plain:
        return np.abs(loadings)
    q = structure.q
    root = np.zeros((q, q))
    root[structure.coefficient, structure.node] = loadings
    covariance = root @ root.T
    sd = np.sqrt(np.diag(covariance))
    out = [*sd]
    for c in structure.correlations:
        size = sd[c.first] * sd[c.second]
        out.append(covariance[c.first, c.second] / size if size > 0 else 0.0)
    return np.array(out)


def _loadings(structure: Structure, extras: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same for several vectors, complex ones too (no conjugates); shape (S, M)."""
    q = structure.q
    covariance = np.zeros((len(extras), q, q), dtype=extras.dtype)
    sd = extras[:, :q]
    covariance[:, range(q), range(q)] = sd**2
    for i, c in enumerate(structure.correlations):
        value = extras[:, q + i] * sd[:, c.first] * sd[:, c.second]
        covariance[:, c.first, c.second] = covariance[:, c.second, c.first] = value
    root = np.zeros_like(covariance)
    for k in range(q):
        rest = covariance[:, k:, k] - (root[:, k:, :k] @ root[:, k, :k, None])[..., 0]
        pivot = np.sqrt(rest[:, 0])
        root[:, k, k] = pivot
        root[:, k + 1 :, k] = rest[:, 1:] / np.where(pivot == 0, 1.0, pivot)[:, None]
    return np.asarray(root[:, structure.coefficient, structure.node])


@dataclass(frozen=True, eq=False)
class ChainRule:
    """Derivatives of the loadings by standard deviations and correlations.

    Attributes
    ----------
    first
        ∂λ_m/∂e_i; shape (M, M).
    second
        ∂²λ_m/∂e_i∂e_j; shape (M, M, M).
    """

    first: Floats
    second: Floats


def chain_rule(structure: Structure, extras: Floats) -> ChainRule:
    """By complex steps, and central differences of those."""
    m = len(extras)

    def jacobian(at: Floats) -> Floats:
        steps = at[None] + 1j * COMPLEX_STEP * np.eye(m)
        return np.asarray(_loadings(structure, steps).imag.T / COMPLEX_STEP)

    second = np.empty((m, m, m))
    for j in range(m):
        move = np.zeros(m)
        move[j] = SECOND_STEP * max(abs(extras[j]), 0.1)
        above, below = jacobian(extras + move), jacobian(extras - move)
        second[:, :, j] = (above - below) / (2 * move[j])
    return ChainRule(jacobian(extras), 0.5 * (second + second.swapaxes(1, 2)))


def in_extras(structure: Structure, extras: Floats, sums: Sums) -> Sums:
    """Sums by loadings as sums by standard deviations and correlations."""
    if structure.is_plain or not sums.gradient.size:
        return sums
    d = structure.n_columns
    rule = chain_rule(structure, extras)
    by_loading = sums.gradient[d:]
    gradient = np.concatenate([sums.gradient[:d], rule.first.T @ by_loading])
    if not sums.curvature.size:
        return Sums(sums.loglik, gradient, sums.curvature)
    turn = np.eye(len(gradient))
    turn[d:, d:] = rule.first
    curvature = turn.T @ sums.curvature @ turn
    curvature[d:, d:] -= np.einsum("m,mij->ij", by_loading, rule.second)
    return Sums(sums.loglik, gradient, curvature)
