"""Another table is read as the first was."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data.read import read_like

MODES = Path(__file__).parents[1] / "reference" / "modechoice.csv"


def wide_table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "picked": rng.integers(1, 4, n),
            "t1": rng.uniform(1, 9, n),
            "t2": rng.uniform(1, 9, n),
            "t3": rng.uniform(1, 9, n),
            "c1": rng.choice(["low", "mid", "high"], n),
            "on1": rng.integers(0, 2, n),
            "years": rng.integers(18, 80, n),
            "who": np.arange(n) // 2,
        }
    )


def read_first(table: pd.DataFrame) -> ac.ChoiceData:
    return ac.read_wide(
        table[(table["picked"] != 1) | (table["on1"] == 1)],
        alternatives={"bus": 1, "car": 2, "bike": 3},
        choice="picked",
        attributes={"time": {"bus": "t1", "car": "t2", "bike": "t3"}, "comfort": {"bus": "c1"}},
        covariates={"age": ac.Cut("years", quantiles=3), "old": ac.Numeric("years")},
        availability={"bus": "on1"},
        person="who",
    )


def test_a_wide_table_is_read_with_the_same_columns_levels_and_edges() -> None:
    first = read_first(wide_table())
    new = wide_table(20, seed=1).drop(columns=["picked", "who"])
    read = read_like(new, first)
    assert read.choice is None
    assert read.alternatives == first.alternatives
    assert (read.available[0] == (new["on1"] == 1)).all()
    assert read.covariates["age"].levels == first.covariates["age"].levels
    assert read.attributes["comfort"].levels == first.attributes["comfort"].levels
    edges = first.covariates["age"].recoding.edges  # type: ignore[union-attr]
    assert (read.covariates["age"].values == np.searchsorted(edges, new["years"], "right")).all()
    assert (read.covariates["old"].values == new["years"]).all()


def test_only_what_is_needed_is_looked_for() -> None:
    first = read_first(wide_table())
    new = wide_table(20, seed=1)[["t1", "t2", "t3", "on1"]]
    assert set(read_like(new, first, only=["time"]).attributes) == {"time"}
    with pytest.raises(ac.ArdchoiceError, match="'c1', named as comfort of bus"):
        read_like(new, first)


def test_a_long_table_is_read_in_the_same_order_and_predicted_alike() -> None:
    table = pd.read_csv(MODES, sep=";")
    first = ac.read_long(
        table,
        situation="individual",
        alternative="mode",
        chosen="choice",
        attributes=["gc", "invt"],
        covariates={"hinc": ac.Numeric()},
    )
    result = ac.fit_mnl(first, "*: gc + invt\n1: ASC + ASC x hinc")
    some = table[table["individual"].isin(table["individual"].unique()[:7])]
    again = read_like(some.drop(columns="choice"), first)
    assert np.allclose(result.predict(again), result.predict(first)[:7])


def test_data_without_a_source_say_so() -> None:
    first = read_first(wide_table())
    with pytest.raises(ac.ArdchoiceError, match="not known from which columns"):
        read_like(wide_table(), replace(first, source=None))
