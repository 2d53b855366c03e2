"""Rivals: other ways to a specification, on the same rows, with the same time.

`python benchmarks/rivals.py [--quick] [--budget SECONDS] [--seeds N] [--methods A,B]
[--data real,S2] [--envs DIR] [--out DIR]` lets every method search the medium space of the real
Swissmetro choices and of choices drawn from S2, each in a process of its own and stopped at the
budget, and prints one table. The methods hand over the best model so far whenever it improves;
we estimate it again, so that one program computes every BIC. With --out, results.json, table.md and
the figure (BIC above the best against time) are written, and a second call resumes from there.

Seconds are wall clock of the search alone, in one thread of linear algebra: environments, imports
and reading are not in them. Rivals live in environments of their own, made when first needed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ardchoice as ac
from environments import CACHE, EnvironmentUnavailableError, interpreter
from recovery import Case

sys.path.append(str(Path(__file__).with_suffix("")))
from rival_problem import load, write_problem
from rival_record import Key, Run, lines, read_runs
from rival_tables import figure, markdown, show
from rival_words import Found, Language, bic_of, translate, with_indicators

HERE = Path(__file__).with_suffix("")
POLL, READY = 0.05, 600.0
"""Seconds between looks at a search, and how long it may take to import and read."""
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "MPLBACKEND": "Agg",
}

REQUIREMENTS: dict[str, list[str]] = {
    "searchlibrium": [
        "SearchLibrium==0.0.262",
        "numpy==2.4.6",
        "scipy==1.17.1",
        "pandas==3.1.1",
        "jax==0.10.2",
        "jaxlib==0.10.2",
        "jaxopt==0.8.5",
        "nlopt==2.11.0",
        "scikit-learn==1.9.1",
        "statsmodels==0.15.0",
        "addicty==2023.9.3",
        "matplotlib==3.11.2",  # it imports it, but does not say so
    ],
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
        "tomlkit==0.15.2",
    ],
}
"""Pins that work together on Python 3.11 from PyPI wheels alone, per environment."""


@dataclass(frozen=True)
class Method:
    """One way to a specification.

    Attributes
    ----------
    script
        In the folder `rivals`.
    language
        How it writes its models.
    task
        What else the script needs to know.
    environment
        A key of `REQUIREMENTS`; None for the Python that runs this.
    random
        Whether it depends on the seed.
    once
        Tried with one seed only: as shipped, where a patched one follows.
    """

    script: str
    language: Language
    task: dict[str, Any] = field(default_factory=dict)
    environment: str | None = None
    random: bool = False
    once: bool = False


METHODS: dict[str, Method] = {
    "specify": Method("run_ours.py", "terms", {"method": "specify"}),
    "specify, no structure": Method("run_ours.py", "terms", {"method": "unstructured"}),
    "stepwise by BIC": Method("run_ours.py", "terms", {"method": "stepwise"}),
    "group lasso": Method("run_ours.py", "terms", {"method": "lasso"}),
    "SearchLibrium as shipped": Method(
        "run_searchlibrium.py", "columns", {"patched": False}, "searchlibrium", True, True
    ),
    "SearchLibrium, patched": Method(
        "run_searchlibrium.py", "columns", {"patched": True}, "searchlibrium", True
    ),
    "Biogeme as shipped": Method(
        "run_biogeme.py",
        "segments",
        {"catalogs": "segments", "patched": False},
        "biogeme",
        True,
        True,
    ),
    "Biogeme, segments": Method(
        "run_biogeme.py", "segments", {"catalogs": "segments", "patched": True}, "biogeme", True
    ),
    "Biogeme, term by term": Method(
        "run_biogeme.py", "indices", {"catalogs": "terms", "patched": True}, "biogeme", True
    ),
}
TRUTH = "truth re-estimated"
QUICK_BUDGET = 3.0


# -- One search ------------------------------------------------------------------------------------


Event = dict[str, Any]


def search(
    method: Method, data: Path, seed: int, budget: float, python: str
) -> tuple[list[Event], str]:
    """Let a method search until it ends or its time is over: its lines, and what went wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = {"data": str(data), "seed": seed, "budget": budget, **method.task}
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        incumbents = folder / "incumbents.jsonl"
        with (folder / "log.txt").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [python, str(HERE / method.script), name],
                cwd=name,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,
            )
            stopped = wait(process, incumbents, budget)
        events = [json.loads(line) for line in lines(incumbents)]
        events = [e for e in events if e.get("seconds", 0.0) <= budget]
        if stopped or process.returncode == 0:
            late = "" if any(e["event"] == "start" for e in events) else f"not ready in {READY:g} s"
            return events, late
        return events, (lines(folder / "log.txt") or ["no reason given"])[-1]


def wait(process: subprocess.Popen[bytes], incumbents: Path, budget: float) -> bool:
    """Until the process ends or its time is over; whether it had to be stopped."""
    begun, started = time.monotonic(), None
    try:
        while process.poll() is None:
            now = time.monotonic()
            if started is None and any('"start"' in line for line in lines(incumbents)):
                started = now
            if now > (begun + READY if started is None else started + budget):
                return True
            time.sleep(POLL)
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # it leads the session it was started in
            process.wait()


