"""Log-likelihood, gradient and Hessian of the (cross-)nested logit, as functions of arrays.

With nests l, scales μ_l ≥ 1 in an admissible model, and memberships r = (j, l), the utility inside
a nest is W_r = V_j + log α_r (α = 1 in a nested logit):

    π_r = exp(μ_l W_r) / Σ_{s in l} exp(μ_l W_s)       conditional probability in the nest
    I_l = (1/μ_l) log Σ_{r in l} exp(μ_l W_r)          inclusive value
    P_l = exp(I_l) / Σ_m exp(I_m),   P(j) = Σ_{r of j} P_l π_r

log P(i) = log Σ_{r of i} exp A_r - log Σ_l exp I_l with A_r = I_l + μ_l (W_r - I_l). With q_r the
share of membership r in the sum over those of the chosen alternative i, q_l its sum over a nest
(one for the nest of i in a nested logit), x̄_l = Σ_r π_r x_r, W̄_l alike, and ' for d/dμ_l:

    I' = (W̄ - I)/μ,   I'' = Var(W)/μ - 2 I'/μ,   x̄' = Cov(x, W)
    ∂ℓ/∂W_r = μ_l q_r + π_r ((1 - μ_l) q_l - P_l)
    ∂ℓ/∂μ_l = Σ_{r in l} q_r (W_r - W̄_l) + (q_l - P_l) I'_l
    -∂²ℓ/∂β∂β' = Σ_l μ_l (P_l + (μ_l - 1) q_l) Cov_l(x) + Cov_P(x̄) - Cov_q(∂A)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Bools, Floats
from ardchoice.design import Block
from ardchoice.families.mnl.kernel import utilities
from ardchoice.families.nested.structure import NestArrays
from ardchoice.numerics import Order, Sums

EXPANDED_BYTES = 1 << 24
"""Columns of all memberships that are expanded at once: larger blocks are cut."""


@dataclass(frozen=True, eq=False)
class NestState:
    """Everything about nests at given parameters; L nests, R memberships, B rows.

    Attributes
    ----------
    mu
        Scales; shape (L,).
    w
        Utilities W in nests, zero where unavailable; shape (R, B).
    within
        π; shape (R, B).
    inclusive
        I, -inf where no alternative of the nest is available; shape (L, B).
    nest_share
        P_l; shape (L, B).
    log_total
        log Σ_l exp I_l; shape (B,).
    log_joint
        log (P_l π_r); shape (R, B).
    """

    arrays: NestArrays
    mu: Floats
    w: Floats
    within: Floats
    inclusive: Floats
    nest_share: Floats
    log_total: Floats
    log_joint: Floats

    def sums(self, each: Floats) -> Floats:
        """Sums over the members of every nest: (R, B) -> (L, B)."""
        return np.asarray(np.add.reduceat(each, self.arrays.starts, axis=0))

    def probabilities(self, n_alternatives: int) -> Floats:
        """P of every alternative; shape (J, B)."""
        joint = np.exp(self.log_joint)
        out = np.zeros((n_alternatives, joint.shape[1]))
        if self.arrays.is_cross:
            np.add.at(out, self.arrays.alternative, joint)
        else:
            out[self.arrays.alternative] = joint
        return out


def nest_state(v: Floats, available: Bools | None, arrays: NestArrays, extras: Floats) -> NestState:
    """Shares of nests and within them.

    Parameters
    ----------
    v
        Utilities; shape (J, B).
    available
        Shape (J, B); None when all are.
    arrays
    extras
        Scales, then allocations; shape (S + A,).
    """
    mu = arrays.scales(extras)
    nest, starts = arrays.nest, arrays.starts
    w = v[arrays.alternative]
    if arrays.is_cross:
        alpha = arrays.allocations(extras[arrays.n_scales :])
        w = w + np.log(np.maximum(alpha, 0.0))[:, None]
    scaled = mu[nest][:, None] * w
    if available is not None:
        shut = ~available[arrays.alternative]
        scaled[shut], w[shut] = -np.inf, 0.0
    top = np.maximum.reduceat(scaled, starts, axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    within = np.exp(scaled - top[nest])
    total = np.add.reduceat(within, starts, axis=0)
    within /= np.where(total > 0, total, 1.0)[nest]
    with np.errstate(divide="ignore"):
        inclusive = (top + np.log(total)) / mu[:, None]
    highest = inclusive.max(axis=0)
    share = np.exp(inclusive - highest)
    whole = share.sum(axis=0)
    log_total = highest + np.log(whole)
    # A_r - log Σ exp I; an empty nest has I = -inf and no members.
    known = np.where(total > 0, inclusive, 0.0)
    log_joint = scaled + ((1 - mu[:, None]) * known)[nest] - log_total
    return NestState(arrays, mu, w, within, inclusive, share / whole, log_total, log_joint)


@dataclass(frozen=True, eq=False)
class NestDerivatives:
    """Of the log-likelihood of every row.

    Attributes
    ----------
    log_chosen
        log P of the chosen alternative; shape (B,).
    q, q_nest
        Shares of the memberships of the chosen alternative, and of nests; (R, B) and (L, B).
    away
        W - W̄ of its nest; shape (R, B).
    slope
        I' = dI/dμ; shape (L, B).
    by_utility
        ∂ℓ/∂W; shape (R, B).
    by_scale
        ∂ℓ/∂μ_l; shape (L, B).
    """

    log_chosen: Floats
    q: Floats
    q_nest: Floats
    away: Floats
    slope: Floats
    by_utility: Floats
    by_scale: Floats


def log_chosen(state: NestState, block: Block) -> Floats:
    """Log P of the chosen alternatives; shape (B,)."""
    return _chosen_shares(state, block)[1]


def _chosen_shares(state: NestState, block: Block) -> tuple[Floats, Floats]:
    """Shares of the memberships of the chosen alternatives, and log P; (R, B) and (B,)."""
    chosen = state.arrays.alternative[:, None] == block.choice
    logs = np.where(chosen, state.log_joint, -np.inf)
    top = logs.max(axis=0)
    q = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    total = q.sum(axis=0)
    with np.errstate(divide="ignore"):
        found = top + np.log(total)
    return q / np.where(total > 0, total, 1.0), found


def derivatives(state: NestState, block: Block) -> NestDerivatives:
    """First derivatives by utilities and scales, row by row."""
    nest, mu = state.arrays.nest, state.mu[:, None]
    q, found = _chosen_shares(state, block)
    q_nest = state.sums(q)
    mean = state.sums(state.within * state.w)
    away = state.w - mean[nest]
    slope = np.where(np.isfinite(state.inclusive), mean - state.inclusive, 0.0) / mu
    weight = (1 - mu) * q_nest - state.nest_share
    by_utility = mu[nest] * q + state.within * weight[nest]
    by_scale = state.sums(q * away) + (q_nest - state.nest_share) * slope
    return NestDerivatives(found, q, q_nest, away, slope, by_utility, by_scale)


def evaluate(
    theta: Floats, block: Block, n_columns: int, arrays: NestArrays, order: Order = 2
) -> Sums:
    """ℓ, and with `order` 1 its gradient, with 2 its (negative) Hessian as well.

    Parameters
    ----------
    theta
        Coefficients in block order, scales, allocations; shape (P,).
    block
    n_columns
        D.
    arrays
    order
    """
    empty = np.empty(0)
    if not is_inside(theta, n_columns, arrays):
        size = len(theta)
        return Sums(-np.inf, np.zeros(size if order else 0), np.eye(size if order == 2 else 0))
    pieces = [
        _evaluate(theta, piece, n_columns, arrays, order, empty)
        for piece in pieces_of(block, n_columns * len(arrays.alternative))
    ]
    total = pieces[0]
    for piece in pieces[1:]:
        total = total + piece
    return total


def is_inside(theta: Floats, n_columns: int, arrays: NestArrays) -> bool:
    """Whether scales and allocations are positive."""
    extras = theta[n_columns:]
    alpha = arrays.allocations(extras[arrays.n_scales :])
    return bool((extras[: arrays.n_scales] > 0).all() and (alpha > 0).all())


def pieces_of(block: Block, row_numbers: int) -> Iterator[Block]:
    """A block, or parts of it that can be expanded."""
    n = block.shape[1]
    size = max(64, EXPANDED_BYTES // max(1, 8 * row_numbers))
    if n <= size:
        yield block
        return
    for start in range(0, n, size):
        yield block.take(np.arange(start, min(start + size, n)))


def _evaluate(
    theta: Floats, block: Block, n_columns: int, arrays: NestArrays, order: Order, empty: Floats
) -> Sums:
    state = nest_state(
        utilities(theta[:n_columns], block), block.available, arrays, theta[n_columns:]
    )
    if order == 0:
        found = log_chosen(state, block)
        return Sums(
            float(found.sum() if block.weight is None else block.weight @ found), empty, empty
        )
    first = derivatives(state, block)
    weight = np.ones(block.shape[1]) if block.weight is None else block.weight
    x = expanded(block, n_columns, arrays, theta)
    gradient = np.concatenate(
        [_times(x, first.by_utility * weight), _by_parameter(first.by_scale @ weight, arrays)]
    )
    loglik, back = float(weight @ first.log_chosen), parameter_order(n_columns, arrays)
    if order == 1:
        return Sums(loglik, gradient[back], empty)
    hessian = _hessian(state, first, x, weight, n_columns)
    return Sums(loglik, gradient[back], hessian[np.ix_(back, back)])


def parameter_order(n_columns: int, arrays: NestArrays) -> Floats:
    """Where θ = (β, μ, α) stands in (β, α, μ), the order of the kernel; shape (P,)."""
    a, s = len(arrays.allocation_names), arrays.n_scales
    return np.concatenate(
        [np.arange(n_columns), n_columns + a + np.arange(s), n_columns + np.arange(a)]
    ).astype(np.intp)


def expanded(block: Block, n_columns: int, arrays: NestArrays, theta: Floats) -> Floats:
    """∂W/∂(β, α) of every membership; shape (D + A, R, B)."""
    a = len(arrays.allocation_names)
    x = np.zeros((n_columns, *block.shape))
    for part in block.parts:
        x[part.columns, list(part.alternatives)] = part.x
    x = x[:, arrays.alternative]
    if not a:
        return x
    rows = np.broadcast_to(
        _allocation_slopes(arrays, theta, n_columns)[:, :, None], (a, *x.shape[1:])
    )
    return np.concatenate([x, rows])


def _allocation_slopes(arrays: NestArrays, theta: Floats, n_columns: int) -> Floats:
    """∂ log α_r/∂a; shape (A, R)."""
    alpha = arrays.allocations(theta[n_columns + arrays.n_scales :])
    return np.asarray((arrays.allocation_slopes / alpha[:, None]).T)


def _times(x: Floats, weights: Floats) -> Floats:
    """Σ over memberships and rows of weights times columns; shape (D,)."""
    return np.asarray(x.reshape(len(x), -1) @ weights.ravel())


def _by_parameter(by_nest: Floats, arrays: NestArrays) -> Floats:
    """Derivatives by scales of nests -> by scale parameters, along the first axis."""
    out = np.zeros((arrays.n_scales, *by_nest.shape[1:]))
    np.add.at(out, arrays.scale_of, by_nest[: len(arrays.scale_of)])
    return out


def _hessian(
    state: NestState, first: NestDerivatives, x: Floats, weight: Floats, n_columns: int
) -> Floats:
    """-∇²ℓ summed over rows, in the order of the kernel; shape (P, P)."""
    arrays, d = state.arrays, len(x)
    size = d + arrays.n_scales
    out = np.zeros((size, size))
    out[:d, :d] = _by_columns(state, first, x, weight)
    crossed = _columns_by_scales(state, first, x, weight)
    out[:d, d:] = -_by_parameter(crossed.T, arrays).T
    out[d:, :d] = out[:d, d:].T
    scales = _by_scales(state, first, weight)
    out[d:, d:] = -_by_parameter(_by_parameter(scales, arrays).T, arrays)
    if arrays.is_cross:
        # log α bends: ∇² log α = -(∂ log α)(∂ log α)'.
        slopes = x[n_columns:, :, 0]
        out[n_columns:d, n_columns:d] += (slopes * (first.by_utility @ weight)) @ slopes.T
        out -= _spread_over_nests(state, first, x, weight)
    return out


def _by_columns(state: NestState, first: NestDerivatives, x: Floats, weight: Floats) -> Floats:
    """Σ_l c_l Cov_l(x) + Cov_P(x̄) with c = μ (P + (μ - 1) q); shape (D, D)."""
    arrays, mu = state.arrays, state.mu[:, None]
    nest, d = arrays.nest, len(x)
    means = np.add.reduceat(x * state.within, arrays.starts, axis=1)
    curved = mu * (state.nest_share + (mu - 1) * first.q_nest) * weight
    inside = arrays.nest < len(arrays.names)  # alternatives alone do not vary in their nest
    away = (x - means[:, nest])[:, inside] if not inside.all() else x - means[:, nest]
    weights = (curved[nest] * state.within)[inside]
    out = (away * weights).reshape(d, -1) @ away.reshape(d, -1).T
    means -= np.einsum("dlb,lb->db", means, state.nest_share)[:, None]
    means *= np.sqrt(state.nest_share * weight)
    flat = means.reshape(d, -1)
    out += flat @ flat.T
    return np.asarray(0.5 * (out + out.T))


def _columns_by_scales(
    state: NestState, first: NestDerivatives, x: Floats, weight: Floats
) -> Floats:
    """∂²ℓ/∂(β, α)∂μ_l apart from the spread over nests; shape (D, M)."""
    arrays, mu = state.arrays, state.mu
    joint = state.within * state.nest_share[arrays.nest]
    out = np.zeros((len(x), len(arrays.names)))
    ends = np.append(arrays.starts, len(arrays.nest))
    for nest in range(len(arrays.names)):
        own = slice(ends[nest], ends[nest + 1])
        share, q, slope = state.nest_share[nest], first.q_nest[nest], first.slope[nest]
        pi = state.within[own]
        weights = joint * (share * slope)
        weights[own] += (
            first.q[own]
            - pi * q
            + ((1 - mu[nest]) * q - share) * pi * first.away[own]
            - share * slope * pi
        )
        out[:, nest] = _times(x, weights * weight)
    return out


def _by_scales(state: NestState, first: NestDerivatives, weight: Floats) -> Floats:
    """∂²ℓ/∂μ_l∂μ_m apart from the spread over nests; shape (M, M)."""
    m = len(state.arrays.names)
    mu, share, slope = state.mu[:m, None], state.nest_share[:m], first.slope[:m]
    variance = state.sums(state.within * first.away**2)[:m]
    bend = variance / mu - 2 * slope / mu
    q = first.q_nest[:m]
    pull = share * slope
    out = (pull * weight) @ pull.T
    own = -q * variance + (q - share) * bend - share * slope**2
    out[np.diag_indices(m)] += own @ weight
    return np.asarray(out)


def _spread_over_nests(
    state: NestState, first: NestDerivatives, x: Floats, weight: Floats
) -> Floats:
    """Σ_r q_r h_r h_r' - (Σ q h)(Σ q h)' with h = ∂A_r, over the nests of the chosen; (P, P)."""
    arrays = state.arrays
    nest, mu, d = arrays.nest, state.mu, len(x)
    inside = np.flatnonzero(nest < len(arrays.names))
    means = np.add.reduceat(x * state.within, arrays.starts, axis=1)
    h = np.zeros((d + arrays.n_scales, *state.w.shape))
    h[:d] = (1 - mu[nest])[:, None] * means[:, nest] + mu[nest][:, None] * x
    h[d + arrays.scale_of[nest[inside]], inside] = (first.away + first.slope[nest])[inside]
    h = h - np.einsum("prb,rb->pb", h, first.q)[:, None]
    flat = h * np.sqrt(first.q * weight)
    flat = flat.reshape(len(h), -1)
    return np.asarray(flat @ flat.T)
