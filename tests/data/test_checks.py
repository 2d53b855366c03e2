"""Every problem of a table: that it is found, and that its message lets a modeller fix it."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_support import (
    ALTERNATIVES,
    assert_same,
    changed,
    long_table,
    read_rows,
    read_table,
    says,
    the_error,
    the_refusal,
    the_warning,
    wide_table,
)

import ardchoice as ac
from ardchoice.data.checks import sentinels
from ardchoice.data.read import read_like
from ardchoice.data.tally import count_numbers


def longer(**columns: object) -> pd.DataFrame:
    """The small table five times over (40 rows), with some columns replaced."""
    return pd.concat([wide_table()] * 5, ignore_index=True).assign(**columns)


# -- Choices ---------------------------------------------------------------------------------


def test_chosen_but_unavailable() -> None:
    problem = the_error("chosen-unavailable", lambda: read_table(changed("RAIL_AV", [2, 5], 0)))
    says(problem, "'RAIL' is chosen but not available", "'RAIL_AV'", "2 rows (2, 5)")
    says(problem, "Fix the choice or the availability", "drop_invalid=True")
    assert problem.rows == (2, 5)


def test_unknown_choice() -> None:
    problem = the_error("unknown-choice", lambda: read_table(changed("CHOICE", [0, 6], 7)))
    says(problem, "'CHOICE'", "is '7'", "2 rows (0, 6)", "1 = BUS, 2 = CAR, 3 = RAIL")
    says(problem, "drop_invalid=True")
    assert problem.rows == (0, 6)


def test_an_unknown_choice_written_as_text() -> None:
    table = changed("CHOICE", [1], "walk", wide_table().astype({"CHOICE": str}))
    says(the_error("unknown-choice", lambda: read_table(table)), "is 'walk'", "1 row (1)")


def test_missing_choice() -> None:
    problem = the_error("missing-choice", lambda: read_table(changed("CHOICE", [3], None)))
    says(problem, "The choice (column 'CHOICE') is missing", "1 row (3)", "drop_invalid=True")
    assert problem.rows == (3,)


def test_empty_choice_set() -> None:
    table = wide_table()
    table.loc[[1, 4], ["BUS_AV", "CAR_AV", "RAIL_AV"]] = 0
    problem = the_error("empty-choice-set", lambda: read_table(table))
    says(problem, "No alternative is available", "'BUS_AV', 'CAR_AV', 'RAIL_AV'", "2 rows (1, 4)")
    says(problem, "drop_invalid=True")


def test_a_single_alternative_is_a_warning() -> None:
    table = changed("BUS_AV", [1], 0)
    problem = the_warning("single-alternative", lambda: read_table(table))
    says(problem, "Only one alternative is available", "1 row (1)", "kept without effect")


def test_an_alternative_that_nobody_chose() -> None:
    table = changed("CHOICE", [2, 5], 1)
    problem = the_warning("never-chosen", lambda: read_table(table))
    says(
        problem,
        "alternative 'RAIL'",
        "never chosen",
        "'CHOICE'",
        "unidentified",
        "diverges to minus infinity",
        "remove the",
    )


def test_alternatives_that_nobody_chose_are_counted_in_one_warning() -> None:
    more = ALTERNATIVES | {f"BIKE{i}": 10 + i for i in range(7)}
    problem = the_warning("never-chosen", lambda: read_table(alternatives=more, availability=None))
    says(problem, "7 alternatives ('BIKE0', 'BIKE1', 'BIKE2', 'BIKE3', 'BIKE4', ...)")


def test_an_alternative_that_is_never_available() -> None:
    table = changed("CHOICE", [2, 5], 1).assign(RAIL_AV=0)
    table.loc[5, "CAR_AV"] = 1
    problem = the_warning("never-available", lambda: read_table(table))
    says(problem, "Never available: alternative 'RAIL'", "Remove")


def test_the_whole_sample_chose_the_same() -> None:
    problem = the_error("one-always-chosen", lambda: read_table(wide_table().assign(CHOICE=2)))
    says(problem, "The whole sample chose 'CAR'", "'CHOICE'", "codes")


@pytest.mark.parametrize("value", [2, -1, 0.5, None, "perhaps"])
def test_bad_availability(value: object) -> None:
    with pytest.raises(ac.DataError) as caught:
        read_table(changed("CAR_AV", [0, 1], value))
    (problem,) = caught.value.problems  # and not "chosen but unavailable" besides
    assert problem.code == "bad-availability"
    says(problem, "availability of CAR", "'CAR_AV'", "neither 0 nor 1", "2 rows (0, 1)")
    says(problem, "drop_invalid=True")


# -- Attributes ------------------------------------------------------------------------------


def test_missing_attribute() -> None:
    problem = the_error("missing-attribute", lambda: read_table(changed("CAR_TT", [0, 7], None)))
    says(problem, "TT of CAR", "'CAR_TT'", "missing although CAR is available", "2 rows (0, 7)")
    says(problem, "drop_invalid=True", "unavailable")
    assert problem.rows == (0, 7)


def test_infinite_attribute() -> None:
    for value in (np.inf, -np.inf, 1e300, -1e308):
        table = changed("CAR_TT", [4], value)
        problem = the_error("infinite-attribute", lambda t=table: read_table(t))
        says(problem, "TT of CAR", "'CAR_TT'", "is infinite", "1 row (4)", "drop_invalid=True")


@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf, 99999.0])
def test_anything_may_stand_where_the_alternative_is_unavailable(value: object) -> None:
    assert_same(read_table(changed("CAR_TT", [5], value)), read_table())


def test_a_missing_level_of_an_attribute() -> None:
    table = wide_table().assign(CAR_SEAT=["soft", "hard", None, "soft", "hard", None, "soft", None])
    attributes = {"SEAT": {"CAR": "CAR_SEAT"}}
    problem = the_error("missing-attribute", lambda: read_table(table, attributes=attributes))
    says(problem, "SEAT of CAR", "'CAR_SEAT'", "2 rows (2, 7)", "Categorical(missing='unknown')")
    role = ac.Categorical({"CAR": "CAR_SEAT"}, missing="unknown")
    seat = read_table(table, attributes={"SEAT": role}).attributes["SEAT"]
    assert seat.levels == ("unknown", "hard", "soft")


def test_an_attribute_level_beyond_those_listed() -> None:
    table = wide_table().assign(BUS_SEAT=["soft", "hard"] * 4, CAR_SEAT=["soft", "torn"] * 4)
    role = ac.Categorical("{alt}_SEAT", levels=["soft", "hard"])
    table["RAIL_SEAT"] = "soft"
    problem = the_error("unknown-level", lambda: read_table(table, attributes={"SEAT": role}))
    says(problem, "SEAT of CAR", "'CAR_SEAT'", "(soft, hard)", "'torn'", "3 rows (1, 3, 7)")
    assert problem.rows == (1, 3, 7)  # CAR is unavailable in row 5


def test_a_constant_attribute() -> None:
    problem = the_warning("constant-attribute", lambda: read_table(wide_table().assign(CAR_TT=7.5)))
    says(
        problem,
        "TT of CAR",
        "'CAR_TT'",
        "is 7.5 in every row",
        "constant",
        "collinear",
        "Remove it",
    )


@pytest.mark.parametrize("code", [99999, -99, -1, 999])
def test_a_suspicious_sentinel(code: int) -> None:
    problem = the_warning("sentinel", lambda: read_table(changed("CAR_TT", [2, 6], code)))
    says(
        problem,
        "TT of CAR",
        "'CAR_TT'",
        f"the value {code} in 2 rows (2, 6)",
        "a code for missing values",
    )
    says(problem, f"missing_values = [{code}]")


def test_a_suspicious_sentinel_in_a_covariate() -> None:
    problem = the_warning("sentinel", lambda: read_table(changed("INCOME", [2], -99.0)))
    says(problem, "INCOME (column 'INCOME')", "the value -99 in 1 row (2)", "[-99]")


@pytest.mark.parametrize(
    "values, expected",
    [
        ([1, 5, 30, -99], [-99]),
        ([1, 5, 30, -99, -999, 9999], [-99, -999, 9999]),
        ([-5, 3, 2, -999], [-999]),
        ([0, 1, -1, 1], []),  # effects coding
        ([80, 120, 99, 150], []),  # an ordinary 99
        ([-120, -99, 20, 5], []),  # an ordinary -99
        ([1000, 25000, 9999, 31000], []),
        ([99, 99, 99], []),
        ([], []),
    ],
)
def test_sentinels_stand_far_from_all_others(values: list[int], expected: list[int]) -> None:
    seen = count_numbers(np.array(values, dtype=float), None, np.arange(len(values)))
    assert sentinels(seen) == expected


def test_wildly_different_scales() -> None:
    table = wide_table()
    table["BUS_HE"], table["RAIL_HE"] = table["BUS_HE"] * 1e7, table["RAIL_HE"] * 1e7
    problem = the_warning("scales", lambda: read_table(table))
    says(problem, "deviations of HE (2e+08) and TT (1e+01)", "change a unit")


# -- Covariates, weights and persons ---------------------------------------------------------


@pytest.mark.parametrize("column", ["CITY", "CLASS", "MALE"])
def test_a_missing_category(column: str) -> None:
    problem = the_error("missing-covariate", lambda: read_table(changed(column, [1, 2], None)))
    says(problem, f"{column} (column '{column}') is missing", "2 rows (1, 2)")
    says(problem, "drop_invalid=True", "Categorical(missing='unknown')")
    assert problem.rows == (1, 2)


@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf, 1e300, -1e308])
def test_a_missing_or_infinite_number(value: object) -> None:
    problem = the_error("missing-covariate", lambda: read_table(changed("INCOME", [1], value)))
    says(problem, "INCOME (column 'INCOME') is missing or infinite", "1 row (1)")
    says(problem, "drop_invalid=True")


def test_an_infinite_code_is_no_level() -> None:
    table = changed("CLASS", [1], np.inf, wide_table().astype({"CLASS": float}))
    says(the_error("missing-covariate", lambda: read_table(table)), "CLASS", "1 row (1)")


def test_a_covariate_that_is_missing_everywhere() -> None:
    for nothing in (None, np.nan):
        table = wide_table().assign(CITY=nothing)
        problem = the_error("missing-covariate", lambda t=table: read_table(t))
        says(problem, "CITY", "8 rows (0, 1, 2, 3, 4, ...)")


def test_constant_covariates() -> None:
    problem = the_warning(
        "constant-covariate", lambda: read_table(wide_table().assign(CITY="Bern"))
    )
    says(problem, "CITY (column 'CITY')", "one level only", "Remove it")
    problem = the_warning("constant-covariate", lambda: read_table(wide_table().assign(INCOME=2.5)))
    says(problem, "INCOME (column 'INCOME')", "is 2.5 everywhere", "Remove it")


def test_a_listed_level_without_rows() -> None:
    role = ac.Categorical(levels=["Bern", "Basel", "Genève", "Zürich"])
    problem = the_warning("empty-level", lambda: read_table(covariates={"CITY": role}))
    says(problem, "CITY (column 'CITY')", "'Basel'", "merge it")


def test_codes_or_numbers() -> None:
    problem = the_warning("codes-or-numbers", lambda: read_table(longer(CLASS=np.arange(40) % 20)))
    says(
        problem, "CLASS (column 'CLASS')", "20 distinct whole numbers", "Categorical()", "Numeric()"
    )
    data = read_table(longer(CLASS=np.arange(40) % 20), covariates={"CLASS": ac.Numeric()})
    assert data.warnings == ()


def test_negative_weight() -> None:
    problem = the_error("negative-weight", lambda: read_table(changed("WEIGHT", [2], -1.0)))
    says(problem, "'WEIGHT'", "negative", "1 row (2)", "drop_invalid=True")


@pytest.mark.parametrize("value", [None, np.inf])
def test_missing_weight(value: object) -> None:
    problem = the_error("missing-weight", lambda: read_table(changed("WEIGHT", [2, 3], value)))
    says(problem, "'WEIGHT'", "missing or infinite", "2 rows (2, 3)", "drop_invalid=True")


def test_weights_that_are_all_zero() -> None:
    problem = the_error("zero-weights", lambda: read_table(wide_table().assign(WEIGHT=0)))
    says(problem, "'WEIGHT'", "zero", "Name another column")


def test_some_zero_weights_are_fine() -> None:
    assert read_table(changed("WEIGHT", [2], 0.0)).weights[2] == 0.0


def test_a_weight_that_is_no_number() -> None:
    problem = the_error("not-a-number", lambda: read_table(changed("WEIGHT", [2], "heavy")))
    says(problem, "The weight", "'WEIGHT'", "'heavy'", "1 row (2)")


def test_missing_person() -> None:
    for table in (
        changed("ID", [6], None),
        changed("ID", [6], None, wide_table().astype({"ID": str})),
    ):
        problem = the_error("missing-person", lambda t=table: read_table(t))
        says(problem, "person id", "'ID'", "1 row (6)", "without person")


def test_one_person_only() -> None:
    table = wide_table().assign(ID=7)
    problem = the_error("one-person", lambda: read_table(table))
    says(problem, "one person", "'ID'", "without person")


# -- All together ----------------------------------------------------------------------------


def test_every_problem_is_reported_at_once() -> None:
    table = changed("CHOICE", [0], 9)
    table.loc[1, "CAR_TT"] = np.nan
    table.loc[2, "WEIGHT"] = -3.0
    table.loc[3, "CITY"] = None
    table.loc[4, "CAR_AV"] = 5
    with pytest.raises(ac.DataError) as caught:
        read_table(table)
    codes = [p.code for p in caught.value.problems if p.severity == "error"]
    assert sorted(codes) == [
        "bad-availability",
        "missing-attribute",
        "missing-covariate",
        "negative-weight",
        "unknown-choice",
    ]
    text = str(caught.value)
    says(text, "The data have 5 problems", "  1. ", "  5. ")
    assert all(p.message in text for p in caught.value.problems)


def test_the_first_rows_are_listed_and_all_are_counted() -> None:
    problem = the_error("unknown-choice", lambda: read_table(changed("CHOICE", list(range(7)), 9)))
    says(problem, "7 rows (0, 1, 2, 3, 4, ...)")
    assert problem.rows == tuple(range(7))


def test_exactly_the_bad_rows_are_dropped_when_asked() -> None:
    table = longer()
    table.loc[3, "CHOICE"] = 9
    table.loc[[8, 17], "CAR_TT"] = np.nan
    table.loc[17, "WEIGHT"] = -1.0
    table.loc[30, "CITY"] = None
    bad = [3, 8, 17, 30]
    problem = the_warning("dropped", lambda: read_table(table, drop_invalid=True))
    says(problem, "4 rows (3, 8, 17, 30) dropped", "drop_invalid=True")
    says(problem, "missing-attribute, missing-covariate, negative-weight, unknown-choice")
    # With a count by column, the column that costs most first.
    says(problem, "unknown-choice. TT of CAR (column 'CAR_TT') is missing although CAR is")
    says(problem, "is available: 2; ", "(column 'CITY') is missing: 1", "WEIGHT", "is negative: 1")
    assert problem.rows == tuple(bad)
    with pytest.warns(ac.ArdchoiceWarning) as caught:
        data = read_table(table, drop_invalid=True)
    assert len(caught) == 1
    kept = np.setdiff1d(np.arange(40), bad)
    assert_same(data, read_table(longer()).take(kept))
    assert data.situation.tolist() == kept.tolist()


def test_nothing_is_left_out_of_good_data() -> None:
    assert_same(read_table(drop_invalid=True), read_table())


def test_a_table_of_bad_rows_only_is_refused_all_the_same() -> None:
    table = wide_table().assign(CITY=None)
    says(the_error("missing-covariate", lambda: read_table(table, drop_invalid=True)), "8 rows")


def test_what_no_row_can_fix_is_refused_all_the_same() -> None:
    table = changed("CAR_TT", [1], None).assign(WEIGHT=0)
    the_error("zero-weights", lambda: read_table(table, drop_invalid=True))


def test_what_is_left_may_be_refused_too() -> None:
    table = wide_table().assign(CHOICE=[2, 9, 2, 9, 2, 9, 2, 9])
    table["CAR_AV"] = 1
    the_error("one-always-chosen", lambda: read_table(table, drop_invalid=True))


def test_warnings_point_at_the_line_that_reads() -> None:
    table = wide_table().assign(CAR_TT=7.5)
    with pytest.warns(ac.ArdchoiceWarning) as caught:
        ac.read_wide(
            table, alternatives=ALTERNATIVES, choice="CHOICE", attributes={"TT": "{alt}_TT"}
        )
    assert [w.filename for w in caught] == [__file__]


def test_good_data_give_no_warning_at_all() -> None:
    assert read_table().warnings == ()


# -- Values that stand for missing ones ----------------------------------------------------------


def coded() -> pd.DataFrame:
    """A code for missing in numbers, in codes, in text, and where it is none: the id."""
    table = changed("CAR_TT", [2], 99999.0)
    table = changed("CLASS", [3], -99, table)
    table = changed("CITY", [4], "-99", table)
    return changed("ID", [6, 7], -99, table)


ROLES = {
    "CLASS": ac.Categorical(missing="unknown"),
    "CITY": ac.Categorical(missing="unknown"),
}


@pytest.mark.parametrize("stream", [False, True])
def test_values_that_stand_for_missing_ones_are_missing(stream: bool, tmp_path: Path) -> None:
    coded().to_csv(tmp_path / "coded.csv", index=False)
    how = {"covariates": ROLES, "drop_invalid": True, "stream": stream}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        data = read_table(tmp_path / "coded.csv", missing_values=[99999, -99], **how)
        blank = coded().replace({"CAR_TT": {99999: np.nan}, "CLASS": {-99: np.nan}})
        blank["CITY"] = blank["CITY"].replace({"-99": None})
        expected = read_table(blank, covariates=ROLES, drop_invalid=True)
    assert data.situation.tolist() == [0, 1, 3, 4, 5, 6, 7]
    assert_same(data, expected)
    assert data.covariates["CLASS"].levels == ("unknown", "1", "2")
    assert data.source is not None
    assert data.source.missing_values == ("99999", "-99")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        again = read_like(coded().drop(columns="CHOICE"), data)
    assert again.covariates["CLASS"].values.tolist() == data.covariates["CLASS"].values.tolist()


def test_a_long_table_may_have_values_that_stand_for_missing_ones() -> None:
    table = long_table()
    table.loc[table["SITUATION"] == "s3", "CLASS"] = -99
    data = read_rows(table, covariates=ROLES, missing_values=[-99])
    assert data.covariates["CLASS"].levels[data.covariates["CLASS"].values[3]] == "unknown"  # type: ignore[index]


def test_the_warning_of_a_sentinel_names_the_remedy() -> None:
    problem = the_warning("sentinel", lambda: read_table(changed("CAR_TT", [2, 6], 99999)))
    says(problem, "missing_values = [99999]")
    says(the_refusal(lambda: read_table(missing_values=99)), "a list of values")


def test_an_error_says_on_which_line_of_a_file_a_row_is(tmp_path: Path) -> None:
    path = tmp_path / "choices.csv"
    table = pd.concat([wide_table()] * 13, ignore_index=True)
    table.loc[100, "CHOICE"] = 7
    table.to_csv(path, index=False)
    with pytest.raises(ac.DataError) as refusal:
        read_table(path)
    says(str(refusal.value), "1 row (100)", "row 100 line 102")
    assert path.read_text().splitlines()[102 - 1].startswith("13,7,")
