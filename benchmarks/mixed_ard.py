"""Relevance in a mixed logit: do true spreads keep their λ, and do those of noise vanish.

    python benchmarks/mixed_ard.py [--quick] [--sets N] [--first N] [--dsvi N]

Sets of `mixed_sets.py` (ten coefficients, 752 persons who choose nine times, 0 to 4 of them
random), all coefficients candidates, and `Newton()`; on the first N of them `Dsvi()` too. Of true
spreads and of others: the share with λ above zero, and above the cutoff; how often a true one ranks
above another of the same set; √λ over the true standard deviation; the share that the score test
names at 1 %. Of `Dsvi()`: its rank correlation with `Newton()`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import ardchoice as ac
from mixed_sets import SimulatedSet, simulated_set

CUTOFF = 0.02
"""λ of a spread on columns of unit spread: a standard deviation of 0.14."""
LEVEL = 0.01


@dataclass(frozen=True, eq=False)
class Spreads:
    """Of one set, a coefficient each: λ, p, true standard deviation on columns of unit spread."""

    lam: np.ndarray
    p: np.ndarray
    truth: np.ndarray
    seconds: float
    converged: bool

    @property
    def above(self) -> tuple[int, int]:
        """Pairs of a true spread and another in which the true one is larger, and all pairs."""
        true, noise = self.lam[self.truth > 0], self.lam[self.truth == 0]
        return int((true[:, None] > noise).sum()), len(true) * len(noise)


def relevance(one: SimulatedSet, solver: ac.Newton | ac.Dsvi) -> Spreads:
    """λ of all spreads of a set."""
    space = ac.SearchSpace(one.data, base="C", generic=True, specific=False)
    started = time.process_time()
    fit = ac.fit_ard(one.data, space, family=ac.Mixed(), solver=solver)
    seconds = time.process_time() - started
    assert fit.spreads is not None  # noqa: S101 - of a mixed logit
    found = fit.spreads.table().set_index("term").loc[list(one.sd)]
    scale = dict(zip(fit.encoding.names, fit.scale, strict=True))
    truth = np.array([one.sd[name] * scale[name] for name in one.sd])
    lam, p = found["lambda_sd"].to_numpy(), found["p_value_sd"].to_numpy()
    return Spreads(lam, p, truth, seconds, fit.converged)


def summary(name: str, sets: Sequence[Spreads]) -> str:
    """What all sets say, in a few lines."""
    lam, p, truth = (np.concatenate([getattr(s, k) for s in sets]) for k in ("lam", "p", "truth"))
    true = truth > 0
    right, pairs = (sum(k) for k in zip(*(s.above for s in sets), strict=True))
    kept = true & (lam > 0)
    ratio = np.sqrt(lam[kept]) / truth[kept]
    seconds = [s.seconds for s in sets]
    return (
        f"{name}: {len(sets)} sets, {sum(s.converged for s in sets)} converged, "
        f"{np.mean(seconds):.2f} s each, at most {max(seconds):.2f}\n"
        f"  λ > 0: {np.mean(lam[true] > 0):.3f} of {true.sum()} true, "
        f"{np.mean(lam[~true] > 0):.3f} of {(~true).sum()} others; "
        f"λ > {CUTOFF}: {np.mean(lam[true] > CUTOFF):.3f}, {np.mean(lam[~true] > CUTOFF):.3f}\n"
        f"  a true one ranks above another in {right / max(pairs, 1):.4f} of {pairs} pairs\n"
        f"  √λ over the true standard deviation: median {np.median(ratio):.2f}\n"
        f"  p < {LEVEL}: {np.mean(p[true] < LEVEL):.3f} of true, {np.mean(p[~true] < LEVEL):.3f} "
        "of others"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the study."""
    from scipy import stats

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", type=int)
    parser.add_argument("--first", type=int, default=300)
    parser.add_argument("--dsvi", type=int)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ac.ArdchoiceWarning)
    count = given.sets or (3 if given.quick else 40)
    sampled = (1 if given.quick else 10) if given.dsvi is None else given.dsvi
    persons = 200 if given.quick else 752
    seeds = range(given.first, given.first + count)
    sets = [simulated_set(seed, seed % 5, persons=persons) for seed in seeds]
    newton = [relevance(one, ac.Newton()) for one in sets]
    print(summary("Newton()", newton), flush=True)
    some = [k for k, one in enumerate(sets) if one.random][:sampled]
    if not some:
        return
    dsvi = [relevance(sets[k], ac.Dsvi(seed=0)) for k in some]
    print(summary("Dsvi()", dsvi))
    alike = [stats.spearmanr(newton[k].lam, one.lam)[0] for k, one in zip(some, dsvi, strict=True)]
    print(
        f"  rank correlation with Newton(): median {np.median(alike):.3f}, least {min(alike):.3f}"
    )


if __name__ == "__main__":
    main()
