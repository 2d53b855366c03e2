"""Data of published fits of several families."""

from __future__ import annotations

import ardchoice as ac
from ardchoice.data import ChoiceData


def business() -> ChoiceData:
    """The commuters and business travellers of the Biogeme examples."""
    raw = ac.datasets.swissmetro()
    raw = raw[raw["PURPOSE"].isin([1, 3]) & (raw["CHOICE"] != 0)].copy()
    for mode in ("TRAIN", "SM", "CAR"):
        raw[f"{mode}_TT"] = raw[f"{mode}_TT"] / 100
        free = (raw["GA"] == 0) if mode != "CAR" else 1
        raw[f"{mode}_CO"] = raw[f"{mode}_CO"] * free / 100
    for mode in ("TRAIN", "CAR"):
        raw[f"{mode}_AV"] = raw[f"{mode}_AV"] * (raw["SP"] != 0)
    return ac.read_wide(
        raw,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={
            "TT": "{alt}_TT",
            "CO": "{alt}_CO",
            "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"},
        },
        covariates=["GA"],
        availability="{alt}_AV",
        person="ID",
    )


def travellers() -> ChoiceData:
    """All choices of Swissmetro as in the README: 1,191 persons."""
    table = ac.datasets.swissmetro()
    for mode in ("TRAIN", "SM"):
        table[f"{mode}_CO"] *= table["GA"] == 0
    return ac.read_wide(
        table[table["CHOICE"] != 0],
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA", "MALE"],
        availability="{alt}_AV",
        person="ID",
    )
