"""Relevance: how often the p-value of a term that is noise falls below 1, 5 and 10 %.

`python benchmarks/ard_calibration.py [--quick]`: 2,000 noise terms (200 with --quick) of each of 1,
2, 5 and 10 columns, forty at a time beside an attribute that matters, 4,000 situations. The rates
should be the levels, within three standard errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.space import SearchSpace

COLUMNS = (1, 2, 5, 10)
LEVELS = (0.01, 0.05, 0.10)
TERMS, QUICK_TERMS, AT_A_TIME = 2000, 200, 40
SITUATIONS = 4000
ERRORS = 3


@dataclass(frozen=True)
class Rate:
    """How often noise terms of some size had a p-value below a level."""

    columns: int
    terms: int
    level: float
    rate: float

    @property
    def standard_error(self) -> float:
        """Of the rate, were the p-values uniform."""
        return float(np.sqrt(self.level * (1 - self.level) / self.terms))

    @property
    def errors(self) -> float:
        """By how many standard errors the rate is off."""
        return (self.rate - self.level) / self.standard_error


def noise(columns: int, seed: int) -> tuple[ac.ChoiceData, SearchSpace]:
    """Two alternatives, one attribute that matters, and covariates that do not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, SITUATIONS))
    values = {"x_a": x[0], "x_b": x[1]}
    values["pick"] = np.where(x[0] - x[1] + rng.logistic(size=SITUATIONS) > 0, 1, 2)
    names = [f"g{i}" for i in range(AT_A_TIME)]
    values |= {name: rng.integers(0, columns + 1, SITUATIONS) for name in names}
    data = ac.read_wide(
        pd.DataFrame(values),
        alternatives={"a": 1, "b": 2},
        choice="pick",
        attributes={"x": "x_{alt}"},
        covariates={name: ac.Categorical() for name in names},
    )
    add = ["a: ASC", *(f"a: ASC x {name}" for name in names)]
    return data, ac.SearchSpace(data, base="b", generic=True, specific=False, add=add)


def p_values(columns: int, terms: int) -> list[float]:
    """Of so many noise terms."""
    out: list[float] = []
    for draw in range(terms // AT_A_TIME):
        data, space = noise(columns, 1000 * columns + draw)
        frame = ac.fit_ard(data, space).relevance()
        out += frame.loc[frame["term"].str.contains(" x g"), "p_value"].tolist()
    return out


def show(rows: Sequence[Rate]) -> None:
    """The table, and the verdict."""
    head = f"{'columns':>8}{'terms':>7}{'level':>8}{'rate':>9}{'3 errors':>10}{'off by':>14}"
    print(f"{head}\n{'-' * len(head)}")
    for r in rows:
        print(
            f"{r.columns:8}{r.terms:7}{r.level:8.2f}{r.rate:9.4f}"
            f"{ERRORS * r.standard_error:10.4f}{r.errors:8.2f} errors"
        )
    within = sum(abs(r.errors) <= ERRORS for r in rows)
    print(f"Within three standard errors in {within} of {len(rows)}.")


def main(arguments: Sequence[str] | None = None) -> list[Rate]:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 terms of each size")
    options = parser.parse_args(arguments)
    rows = []
    for columns in COLUMNS:
        p = np.array(p_values(columns, QUICK_TERMS if options.quick else TERMS))
        rows += [Rate(columns, len(p), level, float(np.mean(p < level))) for level in LEVELS]
    show(rows)
    return rows


if __name__ == "__main__":
    main()
