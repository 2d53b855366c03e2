"""Beyond memory: `specify` from Parquet on ever more choice situations.

    python benchmarks/scale.py --threads DIR/choices-1000000
    python benchmarks/scale.py [--quick] [--sizes 100000 1000000] [--folder DIR] [--out FILE.json]

Swissmetro travellers are resampled, their times and costs perturbed, and choices simulated from S2;
the table is written to Parquet and read in chunks (stream=True). The space is the medium one (252
columns; ten million situations would take 20 GB expanded). Every run is a separate process, so that
its peak memory can be measured. Times are also given in units of a bare pass: reading the compact
columns once and computing one Gram matrix of the columns of the selected specification. `full` is
the same with all passes over all data (`Newton(sample=0)`), for sizes where that is feasible.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import ardchoice as ac
from ardchoice.data import draw_choices
from ardchoice.data.batches import free_memory
from ardchoice.data.datasets.published import SPECIFICATIONS
from ardchoice.design import Design, Execution
from ardchoice.families import evaluate, one_pass

SPECIFICATION = "S2"
SIZES = (100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (20_000,)
MOST_FULL = 1_000_000
"""Situations up to which the same is done with all passes over all data."""
CHUNK = 500_000
PER_PERSON = 9
MEMORY_GB = 2.0
FASTER = 5.0
TIMEOUT = 4 * 3600.0
COVARIATES = ("GA", "AGE", "PURPOSE", "WHO", "LUGGAGE", "INCOME")
UNITS = {"TT": 60.0, "CO": 100.0, "HE": 60.0}
"""Whole minutes and whole units of money in the table, for one unit of the published data."""


@dataclass(frozen=True)
class Scale:
    """One run.

    Attributes
    ----------
    n, mode
        Situations; ``few`` passes or ``full`` ones.
    read, again, space, relevance, search, estimate
        Seconds: Parquet to compact columns, opening these again, making the space, and the three
        stages of `specify`.
    cpu
        Seconds of processor time of these three: another process may be in the way of the others.
    bare
        Seconds of processor time of a bare pass.
    passes
        Columns of every pass over all data, in order.
    relevance_passes
        How many of these relevance took.
    disk_gb, peak_gb
        Of the compact columns; of memory, at the peak.
    terms
        The specification found.
    loglik
    """

    n: int
    mode: str
    read: float
    again: float
    space: float
    relevance: float
    search: float
    estimate: float
    cpu: float
    bare: float
    passes: list[int]
    relevance_passes: int
    disk_gb: float
    peak_gb: float
    terms: list[str]
    loglik: float

    @property
    def seconds(self) -> float:
        """Of `specify`."""
        return self.relevance + self.search + self.estimate


# -- Data ------------------------------------------------------------------------------------------


def write_table(path: Path, n: int, seed: int = 0) -> None:
    """Choices of n situations by S2, as Parquet files in a folder."""
    rng = np.random.default_rng(seed)
    base = ac.datasets.swissmetro_choices("semi-artificial")
    text = SPECIFICATIONS[SPECIFICATION]
    result = ac.fit_mnl(base, text)
    path.mkdir(parents=True)
    for part, start in enumerate(range(0, n, CHUNK)):
        size = min(CHUNK, n - start)
        chunk = base.take(rng.integers(0, len(base), size))
        attributes = {}
        for name, attribute in chunk.attributes.items():
            unit, shape = UNITS[name], attribute.values.shape
            shaken = np.rint(attribute.values * unit * rng.uniform(0.8, 1.25, shape))
            attributes[name] = replace(attribute, values=np.maximum(shaken, 1.0) / unit)
        chunk = replace(chunk, attributes=attributes)
        choice = draw_choices(result.probabilities(chunk), rng)
        table: dict[str, Any] = {"ID": (start + np.arange(size)) // PER_PERSON}
        for name, attribute in attributes.items():
            values = attribute.values
            for row, j in enumerate(attribute.alternatives):
                column = f"{chunk.alternatives[j]}_{name}"
                table[column] = np.nan_to_num(np.rint(values[row] * UNITS[name])).astype(np.int32)
        for j, alternative in enumerate(chunk.alternatives):
            table[f"{alternative}_AV"] = chunk.available[j].astype(np.int8)
        for name in COVARIATES:
            table[name] = chunk.covariates[name].values.astype(np.int8)
        table["CHOICE"] = choice.astype(np.int8)
        pd.DataFrame(table).to_parquet(path / f"part-{part:04d}.parquet")


def read_table(path: Path) -> ac.ChoiceData:
    """The table in compact columns."""
    return ac.read_wide(
        path,
        alternatives={"TRAIN": 0, "SM": 1, "CAR": 2},
        choice="CHOICE",
        attributes={
            "TT": "{alt}_TT",
            "CO": "{alt}_CO",
            "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"},
        },
        covariates=list(COVARIATES),
        availability="{alt}_AV",
        person="ID",
        stream=True,
    )


# -- One run ---------------------------------------------------------------------------------------


def run(path: Path, mode: str) -> Scale:
    """Read, specify, measure."""
    clock = _Clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        read_table(path)
        read = clock()
        data = read_table(path)
    again = clock()
    space = ac.SearchSpace(data, ["linear", "log1p"], ["GA", "AGE", "PURPOSE"], "CAR")
    made = clock()
    before = time.process_time()
    fit = ac.fit_ard(data, space, solver=ac.Newton(sample=0 if mode == "full" else None))
    relevance, relevance_passes = clock(), len(data.cached("passes", list))
    found = ac.select(fit)
    search = clock()
    result = ac.fit_mnl(data, found)
    estimate, cpu = clock(), time.process_time() - before
    passes: list[int] = list(data.cached("passes", list))
    design = Design(data, result.encoding)
    before = time.process_time()
    one_pass(result.coefficients[design.order], design.passing())
    bare = time.process_time() - before
    folder = Path(data.mapped_from.folder if data.mapped_from else path.parent)
    return Scale(
        n=len(data),
        mode=mode,
        read=read,
        again=again,
        space=made,
        relevance=relevance,
        search=search,
        estimate=estimate,
        cpu=cpu,
        bare=bare,
        passes=passes,
        relevance_passes=relevance_passes,
        disk_gb=sum(p.stat().st_size for p in folder.iterdir()) / 1e9,
        peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        terms=[str(t) for t in found],
        loglik=result.loglik,
    )


class _Clock:
    """Seconds since the last look."""

    def __init__(self) -> None:
        self.last = time.perf_counter()

    def __call__(self) -> float:
        before, self.last = self.last, time.perf_counter()
        return self.last - before


def run_apart(path: Path, mode: str) -> Scale:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--run", str(path), "--mode", mode]
    out = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if out.returncode:
        raise RuntimeError(out.stderr)
    return Scale(**json.loads(out.stdout.splitlines()[-1]))


# -- Threads ---------------------------------------------------------------------------------------


def compare_threads(path: Path, repeats: int = 5) -> str:
    """The best of several passes by one thread, by two on blocks, and by two inside BLAS."""
    data = read_table(path)
    space = ac.SearchSpace(data, ["linear", "log1p"], ["GA", "AGE", "PURPOSE"], "CAR")
    lines = []
    for terms in (space.terms, space.terms[:12]):
        columns = 0
        times = []
        for threads, blas in ((1, 1), (2, 1), (1, 2)):
            design = Design(data, terms, execution=Execution(n_threads=threads))
            measure, columns = partial(evaluate, np.zeros(design.n_columns)), design.n_columns
            each = []
            for _ in range(repeats):
                clock = _Clock()
                with threadpool_limits(blas, user_api="blas"):
                    # Not `one_pass`, which allows BLAS one thread only.
                    design.passing().map_reduce(measure)
                each.append(clock())
            times.append(min(each))
        one, blocks, inside = times
        lines.append(
            f"{len(data):,} situations, {columns} columns: one thread {one:.2f} s, two on blocks "
            f"{blocks:.2f} s ({one / blocks:.2f} times faster), two in BLAS {inside:.2f} s"
        )
    return "\n".join(lines)


# -- Report ----------------------------------------------------------------------------------------


def report(runs: Sequence[Scale]) -> str:
    """A table, and whether the aims are met."""
    head = (
        f"{'situations':>11} {'mode':>5} {'read s':>7} {'space s':>8} {'specify s':>10} "
        f"{'cpu s':>7} {'bare s':>7} {'in bare':>8} {'passes':>7} {'rows/s':>10} {'peak GB':>8}"
    )
    lines = [head, "-" * len(head)]
    for one in runs:
        rate = one.n * len(one.passes) / one.seconds
        lines.append(
            f"{one.n:>11,} {one.mode:>5} {one.read:>7.1f} {one.space:>8.1f} {one.seconds:>10.1f} "
            f"{one.cpu:>7.1f} {one.bare:>7.2f} {one.cpu / one.bare:>8.0f} "
            f"{len(one.passes):>7} {rate:>10,.0f} {one.peak_gb:>8.2f}"
        )
    by = {(one.n, one.mode): one for one in runs}
    for n in sorted({one.n for one in runs}):
        few, full = by.get((n, "few")), by.get((n, "full"))
        if few and full:
            same = "the same specification" if few.terms == full.terms else "ANOTHER SPECIFICATION"
            lines.append(
                f"{n:,}: few passes {full.cpu / few.cpu:.1f} times faster than full ones, by the "
                f"clock {full.seconds / few.seconds:.1f} times (wanted {FASTER:g}), {same}"
            )
    largest = max((one for one in runs if one.mode == "few"), key=lambda one: one.n)
    lines.append(f"peak memory {largest.peak_gb:.2f} GB at {largest.n:,} (wanted < {MEMORY_GB:g})")
    few_runs = sorted((one for one in runs if one.mode == "few"), key=lambda one: one.n)
    for a, b in pairwise(few_runs):
        lines.append(
            f"from {a.n:,} to {b.n:,}: {b.n / a.n:g} times the rows, "
            f"{b.cpu / a.cpu:.1f} times the time of specify, "
            f"{b.bare / a.bare:.1f} times that of a bare pass"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="*")
    parser.add_argument("--most-full", type=int, default=MOST_FULL)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--threads", type=Path, help="a folder that this script has written")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--mode", choices=["few", "full"], default="few")
    asked = parser.parse_args()
    if asked.run:
        print(json.dumps(asdict(run(asked.run, asked.mode))))
        return
    if asked.threads:
        print(compare_threads(asked.threads))
        return
    sizes = asked.sizes or (QUICK_SIZES if asked.quick else SIZES)
    with tempfile.TemporaryDirectory() as temporary:
        runs = []
        for n in sizes:
            path = (asked.folder or Path(temporary)) / f"choices-{n}"
            if not path.exists():
                write_table(path, n)
            for mode in ("few", "full") if n <= asked.most_full else ("few",):
                runs.append(run_apart(path, mode))
                print(report(runs), flush=True)
    free = free_memory()
    print(f"({'?' if free is None else f'{free / 1e9:.0f}'} GB of memory were free)")
    if asked.out:
        asked.out.write_text(json.dumps([asdict(one) for one in runs], indent=1))


if __name__ == "__main__":
    main()
