"""Latent classes on simulated persons: how often their number and membership are found.

    python benchmarks/classes.py [--quick]

1 to 4 separated classes; membership depends on some of six covariates of the person.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.data import ChoiceData

PERSONS, CHOICES, COVARIATES = 400, 8, 6
LEAST_APART = 2.0
"""Distance between the tastes of any two classes, in units of utility."""
TASTES, ALTERNATIVES = 3, 3


@dataclass(frozen=True)
class ClassSample:
    """Simulated choices, the number of classes, and the covariates that membership depends on."""

    data: ChoiceData
    classes: int
    membership: frozenset[str]


def draw_sample(seed: int, classes: int, *, depends: bool) -> ClassSample:
    """Choices of persons of some classes, each with at least a tenth of them."""
    rng = np.random.default_rng(seed)
    tastes = _separated(rng, classes)
    binary = rng.integers(0, 2, (COVARIATES - 2, PERSONS)).astype(float)
    z = np.vstack([binary, rng.normal(size=(2, PERSONS))])
    n_used = 2 if depends and classes > 1 else 0
    used = rng.choice(COVARIATES, n_used, replace=False).tolist()
    eta = np.zeros((classes, PERSONS))
    for k in used:
        slope = rng.choice([-1.0, 1.0], classes) * rng.uniform(0.8, 1.6, classes)
        slope[0] = -slope[1] if classes > 1 else 0.0
        eta += slope[:, None] * (z[k] - z[k].mean())
    share = np.exp(eta) / np.exp(eta).sum(axis=0)
    member = np.array([rng.choice(classes, p=p) for p in share.T])
    person = np.repeat(np.arange(PERSONS), CHOICES)
    x = rng.normal(size=(TASTES, ALTERNATIVES, len(person)))
    v = np.einsum("nk,kjn->jn", tastes[member][person], x)
    names = np.array([f"A{j}" for j in range(ALTERNATIVES)])
    table = pd.DataFrame(
        {f"{name}_x{k}": x[k, j] for j, name in enumerate(names) for k in range(TASTES)}
    )
    table["choice"] = names[(v + rng.gumbel(size=v.shape)).argmax(axis=0)]
    table["who"] = person
    for k, values in enumerate(z):
        table[f"z{k}"] = values[person]
    table[[f"z{k}" for k in range(4)]] = table[[f"z{k}" for k in range(4)]].astype(int)
    data = ac.read_wide(
        table,
        alternatives=list(names),
        choice="choice",
        attributes={f"x{k}": f"{{alt}}_x{k}" for k in range(TASTES)},
        covariates={
            f"z{k}": ac.Categorical() if k < COVARIATES - 2 else ac.Numeric()
            for k in range(COVARIATES)
        },
        person="who",
    )
    return ClassSample(data, classes, frozenset(f"z{k}" for k in used))


def _separated(rng: np.random.Generator, classes: int) -> Floats:
    """Tastes with a least distance between classes; shape (Q, K)."""
    while True:
        tastes = rng.normal(0, 1.5, (classes, TASTES))
        apart = [np.linalg.norm(a - b) for i, a in enumerate(tastes) for b in tastes[:i]]
        if min(apart, default=LEAST_APART) >= LEAST_APART:
            return np.asarray(tastes)


def main() -> None:
    """Print how often the number was right, and precision and recall of covariates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", type=int, default=30)
    asked = parser.parse_args()
    count = 3 if asked.quick else asked.sets
    spec = "*: " + " + ".join(f"x{k}" for k in range(TASTES))
    right = found = true = common = 0
    started = time.process_time()
    for seed in range(count):
        sample = draw_sample(seed, 1 + seed % 4, depends=seed % 2 == 1 or seed % 4 == 2)
        family = ac.LatentClass(None, membership="auto")
        fitted = ac.fit(sample.data, spec, family=family).family
        number = getattr(fitted, "classes", 1)
        selected = frozenset(fitted.covariates)
        right += number == sample.classes
        found, true = found + len(selected), true + len(sample.membership)
        common += len(selected & sample.membership)
        if number != sample.classes or selected != sample.membership:
            print(
                f"    set {seed}: {sample.classes} classes by {sorted(sample.membership)} -> "
                f"{number} by {sorted(selected)}",
                flush=True,
            )
    seconds = (time.process_time() - started) / count
    print(
        f"number of classes right in {right} of {count}; covariates: precision "
        f"{common / max(found, 1):.2f}, recall {common / max(true, 1):.2f}; {seconds:.1f} s each"
    )


if __name__ == "__main__":
    main()
