"""Nest search on simulated choices: how often it finds the true structure.

    python benchmarks/nest_search.py [--quick]

4 to 8 alternatives, one or two true nests with scales between 1.5 and 3, or none.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import ChoiceData

SITUATIONS = 2_000
SCALES = (1.5, 3.0)


@dataclass(frozen=True)
class NestedSample:
    """Simulated choices and the nests that drew them."""

    data: ChoiceData
    nests: frozenset[frozenset[str]]


def draw_sample(seed: int, n_nests: int, n: int = SITUATIONS) -> NestedSample:
    """Choices of a nested logit with constants and two generic attributes."""
    rng = np.random.default_rng(seed)
    n_alternatives = int(rng.integers(4, 9))
    names = [f"A{j}" for j in range(n_alternatives)]
    groups = _groups(rng, n_alternatives, n_nests)
    x = rng.normal(size=(2, n_alternatives, n))
    v = rng.normal(0, 0.5, n_alternatives)[:, None] + np.tensordot([-1.0, 0.7], x, 1)
    utility = v + nested_errors(rng, groups, n_alternatives, n)
    table = pd.DataFrame(
        {f"{name}_{what}": x[k, j] for j, name in enumerate(names) for k, what in enumerate("tc")}
    )
    table["choice"] = np.array(names)[utility.argmax(axis=0)]
    data = ac.read_wide(
        table, alternatives=names, choice="choice", attributes={"t": "{alt}_t", "c": "{alt}_c"}
    )
    truth = frozenset(frozenset(names[j] for j in group) for group, _ in groups)
    return NestedSample(data, truth)


def _groups(
    rng: np.random.Generator, n_alternatives: int, n_nests: int
) -> list[tuple[list[int], float]]:
    """Disjoint nests of two to four alternatives that leave one alone at least."""
    order, out = list(rng.permutation(n_alternatives)), []
    left = n_alternatives - (1 if n_nests == 1 else 0)
    for k in range(n_nests):
        reserved = 2 * (n_nests - k - 1)
        size = int(rng.integers(2, max(3, min(4, left - reserved) + 1)))
        out.append(([int(j) for j in order[:size]], float(rng.uniform(*SCALES))))
        order, left = order[size:], left - size
    return out


def nested_errors(
    rng: np.random.Generator,
    groups: list[tuple[list[int], float]],
    n_alternatives: int,
    n: int,
) -> np.ndarray:
    """Errors whose maximum is a nested logit: log S / mu + Gumbel / mu, S positive stable."""
    errors = rng.gumbel(size=(n_alternatives, n))
    for members, mu in groups:
        a = 1 / mu
        # Positive stable variables of exponent 1/mu (Chambers, Mallows and Stuck).
        u, e = rng.uniform(0, np.pi, n), rng.exponential(size=n)
        log_s = (
            np.log(np.sin(a * u))
            - np.log(np.sin(u)) / a
            + (1 - a) / a * (np.log(np.sin((1 - a) * u)) - np.log(e))
        )
        errors[members] = log_s * a + errors[members] * a
    return errors


def found_nests(data: ChoiceData) -> frozenset[frozenset[str]]:
    """The nests that the search finds."""
    alternatives = data.alternatives
    spec = "\n".join([*(f"{name}: ASC" for name in alternatives[1:]), "*: t + c"])
    family = ac.fit(data, spec, family=ac.Nested(None)).family
    nests = getattr(family, "nests", None) or {}
    return frozenset(frozenset(members) for members in nests.values())


def main() -> None:
    """Print how often the true structure was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    each = 2 if quick else 20
    for n_nests, count in [(0, each), (1, each), (2, each)]:
        started, right, some = time.process_time(), 0, 0
        for seed in range(count):
            sample = draw_sample(1_000 * n_nests + seed, n_nests)
            found = found_nests(sample.data)
            right += found == sample.nests
            some += bool(found - sample.nests)
            if found != sample.nests:
                print("   ", sorted(map(sorted, sample.nests)), "->", sorted(map(sorted, found)))
        seconds = (time.process_time() - started) / count
        print(
            f"{n_nests} true nests: {right} of {count} right, {some} with a false nest, "
            f"{seconds:.2f} s each"
        )


if __name__ == "__main__":
    main()
