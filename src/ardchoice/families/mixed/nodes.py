"""Nodes of the simulated likelihood: scrambled Sobol points, shifted and adapted to each person.

A person's posterior of z given θ has a mode z* and a Hessian H there; the nodes are
z* + C ε with C C' = κ² H⁻¹ and ε quasi-random normal, weighted by prior over proposal density. With
coefficients that are not normal, some nodes come from the prior itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice._types import Bools, Floats, Ints
from ardchoice.families.mixed.distributions import basis, draw, slope_by_draw
from ardchoice.families.mixed.money import cost_spread, fixed_index, random_index
from ardchoice.families.mixed.persons import PersonGroup
from ardchoice.families.mixed.structure import Structure
from ardchoice.numerics import must_be_seed

KAPPA_MORE = 1.35
"""How much wider than the posterior the nodes lie, with several random coefficients: the tails of
the posterior are heavier than normal."""
TAIL_MULTIPLES = (5.0, 6.5, 9.0, 13.0, 20.0, 40.0)
"""Standard deviations from the mode at which the posterior of a single draw is looked at."""
NEGLIGIBLE_LOG_DENSITY = 16.0
"""Below that of the mode: what lies beyond adds less than a millionth."""
FURTHEST_DRAW = 7.5
"""Of a standard normal: its density there is less than 1e-12 of that at zero."""
PRIOR_SHARE_TWO, PRIOR_SHARE_MORE = 0.5, 0.25
"""Share of the nodes drawn from the distribution of tastes itself, with two random coefficients of
which one is not normal, and with more: the more there are, the fewer of them hit a posterior."""
SOBOL_DIMENSIONS = 8
"""Points are made for multiples of so many random coefficients."""
LARGEST_UTILITY = 600.0
"""Beyond which a difference of utilities is cut: its exponential would overflow."""
MODE_STEPS = 40
MODE_TOLERANCE = 1e-7
"""Newton decrement of a person's mode; any centre gives a valid rule, this one a good one."""
MODE_SLACK = 1e-9
"""Loss of the log posterior that is rounding."""
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Where the nodes of n persons lie.

    Attributes
    ----------
    mode
        z*; shape (n, q).
    root
        C; shape (n, q, q).
    log_det
        log |C|; shape (n,).
    prior_share
        Of the nodes, how many come from the distribution of tastes itself, the last ones: where a
        coefficient hardly changes with its draw, as a lognormal one near zero or a uniform one
        near its ends, the posterior has a long flat tail that nodes about the mode miss.
    """

    mode: Floats
    root: Floats
    log_det: Floats
    prior_share: float = 0.0

    def take(self, which: Bools | Ints | slice) -> Adaptation:
        """Of some persons."""
        return Adaptation(self.mode[which], self.root[which], self.log_det[which], self.prior_share)


@lru_cache(maxsize=64)
def sobol_points(count: int, q: int, seed: int) -> Floats:
    """Scrambled Sobol points in (0, 1); shape (q, count).

    The first dimensions are the same whatever q is, so that log-likelihoods of nested models differ
    by less than their simulation errors.
    """
    from scipy.stats import qmc

    power = int(np.log2(count))
    whole = SOBOL_DIMENSIONS * -(-q // SOBOL_DIMENSIONS)
    engine = qmc.Sobol(
        whole, scramble=True, seed=np.random.default_rng((must_be_seed(seed), whole))
    )
    points = np.ascontiguousarray(engine.random_base2(power).T[:q])
    points.setflags(write=False)
    return np.asarray(points)


def shifts(codes: Ints, q: int, seed: int) -> Floats:
    """A shift in [0, 1) for every person and dimension, from the person's code alone; (n, q)."""
    # SplitMix64: the same whatever the order and the blocks in which persons are processed.
    with np.errstate(over="ignore"):
        state = (np.asarray(codes, dtype=np.uint64)[:, None] + np.uint64(1)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        state = state ^ _mixed_bits(
            np.arange(1, q + 1, dtype=np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        )
        bits = _mixed_bits(state)
    return np.asarray((bits >> np.uint64(11)).astype(float) * 2.0**-53)


def _mixed_bits(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)))


