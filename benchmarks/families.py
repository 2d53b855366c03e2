"""Processor time of nested and latent class logits beside Biogeme and PyLogit, with errors.

`python benchmarks/families.py [--quick] [--repeats N] [--venvs DIR]` estimates a nested logit and
a latent class logit of 6,768 Swissmetro choices. Other packages run the script that `ac.export`
writes for them, in environments of their own, and only their estimation is timed: with standard
errors, without imports and without making columns. Runs are interleaved, so that a busy machine is
busy for all. It ends with 1 where a package is not at least 50 times slower, or finds another
log-likelihood. `--quick` runs ours alone, on the first 900 choices.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.families import Family
from ardchoice.text import table as text_table
from environments import CACHE, EnvironmentUnavailableError, interpreter
from exports import ONE_THREAD, REQUIREMENTS

LEAST_RATIO = 50.0
"""Times faster than each of the others that we want to be."""
LOGLIK_BOUND = 0.01
SECONDS = 1800.0
"""Most that one estimation may take."""
TAIL = 300
"""Characters of the last words of a script that failed."""
SPECIFICATION = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
MODELS: Mapping[str, Family] = {
    "nested": ac.Nested({"existing": ["TRAIN", "CAR"]}),
    "latent class, 2": ac.LatentClass(2),
}
RIVALS = {"nested": ("biogeme", "pylogit"), "latent class, 2": ("biogeme",)}
TIMED = """
import runpy, sys, time
made = runpy.run_path(sys.argv[1])
choices = made["prepare"]()
for name in sys.argv[2:]:
    __import__(name)
started = time.process_time()
made["estimate"](choices)
print("PROCESSOR SECONDS", time.process_time() - started)
"""
IMPORTED = {
    "biogeme": ["biogeme.biogeme", "biogeme.models", "biogeme.results_processing"],
    "pylogit": [],
}
"""Modules that are imported before the clock starts. PyLogit needs what its script mends first."""


@dataclass
class Times:
    """Of one model in one package."""

    model: str
    package: str
    seconds: list[float] = field(default_factory=list)
    loglik: float = np.nan

    @property
    def best(self) -> float:
        """The least of the repeats."""
        return min(self.seconds, default=np.nan)


def business() -> ChoiceData:
    """Commuters and business travellers, costs and times in hundreds."""
    derived = {f"{m}_TT": f"{m}_TT / 100" for m in ("TRAIN", "SM", "CAR")}
    derived |= {f"{m}_CO": f"{m}_CO * (GA == 0) / 100" for m in ("TRAIN", "SM")}
    derived |= {"CAR_CO": "CAR_CO / 100"}
    derived |= {f"{m}_AV": f"{m}_AV * (SP != 0)" for m in ("TRAIN", "CAR")}
    return ac.read_wide(
        ac.datasets.swissmetro(),
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        availability="{alt}_AV",
        person="ID",
        derive=derived,
        where="PURPOSE in (1, 3) and CHOICE != 0",
    )


def ours(data: ChoiceData, family: Family) -> tuple[float, ac.Result]:
    """Processor seconds of an estimation, and what it found."""
    fresh = data.take(np.arange(len(data)))  # nothing cached
    started = time.process_time()
    result = ac.fit(fresh, SPECIFICATION, family=family)
    result.to_frame()
    return time.process_time() - started, result


def theirs(script: Path, package: str, python: Path) -> tuple[float, float]:
    """Processor seconds of an estimation by another package, and its log-likelihood."""
    done = subprocess.run(
        [str(python), "-W", "ignore", "-c", TIMED, str(script), *IMPORTED[package]],
        cwd=script.parent,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).strip()[-TAIL:])
    lines = [line.split() for line in done.stdout.splitlines()]
    seconds = next(float(words[2]) for words in lines if words[:2] == ["PROCESSOR", "SECONDS"])
    loglik = [float(words[1]) for words in lines if words[:1] == ["log-likelihood"]][-1]
    return seconds, loglik


def measure(data: ChoiceData, repeats: int, venvs: Path | None) -> list[Times]:
    """Every model in every package, in turns; ours alone without environments."""
    found: dict[tuple[str, str], Times] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(repeats):
            for model, family in MODELS.items():
                mine = found.setdefault((model, "ardchoice"), Times(model, "ardchoice"))
                seconds, result = ours(data, family)
                mine.seconds.append(seconds)
                mine.loglik = result.loglik
                for package in RIVALS[model] if venvs else ():
                    other = found.setdefault((model, package), Times(model, package))
                    folder = Path(scratch) / f"{package}-{turn}-{len(found)}"
                    folder.mkdir()
                    try:
                        assert venvs is not None  # noqa: S101 - asked before
                        python = interpreter(venvs / f"export-{package}", REQUIREMENTS[package])
                        script = ac.export(result, package, folder)
                        seconds, other.loglik = theirs(script, package, python)
                        other.seconds.append(seconds)
                    except EnvironmentUnavailableError as error:
                        print(f"{package}: not run. {error}", file=sys.stderr)
                    except (RuntimeError, subprocess.TimeoutExpired) as error:
                        print(f"{package}: failed. {error}", file=sys.stderr)
    return list(found.values())


def lines(found: list[Times]) -> tuple[list[list[str]], bool]:
    """Cells of a table, and whether all is as it should be."""
    rows, good = [], True
    mine = {one.model: one for one in found if one.package == "ardchoice"}
    for one in found:
        ratio, apart = one.best / mine[one.model].best, abs(one.loglik - mine[one.model].loglik)
        shown = "" if one.package == "ardchoice" else f"{ratio:,.0f}"
        rows.append([one.model, one.package, f"{one.loglik:,.4f}", f"{one.best:.3f}", shown])
        if one.package != "ardchoice" and one.seconds:
            good &= ratio >= LEAST_RATIO and apart <= LOGLIK_BOUND
    return rows, good


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="ours alone, on 900 choices")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--venvs", type=Path, default=CACHE, help="folder of environments")
    asked: Any = parser.parse_args(arguments)
    data = business()
    if asked.quick:
        found = measure(data.take(np.arange(900)), 1, None)
    else:
        found = measure(data, asked.repeats, asked.venvs)
    rows, good = lines(found)
    head = ["model", "package", "log-likelihood", "processor s", "times ours"]
    print(text_table(rows, head, left=2))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
