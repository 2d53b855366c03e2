"""Estimation of latent classes: several starts, EM, then Newton's method on the exact Hessian."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg

from ardchoice._types import Bools, Floats
from ardchoice.design import Block
from ardchoice.families.estimate import climb
from ardchoice.families.family import Family
from ardchoice.families.latent.kernel import ClassArrays, ClassSums, evaluate, evaluate_for_em
from ardchoice.families.parameters import ParameterLayout
from ardchoice.numerics import Sums, map_reduce, newton_step

EM_ROUNDS = 25
"""Steps of EM before Newton's method takes over."""
EM_ENOUGH = 0.01
"""Log-likelihood that a step of EM gains, below which Newton's method is faster."""
EM_HALVINGS = 10
POOL_FACTOR = 3
"""Times as many starts are drawn as are followed to the end."""
POOL_ROUNDS = 6
"""Steps of EM that show how promising a start is."""
SEARCH_TOLERANCE = 1e-4
"""Log-likelihood still to be gained at which Newton's method of one start stops."""
SEARCH_STEPS = 60
SAME_MAXIMUM = 0.01
"""Log-likelihood by which two starts may differ and still have found the same maximum."""
PERSON_INFORMATION = 4.0
"""Log-likelihood, doubled, that the tastes of a start differ by from the mean for one person."""

Pass = Callable[[Floats], Sums]
"""θ -> sums over all data, with the Hessian of the complete data."""


@dataclass(frozen=True, eq=False)
class ClassPasses:
    """Passes over some blocks.

    Attributes
    ----------
    blocks
    arrays
    """

    blocks: Iterable[Block]
    arrays: ClassArrays

    def exact(self, theta: Floats) -> ClassSums:
        """With the exact Hessian."""
        return class_pass(self.blocks, self.arrays, theta)

    def for_em(self, theta: Floats) -> Sums:
        """With the Hessian of the complete data only, at a third of the work."""
        return map_reduce(partial(_evaluate_for_em, theta, self.arrays), self.blocks)


def _evaluate_for_em(theta: Floats, arrays: ClassArrays, block: Block) -> Sums:
    return evaluate_for_em(theta, block, arrays)


def class_pass(blocks: Iterable[Block], arrays: ClassArrays, theta: Floats) -> ClassSums:
    """One pass over all blocks."""
    return map_reduce(partial(_evaluate_block, theta, arrays), blocks)


def _evaluate_block(theta: Floats, arrays: ClassArrays, block: Block) -> ClassSums:
    return evaluate(theta, block, arrays)


@dataclass(frozen=True, eq=False)
class Starts:
    """Where the starts ended.

    Attributes
    ----------
    best
        θ of the highest log-likelihood; shape (P,).
    logliks
        Of every start, in their order.
    complete
        Hessian of the complete data at the best; shape (P, P).
    share
        Of every class; shape (Q,).
    """

    best: Floats
    logliks: tuple[float, ...]
    complete: Floats
    share: Floats

    @property
    def loglik(self) -> float:
        """The highest."""
        return max(self.logliks)

    @property
    def n_best(self) -> int:
        """How many starts ended there."""
        return sum(value > self.loglik - SAME_MAXIMUM for value in self.logliks)


def taste_root(information: Floats, n_persons: int) -> Floats:
    """Deviations of tastes as far as the choices of one average person could show; shape (D, D).

    A root of the covariance of an estimate from one person, made smaller with many coefficients.
    """
    d = len(information)
    scale = 1 / np.sqrt(np.maximum(np.diag(information), 1e-300))
    scaled = information * scale * scale[:, None] + 1e-10 * np.eye(d)
    root = linalg.solve_triangular(linalg.cholesky(scaled, lower=True).T, np.eye(d))
    return np.asarray(np.sqrt(n_persons * PERSON_INFORMATION / d) * scale[:, None] * root)


def taste_start(
    beta: Floats, root: Floats, arrays: ClassArrays, size: int, rng: np.random.Generator
) -> Floats:
    """θ with tastes drawn around those of the multinomial logit; shape (P,)."""
    betas = beta + rng.standard_normal((arrays.n_classes, len(beta))) @ root.T
    gamma = np.zeros((arrays.n_classes, arrays.membership.shape[1]))
    return _placed(betas, gamma, arrays, size, beta)


