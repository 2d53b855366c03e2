"""Simulated persons whose tastes differ in known ways, for the studies of mixed logit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import ChoiceData

ALTERNATIVES = ("A", "B", "C")
N_ATTRIBUTES = 8


@dataclass(frozen=True)
class SimulatedSet:
    """Choices, the specification that made them, and which coefficients are random.

    Attributes
    ----------
    data
    spec
        Two constants and eight attributes: ten columns.
    mean, sd
        By coefficient.
    """

    data: ChoiceData
    spec: str
    mean: dict[str, float]
    sd: dict[str, float]

    @property
    def random(self) -> set[str]:
        """The coefficients that are random."""
        return {name for name, value in self.sd.items() if value > 0}


def simulated_set(
    seed: int, n_random: int, persons: int = 752, situations: int = 9
) -> SimulatedSet:
    """Ten columns, some of them correlated, on different scales; `n_random` are random."""
    rng = np.random.default_rng((18, seed))
    n, j, k = persons * situations, len(ALTERNATIVES), N_ATTRIBUTES
    x = rng.normal(size=(n, j, k))
    x[..., 1] = 0.5 * x[..., 0] + np.sqrt(0.75) * x[..., 1]
    x[..., 2] = rng.integers(0, 2, (n, j))
    x[..., 3] = rng.integers(0, 4, (n, j))
    x[..., 4] = np.exp(0.5 * x[..., 4])
    names = ["A: ASC", "B: ASC", *(f"*: x{i}" for i in range(k))]
    scale = np.array([1.0, 1.0, *x.std(axis=(0, 1))])
    mean = rng.uniform(0.2, 1.0, 2 + k) * rng.choice([-1, 1], 2 + k) / scale
    sd = np.zeros(2 + k)
    chosen = rng.choice(2 + k, n_random, replace=False)
    sd[chosen] = rng.uniform(0.25, 1.2, n_random) / scale[chosen]
    beta = np.repeat(mean + sd * rng.normal(size=(persons, 2 + k)), situations, axis=0)
    utility = np.einsum("njk,nk->nj", x, beta[:, 2:]) + rng.gumbel(size=(n, j))
    utility[:, :2] += beta[:, :2]
    table = pd.DataFrame(
        {f"{a}_x{i}": x[:, at, i] for at, a in enumerate(ALTERNATIVES) for i in range(k)}
    )
    table["choice"] = np.array(ALTERNATIVES)[utility.argmax(axis=1)]
    table["person"] = np.repeat(np.arange(persons), situations)
    data = ac.read_wide(
        table,
        alternatives={a: a for a in ALTERNATIVES},
        choice="choice",
        attributes={f"x{i}": f"{{alt}}_x{i}" for i in range(k)},
        person="person",
    )
    spec = "A: ASC\nB: ASC\n*: " + " + ".join(f"x{i}" for i in range(k))
    by_name = [dict(zip(names, map(float, values), strict=True)) for values in (mean, sd)]
    return SimulatedSet(data, spec, *by_name)
