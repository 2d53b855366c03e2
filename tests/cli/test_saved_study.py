"""Exporting and reporting a saved study."""

from pathlib import Path

import pytest
from cli_support import command, german

import ardchoice as ac
from ardchoice.exports import FORMATS, PACKAGES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved")
    data = ac.read_wide(
        german(place),
        alternatives=["Zug", "Auto", "Velo"],
        choice="Wahl",
        attributes={"Zeit": "Zeit_{alt}", "Preis": {"Zug": "Preis_Zug", "Auto": "Preis_Auto"}},
        covariates=["Geschlecht"],
        person="Person",
    )
    ac.specify(data, ac.SearchSpace(data, by=["Geschlecht"])).save(place / "study")
    return place


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_gets_a_file_of_its_own_name(
    folder: Path, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = command("export", folder / "study", package).stdout.strip()
    assert printed == FORMATS[package].file_name
    assert (tmp_path / printed).stat().st_size > 100
    assert "--force" in command("export", folder / "study", package, code=3).stderr
    command("export", folder / "study", package, "--force")


def test_utilities_are_printed_and_scripts_are_not(folder: Path) -> None:
    assert "Zug" in command("export", folder / "study", "text", "--out", "-").stdout
    assert "\\" in command("export", folder / "study", "latex", "--out", "-").stdout
    said = command("export", folder / "study", "biogeme", "--out", "-", code=2).stderr
    assert "written to a file" in said


def test_an_unknown_package_is_wrong_usage(folder: Path) -> None:
    assert "biogeme" in command("export", folder / "study", "biogem", code=2).stderr


def test_the_report_is_written_once(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "talk.html"
    done = command("report", folder / "study", "--out", out)
    assert done.stdout.strip() == str(out)
    assert "<html" in out.read_text(encoding="utf-8")
    assert "--force" in command("report", folder / "study", "--out", out, code=3).stderr


def test_a_study_that_was_tampered_with_is_refused(folder: Path, tmp_path: Path) -> None:
    index = (folder / "study" / "study.json").read_text(encoding="utf-8")
    place = tmp_path / "study"
    place.mkdir()
    (place / "study.json").write_text(index.replace("Zeit", "Zoit"), encoding="utf-8")
    assert "study.json" in command("report", place, "--out", tmp_path / "r.html", code=3).stderr


def test_a_report_is_no_file_called_dash(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "a file" in command("report", folder / "study", "--out", "-", code=2).stderr
    assert not list(tmp_path.iterdir())


def test_what_stands_beside_a_script_is_not_overwritten_unawares(
    folder: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "trips_choices.csv"
    mine.write_text("mine")
    told = command("export", folder / "study", "biogeme", "--out", tmp_path / "trips.py", code=3)
    assert "trips_choices.csv" in told.stderr
    assert mine.read_text() == "mine"
    command("export", folder / "study", "text", "--out", tmp_path / "trips.txt")
