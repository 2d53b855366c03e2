"""Data for a cluster: something of everything that shards could get wrong."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Block

TEXT = """
    bus: ASC + log(time) x age
    car: ASC + time + time x income
    *: cost
"""


def slowly(seconds: float, block: Block) -> float:
    """A measure that takes its time."""
    time.sleep(seconds)
    return float(sum(part.x.sum() for part in block.parts))


NAMES = ["bus", "car", "rail", "walk"]


def ragged_panel(n: int = 3000, seed: int = 0) -> ChoiceData:
    """Four alternatives, some unavailable, weights, and persons whose rows stand far apart."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"person": rng.integers(0, n // 6, n), "weight": rng.uniform(0.5, 2, n)})
    table["age"] = rng.integers(1, 4, n)
    table["income"] = rng.normal(size=n).round(3)
    value = {}
    for j, name in enumerate(NAMES):
        table[f"time_{name}"] = rng.gamma(2.0, 10.0, n).round(1) + 1
        table[f"cost_{name}"] = rng.gamma(2.0, 2.0, n).round(2)
        table[f"av_{name}"] = np.where(name in ("bus", "car"), 1, rng.random(n) < 0.8).astype(int)
        level = 0.3 * j - 0.9 * np.log(table[f"time_{name}"]) - 0.25 * table[f"cost_{name}"]
        level += np.where(table["age"] == j, 0.8, 0.0)
        value[name] = np.where(table[f"av_{name}"] == 1, level + rng.gumbel(size=n), -np.inf)
    table["choice"] = pd.DataFrame(value).idxmax(axis=1)
    return ac.read_wide(
        table,
        alternatives=NAMES,
        choice="choice",
        attributes={"time": "time_{alt}", "cost": "cost_{alt}"},
        covariates={"age": ac.Categorical(), "income": ac.Numeric()},
        availability="av_{alt}",
        person="person",
        weight="weight",
    )


def generic_space(data: ChoiceData) -> ac.SearchSpace:
    """Coefficients of single alternatives, and some that all of them share."""
    return ac.SearchSpace(
        data, transforms=["linear", "log1p"], by=["age", "income"], generic=["cost"]
    )


@contextmanager
def killing(client: Any, moments: list[float], seed: int) -> Iterator[list[int]]:
    """One worker after the other is killed, so many seconds after the one before."""
    rng, killed, stop = np.random.default_rng(seed), [], threading.Event()

    def kill() -> None:
        for moment in moments:
            if stop.wait(moment):
                return
            found = client.run(os.getpid, on_error="ignore")
            alive = sorted(found[worker] for worker in found if isinstance(found[worker], int))
            if alive:
                killed.append(int(rng.choice(alive)))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()
