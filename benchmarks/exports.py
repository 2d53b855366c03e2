"""Exports: the scripts for other packages run there, and find what we found.

`python benchmarks/exports.py [--quick] [--models A,B] [--packages A,B] [--venvs DIR] [--keep DIR]`
writes the script of every package for every model, runs it as a user would in an environment of
that package alone, and prints how far its log-likelihood and its estimates are from ours. It ends
with 1 when one of them is beyond its bound.

Apollo cannot be had from PyPI or Debian. Its script is run by R with stand-ins for Apollo's
functions, which do what its manual says of them: that shows that R reads the table, makes the
columns and has our log-likelihood at our estimates, not that Apollo runs the script.

Packages simulate mixed logits with draws of their own: log-likelihoods may differ by the simulation
error of that many draws, estimates by a part of their standard errors.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import ardchoice as ac
from ardchoice.cli.demo import DEMO_SETTINGS, STUDY_FILE, TABLE_FILE, prepared
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Design
from ardchoice.families import structure_of
from ardchoice.families.mixed.family import in_loadings
from ardchoice.families.mixed.prediction import chunks, population
from ardchoice.settings import read_settings
from ardchoice.text import table as text_table
from environments import CACHE, EnvironmentUnavailableError, interpreter
from mixed_reference import SWISSMETRO, swissmetro

TESTS = Path(__file__).parents[1] / "tests"
sys.path.append(str(TESTS / "exports"))
CROSS_NESTED = "TRAIN: ASC + TT + HE + ASC x GA\nSM: TT + HE + ASC x GA\nCAR: ASC + TT\n*: CO"
LOGLIK_BOUND = 0.01
"""Of the difference of log-likelihoods."""
ESTIMATE_BOUND = 1e-3
"""Of the largest difference of estimates, relative to those above one."""
SIMULATION_ERRORS = 4.0
"""By which a log-likelihood with draws of a package's own may differ from ours."""
SIMULATED_SHARE = 0.5
"""Of a standard error, by which an estimate with such draws may."""
PYLOGIT_DRAWS = 2000
"""In place of the 500 of its script, pseudo-random ones. Exact maxima of the likelihood of 300
persons with 500 such draws are 0.4 to 0.7 standard errors from ours (six seeds), with 2,000 draws
0.2 to 0.25 (four seeds)."""
STAND_IN_DRAWS = 500
"""Of the stand-ins for Apollo."""
TASTE_DRAWS = 4096
"""That the simulation error is computed from."""
SECONDS = 1800.0
"""Most that a script may take."""
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "MPLBACKEND": "Agg",
}

REQUIREMENTS: dict[str, list[str]] = {
    "biogeme": [
        "biogeme==3.3.2",
        "biogeme-optimization==0.0.14",
        "numpy==2.4.6",
        "scipy==1.17.1",
        "pandas==2.3.3",
        "jax==0.10.2",
        "jaxlib==0.10.2",
        "pymc==5.28.5",
        "numpyro==0.22.0",
        "tomlkit==0.14.0",  # Biogeme 3.3.2 cannot write its parameters with 0.15
    ],
    "pylogit": [
        "pylogit==1.0.1",
        "numpy==2.4.6",
        "scipy==1.17.1",
        "pandas==3.1.1",
        "statsmodels==0.15.0",
        "future==1.0.0",
        "tqdm==4.70.1",
    ],
    "xlogit": ["xlogit==0.2.7", "numpy==2.4.6", "scipy==1.17.1", "pandas==3.1.1"],
}
"""Pins that work together on Python 3.11 from PyPI wheels alone, per package."""
PACKAGES = (*REQUIREMENTS, "apollo")


class FailedError(Exception):
    """A script did not run to its end; the message has its last words."""


@dataclass(frozen=True)
class Found:
    """What a script found, as differences from ours; estimates None where it made none."""

    loglik: float
    estimates: float | None
    seconds: float
    bounds: tuple[float, float] = (LOGLIK_BOUND, ESTIMATE_BOUND)

    @property
    def is_right(self) -> bool:
        """Whether both are within their bounds."""
        return self.loglik <= self.bounds[0] and (self.estimates or 0.0) <= self.bounds[1]