def normal_points(codes: Ints, count: int, q: int, seed: int) -> Floats:
    """Quasi-random standard normal points of some persons; shape (n, q, count).

    For one random coefficient they are equally spaced over (-1, 1), moved by the person's shift: a
    trapezoidal rule, which is all but exact for smooth functions that vanish at both ends.
    """
    from scipy import special

    if q == 0:
        return np.zeros((len(codes), 0, count))
    if q == 1:
        grid = (np.arange(count) + shifts(codes, 1, seed)) / count
        return np.asarray(2 * grid[:, None] - 1)
    moved = sobol_points(count, q, seed)[None] + shifts(codes, q, seed)[..., None]
    moved -= np.floor(moved)
    # A point at 0 or 1 would be infinitely far.
    return np.asarray(special.ndtri(np.clip(moved, 1e-12, 1 - 1e-12)))


@dataclass(frozen=True, eq=False)
class NodeSet:
    """Nodes of n persons.

    Attributes
    ----------
    z
        Shape (n, q, R).
    log_weight
        Prior over proposal density, log; shape (n, R).
    """

    z: Floats
    log_weight: Floats


def place_nodes(adapted: Adaptation, points: Floats) -> NodeSet:
    """Z = z* + C ε with their weights, and nodes of the distribution of tastes behind them."""
    if adapted.prior_share:
        return _place_mixture(adapted, points)
    z = adapted.mode[..., None] + adapted.root @ points
    if points.shape[1] == 1:
        density = -0.5 * z[:, 0] ** 2 - 0.5 * np.log(2 * np.pi)
        return NodeSet(z, density + np.log(2.0) + adapted.log_det[:, None])
    log_weight = 0.5 * ((points**2).sum(axis=1) - (z**2).sum(axis=1))
    return NodeSet(z, log_weight + adapted.log_det[:, None])


def _place_mixture(adapted: Adaptation, points: Floats) -> NodeSet:
    """Weights are those of a mixture of both densities, so that none is large."""
    share = adapted.prior_share
    n_own = round((1 - share) * points.shape[2])
    own, prior = points[..., :n_own], points[..., n_own:]
    mode = adapted.mode[..., None]
    z = np.concatenate([mode + adapted.root @ own, prior], axis=2)
    inner = np.concatenate([own, np.linalg.solve(adapted.root, prior - mode)], axis=2)
    log_prior = -0.5 * (z**2).sum(axis=1)
    log_own = -0.5 * (inner**2).sum(axis=1) - adapted.log_det[:, None]
    log_mixture = np.logaddexp(np.log(share) + log_prior, np.log(1 - share) + log_own)
    return NodeSet(z, log_prior - log_mixture)


# -- Modes -----------------------------------------------------------------------------------------


def adapt(group: PersonGroup, structure: Structure, phi: Floats) -> Adaptation:
    """Modes and Hessians of log p(y | θ, z) - ½ z'z, by Newton's method, all persons at once.

    Each person stops on their own, so that nodes do not depend on who is processed together.

    Parameters
    ----------
    group
    structure
    phi
        Coefficients and loadings; shape (D + M,).
    """
    n, q = group.n_persons, structure.q
    work = _Modes(group, structure, phi)
    if structure.money is not None:
        work = _MoneyModes(group, structure, phi)
    z = np.zeros((n, q))
    value, gradient, hessian = work.at(z, np.arange(n))
    step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
    active = np.flatnonzero(np.einsum("nk,nk->n", gradient, step) > MODE_TOLERANCE)
    for _ in range(MODE_STEPS):
        if not len(active):
            break
        trial = z[active] + step[active]
        new_value, new_gradient, new_hessian = work.at(trial, active)
        better = new_value >= value[active] - MODE_SLACK
        worse = active[~better]
        step[worse] *= 0.5
        up = active[better]
        z[up], value[up], hessian[up] = trial[better], new_value[better], new_hessian[better]
        move = np.linalg.solve(new_hessian[better], new_gradient[better][..., None])[..., 0]
        step[up] = move
        left = np.einsum("nk,nk->n", new_gradient[better], move) > MODE_TOLERANCE
        active = np.sort(np.concatenate([worse, up[left]]))
    if q == 1:
        return _interval(work, z, hessian)
    factor = _factor(hessian)
    kappa = KAPPA_MORE
    root = np.asarray(kappa * np.linalg.inv(factor).swapaxes(1, 2), dtype=float)
    log_det = q * np.log(kappa) - np.log(np.einsum("nkk->nk", factor)).sum(axis=1)
    return Adaptation(z, root, log_det, _prior_share(structure))


