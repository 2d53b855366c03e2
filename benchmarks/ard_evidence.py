"""Relevance: the ELBO that `Newton()` reaches, compared with the published schedule.

`python benchmarks/ard_evidence.py [--quick] [--cache DIR]`: the published 400,000 steps in full on
20 draws of S1 to S6, medium space, half a minute and more each; λ of every run are saved in DIR, so
that an interrupted run can be resumed. Both are evaluated the same way: the ELBO that both
maximise, and the log evidence, by Laplace, at the posterior mode that belongs to the λ. The
published run is given the better of two readings: all its λ, of which none is ever exactly zero, or
only those above its cutoff. Also `Newton(posterior="full")`, which maximises the evidence.

Then, on the first draw of S2, λ of all three.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import ardchoice as ac
from ard import QUICK_STEPS, SHRUNK, draw
from ardchoice._types import Floats
from ardchoice.ard.dsvi import DsviPaper
from ardchoice.ard.evidence import laplace_evidence
from ardchoice.ard.fit import PAPER_LAMBDA_CUTOFF
from ardchoice.ard.quadratic import Kind
from ardchoice.space import SearchSpace

FULL = ac.Newton(posterior="full")
KINDS: tuple[Kind, ...] = ("diagonal", "full")
SEEDS = {"S1": 4, "S2": 4, "S3": 3, "S4": 3, "S5": 3, "S6": 3}
LARGE = 0.05
"""λ from which solvers are compared."""
NO_LOWER = 1e-3
"""Log evidence that both modes, found to a tolerance, may differ by."""


@dataclass(frozen=True)
class Comparison:
    """By how much ours are higher than the better of the published two, on one draw.

    Attributes
    ----------
    specification, seed
    paper
        The bound of the published λ.
    bound, evidence
        Of `Newton()`, above that.
    full_evidence
        Of `Newton(posterior="full")`, above that.
    """

    specification: str
    seed: int
    paper: float
    bound: float
    evidence: float
    full_evidence: float


def published_lambda(
    data: ac.ChoiceData, space: SearchSpace, steps: int, seed: int, file: Path | None
) -> Floats:
    """λ after the published schedule; from the file if it is there, else kept in it."""
    if file is not None and file.exists():
        with np.load(file) as kept:
            return np.asarray(kept["lam"])
    fit = ac.fit_ard(data, space, solver=ac.Dsvi.paper(steps=steps, seed=seed), prior=SHRUNK)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, lam=fit.lam, mean=fit.mean, sd=fit.sd, seconds=fit.seconds)
    return fit.lam


def compare(specification: str, seed: int, steps: int, cache: Path | None) -> Comparison:
    """Both solvers on one draw."""
    data, space = draw(specification, seed, "medium")
    file = None if cache is None else cache / f"paper_{specification}_{seed}_{steps}.npz"
    paper = published_lambda(data, space, steps, seed, file)
    newton = ac.fit_ard(data, space, prior=SHRUNK)
    full = ac.fit_ard(data, space, solver=FULL, prior=SHRUNK)
    readings = (paper, np.where(paper > PAPER_LAMBDA_CUTOFF, paper, 0.0))
    theirs = {k: max(laplace_evidence(newton, lam, k) for lam in readings) for k in KINDS}
    return Comparison(
        specification,
        seed,
        theirs["diagonal"],
        laplace_evidence(newton, kind="diagonal") - theirs["diagonal"],
        laplace_evidence(newton) - theirs["full"],
        laplace_evidence(full) - theirs["full"],
    )


def agreement(steps: int, cache: Path | None) -> pd.DataFrame:
    """λ of the three on the first draw of S2, where one of them is large; a row per term."""
    data, space = draw("S2", 0, "medium")
    file = None if cache is None else cache / f"paper_S2_0_{steps}.npz"
    frame = pd.DataFrame(
        {
            "paper": published_lambda(data, space, steps, 0, file),
            "newton": ac.fit_ard(data, space, prior=SHRUNK).lam,
            "full": ac.fit_ard(data, space, solver=FULL, prior=SHRUNK).lam,
        },
        index=pd.Index([str(t) for t in space.terms]),
    )
    return frame[frame["paper"] > LARGE].sort_values("paper", ascending=False)


def show_agreement(frame: pd.DataFrame) -> None:
    """The table, in 80 columns, with differences in per cent."""
    print(f"\n{'S2, seed 0':28}{'paper':>9}{'Newton()':>11}{'off by':>9}{'full':>10}{'off by':>9}")
    off = 100 * (frame.to_numpy() / frame[["paper"]].to_numpy() - 1)
    for term, lam, by in zip(frame.index, frame.to_numpy(), off, strict=True):
        print(f"{term:28}{lam[0]:9.4f}{lam[1]:11.4f}{by[1]:8.1f}%{lam[2]:10.4f}{by[2]:8.1f}%")
    print(f"Largest difference of Newton(): {np.abs(off[:, 1]).max():.1f} %.")


def show(rows: Sequence[Comparison]) -> None:
    """The table, in 80 columns."""
    head = f"{'spec':5}{'seed':>5}{'bound, paper':>15}{'Newton()':>11}{'evidence':>11}{'full':>11}"
    print(f"{head}\n{'-' * len(head)}")
    for r in rows:
        print(
            f"{r.specification:5}{r.seed:>5}{r.paper:15.3f}{r.bound:+11.3f}{r.evidence:+11.3f}"
            f"{r.full_evidence:+11.3f}"
        )
    won = sum(r.bound >= -NO_LOWER for r in rows)
    print(f"The bound of Newton() is no lower in {won} of {len(rows)}. Then log evidence, of")
    print('Newton() and of Newton(posterior="full"). Above the published; constants shrunk.')


def main(arguments: Sequence[str] | None = None) -> list[Comparison]:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one draw, few steps")
    parser.add_argument("--cache", type=Path, help="where λ of every published run are kept")
    options = parser.parse_args(arguments)
    if options.quick:
        rows = [compare("S2", 0, QUICK_STEPS // 4, options.cache)]
    else:
        runs = [(s, seed) for seed in range(max(SEEDS.values())) for s in SEEDS if seed < SEEDS[s]]
        rows = []
        for specification, seed in runs:
            rows.append(compare(specification, seed, DsviPaper.steps, options.cache))
            print(f"{rows[-1]}", flush=True)
        rows.sort(key=lambda r: (r.specification, r.seed))
    show(rows)
    if not options.quick:
        show_agreement(agreement(DsviPaper.steps, options.cache))
    return rows


if __name__ == "__main__":
    main()