# -- Models ---------------------------------------------------------------------------------


def r6(folder: Path) -> ac.Result:
    """The best published specification of the real Swissmetro choices."""
    data = ac.datasets.swissmetro_choices("real")
    return ac.fit_mnl(data, ac.datasets.swissmetro_specification("R6"))


def demo(folder: Path) -> ac.Result:
    """What `ardchoice demo` finds, from the table that it writes."""
    prepared().to_csv(folder / TABLE_FILE, index=False)
    r6_text = ac.datasets.swissmetro_specification("R6")
    (folder / STUDY_FILE).write_text(DEMO_SETTINGS % r6_text, encoding="utf-8")
    settings = read_settings(folder / STUDY_FILE)
    data = settings.read_choices(folder)
    space, structure = settings.make_space(data), settings.make_structure()
    return ac.specify(data, space, structure=structure).result


def modes(folder: Path) -> ac.Result:
    """A long file as it is."""
    models: Any = import_module("export_models")
    return ac.fit_mnl(models.modechoice(), models.MODECHOICE_SPECIFICATION)


def ragged(folder: Path) -> ac.Result:
    """Generic and shared coefficients, weights, choice sets of two to six of six products."""
    models: Any = import_module("export_models")
    models.ragged().to_csv(folder / "sets.csv", index=False)
    return ac.fit_mnl(models.products(folder / "sets.csv"), models.RAGGED_SPECIFICATION)


def transforms(folder: Path) -> ac.Result:
    """Every transform, recoded covariates, weights, from a file with decimal commas."""
    models: Any = import_module("export_models")
    file = folder / "trips.csv"
    models.trips(n=3000).to_csv(file, index=False, sep=";", decimal=",", encoding="cp1252")
    return ac.fit_mnl(models.wide(file), models.EVERY_TRANSFORM)


def richer(folder: Path) -> ac.Result:
    """Products of attributes, ratios, functions of covariates, a spline."""
    models: Any = import_module("export_models")
    models.richer_table().to_csv(folder / "richer.csv", index=False)
    return ac.fit_mnl(models.read_richer(folder / "richer.csv"), models.RICHER_SPECIFICATION)


def derived(folder: Path) -> ac.Result:
    """Derived columns, texts among them, a filter, conditional availability."""
    models: Any = import_module("export_models")
    ac.datasets.swissmetro().to_csv(folder / "survey.csv", index=False)
    return ac.fit_mnl(models.read_derived(folder / "survey.csv"), models.DERIVED_SPECIFICATION)


def hostile(folder: Path) -> ac.Result:
    """Names and levels with quotes, line ends, code and formulas in them."""
    model: Any = import_module("hostile_model")
    model.hostile().to_csv(folder / "odd.csv", index=False)
    return ac.fit_mnl(model.read(folder / "odd.csv"), model.terms())


def travellers() -> ChoiceData:
    """300 commuters and business travellers of Swissmetro."""
    return swissmetro().take(np.arange(2700))


def mixed(folder: Path) -> ac.Result:
    """A mixed logit that all packages have: two normal coefficients."""
    family = ac.Mixed({"*: TT": "normal", "TRAIN: ASC": "normal"}, nodes=256)
    return ac.fit(travellers(), SWISSMETRO, family=family)


def mixed_others(folder: Path) -> ac.Result:
    """A uniform and a lognormal coefficient."""
    family = ac.Mixed({"*: TT": "lognormal", "TRAIN: ASC": "uniform"}, nodes=256)
    return ac.fit(travellers(), SWISSMETRO, family=family)


def mixed_wtp(folder: Path) -> ac.Result:
    """WTP space, with a WTP for time that differs between persons."""
    family = ac.Mixed({"*: TT": "normal"}, space="wtp", cost="CO", nodes=256)
    return ac.fit(travellers(), SWISSMETRO, family=family)


