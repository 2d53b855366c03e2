"""Wide tables: labelled and unlabelled alternatives, patterns, codes, choice sets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_support import (
    ALTERNATIVES,
    assert_same,
    changed,
    levels_of,
    read_table,
    says,
    the_error,
    the_refusal,
    the_warning,
    wide_table,
)

import ardchoice as ac


def test_alternatives_may_have_different_attributes() -> None:
    data = read_table()
    assert data.attributes["TT"].alternatives == (0, 1, 2)
    assert data.attributes["HE"].alternatives == (0, 2)
    np.testing.assert_array_equal(data.attributes["HE"].of(2)[[0, 2]], [30.0, 30.0])


def test_a_pattern_and_a_dict_of_its_columns_are_the_same() -> None:
    columns = {name: f"{name}_TT" for name in reversed(ALTERNATIVES)}
    assert_same(
        read_table(attributes={"TT": columns}, availability={n: f"{n}_AV" for n in ALTERNATIVES}),
        read_table(attributes={"TT": "{alt}_TT"}),
    )


def test_an_alternative_outside_the_dict_of_availability_is_always_available() -> None:
    table = changed("CHOICE", [3, 5], 3)
    data = read_table(table, availability={"RAIL": "RAIL_AV"})
    assert data.available[:2].all()
    np.testing.assert_array_equal(data.available[2], table["RAIL_AV"] == 1)


def test_everything_is_available_by_default() -> None:
    assert read_table(availability=None).available.all()


@pytest.mark.parametrize(
    "codes",
    [
        {"BUS": 1.0, "CAR": 2.0, "RAIL": 3.0},
        {"BUS": "1", "CAR": "2", "RAIL": "3"},
        {"BUS": np.int64(1), "CAR": np.int8(2), "RAIL": np.float32(3)},
    ],
)
def test_codes_match_the_choice_column_as_numbers_or_text(codes: dict[str, object]) -> None:
    for kind in (int, float, str):
        table = wide_table().astype({"CHOICE": kind})
        assert_same(read_table(table, alternatives=codes), read_table())


def test_a_list_says_that_the_codes_are_the_names() -> None:
    table = wide_table()
    table["CHOICE"] = table["CHOICE"].map({code: name for name, code in ALTERNATIVES.items()})
    assert_same(read_table(table, alternatives=list(ALTERNATIVES)), read_table())
    table["CHOICE"] = table["CHOICE"].astype("category")
    assert_same(read_table(table, alternatives=list(ALTERNATIVES)), read_table())


def test_a_yes_or_no_choice_is_a_choice() -> None:
    table = pd.DataFrame({"buys": [True, False, True], "p_1": [1.0, 2, 3], "p_0": [2.0, 3, 1]})
    for codes in ({"1": True, "0": False}, [1, 0]):
        data = ac.read_wide(
            table, alternatives=codes, choice="buys", attributes={"price": "p_{alt}"}
        )
        assert data.alternatives == ("1", "0")
        assert data.chosen().tolist() == [0, 1, 0]


@pytest.mark.parametrize("count", [2, 3, 17, 200])
def test_unlabelled_alternatives_of_any_number(count: int) -> None:
    rng = np.random.default_rng(count)
    n = 5 * count
    x = rng.normal(size=(count, n))
    choice = np.tile(np.arange(count), 5)
    available = (rng.random((count, n)) < 0.5) | (np.arange(count)[:, None] == choice)
    available[(choice + 1) % count, np.arange(n)] = True
    table = pd.DataFrame(
        {"picked": choice + 1}
        | {f"x{j + 1}": x[j] for j in range(count)}
        | {f"av{j + 1}": available[j].astype(int) for j in range(count)}
    )
    data = ac.read_wide(
        table,
        alternatives=range(1, count + 1),
        choice="picked",
        attributes={"x": "x{alt}"},
        availability="av{alt}",
    )
    assert data.alternatives == tuple(str(j + 1) for j in range(count))
    np.testing.assert_array_equal(data.chosen(), choice)
    np.testing.assert_array_equal(data.available, available)
    np.testing.assert_array_equal(data.attributes["x"].values[available], x[available])
    numbered = ac.read_wide(
        table,
        alternatives=range(1, count + 1),
        choice="picked",
        attributes={"x": {j + 1: f"x{j + 1}" for j in range(count)}},
        availability={j + 1: f"av{j + 1}" for j in range(count)},
    )
    assert_same(numbered, data)


def test_situations_without_choices_are_read_and_cannot_be_scored() -> None:
    data = read_table(wide_table().drop(columns="CHOICE"), choice=None)
    assert data.choice is None
    np.testing.assert_array_equal(data.available, read_table().available)
    with pytest.raises(ac.ArdchoiceError, match="no observed choices"):
        data.chosen()
    with pytest.raises(ac.ArdchoiceError, match="no observed choices"):
        data.shares()


def test_without_persons_and_weights_every_row_counts_once() -> None:
    data = read_table(person=None, weight=None)
    assert data.person is None
    assert data.n_persons is None
    assert data.weights.tolist() == [1.0] * 8


def test_shares_are_weighted() -> None:
    table = wide_table()
    by_hand = table.groupby("CHOICE")["WEIGHT"].sum() / table["WEIGHT"].sum()
    np.testing.assert_allclose(read_table().shares(), by_hand, rtol=1e-15)  # one division each
    assert read_table().shares().index.tolist() == list(ALTERNATIVES)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "ids",
    [["b", "a", "b", "c"], [2.5, 1.0, 2.5, 1e9], [10**17, 3, 10**17, 2 * 10**17]],
    ids=["text", "numbers", "large"],
)
def test_persons_are_numbered_in_the_order_of_their_ids(
    ids: list[object], stream: bool, tmp_path: Path
) -> None:
    table = wide_table()
    table["ID"] = ids * 2
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    data = read_table(path if stream else table, stream=stream)
    assert data.person is not None
    assert data.person.tolist() == [1, 0, 1, 2] * 2
    assert data.n_persons == 3


def test_arrays_cannot_be_written_to() -> None:
    data = read_table()
    for array in (data.available, data.chosen(), data.attributes["TT"].values, data.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


def test_a_categorical_attribute_has_the_same_levels_for_every_alternative() -> None:
    table = wide_table()
    table["BUS_SEAT"] = ["soft", "hard", "soft", "hard", "soft", "hard", "soft", "hard"]
    table["CAR_SEAT"] = ["soft"] * 4 + ["leather"] * 4
    data = read_table(table, attributes={"SEAT": {"BUS": "BUS_SEAT", "CAR": "CAR_SEAT"}})
    seat = data.attributes["SEAT"]
    # The car of row 5 is unavailable, the bus of row 3 too.
    assert seat.levels == ("hard", "leather", "soft")
    assert seat.reference == 2
    for j, name in enumerate(("BUS", "CAR")):
        used = data.available[j]
        said = [seat.levels[code] for code in seat.of(j)[used]]
        assert said == table[f"{name}_SEAT"][used].tolist()


def test_a_level_that_only_unavailable_alternatives_have_is_no_level() -> None:
    table = wide_table()
    for name in ("BUS", "CAR"):
        table[f"{name}_SEAT"] = ["soft", "hard"] * 4
        table.loc[table[f"{name}_AV"] == 0, f"{name}_SEAT"] = "not applicable"
    how = ac.Categorical({"BUS": "BUS_SEAT", "CAR": "CAR_SEAT"})
    assert read_table(table, attributes={"SEAT": how}).attributes["SEAT"].levels == ("hard", "soft")


def test_numbers_may_be_taken_as_levels_of_an_attribute() -> None:
    data = read_table(attributes={"HE": ac.Categorical({"BUS": "BUS_HE", "RAIL": "RAIL_HE"})})
    assert data.attributes["HE"].levels == ("10", "15", "20", "30", "60")


def test_text_that_stands_for_an_unavailable_number_is_fine() -> None:
    table = wide_table()
    table["BUS_TT"] = table["BUS_TT"].astype(object)
    table.loc[3, "BUS_TT"] = "-"
    assert_same(read_table(table), read_table())


def test_a_stray_word_among_numbers_is_reported_not_made_a_level() -> None:
    table = wide_table()
    table["CAR_TT"] = table["CAR_TT"].astype(object)
    table.loc[[1, 4], "CAR_TT"] = ["fast", "fast"]
    problem = the_error("not-a-number", lambda: read_table(table))
    says(problem, "TT of CAR", "'CAR_TT'", "'fast'", "2 rows (1, 4)", "Categorical()")
    assert problem.rows == (1, 4)


# -- What cannot be understood ---------------------------------------------------------------


@pytest.mark.parametrize(
    "argument, value, role",
    [
        ("choice", "CHOISE", "choice"),
        ("person", "IDD", "person"),
        ("weight", "WEIGTH", "weight"),
        ("covariates", ["INCOM"], "covariate INCOM"),
        ("covariates", {"income": "INCOM"}, "covariate income"),
        ("attributes", {"TT": {"CAR": "TT_CAR"}}, "TT of CAR"),
        ("availability", {"CAR": "AV_CAR"}, "availability of CAR"),
    ],
)
def test_an_unknown_column_is_named_with_its_role_and_the_nearest(
    argument: str, value: object, role: str
) -> None:
    nearest = {
        "choice": "CHOICE",
        "person": "ID",
        "weight": "WEIGHT",
        "covariates": "INCOME",
        "attributes": "CAR_TT",
        "availability": "CAR_AV",
    }[argument]
    message = the_refusal(lambda: read_table(**{argument: value}))
    says(message, f"named as {role}", "is not in the table", f"Did you mean '{nearest}'")


def test_a_pattern_without_a_place_for_the_alternative_is_refused() -> None:
    message = the_refusal(lambda: read_table(attributes={"TT": "CAR_TT"}))
    says(message, "TT: 'CAR_TT' has no '{alt}'", "'{alt}_TT'", "covariate")


def test_a_pattern_that_fits_nothing_is_refused_with_the_nearest_column() -> None:
    message = the_refusal(lambda: read_table(attributes={"TT": "{alt}_TIME"}))
    says(message, "TT", "the pattern '{alt}_TIME'", "'BUS_TIME' was looked for", "BUS_TT")
    says(the_refusal(lambda: read_table(attributes={"TT": "TT_{alt}"})), "Did you mean 'BUS_TT'?")


def test_a_pattern_that_fits_some_alternatives_only_says_which_lack_it() -> None:
    problem = the_warning("absent-attribute", lambda: read_table(attributes={"HE": "{alt}_HE"}))
    says(problem, "HE: there is no column 'CAR_HE'", "CAR has no HE", "A dict")
    table = wide_table().drop(columns="CAR_AV")
    problem = the_warning(
        "absent-availability", lambda: read_table(changed("CHOICE", [5], 3, table))
    )
    says(problem, "'{alt}_AV'", "CAR", "always available", "A dict")


def test_an_attribute_of_an_unknown_alternative_is_refused() -> None:
    message = the_refusal(lambda: read_table(attributes={"TT": {"CARR": "CAR_TT"}}))
    says(message, "TT: there is no alternative 'CARR'", "Did you mean 'CAR'?")
    says(the_refusal(lambda: read_table(attributes={"TT": {}})), "TT", "empty")


def test_one_name_for_an_attribute_and_a_covariate_is_refused() -> None:
    attributes = {"INCOME": "{alt}_TT"}
    message = the_refusal(lambda: read_table(attributes=attributes))
    says(message, "INCOME is both an attribute and a covariate", "another name")
    data = read_table(attributes=attributes, covariates={"EARNED": "INCOME"})
    assert list(data.covariates) == ["EARNED"]


@pytest.mark.parametrize(
    "alternatives, says_so",
    [
        ({"BUS": 1}, "at least two"),
        ("BUS", "dict name -> code"),
        ({"BUS": 1, "CAR": 1.0}, "same code: '1'"),
        (["BUS", "CAR", "BUS"], "same name: 'BUS'"),
        ({1: 1, "1": 2}, "same name: '1'"),
    ],
)
def test_alternatives_that_have_the_same_name_or_code_are_refused(
    alternatives: object, says_so: str
) -> None:
    says(the_refusal(lambda: read_table(alternatives=alternatives)), says_so)


@pytest.mark.parametrize(
    "argument, value, says_so",
    [
        ("covariates", "CITY", "['CITY']"),
        ("covariates", {"CITY": 3}, "got int"),
        ("attributes", ["TT"], "{'TT': '{alt}_TT'}"),
        ("attributes", {"TT": ac.Cut("{alt}_TT", edges=[30])}, "quantiles(TT, 4)"),
        ("attributes", {"TT": ac.Numeric()}, "'TT' has no '{alt}'"),
    ],
)
def test_arguments_of_the_wrong_shape_are_refused_with_an_example(
    argument: str, value: object, says_so: str
) -> None:
    says(the_refusal(lambda: read_table(**{argument: value})), says_so)


def test_an_unknown_alternative_is_answered_with_the_nearest() -> None:
    assert read_table().alternative("RAIL") == 2
    says(the_refusal(lambda: read_table().alternative("RAILS")), "'RAILS'", "Did you mean 'RAIL'?")


def test_drawn_choices_must_be_available() -> None:
    data = read_table()
    assert data.with_choice([0, 0, 0, 1, 0, 0, 0, 0]).chosen().tolist()[3] == 1
    for wrong in ([0] * 8, [0] * 7, [-1] + [1] * 7, [3] + [1] * 7):
        says(the_refusal(lambda w=wrong: data.with_choice(w)), "among its available alternatives")


def test_levels_are_texts_of_the_values() -> None:
    assert levels_of(read_table(), "CLASS") == ["1", "1", "2", "2", "2", "2", "1", "1"]


def test_a_table_that_changes_afterwards_does_not_change_what_was_read() -> None:
    table = pd.DataFrame({"choice": ["a", "b", "a"], "a_x": [1.0, 2, 3], "b_x": [4.0, 5, 6]})
    data = ac.read_wide(
        table, alternatives=["a", "b"], choice="choice", attributes={"x": "{alt}_x"}
    )
    table.iloc[:, 1:] = -1.0
    np.testing.assert_array_equal(data.attributes["x"].of(0), [1, 2, 3])
    np.testing.assert_array_equal(data.attributes["x"].of(1), [4, 5, 6])
