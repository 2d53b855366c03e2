"""The two specifications of the literature that the paper compares with.

They have columns that the published search spaces do not: seats, class, where people were asked.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ardchoice.data import ChoiceData, Numeric, read_wide, swissmetro
from ardchoice.reproduce.published import published

ALTERNATIVES = {"TRAIN": 1, "SM": 2, "CAR": 3}


def baselines() -> dict[str, dict[str, Any]]:
    """By name: text in the grammar, numeric covariates, minutes_per_unit of time, source."""
    made: dict[str, dict[str, Any]] = published()["baseline_specifications"]
    return made


def baseline_data(name: str) -> ChoiceData:
    """The real choices with the columns that it needs: 10,692 rows of 1,188 persons."""
    raw = swissmetro()
    raw = raw[(raw["CHOICE"] != 0) & (raw["AGE"] != 6) & (raw["PURPOSE"] != 9)].copy()
    baseline = baselines()[name]
    pays = raw["GA"] == 0
    if name == "PyLogit example":
        pays &= raw["WHO"] != 2  # nor does the employer
    for mode in ALTERNATIVES:
        raw[f"{mode}_TT"] = raw[f"{mode}_TT"] / baseline["minutes_per_unit"]
        raw[f"{mode}_CO"] = raw[f"{mode}_CO"] / 100 * (1 if mode == "CAR" else pays)
        if mode != "CAR":
            raw[f"{mode}_HE"] = raw[f"{mode}_HE"] / baseline["minutes_per_unit"]
    return read_wide(
        _with_dummies(raw),
        alternatives=ALTERNATIVES,
        choice="CHOICE",
        attributes={
            "TT": "{alt}_TT",
            "CO": "{alt}_CO",
            "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"},
            "SEATS": Numeric({"SM": "SM_SEATS"}),
        },
        covariates={covariate: Numeric(covariate) for covariate in baseline["covariates"]},
        availability="{alt}_AV",
        person="ID",
    )


def _with_dummies(raw: pd.DataFrame) -> pd.DataFrame:
    return raw.assign(
        on_train=1 - raw["SURVEY"],
        second=1 - raw["FIRST"],
        bag=(raw["LUGGAGE"] == 1).astype(int),
        bags=(raw["LUGGAGE"] == 3).astype(int),
    )