def nested(folder: Path) -> ac.Result:
    """Train and car in a nest."""
    return ac.fit(travellers(), SWISSMETRO, family=ac.Nested({"existing": ["TRAIN", "CAR"]}))


def cross_nested(folder: Path) -> ac.Result:
    """The published cross-nested logit of all 6,768 choices: train in two nests."""
    nests = {"existing": ["TRAIN", "CAR"], "public": ["TRAIN", "SM"]}
    return ac.fit(swissmetro(), CROSS_NESTED, family=ac.Nested(nests, cross=True))


def latent(folder: Path) -> ac.Result:
    """Two classes; who is a member of which depends on the season ticket."""
    return ac.fit(travellers(), SWISSMETRO, family=ac.LatentClass(2, membership=["GA"]))


MODELS: dict[str, Callable[[Path], ac.Result]] = {
    "R6": r6,
    "demo": demo,
    "modes": modes,
    "ragged": ragged,
    "transforms": transforms,
    "hostile": hostile,
    "richer": richer,
    "derived": derived,
    "mixed": mixed,
    "mixed_others": mixed_others,
    "mixed_wtp": mixed_wtp,
    "nested": nested,
    "cross_nested": cross_nested,
    "latent": latent,
}
QUICK = ("modes", "ragged")


# -- Runs -----------------------------------------------------------------------------------


def run(result: ac.Result, package: str, folder: Path, venvs: Path) -> Found:
    """Write a script, run it, and compare."""
    script = ac.export(result, package, folder)
    if package == "pylogit" and isinstance(result.family, ac.Mixed):
        text = script.read_text(encoding="utf-8")
        few, many = f"DRAWS = {_draws(script)}", f"DRAWS = {PYLOGIT_DRAWS}"
        script.write_text(text.replace(few, many, 1), encoding="utf-8")
    if package == "apollo":
        command = _r_command(script)
    else:
        command = [
            str(interpreter(venvs / f"export-{package}", REQUIREMENTS[package])),
            script.name,
        ]
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FailedError(f"not done after {SECONDS:.0f} s") from None
    seconds = time.perf_counter() - started
    (folder / f"{script.name}.out").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode != 0:
        raise FailedError((done.stderr or done.stdout).strip()[-300:])
    if package == "apollo":
        at = next(line for line in done.stdout.splitlines() if line.startswith("LOGLIK "))
        found = Found(abs(float(at.split()[2]) - result.loglik), None, seconds)
    else:
        found = _compare(result, dict(_printed(done.stdout)), seconds)
    if not isinstance(result.family, ac.Mixed):
        return found
    draws = STAND_IN_DRAWS if package == "apollo" else _draws(script)
    return replace(found, bounds=(_simulation_bound(result, draws), SIMULATED_SHARE))


def _draws(script: Path) -> int:
    """Per person, that a script asks for."""
    text = script.read_text(encoding="utf-8")
    return int(next(x for x in text.splitlines() if x.startswith("DRAWS = ")).split()[-1])


def _simulation_bound(result: ac.Result, draws: int) -> float:
    """Of the log-likelihood with independent draws of the tastes of every person."""
    design = Design(grouped_by_person(result.data), result.encoding)
    layout = result.layout.reordered(design.order)
    structure = structure_of(layout)
    theta = result.coefficients[layout.permutation(design.order)]
    phi = in_loadings(structure, theta)
    tastes = population(structure, phi, 1, TASTE_DRAWS)
    variance = 0.0
    for block in design.blocks():
        person = np.asarray(block.person)
        each: dict[int, Any] = {}
        for chunk in chunks(block, structure, phi, tastes):
            rows = np.arange(block.shape[1])[chunk.rows]
            with np.errstate(divide="ignore"):  # what is impossible at a node has no weight there
                log_p = np.log(chunk.p[block.choice[rows], np.arange(len(rows))])
            for code, one in zip(person[rows].tolist(), log_p, strict=True):
                each[code] = each.get(code, 0.0) + one
        p = np.exp(np.array(list(each.values())))
        variance += float((p.var(axis=1) / p.mean(axis=1) ** 2).sum())
    error = np.sqrt(variance / draws)
    return float(SIMULATION_ERRORS * error + error**2)


