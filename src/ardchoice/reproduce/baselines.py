"""The two specifications of the literature that the paper compares with.

They have columns that the published search spaces do not: seats, class, where people were asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ardchoice.data import ChoiceData, Numeric, read_wide, swissmetro

ALTERNATIVES = {"TRAIN": 1, "SM": 2, "CAR": 3}


@dataclass(frozen=True)
class Baseline:
    """A specification of the literature.

    Attributes
    ----------
    text
        In the grammar.
    covariates
        Numeric ones.
    minutes
        What time is divided by.
    told
        Where it comes from, and how well it is known.
    """

    text: str
    covariates: tuple[str, ...]
    minutes: float
    told: str


BASELINES = {
    "Bierlaire 2001": Baseline(
        """
        SM:       ASC + SEATS
        CAR:      ASC + ASC x LUGGAGE
        TRAIN+SM: ASC x GA
        TRAIN:    ASC x AGE
        *:        TT + CO + HE
        """,
        ("AGE", "GA", "LUGGAGE"),
        100,
        "The specification with nine coefficients that is public (the benchmark MNL of Sifringer, "
        "Lurkin and Alahi, with age, season ticket and seats where Bierlaire's model file of 2001 "
        "has them): rail costs nothing with a season ticket. Which one the paper estimated is not "
        "published in full; variants that come nearer can be made up, but no source supports them, "
        "so the difference stands.",
    ),
    "PyLogit example": Baseline(
        """
        TRAIN:    ASC + CO + HE + ASC x second
        SM:       ASC + CO + HE + SEATS
        CAR:      TT + CO + ASC x bag + ASC x bags
        TRAIN+SM: TT + ASC x on_train
        """,
        ("on_train", "second", "bag", "bags"),
        60,
        "As the code of PyLogit's main example has it: rail costs nothing with a season ticket or "
        "where the employer pays, and second class enters the utility of the train.",
    ),
}


def baseline_text(name: str) -> str:
    """A specification in the grammar."""
    return BASELINES[name].text


def baseline_data(name: str) -> ChoiceData:
    """The real choices with the columns that it needs: 10,692 rows of 1,188 persons."""
    raw = swissmetro()
    raw = raw[(raw["CHOICE"] != 0) & (raw["AGE"] != 6) & (raw["PURPOSE"] != 9)].copy()
    baseline = BASELINES[name]
    pays = raw["GA"] == 0
    if name == "PyLogit example":
        pays &= raw["WHO"] != 2  # nor does the employer
    for mode in ALTERNATIVES:
        raw[f"{mode}_TT"] = raw[f"{mode}_TT"] / baseline.minutes
        raw[f"{mode}_CO"] = raw[f"{mode}_CO"] / 100 * (1 if mode == "CAR" else pays)
        if mode != "CAR":
            raw[f"{mode}_HE"] = raw[f"{mode}_HE"] / baseline.minutes
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
        covariates={covariate: Numeric(covariate) for covariate in baseline.covariates},
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
