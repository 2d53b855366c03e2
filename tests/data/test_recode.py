"""Recoding at the door: levels, references, merging, pooling, cutting; and doing it again."""

import numpy as np
import pandas as pd
import pytest
from data_support import (
    changed,
    levels_of,
    long_table,
    read_rows,
    read_table,
    says,
    the_error,
    the_refusal,
    wide_table,
)

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.data.recode import CODE_LEVELS, POOLED_LEVEL


def with_column(values: list[object] | np.ndarray) -> pd.DataFrame:
    """The small table, repeated as often as needed, with a column X."""
    copies = [wide_table()] * -(-len(values) // 8)
    return pd.concat(copies, ignore_index=True)[: len(values)].assign(X=values)


def read_x(values: list[object] | np.ndarray, role: object = None, **more: object) -> ChoiceData:
    covariates = ["X"] if role is None else {"X": role}
    return read_table(with_column(values), covariates=covariates, **more)


# -- What a column is taken for --------------------------------------------------------------


def test_text_is_a_category_sorted_by_the_alphabet() -> None:
    data = read_x(["b", "c", "a", "c"] * 2)
    assert data.covariates["X"].levels == ("a", "b", "c")
    assert levels_of(data, "X") == ["b", "c", "a", "c"] * 2


def test_few_whole_numbers_are_codes_and_many_are_numbers() -> None:
    codes = read_x(np.arange(CODE_LEVELS).repeat(2)).covariates["X"]
    assert codes.levels == tuple(map(str, range(CODE_LEVELS)))
    with pytest.warns(ac.ArdchoiceWarning, match="distinct whole numbers"):
        numbers = read_x(np.arange(CODE_LEVELS + 1).repeat(2)).covariates["X"]
    assert not numbers.is_categorical
    np.testing.assert_array_equal(numbers.values, np.arange(CODE_LEVELS + 1).repeat(2))


def test_fractions_are_numbers_however_few() -> None:
    assert not read_x([0.5, 1.5] * 4).covariates["X"].is_categorical


def test_true_and_false_are_the_levels_1_and_0() -> None:
    assert read_x([True, False] * 4).covariates["X"].levels == ("0", "1")
    data = read_x([True, False] * 4, ac.Categorical(levels=[True, False], reference=True))
    assert data.covariates["X"].levels == ("1", "0")
    assert data.covariates["X"].reference == 0
    assert data.covariates["X"].values.tolist() == [0, 1] * 4


def test_numbers_as_text_are_levels_in_the_order_of_their_size() -> None:
    assert read_x(["10", "9", "2", "10"] * 2).covariates["X"].levels == ("2", "9", "10")


def test_mixed_types_are_levels_by_their_text() -> None:
    mixed = np.array([1, "one", 2.0, "1"] * 2, dtype=object)
    data = read_x(mixed)
    assert sorted(data.covariates["X"].levels or ()) == ["1", "2", "one"]
    assert levels_of(data, "X") == ["1", "one", "2", "1"] * 2


def test_a_stray_word_in_a_column_of_many_numbers_is_an_error_not_a_level() -> None:
    values: list[object] = [f"{v}.5" for v in range(23)] + ["unknown"]
    problem = the_error("not-a-number", lambda: read_x(values))
    says(problem, "X (column 'X')", "'unknown'", "1 row (23)", "Categorical()")
    # Few values with a word among them, as "65+", are simply levels.
    assert read_x(["1", "2", "3+", "1"] * 2).covariates["X"].levels == ("1", "2", "3+")


def test_the_role_overrules_the_looks() -> None:
    assert read_x([1, 2] * 4, ac.Numeric()).covariates["X"].values.tolist() == [1.0, 2.0] * 4
    assert read_x(["1.5", "2"] * 4, ac.Numeric()).covariates["X"].values.tolist() == [1.5, 2.0] * 4
    data = read_x([1.5, 2.5] * 4, ac.Categorical())
    assert data.covariates["X"].levels == ("1.5", "2.5")


# -- Levels ----------------------------------------------------------------------------------


def test_the_last_level_is_the_default_reference() -> None:
    assert read_x(list("abcb") * 2).covariates["X"].reference == 2
    assert read_x(list("abcb") * 2, ac.Categorical(reference="b")).covariates["X"].reference == 1
    codes = read_x([1, 2, 3, 1] * 2, ac.Categorical(reference=1.0)).covariates["X"]
    assert codes.levels is not None
    assert codes.levels[codes.reference] == "1"


def test_listed_levels_keep_the_order_given() -> None:
    data = read_x(["mid", "low", "high", "low"] * 2, ac.Categorical(levels=["low", "mid", "high"]))
    assert data.covariates["X"].levels == ("low", "mid", "high")
    assert data.covariates["X"].values.tolist() == [1, 0, 2, 0] * 2


def test_values_beyond_the_listed_levels_are_an_error_and_not_missing_besides() -> None:
    with pytest.raises(ac.DataError) as caught:
        read_x(["low", "odd", "high", "low"] * 2, ac.Categorical(levels=["low", "high"]))
    (problem,) = caught.value.problems
    assert problem.code == "unknown-level"
    assert problem.rows == (1, 5)
    says(problem, "X (column 'X')", "beyond those listed (low, high)", "'odd'", "2 rows (1, 5)")
    says(problem, "list these levels too", "drop_invalid=True")


def test_merging_unites_levels() -> None:
    merge = {"work": [1, 3], "free": [2]}
    data = read_x([1, 2, 3, 4] * 2, ac.Categorical(merge=merge))
    assert data.covariates["X"].levels == ("work", "free", "4")
    assert levels_of(data, "X") == ["work", "free", "work", "4"] * 2
    ordered = read_x(
        [1, 2, 3, 4] * 2, ac.Categorical(merge=merge, levels=["free", "4", "work"])
    ).covariates["X"]
    assert ordered.levels == ("free", "4", "work")
    assert ordered.values.tolist() == [2, 0, 2, 1] * 2


def test_merging_what_is_not_there_or_twice_is_refused() -> None:
    message = the_refusal(lambda: read_x(["bus", "car"] * 4, ac.Categorical(merge={"m": ["buss"]})))
    says(message, "'X'", "'buss'", "'m'", "Did you mean 'bus'?")
    twice = {"m": ["bus"], "n": ["bus"]}
    message = the_refusal(lambda: read_x(["bus", "car"] * 4, ac.Categorical(merge=twice)))
    says(message, "'X'", "'bus'", "both 'm' and 'n'")


def test_rare_levels_are_pooled_and_the_reference_stays() -> None:
    values: list[object] = ["a"] * 9 + ["b"] * 8 + ["c"] + ["d"] * 2
    data = read_x(values, ac.Categorical(pool_below=0.15))
    assert data.covariates["X"].levels == (POOLED_LEVEL, "a", "b")
    assert data.covariates["X"].reference == 2
    assert levels_of(data, "X") == ["a"] * 9 + ["b"] * 8 + [POOLED_LEVEL] * 3
    # A share just at the limit is not below it: two of twenty are a tenth.
    kept = read_x(values, ac.Categorical(pool_below=0.1)).covariates["X"]
    assert kept.levels == (POOLED_LEVEL, "a", "b", "d")


def test_pooling_joins_a_level_that_already_has_its_name() -> None:
    values: list[object] = ["a"] * 9 + [POOLED_LEVEL] * 9 + ["c"] * 2
    data = read_x(values, ac.Categorical(pool_below=0.2))
    assert data.covariates["X"].levels == ("a", POOLED_LEVEL)
    assert levels_of(data, "X") == ["a"] * 9 + [POOLED_LEVEL] * 11


def test_pooling_counts_merged_levels_together() -> None:
    values: list[object] = ["a"] * 10 + ["b", "c"] * 3
    role = ac.Categorical(merge={"bc": ["b", "c"]}, pool_below=0.3)
    assert read_x(values, role).covariates["X"].levels == ("a", "bc")


def test_missing_values_may_have_a_level() -> None:
    values: list[object] = ["a", None, "b", "a"] * 2
    data = read_x(values, ac.Categorical(missing="unknown"))
    assert data.covariates["X"].levels == ("unknown", "a", "b")
    assert levels_of(data, "X") == ["a", "unknown", "b", "a"] * 2
    joined = read_x(values, ac.Categorical(missing="b"))
    assert levels_of(joined, "X") == ["a", "b", "b", "a"] * 2
    unneeded = read_x(["a", "b"] * 4, ac.Categorical(missing="unknown"))
    assert unneeded.covariates["X"].levels == ("a", "b")
    numbers = read_x([1.0, np.nan, 2.0, 1.0] * 2, ac.Categorical(missing="unknown"))
    assert levels_of(numbers, "X") == ["1", "unknown", "2", "1"] * 2


def test_the_level_of_missing_values_is_merged_and_pooled_like_any_other() -> None:
    values: list[object] = ["a"] * 9 + ["b"] * 9 + ["c", None]
    pooled = read_x(values, ac.Categorical(missing="unknown", pool_below=0.2))
    assert pooled.covariates["X"].levels == (POOLED_LEVEL, "a", "b")
    assert levels_of(pooled, "X") == ["a"] * 9 + ["b"] * 9 + [POOLED_LEVEL] * 2
    merge = {"rest": ["c", "unknown"]}
    merged = read_x(values, ac.Categorical(missing="unknown", merge=merge))
    assert merged.covariates["X"].levels == ("a", "b", "rest")
    assert levels_of(merged, "X") == ["a"] * 9 + ["b"] * 9 + ["rest"] * 2
    # Together they are a tenth, which is not below it.
    both = ac.Categorical(missing="unknown", merge=merge, pool_below=0.1)
    assert read_x(values, both).covariates["X"].levels == ("a", "b", "rest")


def test_an_unknown_reference_is_answered_with_the_nearest() -> None:
    message = the_refusal(lambda: read_x(["bus", "car"] * 4, ac.Categorical(reference="buss")))
    says(message, "'X'", "'buss'", "Did you mean 'bus'?")


# -- Cutting ---------------------------------------------------------------------------------


def test_a_cut_puts_an_edge_into_the_upper_class() -> None:
    values = [10.0, 29.9, 30.0, 45.0, 60.0, 80.0, 59.9, 0.0]
    data = read_x(values, ac.Cut(edges=[30, 60]))
    assert data.covariates["X"].levels == ("<30", "30-60", ">=60")
    by_hand = np.select([np.array(values) < 30, np.array(values) < 60], ["<30", "30-60"], ">=60")
    assert levels_of(data, "X") == by_hand.tolist()


def test_classes_may_have_names_and_a_reference() -> None:
    role = ac.Cut(edges=[30], labels=["poor", "rich"], reference="poor")
    covariate = read_x([10, 50] * 4, role).covariates["X"]
    assert covariate.levels == ("poor", "rich")
    assert covariate.reference == 0


def test_quantiles_make_classes_of_equal_size() -> None:
    values = np.random.default_rng(0).permutation(80) * 1.5
    data = read_x(values, ac.Cut(quantiles=4))
    assert np.bincount(data.covariates["X"].values).tolist() == [20, 20, 20, 20]
    expected = pd.qcut(pd.Series(values), 4, labels=False)
    np.testing.assert_array_equal(data.covariates["X"].values, expected)


def test_ties_at_the_bottom_do_not_leave_an_empty_class() -> None:
    values = np.array([0.0] * 50 + list(range(1, 31)))
    data = read_x(values, ac.Cut(quantiles=4))
    assert np.bincount(data.covariates["X"].values).min() > 0
    assert data.warnings == ()


def test_classes_of_large_numbers_have_different_names() -> None:
    values = [1_234_560.0, 1_234_566.0, 1_234_569.0, 1_234_567.5] * 2
    data = read_x(values, ac.Cut(edges=[1_234_565, 1_234_567]))
    assert data.covariates["X"].levels == ("<1234565", "1234565-1234567", ">=1234567")
    close = read_x(np.arange(8) * 1e-9 + 0.5, ac.Cut(edges=[0.5 + 2.5e-9, 0.5 + 4.5e-9]))
    assert len(set(close.covariates["X"].levels or ())) == 3


def test_a_cut_may_have_a_level_for_missing_values() -> None:
    values = [10.0, np.nan, 50.0, 20.0] * 2
    data = read_x(values, ac.Cut(edges=[30], missing="unknown"))
    assert data.covariates["X"].levels == ("unknown", "<30", ">=30")
    assert levels_of(data, "X") == ["<30", "unknown", ">=30", "<30"] * 2
    problem = the_error("missing-covariate", lambda: read_x(values, ac.Cut(edges=[30])))
    says(problem, "X (column 'X')", "2 rows (1, 5)")


def test_a_cut_refuses_what_is_not_a_finite_number() -> None:
    for value, shown in (("rich", "'rich'"), (np.inf, "'inf'")):
        values = np.array([10, value, 50, 20] * 2, dtype=object)
        problem = the_error("not-a-number", lambda v=values: read_x(v, ac.Cut(edges=[30])))
        says(problem, "X (column 'X')", shown, "2 rows (1, 5)")


@pytest.mark.parametrize(
    "role, says_so",
    [
        (ac.Cut(), "quantiles=4"),
        (ac.Cut(edges=[60, 30]), "ascending inner edges"),
        (ac.Cut(edges=[30, 30]), "ascending inner edges"),
        (ac.Cut(quantiles=1), "quantiles=1"),
        (ac.Cut(edges=[30], labels=["one"]), "1 edges make 2 classes, but 1"),
        (ac.Cut(edges=[30], labels=["one", "one"]), "1 edges make 2 classes, but 1"),
        (ac.Cut(edges=[30], reference="none"), "no level 'none'"),
    ],
)
def test_a_cut_that_makes_no_sense_is_refused(role: ac.Cut, says_so: str) -> None:
    says(the_refusal(lambda: read_x([10.5, 50.5] * 4, role)), "'X'", says_so)


def test_a_column_of_one_value_or_none_has_no_quantiles() -> None:
    for value in (5.0, np.nan):
        says(the_refusal(lambda v=value: read_x([v] * 8, ac.Cut(quantiles=4))), "different values")


# -- The same again on new data --------------------------------------------------------------


def test_pooled_and_merged_levels_are_repeated() -> None:
    values: list[object] = ["a"] * 9 + ["b"] * 8 + ["c"] + ["d"] * 2
    role = ac.Categorical(pool_below=0.15, merge={"A": ["a"]}, reference="A")
    earlier = read_x(values, role)
    new = read_x(["c", "c", "c", "d", "a", "b", "c", "c"], role, like=earlier)
    assert levels_of(new, "X") == [POOLED_LEVEL] * 4 + ["A", "b"] + [POOLED_LEVEL] * 2
    assert new.covariates["X"].levels == earlier.covariates["X"].levels
    assert new.covariates["X"].reference == earlier.covariates["X"].reference


def test_codes_keep_their_meaning_when_levels_are_absent() -> None:
    earlier = read_x([1, 2, 3, 5] * 2)
    new = read_x([3.0] * 8, like=earlier)
    assert new.covariates["X"].levels == ("1", "2", "3", "5")
    assert new.covariates["X"].values.tolist() == [2] * 8
    assert new.covariates["X"].reference == 3


def test_quantile_edges_are_repeated() -> None:
    earlier = read_x(np.arange(80) / 2, ac.Cut(quantiles=4))
    new = read_x([0.0, 39.5, 100.0, -5.0, 9.0, 11.0, 21.0, 29.0], like=earlier)
    edges = np.quantile(np.arange(80) / 2, [0.25, 0.5, 0.75])
    by_hand = [int(np.sum(v >= edges)) for v in [0.0, 39.5, 100.0, -5.0, 9.0, 11.0, 21.0, 29.0]]
    assert new.covariates["X"].values.tolist() == by_hand
    assert new.covariates["X"].levels == earlier.covariates["X"].levels


def test_the_level_for_missing_values_is_repeated() -> None:
    for role in (ac.Categorical(missing="unknown"), ac.Cut(edges=[2], missing="unknown")):
        earlier = read_x([1.0, np.nan, 2.0, 1.0] * 2, role)
        new = read_x([np.nan, 2.0] * 4, like=earlier)
        assert levels_of(new, "X")[0] == "unknown"
        assert new.covariates["X"].levels == earlier.covariates["X"].levels


def test_numbers_stay_numbers_though_the_new_ones_look_like_codes() -> None:
    earlier = read_x([0.5, 1.5] * 4)
    assert read_x([1, 2] * 4, like=earlier).covariates["X"].values.tolist() == [1.0, 2.0] * 4


def test_a_level_never_seen_comes_after_the_known_ones() -> None:
    earlier = read_x(["a", "c"] * 4)
    new = read_x(["b", "c"] * 4, like=earlier)
    assert new.covariates["X"].levels == ("a", "c", "b")
    assert new.covariates["X"].reference == 1


def test_listed_levels_stay_closed_for_new_data() -> None:
    earlier = read_x(["a", "b"] * 4, ac.Categorical(levels=["a", "b"]))
    problem = the_error("unknown-level", lambda: read_x(["a", "c"] * 4, like=earlier))
    says(problem, "'c'", "4 rows (1, 3, 5, 7)")


def test_pooled_levels_that_were_listed_but_absent_stay_allowed() -> None:
    role = ac.Categorical(levels=["a", "b", "c"], pool_below=0.1)
    with pytest.warns(ac.ArdchoiceWarning, match="no rows at level 'other'"):
        earlier = read_x(["a", "b"] * 4, role)
    assert levels_of(read_x(["c", "a"] * 4, like=earlier), "X") == [POOLED_LEVEL, "a"] * 4


def test_levels_of_an_attribute_are_repeated() -> None:
    table = wide_table()
    table["BUS_SEAT"] = ["soft", "hard"] * 4
    table["CAR_SEAT"] = ["hard", "leather"] * 4
    columns = {"BUS": "BUS_SEAT", "CAR": "CAR_SEAT"}
    earlier = read_table(table, attributes={"SEAT": ac.Categorical(columns, reference="hard")})
    new = table.assign(BUS_SEAT="soft", CAR_SEAT="soft")
    seat = read_table(new, attributes={"SEAT": columns}, like=earlier).attributes["SEAT"]
    assert seat.levels == ("hard", "leather", "soft")
    assert seat.reference == 0
    assert set(seat.values[read_table(new).available[:2]]) == {2}


def test_new_data_are_not_blamed_for_being_few() -> None:
    earlier = read_table()
    one = read_table(wide_table()[:1], like=earlier)
    assert one.warnings == ()
    assert one.covariates["CITY"].levels == earlier.covariates["CITY"].levels
    assert read_rows(long_table()[:3], like=read_rows()).warnings == ()


def test_new_data_are_still_checked() -> None:
    earlier = read_table()
    problem = the_error(
        "missing-attribute", lambda: read_table(changed("CAR_TT", [2], None), like=earlier)
    )
    says(problem, "TT of CAR", "1 row (2)")


def test_levels_that_only_dropped_rows_had_are_forgotten() -> None:
    table = wide_table().assign(X=["a", "b", "a", "b", "z", "b", "a", "a"])
    table.loc[4, "CHOICE"] = 0
    with pytest.warns(ac.ArdchoiceWarning, match=r"1 row \(4\) dropped"):
        data = read_table(table, covariates=["X"], drop_invalid=True)
    assert data.covariates["X"].levels == ("a", "b")
    assert data.covariates["X"].reference == 1
    assert levels_of(data, "X") == ["a", "b", "a", "b", "b", "a", "a"]
    again = read_table(wide_table().assign(X=["b", "a"] * 4), covariates=["X"], like=data)
    assert levels_of(again, "X") == ["b", "a"] * 4
