"""Intervals of shares: the delta method beside the bootstrap, and their coverage.

    python benchmarks/use_intervals.py            # 1,000 simulated data sets, 2,000 replications
    python benchmarks/use_intervals.py --quick    # 20 and 100, in seconds

Choices are drawn from a model estimated on Swissmetro; the truth of a share is what that model
predicts for the same situations.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import ardchoice as ac

SPEC = ["TRAIN: ASC + TT + CO + ASC x GA", "SM: ASC + TT + CO", "CAR: TT + CO"]
CHANGE = "TRAIN: TT * 1.2"
SITUATIONS = 2_000
BATCH = 200
"""Data sets that a coverage is shown of beside that of all: it varies by 1.5 % between batches."""


def coverage(n_sets: int, seed: int = 0) -> tuple[float, float, list[float]]:
    """Share of 95 % intervals (before, after, change) that contain the truth.

    With its simulation error, from sets as units, and the same for each batch.
    """
    data = ac.datasets.swissmetro_choices("real")
    rng = np.random.default_rng(seed)
    data = data.take(np.sort(rng.choice(len(data), SITUATIONS, replace=False)))
    true = ac.fit_mnl(ac.datasets.swissmetro_choices("real"), SPEC)
    expected = true.scenario(CHANGE, data=data).intervals()["estimate"].to_numpy()
    inside = []
    for k in range(n_sets):
        drawn = ac.simulate_choices(data, true, seed=seed + 1 + k)
        found = ac.fit_mnl(drawn, SPEC).scenario(CHANGE).intervals()
        inside.append((found["low"] <= expected) & (expected <= found["high"]))
    each = np.mean(inside, axis=1)
    batches = [float(each[i : i + BATCH].mean()) for i in range(0, n_sets, BATCH)]
    return float(each.mean()), float(each.std() / np.sqrt(n_sets)), batches


def widths(replications: int, seed: int = 0) -> pd.Series:
    """Width of bootstrap intervals of the change of shares over that of the delta method."""
    result = ac.fit_mnl(ac.datasets.swissmetro_choices("real"), SPEC)
    delta = result.scenario(CHANGE).shares
    boot = result.bootstrap(replications, seed=seed).scenario(CHANGE)
    ratio = (boot["high"] - boot["low"]) / (delta["high"] - delta["low"])
    return pd.Series(ratio.to_numpy(), index=delta["alternative"].tolist())


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    start = time.process_time()
    covered, error, batches = coverage(20 if quick else 1_000)
    print(f"coverage of 95 % intervals of shares: {100 * covered:.1f} % (± {100 * error:.1f} %)")
    print(f"by {BATCH} sets: " + ", ".join(f"{100 * b:.1f} %" for b in batches))
    print("bootstrap width / delta-method width:")
    print(widths(100 if quick else 2_000).round(3).to_string())
    print(f"{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
