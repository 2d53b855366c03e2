"""What `print(data)` shows: everything that matters, in lines of at most 80 characters."""

import warnings

import numpy as np
import pandas as pd
import pytest
from data_support import read_table, says, wide_table

import ardchoice as ac
from ardchoice.data import ChoiceData, datasets
from ardchoice.text import WIDTH

LONG = "the very long name of something that somebody exported from a questionnaire tool, item 27"


def assert_fits(data: ChoiceData) -> None:
    for line in str(data).splitlines():
        assert len(line) <= WIDTH, line
        assert line == line.rstrip()


def quiet(table: pd.DataFrame, **how: object) -> ChoiceData:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        return ac.read_wide(table, **how)  # type: ignore[arg-type]


def test_swissmetro_reads_as_the_modeller_knows_it() -> None:
    data = datasets.swissmetro_choices()
    assert_fits(data)
    text = str(data)
    says(text, "10,710 choice situations of 1,190 persons (9.0 each), 3 alternatives")
    says(text, "2 to 3 of them available at a time")
    raw = datasets.swissmetro().query("CHOICE != 0 and AGE != 6")
    share, chosen = (raw["CHOICE"] == 2).mean(), (raw["CHOICE"] == 2).sum()
    lines = [line.split() for line in text.splitlines()]
    assert ["SM", "100.0%", f"{chosen:,}", f"{share:.1%}"] in lines
    cars = raw.query("CAR_AV == 1")["CAR_TT"]
    assert ["CAR", f"{cars.min()}", f"{cars.mean():.4g}", f"{cars.max()}"] in lines
    says(text, f"0 ({(raw['GA'] == 0).mean():.1%}), 1* ({(raw['GA'] == 1).mean():.1%})")


def test_weights_and_their_sum_are_shown() -> None:
    data = read_table()
    assert_fits(data)
    says(str(data), "scaled to mean one (sum in the table: 11)", "weighted share")
    assert "weight" not in str(read_table(weight=None))


def test_situations_to_be_predicted_say_so() -> None:
    data = read_table(choice=None)
    assert_fits(data)
    says(str(data), "no observed choices (to be predicted)")


def test_numbers_in_the_thousands_are_written_out() -> None:
    text = str(read_table(wide_table().assign(INCOME=[25_000.5, 31_000] * 4)))
    says(text, "numeric, 25,000 to 31,000 (mean 28,000)")


def test_long_names_are_shortened_to_fit() -> None:
    table = wide_table()
    table["other"] = [LONG.upper(), LONG[::-1]] * 4
    for name in ("a", "b"):
        table[f"x {LONG} {name}"] = table["BUS_TT"] + (name == "a")
        table[f"seat {name}"] = [f"{LONG} {i % 3}" for i in range(8)]
    names = {LONG: 1, LONG + " too": 2}
    data = quiet(
        table,
        alternatives=names,
        choice="CLASS",
        attributes={
            f"x {LONG}": dict(zip(names, [f"x {LONG} a", f"x {LONG} b"], strict=True)),
            f"seat {LONG}": dict(zip(names, ["seat a", "seat b"], strict=True)),
        },
        covariates={LONG: "other", LONG + " again": "INCOME", "short": "CITY"},
    )
    assert_fits(data)
    says(str(data), "the very", "item 27", "…")


def test_names_with_line_breaks_stay_on_their_line() -> None:
    table = wide_table().rename(columns={"CITY": "a\nb\tc"})
    table["a\nb\tc"] = ["x\ny", "z"] * 4
    table["CHOICE"] = table["CHOICE"].map({1: "b\nus", 2: "car", 3: "car"})
    data = quiet(
        table,
        alternatives=["b\nus", "car"],
        choice="CHOICE",
        attributes={"t\nt": {"b\nus": "BUS_TT", "car": "CAR_TT"}},
        covariates=["a\nb\tc"],
    )
    assert_fits(data)
    says(str(data), "b us ", "t t ", "a b c  2 levels", "x y (50.0%)")


def test_many_levels_are_cut_short_but_counted() -> None:
    table = pd.concat([wide_table()] * 20, ignore_index=True)
    table["CITY"] = [f"city number {i % 97}" for i in range(160)]
    table["BUS_SEAT"] = [f"seat of kind {i % 50}" for i in range(160)]
    data = quiet(
        table,
        alternatives={"BUS": 1, "CAR": 2, "RAIL": 3},
        choice="CHOICE",
        attributes={"SEAT": {"BUS": "BUS_SEAT"}},
        covariates={"CITY": ac.Categorical()},
        max_levels=100,
    )
    assert_fits(data)
    says(str(data), "97 levels", "50 levels", "...", "city number 96", "* (")
    assert len(str(data).splitlines()) < 40


def two_hundred() -> ChoiceData:
    rng = np.random.default_rng(0)
    n, count = 400, 200
    table = pd.DataFrame(
        {"picked": rng.integers(1, count + 1, n)}
        | {f"x{j}": rng.normal(size=n) * 1e5 for j in range(1, count + 1)}
        | {f"y{j}": rng.normal(size=n) for j in range(1, count // 2)}
    )
    return quiet(
        table,
        alternatives=range(1, count + 1),
        choice="picked",
        attributes={"x": "x{alt}", "y": "y{alt}"},
    )


def test_two_hundred_alternatives_fit_and_are_counted() -> None:
    data = two_hundred()
    assert_fits(data)
    says(str(data), "400 choice situations, 200 alternatives", "... and 188 more")
    assert len(str(data).splitlines()) < 40


def test_many_warnings_do_not_drown_the_page() -> None:
    table = wide_table().assign(**{f"z{k}": 1.5 for k in range(30)})
    with pytest.warns(ac.ArdchoiceWarning):
        data = read_table(table, covariates=[f"z{k}" for k in range(30)])
    assert len(data.warnings) == 30
    assert_fits(data)
    says(str(data), "8. z7 (column 'z7')", "... and 22 more, in data.warnings")
    assert "z8 (column" not in str(data)


def test_warnings_are_listed_and_wrapped() -> None:
    table = wide_table().assign(CAR_TT=7.5, INCOME=1.5)
    with pytest.warns(ac.ArdchoiceWarning):
        data = read_table(table)
    assert_fits(data)
    text = " ".join(str(data).split())
    assert len(data.warnings) == 2
    for i, problem in enumerate(data.warnings, 1):
        says(text, f"{i}. {problem.message}")


def test_the_short_form_says_what_it_is() -> None:
    assert repr(read_table()) == "<ChoiceData: 8 situations, 4 persons, 3 alternatives>"
    assert repr(read_table(person=None)) == "<ChoiceData: 8 situations, 3 alternatives>"
