"""Mixed logit: reference values, time beside xlogit and Biogeme, scaling, and searches.

    python benchmarks/mixed.py [PART ...] [--quick] [--venvs DIR] [--reference]

Parts, by default all but the last two:

- `race`: Swissmetro (time random; time and two constants) and Electricity (six normals): ours and
  xlogit with 1,000 draws take turns in one run. Processor seconds, errors included; the
  log-likelihood is compared with the exact maximum (adapted importance sampling with many draws,
  quadrature).
- `seeds`: five seeds, how log-likelihood and estimates change.
- `scaling`: persons from 10³ to 10⁵, seconds and memory; two threads and one.
- `searches`: which coefficients are random, precision and recall on sets of 0 to 4.
- `false`: none is random, how often the search and the score tests say otherwise.
- `biogeme`: Swissmetro's panel model of time, once, beside Biogeme with 1,000 draws. Minutes.
- `reference`: every value of tests/reference/heterogeneity.json (`mixed_reference.py`); the same as
  `--reference`.

Coverage of intervals has a study of its own, `mixed_coverage.py`. `--quick` runs small versions of
all but the other packages'.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ardchoice as ac
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Design
from ardchoice.families.mixed.search import search_random
from ardchoice.space import as_specification
from environments import CACHE, EnvironmentUnavailableError, interpreter
from exports import REQUIREMENTS as EXPORT_REQUIREMENTS
from mixed_reference import electricity, print_references, swissmetro
from mixed_sets import simulated_set
from mnl_rivals import REQUIREMENTS as MNL_REQUIREMENTS

PARTS = ("race", "seeds", "scaling", "searches", "false", "biogeme", "reference")
REQUIREMENTS = {
    "xlogit": MNL_REQUIREMENTS["xlogit"],
    "export-biogeme": EXPORT_REQUIREMENTS["biogeme"],  # the environment of exports.py
}
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


def scaling(sizes: Sequence[int], *, repeats: int = 3) -> None:
    """Processor seconds per person, what a fit adds to memory, and what two threads gain."""
    before = 0.0
    for persons in sizes:
        one = simulated_set(1, 2, persons=persons, situations=5)
        family = ac.Mixed(dict.fromkeys(sorted(one.random), "normal"))
        held = reset_peak()
        processor: list[float] = []
        wall: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(repeats):
            for threads in (1, 2):
                began, started = time.process_time(), time.perf_counter()
                ac.fit(one.data, one.spec, family=family, n_threads=threads)
                wall[threads].append(time.perf_counter() - started)
                if threads == 1:
                    processor.append(time.process_time() - began)
        seconds = min(processor)
        grown = f", {seconds / before:.1f} times the one before" if before else ""
        before = seconds
        print(
            f"{persons:>8,} persons: {seconds:7.2f} s of processor time "
            f"({1e6 * seconds / persons:5.0f} µs each{grown}), two threads "
            f"{min(wall[1]) / min(wall[2]):.2f} times as fast, peak {megabytes('VmHWM'):,.0f} MB, "
            f"{held:,.0f} before",
            flush=True,
        )


def megabytes(what: str) -> float:
    """Resident memory of this process, ``VmRSS``, or its peak, ``VmHWM``; NaN but on Linux."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = re.search(rf"{what}:\s+(\d+) kB", status.read_text(encoding="utf-8"))
    return float("nan") if found is None else int(found[1]) / 1024


def reset_peak() -> float:
    """Forget the peak so far, such as that of drawing the data; what is in memory."""
    gc.collect()
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5", encoding="utf-8")
    return megabytes("VmRSS")


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


def biogeme(python: Path) -> None:
    """Swissmetro's panel model of time, ours (the least of three) and Biogeme's."""
    problem = problems(quick=True)[0]
    seconds, result = min((ours(problem) for _ in range(3)), key=lambda one: one[0])
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "swissmetro.csv"
        ac.datasets.swissmetro().to_csv(table, index=False)
        script = Path(__file__).parent / "mixed_biogeme.py"
        command = [str(python), str(script), str(table), str(XLOGIT_DRAWS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    print(
        f"{problem.name}: ours {seconds:.2f} s, LL - exact {result.loglik - problem.exact:+.2f}; "
        f"Biogeme {found['seconds']:.0f} s, {found['loglik'] - problem.exact:+.2f}; "
        f"{found['seconds'] / seconds:.0f} times"
    )


def environment(name: str, venvs: Path) -> Path | None:
    """The interpreter of another package, None where it cannot be made."""
    try:
        return interpreter(venvs / name, REQUIREMENTS[name])
    except EnvironmentUnavailableError as error:
        print(f"Without {name}: {error}")
        return None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--venvs", type=Path, default=CACHE)
    parser.add_argument("--models", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ac.ArdchoiceWarning)
    parts, quick = given.parts or list(PARTS[:-2]), given.quick
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if given.reference:
        parts = ["reference"]
    models = problems(quick=quick)
    if given.models:
        models = [one for one in models if one.name.startswith(tuple(given.models))]
    if "race" in parts:
        python = None if quick else environment("xlogit", given.venvs)
        race(models, python, 1 if quick else given.repeats)
    if "seeds" in parts:
        seeds(models[:1] if quick else models, 2 if quick else 5)
    if "scaling" in parts:
        scaling([300] if quick else [1_000, 10_000, 100_000], repeats=1 if quick else 3)
    if "searches" in parts:
        searches(2 if quick else 30, 300)
    if "false" in parts:
        false_ones(2 if quick else 40, 6_000)
    if "biogeme" in parts and (python := environment("export-biogeme", given.venvs)) is not None:
        biogeme(python)
    if "reference" in parts:
        print_references(quick=quick)


if __name__ == "__main__":
    main()
