"""Scripts of published examples are read and estimated to the published log-likelihood."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from foreign_scripts import APOLLO, BIOGEME, BIOGEME_DATA, PYLOGIT, XLOGIT

import ardchoice as ac
from ardchoice.scripts import ScriptModel

LOGLIK = 5e-4
"""Log-likelihoods are published to three decimals."""
ESTIMATE = 5e-4
"""Estimates are published to four digits or more."""
SIMPLE = -5331.252
"""Of Biogeme's b01logit, in its documentation."""
SEGMENTED = -4943.895
"""Of the same with constants segmented by gender and season ticket, its example b01b."""
PYLOGIT_PUBLISHED = {
    "ASC Train": -1.2929,
    "ASC Swissmetro": -0.5026,
    "Travel Time, units:hrs (Train and Swissmetro)": -0.6990,
    "Travel Time, units:hrs (Car)": -0.7230,
    "Travel Cost * (Annual Pass == 0), units: 0.01 CHF (Train)": -0.5618,
    "Travel Cost * (Annual Pass == 0), units: 0.01 CHF (Swissmetro)": -0.2817,
    "Travel Cost, units: 0.01 CHF (Car)": -0.5139,
    "Headway, units:hrs, (Train)": -0.3143,
    "Headway, units:hrs, (Swissmetro)": -0.3773,
    "Airline Seat Configuration, base=No (Swissmetro)": -0.7825,
    "Surveyed on a Train, base=No, (Train and Swissmetro)": 2.5425,
    "First Class == False, (Swissmetro)": 0.5650,
    "Number of Luggage Pieces == 1, (Car)": 0.4228,
    "Number of Luggage Pieces > 1, (Car)": 1.4141,
}
"""Of PyLogit's main example, in its documentation; the log-likelihood is -5,159.258."""


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return ac.datasets.swissmetro()


def estimated(model: ScriptModel, table: pd.DataFrame) -> ac.Result:
    """The model on the survey; nothing may be left that was not understood."""
    assert model.not_understood == ()
    return model.fit(model.read(table))


def estimates(model: ScriptModel, result: ac.Result) -> dict[str, float]:
    """Estimates by the names of the script."""
    found = result.to_frame()["estimate"]
    return {name: float(found[str(term)]) for name, term in model.names.items()}


def test_biogemes_first_example_with_its_module_of_data(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "swissmetro_data.py").write_text(BIOGEME_DATA)
    (tmp_path / "b01logit.py").write_text(BIOGEME)
    model = ac.read_specification(tmp_path / "b01logit.py")
    result = estimated(model, table)
    assert result.loglik == pytest.approx(SIMPLE, abs=LOGLIK)
    assert result.n_situations == 6768
    published = {"ASC_CAR": -0.1546, "ASC_TRAIN": -0.7012, "B_COST": -1.0838, "B_TIME": -1.2779}
    assert estimates(model, result) == pytest.approx(published, abs=ESTIMATE)
    assert model.table == "swissmetro.dat"
    assert list(model.reading["alternatives"]) == ["TRAIN", "SM", "CAR"]


def test_biogemes_segmented_constants(table: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "swissmetro_data.py").write_text(BIOGEME_DATA)
    segments = """
from biogeme.segmentation import DiscreteSegmentationTuple, Segmentation
by = [
    database.generate_segmentation(variable='MALE', mapping={0: 'female', 1: 'male'}),
    DiscreteSegmentationTuple(variable=GA, mapping={1: 'pass', 0: 'none'}, reference='none'),
]
ASC_CAR = Segmentation(ASC_CAR, by).segmented_beta()
ASC_TRAIN = Segmentation(ASC_TRAIN, by).segmented_beta()
"""
    script = BIOGEME.replace("    database, CHOICE,", "    database, GA, CHOICE,")
    script = script.replace("\nV1 = ", f"{segments}\nV1 = ", 1)
    (tmp_path / "segmented.py").write_text(script)
    model = ac.read_specification(tmp_path / "segmented.py")
    result = estimated(model, table)
    assert result.loglik == pytest.approx(SEGMENTED, abs=LOGLIK)
    found = estimates(model, result)
    assert found["ASC_TRAIN_diff_pass"] == pytest.approx(1.8893, abs=ESTIMATE)
    assert found["ASC_CAR_diff_male"] == pytest.approx(0.4081, abs=ESTIMATE)
    assert found["ASC_CAR_ref"] == pytest.approx(-0.6129, abs=ESTIMATE)


def test_names_of_a_module_that_is_not_there_are_columns_and_said(table: pd.DataFrame) -> None:
    model = ac.read_specification(BIOGEME)
    (doubt,) = model.not_understood
    assert "taken for columns" in doubt.reason
    assert "CAR_TT_SCALED" in doubt.reason
    scaled = table.assign(
        **{f"{a}_TT_SCALED": table[f"{a}_TT"] / 100 for a in ("TRAIN", "SM", "CAR")},
        TRAIN_COST_SCALED=table["TRAIN_CO"] * (table["GA"] == 0) / 100,
        SM_COST_SCALED=table["SM_CO"] * (table["GA"] == 0) / 100,
        CAR_CO_SCALED=table["CAR_CO"] / 100,
        TRAIN_AV_SP=table["TRAIN_AV"],
        CAR_AV_SP=table["CAR_AV"],
    ).query("PURPOSE in (1, 3) and CHOICE != 0")
    assert model.fit(model.read(scaled)).loglik == pytest.approx(SIMPLE, abs=LOGLIK)


def test_pylogits_main_example(table: pd.DataFrame) -> None:
    model = ac.read_specification(PYLOGIT)
    result = estimated(model, table)
    assert result.loglik == pytest.approx(-5159.258, abs=LOGLIK)
    assert estimates(model, result) == pytest.approx(PYLOGIT_PUBLISHED, abs=ESTIMATE)


def test_xlogits_way_of_writing_it(table: pd.DataFrame) -> None:
    model = ac.read_specification(XLOGIT)
    assert estimated(model, table).loglik == pytest.approx(SIMPLE, abs=LOGLIK)
    # The script replaces codes by names; the file has the codes.
    assert model.reading["alternatives"] == {"TRAIN": 1, "SM": 2, "CAR": 3}


def test_apollos_way_of_writing_it(table: pd.DataFrame) -> None:
    model = ac.read_specification(APOLLO)
    assert model.package == "apollo"
    assert estimated(model, table).loglik == pytest.approx(SIMPLE, abs=LOGLIK)
    assert model.start == {"*: cost": -0.1}
    assert "asc_sm" not in model.names  # fixed at zero
