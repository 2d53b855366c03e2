"""Probabilities of persons of whom nothing is known: tastes are integrated out.

All situations share the same nodes, so that probabilities are smooth in the parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.design import Block
from ardchoice.families.mixed.distributions import Draws, basis, draw
from ardchoice.families.mixed.money import cost_draws, cost_spread, index_coefficients
from ardchoice.families.mixed.nodes import sobol_points
from ardchoice.families.mixed.structure import Structure
from ardchoice.numerics import single_blas_thread

PREDICTION_NODES = 256
"""Of the distribution of tastes; a power of two."""
CHUNK_ELEMENTS = 1 << 16
"""Numbers in an array over alternatives, rows and nodes."""


@dataclass(frozen=True, eq=False)
class Tastes:
    """Nodes of the distribution of tastes.

    Attributes
    ----------
    draws
        Of every random coefficient; arrays of shape (1, R).
    beta
        Shape (q, R).
    every
        In WTP space, the coefficients of all columns in preference space; shape (E, R). Else None.
    alpha
        In WTP space, the cost coefficient; shape (R,) or (1,). Else None.
    """

    draws: tuple[Draws, ...]
    beta: Floats
    every: Floats | None = None
    alpha: Floats | None = None


def population(
    structure: Structure, phi: Floats, seed: int, count: int = PREDICTION_NODES
) -> Tastes:
    """Random coefficients at nodes of their distribution, equally weighted."""
    from scipy import special

    if structure.q == 0:
        points, count = np.empty((0, 1)), 1
    elif structure.q == 1:
        points = (np.arange(count)[None] + 0.5) / count
    else:
        points = np.clip(sobol_points(count, structure.q, seed), 1e-12, 1 - 1e-12)
    z = special.ndtri(points)[:, None]
    d, draws = structure.n_columns, []
    for k, spread in enumerate(structure.spreads):
        places = structure.loadings_of(k)
        bases = tuple(basis(spread.distribution, z[node]) for node in structure.node[places])
        location = 0.0 if spread.column is None else float(phi[spread.column])
        draws.append(draw(spread.distribution, spread.sign, location, phi[d + places], bases))
    beta = np.array([found.value[0] for found in draws]).reshape(structure.q, count)
    if structure.money is None:
        return Tastes(tuple(draws), beta)
    alpha = cost_draws(structure, phi, draws, float).value[0]
    return Tastes(tuple(draws), beta, index_coefficients(structure, phi, beta) * alpha, alpha)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a block at all nodes.

    Attributes
    ----------
    rows
    x
        All columns; shape (J, b, E).
    p
        Probabilities at every node; shape (J, b, R).
    log_total
        log Σ exp V; shape (b, R).
    """

    rows: slice
    x: Floats
    p: Floats
    log_total: Floats