def _prior_share(structure: Structure) -> float:
    if all(s.distribution == "normal" for s in structure.spreads):
        return 0.0
    return PRIOR_SHARE_TWO if structure.q == 2 else PRIOR_SHARE_MORE


def _factor(hessian: Floats) -> Floats:
    """Cholesky factors of matrices whose eigenvalues are one or more; shape (n, q, q).

    Where a trial step makes coefficients huge, rounding is larger than that one: any spread of the
    nodes is valid, so that eigenvalues below are taken to be one.
    """
    try:
        return np.asarray(np.linalg.cholesky(hessian))
    except np.linalg.LinAlgError:
        q = hessian.shape[1]
        known = np.asarray(np.isfinite(hessian).all(axis=(1, 2)))
        sane = np.where(known[:, None, None], hessian, np.eye(q))
        values, vectors = np.linalg.eigh(0.5 * (sane + sane.swapaxes(1, 2)))
        # Relative to the largest, so that the product of factors is definite again.
        values = np.maximum(values, np.maximum(1.0, 1e-10 * values[:, -1:]))
        rebuilt = (vectors * values[:, None]) @ vectors.swapaxes(1, 2)
        return np.asarray(np.linalg.cholesky(0.5 * (rebuilt + rebuilt.swapaxes(1, 2))))


def _interval(work: _Modes, mode: Floats, hessian: Floats) -> Adaptation:
    """The interval outside of which the posterior of the one draw is negligible.

    Its middle takes the place of the mode, half its length that of C.
    """
    n = len(mode)
    sd = 1 / _factor(hessian)[:, 0, 0]
    everyone = np.arange(n)
    peak = work.at(mode, everyone)[0]
    # Far from the maximum, a person's mode may lie where nearly nobody is.
    furthest = np.maximum(FURTHEST_DRAW, np.abs(mode[:, 0]) + TAIL_MULTIPLES[0] * sd)
    ends = []
    for side in (-1.0, 1.0):
        end = mode[:, 0] + side * TAIL_MULTIPLES[-1] * sd
        found = np.zeros(n, dtype=bool)
        for multiple in TAIL_MULTIPLES:
            if found.all():
                break
            at = np.clip(mode[:, 0] + side * multiple * sd, -furthest, furthest)
            is_gone = work.at(at[:, None], everyone)[0] < peak - NEGLIGIBLE_LOG_DENSITY
            is_gone |= np.abs(at) == furthest
            end = np.where(is_gone & ~found, at, end)
            found |= is_gone
        ends.append(np.clip(end, -furthest, furthest))
    half = 0.5 * (ends[1] - ends[0])
    return Adaptation(0.5 * (ends[0] + ends[1])[:, None], half[:, None, None], np.log(half))


