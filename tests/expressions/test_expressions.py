"""Expressions over columns: parsed by our own grammar, checked against NumPy and Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ardchoice.errors import ArdchoiceError
from ardchoice.expressions import (
    Evaluated,
    ExpressionError,
    column_names,
    evaluate,
    evaluate_condition,
    parse_expression,
)

N = 6
COLUMNS = {
    "TT": np.array([10.0, 20.0, 30.0, 40.0, np.nan, 60.0]),
    "CO": np.array([1, 2, 3, 4, 5, 6]),
    "GA": np.array([0, 1, 0, 1, 0, 1]),
    "PURPOSE": np.array(["work", "leisure", "work", None, "other", "work"], dtype=object),
    "CODE": np.array(["1", "2", "3", "1", None, "2"], dtype=object),
    "in vehicle": np.arange(6.0),
    "late": np.array([True, False, True, False, True, False]),
}


def lookup(name: str) -> np.ndarray:
    if name not in COLUMNS:
        raise ArdchoiceError(f"Column {name!r} is not in the table.")
    return COLUMNS[name]


def values(text: str) -> np.ndarray:
    return evaluate(parse_expression(text), lookup, N).values


TT, CO, GA, IV = (COLUMNS[c].astype(float) for c in ("TT", "CO", "GA", "in vehicle"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TT / 60", TT / 60),
        ("CO * (GA == 0)", CO * (GA == 0)),
        ("CO - CO * 2 + 1", CO - CO * 2 + 1),
        ("2 ** -1 * CO", 0.5 * CO),
        ("-CO ** 2", -(CO**2)),
        ("2 ** 3 ** 2 + 0 * CO", np.full(N, 512.0)),
        ("CO % 4", CO % 4),
        ("min(TT, CO, 3)", np.minimum(np.minimum(TT, CO), 3)),
        ("max(0, CO - 3)", np.maximum(0, CO - 3)),
        (
            "log(CO) + log1p(CO) + sqrt(CO) + exp(-CO)",
            np.log(CO) + np.log1p(CO) + np.sqrt(CO) + np.exp(-CO),
        ),
        (
            "abs(3 - CO) + floor(CO / 2) + ceil(CO / 2) + round(CO / 3)",
            np.abs(3 - CO) + np.floor(CO / 2) + np.ceil(CO / 2) + np.round(CO / 3),
        ),
        ("if(GA == 1, CO, -CO)", np.where(GA == 1, CO, -CO)),
        ("if(is_missing(TT), 0, TT)", np.nan_to_num(TT)),
        ("`in vehicle` + 1", IV + 1),
        ("late * 2", np.array([2.0, 0, 2, 0, 2, 0])),
        ("CODE * 10", np.array([10.0, 20, 30, 10, np.nan, 20])),
        ("1e2 + .5 + 0 * CO", np.full(N, 100.5)),
    ],
)
def test_arithmetic_equals_numpy(text: str, expected: np.ndarray) -> None:
    np.testing.assert_allclose(values(text), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("CO in (1, 3)", [1, 0, 1, 0, 0, 0]),
        ("CO not in (1, 3)", [0, 1, 0, 1, 1, 1]),
        ("not CO in (1, 3)", [0, 1, 0, 1, 1, 1]),
        ("PURPOSE == 'work'", [1, 0, 1, 0, 0, 1]),
        ('PURPOSE in ("work", "other")', [1, 0, 1, 0, 1, 1]),
        ("PURPOSE != 'work'", [0, 1, 0, 0, 1, 0]),
        ("CODE == 1", [1, 0, 0, 1, 0, 0]),
        ("CODE == '1'", [1, 0, 0, 1, 0, 0]),
        ("1 < CO <= 4", [0, 1, 1, 1, 0, 0]),
        ("CO > 2 and GA", [0, 0, 0, 1, 0, 1]),
        ("CO > 5 or GA == 1 and CO < 3", [0, 1, 0, 0, 0, 1]),
        ("not (CO > 2) or late", [1, 1, 1, 0, 1, 0]),
        ("TT > 15", [0, 1, 1, 1, 0, 1]),
        ("not TT > 15", [1, 0, 0, 0, 0, 0]),
        ("TT > 15 or CO == 5", [0, 1, 1, 1, 1, 1]),
        ("is_missing(PURPOSE)", [0, 0, 0, 1, 0, 0]),
        ("true", [1, 1, 1, 1, 1, 1]),
        ("CO == missing", [0, 0, 0, 0, 0, 0]),
    ],
)
def test_conditions_hold_where_they_should(text: str, holds: list[int]) -> None:
    found = evaluate_condition(parse_expression(text), lookup, N)
    assert found.dtype == bool
    assert found.astype(int).tolist() == holds


def test_missing_values_follow_three_valued_logic() -> None:
    table = {
        "t and m": np.nan,
        "f and m": 0.0,
        "m and m": np.nan,
        "t or m": 1.0,
        "f or m": np.nan,
        "not m": np.nan,
    }
    known = {"t": np.ones(1), "f": np.zeros(1), "m": np.full(1, np.nan)}
    for text, expected in table.items():
        found = evaluate(parse_expression(text), known.__getitem__, 1).values[0]
        np.testing.assert_equal(found, expected)


def test_an_operation_without_a_value_is_missing_and_noted() -> None:
    found = evaluate(parse_expression("log(GA) + 1 / GA"), lookup, N)
    assert np.isnan(found.values).tolist() == [True, False, True, False, True, False]
    assert found.notes == (
        "log(GA) has no finite value in 3 rows: missing there",
        "1 / GA has no finite value in 3 rows: missing there",
    )


def test_the_columns_needed_and_the_text_again() -> None:
    found = parse_expression("max(TT,`in vehicle`)*(GA==0)-TT")
    assert column_names(found) == ("TT", "in vehicle", "GA")
    assert str(found) == "max(TT, `in vehicle`) * (GA == 0) - TT"


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("CO = 1", "write '==' to compare", 4),
        ("CO == 1 & GA", "write 'and'", 9),
        ("CO ^ 2", "write '**' for a power", 4),
        ("CO in [1, 2]", "lists stand in parentheses", 7),
        ("CO +", "expected a number, a column, a function or '(' here, not the end", 5),
        ("CO 2", "expected an operator, or the end here, not '2'", 4),
        ("(CO + 1", "expected ')' here, not the end", 8),
        ("CO AND GA", "write 'and' in small letters", 4),
        ("2TT + 1", "a name that begins with a digit stands in back quotes", 1),
        ("lg(CO)", "there is no function 'lg'. Did you mean 'log'?", 1),
        ("log(CO, 2)", "log takes 1 argument, not 2", 1),
        ("min(CO)", "min takes at least 2 arguments, not 1", 1),
        ("CO in ()", "expected a value here, not ')'", 8),
        ("'work", "a text needs a second quote", 1),
        ("__import__('os')", "there is no function '__import__'", 1),
        ("CO.__class__(1)", "there is no function 'CO.__class__'", 1),
        ("lambda: 1", "names with spaces or signs", 7),
    ],
)
def test_a_mistake_is_shown_at_its_place(text: str, message: str, at: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    said = str(caught.value)
    assert message in said
    assert said.startswith(f"column {at}: ")
    line, mark = said.split("\n")[1:]
    assert line == f"  {text}"
    assert mark == "  " + " " * (at - 1) + "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PURPOSE + 1", "a number is wanted here, and PURPOSE has texts such as 'work', 'leisure'"),
        ("CO == 'work'", 'CO has numbers, and "work" is a text'),
        ("PURPOSE == 1", "a number is wanted here, and PURPOSE has texts such as 'work'"),
        ("PURPOSE < 'work'", "texts are compared with == and !="),
        ("CO and GA", "a condition is wanted here, such as CO == 2"),
        ("1 + XX", "Column 'XX' is not in the table"),
    ],
)
def test_a_misfit_with_the_columns_is_shown(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate_condition(parse_expression(text), lookup, N)
    assert message in str(caught.value)
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "CO" + ")" * 500,
        "-" * 3000 + "CO",
        "CO" + " + CO" * 700,
        "not " * 900 + "GA",
        "CO ** " * 600 + "2",
        "x" * 5000,
        "",
        "  ",
        "if(" * 200,
    ],
)
def test_what_is_too_deep_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_expression(text)


PIECES = [
    "CO", "TT", "GA", "PURPOSE", "`in vehicle`", "1", "2.5", "'work'", "true", "missing", "+", "-",
    "*", "/", "**", "%", "==", "!=", "<", ">=", "and", "or", "not", "in", "(", ")", ",", "log(",
    "min(", "if(", "is_missing(", "`", "'", "\\", "=", "é", "\x00", "__import__('os')", "eval(",
]  # fmt: skip


def mutated(rng: random.Random) -> str:
    """A sensible expression with pieces inserted, removed and exchanged, or pieces at random."""
    starts = [
        "TT / 60 + max(0, CO - 3)",
        "PURPOSE in ('work', 'other') and CO != 0",
        "if(GA == 1, CO, 0)",
    ]
    words = rng.choice(starts).replace("(", " ( ").replace(")", " ) ").split()
    for _ in range(rng.randint(0, 6)):
        at = rng.randint(0, len(words))
        words[at : at + rng.randint(0, 2)] = rng.choices(PIECES, k=rng.randint(0, 2))
    return rng.choice(["", " "]).join(words)


def test_two_thousand_mutated_expressions_give_a_result_or_a_clear_error() -> None:
    rng = random.Random(0)
    results = 0
    for _ in range(2000):
        text = mutated(rng)
        try:
            parsed = parse_expression(text)
            found = evaluate(parsed, lookup, N)
        except ExpressionError as error:
            assert str(error)
            continue
        results += 1
        assert isinstance(found, Evaluated)
        assert found.values.shape == (N,)
        again = evaluate(parse_expression(str(parsed)), lookup, N)
        np.testing.assert_array_equal(again.values, found.values)
    assert results > 200
