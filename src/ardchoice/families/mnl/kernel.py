"""Log-likelihood, gradient and curvature of a block, as pure functions of arrays.

With V_in = x_in'β, P_n = softmax of V_n over the available alternatives and weights w_n:

    ℓ  = Σ_n w_n log P_n(y_n)
    g  = Σ_n w_n Σ_i (1[y_n = i] - P_ni) x_in
    H  = -∇²ℓ = Σ_n w_n ( Σ_i P_ni x_in x_in' - x̄_n x̄_n' ),   x̄_n = Σ_i P_ni x_in
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.design import Block, MostlyConstant
from ardchoice.numerics import Order, Sums, map_reduce

MOST_PAIRS = 8
"""With more parts than this, one large product beats many small ones."""
FEW = 36
"""Entries of a product of columns up to which a product per entry beats that of two matrices,
whose blocking is made for more."""

ROUGHNESS = 1e-5
"""Added to the diagonal of a rough curvature, relative to it: more than rounding takes away, which
shows where columns add up to another."""


@dataclass(frozen=True, eq=False)
class Probabilities:
    """P, shape (J, B), zero where unavailable; and the log of its normaliser, shape (B,)."""

    p: Floats
    log_total: Floats


def utilities(beta: Floats, block: Block) -> Floats:
    """V = Σ_k β_k x_k; shape (J, B)."""
    v = np.zeros(block.shape)
    touched: set[int] = set()
    for part in block.parts:
        x, here = part.x, part.alternatives[0]
        if len(part.alternatives) == 1 and here not in touched:
            np.matmul(beta[part.columns], x[:, 0], out=v[here])
            touched.add(here)
            continue
        touched.update(part.alternatives)
        share = (beta[part.columns] @ x.reshape(len(x), -1)).reshape(x.shape[1:])
        if len(part.alternatives) == len(v):
            v += share
        else:
            v[list(part.alternatives)] += share
    return v


def choice_probabilities(
    v: Floats, available: npt.NDArray[np.bool_] | None = None
) -> Probabilities:
    """Softmax over the available alternatives, safe for utilities of any size.

    Parameters
    ----------
    v
        Shape (J, B).
    available
        Shape (J, B); None when all are.
    """
    p = v.copy()
    return Probabilities(p, _softmax(p, available))


def _softmax(v: Floats, available: npt.NDArray[np.bool_] | None) -> Floats:
    """Turn utilities into probabilities, in place, and give the log of the normaliser; (B,)."""
    if available is not None:
        # Before the maximum is taken: an unavailable giant must not drown the others.
        np.copyto(v, -np.inf, where=~available)
    top = v.max(axis=0)
    v -= top
    np.exp(v, out=v)
    total = v.sum(axis=0)
    v /= total
    return np.asarray(top + np.log(total))


def evaluate(beta: Floats, block: Block, order: Order = 2, *, rough: bool = False) -> Sums:
    """ℓ, and with `order` 1 its gradient, with 2 its curvature as well.

    Parameters
    ----------
    beta
        Shape (D,).
    block
    order
        0, 1 or 2.
    rough
        Whether five digits of the curvature will do: half the time, where it takes most.
    """
    return evaluate_at(utilities(beta, block), block, order, rough=rough)


def evaluate_at(v: Floats, block: Block, order: Order = 2, *, rough: bool = False) -> Sums:
    """The same at given utilities v, shape (J, B), wherever they come from; v is used up."""
    p = np.ascontiguousarray(v)
    loglik = _to_probabilities(p, block)
    empty = np.empty(0)
    if order == 0:
        return Sums(loglik, empty, empty)
    curvature = _curvature(p, block, rough=rough) if order == 2 else empty
    return Sums(loglik, _gradient(_to_residual(p, block), block), curvature)


def evaluate_with_scores(beta: Floats, block: Block) -> tuple[Sums, Floats]:
    """ℓ, its gradient and curvature, and the gradient of every situation's own ℓ; (D, B)."""
    p = utilities(beta, block)
    loglik = _to_probabilities(p, block)
    curvature = _curvature(p, block)
    each = weighted_columns(_to_residual(p, block), block)
    return Sums(loglik, each.sum(axis=1), curvature), each


