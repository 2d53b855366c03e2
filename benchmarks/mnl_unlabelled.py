"""Many unlabelled alternatives: generic attributes, choice sets of very different sizes.

The result is checked against a brute-force evaluation, one choice situation after the other, that
shares no code with the package.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

import ardchoice as ac
from ardchoice.data import Attribute
from ardchoice.families import one_pass

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

SAME_LOGLIK = 1e-12
"""Relative: a sum of thousands of terms keeps about this much of double precision."""
SAME_GRADIENT = 1e-9
"""Relative to the sum of the sizes of what is added up: at the maximum the sum itself is zero."""


@dataclass(frozen=True)
class Market:
    """Choices among unlabelled alternatives, as plain arrays.

    Attributes
    ----------
    x
        Attributes, shape (K, J, N).
    available
        Shape (J, N).
    choice
        Shape (N,).
    """

    x: FloatArray
    available: BoolArray
    choice: IntArray


@dataclass(frozen=True)
class BruteForce:
    """Log-likelihood, its gradient (K,), and the sum of the sizes of the scores (K,)."""

    loglik: float
    gradient: FloatArray
    size: FloatArray


@dataclass(frozen=True)
class Unlabelled:
    """What was measured.

    Attributes
    ----------
    n_situations, n_alternatives, n_parameters
        The size; choice sets hold from `smallest` to `largest` alternatives.
    smallest, largest
        Sizes of the choice sets.
    seconds
        Estimation with its standard errors, best of the runs.
    loglik
        At the estimates.
    loglik_deviation
        From the brute force, relative.
    gradient_deviation
        Largest, from the brute force, relative to the sum of the sizes of the scores.
    still_to_move
        Largest brute-force gradient in units of standard errors: how far from the maximum.
    """

    n_situations: int
    n_alternatives: int
    n_parameters: int
    smallest: int
    largest: int
    seconds: float
    loglik: float
    loglik_deviation: float
    gradient_deviation: float
    still_to_move: float


def market(
    n_situations: int = 5_000, n_alternatives: int = 200, n_attributes: int = 10, seed: int = 0
) -> Market:
    """Draw choice sets of five alternatives up to all of them, and choices from a logit."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_attributes, n_alternatives, n_situations))
    sizes = rng.integers(5, n_alternatives, size=n_situations, endpoint=True)
    rank = rng.random((n_alternatives, n_situations)).argsort(axis=0).argsort(axis=0)
    available = rank < sizes
    beta = np.linspace(-1, 1, n_attributes)
    utility = np.tensordot(beta, x, axes=1) + rng.gumbel(size=available.shape)
    choice = np.where(available, utility, -np.inf).argmax(axis=0)
    return Market(x, available, choice.astype(np.intp))


def choices(drawn: Market) -> ac.ChoiceData:
    """Hand the arrays over as they are."""
    n_attributes, n_alternatives, n_situations = drawn.x.shape
    everywhere = tuple(range(n_alternatives))
    names = [f"X{k}" for k in range(n_attributes)]
    return ac.ChoiceData(
        alternatives=tuple(f"A{j}" for j in everywhere),
        available=drawn.available,
        choice=drawn.choice,
        attributes={name: Attribute(name, everywhere, drawn.x[k]) for k, name in enumerate(names)},
        covariates={},
        person=None,
        weight=None,
        situation=np.arange(n_situations),
    )


def brute_force(drawn: Market, beta: FloatArray) -> BruteForce:
    """Go through the choice situations one by one, by the definition."""
    logs, scores = [], []
    for n, chosen in enumerate(drawn.choice):
        there = np.flatnonzero(drawn.available[:, n])
        x = drawn.x[:, there, n]
        v = beta @ x
        log_total = v.max() + math.log(np.exp(v - v.max()).sum())
        p = np.exp(v - log_total)
        logs.append(float(beta @ drawn.x[:, chosen, n]) - log_total)
        scores.append(drawn.x[:, chosen, n] - x @ p)
    stacked = np.array(scores)
    # Sums without rounding, so that every deviation is the package's.
    gradient = np.array([math.fsum(column) for column in stacked.T])
    return BruteForce(math.fsum(logs), gradient, np.abs(stacked).sum(axis=0))


def measure(repeats: int, n_situations: int = 5_000) -> Unlabelled:
    """Estimate, and compare with the brute force."""
    drawn = market(n_situations)
    data = choices(drawn)
    text = "*: " + " + ".join(data.attributes)
    seconds = np.inf
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        for _ in range(repeats):
            start = time.perf_counter()
            result = ac.fit_mnl(data, text)
            seconds = min(seconds, time.perf_counter() - start)
    design = ac.Design(data, result.encoding)
    ours = one_pass(result.coefficients[design.order], design.blocks(), order=1)
    true = brute_force(drawn, result.coefficients)
    off = np.abs(ours.gradient[design.position] - true.gradient) / true.size
    std_err = result.to_frame(cov="classical")["std_err"].to_numpy()
    sizes = drawn.available.sum(axis=0)
    return Unlabelled(
        n_situations=len(data),
        n_alternatives=len(data.alternatives),
        n_parameters=result.n_parameters,
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        seconds=seconds,
        loglik=result.loglik,
        loglik_deviation=max(
            abs(value / true.loglik - 1) for value in (result.loglik, ours.loglik)
        ),
        gradient_deviation=float(off.max()),
        still_to_move=float(np.abs(true.gradient * std_err).max()),
    )
