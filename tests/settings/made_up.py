"""Tables from several fields, for the guesses."""

from __future__ import annotations

import numpy as np
import pandas as pd

import ardchoice as ac


def choices(utility: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What people choose, positions from 0; utility has shape (rows, alternatives)."""
    return (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)


def mode_choice(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Four modes, attribute_mode, availability, numeric codes, a panel: as Apollo's examples."""
    rng = np.random.default_rng(seed)
    modes = ["car", "bus", "air", "rail"]
    table: dict[str, object] = {"ID": np.repeat(np.arange(n // 3) + 1, 3), "RP": 1, "task": 0}
    table["task"] = np.tile([1, 2, 3], n // 3)
    time = rng.integers(50, 400, (n, 4))
    cost = rng.integers(15, 120, (n, 4))
    available = np.ones((n, 4), dtype=int)
    available[:, 0] = np.repeat(rng.integers(0, 2, n // 3), 3)
    for j, mode in enumerate(modes):
        table[f"av_{mode}"] = available[:, j]
    for j, mode in enumerate(modes):
        table[f"time_{mode}"], table[f"cost_{mode}"] = time[:, j], cost[:, j]
        if mode != "car":
            table[f"access_{mode}"] = rng.integers(5, 30, n)
    table["service_air"] = rng.integers(1, 4, n)
    table["female"] = np.repeat(rng.integers(0, 2, n // 3), 3)
    table["income"] = np.repeat(rng.integers(20, 90, n // 3) * 1000, 3)
    utility = -0.01 * time - 0.03 * cost - 1e9 * (1 - available)
    table["choice"] = choices(utility, rng) + 1
    return pd.DataFrame(table)


def conjoint(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Three unlabelled products a task and none of them; brand1, price1, ...; choice 1 to 4."""
    rng = np.random.default_rng(seed)
    table: dict[str, object] = {
        "respondent": np.repeat(np.arange(n // 8), 8),
        "task": np.tile(np.arange(8) + 1, n // 8),
    }
    price = rng.choice([1.99, 2.49, 2.99, 3.49], (n, 3))
    brand = rng.choice(["Alpha", "Beta", "Gamma"], (n, 3))
    for j in range(3):
        table[f"brand{j + 1}"], table[f"price{j + 1}"] = brand[:, j], price[:, j]
    utility = np.column_stack([3 - 1.5 * price + (brand == "Alpha"), np.zeros(n)])
    table["answer"] = choices(utility, rng) + 1
    table["gender"] = np.repeat(rng.choice(["f", "m"], n // 8), 8)
    return pd.DataFrame(table)


def health_long(people: int = 40, tasks: int = 6, seed: int = 0) -> pd.DataFrame:
    """Two treatments and the status quo, a row each; a column that numbers the situations."""
    rng = np.random.default_rng(seed)
    n = people * tasks
    risk, wait = rng.integers(1, 6, (n, 3)), rng.integers(0, 12, (n, 3))
    picked = choices(-0.4 * risk - 0.15 * wait, rng)
    return pd.DataFrame(
        {
            "patient_id": np.repeat(np.arange(people) + 100, 3 * tasks),
            "task": np.tile(np.repeat(np.arange(tasks) + 1, 3), people),
            "chid": np.repeat(np.arange(n), 3),
            "alt": np.tile(["A", "B", "status quo"], n),
            "chosen": (np.arange(3) == picked[:, None]).ravel(),
            "risk": risk.ravel(),
            "wait": wait.ravel(),
            "asc_sq": np.tile([0, 0, 1], n),
            "age": np.repeat(rng.integers(20, 80, people), 3 * tasks),
        }
    )


def german(n: int = 240, seed: int = 0) -> pd.DataFrame:
    """Names as choices, umlauts, decimals: to be written with semicolons and commas."""
    rng = np.random.default_rng(seed)
    price, time = rng.uniform(1, 20, (n, 3)).round(2), rng.uniform(0.2, 3, (n, 3)).round(3)
    modes = ["Zug", "Fernbus", "Auto"]
    table: dict[str, object] = {"Schlüssel": np.arange(n) + 7}
    for j, mode in enumerate(modes):
        table[f"{mode}.Preis"], table[f"{mode}.Zeit"] = price[:, j], time[:, j]
    table["Wahl"] = np.array(["ZUG", "FERNBUS", "AUTO"])[choices(-0.2 * price - time, rng)]
    table["Geschlecht"] = rng.choice(["männlich", "weiblich"], n)
    table["Gewicht"] = rng.uniform(0.5, 2, n).round(3)
    return pd.DataFrame(table)


def many(n: int = 300, alternatives: int = 200, seed: int = 0) -> pd.DataFrame:
    """Two hundred unlabelled alternatives, price_1 to price_200."""
    rng = np.random.default_rng(seed)
    price, size = rng.gamma(2, 10, (n, alternatives)), rng.normal(size=(n, alternatives))
    table = {f"price_{j + 1}": price[:, j].round(1) for j in range(alternatives)}
    table |= {f"size_{j + 1}": size[:, j].round(2) for j in range(alternatives)}
    table["choice"] = choices(-0.1 * price + size, rng) + 1
    return pd.DataFrame(table)


def swissmetro() -> pd.DataFrame:
    """The raw table of the package."""
    return ac.datasets.swissmetro()