def weighted_columns(weights: Floats, block: Block) -> Floats:
    """Σ_i a_i x_i with weights a per alternative and row; with P the mean x̄; shape (D, B)."""
    out = np.empty((block.n_columns, block.shape[1]))
    for part in block.parts:
        if len(part.alternatives) == 1:
            np.multiply(part.x[:, 0], weights[part.alternatives[0]], out=out[part.columns])
        else:
            share = weights[list(part.alternatives)]
            np.einsum("kab,ab->kb", part.x, share, out=out[part.columns])
    return out


def _to_probabilities(v: Floats, block: Block) -> float:
    """Turn utilities, (J, B), into probabilities in place, and give ℓ."""
    logs = v.take(block.picked)
    logs -= _softmax(v, block.available)
    return float(logs.sum() if block.weight is None else block.weight @ logs)


def _to_residual(p: Floats, block: Block) -> Floats:
    """Turn probabilities, (J, B), into W (1[y = i] - P_i) in place."""
    np.negative(p, out=p)
    np.add.at(p.reshape(-1), block.picked, 1.0)
    if block.weight is not None:
        p *= block.weight
    return p


def _gradient(residual: Floats, block: Block) -> Floats:
    out = np.empty(block.n_columns)
    for part in block.parts:
        x = part.x.reshape(len(part.x), -1)
        if len(part.alternatives) == 1:
            np.matmul(x, residual[part.alternatives[0]], out=out[part.columns])
        else:
            np.matmul(x, residual[list(part.alternatives)].ravel(), out=out[part.columns])
    return out


def _curvature(p: Floats, block: Block, *, rough: bool = False) -> Floats:
    """H in the form that suits: alternative by alternative, or through the mean of the columns."""
    if len(block.parts) <= MOST_PAIRS and all(len(q.alternatives) == 1 for q in block.parts):
        few = block.mostly_constant
        if few and all(few):
            out = _curvature_of_mostly_constant(p, block, cast("Sequence[MostlyConstant]", few))
            if rough:
                out.flat[:: len(out) + 1] *= 1 + ROUGHNESS
            return out
        if not rough:
            return _curvature_by_pairs(p, block, np.float64)
        out = _curvature_by_pairs(p, block, np.float32)
        out.flat[:: len(out) + 1] *= 1 + ROUGHNESS
        return out
    return _curvature_by_mean(p, block)


def _curvature_by_pairs(p: Floats, block: Block, kind: type[np.floating[Any]]) -> Floats:
    """Few alternatives, each with columns of its own: H_ii = X_i' w P_i (1 - P_i) X_i, and so on.

    Less work than the mean form, since no product is taken only to be subtracted: which is also why
    products of numbers of another `kind` will do.
    """
    out = np.empty((block.n_columns, block.n_columns))
    root = None if block.weight is None else np.sqrt(block.weight)
    parts = block.parts
    weighted: list[Floats] = []
    for i, part in enumerate(parts):
        alternative = part.alternatives[0]
        x, share = part.x[:, 0], p[alternative]
        variance = share * _others(p, alternative)
        if block.weight is not None:
            variance *= block.weight
            share = share * root
        out[part.columns, part.columns] = _gram(x, variance, kind)
        weighted.append(_scaled(x, share, kind))
        for j in range(i):
            cross = -_products(weighted[i], weighted[j])
            out[part.columns, parts[j].columns] = cross
            out[parts[j].columns, part.columns] = cross.T
    return out


