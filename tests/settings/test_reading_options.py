"""Derived columns, filters and text options of a study file: read, checked, written, kept."""

from pathlib import Path

import numpy as np
import pytest
from settings_support import STUDY, write_study

import ardchoice as ac
from ardchoice.settings import check_study, parse_settings, read_settings, to_toml

MORE = STUDY.replace(
    "[data.alternatives]",
    'where = "CHOICE != 0 and PURPOSE in (1, 3)"\n'
    'missing_values = { income = [4], "*" = [99999] }\n'
    'separator = ","\ncomment = "#"\nskip_rows = 1\n\n'
    '[data.derive]\nTRAIN_CO = "TRAIN_CO * (GA == 0)"\nLONG = "TRAIN_TT > 200"\n\n'
    "[data.alternatives]",
).replace('WHO = "WHO"', 'WHO = "WHO"\nLONG = "LONG"')


def write_more(folder: Path, text: str = MORE) -> Path:
    write_study(folder)
    table = folder / "swissmetro.csv"
    table.write_text("a survey\n" + table.read_text().replace("\n", " # note\n", 3))
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
def test_a_study_file_derives_and_filters_like_python(tmp_path: Path) -> None:
    path = write_more(tmp_path)
    data = read_settings(path).read_choices(tmp_path)
    table = ac.datasets.swissmetro().head(900)
    table = table[(table.CHOICE != 0) & table.PURPOSE.isin([1, 3]) & (table.INCOME != 4)]
    assert len(data) == len(table) > 100
    co = data.attributes["CO"]
    expected = np.where(table.GA == 0, table.TRAIN_CO, 0.0)
    np.testing.assert_array_equal(co.of(0)[data.available[0]], expected[data.available[0]])
    assert data.covariates["LONG"].levels == ("0", "1")


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
def test_encoding_separator_and_decimal_sign_of_a_study_file_are_those_of_the_table(
    tmp_path: Path,
) -> None:
    path = write_study(tmp_path)
    expected = read_settings(path).read_choices(tmp_path)
    table = ac.datasets.swissmetro().head(900)
    table["TRAIN_TT"] = table["TRAIN_TT"] / 8
    given = 'separator = "~"\nencoding = "cp437"\ndecimal = ","\n\n[data.alternatives]'
    text = STUDY.replace("[data.alternatives]", given).replace("[1, 2]", '["ä1", "ä2"]')
    path.write_text(text.replace("[3, 4, 5]", '["ä3", "ä4", "ä5"]'), encoding="utf-8")
    table["AGE"] = "ä" + table["AGE"].astype(str)
    table.to_csv(tmp_path / "swissmetro.csv", index=False, sep="~", decimal=",", encoding="cp437")
    data = read_settings(path).read_choices(tmp_path)
    np.testing.assert_array_equal(data.chosen(), expected.chosen())
    at = data.available[0]
    np.testing.assert_array_equal(
        data.attributes["TT"].of(0)[at], expected.attributes["TT"].of(0)[at] / 8
    )
    age, before = data.covariates["AGE"], expected.covariates["AGE"]
    assert age.levels is not None
    assert before.levels is not None
    np.testing.assert_array_equal(
        np.array(age.levels)[age.values.astype(int)],
        np.array(before.levels)[before.values.astype(int)],
    )


def test_they_are_written_and_read_again() -> None:
    settings = parse_settings(MORE)
    assert parse_settings(to_toml(settings)) == settings
    assert settings.data.where == "CHOICE != 0 and PURPOSE in (1, 3)"
    assert settings.data.missing_values == {"income": ("4",), "*": ("99999",)}


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")
def test_check_shows_them(tmp_path: Path) -> None:
    shown = check_study(write_more(tmp_path))
    assert "only where CHOICE != 0 and PURPOSE in (1, 3)" in shown
    assert "derived: TRAIN_CO = TRAIN_CO * (GA == 0)" in shown


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"CHOICE != 0 and', '"CHOICE = 0 and', "data.where: column 8: '=' cannot stand here"),
        ("* (GA == 0)", "* (GAA == 0)", "data.derive.TRAIN_CO: column 'GAA' is not in"),
        ("* (GA == 0)", "* (GA == 0", "data.derive.TRAIN_CO: column 20: expected ')' here"),
        ("PURPOSE in", "PURPOS in", "data.where: column 'PURPOS' is not in"),
        ('separator = ","', 'separator = ",,"', "data: separator is one character"),
        ("skip_rows = 1", "skip_rows = -1", "data.skip_rows: must be at least 0"),
        ("income = [4]", "incme = [4]", "missing_values names 'incme'"),
    ],
)
def test_mistakes_are_told_with_their_line(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in MORE
    path = write_more(tmp_path, MORE.replace(old, new))
    with pytest.raises(ac.ArdchoiceError) as caught:
        check_study(path)
    assert message in str(caught.value)
