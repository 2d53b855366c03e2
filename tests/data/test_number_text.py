"""Numbers written as text are recognised where there is one way to read them."""

import tracemalloc
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_support import read_rows, read_table, says, the_error, wide_table

import ardchoice as ac
from ardchoice.data import read_like
from ardchoice.data.number_text import AmbiguousNumbersError, recognise


def day(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,234", "950", "12,500"], [1234, 950, 12500]),
        (["1,234,567", "2,000,000"], [1234567, 2000000]),
        (["1,234.5", "950"], [1234.5, 950]),
        (["1.234,56", "12,00"], [1234.56, 12]),
        (["CHF 1'234.50", "CHF 20.00"], [1234.5, 20]),
        (["1 234", "950"], [1234, 950]),
        (["€3,50", "€12,00", "0"], [3.5, 12, 0]),
        (["3.50 €", "-2 €"], [3.5, -2]),
        (["$1,250.00", "$20.00"], [1250, 20]),
        (["12 min", "15 mins", "7 Minutes"], [12, 15, 7]),
        (["5%", "12.5 %"], [5, 12.5]),
        (["0,125", "0,5"], [0.125, 0.5]),
        (["08:30", "17:05", "0:00"], [510, 1025, 0]),
        (["8:30 am", "12:15 p.m.", "12:15 am"], [510, 735, 15]),
        (["1:30:30", "2:00:00"], [90.5, 120]),
        (["1h30", "2 h 05 min"], [90, 125]),
        (["2024-03-01", "2023-12-31"], [day(2024, 3, 1), day(2023, 12, 31)]),
        (["2024-03-01 06:00", "2024-03-02T18:00"], [day(2024, 3, 1) + 0.25, 19784.75]),
        (["31/12/2023", "01/02/2024"], [day(2023, 12, 31), day(2024, 2, 1)]),
        (["12/31/2023", "01/02/2024"], [day(2023, 12, 31), day(2024, 1, 2)]),
        (["01.02.2024", "03.04.2024"], [day(2024, 2, 1), day(2024, 4, 3)]),
    ],
)  # fmt: skip
def test_formats_are_recognised(texts: list[str], numbers: list[float]) -> None:
    found = recognise(texts)
    assert found is not None
    assert [found.read(t) for t in texts] == pytest.approx(numbers, rel=1e-15)


@pytest.mark.parametrize(
    "texts",
    [["low", "high"], ["A1", "A2"], ["18-25", "26-35"], ["zone 1", "zone 2"], ["1990s", "2000s"],
     ["+41 79", "x"], ["P1", "1P"], ["1.2.3", "4.5.6"], ["12:75", "26:00"], ["", " "]],
)  # fmt: skip
def test_other_texts_are_no_numbers(texts: list[str]) -> None:
    assert recognise(texts) is None


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["1,234", "2,345"], "'1,234' is 1.234 or 1234. Set the decimal sign: decimal ="),
        (["12 min", "1 h"], "with different units, or with and without one: '12 min', '1 h'"),
        (["€3", "$4"], "different units"),
        (["12 min", "15"], "with and without one"),
        (["03/01/2024", "04/02/2024"], "day and month cannot be told apart. Write them as"),
    ],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_is_an_error_with_examples(
    texts: list[str], message: str
) -> None:
    with pytest.raises(AmbiguousNumbersError) as caught:
        recognise(texts)
    says(str(caught.value), message)


def test_a_decimal_sign_that_is_given_decides() -> None:
    one, other = recognise(["1,234", "2,345"], "."), recognise(["1,234", "2,345"], ",")
    assert one is not None
    assert other is not None
    assert (one.read("1,234"), other.read("1,234")) == (1234, 1.234)


def with_thousands() -> pd.DataFrame:
    """Costs in cents of the small table, with thousands separators; 36,500 for 36.5."""
    table = wide_table()
    for name in ("BUS", "CAR", "RAIL"):
        cents = (table[f"{name}_TT"] * 50).round().astype(int)
        table[f"{name}_TT"] = [f"{v:,}" for v in cents]
    return table


@pytest.mark.parametrize("how", ["frame", "csv", "tab", "stream"])
def test_thousands_separators_of_attributes_are_read(how: str, tmp_path: Path) -> None:
    table: object = with_thousands()
    if how != "frame":
        table = tmp_path / "t.csv"
        with_thousands().to_csv(table, index=False, sep="\t" if how == "tab" else ",")
    data = read_table(table, stream=how == "stream" if how != "frame" else None)
    tt = data.attributes["TT"]
    assert tt.levels is None
    for j, name in enumerate(("BUS", "CAR", "RAIL")):
        expected = (wide_table()[f"{name}_TT"] * 50).round()
        here = data.available[j]
        np.testing.assert_array_equal(tt.of(j)[here], expected[here])
    (note,) = (p for p in data.warnings if p.code == "numbers-as-text")
    says(note, "TT (column 'BUS_TT') holds numbers written as text: '2,025' is read as 2025.")
    # A single new row is read in the format that was learned.
    one = with_thousands().iloc[[0]].assign(BUS_TT="1,234", CAR_TT="1,234", RAIL_TT="1,234")
    assert read_like(one, data).attributes["TT"].of(0).tolist() == [1234.0]


