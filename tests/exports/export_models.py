"""Models whose exports are hard: every transform, odd files, ragged choice sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from export_support import quietly

import ardchoice as ac

MODECHOICE = Path(__file__).parents[1] / "reference" / "modechoice.csv"

EVERY_TRANSFORM = """
    bus: ASC + log(time) + boxcox(cost) + quantiles(wait, 3) + comfort
    tram: ASC + ASC x sex + boxcox(cost, 2.5) + sqrt(wait) + time x sex x age
    bus+tram: square(time) + thresholds(cost, 1)
    car: steps(cost, 3)
    car: piecewise(time, 20, 40) + log1p(cost) + log1p(cost) x purpose + segments(time, 3) x sex
    *: cost x income + comfort x age
"""


def trips(n: int = 600, seed: int = 1) -> pd.DataFrame:
    """A wide table with odd corners: nothing usable where an alternative is not available."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"who": np.repeat(np.arange(n // 4), 4)})
    for alt in ("bus", "tram", "car"):
        table[f"t_{alt}"] = rng.gamma(4, 8, n).round(2)
        table[f"c_{alt}"] = rng.gamma(2, 2, n).round(2)
        table[f"seats_{alt}"] = rng.choice(["hard", "soft", "none"], n)
        table[f"av_{alt}"] = (rng.random(n) < 0.85).astype(int)
    table["av_car"] = table["av_car"].map({1: "Yes", 0: "no"})
    table["w_bus"] = rng.gamma(2, 4, n).round(1)
    table["w_tram"] = rng.gamma(2, 3, n).round(1)
    table["sex"] = rng.choice(["f", "m", "x"], n)
    table["age"] = rng.integers(18, 90, n)
    table["purpose"] = rng.choice([1.0, 2.0, 3.0, 4.0, np.nan], n)
    table["income"] = rng.gamma(3, 1, n).round(3)
    table["weight"] = rng.uniform(0.5, 2, n).round(3)
    open_to = np.column_stack(
        [table["av_bus"] == 1, table["av_tram"] == 1, table["av_car"] == "Yes"]
    )
    lonely = ~open_to.any(axis=1)
    table.loc[lonely, "av_bus"] = 1
    open_to[lonely, 0] = True
    value = rng.gumbel(size=(n, 3)) - 0.03 * table[["t_bus", "t_tram", "t_car"]].to_numpy()
    picked = np.where(open_to, value, -np.inf).argmax(axis=1)
    table["picked"] = np.array(["B", "T", "C"])[picked]
    for j, alt in enumerate(("bus", "tram", "car")):
        closed = ~open_to[:, j]
        table.loc[closed, f"t_{alt}"] = -99.0
        table.loc[closed, f"c_{alt}"] = np.nan
        table.loc[closed, f"seats_{alt}"] = None
    return table


ROLES: dict[str, Any] = {
    "alternatives": {"bus": "B", "tram": "T", "car": "C"},
    "choice": "picked",
    "attributes": {
        "time": "t_{alt}",
        "cost": "c_{alt}",
        "comfort": "seats_{alt}",
        "wait": {"bus": "w_bus", "tram": "w_tram"},
    },
    "covariates": {
        "sex": ac.Categorical(reference="m"),
        "age": ac.Cut("age", [30, 65]),
        "purpose": ac.Categorical(merge={"work": [1, 2], "play": [3]}, missing="unknown"),
        "income": ac.Numeric(),
    },
    "availability": "av_{alt}",
    "person": "who",
    "weight": "weight",
}


def wide(source: object, **changes: Any) -> ac.ChoiceData:
    """The trips, from a table or a file."""
    return quietly(ac.read_wide, source, **{**ROLES, **changes})


def modechoice(source: object = MODECHOICE, situation: Any = "individual") -> ac.ChoiceData:
    """Statsmodels' mode choice, a long table."""
    return quietly(
        ac.read_long,
        source,
        situation=situation,
        alternative="mode",
        chosen="choice",
        attributes=["ttme", "invc", "invt", "gc"],
        covariates=["hinc", "psize"],
        alternatives={"air": 1, "train": 2, "bus": 3, "car": 4},
    )


