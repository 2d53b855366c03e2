"""Python scripts make our columns of the user's own table, and our log-likelihood of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from export_models import (
    EVERY_TRANSFORM,
    MODECHOICE,
    MODECHOICE_SPECIFICATION,
    ODD_CORNERS,
    RAGGED_SPECIFICATION,
    ROLES,
    corners,
    modechoice,
    modechoice_by_two,
    odd_corners,
    products,
    ragged,
    trips,
    wide,
)
from export_support import check_scripts, namespace

import ardchoice as ac


def reads(script: Path) -> str:
    """The name of the table that a script reads."""
    return Path(namespace(script)["DATA"]).name


# -- The user's own file -------------------------------------------------------------------------

FORMATS = {
    "comma.csv": {},
    "semicolon.csv": {"sep": ";", "decimal": ",", "encoding": "cp1252"},
    "tab.tsv": {"sep": "\t"},
    "packed.csv.gz": {},
    "marked.csv": {"encoding": "utf-8-sig"},
    "sixteen.csv": {"encoding": "utf-16"},
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_wide_file_is_read_as_we_read_it(tmp_path: Path, name: str) -> None:
    trips().to_csv(tmp_path / name, index=False, **FORMATS[name])
    result = ac.fit_mnl(wide(tmp_path / name), EVERY_TRANSFORM)
    scripts = check_scripts(result, tmp_path)
    assert {reads(s) for s in scripts.values()} == {name}


def test_a_parquet_file_with_declared_categories_is_read_as_we_read_it(tmp_path: Path) -> None:
    table = trips()
    table["sex"] = pd.Categorical(table["sex"], ["x", "m", "f"])
    table["age"] = table["age"].astype("Int64")
    table["c_bus"] = table["c_bus"].astype("Float64")  # with missing values where unavailable
    table.to_parquet(tmp_path / "trips.parquet")
    scripts = check_scripts(ac.fit_mnl(wide(tmp_path / "trips.parquet"), EVERY_TRANSFORM), tmp_path)
    assert reads(scripts["biogeme"]) == "trips.parquet"
    assert "pip install pyarrow" in scripts["biogeme"].read_text()


def test_rows_that_end_in_a_separator_are_read_as_we_read_them(tmp_path: Path) -> None:
    lines = trips().to_csv(index=False).splitlines()
    path = tmp_path / "tail.csv"
    path.write_text("\n".join([lines[0], *(line + "," for line in lines[1:])]) + "\n")
    check_scripts(ac.fit_mnl(wide(path), EVERY_TRANSFORM), tmp_path)


def test_odd_corners_are_met(tmp_path: Path) -> None:
    odd_corners().to_csv(tmp_path / "odd.csv", index=False)
    for source in (tmp_path / "odd.csv", odd_corners()):
        scripts = check_scripts(ac.fit_mnl(corners(source), ODD_CORNERS), tmp_path)
    expected = namespace(scripts["biogeme"])["EXPECTED"]
    assert {"B_BOXCOX_COST", "B_BOXCOX_COST_1", "B_BOXCOX_COST_1_2"} <= set(expected)


def test_a_long_file_is_read_as_we_read_it(tmp_path: Path) -> None:
    scripts = check_scripts(ac.fit_mnl(modechoice(), MODECHOICE_SPECIFICATION), tmp_path)
    assert reads(scripts["pylogit"]) == MODECHOICE.name


def test_situations_of_two_columns_are_told_apart_in_the_script(tmp_path: Path) -> None:
    scripts = check_scripts(
        ac.fit_mnl(modechoice_by_two(tmp_path), MODECHOICE_SPECIFICATION), tmp_path
    )
    assert reads(scripts["pylogit"]) == "two.csv"


def test_codes_that_stand_for_missing_ones_are_a_level_in_the_script_too(tmp_path: Path) -> None:
    table = trips()
    table["sex"] = table["sex"].astype(object)
    table.loc[:30, "sex"] = "-99"
    table.to_csv(tmp_path / "trips.csv", index=False)
    roles = {**ROLES["covariates"], "sex": ac.Categorical("sex", missing="unknown")}
    data = wide(tmp_path / "trips.csv", covariates=roles, missing_values=[-99])
    assert data.covariates["sex"].levels is not None
    assert data.covariates["sex"].levels[0] == "unknown"
    scripts = check_scripts(ac.fit_mnl(data, EVERY_TRANSFORM), tmp_path)
    assert reads(scripts["pylogit"]) != "trips.csv"


def test_ragged_choice_sets_shared_coefficients_and_weights(tmp_path: Path) -> None:
    ragged().to_csv(tmp_path / "sets.csv", index=False)
    result = ac.fit_mnl(products(tmp_path / "sets.csv"), RAGGED_SPECIFICATION)
    scripts = check_scripts(result, tmp_path)
    assert reads(scripts["xlogit"]) == "sets.csv"


# -- Rows left out -------------------------------------------------------------------------------


def test_rows_left_out_as_invalid_are_left_out_of_the_script(tmp_path: Path) -> None:
    table = trips()
    table.loc[[3, 50], "picked"] = None
    table.loc[7, "sex"] = None
    table.to_csv(tmp_path / "trips.csv", index=False)
    data = wide(tmp_path / "trips.csv", drop_invalid=True)
    scripts = check_scripts(ac.fit_mnl(data, EVERY_TRANSFORM), tmp_path)
    assert namespace(scripts["biogeme"])["LEFT_OUT"] == [3, 7, 50]


@pytest.mark.parametrize("layout", ["wide", "long"])
def test_rows_taken_are_those_of_the_script(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "choices.csv"
    (trips() if layout == "wide" else ragged()).to_csv(path, index=False)
    data = wide(path) if layout == "wide" else products(path)
    spec = "bus: ASC + time\ntram: ASC\n*: cost" if layout == "wide" else "*: price + colour"
    rng = np.random.default_rng(0)
    most, half = rng.permutation(len(data))[20:], rng.permutation(len(data))[: len(data) // 2]
    check_scripts(ac.fit_mnl(data.take(np.sort(most)), spec), tmp_path)
    assert not (tmp_path / "model_biogeme_rows.csv").exists()
    scripts = check_scripts(ac.fit_mnl(data.take(np.sort(half)), spec), tmp_path)
    assert (tmp_path / "model_biogeme_rows.csv").exists()
    assert reads(scripts["xlogit"]) == "choices.csv"


def test_rows_without_weight_are_left_out(tmp_path: Path) -> None:
    table = trips()
    table.loc[::10, "weight"] = 0.0
    table.to_csv(tmp_path / "trips.csv", index=False)
    check_scripts(ac.fit_mnl(wide(tmp_path / "trips.csv"), EVERY_TRANSFORM), tmp_path)


# -- Choices beside the script -------------------------------------------------------------------


def test_a_data_frame_is_written_beside_the_script(tmp_path: Path) -> None:
    scripts = check_scripts(ac.fit_mnl(wide(trips()), EVERY_TRANSFORM), tmp_path)
    assert reads(scripts["biogeme"]) == "model_biogeme_choices.csv"
    assert "did not come from a file" in scripts["biogeme"].read_text()


def test_a_long_data_frame_is_written_beside_the_script(tmp_path: Path) -> None:
    check_scripts(ac.fit_mnl(products(ragged()), RAGGED_SPECIFICATION), tmp_path)


def test_choices_that_the_file_does_not_have_are_written_beside_the_script(tmp_path: Path) -> None:
    trips().to_csv(tmp_path / "trips.csv", index=False)
    data = wide(tmp_path / "trips.csv")
    spec = "bus: ASC\ntram: ASC\n*: cost"
    for changed in (
        ac.simulate_choices(data, spec, seed=1),
        data.take(np.repeat(np.arange(100), 2)),
    ):
        scripts = check_scripts(ac.fit_mnl(changed, spec), tmp_path)
        assert reads(scripts["biogeme"]) == "model_biogeme_choices.csv"
        assert "not those of trips.csv" in scripts["biogeme"].read_text()


def test_a_file_that_changed_or_is_gone_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "trips.csv"
    trips().to_csv(path, index=False)
    result = ac.fit_mnl(wide(path), EVERY_TRANSFORM)
    trips(seed=2).to_csv(path, index=False)
    assert reads(check_scripts(result, tmp_path)["xlogit"]) == "model_xlogit_choices.csv"
    path.unlink()
    scripts = check_scripts(result, tmp_path)
    assert "cannot be read as it was any more" in scripts["xlogit"].read_text()


def test_the_published_specification_of_the_swissmetro_data(tmp_path: Path) -> None:
    data = ac.datasets.swissmetro_choices("real")
    result = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R6"))
    scripts = check_scripts(result, tmp_path)
    expected = namespace(scripts["biogeme"])["EXPECTED"]
    names = [name for name in expected if name != "log-likelihood"]
    assert names[:3] == ["ASC_TRAIN", "B_LOG1P_TT_TRAIN", "B_LOG1P_TT_TRAIN_GA_0"]
    assert list(expected.values()) == [result.loglik, *result.coefficients]