def test_saved_data_keep_the_format(tmp_path: Path) -> None:
    data = read_table(with_thousands(), weight=None)
    study = ac.specify(data, ac.SearchSpace(data, attributes=["TT"]), seed=0)
    study.save(tmp_path / "study")
    again = ac.load(tmp_path / "study")
    assert again.data.attributes["TT"].written == data.attributes["TT"].written


def test_a_number_in_one_alternative_and_text_in_another_is_an_error() -> None:
    table = wide_table()
    table["CAR_TT"] = ["fast", "slow"] * 4
    problem = the_error("mixed-kinds", lambda: read_table(table))
    says(problem, "TT is a number in TT of BUS (column 'BUS_TT': ")
    says(problem, "and text in TT of CAR (column 'CAR_TT': 'fast', 'slow', 'fast', ...)")
    data = read_table(table, attributes={"TT": ac.Categorical("{alt}_TT")})
    assert data.attributes["TT"].levels is not None


def test_ambiguous_numbers_of_a_table_are_an_error_with_a_way_out() -> None:
    table = wide_table()
    for name in ("BUS", "CAR", "RAIL"):
        table[f"{name}_TT"] = [
            f"{i},{int(v * 10):03d}" for i, v in enumerate(table[f"{name}_TT"], 1)
        ]
    says(the_error("ambiguous-numbers", lambda: read_table(table)), "TT (column 'BUS_TT'", "1.405")
    point, comma = (read_table(table, decimal=d).attributes["TT"].of(0) for d in ".,")
    np.testing.assert_allclose(point[:3], 1000 * comma[:3])


def test_clock_times_of_a_covariate_are_minutes() -> None:
    table = pd.concat([wide_table()] * 4, ignore_index=True)
    table["DEPART"] = [f"{6 + i // 4:02d}:{i % 4 * 15:02d}" for i in range(32)]
    data = read_table(table, covariates=["CITY", "DEPART"])
    assert data.covariates["DEPART"].values.tolist() == [360.0 + 15 * i for i in range(32)]
    shown = " ".join(str(data).split())
    says(shown, "'06:00' is read as 360, minutes (since midnight, of a time of day)")


def test_too_many_levels_are_a_question_and_not_a_design_matrix() -> None:
    table = pd.concat([wide_table()] * 50, ignore_index=True)
    table["ZONE"] = [f"zone {i % 60}" for i in range(400)]
    problem = the_error("many-levels", lambda: read_table(table, covariates=["ZONE"]))
    says(
        problem, "ZONE (column 'ZONE') has 60 different values in 400 ('zone 0',", "max_levels = 60"
    )
    assert (
        len(read_table(table, covariates=["ZONE"], max_levels=60).covariates["ZONE"].levels or ())
        == 60
    )
    table["HOUSE"] = [f"house {i % 250}" for i in range(400)]
    problem = the_error(
        "many-levels", lambda: read_table(table, covariates=["HOUSE"], max_levels=50)
    )
    says(problem, "If it is an id, remove it")


@pytest.mark.parametrize("stream", [False, True])
def test_many_levels_are_refused_in_memory_and_streamed(stream: bool, tmp_path: Path) -> None:
    table = pd.concat([wide_table()] * 50, ignore_index=True)
    table["ZONE"] = [f"zone {i % 60}" for i in range(400)]
    table.to_csv(tmp_path / "t.csv", index=False)
    says(
        the_error(
            "many-levels",
            lambda: read_table(tmp_path / "t.csv", covariates=["ZONE"], stream=stream),
        ),
        "max_levels = 60",
    )


def test_text_that_is_no_number_takes_no_memory() -> None:
    """400 rows of a long table whose costs are texts used to reach 19 GB in a search."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "SITUATION": np.repeat(np.arange(200), 2), "ALT": ["a", "b"] * 200,
            "CHOSEN": [1, 0] * 200, "CO": [f"x{v:,}" for v in rng.integers(1000, 99999, 400)],
        }
    )  # fmt: skip
    tracemalloc.start()
    with pytest.raises(ac.DataError, match="too many for a dummy variable each"):
        read_rows(table, attributes=["CO"], covariates=[], person=None, weight=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