def drawn_starts(for_em: Pass, draw: Callable[[], Floats], count: int) -> list[Floats]:
    """The most promising of several times as many drawn starts, after a few steps of EM."""
    tried = [run_em(draw(), for_em, POOL_ROUNDS) for _ in range(POOL_FACTOR * count)]
    order = np.argsort([-sums.loglik for _, sums in tried], kind="stable")
    return [tried[k][0] for k in order[:count]]


def split_starts(
    theta: Floats,
    before: ClassArrays,
    arrays: ClassArrays,
    root: Floats,
    size: int,
    count: int,
    rng: np.random.Generator,
) -> list[Floats]:
    """Starts with one class more: each class in turn cut in two halves with tastes apart.

    Parameters
    ----------
    theta, before
        Estimates with one class less.
    arrays
        With one class more.
    root
        Deviations of one person's tastes, as `taste_root` has them; shape (D, D).
    size
        P.
    count
        How many starts.
    rng
    """
    betas = before.betas(theta)
    width = arrays.membership.shape[1]
    gamma = np.zeros((len(betas), width))
    if len(before.membership):
        gamma[1:] = theta[before.membership]
    out = []
    for k in range(count):
        cut = k % len(betas)
        deviation = root @ rng.standard_normal(len(root))
        tastes = np.vstack([betas, betas[cut] + deviation])
        tastes[cut] -= deviation
        logits = np.vstack([gamma, gamma[cut]])
        logits[[cut, -1], 0] -= np.log(2)
        out.append(_placed(tastes, logits - logits[0], arrays, size, betas.mean(axis=0)))
    return out


def _placed(betas: Floats, gamma: Floats, arrays: ClassArrays, size: int, shared: Floats) -> Floats:
    """θ of given classes; coefficients that classes share have one value; shape (P,)."""
    theta = np.zeros(size)
    for place, beta in zip(arrays.place, betas, strict=True):
        free = place >= 0
        theta[place[free]] = beta[free]
    common = is_shared(arrays)
    theta[arrays.place[0][common]] = shared[common]
    theta[arrays.membership] = gamma[1:]
    return theta


def is_shared(arrays: ClassArrays) -> Bools:
    """Which columns have one coefficient in all classes; shape (D,)."""
    same = (arrays.place == arrays.place[0]).all(axis=0) & (arrays.place[0] >= 0)
    return np.asarray(same & (arrays.n_classes > 1))


def run_em(theta: Floats, for_em: Pass, rounds: int = EM_ROUNDS) -> tuple[Floats, Sums]:
    """Steps of (generalised) EM: Newton's step on the complete data, halved until ℓ rises."""
    here = for_em(theta)
    for _ in range(rounds):
        step = newton_step(here)
        length = 1.0
        for _ in range(EM_HALVINGS):
            there = for_em(theta + length * step)
            if there.loglik > here.loglik:
                break
            length /= 2
        else:
            break
        gained = there.loglik - here.loglik
        theta, here = theta + length * step, there
        if gained < EM_ENOUGH:
            break
    return theta, here


def run_starts(
    family: Family,
    layout: ParameterLayout,
    passes: ClassPasses,
    thetas: list[Floats],
) -> Starts:
    """EM from every start, then Newton's method, the most promising first.

    Starts whose quadratic promises less than the best found are given up on the way.
    """
    climbed = [run_em(theta, passes.for_em) for theta in thetas]
    order = np.argsort([-sums.loglik for _, sums in climbed], kind="stable")
    logliks = np.full(len(thetas), -np.inf)
    best, highest = climbed[order[0]][0], -np.inf
    for k in order:
        theta = climbed[k][0]
        fit = climb(
            family,
            layout,
            lambda t, last: passes.exact(t),
            theta,
            max_iterations=SEARCH_STEPS,
            tolerance=SEARCH_TOLERANCE,
            wanted=highest - SAME_MAXIMUM,
        )
        logliks[k] = fit.loglik
        if fit.loglik > highest + SAME_MAXIMUM / 10:
            best, highest = fit.beta, fit.loglik
    ended = passes.exact(best)
    shares = ended.share / ended.share.sum()
    return Starts(best, tuple(map(float, logliks)), ended.complete, shares)