def _r_command(script: Path) -> list[str]:
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise EnvironmentUnavailableError("R is not installed (apt-get install r-base-core)")
    both = "source(commandArgs(TRUE)[1]); source(commandArgs(TRUE)[2])"
    stand_ins = TESTS / "reference" / "apollo_stand_ins.R"
    return [rscript, "-e", both, str(stand_ins), script.name]


def _printed(out: str) -> Iterator[tuple[str, float]]:
    """Name and estimate of every line of the comparison that a script prints last."""
    lines = out.splitlines()
    start = max(i for i, line in enumerate(lines) if line.split() == ["estimate", "ardchoice"])
    for line in lines[start + 1 :]:
        if len(words := line.split()) == 3:
            yield words[0], float(words[1])


def _compare(result: ac.Result, found: dict[str, float], seconds: float) -> Found:
    loglik = abs(found.pop("log-likelihood") - result.loglik)
    sizes = np.maximum(1.0, np.abs(result.coefficients))
    if isinstance(result.family, ac.Mixed):
        sizes = result.to_frame("classical")["std_err"].to_numpy()
    apart = np.abs(np.array(list(found.values())) - result.coefficients) / sizes
    return Found(loglik, float(apart.max()), seconds)


def line(result: ac.Result, package: str, folder: Path, venvs: Path) -> tuple[list[str], bool]:
    """What a script found as cells of the table, and whether it is right or could not be run."""
    try:
        found = run(result, package, folder, venvs)
    except EnvironmentUnavailableError as error:
        print(f"not run: {error}", file=sys.stderr)
        return ["-", "-", "-", "not run"], True
    except FailedError as error:
        print(error, file=sys.stderr)
        return ["-", "-", "-", "FAILED"], False
    except ac.ArdchoiceError as error:
        print(f"not written: {error}", file=sys.stderr)
        return ["-", "-", "-", "not written"], True
    largest = "-" if found.estimates is None else f"{found.estimates:.1e}"
    verdict = "ok" if found.is_right else "WRONG"
    return [f"{found.loglik:.1e}", largest, f"{found.seconds:.0f}", verdict], found.is_right


def main() -> int:
    """Run what was asked and print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two small models, without Biogeme")
    parser.add_argument("--models", default="", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--packages", default="", help=f"of {', '.join(PACKAGES)}")
    parser.add_argument("--venvs", type=Path, default=CACHE, help="folder of environments")
    parser.add_argument("--keep", type=Path, help="folder to keep scripts and output in")
    asked = parser.parse_args()
    models = asked.models.split(",") if asked.models else QUICK if asked.quick else list(MODELS)
    packages = asked.packages.split(",") if asked.packages else PACKAGES[1 if asked.quick else 0 :]
    rows, all_right = [], True
    with tempfile.TemporaryDirectory() as scratch:
        for name in models:
            folder = (asked.keep or Path(scratch)).absolute() / name
            folder.mkdir(parents=True, exist_ok=True)
            result = MODELS[name](folder)
            for package in packages:
                print(f"{name}: {package} ...", file=sys.stderr, flush=True)
                cells, is_right = line(result, package, folder, asked.venvs)
                rows.append([name, str(result.n_parameters), package, *cells])
                all_right &= is_right
    header = ["model", "coefficients", "package", "loglik", "estimates", "seconds", ""]
    print(text_table(rows, header, left=1))
    print(
        f"\nDifferences from ours; bounds {LOGLIK_BOUND} and {ESTIMATE_BOUND}. Apollo: stand-ins.\n"
        f"Mixed logits: {SIMULATION_ERRORS:g} simulation errors of the log-likelihood with the "
        f"draws of the script, and {SIMULATED_SHARE:g} standard errors of estimates."
    )
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
