"""Rows of `individual()` have the ids of the persons in the table, however it was read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData

ROLES = {
    "alternatives": ["a", "b", "c"],
    "choice": "choice",
    "attributes": {"t": "{alt}_t", "c": "{alt}_c"},
    "person": "who",
}


def table(ids: np.ndarray, seed: int = 0) -> pd.DataFrame:
    """Six choices of every person of two kinds, in no order; one row with an unknown choice."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.repeat(np.arange(len(ids)), 6))
    x = rng.normal(size=(2, 3, len(person)))
    v = np.einsum("nk,kjn->jn", np.array([[-2.0, 0.5], [0.5, 1.5]])[person % 2], x)
    picked = (v + rng.gumbel(size=v.shape)).argmax(axis=0)
    out = pd.DataFrame(
        {f"{a}_{w}": x[k, j] for j, a in enumerate("abc") for k, w in enumerate("tc")}
    )
    return out.assign(choice=np.array(list("abc"))[picked], who=ids[person], kind=person % 2)


TEXT = np.array([f"P{7 * i % 100:03d}" for i in range(60)])
NUMBERS = np.array([1000 + 17 * i for i in range(60)])


def kinds(data: ChoiceData, frame: pd.DataFrame) -> pd.Series:
    """Whether every person is of the second kind, by what the model says of them."""
    individual = ac.fit(data, "*: t + c", family=ac.LatentClass(2, starts=2)).individual()
    assert individual.index.name == "person"
    assert set(individual.index) == set(frame["who"])
    likely = individual["class 1"] > 0.5
    known = frame.groupby("who")["kind"].first().loc[individual.index]
    agree = float((likely == (known == 1)).mean())
    assert max(agree, 1 - agree) > 0.9
    return individual["class 1"]


@pytest.mark.parametrize("ids", [TEXT, NUMBERS, NUMBERS.astype(float)])
def test_wide_tables(ids: np.ndarray) -> None:
    frame = table(ids)
    data = ac.read_wide(frame, **ROLES)
    whole = kinds(data, frame)
    # A part of the persons keeps their ids.
    some = np.flatnonzero(frame["who"].isin(ids[5:40]))
    part = ac.fit(data, "*: t + c", family=ac.LatentClass(2, starts=2)).individual(data.take(some))
    np.testing.assert_allclose(part["class 1"], whole.loc[part.index], rtol=1e-6)
    assert set(part.index) == set(ids[5:40])


@pytest.mark.filterwarnings("ignore:6 rows")
def test_dropped_rows_and_streams_and_saved_models(tmp_path: Path) -> None:
    frame = table(TEXT)
    frame.loc[frame["who"] == TEXT[3], "choice"] = "x"  # a person without a known choice
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    kept = frame[frame["who"] != TEXT[3]]
    first = kinds(ac.read_wide(path, **ROLES, drop_invalid=True), kept)
    streamed = ac.read_wide(path, **ROLES, drop_invalid=True, stream=True)
    again = kinds(streamed, kept)
    np.testing.assert_allclose(first.loc[again.index], again, atol=1e-6)
    kinds(streamed.take(np.arange(200)), kept[:200])
    result = ac.fit(streamed, "*: t + c", family=ac.LatentClass(2, starts=2))
    loaded = ac.load(result.save(tmp_path / "saved"), result=True)
    pd.testing.assert_frame_equal(loaded.individual(), result.individual())


def test_long_tables() -> None:
    frame = table(NUMBERS)
    rows = [
        {
            "situation": n,
            "who": row.who,
            "alt": a,
            "t": row[f"{a}_t"],
            "c": row[f"{a}_c"],
            "y": row.choice == a,
        }
        for n, row in frame.iterrows()
        for a in "abc"
    ]
    data = ac.read_long(
        pd.DataFrame(rows).astype({"y": int}),
        situation="situation",
        alternative="alt",
        chosen="y",
        attributes=["t", "c"],
        person="who",
    )
    kinds(data, frame)


def test_without_persons_rows_are_those_of_the_table() -> None:
    frame = table(NUMBERS).drop(columns="who")
    data = ac.read_wide(frame, **{**ROLES, "person": None})
    individual = ac.fit(data, "*: t + c", family=ac.LatentClass(2, starts=2)).individual()
    assert individual.index.name == "situation"
