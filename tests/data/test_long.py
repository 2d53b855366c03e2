"""Long tables: what is read, and that it is what the same wide table gives."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_support import (
    ALTERNATIVES,
    assert_same,
    long_table,
    read_rows,
    read_table,
    says,
    the_error,
    the_refusal,
    the_warning,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import ardchoice as ac
from ardchoice.data import ChoiceData


def test_a_long_table_gives_what_the_wide_one_gives() -> None:
    data = read_rows()
    assert_same(data, read_table(), situations=False)
    assert data.situation.tolist() == [f"s{n}" for n in range(8)]


def test_rows_may_come_in_any_order() -> None:
    table = long_table()
    shuffled = table.sample(frac=1.0, random_state=5)
    data, order = read_rows(shuffled), read_rows().situation.tolist()
    position = [data.situation.tolist().index(s) for s in order]
    assert_same(data.take(position), read_rows())


def test_alternatives_come_in_the_order_wanted_or_sorted() -> None:
    assert read_rows().alternatives == ("BUS", "CAR", "RAIL")
    data = read_rows(alternatives=["RAIL", "BUS", "CAR"])
    assert data.alternatives == ("RAIL", "BUS", "CAR")
    np.testing.assert_array_equal(data.available, read_rows().available[[2, 0, 1]])
    table = long_table()
    table["ALT"] = table["ALT"].map(ALTERNATIVES)
    assert_same(read_rows(table, alternatives=ALTERNATIVES), read_rows())
    assert read_rows(table).alternatives == ("1", "2", "3")


@pytest.mark.parametrize("kind", [int, float, str])
def test_numbered_alternatives_are_sorted_by_size_not_by_letter(kind: type) -> None:
    table = pd.DataFrame(
        {"s": np.repeat(np.arange(12), 12), "j": np.tile(np.arange(1, 13), 12), "x": range(144)}
    )
    table["y"] = (table["s"] + 1 == table["j"]).astype(int)
    data = ac.read_long(
        table.astype({"j": kind}), situation="s", alternative="j", chosen="y", attributes=["x"]
    )
    assert data.alternatives == tuple(str(j) for j in range(1, 13))
    assert data.chosen().tolist() == list(range(12))


def test_situations_without_choices_are_read() -> None:
    data = read_rows(long_table().drop(columns="CHOSEN"), chosen=None)
    assert data.choice is None
    np.testing.assert_array_equal(data.available, read_rows().available)


def test_an_alternative_without_values_does_not_have_the_attribute() -> None:
    assert read_rows().attributes["HE"].alternatives == (0, 2)


def test_attributes_and_covariates_may_get_other_names() -> None:
    data = read_rows(attributes={"time": "TT"}, covariates={"town": ac.Categorical("CITY")})
    assert list(data.attributes) == ["time"]
    assert data.covariates["town"].levels == ("Bern", "Genève", "Zürich")


def test_new_situations_keep_the_alternatives_and_attributes_of_earlier_ones() -> None:
    earlier = read_rows()
    # In situation s1 there is no RAIL, so that the new table alone would not know it.
    new = long_table().query("SITUATION == 's1'")
    data = read_rows(new, like=earlier)
    assert data.alternatives == earlier.alternatives
    assert data.available.tolist() == [[True], [True], [False]]
    assert data.attributes["HE"].alternatives == (0, 2)
    assert data.warnings == ()


def test_levels_of_an_attribute_are_read_and_repeated() -> None:
    table = long_table()
    table["SEAT"] = np.where(table["TT"] > 30, "soft", "hard")
    data = read_rows(table, attributes=["SEAT"])
    seat = data.attributes["SEAT"]
    assert seat.levels == ("hard", "soft")
    used = data.available
    first = table[table["SITUATION"] == "s0"]["SEAT"].tolist()
    assert [seat.levels[c] for c in seat.values[:, 0]] == first
    again = read_rows(table[:3], attributes=["SEAT"], like=data)
    np.testing.assert_array_equal(again.attributes["SEAT"].values[:, 0], seat.values[:, 0])
    assert set(seat.values[used]) == {0, 1}


# -- Both ways, at random --------------------------------------------------------------------


@st.composite
def wide_and_long(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """A random wide table, and the long one that a few lines of pandas make of it."""
    count, n = draw(st.integers(2, 6)), draw(st.integers(1, 12))
    names = [f"a{j}" for j in range(count)]
    choice = draw(arrays(np.int64, n, elements=st.integers(0, count - 1)))
    available = draw(arrays(np.bool_, (n, count)))
    available[np.arange(n), choice] = True
    numbers = st.floats(-1e6, 1e6, allow_nan=False)
    x = draw(arrays(np.float64, (n, count), elements=numbers))
    seat = draw(arrays(np.int64, (n, count), elements=st.integers(0, 3)))
    wide = pd.DataFrame(
        {
            "picked": [names[c] for c in choice],
            "who": draw(arrays(np.int64, n, elements=st.integers(0, 4))),
            "w": draw(arrays(np.float64, n, elements=st.floats(0.5, 2.0))),
            "sex": draw(st.lists(st.sampled_from("fmx"), min_size=n, max_size=n)),
            "pay": draw(arrays(np.float64, n, elements=numbers)),
        }
        | {f"av_{a}": available[:, j].astype(int) for j, a in enumerate(names)}
        | {f"x_{a}": x[:, j] for j, a in enumerate(names)}
        | {f"seat_{a}": [f"kind {v}" for v in seat[:, j]] for j, a in enumerate(names)}
    )
    parts = []
    for a in names:
        here = wide[wide[f"av_{a}"] == 1]
        values = {"x": here[f"x_{a}"], "seat": here[f"seat_{a}"], "chosen": here["picked"] == a}
        parts.append(here[["who", "w", "sex", "pay"]].assign(alternative=a, **values))
    rows = pd.concat(parts).rename_axis("situation").reset_index()
    return wide, rows.sort_values("situation", kind="stable"), names


def quietly(read: Any, *args: Any, **how: Any) -> ChoiceData | list[str]:
    """The data, or the codes of the errors: a random table may well be a wrong one."""
    try:
        return read(*args, **how)  # type: ignore[no-any-return]
    except ac.DataError as error:
        return [p.code for p in error.problems if p.severity == "error"]


@pytest.mark.filterwarnings("ignore::ardchoice.ArdchoiceWarning")  # random tables deserve many
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(wide_and_long())
def test_any_wide_table_and_its_long_form_give_identical_data(
    tables: tuple[pd.DataFrame, pd.DataFrame, list[str]],
) -> None:
    wide, rows, names = tables
    same: dict[str, Any] = {
        "covariates": {"sex": ac.Categorical(), "pay": ac.Numeric()},
        "alternatives": names,
        "person": "who",
        "weight": "w",
    }
    one = quietly(
        ac.read_wide,
        wide,
        choice="picked",
        attributes={a: {n: f"{a}_{n}" for n in names if wide[f"av_{n}"].any()} for a in SHOWN},
        availability="av_{alt}",
        **same,
    )
    two = quietly(
        ac.read_long,
        rows,
        situation="situation",
        alternative="alternative",
        chosen="chosen",
        attributes=SHOWN,
        **same,
    )
    if isinstance(one, list) or isinstance(two, list):
        assert one == two
        assert set(one) <= {"one-always-chosen", "one-person"}
    else:
        np.testing.assert_array_equal(two.situation, one.situation)
        assert_same(one, two, situations=False)


SHOWN = ["x", "seat"]


# -- Problems of long tables -----------------------------------------------------------------


def edited(column: str, value: object, **where: object) -> pd.DataFrame:
    """The small long table with `value` in the rows that match."""
    table = long_table().astype({column: object})
    match = np.logical_and.reduce([table[c] == v for c, v in where.items()])
    assert match.any()
    table.loc[match, column] = value
    return table


def test_nobody_chose() -> None:
    table = edited("CHOSEN", 0, SITUATION="s2")
    problem = the_error("nobody-chose", lambda: read_rows(table))
    says(problem, "No alternative is marked as chosen", "'CHOSEN'", "1 situation (s2)")
    says(problem, "drop_invalid=True")
    assert problem.rows == (2,)


def test_two_chosen() -> None:
    table = edited("CHOSEN", 1, SITUATION="s2")
    problem = the_error("two-chosen", lambda: read_rows(table))
    says(problem, "More than one", "'CHOSEN'", "1 situation (s2)", "drop_invalid=True")


@pytest.mark.parametrize("mark, shown", [("maybe", "'maybe'"), (2, "'2'"), (None, "nothing")])
def test_bad_chosen_marks(mark: object, shown: str) -> None:
    table = edited("CHOSEN", mark, SITUATION="s3", CHOSEN=1)
    with pytest.raises(ac.DataError) as caught:
        read_rows(table)
    (problem,) = caught.value.problems  # and not "nobody chose" besides
    assert problem.code == "bad-chosen"
    says(problem, shown, "neither 1/0 nor yes/no", "'CHOSEN'", "1 situation (s3)")
    says(problem, "drop_invalid=True")


def test_duplicate_rows() -> None:
    table = long_table()
    table = pd.concat([table, table[table["SITUATION"] == "s4"].assign(CHOSEN=0)])
    problem = the_error("duplicate-rows", lambda: read_rows(table))
    says(problem, "1 situation (s4)", "situation s4 has 'BUS' twice", "'SITUATION'")
    says(problem, "Remove the duplicates")
    assert problem.rows == (4,)
    again = long_table().query("SITUATION in ['s3', 's6']").assign(CHOSEN=0)[::-1]
    problem = the_error("duplicate-rows", lambda: read_rows(pd.concat([long_table(), again])))
    says(problem, "2 situations (s3, s6)", "situation s6 has 'RAIL' twice")


@pytest.mark.parametrize("column, role", [("SITUATION", "situation id"), ("ALT", "alternative")])
def test_missing_ids(column: str, role: str) -> None:
    table = long_table()
    table.loc[[2, 7], column] = None
    problem = the_error("missing-id", lambda: read_rows(table))
    says(problem, role, f"'{column}'", "2 rows (2, 7)", "Fix or remove")


def test_both_missing_ids_are_reported_together() -> None:
    table = long_table()
    table.loc[2, "SITUATION"] = table.loc[3, "ALT"] = None
    with pytest.raises(ac.DataError) as caught:
        read_rows(table)
    assert len(caught.value.problems) == 2


def test_missing_person() -> None:
    problem = the_error("missing-person", lambda: read_rows(edited("ID", None, SITUATION="s6")))
    says(problem, "person id", "'ID'", "1 situation (s6)", "without person")


@pytest.mark.parametrize(
    "column, what",
    [("CITY", "Covariate CITY"), ("WEIGHT", "The weight"), ("ID", "The person id")],
)
def test_what_should_be_the_same_within_a_situation(column: str, what: str) -> None:
    value = long_table()[column].iloc[-1]
    for wrong in (value, None):
        table = edited(column, wrong, SITUATION="s2", ALT="CAR")
        problem = the_error("varying-covariate", lambda t=table: read_rows(t))
        says(problem, what, f"'{column}'", "differs", "1 situation (s2)", "among the attributes")
        assert problem.rows == (2,)


def test_unknown_alternatives() -> None:
    problem = the_error("unknown-alternative", lambda: read_rows(alternatives=["BUS", "CAR"]))
    says(problem, "'ALT'", "'RAIL'", "7 rows (2, 7, 9, 12, 14, ...)", "BUS, CAR", "List them too")


def test_one_alternative_is_no_choice() -> None:
    table = long_table().query("ALT == 'BUS'")
    says(the_refusal(lambda: read_rows(table)), "'ALT'", "one alternative only")


def test_an_attribute_that_is_missing_everywhere() -> None:
    problem = the_error("missing-attribute", lambda: read_rows(long_table().assign(TT=np.nan)))
    says(problem, "TT", "'TT'", "missing everywhere")


def test_a_missing_attribute_is_named_with_alternative_and_situation() -> None:
    table = edited("TT", None, SITUATION="s5", ALT="RAIL")
    problem = the_error("missing-attribute", lambda: read_rows(table))
    says(problem, "TT of RAIL", "'TT'", "1 situation (s5)", "drop_invalid=True")


def test_a_level_beyond_those_listed_is_named_by_situation() -> None:
    table = long_table()
    table["SEAT"] = np.where(table["SITUATION"] == "s6", "torn", "soft")
    table.loc[::2, "SEAT"] = "hard"
    attribute = {"SEAT": ac.Categorical(levels=["hard", "soft"])}
    problem = the_error("unknown-level", lambda: read_rows(table, attributes=attribute))
    says(problem, "SEAT", "'SEAT'", "'torn'", "hard, soft", "1 situation (s6)", "merge")
    assert problem.rows == (6,)
    with pytest.warns(ac.ArdchoiceWarning, match=r"1 situation \(s6\) dropped"):
        data = read_rows(table, attributes=attribute, drop_invalid=True)
    assert data.situation.tolist() == [f"s{n}" for n in range(8) if n != 6]


def test_a_covariate_beyond_its_levels_is_named_by_situation() -> None:
    covariate = {"CITY": ac.Categorical(levels=["Bern", "Zürich"])}
    problem = the_error("unknown-level", lambda: read_rows(covariates=covariate))
    says(problem, "CITY", "'CITY'", "'Genève'", "2 situations (s2, s3)")
    assert problem.rows == (2, 3)


def test_a_stray_word_is_named_by_situation() -> None:
    table = edited("TT", "fast", SITUATION="s4", ALT="CAR")
    problem = the_error("not-a-number", lambda: read_rows(table))
    says(problem, "TT", "'TT'", "'fast'", "1 situation (s4)", "Categorical()")
    table = edited("WEIGHT", "heavy", SITUATION="s4")
    problem = the_error("not-a-number", lambda: read_rows(table))
    says(problem, "The weight", "'WEIGHT'", "'heavy'", "1 situation (s4)")


def test_situations_with_errors_can_be_dropped() -> None:
    table = edited("CHOSEN", 0, SITUATION="s2")
    table.loc[table["SITUATION"] == "s6", "INCOME"] = np.nan
    problem = the_warning("dropped", lambda: read_rows(table, drop_invalid=True))
    says(problem, "2 situations (s2, s6) dropped", "missing-covariate, nobody-chose")
    with pytest.warns(ac.ArdchoiceWarning):
        data = read_rows(table, drop_invalid=True)
    kept = [0, 1, 3, 4, 5, 7]
    assert_same(data, read_rows().take(kept))


def test_columns_must_exist_and_lists_must_be_lists() -> None:
    says(the_refusal(lambda: read_rows(situation="SITUATIONS")), "named as situation", "Did you")
    says(the_refusal(lambda: read_rows(alternative="ALTS")), "named as alternative", "'ALT'")
    says(the_refusal(lambda: read_rows(chosen="CHOSE")), "named as chosen", "'CHOSEN'")
    says(the_refusal(lambda: read_rows(attributes=["TTT"])), "attribute TTT", "Did you mean 'TT'?")
    says(the_refusal(lambda: read_rows(attributes="TT")), "['TT']")
    says(the_refusal(lambda: read_rows(attributes={"TT": ac.Cut(edges=[1])})), "quantiles(TT, 4)")
    says(the_refusal(lambda: read_rows(covariates=["TT"])), "TT is both")
