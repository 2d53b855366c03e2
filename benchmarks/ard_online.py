"""Relevance: updating January with February, compared with fitting both months together.

`python benchmarks/ard_online.py [--quick]`: draws of S2, each split in two halves by person, in a
space of 36 terms and in the medium one. With λ of all terms given (a ridge) and with λ optimised
again; keeping all rows of January, a fifth of them, or none. Distances are between posterior
means, in posterior standard deviations of fitting both together (where a term is active in one of
the two only, of that one), over every coefficient active in either.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import ardchoice as ac
from ard import draw
from ardchoice._types import Floats
from ardchoice.space import SearchSpace

DRAWS = {"small": 8, "medium": 8}
QUICK_DRAWS = {"small": 1}
REMEMBERED = (1.0, 0.2, 0.0)
TENTH = 0.1
RIDGE = ac.Prior(common=True, fixed=0.5)


@dataclass(frozen=True, eq=False)
class Going:
    """One draw: distances of all coefficients active.

    `rows` passed over, of January and February, and `cpu` are relative to both together;
    `drawing` is the time of choosing what to remember, likewise.
    """

    space: str
    prior: str
    remembered: float
    distances: Floats
    rows: float
    cpu: float
    drawing: float


def distances(on: ac.ArdFit, both: ac.ArdFit) -> Floats:
    """Between the means of every coefficient active in either fit."""
    a, b = on.coefficients(), both.coefficients()
    sd = np.where(b["sd"] > 0, b["sd"], a["sd"])
    moved = np.abs(a["mean"].to_numpy() - b["mean"].to_numpy())
    return np.asarray(moved[sd > 0] / sd[sd > 0])


def going_on(data: ac.ChoiceData, space: SearchSpace, name: str, prior: ac.Prior) -> list[Going]:
    """Both ways on one draw, with more and less remembered."""
    january, february = data.split(0.5, seed=3)
    first = ac.fit_ard(january, space, prior=prior)
    started = time.process_time()
    both = ac.fit_ard(data, space, prior=prior)
    whole = time.process_time() - started
    out = []
    for share in REMEMBERED:
        started = time.process_time()
        memory = first.memory(share)
        drawn = time.process_time()
        on = ac.fit_ard(february, space, prior=prior, previous=memory)
        ended = time.process_time()
        rows = on.passes * len(february) + on.revisited
        out.append(
            Going(
                name,
                "given" if prior.fixed is not None else "optimised",
                share,
                distances(on, both),
                rows / (both.passes * len(data)),
                (ended - drawn) / whole,
                (drawn - started) / whole,
            )
        )
    return out


def show(rows: Sequence[Going]) -> None:
    """The table, in 80 columns, over the draws of a space, a prior and a share."""
    head = f"{'space':8}{'λ':>10}{'kept':>6}{'draws':>7}{'within 0.1':>12}{'furthest':>10}"
    head += f"{'rows':>7}{'most':>6}{'CPU':>6}{'draw':>6}"
    print(f"{head}\n{'-' * len(head)}")
    for key in dict.fromkeys((r.space, r.prior, r.remembered) for r in rows):
        these = [r for r in rows if (r.space, r.prior, r.remembered) == key]
        every = np.concatenate([r.distances for r in these])
        passed = [r.rows for r in these]
        print(
            f"{key[0]:8}{key[1]:>10}{key[2]:6.0%}{len(these):7}{np.mean(every < TENTH):12.1%}"
            f"{every.max():10.3f}{np.mean(passed):7.2f}{max(passed):6.2f}"
            f"{np.median([r.cpu for r in these]):6.2f}"
            f"{np.median([r.drawing for r in these]):6.2f}"
        )
    print("Coefficients within 0.1 standard deviations of fitting both together, and the")
    print("furthest, by the rows of January that are kept. Rows passed over in either month")
    print("(mean and most) and CPU time (median), relative to both together; and the time")
    print("of drawing the rows that are kept.")


def main(arguments: Sequence[str] | None = None) -> list[Going]:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one draw, the small space")
    options = parser.parse_args(arguments)
    rows = []
    for name, draws in (QUICK_DRAWS if options.quick else DRAWS).items():
        for prior in (RIDGE, ac.Prior()):
            for seed in range(draws):
                data, space = draw("S2", seed, "medium")
                if name == "small":
                    space = ac.SearchSpace(data, ["linear", "log1p"], by=["GA"], base="CAR")
                rows += going_on(data, space, name, prior)
    show(rows)
    return rows


if __name__ == "__main__":
    main()