def modechoice_by_two(folder: Path) -> ac.ChoiceData:
    """The same, from a file in which two columns number the situations."""
    table = pd.read_csv(MODECHOICE, sep=";")
    number = table.pop("individual")
    table.assign(who=number // 7, task=number % 7).to_csv(folder / "two.csv", index=False)
    return modechoice(folder / "two.csv", ["who", "task"])


ODD_CORNERS = """
    TRUE: ASC + piecewise(gain, -1, 0.5) + gain x age + square(gain) x since
    *: boxcox(cost)
    1: boxcox(cost) + boxcox(cost, -0.05)
"""


def odd_corners(n: int = 500, seed: int = 4) -> pd.DataFrame:
    """Alternatives named like literals, negative knots, classes and levels of missing values."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"choice": rng.choice(["TRUE", "1", "T", "c"], n)})
    for alternative in ("TRUE", "1", "T", "c"):
        table[f"gain {alternative}"] = rng.normal(0, 2, n).round(3)
        table[f"cost {alternative}"] = (rng.gamma(3, 2, n) + 0.1).round(3)
    table["age"] = np.where(rng.random(n) < 0.2, np.nan, rng.integers(18, 80, n))
    table["since"] = rng.choice([None, "x", "y"], n)
    return table


def corners(source: object) -> ac.ChoiceData:
    """The odd corners, from a table or a file."""
    return quietly(
        ac.read_wide,
        source,
        alternatives=["TRUE", "1", "T", "c"],
        choice="choice",
        attributes={"gain": "gain {alt}", "cost": "cost {alt}"},
        covariates={
            "age": ac.Cut(edges=[40], missing="unknown", reference="<40"),
            "since": ac.Categorical(missing="long ago"),
        },
    )


MODECHOICE_SPECIFICATION = """
    air: ASC + ASC x hinc
    train: ASC
    bus: ASC
    *: gc + ttme
"""


def ragged(seed: int = 3, n: int = 300) -> pd.DataFrame:
    """Unlabelled products in choice sets of two to six, with weights and person ids as text."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, n)
    table = pd.DataFrame({"set": np.repeat(rng.permutation(n) + 1000, sizes)})
    table["product"] = np.concatenate([rng.permutation(6)[:s] + 1 for s in sizes])
    table["price"] = rng.gamma(3, 2, len(table)).round(2)
    table["colour"] = rng.choice(["red", "green", "blue"], len(table))
    table["buyer"] = np.repeat([f"p{i // 3}" for i in range(n)], sizes)
    table["kids"] = np.repeat(rng.integers(0, 3, n), sizes)
    table["weight"] = np.repeat(rng.uniform(0.2, 3, n).round(2), sizes)
    value = -0.4 * table["price"] + rng.gumbel(size=len(table))
    best = value.groupby(table["set"]).idxmax()
    table["bought"] = np.where(table.index.isin(best), "yes", "no")
    return table


def products(source: object) -> ac.ChoiceData:
    """The ragged table."""
    return quietly(
        ac.read_long,
        source,
        situation="set",
        alternative="product",
        chosen="bought",
        attributes=["price", "colour"],
        covariates={"kids": ac.Categorical()},
        person="buyer",
        weight="weight",
    )


RAGGED_SPECIFICATION = """
    *: price + price x kids + colour
    1+2+3+4+5: ASC
    1+2: log(price)
"""


# -- Products, ratios, functions of covariates, splines -------------------------------------------

RICHER_SPECIFICATION = """
    TRAIN: ASC + ASC x log(INC) + spline(TT, 3) + CO / INC
    SM:    ASC + TT + CO + TT x CO + CO / INC x GA
    CAR:   TT + log1p(CO) + TT x sqrt(CO) + log1p(CO) x square(INC)
"""
MODE_NAMES = {1: "TRAIN", 2: "SM", 3: "CAR"}


def richer_table(rows: int = 2700) -> pd.DataFrame:
    raw = ac.datasets.swissmetro().query("CHOICE != 0")[:rows]
    rng = np.random.default_rng(0)
    income = dict(zip(raw["ID"].unique(), rng.uniform(1, 5, raw["ID"].nunique()), strict=True))
    out = pd.DataFrame({"ID": raw["ID"], "CHOICE": raw["CHOICE"].map(MODE_NAMES), "GA": raw["GA"]})
    out["INC"] = raw["ID"].map(income).round(3)
    for mode in MODE_NAMES.values():
        out[f"{mode}_AV"] = raw[f"{mode}_AV"]
        out[f"{mode}_TT"] = raw[f"{mode}_TT"] / 60
        out[f"{mode}_CO"] = (raw[f"{mode}_CO"] / 100).clip(upper=6)
    return out.reset_index(drop=True)


def read_richer(source: object, **options: object) -> ac.ChoiceData:
    return ac.read_wide(
        source,
        alternatives={name: name for name in MODE_NAMES.values()},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates={"GA": ac.Categorical(), "INC": ac.Numeric("INC")},
        availability="{alt}_AV",
        person="ID",
        **options,  # type: ignore[arg-type]
    )


# -- Derived columns, a filter, conditional availability -----------------------------------------

DERIVE = {
    "SM_COST": "SM_CO * (GA == 0) / 100",
    "TRAIN_COST": "if(GA == 1 or not (WHO != 2), 0, TRAIN_CO / 100)",
    "CAR_COST": "CAR_CO / 100",
    "CAR_AV": "CAR_AV * (SP != 0 and PURPOSE in (1, 2, 3))",
    "TRAIN_TT": "max(TRAIN_TT, 30) / 60",  # in place of the column of the table
    "SM_TT": "SM_TT / 60",
    "CAR_TT": "min(CAR_TT, 500, 1000 - SM_TT) / 60",
    "OLDER": "floor(AGE / 3) + AGE % 2 - AGE ** 0",
    "NIGHT": 'if(LUGGAGE == 0, "light", if(LUGGAGE == 1, "one", "more"))',
    "HEAVY": 'NIGHT != "light" and NIGHT in ("more", "most")',
}
WHERE = "PURPOSE in (1, 2, 3) and CHOICE != 0 and not is_missing(INCOME)"
DERIVED_SPECIFICATION = """
    TRAIN: ASC + TT + ASC x OLDER
    SM: ASC + TT + ASC x HEAVY
    CAR: TT + ASC x NIGHT
    *: COST
"""


def read_derived(source: object, **options: Any) -> ac.ChoiceData:
    """The survey with columns derived from others, and only some of its rows."""
    return quietly(
        ac.read_wide,
        source,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "COST": "{alt}_COST"},
        covariates={"OLDER": ac.Numeric(), "HEAVY": ac.Numeric(), "NIGHT": ac.Categorical()},
        availability="{alt}_AV",
        person="ID",
        derive=DERIVE,
        where=WHERE,
        **options,
    )
