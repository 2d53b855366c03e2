"""Roles do not depend on how names are written, nor on the order of columns."""

import re
from pathlib import Path

import pandas as pd
from test_guess import MODE_CHOICE, survey, written

from ardchoice.settings import guess_settings, parse_settings
from ardchoice.settings.guess.prefix import common_prefix

TIMES = 40


def study_of(frame: pd.DataFrame, folder: Path):
    return parse_settings(guess_settings(written(frame, folder))).data


def test_codes_are_matched_by_what_people_avoid_whatever_the_order_of_columns(tmp_path: Path):
    frame = survey()
    turned = frame[["TimeCar", "CostCar", *(c for c in frame if c not in ("TimeCar", "CostCar"))]]
    for table in (frame, turned):
        data = study_of(table, tmp_path)
        assert data.alternatives == {"PT": "0", "Car": "1"}
        # It is evidence, not certainty.
        assert data.guesses == ("alternatives",)
    text = " ".join(guess_settings(written(turned, tmp_path)).replace("\n#", " ").split())
    assert "people tend to choose what costs them less money and time" in text


def test_letters_before_every_name_change_no_role(tmp_path: Path):
    plain, prefixed = survey(), survey().add_prefix("q_")
    one, other = study_of(plain, tmp_path), study_of(prefixed, tmp_path)
    assert other.choice == "q_Choice"
    assert other.alternatives == one.alternatives
    assert set(other.attributes) == set(one.attributes)
    cost = other.attributes["Cost"].column
    assert cost in ("q_Cost{alt}", {"PT": "q_CostPT", "Car": "q_CostCar"})
    assert other.covariates["Income"].column == "q_Income"
    assert common_prefix(["a_b", "a_c", "b_d", "a_e"]) == ""
    assert common_prefix(["time_bus", "time_car", "time_tram", "time_"]) == ""


def test_a_numbered_name_is_no_alternative_and_counts_of_people_are_covariates(tmp_path: Path):
    separated = survey().rename(columns=lambda c: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", c).upper())
    data = study_of(separated, tmp_path)
    assert set(data.attributes) == {"TIME", "COST"}
    assert "NB_CAR" in data.covariates


def test_a_long_table_under_forty_other_namings(load, monkeypatch) -> None:
    first = load("first_answer")
    known = first.TABLES["modechoice"]
    monkeypatch.setattr(first, "fetch", lambda *_: MODE_CHOICE)
    same, wrong = first.renamed_share(known, TIMES, 0)
    assert (same, wrong) == (TIMES, [])


def test_the_benchmark_reports_a_table_end_to_end(load, monkeypatch, tmp_path: Path) -> None:
    first = load("first_answer")
    monkeypatch.setattr(first, "fetch", lambda *_: MODE_CHOICE)
    answer = first.first_answer("modechoice", first.TABLES["modechoice"], tmp_path)
    assert (answer.roles, answer.exits, answer.wrong_signs) == ("right", "0", 0)
    assert answer.textbook > -0.01
    assert answer.holds
