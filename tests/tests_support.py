"""Small data sets that several tests share."""

import warnings

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import ChoiceData


def small_data(n: int = 200, seed: int = 0) -> ChoiceData:
    """Two alternatives, one attribute, no persons."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x_a": rng.normal(size=n), "x_b": rng.normal(size=n)})
    better = 0.5 + table["x_a"] - table["x_b"] + rng.logistic(size=n) > 0
    table["choice"] = np.where(better, "a", "b")
    return ac.read_wide(
        table, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"}
    )


def many_alternatives(n: int, alternatives: int, seed: int = 0) -> ChoiceData:
    """Unlabelled alternatives with ten attributes and choice sets of 5 to all of them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, alternatives + 1, n)
    situation = np.repeat(np.arange(n), sizes)
    alternative = np.concatenate([rng.permutation(alternatives)[:s] + 1 for s in sizes])
    x = rng.normal(size=(10, len(situation)))
    value = np.linspace(-1, 1, 10) @ x + rng.gumbel(size=len(situation))
    best = pd.Series(value).groupby(situation).idxmax().to_numpy()
    chosen = np.zeros(len(situation), dtype=int)
    chosen[best] = 1
    table = pd.DataFrame(
        {"situation": situation, "alternative": alternative, "chosen": chosen}
        | {f"x{k}": x[k] for k in range(10)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)  # some are never chosen
        return ac.read_long(
            table,
            situation="situation",
            alternative="alternative",
            chosen="chosen",
            attributes=[f"x{k}" for k in range(10)],
            alternatives=range(1, alternatives + 1),
        )
