"""Relevance: going on with February after January, beside fitting both months together.

`python benchmarks/ard_online.py [--quick]`: draws of S2, each split in two halves by person, in a
space of 36 terms and in the medium one. With λ of all terms given (a ridge) and with λ optimised
anew. Distances are between posterior means, in posterior standard deviations, constants aside;
"matter" are terms whose loss costs three units of log evidence.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import ardchoice as ac
from ard import draw
from ardchoice.logit.block import Floats
from ardchoice.space import SearchSpace

DRAWS = {"small": 8, "medium": 4}
QUICK_DRAWS = {"small": 1}
TENTH = 0.1
MATTERS = 3.0
RIDGE = ac.Prior(common=True, fixed=0.5)


@dataclass(frozen=True, eq=False)
class Going:
    """One draw: distances of all coefficients in play, and of those of terms that matter.

    `rows` passed over and `seconds` are of February after January, relative to both together.
    """

    space: str
    prior: str
    distances: Floats
    matter: Floats
    rows: float
    seconds: float


def going_on(data: ac.ChoiceData, space: SearchSpace, name: str, prior: ac.Prior) -> Going:
    """Both ways on one draw."""
    january, february = data.split(0.5, seed=3)
    first = ac.fit_ard(january, space, prior=prior)
    on = ac.fit_ard(february, space, prior=prior, previous=first)
    both = ac.fit_ard(data, space, prior=prior)
    a, b = on.coefficients(), both.coefficients()
    sd = np.maximum(a["sd"].to_numpy(), b["sd"].to_numpy())
    moved = np.abs(a["mean"].to_numpy() - b["mean"].to_numpy())
    # A constant takes up how columns were centred, which each fit does by its own data.
    shown = (sd > 0) & np.array([not c.endswith("ASC") for c in b.index])
    lost = both.relevance()["evidence"].to_numpy()
    matter = np.repeat(lost > MATTERS, [t.n_columns for t in both.encoding.terms])
    distance = np.divide(moved, sd, out=np.zeros_like(sd), where=sd > 0)
    return Going(
        name,
        "given" if prior.fixed is not None else "optimised",
        distance[shown],
        distance[shown & matter],
        on.passes * len(february) / (both.passes * len(data)),
        on.seconds / both.seconds,
    )


def show(rows: Sequence[Going]) -> None:
    """The table, in 80 columns, over the draws of a space and a prior."""
    head = f"{'space':8}{'λ':>10}{'draws':>7}{'within 0.1':>12}{'furthest':>10}"
    head += f"{'matter':>9}{'furthest':>10}{'rows':>7}{'time':>6}"
    print(f"{head}\n{'-' * len(head)}")
    for key in dict.fromkeys((r.space, r.prior) for r in rows):
        these = [r for r in rows if (r.space, r.prior) == key]
        every, matter = (
            np.concatenate([getattr(r, name) for r in these]) for name in ("distances", "matter")
        )
        print(
            f"{key[0]:8}{key[1]:>10}{len(these):7}{np.mean(every < TENTH):12.0%}{every.max():10.2f}"
            f"{np.mean(matter < TENTH):9.0%}{matter.max():10.2f}"
            f"{np.mean([r.rows for r in these]):7.2f}{np.median([r.seconds for r in these]):6.2f}"
        )
    print("Coefficients within 0.1 standard deviations and the furthest: of all in play,")
    print("of terms that matter. Rows passed over and time: relative to both together.")


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
                rows.append(going_on(data, space, name, prior))
    show(rows)
    return rows


if __name__ == "__main__":
    main()
