"""Predicting new situations by a saved study."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_support import MODES, command, german

import ardchoice as ac


def saved(data: ac.ChoiceData, folder: Path) -> ac.Study:
    study = ac.specify(data, ac.SearchSpace(data, generic=True, specific=False))
    study.save(folder)
    return study


@pytest.fixture
def wide(tmp_path: Path) -> tuple[Path, ac.Study]:
    """A study of a table with semicolons, decimal commas and umlauts."""
    data = ac.read_wide(
        german(tmp_path),
        alternatives=["Zug", "Auto", "Velo"],
        choice="Wahl",
        attributes={"Zeit": "Zeit_{alt}", "Preis": {"Zug": "Preis_Zug", "Auto": "Preis_Auto"}},
        covariates=["Geschlecht"],
        person="Person",
    )
    return tmp_path, saved(data, tmp_path / "study")


def test_the_studys_own_table_is_predicted_as_the_study_does(wide: tuple[Path, ac.Study]) -> None:
    folder, study = wide
    printed = command("predict", folder / "study", folder / "wege.csv").stdout
    read = pd.read_csv(io.StringIO(printed), index_col="row")
    assert list(read.columns) == ["Zug", "Auto", "Velo"]
    assert np.allclose(read, study.result.predict())


def test_a_file_is_written_once_and_again_only_when_told(wide: tuple[Path, ac.Study]) -> None:
    folder, _ = wide
    table, out = folder / "wege.csv", folder / "p.csv"
    words = ("predict", folder / "study", table, "--out", out)
    assert command(*words).stdout.strip() == str(out)
    before = out.read_bytes()
    assert "--force" in command(*words, code=3).stderr
    command(*words, "--force")
    assert out.read_bytes() == before
    said = command("predict", folder / "study", table, "--out", table, "--force", code=3)
    assert "the table itself" in said.stderr


def test_a_table_without_what_the_model_needs_is_refused_by_name(
    wide: tuple[Path, ac.Study],
) -> None:
    folder, _ = wide
    table = pd.read_csv(folder / "wege.csv", sep=";", decimal=",", encoding="latin-1")
    # The choice, the person and what the model does not use need not be there.
    table[[c for c in table if "_" in c]].to_csv(folder / "new.csv", index=False)
    assert len(command("predict", folder / "study", folder / "new.csv").stdout.split()) == 501
    table.rename(columns={"Zeit_Zug": "Zeit_zug"}).to_csv(folder / "new.csv", index=False)
    said = command("predict", folder / "study", folder / "new.csv", code=3).stderr
    assert "'Zeit_Zug'" in said
    assert "Did you mean 'Zeit_zug'" in said


def test_rows_that_cannot_be_predicted_keep_their_place_and_are_told(
    wide: tuple[Path, ac.Study],
) -> None:
    folder, study = wide
    table = pd.read_csv(folder / "wege.csv", sep=";", decimal=",", encoding="latin-1")[:6]
    table["Zeit_Auto"] = table["Zeit_Auto"].astype(object)
    table.loc[1, "Zeit_Auto"] = None
    table.loc[4, "Zeit_Auto"] = "?"
    table.to_csv(folder / "new.csv", index=False)
    said = command("predict", folder / "study", folder / "new.csv")
    read = pd.read_csv(io.StringIO(said.stdout), index_col="row")
    assert read.index.tolist() == [0, 1, 2, 3, 4, 5]
    assert read.isna().all(axis=1).tolist() == [False, True, False, False, True, False]
    assert np.allclose(read.drop([1, 4]), study.result.predict()[:6].drop([1, 4]))
    assert "2 rows (1, 4) cannot be predicted" in said.stderr
    assert "drop_invalid" not in said.stderr


def test_long_tables_are_told_by_their_situations(tmp_path: Path) -> None:
    data = ac.read_long(
        MODES,
        situation="individual",
        alternative="mode",
        chosen="choice",
        attributes=["gc", "invt"],
    )
    study = saved(data, tmp_path / "study")
    table = pd.read_csv(MODES, sep=";")
    table[table["individual"] > 200].drop(columns="choice").to_csv(tmp_path / "new.csv")
    printed = command("predict", tmp_path / "study", tmp_path / "new.csv").stdout
    read = pd.read_csv(io.StringIO(printed), index_col="individual")
    assert list(read.index) == list(range(201, 211))
    assert np.allclose(read, study.result.predict()[-10:])


def test_names_that_spreadsheets_would_calculate_are_inert(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["=cmd|' /C calc'!A0", "+1", 'a\nb,"c"']
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=[f"x {n}" for n in names])
    value = table.to_numpy() + rng.gumbel(size=(300, 3))
    table["pick"] = np.array(names)[value.argmax(axis=1)]
    data = ac.read_wide(table, alternatives=names, choice="pick", attributes={"x": "x {alt}"})
    study = saved(data, tmp_path / "study")
    table.to_csv(tmp_path / "new.csv", index=False)
    printed = command("predict", tmp_path / "study", tmp_path / "new.csv").stdout
    read = pd.read_csv(io.StringIO(printed), index_col="row")
    assert not any(str(c).startswith(("=", "+")) for c in read.columns)
    assert np.allclose(read, study.result.predict())


@pytest.mark.parametrize("what", ["nothing", "empty", "file"])
def test_what_is_no_study_is_told(tmp_path: Path, what: str) -> None:
    place = tmp_path / what
    if what == "empty":
        place.mkdir()
    elif what == "file":
        place.write_text("no study")
    assert "study" in command("predict", place, MODES, code=3).stderr