def chunks(block: Block, structure: Structure, phi: Floats, tastes: Tastes) -> Iterator[Chunk]:
    """Probabilities at every node, some rows at a time."""
    j, b = block.shape
    fixed = fixed_coefficients(structure, phi)
    step = max(1, CHUNK_ELEMENTS // (j * tastes.beta.shape[1]))
    for first in range(0, b, step):
        rows = slice(first, min(first + step, b))
        x = _columns(block, structure, rows)
        v = linear(x, structure, fixed, tastes)
        if block.available is not None:
            v[~block.available[:, rows]] = -np.inf
        top = v.max(axis=0)
        np.exp(v - top, out=v)
        total = v.sum(axis=0)
        v /= total
        yield Chunk(rows, x, v, np.log(total) + top)


def fixed_coefficients(structure: Structure, phi: Floats) -> Floats:
    """Coefficients that are not random, zeros in place of those that are; shape (D,)."""
    fixed = phi[: structure.n_columns].copy()
    fixed[structure.columns[structure.columns < structure.n_columns]] = 0.0
    return fixed


def linear(x: Floats, structure: Structure, fixed: Floats, tastes: Tastes) -> Floats:
    """Columns times coefficients at every node; (..., E) -> (..., R)."""
    if tastes.every is not None:
        return np.asarray(x @ tastes.every)
    # Indexing by columns leaves them first in memory, where a product takes ten times as long.
    out = np.take(x, structure.columns, axis=-1) @ tastes.beta
    out += (x[..., : structure.n_columns] @ fixed)[..., None]
    return np.asarray(out)


def _columns(block: Block, structure: Structure, rows: slice) -> Floats:
    """All columns, error components behind those of the design; shape (J, b, E)."""
    j, d = block.shape[0], structure.n_columns
    x = np.zeros((j, rows.stop - rows.start, d + len(structure.components)))
    for part in block.parts:
        x[list(part.alternatives), :, part.columns] = part.x[:, :, rows].transpose(1, 2, 0)
    for e, component in enumerate(structure.components):
        component.component.fill(x, d + e)
    return x


@single_blas_thread()
def mean_probabilities(block: Block, structure: Structure, phi: Floats, tastes: Tastes) -> Floats:
    """Shape (J, B)."""
    out = np.empty(block.shape)
    for chunk in chunks(block, structure, phi, tastes):
        out[:, chunk.rows] = chunk.p.mean(axis=2)
    return out


@single_blas_thread()
def mean_response(
    block: Block, structure: Structure, phi: Floats, tastes: Tastes, alternative: int
) -> Floats:
    """∂P_j/∂V_i; shape (J, B)."""
    out = np.empty(block.shape)
    for chunk in chunks(block, structure, phi, tastes):
        p = chunk.p
        out[:, chunk.rows] = -np.einsum("jbr,br->jb", p, p[alternative]) / p.shape[2]
        out[alternative, chunk.rows] += p[alternative].mean(axis=1)
    return out


@single_blas_thread()
def mean_attribute_responses(
    block: Block,
    structure: Structure,
    phi: Floats,
    tastes: Tastes,
    alternatives: Iterable[int],
    slopes: Block,
) -> tuple[Floats, dict[int, Floats]]:
    """P, and ∂P_j/∂x_i = E[P_j (1[i=j] - P_i) ∂V_i/∂x_i] over tastes, of every i; (J, B) each."""
    fixed = fixed_coefficients(structure, phi)
    p = np.empty(block.shape)
    out = {i: np.empty(block.shape) for i in alternatives}
    for chunk in chunks(block, structure, phi, tastes):
        p[:, chunk.rows] = chunk.p.mean(axis=2)
        push = slope_columns(slopes, structure, chunk.rows)
        for i, response in out.items():
            own = linear(push[i], structure, fixed, tastes) * chunk.p[i]
            response[:, chunk.rows] = -np.einsum("jbr,br->jb", chunk.p, own) / own.shape[1]
            response[i, chunk.rows] += own.mean(axis=1)
    return p, out


def slope_columns(slopes: Block, structure: Structure, rows: slice) -> Floats:
    """Derivatives of all columns; shape (J, b, E)."""
    x = _columns(slopes, structure, rows)
    # Components are sums of columns, or constants, which have no slope.
    constant = np.zeros_like(x)
    for e, component in enumerate(structure.components):
        component.component.fill(constant, structure.n_columns + e)
    return np.asarray(x - constant)


@dataclass(frozen=True, eq=False)
class Acting:
    """How parameters act on utility: it changes by column times feature.

    Attributes
    ----------
    column
        Of every parameter; shape (P,).
    features
        At the nodes, (R,) each; None where it is 1.
    of_cost
        In WTP space, the parameters of the cost coefficient: they act on the index of utility.
    """

    column: Ints
    features: list[Floats | None]
    of_cost: frozenset[int]


def acting_on(structure: Structure, tastes: Tastes) -> Acting:
    """Of coefficients and loadings."""
    d = structure.n_columns
    column = np.concatenate([np.arange(d), structure.columns[structure.coefficient]])
    features: list[Floats | None] = [None] * structure.size
    for k, (spread, found) in enumerate(zip(structure.spreads, tastes.draws, strict=True)):
        if spread.column is not None and found.by_location is not None:
            features[spread.column] = found.by_location[0]
        for m, array in zip(structure.loadings_of(k), found.by_loading, strict=True):
            features[d + m] = array[0]
    return Acting(column, features, _in_money(structure, tastes, column, features))


@single_blas_thread()
def summed_gradient(
    block: Block, structure: Structure, phi: Floats, tastes: Tastes, weights: Floats
) -> Floats:
    """Σ_n a_n ∂P_nj/∂φ; shape (S, J, D + M)."""
    acting = acting_on(structure, tastes)
    out = np.zeros((len(weights), block.shape[0], structure.size))
    for chunk in chunks(block, structure, phi, tastes):
        w, p = weights[:, chunk.rows], chunk.p
        means = np.einsum("jbr,jbe->ebr", p, chunk.x)
        index = _index(chunk, tastes)
        for k, c in enumerate(acting.column):
            away = index if k in acting.of_cost else chunk.x[..., c, None] - means[c]
            feature = acting.features[k]
            if feature is not None:
                away = away * feature
            out[..., k] += w @ np.einsum("jbr,jbr->bj", p, away) / p.shape[2]
    return out


def _in_money(
    structure: Structure, tastes: Tastes, column: Ints, features: list[Floats | None]
) -> frozenset[int]:
    """Features as WTP space has them, in place; which parameters act on the index of utility."""
    money, alpha = structure.money, tastes.alpha
    if money is None or alpha is None:
        return frozenset()
    of_cost = {money.cost}
    k = cost_spread(structure)
    if k is not None:
        of_cost |= {structure.n_columns + int(m) for m in structure.loadings_of(k)}
    for p, feature in enumerate(features):
        if p not in of_cost:
            signed = money.signs[column[p]] * alpha
            features[p] = signed if feature is None else signed * feature
    return frozenset(of_cost)


def _index(chunk: Chunk, tastes: Tastes) -> Floats:
    """In WTP space c + Σ s w x, less its mean over alternatives; shape (J, b, R)."""
    if tastes.every is None or tastes.alpha is None:
        return np.empty(0)
    index = chunk.x @ (tastes.every / tastes.alpha)
    return np.asarray(index - (chunk.p * index).sum(axis=0))
