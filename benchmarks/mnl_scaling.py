"""Scaling: the same 27-parameter model on ever more choice situations, time and memory.

Every size runs in a process of its own, so that the peak memory is its own too:

    python mnl_scaling.py 1000000 --repeats 2
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import threadpoolctl

import ardchoice as ac

MODEL = "R6"
SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = SIZES[:2]
ROWS_TO_REPEAT = 300_000
"""Small sizes are repeated until they have passed over this many situations: they are the noisier,
and every other size is compared with the smallest."""
FEWEST_REPEATS = 3
MEMORY_TARGET_GB = 1.5
"""At the largest size, the data included."""
TIMEOUT = 1800.0


@dataclass(frozen=True)
class Scaling:
    """One size.

    Attributes
    ----------
    n_situations, n_persons, n_parameters
        The size.
    seconds
        Estimation with three kinds of standard errors, best of the runs.
    data_gb
        Peak memory of the process when the data had been made, in gigabytes.
    peak_gb
        Peak memory after the first estimation; both None where it cannot be measured.
    """

    n_situations: int
    n_persons: int
    n_parameters: int
    seconds: float
    data_gb: float | None
    peak_gb: float | None

    @property
    def seconds_per_million(self) -> float:
        """Seconds for a million choice situations, were time proportional to them."""
        return self.seconds / self.n_situations * 1e6


def resampled(n_situations: int, seed: int = 0) -> ac.ChoiceData:
    """Draw Swissmetro travellers with all their answers, and new choices from the fitted model.

    Parameters
    ----------
    n_situations
        How many answers; the last traveller may lack some.
    seed
        The same seed draws the same data.
    """
    data = ac.datasets.swissmetro_choices("real")
    if data.person is None:
        raise ValueError("Swissmetro has persons")
    fitted = ac.fit_mnl(data, ac.datasets.swissmetro_specification(MODEL))
    # Every person answered equally often, or this fails.
    answers = np.argsort(data.person, kind="stable").reshape(data.n_persons or 0, -1)
    each = answers.shape[1]
    drawn = np.random.default_rng(seed).integers(len(answers), size=-(-n_situations // each))
    rows = answers[drawn].ravel()[:n_situations]
    # One drawn twice is two persons, or the sums per person would not grow with the sample.
    person = np.arange(n_situations, dtype=np.intp) // each
    return ac.simulate_choices(replace(data.take(rows), person=person), fitted, seed=seed)


def measure(n_situations: int, repeats: int) -> Scaling:
    """Make data of one size and estimate the model on them, in this process."""
    text = ac.datasets.swissmetro_specification(MODEL)
    data = resampled(n_situations)
    data_gb = peak_gb()
    seconds, after_first = np.inf, None
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        for run in range(repeats):
            start = time.perf_counter()
            result = ac.fit_mnl(data, text)
            seconds = min(seconds, time.perf_counter() - start)
            if run == 0:
                after_first = peak_gb()
    return Scaling(
        n_situations=len(data),
        n_persons=data.n_persons or 0,
        n_parameters=result.n_parameters,
        seconds=seconds,
        data_gb=data_gb,
        peak_gb=after_first,
    )


def measure_apart(n_situations: int, repeats: int) -> Scaling:
    """Do the same in a fresh process."""
    command = [sys.executable, str(Path(__file__).resolve()), str(n_situations)]
    command += ["--repeats", str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{n_situations} situations failed:\n{done.stderr[-2000:]}")
    return Scaling(**json.loads(done.stdout))


def repeats_for(n_situations: int) -> int:
    """How often to repeat a size."""
    return max(FEWEST_REPEATS, ROWS_TO_REPEAT // n_situations)


def peak_gb() -> float | None:
    """Peak resident memory of this process in gigabytes, or None where that is not known."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux lets `getrusage` count the memory of the process that started this one.
        lines = status.read_text(encoding="utf-8").splitlines()
        found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        if found:
            return int(found[0]) * 1024 / 1e9
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9)


def main() -> int:
    """Measure one size and print the record as json."""
    parser = argparse.ArgumentParser(description="Time and memory of one size.")
    parser.add_argument("n_situations", type=int)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print(json.dumps(asdict(measure(options.n_situations, max(options.repeats, 1)))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
