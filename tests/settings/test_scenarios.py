"""Scenarios of a study file: read, checked before a run, in the report, saved, written again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.run import run_study
from ardchoice.settings import agree, parse_settings, settings_of, to_toml

STUDY = """
[data]
table = "choices.csv"
alternatives = ["TRAIN", "SM", "CAR"]
choice = "CHOICE"
attributes = {TT = "{alt}_TT", CO = "{alt}_CO"}
covariates = ["GA"]
person = "ID"

[space]
base = "CAR"
by = ["GA"]

[output]
folds = 0
exports = []

[scenarios]
"dearer <b>trains</b>" = "TRAIN: CO * 1.1"
both = ["TRAIN: CO + 10%", "SM: unavailable"]
segments = {changes = ["*: TT * 0.9"], by = ["GA"], where = "GA == 0 or TRAIN.TT > 1"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study")
    raw = ac.datasets.swissmetro().query("CHOICE != 0")[:1800]
    names = {1: "TRAIN", 2: "SM", 3: "CAR"}
    table = pd.DataFrame({"ID": raw["ID"], "CHOICE": raw["CHOICE"].map(names), "GA": raw["GA"]})
    for mode in names.values():
        table[f"{mode}_TT"] = raw[f"{mode}_TT"] / 60
        table[f"{mode}_CO"] = raw[f"{mode}_CO"] / 100 * (1 if mode == "CAR" else raw["GA"] == 0)
    table.to_csv(place / "choices.csv", index=False)
    return place


@pytest.fixture(scope="module")
def study(folder: Path) -> ac.Study:
    return run_study(parse_settings(STUDY), folder / "results", base=folder)


def test_a_run_has_the_scenarios_of_its_study_file(study: ac.Study, folder: Path) -> None:
    assert study.evaluation is not None
    found = {one.name: one for one in study.evaluation.scenarios}
    assert list(found) == ["dearer <b>trains</b>", "both", "segments"]
    expected = study.result.scenario("TRAIN: CO + 10%; SM: unavailable")
    np.testing.assert_allclose(found["both"].shares["scenario"], expected.shares["scenario"])
    np.testing.assert_allclose(found["both"].shares["choices"], expected.counts["change"])
    assert set(found["segments"].shares["segment"]) == {"all", "GA=0", "GA=1"}
    page = (folder / "results" / "report.html").read_text(encoding="utf-8")
    assert 'id="scenarios"' in page
    assert "dearer <b>" not in page
    assert (folder / "results" / "figures" / "scenarios.png").exists()


def test_saved_scenarios_are_loaded_and_written_as_settings(study: ac.Study, folder: Path) -> None:
    again = ac.load(folder / "results")
    assert study.evaluation is not None
    assert again.evaluation is not None
    for one, other in zip(study.evaluation.scenarios, again.evaluation.scenarios, strict=True):
        pd.testing.assert_frame_equal(one.shares, other.shares)
        assert (one.changes, one.by, one.where) == (other.changes, other.by, other.where)
    settings = settings_of(again, folder)
    assert settings.scenarios == parse_settings(STUDY).scenarios
    assert parse_settings(to_toml(settings)).scenarios == settings.scenarios


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('a = "TRAIN: CO ** 2"', "one '\\*'"),
        ("a = []", "must not be empty"),
        ('a = {changes = "TRAIN: CO * 2", where = "GA ==="}', "where"),
        ('a = {change = "TRAIN: CO * 2"}', "change"),
        ('a = "TRAIN: PRICE * 2"', "no attribute 'PRICE'"),
        ('a = "*: unavailable"', "Nothing is left"),
        ('a = {changes = "TRAIN: CO * 2", by = "AGE"}', "no categorical covariate 'AGE'"),
    ],
)
def test_wrong_scenarios_are_said_before_a_run(line: str, message: str, folder: Path) -> None:
    text = STUDY[: STUDY.index("[scenarios]")] + f"[scenarios]\n{line}\n"
    with pytest.raises(ac.SettingsError, match=message):
        settings = parse_settings(text)
        agree(settings, settings.read_choices(folder))