def measure(case: Case, run: Run, events: list[Event], problem: str) -> Run:
    """Estimate the incumbents and fill in a run."""
    better = [e for e in events if e["event"] == "better" and math.isfinite(e["bic"])]
    last = [e for e in events if e["event"] == "end"]
    patches = tuple(e["text"] for e in events if e["event"] == "patch")
    language = METHODS[run.method].language
    curve: list[tuple[float, float]] = []
    best: Found | None = None
    for event in better:
        found = translate(event["model"], language, case)
        bic = bic_of(case, found.terms)
        if not curve or bic < curve[-1][1]:
            best, curve = found, [*curve, (event["seconds"], bic)]
    run = replace(
        run,
        ended=last[0]["seconds"] if last else None,
        tried=max((e["tried"] for e in events if "tried" in e), default=None),
        patches=patches,
        problem=problem,
    )
    if best is None:
        return replace(run, problem=problem or "no model was accepted within the budget")
    run = replace(run, seconds=curve[-1][0], curve=tuple(curve))
    return with_model(case, run, best, curve[-1][1])


def with_model(case: Case, run: Run, found: Found, bic: float) -> Run:
    """The run with its model."""
    true = set(case.truth)
    both = len(true & found.candidates)
    return replace(
        run,
        bic=bic,
        f1=2 * both / (len(true) + len(found.candidates)) if true else None,
        model=tuple(map(str, found.terms)),
        terms=len(found.candidates),
        coefficients=ac.Design(with_indicators(case.data), found.terms).n_columns,
    )


def runs(
    problems: Iterable[tuple[str, int]],
    methods: Iterable[str],
    budget: float,
    envs: Path,
    done: dict[Key, Run],
) -> Iterator[Run]:
    """Every method on every problem, but for those done already."""
    methods = list(methods)
    for name, seed in problems:
        missing = [Run(name, seed, m, budget) for m in methods if wanted(name, seed, m)]
        missing = [run for run in missing if run.key not in done]
        if not missing:
            continue
        case = load(name, seed)
        with tempfile.TemporaryDirectory() as folder:
            write_problem(case, Path(folder))
            for run in missing:
                say(f"{name} {seed}: {run.method}")
                yield one(case, run, Path(folder), envs)


def wanted(name: str, seed: int, method: str) -> bool:
    """Nothing is repeated that could not come out differently; real choices have no known truth."""
    if method == TRUTH:
        return name != "real"
    how = METHODS[method]
    return seed == 0 or not (how.once or (name == "real" and not how.random))


def one(case: Case, run: Run, folder: Path, envs: Path) -> Run:
    """One method on one problem."""
    if run.method == TRUTH:
        found = Found(case.truth, frozenset(case.truth))
        return with_model(case, run, found, bic_of(case, found.terms))
    method, python = METHODS[run.method], sys.executable
    if method.environment is not None:
        try:
            needed = REQUIREMENTS[method.environment]
            python = str(interpreter(envs / method.environment, needed))
        except EnvironmentUnavailableError as error:
            return replace(run, problem=f"not installed: {' '.join(str(error).split())}")
    events, problem = search(method, folder, run.seed, run.budget, python)
    return measure(case, run, events, problem)


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


# -- Everything ------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> list[Run]:
    """Run, print, and write as runs end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seconds, and no environments")
    parser.add_argument("--budget", type=float, help="seconds of every search. Default: 600")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", default="real,S2")
    parser.add_argument("--methods", default=";".join(METHODS), help="separated by ;")
    parser.add_argument("--envs", type=Path, default=CACHE)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    budget = options.budget or (QUICK_BUDGET if options.quick else 600.0)
    methods = [m for m in METHODS if m in options.methods.split(";")]
    seeds = range(1 if options.quick else options.seeds)
    if options.quick:
        methods = [m for m in methods if METHODS[m].environment is None]
    methods = [TRUTH, *methods]
    problems = [(name, seed) for name in options.data.split(",") for seed in seeds]
    done: dict[Key, Run] = {}
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        done = read_runs(options.out / "runs.jsonl")
    for run in runs(problems, methods, budget, options.envs, done):
        done[run.key] = run
        if options.out:
            with (options.out / "runs.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
    order = [(n, k, m, budget) for n, _ in problems[:: len(seeds)] for m in methods for k in seeds]
    asked = [done[key] for key in order if key in done]
    show(asked)
    if options.out:
        results = {
            "runs": [asdict(run) for run in asked],
            "requirements": REQUIREMENTS,
            "machine": f"{platform.platform()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "ardchoice": version("ardchoice"),
        }
        (options.out / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
        (options.out / "table.md").write_text(markdown(asked), encoding="utf-8")
        figure(asked, options.out)
    return asked


if __name__ == "__main__":
    main()
