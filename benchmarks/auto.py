"""How often `family="auto"` picks the family that drew the choices, and what it says of real ones.

    python benchmarks/auto.py [--quick] [--sets 10] [--real] [--electricity FILE]

Multinomial, nested, mixed and latent class logits draw the choices of persons among four
alternatives, with two attributes and constants. `--real`: the real Swissmetro choices, with terms
selected by `specify`; `--electricity`: a file of the Electricity data of R's mlogit, long.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice._types import Floats, Ints
from ardchoice.data import ChoiceData
from nest_search import nested_errors

PERSONS, CHOICES = 300, 8
NAMES = np.array(["A", "B", "C", "D"])
SPECIFICATION = "B: ASC\nC: ASC\nD: ASC\n*: t + c"
MEANS = np.array([-1.0, -0.8])


def multinomial(rng: np.random.Generator, x: Floats, person: Ints) -> Floats:
    """The same tastes for everybody, independent errors; utilities (J, N)."""
    return np.asarray(np.tensordot(MEANS, x, 1) + rng.gumbel(size=x.shape[1:]))


def nested(rng: np.random.Generator, x: Floats, person: Ints) -> Floats:
    """A nest of two or three alternatives."""
    members = rng.permutation(4)[: rng.integers(2, 4)]
    groups = [([int(j) for j in members], float(rng.uniform(1.7, 3.0)))]
    return np.asarray(np.tensordot(MEANS, x, 1) + nested_errors(rng, groups, 4, x.shape[2]))


def mixed(rng: np.random.Generator, x: Floats, person: Ints) -> Floats:
    """Normal tastes: of both attributes, or of one and a constant."""
    tastes = np.repeat(MEANS[:, None], PERSONS, axis=1)
    tastes[0] += rng.uniform(0.8, 1.5) * rng.normal(size=PERSONS)
    v = rng.gumbel(size=x.shape[1:])
    if rng.random() < 0.5:
        tastes[1] += rng.uniform(0.6, 1.2) * rng.normal(size=PERSONS)
    else:
        v[rng.integers(1, 4)] += (rng.uniform(1.0, 2.0) * rng.normal(size=PERSONS))[person]
    return np.asarray(v + np.einsum("kn,kjn->jn", tastes[:, person], x))


def latent(rng: np.random.Generator, x: Floats, person: Ints) -> Floats:
    """Two or three separated classes."""
    tastes = np.array([[-2.2, -0.3], [-0.2, -2.2], [0.9, 0.2]])[: rng.integers(2, 4)]
    share = np.array([0.45, 0.3, 0.25])[: len(tastes)]
    member = rng.choice(len(tastes), PERSONS, p=share / share.sum())
    v = np.einsum("nk,kjn->jn", tastes[member[person]], x)
    return np.asarray(v + rng.gumbel(size=v.shape))


FAMILIES: dict[str, Callable[[np.random.Generator, Floats, Ints], Floats]] = {
    "mnl": multinomial,
    "nested": nested,
    "mixed": mixed,
    "latent": latent,
}


def draw_sample(family: str, seed: int) -> ChoiceData:
    """Choices that a family draws."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    person = np.repeat(np.arange(PERSONS), CHOICES)
    x = rng.normal(size=(2, len(NAMES), len(person)))
    utility = FAMILIES[family](rng, x, person)
    utility += np.array([0.0, 0.4, -0.3, 0.2])[:, None]
    table = pd.DataFrame(
        {f"{name}_{what}": x[k, j] for j, name in enumerate(NAMES) for k, what in enumerate("tc")}
    )
    table["choice"], table["who"] = NAMES[utility.argmax(axis=0)], person
    return ac.read_wide(
        table,
        alternatives=list(NAMES),
        choice="choice",
        attributes={"t": "{alt}_t", "c": "{alt}_c"},
        person="who",
    )


def simulated(sets: int) -> None:
    """Print how often the family that drew the choices is picked."""
    right = count = 0
    for family in FAMILIES:
        started, hits = time.process_time(), 0
        for seed in range(sets):
            found = ac.compare_families(draw_sample(family, seed), SPECIFICATION, folds=0)
            hits += found.selected == family
            if found.selected != family:
                bics = {one.tag: round(one.bic, 1) for one in found.families}
                print(f"    {family} {seed} -> {found.selected}: {bics} {found.notes}", flush=True)
        seconds = (time.process_time() - started) / sets
        print(f"{family}: {hits} of {sets}, {seconds:.1f} s each", flush=True)
        right, count = right + hits, count + sets
    print(f"in all: {right} of {count}")


def real() -> None:
    """The real Swissmetro choices."""
    data = ac.datasets.swissmetro_choices("real")
    space = ac.swissmetro_space(data, "medium")
    started = time.process_time()
    study = ac.specify(data, space, family="auto")
    print(f"Swissmetro, {len(study.specification)} terms of `specify`")
    print(study.families)
    print(f"{time.process_time() - started:.0f} s in all", flush=True)


def electricity(file: str) -> None:
    """The Electricity data: 4,308 choices of 361 persons."""
    table = pd.read_csv(file)
    table["chosen"] = (table["choice"].astype(str).str.lower().isin(["true", "1"])).astype(int)
    names = ["pf", "cl", "loc", "wk", "tod", "seas"]
    data = ac.read_long(
        table,
        situation="chid",
        alternative="alt",
        chosen="chosen",
        attributes=names,
        person="id",
    )
    print("Electricity")
    print(ac.compare_families(data, f"*: {' + '.join(names)}"), flush=True)


def main() -> None:
    """Print everything that was asked for."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one set of each family")
    parser.add_argument("--sets", type=int, default=10, help="of each family")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--electricity", metavar="FILE")
    asked = parser.parse_args()
    sets = 1 if asked.quick else asked.sets
    if sets:
        simulated(sets)
    if asked.real:
        real()
    if asked.electricity:
        electricity(asked.electricity)


if __name__ == "__main__":
    main()
