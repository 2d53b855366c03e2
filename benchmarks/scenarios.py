"""Scenarios: processor time of one and of a hundred, in units of one prediction.

    python benchmarks/scenarios.py            # R6 on the real Swissmetro choices
    python benchmarks/scenarios.py --quick    # three repetitions instead of fifteen

A prediction is `result.predict()`, design included. The first scenario of a result predicts what
was observed too, and makes the design that all others share; each has shares with intervals. One
thread; medians of repetitions in turn, so that a busy machine slows all of them alike. Ends with 1
where one of a hundred costs more than twice a prediction.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Callable

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

import ardchoice as ac
from ardchoice.text import table as text_table

MOST = 2.0
"""Predictions that a scenario may cost."""
IN_A_ROW = 10
"""Of each kind, so that none profits from memory that another has just given back."""


def seconds(action: Callable[[], object]) -> float:
    """Processor time of one."""
    started = time.process_time()
    for _ in range(IN_A_ROW):
        action()
    return (time.process_time() - started) / IN_A_ROW


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    repetitions = 3 if parser.parse_args().quick else 15
    data = ac.datasets.swissmetro_choices("real")
    result = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R6"))
    fares = itertools.cycle(1 + k / 100 for k in range(1, 101))

    def first() -> object:
        result._simulators.clear()  # the design that scenarios share
        return one()

    def one() -> object:
        return result.scenario(f"TRAIN: CO * {next(fares)}").shares

    actions: dict[str, Callable[[], object]] = {
        "prediction": result.predict,
        "first scenario of a result": first,
        "scenario, each of a hundred": one,
        "scenario that closes SM": lambda: result.scenario("SM: unavailable").shares,
    }
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repetitions):
        for name, action in actions.items():
            found[name].append(seconds(action))
    medians = {name: float(np.median(values)) for name, values in found.items()}
    unit = medians["prediction"]
    rows = [[name, f"{1e3 * s:.1f}", f"{s / unit:.2f}"] for name, s in medians.items()]
    print(f"{len(data):,} situations, {result.n_parameters} coefficients")
    print(text_table(rows, ["", "milliseconds", "predictions"]))
    return 0 if medians["scenario, each of a hundred"] <= MOST * unit else 1


if __name__ == "__main__":
    sys.exit(main())
