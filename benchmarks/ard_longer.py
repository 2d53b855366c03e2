"""Relevance: what ten times more epochs change after `Dsvi()` said that it has converged.

`python benchmarks/ard_longer.py [--quick]`: 50 small data sets of 500 to 1,500 situations, half of
them made up (26 candidates, a few of which matter), half of them some Swissmetro travellers who
choose by S2 (36 candidates, near twins among them: an attribute and its logarithm). A decision is
whether λ of a term is above the line at which the paper keeps it. The longer run has the same seed
and does not stop before its epochs are over.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.ard.fit import PAPER_LAMBDA_CUTOFF
from ardchoice.space import SearchSpace

DATA_SETS, QUICK_DATA_SETS = 50, 2
LONGER = 10
NEVER = 10**9
ALTERNATIVES = ("a", "b", "c")
ATTRIBUTES = ("p", "q", "r", "s")
MATTER = 4
"""How many of the coefficients of attributes differ from zero."""


@dataclass(frozen=True)
class Longer:
    """One data set: the epochs of both runs, and the terms decided otherwise, with both λ."""

    seed: int
    n_situations: int
    converged: bool
    epochs: int
    changed: tuple[tuple[str, float, float], ...]


def simulate(seed: int) -> tuple[ac.ChoiceData, SearchSpace]:
    """Made up for even seeds, Swissmetro travellers for odd ones."""
    return some_travellers(seed) if seed % 2 else made_up(seed)


def some_travellers(seed: int) -> tuple[ac.ChoiceData, SearchSpace]:
    """Some persons with all their answers, new choices, and attributes in two forms."""
    rng = np.random.default_rng(seed)
    truth = ac.datasets.swissmetro_specification("S2")
    data = ac.simulate_choices(ac.datasets.swissmetro_choices(), truth, seed=seed)
    if data.person is None:
        raise ValueError("Swissmetro has persons")
    people = rng.permutation(np.unique(data.person))
    each = len(data) // len(people)
    some = people[: rng.integers(500, 1501) // each]
    data = data.take(np.flatnonzero(np.isin(data.person, some)))
    return data, ac.SearchSpace(data, ["linear", "log1p"], by=["GA"], base="CAR")


def made_up(seed: int) -> tuple[ac.ChoiceData, SearchSpace]:
    """Correlated attributes, a two-level covariate, a sparse truth, logit choices."""
    rng = np.random.default_rng(seed)
    n, j = int(rng.integers(500, 1501)), len(ALTERNATIVES)
    values = rng.normal(size=(len(ATTRIBUTES), j, n))
    values += rng.uniform(0, 1) * rng.normal(size=(1, j, n))
    group = rng.integers(0, 2, n)
    beta, by_group = np.zeros((2, len(ATTRIBUTES), j))
    for which in rng.choice(beta.size, MATTER, replace=False):
        beta.flat[which] = rng.choice([-1, 1]) * rng.uniform(0.1, 1.0)
    by_group.flat[rng.integers(beta.size)] = rng.uniform(0.2, 0.8)
    utility = np.einsum("ka,kan->an", beta, values)
    utility += np.einsum("ka,kan->an", by_group, values) * group + rng.gumbel(size=(j, n))
    table = pd.DataFrame({"group": group, "pick": utility.argmax(axis=0)})
    for k, attribute in enumerate(ATTRIBUTES):
        for a, alternative in enumerate(ALTERNATIVES):
            table[f"{attribute}_{alternative}"] = values[k, a]
    data = ac.read_wide(
        table,
        alternatives={alternative: a for a, alternative in enumerate(ALTERNATIVES)},
        choice="pick",
        attributes={attribute: f"{attribute}_{{alt}}" for attribute in ATTRIBUTES},
        covariates={"group": ac.Categorical()},
    )
    return data, ac.SearchSpace(data, by=["group"], base="c")


def compare(seed: int) -> Longer:
    """A run until it stops itself, and one ten times as long."""
    data, space = simulate(seed)
    solver = ac.Dsvi(seed=seed)
    fit = ac.fit_ard(data, space, solver=solver)
    epochs = len(fit.trace)
    on = replace(solver, quiet=NEVER, max_epochs=LONGER * epochs)
    longer = ac.fit_ard(data, space, solver=on)
    other = np.flatnonzero((fit.lam > PAPER_LAMBDA_CUTOFF) != (longer.lam > PAPER_LAMBDA_CUTOFF))
    changed = tuple(
        (str(space.terms[i]), float(fit.lam[i]), float(longer.lam[i])) for i in other.tolist()
    )
    return Longer(seed, len(data), fit.converged, epochs, changed)


def show(rows: Sequence[Longer]) -> None:
    """What changed, and the count."""
    for r in rows:
        for term, before, after in r.changed:
            said = "" if r.converged else " (had not converged)"
            print(f"data set {r.seed:2}: {term:16} λ {before:.5f} -> {after:.5f}{said}")
    done = [r for r in rows if r.converged]
    same = sum(not r.changed for r in done)
    epochs = [r.epochs for r in rows]
    print(f"Converged in {len(done)} of {len(rows)}, after {min(epochs)} to {max(epochs)} epochs.")
    print(f"Ten times longer changed no decision in {same} of {len(done)}.")


def main(arguments: Sequence[str] | None = None) -> list[Longer]:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two data sets")
    options = parser.parse_args(arguments)
    rows = [compare(seed) for seed in range(QUICK_DATA_SETS if options.quick else DATA_SETS)]
    show(rows)
    return rows


if __name__ == "__main__":
    main()
