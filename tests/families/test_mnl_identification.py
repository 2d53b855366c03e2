"""What cannot be estimated is named before anything is estimated."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac


def make(n: int = 400, seed: int = 0, **columns: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "choice": rng.integers(1, 4, n),
            "x_a": rng.normal(size=n),
            "x_b": rng.normal(size=n),
            "x_c": rng.normal(size=n),
            "g": rng.choice(["m", "f"], n),
            "age": rng.uniform(18, 80, n),
        }
    )
    return table.assign(**columns)


def read(table: pd.DataFrame, **attributes: str) -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives={"a": 1, "b": 2, "c": 3},
        choice="choice",
        attributes={"x": "x_{alt}", **attributes},
        covariates={"g": ac.Categorical(), "age": ac.Numeric()},
    )


def problem(data: ac.ChoiceData, spec: str) -> str:
    with pytest.raises(ac.IdentificationError) as caught:
        ac.fit_mnl(data, spec)
    message = str(caught.value)
    assert "singular" not in message.lower()
    return message


def test_a_constant_in_every_alternative_is_explained() -> None:
    message = problem(read(make()), "a: ASC\nb: ASC\nc: ASC\n*: x")
    assert "Every alternative has a constant" in message
    for name in ("a: ASC", "b: ASC", "c: ASC"):
        assert name in message
    assert "Leave the constant of one alternative out" in message


def test_a_generic_constant_cancels() -> None:
    message = problem(read(make()), "*: ASC + x")
    assert "'*: ASC' is the same for every alternative" in message


def test_a_covariate_in_every_alternative_is_explained() -> None:
    message = problem(read(make()), "a: ASC x age\nb: ASC x age\nc: ASC x age\n*: x")
    assert "age enters every alternative" in message


def test_a_shared_covariate_cancels() -> None:
    message = problem(read(make()), "*: ASC x g + x")
    assert "'*: ASC x g [f]'" in message
    assert "cancels" in message


def test_twice_the_same_column_under_two_names_is_found() -> None:
    table = make()
    table["y_a"] = 3 * table["x_a"]
    data = ac.read_wide(
        table,
        alternatives={"a": 1, "b": 2, "c": 3},
        choice="choice",
        attributes={"x": "x_{alt}", "y": {"a": "y_a"}},
    )
    message = problem(data, "a: x + y\nb: x")
    assert "'a: y' says nothing new: it equals +3 x 'a: x'" in message


def test_a_sum_of_columns_is_found() -> None:
    table = make()
    for alternative in "abc":
        table[f"p_{alternative}"] = np.random.default_rng(5).normal(size=len(table))
        table[f"s_{alternative}"] = table[f"x_{alternative}"] + 2 * table[f"p_{alternative}"]
    message = problem(read(table, p="p_{alt}", s="s_{alt}"), "a: x + p + s\nb: x")
    assert "'a: s' says nothing new: it equals +1 x 'a: x' +2 x 'a: p'" in message


def test_a_level_that_never_occurs_where_available_is_named() -> None:
    table = make(g=np.where(np.arange(400) < 5, "rare", "m"))
    table["av_a"] = (table["g"] != "rare").astype(int)
    table.loc[table["av_a"] == 0, "choice"] = 2
    data = ac.read_wide(
        table,
        alternatives={"a": 1, "b": 2, "c": 3},
        choice="choice",
        attributes={"x": "x_{alt}"},
        covariates={"g": ac.Categorical(reference="m")},
        availability={"a": "av_a"},
    )
    message = problem(data, "a: ASC + ASC x g\nb: ASC\n*: x")
    assert "'a: ASC x g [rare]' is zero in every row" in message


def test_every_reason_is_given_at_once() -> None:
    message = problem(read(make()), "a: ASC\nb: ASC\nc: ASC\n*: x + ASC x age")
    assert "2 reasons" in message


def test_nearly_but_not_quite_the_same_is_estimated() -> None:
    table = make(n=2000)
    rng = np.random.default_rng(3)
    for alternative in "abc":
        # A year: its spread is a fiftieth of a percent of its size.
        table[f"year_{alternative}"] = 2000 + rng.normal(size=len(table)) * 0.4
    result = ac.fit_mnl(read(table, year="year_{alt}"), "a: ASC + year\nb: ASC + year\n*: x")
    assert result.converged


def test_separation_names_the_coefficient_and_its_sign() -> None:
    table = make()
    table.loc[(table["g"] == "f") & (table["choice"] == 1), "choice"] = 2
    with pytest.raises(ac.SeparationError) as caught:
        ac.fit_mnl(read(table), "a: ASC + ASC x g\nb: ASC\n*: x")
    message = str(caught.value)
    assert "no finite maximum" in message
    assert "'a: ASC x g [f]' to minus infinity" in message
    assert "Merge the level" in message


def test_one_comparison_is_no_comparisons() -> None:
    table = make()
    table["g"] = "m"
    table.loc[0, ["g", "choice"]] = ["f", 2]
    with pytest.raises(ac.SeparationError) as caught:
        ac.fit_mnl(read(table), "a: ASC + ASC x g\nb: ASC\n*: x")
    assert "In the 1 comparison this concerns" in str(caught.value)


def test_an_alternative_nobody_chose_separates() -> None:
    table = make()
    table.loc[table["choice"] == 1, "choice"] = 2
    with pytest.warns(ac.ArdchoiceWarning, match="never chosen"):
        data = read(table)
    with pytest.raises(ac.SeparationError, match="'a: ASC' to minus infinity"):
        ac.fit_mnl(data, "a: ASC\nb: ASC\n*: x")


def test_complete_separation_by_a_number_is_found() -> None:
    table = make()
    best = table[["x_a", "x_b", "x_c"]].to_numpy().argmax(axis=1)
    table["choice"] = best + 1
    with pytest.raises(ac.SeparationError, match=r"'\*: x' to plus infinity"):
        ac.fit_mnl(read(table), "*: x")


def test_two_separated_directions_are_found_by_the_linear_programme() -> None:
    table = make()
    table.loc[(table["g"] == "f") & (table["choice"] == 1), "choice"] = 2
    old = table["age"] > 60
    table["old"] = np.where(old, "yes", "no")
    table.loc[old & (table["choice"] == 3), "choice"] = 2
    data = ac.read_wide(
        table,
        alternatives={"a": 1, "b": 2, "c": 3},
        choice="choice",
        attributes={"x": "x_{alt}"},
        covariates={"g": ac.Categorical(), "old": ac.Categorical(reference="no")},
    )
    with pytest.raises(ac.SeparationError) as caught:
        ac.fit_mnl(data, "a: ASC + ASC x g\nc: ASC + ASC x old\n*: x")
    assert "'a: ASC x g [f]' to minus infinity" in str(caught.value)
    assert "'c: ASC x old [yes]' to minus infinity" in str(caught.value)


def test_a_rare_but_overlapping_level_is_not_called_separated() -> None:
    table = make(n=4000)
    rare = np.arange(4000) < 12
    table["g"] = np.where(rare, "rare", "m")
    table.loc[rare, "choice"] = 2
    table.loc[0, "choice"] = 1
    data = ac.read_wide(
        table,
        alternatives={"a": 1, "b": 2, "c": 3},
        choice="choice",
        attributes={"x": "x_{alt}"},
        covariates={"g": ac.Categorical(reference="m")},
    )
    assert ac.fit_mnl(data, "a: ASC + ASC x g\nb: ASC\n*: x").converged


def test_too_few_iterations_are_said_not_hidden() -> None:
    with pytest.warns(ac.ArdchoiceWarning, match="still to be gained"):
        result = ac.fit_mnl(
            ac.datasets.swissmetro_choices("real"),
            ac.datasets.swissmetro_specification("R6"),
            max_iterations=1,
        )
    assert not result.converged
    assert "DID NOT CONVERGE" in result.summary()


def test_separation_may_be_allowed_and_choices_drawn_from_its_limit() -> None:
    # Nobody whose purpose is 9 chose the car, so its cost runs away; probabilities do not.
    data = ac.datasets.swissmetro_choices()
    specification = ac.datasets.swissmetro_specification("S4")
    with pytest.raises(ac.SeparationError, match="'CAR: CO' to minus infinity"):
        ac.fit_mnl(data, specification)
    result = ac.fit_mnl(data, specification, separation="allow")
    assert result.converged
    drawn = ac.simulate_choices(data, specification, seed=0)
    nine = data.covariates["PURPOSE"].values == 8
    assert (drawn.choice[nine] != 2).all()
    assert result.probabilities()[2, nine].max() < 1e-6


@pytest.mark.parametrize("name", [f"S{i}" for i in range(1, 10)])
def test_choices_can_be_drawn_from_every_published_specification(name: str) -> None:
    data = ac.datasets.swissmetro_choices()
    drawn = ac.simulate_choices(data, ac.datasets.swissmetro_specification(name), seed=1)
    # With constants and so many rows, drawn shares are the observed ones up to chance.
    error = 4 * np.sqrt(data.shares() * (1 - data.shares()) / len(data))
    assert ((drawn.shares() - data.shares()).abs() < error).all()