class _Modes:
    """log p(y | θ, z) - ½ z'z with gradient and (Gauss-Newton) Hessian at one z per person."""

    def __init__(self, group: PersonGroup, structure: Structure, phi: Floats) -> None:
        self.structure, self.phi = structure, phi
        d = structure.n_columns
        b = phi[:d].copy()
        means = structure.columns[structure.columns < d]
        b[means] = 0.0
        self.fixed = group.x[..., :d] @ b
        if group.absent is not None:
            self.fixed[group.absent] = -np.inf
        self.x = np.ascontiguousarray(group.x[..., structure.columns])

    def at(self, z: Floats, who: Ints) -> tuple[Floats, Floats, Floats]:
        """Of some persons: value (n,), gradient (n, q), Hessian (n, q, q)."""
        beta, slope = self._tastes(z)
        everyone = len(who) == self.x.shape[1]
        x = self.x if everyone else self.x[:, who]
        fixed = self.fixed if everyone else self.fixed[:, who]
        v = np.minimum(fixed + (x @ beta[..., None])[..., 0], LARGEST_UTILITY)
        value, score, information = _multinomial(v, x)
        value -= 0.5 * (z**2).sum(axis=1)
        gradient = (slope.swapaxes(1, 2) @ score[..., None])[..., 0] - z
        hessian = slope.swapaxes(1, 2) @ information @ slope + np.eye(z.shape[1])
        return value, gradient, hessian

    def _tastes(self, z: Floats) -> tuple[Floats, Floats]:
        """β of every person (n, q), and ∂β/∂z (n, q, q)."""
        s, d = self.structure, self.structure.n_columns
        beta, slope = np.empty_like(z), np.zeros((*z.shape, z.shape[1]))
        for k, spread in enumerate(s.spreads):
            places = s.loadings_of(k)
            loadings, nodes = self.phi[d + places], s.node[places]
            location = 0.0 if spread.column is None else float(self.phi[spread.column])
            drawn = z[:, nodes].T
            bases = tuple(basis(spread.distribution, row) for row in drawn)
            found = draw(spread.distribution, spread.sign, location, loadings, bases)
            beta[:, k] = found.value
            slope[:, k, nodes] = slope_by_draw(
                spread.distribution, spread.sign, location, loadings, drawn
            ).T
        return beta, slope


class _MoneyModes(_Modes):
    """The same in WTP space, where every draw acts on utility as the others allow."""

    def __init__(self, group: PersonGroup, structure: Structure, phi: Floats) -> None:
        self.structure, self.phi = structure, phi
        self.which, self.signs = random_index(structure)
        self.fixed = group.x[..., : structure.n_columns] @ fixed_index(structure, phi)
        self.absent = group.absent
        self.x = np.ascontiguousarray(group.x[..., structure.columns[self.which]])

    def at(self, z: Floats, who: Ints) -> tuple[Floats, Floats, Floats]:
        """Of some persons: value (n,), gradient (n, q), Hessian (n, q, q)."""
        beta, slope = self._tastes(z)
        taste, turn = beta[:, self.which] * self.signs, slope[:, self.which] * self.signs[:, None]
        x = self.x[:, who]
        index = self.fixed[:, who] + (x @ taste[..., None])[..., 0]
        k, money = cost_spread(self.structure), self.structure.money
        assert money is not None  # noqa: S101 - why this class is used
        alpha = np.full(len(z), self.phi[money.cost]) if k is None else beta[:, k]
        # ∂V/∂z of every draw; shape (A, n, T, q).
        push = (x @ turn) * alpha[:, None, None]
        if k is not None:
            push += index[..., None] * slope[:, k][:, None]
        v = np.minimum(alpha[:, None] * index, LARGEST_UTILITY)
        if self.absent is not None:
            v[self.absent[:, who]] = -np.inf
        value, gradient, information = _multinomial(v, push)
        value -= 0.5 * (z**2).sum(axis=1)
        return value, gradient - z, information + np.eye(z.shape[1])


def _multinomial(v: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Log-likelihood (n,), score (n, q) and information (n, q, q) of every person.

    Parameters
    ----------
    v
        Utilities less those of the chosen alternatives; shape (A, n, T). Overwritten.
    x
        Their derivatives; shape (A, n, T, q).
    """
    p = np.exp(v)
    total = 1 + p.sum(axis=0)
    p /= total
    mean = np.einsum("ant,antk->ntk", p, x)
    a, n, t, q = x.shape
    flat = x.transpose(1, 0, 2, 3).reshape(n, a * t, q)
    weighted = flat * p.transpose(1, 0, 2).reshape(n, a * t, 1)
    information = flat.swapaxes(1, 2) @ weighted - mean.swapaxes(1, 2) @ mean
    return -np.log(total).sum(axis=1), -mean.sum(axis=1), information
