"""Example data, shipped with the package; their provenance is in PROVENANCE.md."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from importlib.resources import as_file, files
from typing import Literal

import numpy as np
import pandas as pd

from ardchoice.data.choices import Attribute, ChoiceData
from ardchoice.data.datasets.published import SPECIFICATIONS
from ardchoice.data.read import read_wide
from ardchoice.data.recode import Categorical
from ardchoice.errors import ArdchoiceError, did_you_mean

NOISE_PREFIX = "noise_"
"""Of the names of noise attributes."""
LARGE_SPACE_COLUMNS = {"TRAIN": 227, "SM": 217, "CAR": 158}
"""Columns of the large space of the paper, by alternative."""
COMMUTING, SHOPPING, LEISURE = "1", "2", "3"


def swissmetro() -> pd.DataFrame:
    """The raw Swissmetro stated-preference table: 10,728 rows, 28 columns.

    Nine answers each of 1,192 travellers between TRAIN, the hypothetical magnetic-levitation
    Swissmetro (SM) and CAR (Bierlaire, Axhausen and Abay, 2001).
    """
    with as_file(files(__name__) / "swissmetro.csv.gz") as path:
        return pd.read_csv(path)


def swissmetro_choices(
    version: Literal["semi-artificial", "real"] = "semi-artificial",
    *,
    noise_to: int | None = None,
    seed: int = 0,
) -> ChoiceData:
    """Swissmetro as prepared by Rodrigues, Ortelli, Bierlaire and Pereira.

    Parameters
    ----------
    version
        ``"semi-artificial"``: rows with a choice and a known age (10,710 rows, 1,190 persons),
        units as recorded. ``"real"``: also without purpose 9 (10,692 rows, 1,188 persons); TT and
        HE in hours, CO in hundreds of francs, purpose in three groups (1 commuting, 2 shopping,
        3 leisure).
    noise_to
        Add standard Gaussian noise attributes until the large space and they have this many
        columns for every alternative: 1000 makes the extreme space of the paper.
    seed
        Of the noise.

    Returns
    -------
    ChoiceData
        Levels carry the codes of the raw table (GA 1 is a holder of the season ticket); the last
        level is the reference. Costs are as recorded, also for season-ticket holders.
    """
    if version not in ("semi-artificial", "real"):
        raise ArdchoiceError(f"Swissmetro comes 'semi-artificial' or 'real', not {version!r}.")
    raw = swissmetro()
    raw = raw[(raw["CHOICE"] != 0) & (raw["AGE"] != 6)]
    purpose = Categorical()
    if version == "real":
        raw = raw[raw["PURPOSE"] != 9].copy()
        for mode in ("TRAIN", "SM", "CAR"):
            raw[f"{mode}_TT"] = raw[f"{mode}_TT"] / 60
            raw[f"{mode}_CO"] = raw[f"{mode}_CO"] * 0.01
            if mode != "CAR":
                raw[f"{mode}_HE"] = raw[f"{mode}_HE"] / 60
        merge = {COMMUTING: [1, 3, 5, 7], SHOPPING: [2, 6], LEISURE: [4, 8]}
        purpose = Categorical(merge=merge)
    data = read_wide(
        raw,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={
            "TT": "{alt}_TT",
            "CO": "{alt}_CO",
            "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"},
        },
        covariates={
            "GA": Categorical(),
            "AGE": Categorical(),
            "PURPOSE": purpose,
            "WHO": Categorical(),
            "LUGGAGE": Categorical(),
            "INCOME": Categorical(),
        },
        availability="{alt}_AV",
        person="ID",
    )
    return data if noise_to is None else _with_noise(data, noise_to, seed)


def _with_noise(data: ChoiceData, columns: int, seed: int) -> ChoiceData:
    rng = np.random.default_rng(seed)
    attributes = dict(data.attributes)
    for j, name in enumerate(data.alternatives):
        for k in range(columns - LARGE_SPACE_COLUMNS[name]):
            values = rng.standard_normal((1, len(data)))
            noise = f"{NOISE_PREFIX}{name}{k + 1}"
            attributes[noise] = Attribute(noise, (j,), values)
    return replace(data, attributes=attributes)


def swissmetro_specification(name: str) -> str:
    """A published specification in the grammar: S1 to S9 (semi-artificial), R1 to R7 (real)."""
    if name not in SPECIFICATIONS:
        hint = did_you_mean(name, SPECIFICATIONS)
        raise ArdchoiceError(f"There is no published specification {name!r}. {hint}")
    return textwrap.dedent(SPECIFICATIONS[name]).strip()
