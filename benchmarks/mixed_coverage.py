"""Mixed logit on simulated sets: do intervals cover what they say, are estimates unbiased.

    python benchmarks/mixed_coverage.py [--quick] [--sets N] [--persons N] [--jobs N]

The same truth in every set: a random constant, two random attributes, two that are the same for
everyone; 400 persons who choose eight times among three. 95 % intervals with classical errors and
with those clustered by person, over 200 sets: the share that contains the truth, of means and of
standard deviations; and the mean estimate less the truth, in standard errors of the study (its
standard deviation over sets, divided by √sets). Clustered ones have a star. `--quick`:
12 sets of 150 persons.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import ChoiceData

MEAN = {"A: ASC": 0.4, "*: x0": 1.0, "*: x1": -0.8, "*: x2": 0.6, "*: x3": -0.5}
SD = {"A: ASC": 0.9, "*: x0": 0.8, "*: x1": 0.5}
SPEC = "A: ASC\n*: x0 + x1 + x2 + x3"
SITUATIONS, ALTERNATIVES = 8, ("A", "B", "C")
FIRST_SEED = 40_000
ERRORS: tuple[Literal["classical", "cluster"], ...] = ("classical", "cluster")
MARKS = {"classical": "", "cluster": "*"}
"""In the names of columns."""


def truth() -> dict[str, float]:
    """Every parameter by name."""
    return MEAN | {f"sd({name})": value for name, value in SD.items()}


def drawn(seed: int, persons: int) -> ChoiceData:
    """One set."""
    rng = np.random.default_rng((181, seed))
    n, j, k = persons * SITUATIONS, len(ALTERNATIVES), 4
    x = rng.normal(size=(n, j, k))
    x[..., 3] = rng.integers(0, 2, (n, j))
    names = list(MEAN)
    sd = np.array([SD.get(name, 0.0) for name in names])
    each = np.array(list(MEAN.values())) + sd * rng.normal(size=(persons, len(names)))
    beta = np.repeat(each, SITUATIONS, axis=0)
    utility = np.einsum("njk,nk->nj", x, beta[:, 1:]) + rng.gumbel(size=(n, j))
    utility[:, 0] += beta[:, 0]
    table = pd.DataFrame(
        {f"{a}_x{i}": x[:, at, i] for at, a in enumerate(ALTERNATIVES) for i in range(k)}
    )
    table["choice"] = np.array(ALTERNATIVES)[utility.argmax(axis=1)]
    table["person"] = np.repeat(np.arange(persons), SITUATIONS)
    return ac.read_wide(
        table,
        alternatives=list(ALTERNATIVES),
        choice="choice",
        attributes={f"x{i}": f"{{alt}}_x{i}" for i in range(k)},
        person="person",
    )


@dataclass(frozen=True, eq=False)
class OneSet:
    """Estimates of one set by parameter, errors by kind, seconds; P parameters."""

    estimates: np.ndarray
    errors: np.ndarray
    seconds: float


def estimated(seed: int, persons: int) -> OneSet:
    """Estimate one set."""
    warnings.simplefilter("ignore", ac.ArdchoiceWarning)
    data = drawn(seed, persons)
    started = time.process_time()
    result = ac.fit(data, SPEC, family=ac.Mixed(dict.fromkeys(SD, "normal")), n_threads=1)
    frames = [result.to_frame(cov=kind).loc[list(truth())] for kind in ERRORS]
    errors = np.array([frame["std_err"].to_numpy() for frame in frames])
    return OneSet(frames[0]["estimate"].to_numpy(), errors, time.process_time() - started)


@dataclass(frozen=True, eq=False)
class Coverage:
    """The study.

    Attributes
    ----------
    table
        A row per parameter: truth, mean estimate, its difference in standard errors of the study,
        the standard deviation over sets, the mean error and the coverage of each kind.
    means, spreads
        Coverage by kind of error, of all means and of all standard deviations.
    seconds
        Of the slowest set.
    """

    table: pd.DataFrame
    means: dict[str, float]
    spreads: dict[str, float]
    sets: int
    seconds: float

    def __str__(self) -> str:
        worst = float(self.table["t"].abs().max())
        lines = [
            f"{self.sets} sets, at most {self.seconds:.2f} s each",
            self.table.to_string(float_format=lambda v: f"{v:.3f}"),
        ]
        for kind in ERRORS:
            lines.append(
                f"95 % intervals, {kind} errors: means {self.means[kind]:.3f}, standard "
                f"deviations {self.spreads[kind]:.3f}"
            )
        lines.append(f"largest bias {worst:.2f} standard errors of the study")
        return "\n".join(lines)


def study(sets: int, persons: int, jobs: int = 1) -> Coverage:
    """Estimate all sets."""
    seeds = range(FIRST_SEED, FIRST_SEED + sets)
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(estimated, seeds, [persons] * sets, chunksize=4))
    else:
        found = [estimated(seed, persons) for seed in seeds]
    known = np.array(list(truth().values()))
    estimates = np.array([one.estimates for one in found])
    errors = np.array([one.errors for one in found])
    inside = np.abs(estimates - known)[:, None] <= 1.959964 * errors
    sd = estimates.std(axis=0, ddof=1)
    table = pd.DataFrame({"truth": known, "estimate": estimates.mean(axis=0)}, index=list(truth()))
    table["t"] = (table["estimate"] - known) / (sd / np.sqrt(sets))
    table["sd"] = sd
    for at, kind in enumerate(ERRORS):
        table[f"se{MARKS[kind]}"] = np.nanmean(errors[:, at], axis=0)
        table[f"in{MARKS[kind]}"] = inside[:, at].mean(axis=0)
    d = len(MEAN)
    means, spreads = (
        {str(kind): float(inside[:, at, part].mean()) for at, kind in enumerate(ERRORS)}
        for part in (slice(0, d), slice(d, None))
    )
    return Coverage(table, means, spreads, sets, max(one.seconds for one in found))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", type=int)
    parser.add_argument("--persons", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(arguments)
    sets = given.sets or (12 if given.quick else 200)
    persons = given.persons or (150 if given.quick else 400)
    print(study(sets, persons, given.jobs))


if __name__ == "__main__":
    main()
