"""A study file and its table, for the tests of the settings."""

from pathlib import Path

import ardchoice as ac

STUDY = '''\
# Swissmetro
[data]
table = "swissmetro.csv"
layout = "wide"
choice = "CHOICE"
availability = "{alt}_AV"
person = "ID"
drop_invalid = true

[data.alternatives]
TRAIN = 1
SM = 2
CAR = 3

[data.attributes]
TT = "{alt}_TT"
CO = { column = "{alt}_CO", kind = "numeric" }
HE = { TRAIN = "TRAIN_HE", SM = "SM_HE" }

[data.covariates]
GA = { kind = "categorical" }
AGE = { missing = "none", merge = { young = [1, 2], old = [3, 4, 5] } }
income = { column = "INCOME", edges = [2, 3], labels = ["none", "some", "much"] }
WHO = "WHO"

[space]
transforms = ["linear", "log1p", "segments( 4 )"]
by = ["GA", "AGE"]
base = "CAR"
add = ["TRAIN: sqrt(TT)"]

[structure]
signs = { TT = "-", CO = "-" }

[solver]
posterior = "diagonal"

[selection]
rule = "bic"

[output]
exports = ["biogeme"]

[output.compare]
plain = """
TRAIN: ASC + TT
CAR: TT
"""
'''


def write_study(folder: Path, rows: int = 900) -> Path:
    """The file and its table, the first persons only."""
    ac.datasets.swissmetro().head(rows).to_csv(folder / "swissmetro.csv", index=False)
    path = folder / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path
