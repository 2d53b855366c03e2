"""Honest inference: how often 95 % intervals of selected noise terms cover zero.

`python benchmarks/honest.py [--quick] [--sets N]` simulates data sets in which most candidates are
noise, selects with a penalty loose enough to let some of it in, and counts how often the interval
of a selected noise coefficient covers zero: on the persons that selected it, and on the others.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd

import ardchoice as ac

SITUATIONS, NOISE = 2400, 8
LOOSE = ac.Bic(weight=0.3)
"""About AIC: noise terms get in."""


@dataclass(frozen=True)
class Coverage:
    """Selected noise coefficients, and how many intervals cover zero on either half."""

    selected: int
    selecting: int
    estimating: int

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.selected + other.selected,
            self.selecting + other.selecting,
            self.estimating + other.estimating,
        )


def simulate(seed: int) -> ac.ChoiceData:
    """Three alternatives, two real attributes and noise; each person answers once."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(index=range(SITUATIONS))
    utility = rng.gumbel(size=(SITUATIONS, 3))
    for j, name in enumerate("ABC"):
        for attribute in ("time", "cost", *(f"noise{i}" for i in range(NOISE))):
            frame[f"{attribute}_{name}"] = rng.standard_normal(SITUATIONS)
        utility[:, j] -= 0.8 * frame[f"time_{name}"] + 0.5 * frame[f"cost_{name}"]
    frame["choice"] = np.array(list("ABC"))[utility.argmax(axis=1)]
    attributes = ("time", "cost", *(f"noise{i}" for i in range(NOISE)))
    return ac.read_wide(
        frame,
        alternatives=list("ABC"),
        choice="choice",
        attributes={name: name + "_{alt}" for name in attributes},
    )


def cover(seed: int) -> Coverage:
    """Select on one half, look at both."""
    data = simulate(seed)
    study = ac.specify(data, ac.SearchSpace(data), rule=LOOSE, honest=True, seed=seed)
    if study.selection_result is None:
        raise AssertionError("an honest study has estimates of both halves")
    noise = [name for name in study.result.names if ": noise" in name]

    def covered(result: ac.Result) -> int:
        frame = result.to_frame().loc[noise]
        return int(((frame["low"] <= 0) & (frame["high"] >= 0)).sum())

    return Coverage(len(noise), covered(study.selection_result), covered(study.result))


def main(arguments: list[str] | None = None) -> Coverage:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", type=int, default=200)
    options = parser.parse_args(arguments)
    sets = 5 if options.quick else options.sets
    total = sum((cover(seed) for seed in range(sets)), Coverage(0, 0, 0))
    error = np.sqrt(0.95 * 0.05 / max(total.selected, 1))
    print(f"{sets} data sets, {total.selected} noise coefficients selected")
    print(f"95 % intervals that cover zero (± {error:.1%} by chance):")
    if total.selected:
        print(f"  persons that selected them  {total.selecting / total.selected:6.1%}")
        print(f"  the other persons           {total.estimating / total.selected:6.1%}")
    return total


if __name__ == "__main__":
    main()
