"""Relevance: how fast the solvers are, and what evidence they reach.

`python benchmarks/ard.py [--quick] [--seeds N] [--out FILE.json]`: one run, one table. Times are in
units of one dense Gram pass X'WX over the same data as well as in seconds; look at the ratios.
Without --quick the published schedule of 400,000 steps is run in full (minutes), and so is the
extreme space of 3,000 columns.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import ardchoice as ac
from ardchoice.ard.dsvi import DsviPaper
from ardchoice.ard.evidence import laplace_evidence
from ardchoice.numerics import single_blas_thread
from ardchoice.space import SearchSpace
from ardchoice.space.published import Size

QUICK_STEPS = 4_000
SHRUNK = ac.Prior(shrink_constants=True)  # as the paper does, so that all solvers fit one model


@dataclass(frozen=True)
class Timing:
    """One solver on one data set."""

    space: str
    specification: str
    seed: int
    solver: str
    seconds: float
    gram_units: float
    log_evidence: float
    active: int
    converged: bool
    note: str = ""


def gram_seconds(rows: int, columns: int, repeats: int) -> float:
    """One dense X'WX on one thread, best of several."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((rows, columns)), rng.random(rows)
    best = np.inf
    with single_blas_thread():
        for _ in range(repeats):
            start = time.perf_counter()
            (x.T * w) @ x
            best = min(best, time.perf_counter() - start)
    return best


def draw(specification: str, seed: int, size: Size) -> tuple[ac.ChoiceData, SearchSpace]:
    """Semi-artificial choices and a published space."""
    noise_to = 1000 if size == "extreme" else None
    data = ac.datasets.swissmetro_choices(noise_to=noise_to)
    truth = ac.datasets.swissmetro_specification(specification)
    data = ac.simulate_choices(data, truth, seed=seed)
    return data, ac.swissmetro_space(data, size)


def measure(
    data: ac.ChoiceData,
    space: SearchSpace,
    solver: ac.Newton | ac.Dsvi | DsviPaper,
    gram: float,
    about: tuple[str, str, int],
) -> Timing:
    """Run a solver once and say what it cost and reached."""
    start = time.perf_counter()
    fit = ac.fit_ard(data, space, solver=solver, prior=SHRUNK)
    seconds = time.perf_counter() - start
    note = ""
    if isinstance(solver, DsviPaper) and solver.steps < DsviPaper.steps:
        whole = seconds * DsviPaper.steps / solver.steps
        note = f"{solver.steps:,} steps; in full about {whole:.0f} s"
    evidence = laplace_evidence(fit)
    active = int((fit.lam > 0.002).sum())
    return Timing(
        *about, solver.name, seconds, seconds / gram, evidence, active, fit.converged, note
    )


def show(rows: list[Timing]) -> None:
    """The table, in 80 columns."""
    names = f"{'space':8}{'spec':>5}{'seed':>5}  {'solver':28}"
    head = f"{names}{'seconds':>9}{'Grams':>8}{'evidence':>11}"
    print(f"{head}\n{'-' * len(head)}")
    for r in rows:
        print(
            f"{r.space:8}{r.specification:>5}{r.seed:>5}  {r.solver:28}{r.seconds:9.2f}"
            f"{r.gram_units:8.1f}{r.log_evidence:11.2f}"
        )
        if r.note or not r.converged:
            print(f"{'':20}{r.note or 'did not converge'}")
    print("Grams: in units of one dense X'WX over the same data. Evidence: Laplace, at the")
    print("solver's λ, all solvers with constants shrunk; evaluated the same way for all.")


def main() -> None:
    """Run, print, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows: list[Timing] = []
    specifications = ["S2"] if options.quick else [f"S{i}" for i in range(1, 7)]
    for specification in specifications:
        for seed in range(options.seeds):
            data, space = draw(specification, seed, "medium")
            gram = gram_seconds(len(data), space.n_columns, 5)
            steps = QUICK_STEPS if options.quick else DsviPaper.steps
            for solver in (ac.Newton(), ac.Dsvi(seed=seed), ac.Dsvi.paper(steps=steps, seed=seed)):
                rows.append(measure(data, space, solver, gram, ("medium", specification, seed)))
    sizes: list[Size] = ["large"] if options.quick else ["large", "extreme"]
    for size in sizes:
        data, space = draw("S2", 0, size)
        gram = gram_seconds(len(data), space.n_columns, 1 if size == "extreme" else 3)
        rows.append(measure(data, space, ac.Newton(), gram, (size, "S2", 0)))
    show(rows)
    if options.out:
        options.out.write_text(json.dumps([asdict(r) for r in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
