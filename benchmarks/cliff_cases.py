"""The cases of `cliffs.py`: each is run in a process of its own and measured there.

`python benchmarks/cliff_cases.py NAME [--quick] [--tables DIR]` runs one and prints a JSON line.
Only public names are used, so that the same script runs on code of different ages.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import inspect
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

import ardchoice as ac
from ard import gram_seconds
from mnl_scaling import peak_gb

LEVELS, QUICK_LEVELS = (50, 100, 200), (10, 20)
CANDIDATES, QUICK_CANDIDATES = (1300, 2522, 5044), (130, 260)
CANDIDATE_ROWS = 3_000
MAIN_COLUMNS = 26
"""Columns of the space of many candidates without interactions."""
PERSON_ROWS, QUICK_PERSON_ROWS = 1_000_000, 100_000
README_ROWS = 3_000
WIDE_ROWS, WIDE_ALTERNATIVES, WIDE_ATTRIBUTES = 100_000, 200, 20
QUICK_SHARE = 50
EXTREME_NOISE_PER_ALTERNATIVE = 1000
DESIGNS, QUICK_DESIGNS = 200, 12
THREADED_ROWS, QUICK_THREADED_ROWS = 1_000_000, 50_000


@dataclasses.dataclass(frozen=True)
class Size:
    """What a case is run with.

    Attributes
    ----------
    quick
        Smaller data.
    tables
        Folder of the tables of other packages.
    """

    quick: bool
    tables: Path


@dataclasses.dataclass
class Measured:
    """One run of one case, or of one size of it.

    Attributes
    ----------
    case
    seconds
        Of the processor.
    clock
        Seconds by the clock.
    grams
        Processor time in units of one dense X'WX over the same data.
    passes
        Over the data.
    peak
        Resident memory, gigabytes.
    converged
    fall
        The largest fall of the objective between passes.
    scale
        What the growth exponent is taken of: columns, levels.
    criterion
        BIC where there is a search.
    said
        What else is to be reported, or the error.
    """

    case: str
    seconds: float = 0.0
    clock: float = 0.0
    grams: float | None = None
    passes: float | None = None
    peak: float | None = None
    converged: bool | None = None
    fall: float | None = None
    scale: float | None = None
    criterion: float | None = None
    said: str = ""


@contextlib.contextmanager
def measuring(case: str) -> Iterator[Measured]:
    """Processor time, clock and what went wrong of what is done inside."""
    found = Measured(case)
    started, clock = time.process_time(), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield found
    except (ac.ArdchoiceError, ArithmeticError, ValueError) as error:
        found.said, found.converged = f"{type(error).__name__}: {error}"[:120], False
    found.seconds = time.process_time() - started
    found.clock, found.peak = time.perf_counter() - clock, peak_gb()


def largest_fall(objectives: list[float]) -> float:
    """How far the objective falls from one pass to the next, at most."""
    return max((a - b for a, b in itertools.pairwise(objectives)), default=0.0)


def relevance(
    case: str,
    data: ac.ChoiceData,
    space: ac.SearchSpace,
    *,
    solver: Any = None,
    scale: float | None = None,
    grams: bool = False,
    **options: Any,
) -> Measured:
    """`fit_ard`, measured."""
    with measuring(case) as found:
        fit = ac.fit_ard(data, space, solver=solver, **options)
    found.scale = space.n_columns if scale is None else scale
    if found.converged is None:
        found.converged, found.passes = bool(fit.converged), float(fit.passes)
        found.fall = largest_fall([step.objective for step in fit.trace])
        found.said = f"{space.n_columns} columns, {int((fit.lam > 0).sum())} terms"
    if grams:
        found.grams = found.seconds / gram_seconds(len(data), space.n_columns, 1)
    return found


# -- Where relevance did not converge --------------------------------------------------------------


def many_rows_per_person(size: Size) -> list[Measured]:
    """A draw from S2, rows drawn again with their persons: hundreds of rows of each."""
    survey = ac.datasets.swissmetro_choices()
    drawn = ac.simulate_choices(survey, ac.datasets.swissmetro_specification("S2"), seed=0)
    count = QUICK_PERSON_ROWS if size.quick else PERSON_ROWS
    data = drawn.take(np.random.default_rng(0).integers(len(drawn), size=count))
    solver = ac.Newton(sample=20_000) if size.quick else None
    space = ac.swissmetro_space(data, "medium")
    return [relevance("hundreds of rows per person", data, space, solver=solver)]


def mtc_work(size: Size) -> list[Measured]:
    """Choice sets that differ, and an attribute that is the sum of two others."""
    table = pd.read_csv(size.tables / "MTCwork.csv.gz")
    people = ["hhinc", "age", "femdum", "numveh", "hhsize", "wkccbd", "corredis"]
    data = ac.read_long(
        table,
        situation="casenum",
        alternative="altnum",
        chosen="chose",
        attributes=["ivtt", "ovtt", "tottime", "totcost"],
        covariates={name: ac.Numeric() for name in people},
    )
    found = []
    for kind in ("diagonal", "full"):
        for base in (["linear"], ["linear", "log1p"]):
            space = ac.SearchSpace(data, base, by=people[:4], generic=["tottime", "totcost"])
            name = f"MTCwork, {kind}, {'+'.join(base)}"
            found.append(relevance(name, data, space, solver=ac.Newton(posterior=kind)))
    return found


def readme_rows(_: Size) -> list[Measured]:
    """The first rows of Swissmetro, as the README reads them."""
    table = ac.datasets.swissmetro()
    data = ac.read_wide(
        table[table["CHOICE"] != 0].iloc[:README_ROWS],
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA", "MALE"],
        availability="{alt}_AV",
        person="ID",
    )
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["GA", "MALE"], base="CAR")
    return [relevance("first rows of Swissmetro", data, space)]


# -- Random designs --------------------------------------------------------------------------------


def random_design(seed: int) -> tuple[ac.ChoiceData, ac.SearchSpace]:
    """Collinear columns, many levels, few rows, few persons, weights, 2 to 100 alternatives."""
    rng = np.random.default_rng(seed)
    j = int(rng.choice([2, 3, 3, 4, 6, 10, 30, 100]))
    n = int(rng.choice([60, 150, 400, 1000, 2500]))
    names = [f"a{i}" for i in range(j)]
    k = int(rng.integers(1, 5))
    x = np.exp(0.6 * rng.standard_normal((k, n, j)) + 0.5 * rng.standard_normal((k, 1, j)))
    if k > 1 and rng.random() < 0.5:
        x[-1] = x[0] + (0.02 * x[1] if rng.random() < 0.5 else x[1 % (k - 1)])
    persons = int(rng.choice([0, 0, max(4, n // 200), n // 8]))
    person = np.sort(rng.integers(persons, size=n)) if persons else np.arange(n)
    levels = int(rng.choice([2, 3, 5, 12, 30]))
    group = rng.integers(levels, size=person.max() + 1)[person]
    income = rng.standard_normal(person.max() + 1)[person]
    available = rng.random((n, j)) < (1.0 if rng.random() < 0.5 else 0.7)
    available[:, 0] = True
    taste = rng.normal(0, rng.choice([0.3, 1.0, 3.0]), k)
    utility = np.einsum("knj,k->nj", x, taste) + rng.gumbel(size=(n, j)) + rng.normal(0, 1, j)
    utility += 0.7 * income[:, None] * (np.arange(j) == 1) + (group[:, None] % j == np.arange(j))
    chosen = np.where(available, utility, -np.inf).argmax(axis=1)
    row, mode = np.nonzero(available)
    table = pd.DataFrame(
        {"id": row, "mode": np.array(names)[mode], "chosen": (chosen[row] == mode).astype(int)}
    )
    for i in range(k):
        table[f"x{i}"] = x[i, row, mode]
    table["group"], table["income"] = group[row].astype(str), income[row]
    table["person"], table["weight"] = person[row], (0.2 + 3 * rng.random(n) ** 2)[row]
    data = ac.read_long(
        table,
        situation="id",
        alternative="mode",
        chosen="chosen",
        attributes=[f"x{i}" for i in range(k)],
        covariates={"group": ac.Categorical(), "income": ac.Numeric()},
        alternatives=names,
        person="person" if persons else None,
        weight="weight" if rng.random() < 0.4 else None,
    )
    transforms = ["linear"] if rng.random() < 0.5 else ["linear", "log1p", "sqrt"]
    by = ["income"] if len(np.unique(group)) < 2 or j > 10 else ["group", "income"]
    attributes = [f"x{i}" for i in range(k)]
    if j > 10:
        return data, ac.SearchSpace(data, transforms, by=by, generic=attributes, specific=False)
    generic = attributes if rng.random() < 0.4 else []
    return data, ac.SearchSpace(data, transforms, by=by, generic=generic)


def random_designs(size: Size) -> list[Measured]:
    """Relevance on all of them: how many converge, the most passes, the largest fall."""
    total = Measured("random designs", passes=0.0, fall=0.0, converged=True)
    failed = []
    count = QUICK_DESIGNS if size.quick else DESIGNS
    for seed in range(count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                data, space = random_design(seed)
            except ac.ArdchoiceError:
                continue  # an alternative that nobody chose, say
        one = relevance(f"design {seed}", data, space)
        total.seconds += one.seconds
        total.clock += one.clock
        if not one.converged:
            failed.append(f"{seed} ({one.said})" if one.passes is None else str(seed))
        total.passes = max(total.passes or 0, one.passes or 0)
        total.fall = max(total.fall or 0, one.fall or 0)
    total.converged, total.peak = not failed, peak_gb()
    total.said = f"{count} designs, not converged: {', '.join(failed) or 'none'}"
    return [total]


# -- Many columns ----------------------------------------------------------------------------------


def many_levels(size: Size) -> list[Measured]:
    """One covariate of ever more levels, interacted with everything."""
    frame = ac.datasets.swissmetro()
    frame = frame[(frame["CHOICE"] != 0) & (frame["AGE"] != 6) & (frame["PURPOSE"] != 9)]
    rng = np.random.default_rng(0)
    found = []
    for levels in QUICK_LEVELS if size.quick else LEVELS:
        each = dict(zip(frame["ID"].unique(), rng.integers(levels, size=len(frame)), strict=False))
        zone = frame["ID"].map(each).astype(int).astype(str)
        data = ac.read_wide(
            frame.assign(ZONE=zone),
            alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
            choice="CHOICE",
            attributes={"TT": "{alt}_TT", "CO": "{alt}_CO", "SE": {"SM": "SM_SEATS"}},
            covariates={"ZONE": ac.Categorical()},
            person="ID",
            **_allowed(levels),
        )
        space = ac.SearchSpace(data, ["linear", "log1p", "sqrt"], by=["ZONE"], base="CAR")
        found.append(relevance(f"{levels} levels", data, space, scale=levels, grams=True))
    return found


def _allowed(levels: int) -> dict[str, Any]:
    """So many levels, where code is new enough to ask."""
    asks = "max_levels" in inspect.signature(ac.read_wide).parameters
    return {"max_levels": levels} if asks else {}


def many_candidates(size: Size) -> list[Measured]:
    """Ever more columns of their own λ, on few rows."""
    found = []
    for columns in QUICK_CANDIDATES if size.quick else CANDIDATES:
        rng = np.random.default_rng(0)
        n = CANDIDATE_ROWS // (4 if size.quick else 1)
        people = columns // MAIN_COLUMNS - 1
        table = pd.DataFrame(rng.standard_normal((n, people)), columns=_names("z", people))
        attributes = (MAIN_COLUMNS - 2) // 3
        x = rng.standard_normal((attributes, n, 3))
        for i in range(attributes):
            for j in range(3):
                table[f"x{i}_{j}"] = x[i, :, j]
        utility = x[0] - 0.7 * x[1] + rng.gumbel(size=(n, 3)) + np.array([0.4, 0.0, -0.3])
        utility[:, 1] += 0.6 * table["z0"] * x[2, :, 1] + 0.5 * table["z1"]
        data = ac.read_wide(
            table.assign(choice=utility.argmax(axis=1)),
            alternatives={"a": 0, "b": 1, "c": 2},
            choice="choice",
            attributes={
                f"x{i}": {a: f"x{i}_{j}" for j, a in enumerate("abc")} for i in range(attributes)
            },
            covariates={name: ac.Numeric() for name in _names("z", people)},
        )
        space = ac.SearchSpace(data, ["linear"], by=_names("z", people), base="c")
        found.append(relevance(f"{columns} candidates", data, space, grams=True))
    return found


def _names(stem: str, count: int) -> list[str]:
    return [f"{stem}{i}" for i in range(count)]


def extreme_space(_: Size) -> list[Measured]:
    """3,000 columns, most of them noise, constants shrunk as in the paper."""
    noise = EXTREME_NOISE_PER_ALTERNATIVE
    data = ac.datasets.swissmetro_choices(noise_to=noise)
    data = ac.simulate_choices(data, ac.datasets.swissmetro_specification("S2"), seed=0)
    space = ac.swissmetro_space(data, "extreme")
    shrunk = ac.Prior(shrink_constants=True)
    return [relevance("extreme space", data, space, prior=shrunk, grams=True)]


def medium_space(_: Size) -> list[Measured]:
    """What must stay fast."""
    data = ac.datasets.swissmetro_choices()
    data = ac.simulate_choices(data, ac.datasets.swissmetro_specification("S2"), seed=0)
    space = ac.swissmetro_space(data, "medium")
    found = [relevance("medium space", data, space, grams=True) for _ in range(3)]
    return [min(found, key=lambda one: one.seconds)]


# -- Reading, running, cores, searching ------------------------------------------------------------


def wide_reading(size: Size) -> list[Measured]:
    """A wide table of numbers: time, and memory above that of the table, in tables."""
    rng = np.random.default_rng(0)
    share = QUICK_SHARE if size.quick else 1
    n, j, k = WIDE_ROWS // share, WIDE_ALTERNATIVES, WIDE_ATTRIBUTES
    columns = [f"x{a}_{i}" for a in range(k) for i in range(j)]
    table = pd.DataFrame(rng.random((n, j * k)), columns=columns)
    table["choice"] = rng.integers(j, size=n)
    bytes_ = table.memory_usage(index=False).sum()
    before = peak_gb() or 0.0
    with measuring("read_wide") as found:
        ac.read_wide(
            table,
            alternatives={f"m{i}": i for i in range(j)},
            choice="choice",
            attributes={f"x{a}": {f"m{i}": f"x{a}_{i}" for i in range(j)} for a in range(k)},
        )
    more = ((found.peak or 0.0) - before) * 1e9 / bytes_
    found.said = f"{bytes_ / 1e9:.2f} GB table; {more:.2f} tables of memory more"
    return [found]


def _children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def whole_runs(size: Size) -> list[Measured]:
    """`ardchoice run` with study files of our own on tables of other packages."""
    found = []
    for name in ("car", "heating", "optima"):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            study = folder / "study.toml"
            study.write_text(STUDIES[name](folder, size.tables), encoding="utf-8")
            words = [sys.executable, "-m", "ardchoice", "run", str(study)]
            started, clock = _children(), time.perf_counter()
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            one = Measured(f"run {name}", _children() - started, time.perf_counter() - clock)
            files = [p for p in (folder / "results").rglob("*") if p.is_file()]
            one.converged, one.said = done.returncode == 0, f"{len(files)} files"
            if done.returncode:
                one.said = f"exit {done.returncode}: {done.stderr.strip()[-160:]}"
            found.append(one)
    return found


CAR_STUDY = """
[data]
table = "car.csv"
alternatives = {a1 = "choice1", a2 = "choice2", a3 = "choice3", a4 = "choice4", a5 = "choice5", \
a6 = "choice6"}
choice = "choice"
[data.attributes]
%s
[data.covariates]
college = {}
hsg2 = {}
[space]
by = ["college", "hsg2"]
generic = ["price", "range", "cost", "speed"]
specific = false
"""

HEATING_STUDY = """
[data]
table = "heating.csv"
alternatives = ["gc", "gr", "ec", "er", "hp"]
choice = "depvar"
[data.attributes]
ic = "ic_{alt}"
oc = "oc_{alt}"
[data.covariates]
income = {}
rooms = {}
region = {}
[space]
transforms = ["linear", "log1p"]
by = ["income", "rooms", "region"]
"""

OPTIMA_STUDY = """
[data]
table = "optima.csv"
alternatives = {PT = 0, CAR = 1, SLOW = 2}
choice = "Choice"
[data.attributes]
time = {PT = "TimePT", CAR = "TimeCar"}
cost = {PT = "MarginalCostPT", CAR = "CostCarCHF"}
distance = {SLOW = "distance_km"}
[data.covariates]
Gender = {kind = "categorical"}
OccupStat = {kind = "categorical"}
NbCar = {kind = "numeric"}
[space]
transforms = ["linear", "log1p"]
by = ["Gender", "OccupStat", "NbCar"]
"""


def _car(folder: Path, tables: Path) -> str:
    pd.read_csv(tables / "car.csv.gz").to_csv(folder / "car.csv", index=False)
    lines = [
        f"{stem} = {{{', '.join(f'a{i} = {chr(34)}{stem}{i}{chr(34)}' for i in range(1, 7))}}}"
        for stem in ("price", "range", "acc", "speed", "pollution", "size", "cost", "station")
    ]
    return CAR_STUDY % "\n".join(lines)


def _heating(folder: Path, tables: Path) -> str:
    table = pd.read_csv(tables / "heating_data.csv.gz")
    table.columns = table.columns.str.replace(".", "_")
    table.to_csv(folder / "heating.csv", index=False)
    return HEATING_STUDY


def _optima(folder: Path, tables: Path) -> str:
    table = pd.read_csv(tables / "optima.dat", sep="\t")
    table = table[(table["Choice"] >= 0) & (table["CostCarCHF"] >= 0)]
    table.to_csv(folder / "optima.csv", index=False)
    return OPTIMA_STUDY


STUDIES: dict[str, Callable[[Path, Path], str]] = {
    "car": _car,
    "heating": _heating,
    "optima": _optima,
}


def demo(_: Size) -> list[Measured]:
    """`ardchoice demo`, everything it writes."""
    with tempfile.TemporaryDirectory() as place:
        words = [sys.executable, "-m", "ardchoice", "demo", "--out", f"{place}/demo"]
        started, clock = _children(), time.perf_counter()
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        one = Measured("demo", _children() - started, time.perf_counter() - clock)
        files = sorted(p for p in Path(place).rglob("*") if p.is_file())
        one.converged, one.said = done.returncode == 0, f"{len(files)} files"
    return [one]


def two_threads(size: Size) -> list[Measured]:
    """The large space on many rows: two threads beside one, and whether results are identical."""
    count = QUICK_THREADED_ROWS if size.quick else THREADED_ROWS
    survey = ac.datasets.swissmetro_choices()
    drawn = ac.simulate_choices(survey, ac.datasets.swissmetro_specification("S2"), seed=0)
    rows = np.random.default_rng(0).integers(len(drawn), size=count)
    data = dataclasses.replace(drawn.take(rows), person=None)
    space = ac.swissmetro_space(data, "medium")
    found, fits = [], []
    for threads in (1, 2):
        with measuring(f"{count:,} rows, {threads} thread{'s' if threads > 1 else ''}") as one:
            fit = ac.fit_ard(data, space, n_threads=threads)
        one.converged, one.passes = bool(fit.converged), float(fit.passes)
        fits.append(fit)
        found.append(one)
    same = np.array_equal(fits[0].lam, fits[1].lam) and np.array_equal(fits[0].mean, fits[1].mean)
    ratio = found[0].clock / found[1].clock
    found[1].said = f"{ratio:.2f} times as fast by the clock, {'' if same else 'not '}identical"
    return found


SEARCHES: tuple[tuple[Literal["medium", "large"], str, Any], ...] = (
    ("medium", "structure", ac.Structure()),
    ("medium", "no structure", None),
    ("large", "structure", ac.Structure()),
    ("large", "signs", ac.Structure(signs={"TT": "-", "CO": "-"})),
    ("large", "no structure", None),
)


def searches(size: Size) -> list[Measured]:
    """The real choices of the survey: what the search ends at, answers counted as independent."""
    data = ac.datasets.swissmetro_choices("real")
    found = []
    for name, how, structure in SEARCHES[: 2 if size.quick else None]:
        space = ac.swissmetro_space(data, name)
        with measuring(f"search, {name}, {how}") as one:
            study = ac.specify(data, space, structure=structure, rule=ac.Ebic(cluster=False))
        one.criterion, one.converged = study.result.bic, bool(study.result.converged)
        one.said = f"{study.result.n_parameters} coefficients"
        found.append(one)
    return found


CASES: dict[str, Callable[[Size], list[Measured]]] = {
    "persons": many_rows_per_person,
    "mtc": mtc_work,
    "readme": readme_rows,
    "designs": random_designs,
    "levels": many_levels,
    "candidates": many_candidates,
    "extreme": extreme_space,
    "medium": medium_space,
    "reading": wide_reading,
    "runs": whole_runs,
    "demo": demo,
    "threads": two_threads,
    "search": searches,
}
NEEDS_TABLES = ("mtc", "runs")


def main() -> None:
    """Run one case and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=list(CASES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tables", type=Path, default=Path())
    options = parser.parse_args()
    found = CASES[options.case](Size(options.quick, options.tables))
    print(json.dumps([dataclasses.asdict(one) for one in found]))


if __name__ == "__main__":
    main()
