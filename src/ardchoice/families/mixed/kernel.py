"""The simulated log-likelihood of persons, with its exact gradient and Hessian at frozen nodes.

With differences d_tj = x_tj - x_t,chosen, S_t = 1 + Σ_j exp(d_tj'β), log p_n(β) = -Σ_t log S_t and
nodes r of weights w⁰,  L_n = (1/R) Σ_r w⁰_nr p_n(β_nr).  A parameter acts on utility as x_c f: a
column c times a feature f of the node (1 for a coefficient, z for the standard deviation of a
normal one). With posterior weights w_nr ∝ w⁰_nr p_n(β_nr), m_t = Σ_j P_tj d_tj and a_nr = ∇ log p:

    ∇ log L_n = Σ_r w a,    -∇² log L_n = Σ_r w (I - a a' - Σ_k s_k ∇²β_k) + ∇ log L_n ∇ log L_n'

where I = Σ_t (Σ_j P d d' - m m') f f'. The first part of I needs only Σ_r w P f f' of every
alternative: nodes are summed before anything is contracted with d d'.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import current_thread, main_thread
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ardchoice._types import Bools, Floats, Ints
from ardchoice.design import Block, current_execution
from ardchoice.families.mixed.distributions import Draws
from ardchoice.families.mixed.features import Features, features_at
from ardchoice.families.mixed.money import (
    add_index_column,
    fixed_index,
    index_information,
    random_index,
    subtract_products,
)
from ardchoice.families.mixed.nodes import Adaptation, adapt, normal_points, place_nodes
from ardchoice.families.mixed.persons import PersonGroup, persons_of
from ardchoice.families.mixed.structure import Structure
from ardchoice.numerics import Order, default_threads, ordered_map

CHUNK_ELEMENTS = 1 << 18
"""Numbers in an array over persons, situations, columns and nodes: about what a core keeps near."""
LARGEST_UTILITY = {np.dtype(np.float32): 80.0, np.dtype(np.float64): 600.0}
"""Differences of utilities are cut there: exponentials would overflow."""
FEWEST_EFFECTIVE = 5.0
"""Effective nodes of a person below which the person gets more nodes in any case."""
LEAST_EFFECTIVE_SHARE = 0.15
"""The same as a share of the nodes: posteriors far from normal need more of them."""
MORE_NODES = 4
"""How many times as many."""
WORTH_THREADS = 1 << 20
"""Numbers in an array over all persons and nodes of a block from which threads are worth it."""
LARGEST_KEPT_POINTS = 1 << 22
"""Numbers in the quasi-random points of a block that are kept while the block is."""
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Rule:
    """How the integral over tastes is taken.

    Attributes
    ----------
    count
        R, nodes per person; a power of two.
    seed
    single_precision
        Whether nodes are processed in float32; sums over nodes' products are added in float64.
    """

    count: int
    seed: int
    single_precision: bool = False

    @property
    def least_effective(self) -> float:
        """Effective nodes below which a person gets more."""
        return max(FEWEST_EFFECTIVE, LEAST_EFFECTIVE_SHARE * self.count)

    @property
    def dtype(self) -> npt.DTypeLike:
        """Of the arrays over nodes."""
        return np.float32 if self.single_precision else np.float64


@dataclass(frozen=True, eq=False)
class Simulated:
    """Of all U units of a block; P = D + M parameters.

    Attributes
    ----------
    loglik
        log L of every unit, without weights; shape (U,).
    effective
        Effective number of nodes of every unit; shape (U,).
    scores
        ∇ log L; shape (P, U). Empty if not asked for.
    curvature
        -Σ weight ∇² log L; shape (P, P). Empty if not asked for.
    mean, variance
        Of the random coefficients given a unit's choices; shape (q, U).
    node_mean, node_square
        Weighted sums over units of E[z] and E[z z'] given their choices; shape (q,) and (q, q).
    """

    loglik: Floats
    effective: Floats
    scores: Floats
    curvature: Floats
    mean: Floats
    variance: Floats
    node_mean: Floats
    node_square: Floats


def simulate(
    block: Block,
    structure: Structure,
    phi: Floats,
    rule: Rule,
    order: Order = 2,
    anchor: Floats | None = None,
) -> Simulated:
    """Log-likelihood of every person of a block, and its derivatives.

    Parameters
    ----------
    block
        With whole persons.
    structure
    phi
        Coefficients and loadings; shape (P,).
    rule
    order
        0 for the log-likelihood alone, 1 with gradients, 2 with the Hessian.
    anchor
        Where nodes are adapted; shape (P,). Default: at `phi`.
    """
    persons = persons_of(block, structure.keys)
    u, p, q = len(persons.code), structure.size, structure.q
    out = Simulated(
        np.empty(u),
        np.empty(u),
        np.empty((p, u)) if order else np.empty((0, u)),
        np.zeros((p, p)) if order == 2 else np.empty((0, 0)),
        np.empty((q, u)),
        np.empty((q, u)),
        np.zeros(q),
        np.zeros((q, q)),
    )
    frame = phi if anchor is None else anchor
    for group in persons.groups:
        weight = persons.weight[group.unit]
        points = _points(group, persons.code[group.unit], rule, q)
        key = (rule, structure.signature, frame.tobytes())
        known = _kept_adaptations.get(group)
        is_known = known is not None and known[0] == key
        adapted = known[1] if is_known and known else adapt(group, structure, frame)
        here = _Pass(group, weight, structure, phi, adapted, points)
        if is_known and known:
            low = known[2]
            here.take(~low).run(rule, order, out)
        elif np.array_equal(frame, phi):
            low = here.run(rule, order, out, rule.least_effective)
        else:
            low = replace(here, phi=frame).run(rule, 0, None, rule.least_effective)
            here.take(~low).run(rule, order, out)
        _kept_adaptations[group] = (key, adapted, low)
        if low.any():
            more = Rule(MORE_NODES * rule.count, rule.seed, rule.single_precision)
            again = normal_points(persons.code[group.unit[low]], more.count, q, more.seed)
            replace(here.take(low), points=again).run(more, order, out)
    return out


_kept_adaptations: WeakKeyDictionary[PersonGroup, tuple[object, Adaptation, Bools]] = (
    WeakKeyDictionary()
)
"""Where the nodes of a group lay last, and which persons needed more of them."""
_kept_points: WeakKeyDictionary[PersonGroup, dict[tuple[int, int, int], Floats]] = (
    WeakKeyDictionary()
)


def _points(group: PersonGroup, codes: Ints, rule: Rule, q: int) -> Floats:
    """The quasi-random points of a group; kept where they are few."""
    if group.n_persons * q * rule.count > LARGEST_KEPT_POINTS:
        return normal_points(codes, rule.count, q, rule.seed)
    known = _kept_points.setdefault(group, {})
    key = (rule.count, rule.seed, q)
    if key not in known:
        if len(known) > 1:
            known.clear()
        known[key] = normal_points(codes, rule.count, q, rule.seed)
    return known[key]


@dataclass(frozen=True, eq=False)
class _Pass:
    """A group of n persons, and where their nodes lie.

    Attributes
    ----------
    group, weight
    structure, phi
    adapted
    points
        Quasi-random normal; shape (n, q, R).
    """

    group: PersonGroup
    weight: Floats
    structure: Structure
    phi: Floats
    adapted: Adaptation
    points: Floats

    def take(self, which: Bools) -> _Pass:
        """Some of the persons."""
        if which.all():
            return self
        return replace(
            self,
            group=self.group.take(which),
            weight=self.weight[which],
            adapted=self.adapted.take(which),
            points=self.points[which],
        )

    def run(self, rule: Rule, order: Order, into: Simulated | None, least: float = 0.0) -> Bools:
        """Which persons have fewer than `least` effective nodes; all others are added to `into`."""
        _, n, t, e = self.group.x.shape
        wide = max(len(self.group.x), self.structure.size if order == 2 else e)
        size = max(1, CHUNK_ELEMENTS // (t * rule.count * wide))
        chunks = [slice(a, min(a + size, n)) for a in range(0, n, size)]
        low = np.zeros(n, dtype=bool)
        found = ordered_map(
            lambda rows: self._chunk(rows, rule, order, least), chunks, self._threads(rule)
        )
        for rows, one in zip(chunks, found, strict=True):
            low[rows] = one.effective < least
            if into is not None:
                _store(one, self.group.unit[rows], into)
        return low

    def _threads(self, rule: Rule) -> int:
        a, n, t, _ = self.group.x.shape
        if a * t * n * rule.count < WORTH_THREADS:
            return 1
        if current_thread() is not main_thread():
            return 1  # blocks are shared out already
        return current_execution().n_threads or default_threads()

    def _chunk(self, rows: slice, rule: Rule, order: Order, least: float) -> _Found:
        dtype = np.dtype(rule.dtype)
        x = self.group.in_precision(dtype)[:, rows]
        nodes = place_nodes(self.adapted.take(rows), self.points[rows])
        features = features_at(self.structure, self.phi, nodes.z.astype(dtype, copy=False))
        p, log_p, index = self._choices(x, rows, features, dtype)
        w, loglik = _posterior(nodes.log_weight + log_p)
        effective = 1 / (w**2).sum(axis=1)
        beta = np.zeros((len(features.draws), *w.shape))
        for k, found in enumerate(features.draws):
            beta[k] = found.value
        mean = (beta * w).sum(axis=2)
        variance = np.maximum((beta**2 * w).sum(axis=2) - mean**2, 0.0)
        gradient = curvature = np.empty((0, 0))
        weight = np.where(effective < least, 0.0, self.weight[rows])
        posterior = nodes.z * (w * weight[:, None])[:, None]
        square = (posterior @ nodes.z.swapaxes(1, 2)).sum(axis=0)
        if order:
            gradient, curvature = _derivatives(
                self.structure, x, p, w.astype(dtype, copy=False), features, weight, order, index
            )
        node_mean = posterior.sum(axis=(0, 2))
        return _Found(loglik, effective, mean, variance, gradient, curvature, node_mean, square)

    def _choices(
        self, x: Array, rows: slice, features: Features, dtype: np.dtype[Any]
    ) -> tuple[list[Array], Floats, list[Array]]:
        """Probabilities and log p_n at every node; in WTP space the index of utilities too."""
        s = self.structure
        if features.money is None:
            return *_choices(self._fixed(x, rows), x[..., s.columns], features.draws, dtype), []
        which, signs = random_index(s)
        shape = (x.shape[1], len(which), self.points.shape[-1])
        taste = np.empty(shape, dtype)
        for i, (k, sign) in enumerate(zip(which, signs, strict=True)):
            taste[:, i] = sign * features.draws[k].value
        fixed = x[..., : s.n_columns] @ fixed_index(s, self.phi).astype(dtype)
        xr = x[..., s.columns[which]]
        index = [np.ascontiguousarray(xr[j]) @ taste + fixed[j][..., None] for j in range(len(x))]
        alpha = features.money.alpha[:, None]
        v = [alpha * one for one in index]
        if self.group.absent is not None:
            for one, absent in zip(v, self.group.absent[:, rows], strict=True):
                one[absent] = -np.inf
        return *_logit(v, dtype), index

    def _fixed(self, x: Array, rows: slice) -> Array:
        """Utility without random coefficients; shape (A, n, T)."""
        d = self.structure.n_columns
        b = self.phi[:d].copy()
        b[self.structure.columns[self.structure.columns < d]] = 0.0
        v = x[..., :d] @ b.astype(x.dtype)
        if self.group.absent is not None:
            v[self.group.absent[:, rows]] = -np.inf
        return np.asarray(v)


@dataclass(frozen=True, eq=False)
class _Found:
    """Of n persons; as in `Simulated`, the gradient (P, n)."""

    loglik: Floats
    effective: Floats
    mean: Floats
    variance: Floats
    gradient: Floats
    curvature: Floats
    node_mean: Floats
    node_square: Floats


def _store(found: _Found, unit: Ints, into: Simulated) -> None:
    into.loglik[unit], into.effective[unit] = found.loglik, found.effective
    into.mean[:, unit], into.variance[:, unit] = found.mean, found.variance
    into.node_mean[...] += found.node_mean
    into.node_square[...] += found.node_square
    if len(into.scores):
        into.scores[:, unit] = found.gradient
    if len(into.curvature):
        into.curvature[...] += found.curvature


def _choices(
    fixed: Array, x: Array, draws: Sequence[Draws], dtype: np.dtype[Any]
) -> tuple[list[Array], Floats]:
    """P of every other alternative, (n, T, R) each, and log p_n at every node, (n, R)."""
    beta = np.stack([d.value for d in draws], axis=1).astype(dtype, copy=False)
    utilities = (np.ascontiguousarray(x[j]) @ beta + fixed[j][..., None] for j in range(len(x)))
    return _logit(utilities, dtype)


def _logit(utilities: Iterable[Array], dtype: np.dtype[Any]) -> tuple[list[Array], Floats]:
    """The same from differences of utilities, (n, T, R) each, which are overwritten."""
    p, total = [], np.ones((), dtype)
    for v in utilities:
        np.minimum(v, LARGEST_UTILITY[dtype], out=v)
        np.exp(v, out=v)
        p.append(v)
        total = v + 1 if not p[1:] else np.add(total, v, out=total)
    log_p = -np.log(total).sum(axis=1, dtype=np.float64)
    np.reciprocal(total, out=total)
    for v in p:
        v *= total
    return p, log_p


def _posterior(log_weight: Floats) -> tuple[Floats, Floats]:
    """Weights of the nodes given the choices, (n, R), and log L, (n,)."""
    top = log_weight.max(axis=1, keepdims=True)
    w = np.exp(log_weight - top)
    total = w.sum(axis=1, keepdims=True)
    return w / total, np.log(total[:, 0] / w.shape[1]) + top[:, 0]


def _derivatives(
    structure: Structure,
    x: Array,
    p: list[Array],
    w: Array,
    features: Features,
    weight: Floats,
    order: Order,
    index: list[Array],
) -> tuple[Floats, Floats]:
    """Gradients (P, n) and, for order 2, the weighted -Hessian (P, P)."""
    a, n, t, e = x.shape
    r = w.shape[1]
    m = np.zeros((n, e, t, r), x.dtype)
    for j in range(a):
        m += x[j].swapaxes(1, 2)[..., None] * p[j][:, None]
    money = features.money
    if money is not None:
        m = add_index_column(p, index, m)
    column = features.column
    act = np.ones((n, structure.size, r), x.dtype)
    for k in np.flatnonzero(features.feature):
        act[:, k] = features.arrays[features.feature[k]]
    score = -m.sum(axis=2)[:, column] * act  # (n, P, R)
    gradient = (score * w[:, None]).sum(axis=2, dtype=np.float64)
    if order == 1:
        return gradient.T, np.empty((0, 0))
    # -Hessian = weighted Grams of x, m and score, and what a nonlinear β adds.
    root = np.sqrt(w * weight.astype(x.dtype)[:, None])[:, None]
    scaled = act * root
    inner = (m[:, column] * scaled[:, :, None]).reshape(n, structure.size, t * r)
    outer = score * root
    curvature = _over_alternatives(structure, x, p, w * weight.astype(x.dtype)[:, None], features)
    curvature -= (inner @ inner.swapaxes(1, 2)).sum(axis=0, dtype=np.float64)
    curvature -= (outer @ outer.swapaxes(1, 2)).sum(axis=0, dtype=np.float64)
    curvature += (gradient * weight[:, None]).T @ gradient
    weighted = w * weight.astype(x.dtype)[:, None]
    _add_second(structure, m, weighted, features, curvature)
    if money is not None:
        which = money.cost_parameters
        index_information(x, p, index, weighted, column, act, which, curvature)
        subtract_products(score, weighted, money.alpha, act, which, curvature)
    return gradient.T, curvature


def _over_alternatives(
    structure: Structure, x: Array, p: list[Array], w: Array, features: Features
) -> Floats:
    """Σ w P x x' f f': nodes are summed first; shape (P, P)."""
    on_columns = features.column < x[0].shape[-1]  # in WTP space some act on the index
    own = np.flatnonzero((features.feature == 0) & on_columns)
    other = np.flatnonzero((features.feature != 0) & on_columns)
    i, j = np.triu_indices(len(other))
    pairs = list(zip(features.feature[other][i], features.feature[other][j], strict=True))
    wanted = list(dict.fromkeys([(0, 0), *((0, f) for f in features.feature[other]), *pairs]))
    place = {pair: k for k, pair in enumerate(wanted)}
    weights = np.empty((len(w), w.shape[1], len(wanted)), w.dtype)
    for k, (f, g) in enumerate(wanted):
        weights[..., k] = w
        for feature in (f, g):
            array = features.arrays[feature]
            if array is not None:
                weights[..., k] *= array
    single = np.array([place[0, f] for f in features.feature[other]], dtype=np.intp)
    double = np.array([place[pair] for pair in pairs], dtype=np.intp)
    out = np.zeros((structure.size, structure.size))
    for k, chance in enumerate(p):
        moment = (chance @ weights).reshape(-1, len(wanted))
        xk = x[k].reshape(len(moment), -1)
        mine, theirs = xk[:, features.column[own]], xk[:, features.column[other]]
        out[np.ix_(own, own)] += mine.T @ (mine * moment[:, :1])
        across = mine.T @ (theirs * moment[:, single])
        out[np.ix_(own, other)] += across
        out[np.ix_(other, own)] += across.T
        both = np.einsum("bk,bk,bk->k", theirs[:, i], theirs[:, j], moment[:, double])
        out[other[i], other[j]] += both
        out[other[j], other[i]] += np.where(i == j, 0.0, both)
    return out


def _add_second(
    structure: Structure, m: Array, w: Array, features: Features, curvature: Floats
) -> None:
    """-Σ w s_k ∇²β_k, for coefficients that are not linear in their parameters."""
    d = structure.n_columns
    for k, found in enumerate(features.draws):
        if found.second is None:
            continue
        column, factor = structure.columns[k], 1.0
        if structure.money is not None and features.money is not None:
            if column == structure.money.cost:
                column = m.shape[1] - 1
            else:
                factor = structure.money.signs[column] * features.money.alpha
        score = -m[:, column].sum(axis=1) * w * factor
        own = [structure.columns[k], *(d + structure.loadings_of(k))]
        for i, row in enumerate(found.second):
            for j, second in enumerate(row):
                added = float((score * second).sum(dtype=np.float64))
                curvature[own[i], own[j]] -= added
                if i != j:
                    curvature[own[j], own[i]] -= added