def _curvature_of_mostly_constant(
    p: Floats, block: Block, columns: Sequence[MostlyConstant]
) -> Floats:
    """The same where nearly all columns are constant but in few rows, whose products are sparse."""
    out = np.empty((block.n_columns, block.n_columns))
    for i, part in enumerate(block.parts):
        share, others = p[part.alternatives[0]], _others(p, part.alternatives[0])
        weight = share if block.weight is None else share * block.weight
        out[part.columns, part.columns] = columns[i].products(columns[i], weight * others)
        for j in range(i):
            there = block.parts[j]
            cross = columns[i].products(columns[j], weight * -p[there.alternatives[0]])
            out[part.columns, there.columns] = cross
            out[there.columns, part.columns] = cross.T
    return out


def _others(p: Floats, alternative: int) -> Floats:
    """1 - P as the sum of the others, so that nothing cancels when P is close to one."""
    return reduce(np.add, [p[j] for j in range(len(p)) if j != alternative])


def _scaled(x: Floats, by: Floats, kind: type[np.floating[Any]]) -> Floats:
    return np.asarray(np.multiply(x, by, dtype=kind, casting="same_kind"))


def _gram(x: Floats, weight: Floats, kind: type[np.floating[Any]] = np.float64) -> Floats:
    """Σ_n w_n x_n x_n' of columns (K, B); shape (K, K)."""
    if len(x) ** 2 > FEW:
        x = _scaled(x, np.sqrt(weight), kind)
        return x @ x.T
    out = _products(x * weight, x)
    return 0.5 * (out + out.T)


def _products(a: Floats, b: Floats) -> Floats:
    """Σ_n a_n b_n' of columns (K, B) and (L, B); shape (K, L)."""
    if len(a) * len(b) > FEW:
        return a @ b.T
    return np.asarray((a[:, None, None] @ b[:, :, None])[..., 0, 0])


def _curvature_by_mean(p: Floats, block: Block) -> Floats:
    """Any mixture of specific, shared and generic columns, with any number of alternatives.

    Columns of every alternative are centred at their mean x̄ first, H = Σ P (x - x̄)(x - x̄)', so
    that a large common level cancels before it is squared; elsewhere x̄ x̄' is subtracted.
    """
    parts, weight = block.parts, block.weight
    root = np.sqrt(p if weight is None else p * weight)
    out = np.zeros((block.n_columns, block.n_columns))
    # x̄ of the columns that are not centred, zero for those that are.
    mean = np.zeros((block.n_columns, block.shape[1]))
    rooted = []
    for part in parts:
        x = part.x
        if len(part.alternatives) == block.shape[0]:
            x = x - np.einsum("kab,ab->kb", x, p)[:, None]
        else:
            np.einsum("kab,ab->kb", x, p[list(part.alternatives)], out=mean[part.columns])
        rooted.append(x * root[list(part.alternatives)])
    for i, part in enumerate(parts):
        own = rooted[i].reshape(len(part.x), -1)
        out[part.columns, part.columns] += own @ own.T
        for j in range(i):
            common = tuple(a for a in part.alternatives if a in parts[j].alternatives)
            if common:
                here = _pick(rooted[i], part.alternatives, common)
                there = _pick(rooted[j], parts[j].alternatives, common)
                cross = here @ there.T
                out[part.columns, parts[j].columns] += cross
                out[parts[j].columns, part.columns] += cross.T
    if weight is not None:
        mean *= np.sqrt(weight)
    return out - mean @ mean.T


def _pick(x: Floats, alternatives: tuple[int, ...], wanted: tuple[int, ...]) -> Floats:
    """The columns over some of their alternatives, flattened; shape (K, A B)."""
    if wanted != alternatives:
        x = x[:, [alternatives.index(a) for a in wanted]]
    return x.reshape(len(x), -1)


def one_pass(
    beta: Floats, blocks: Iterable[Block], order: Order = 2, *, rough: bool = False
) -> Sums:
    """ℓ, ∇ℓ and -∇²ℓ summed over blocks in a fixed order.

    Parameters
    ----------
    beta
        Shape (D,).
    blocks
    order
        0 for ℓ alone, 1 with the gradient, 2 with the curvature.
    rough
        Whether five digits of the curvature will do.
    """
    return map_reduce(partial(evaluate, beta, order=order, rough=rough), blocks)
