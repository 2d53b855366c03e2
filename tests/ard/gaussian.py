"""A Gaussian likelihood for the solvers: its quadratic is exact, so closed forms are too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ardchoice.numerics import Sums


@dataclass(frozen=True)
class GaussianBatch:
    """y ~ N(x β, noise) for some rows."""

    x: np.ndarray
    y: np.ndarray
    noise: float

    @property
    def n(self) -> int:
        return len(self.y)

    def sums(self, beta: np.ndarray, order: int = 2, *, rough: bool = False) -> Sums:
        rest = self.y - self.x @ beta
        curvature = self.x.T @ self.x / self.noise
        return Sums(-0.5 * float(rest @ rest) / self.noise, self.x.T @ rest / self.noise, curvature)

    def expected(self, mean: np.ndarray, variance: np.ndarray, rng: np.random.Generator) -> Sums:
        away = np.sqrt(variance) * rng.standard_normal(len(mean))
        up, down = self.sums(mean + away), self.sums(mean - away)
        gradient = 0.5 * (up.gradient + down.gradient)
        return Sums(0.5 * (up.loglik + down.loglik), gradient, up.curvature)


@dataclass(frozen=True)
class GaussianLikelihood(GaussianBatch):
    """All rows; term t has the columns terms[t]."""

    terms: tuple[np.ndarray, ...] = ()

    @property
    def size(self) -> float:
        return float(self.n)

    def restrict(self, terms: Sequence[int]) -> "GaussianLikelihood":
        columns = np.concatenate([self.terms[t] for t in terms])
        starts = np.cumsum([0, *(len(self.terms[t]) for t in terms)])
        parts = tuple(np.arange(a, b) for a, b in pairwise(starts))
        return GaussianLikelihood(self.x[:, columns], self.y, self.noise, parts)

    def batches(self, rng: np.random.Generator, count: int) -> Iterator[GaussianBatch]:
        for rows in np.array_split(rng.permutation(self.n), min(count, self.n)):
            yield GaussianBatch(self.x[rows], self.y[rows], self.noise)
