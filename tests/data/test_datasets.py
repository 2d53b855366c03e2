"""Swissmetro as shipped, as the paper prepared it, and the specifications it published."""

import json
from pathlib import Path

import numpy as np
import pytest
from data_support import says, the_refusal

import ardchoice as ac
from ardchoice.data.datasets import swissmetro, swissmetro_choices, swissmetro_specification

PAPER = json.loads((Path(__file__).parents[1] / "reference" / "paper.json").read_text())
PUBLISHED = PAPER["true_specifications"] | PAPER["real_specifications"]


def test_the_raw_table_has_the_published_size() -> None:
    raw = swissmetro()
    assert raw.shape == (10_728, 28)
    assert raw["ID"].nunique() == 1_192
    assert (raw.groupby("ID").size() == 9).all()
    assert not raw.isna().any(axis=None)


def test_the_raw_table_can_be_changed_without_changing_the_next_one() -> None:
    raw = swissmetro()
    raw["CHOICE"] = 0
    assert swissmetro()["CHOICE"].max() == 3


@pytest.mark.parametrize(
    "version, rows, persons", [("semi-artificial", 10_710, 1_190), ("real", 10_692, 1_188)]
)
def test_both_versions_have_the_size_of_the_paper_and_no_warnings(
    version: str, rows: int, persons: int
) -> None:
    data = swissmetro_choices(version)  # type: ignore[arg-type]
    assert len(data) == rows
    assert data.n_persons == persons
    assert data.alternatives == ("TRAIN", "SM", "CAR")
    assert data.warnings == ()
    assert data.attributes["HE"].alternatives == (0, 1)


def test_semi_artificial_data_are_in_the_units_recorded() -> None:
    raw = swissmetro().query("CHOICE != 0 and AGE != 6")
    data = swissmetro_choices("semi-artificial")
    for j, mode in enumerate(data.alternatives):
        used = raw[f"{mode}_AV"].to_numpy() == 1
        np.testing.assert_array_equal(data.available[j], used)
        for name in ("TT", "CO") if mode == "CAR" else ("TT", "CO", "HE"):
            np.testing.assert_array_equal(
                data.attributes[name].of(j)[used], raw[f"{mode}_{name}"][used]
            )
    np.testing.assert_array_equal(data.chosen(), raw["CHOICE"] - 1)


def test_categories_have_as_many_levels_as_in_the_paper() -> None:
    covariates = swissmetro_choices("semi-artificial").covariates
    counts = {name: len(c.levels or ()) for name, c in covariates.items()}
    expected = {"GA": 2, "AGE": 5, "PURPOSE": 9, "WHO": 4, "LUGGAGE": 3, "INCOME": 5}
    assert counts == expected
    assert all(c.reference == len(c.levels or ()) - 1 for c in covariates.values())


def test_real_data_are_in_hours_and_hundreds_with_three_purposes() -> None:
    raw = swissmetro().query("CHOICE != 0 and AGE != 6 and PURPOSE != 9")
    data = swissmetro_choices("real")
    units = {"TT": 60.0, "HE": 60.0, "CO": 100.0}
    for name, attribute in data.attributes.items():
        for j in attribute.alternatives:
            used = data.available[j]
            recorded = raw[f"{data.alternatives[j]}_{name}"].to_numpy()[used]
            # A product by 0.01 and a quotient by 100 differ in the last bit.
            np.testing.assert_allclose(attribute.of(j)[used], recorded / units[name], rtol=1e-15)
    purpose = data.covariates["PURPOSE"]
    assert purpose.levels == ("1", "2", "3")
    groups = {1: "1", 3: "1", 5: "1", 7: "1", 2: "2", 6: "2", 4: "3", 8: "3"}
    assert [purpose.levels[c] for c in purpose.values] == raw["PURPOSE"].map(groups).tolist()


def in_the_grammar(term: str) -> str:
    """A term as the paper writes it, in ours."""
    what, *by = term.split(" x ")
    what = what.replace("log(", "log1p(")
    if what.startswith("box("):
        what = what.replace("box(", "boxcox(").replace(")", ", 1)")
    return " x ".join([what, *(c.upper() for c in by)])


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_specification_is_that_of_the_paper(name: str) -> None:
    ours = [str(term) for term in ac.parse_specification(swissmetro_specification(name)).terms]
    modes = ("TRAIN", "SM", "CAR")
    theirs = [f"{m}: {in_the_grammar(t)}" for m in modes for t in PUBLISHED[name][m]]
    theirs = [str(ac.parse_term(t)) for t in theirs]
    assert sorted(ours) == sorted(theirs)


def test_there_are_sixteen_published_specifications() -> None:
    expected = [f"S{i}" for i in range(1, 10)] + [f"R{i}" for i in range(1, 8)]
    assert sorted(PUBLISHED) == sorted(expected)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    says(the_refusal(lambda: swissmetro_specification("R8")), "'R8'", "R7")
    says(the_refusal(lambda: swissmetro_choices("reel")), "'reel'", "'real'")  # type: ignore[arg-type]
