"""Relevance on ever more choice situations: time and memory of `Newton()` in the large space.

`python benchmarks/ard_scaling.py [--quick]`. Swissmetro travellers are resampled until there are
enough situations, and choices are simulated from S2. Every size runs in a separate process, so that
its peak memory can be measured. More data can need more or fewer passes, so time is also given per
pass.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

import ardchoice as ac
from mnl_scaling import peak_gb

SPECIFICATION = "S2"
SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (2_000, 10_000)
MEMORY_GB = 3.0
"""What the largest size may take at its peak, the data included."""
TIMEOUT = 7200.0


@dataclass(frozen=True)
class Scaling:
    """One size.

    Attributes
    ----------
    n_situations, n_columns
        The size.
    space_seconds
        To learn the space: segments, exponents, which candidates cannot be.
    seconds
        Of `fit_ard`.
    passes
        Over the data.
    data_gb, peak_gb
        Peak memory once the data and the space were there, and at the end.
    converged
    """

    n_situations: int
    n_columns: int
    space_seconds: float
    seconds: float
    passes: float
    data_gb: float | None
    peak_gb: float | None
    converged: bool


def resampled(n_situations: int, seed: int = 0) -> ac.ChoiceData:
    """Travellers drawn with replacement, with all their answers, and new choices for each."""
    data = ac.datasets.swissmetro_choices()
    if data.person is None:
        raise ValueError("Swissmetro has persons")
    answers = np.argsort(data.person, kind="stable").reshape(data.n_persons or 0, -1)
    each = answers.shape[1]
    drawn = np.random.default_rng(seed).integers(len(answers), size=-(-n_situations // each))
    rows = answers[drawn].ravel()[:n_situations]
    person = np.arange(n_situations, dtype=np.intp) // each
    truth = ac.datasets.swissmetro_specification(SPECIFICATION)
    return ac.simulate_choices(replace(data.take(rows), person=person), truth, seed=seed)


def measure(n_situations: int) -> Scaling:
    """One size, in this process."""
    data = resampled(n_situations)
    start = time.perf_counter()
    space = ac.swissmetro_space(data, "large")
    space_seconds, data_gb = time.perf_counter() - start, peak_gb()
    start = time.perf_counter()
    fit = ac.fit_ard(data, space)
    seconds = time.perf_counter() - start
    return Scaling(
        n_situations,
        space.n_columns,
        space_seconds,
        seconds,
        fit.passes,
        data_gb,
        peak_gb(),
        fit.converged,
    )


def measure_apart(n_situations: int) -> Scaling:
    """The same in a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), "--one", str(n_situations)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{n_situations} situations failed:\n{done.stderr[-2000:]}")
    return Scaling(**json.loads(done.stdout))


def show(rows: Sequence[Scaling]) -> None:
    """The table, in 80 columns."""
    head = f"{'situations':>11}{'columns':>9}{'space s':>9}{'fit s':>9}{'passes':>8}"
    head += f"{'s/10^5':>9}{'s/10^5/pass':>12}{'peak GB':>9}"
    print(f"{head}\n{'-' * len(head)}")
    for r in rows:
        unit = r.seconds / r.n_situations * 1e5
        peak = "?" if r.peak_gb is None else f"{r.peak_gb:.2f}"
        print(
            f"{r.n_situations:11,}{r.n_columns:9}{r.space_seconds:9.1f}{r.seconds:9.1f}"
            f"{r.passes:8.0f}{unit:9.2f}{unit / r.passes:12.3f}{peak:>9}"
            + ("" if r.converged else "  did not converge")
        )
    print(f"Peak resident memory, data included; at most {MEMORY_GB} GB wanted.")


def main(arguments: Sequence[str] | None = None) -> list[Scaling]:
    """Run and print; with --one, measure that size here and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        rows = [measure(options.one)]
        print(json.dumps(asdict(rows[0])))
        return rows
    rows = [measure_apart(n) for n in (QUICK_SIZES if options.quick else SIZES)]
    show(rows)
    return rows


if __name__ == "__main__":
    main()
