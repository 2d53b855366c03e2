"""A small table of choices, and what the tests of this folder ask of readers and problems."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.errors import Problem

ALTERNATIVES = {"BUS": 1, "CAR": 2, "RAIL": 3}


def wide_table() -> pd.DataFrame:
    """Eight situations of four persons without a single problem; CAR has no headway."""
    return pd.DataFrame(
        {
            "ID": [11, 11, 12, 12, 13, 13, 14, 14],
            "CHOICE": [1, 2, 3, 2, 2, 3, 1, 2],
            "BUS_TT": [40.5, 35.0, 50.0, 20.0, 31.5, 44.0, 25.0, 60.0],
            "CAR_TT": [20.0, 15.5, 30.0, 10.0, 11.0, 24.0, 18.0, 33.0],
            "RAIL_TT": [30.0, 28.0, 22.0, 35.0, 41.0, 19.0, 27.5, 36.0],
            "BUS_HE": [10, 15, 20, 10, 15, 20, 10, 15],
            "RAIL_HE": [30, 60, 30, 60, 30, 60, 30, 60],
            "BUS_AV": [1, 1, 1, 0, 1, 1, 1, 1],
            "CAR_AV": [1, 1, 1, 1, 1, 0, 1, 1],
            "RAIL_AV": [1, 0, 1, 1, 1, 1, 1, 1],
            "CITY": ["Zürich", "Zürich", "Genève", "Genève", "Bern", "Bern", "Bern", "Bern"],
            "CLASS": [1, 1, 2, 2, 2, 2, 1, 1],
            "MALE": [True, True, False, False, True, True, False, False],
            "INCOME": [3.25, 3.25, 5.5, 5.5, 4.75, 4.75, 8.125, 8.125],
            "WEIGHT": [1.5, 1.5, 0.75, 0.75, 1.0, 1.0, 2.25, 2.25],
        }
    )


def read_table(table: object = None, **changes: Any) -> ChoiceData:
    """`read_wide` of the small table, or of another one like it, with some arguments changed."""
    arguments: dict[str, Any] = {
        "alternatives": ALTERNATIVES,
        "choice": "CHOICE",
        "attributes": {"TT": "{alt}_TT", "HE": {"BUS": "BUS_HE", "RAIL": "RAIL_HE"}},
        "covariates": ["CITY", "CLASS", "MALE", "INCOME"],
        "availability": "{alt}_AV",
        "person": "ID",
        "weight": "WEIGHT",
    }
    return ac.read_wide(wide_table() if table is None else table, **(arguments | changes))


def long_table() -> pd.DataFrame:
    """The small table with a row per situation and available alternative, made by hand."""
    rows = []
    for n, wide in wide_table().iterrows():
        for name, code in ALTERNATIVES.items():
            if wide[f"{name}_AV"]:
                same = {c: wide[c] for c in ("ID", "CITY", "CLASS", "MALE", "INCOME", "WEIGHT")}
                own = {"TT": wide[f"{name}_TT"], "HE": wide.get(f"{name}_HE", np.nan)}
                chosen = int(wide["CHOICE"] == code)
                rows.append({"SITUATION": f"s{n}", "ALT": name, "CHOSEN": chosen} | same | own)
    return pd.DataFrame(rows)


def read_rows(table: object = None, **changes: Any) -> ChoiceData:
    """`read_long` of the small table, or of another one like it, with some arguments changed."""
    arguments: dict[str, Any] = {
        "situation": "SITUATION",
        "alternative": "ALT",
        "chosen": "CHOSEN",
        "attributes": ["TT", "HE"],
        "covariates": ["CITY", "CLASS", "MALE", "INCOME"],
        "person": "ID",
        "weight": "WEIGHT",
    }
    return ac.read_long(long_table() if table is None else table, **(arguments | changes))


def changed(column: str, rows: list[int], value: object, table: Any = None) -> pd.DataFrame:
    """The small wide table (or another one) with `value` in some rows of one column."""
    out = wide_table() if table is None else table.copy()
    values = out[column].tolist()
    for row in rows:
        values[row] = value
    out[column] = values
    return out


def assert_same(one: ChoiceData, two: ChoiceData, *, situations: bool = True) -> None:
    """Every array of both is identical (attributes: wherever the alternative is available)."""
    assert one.alternatives == two.alternatives
    for name in ("available", "choice", "person", "weight"):
        left, right = getattr(one, name), getattr(two, name)
        assert (left is None) == (right is None), name
        if name == "weight" and left is not None and one.weight_scale != two.weight_scale:
            # Parts of a table keep the scale of the whole.
            left, right = left / one.weight_scale, right / two.weight_scale
            np.testing.assert_allclose(left, right, rtol=1e-12, err_msg=name)
        elif left is not None:
            np.testing.assert_array_equal(left, right, err_msg=name)
    if situations:
        np.testing.assert_array_equal(one.situation, two.situation)
    assert list(one.attributes) == list(two.attributes)
    for name, attribute in one.attributes.items():
        other = two.attributes[name]
        assert attribute.alternatives == other.alternatives, name
        assert (attribute.levels, attribute.reference) == (other.levels, other.reference), name
        used = one.available[list(attribute.alternatives)]
        np.testing.assert_array_equal(attribute.values[used], other.values[used], err_msg=name)
    assert list(one.covariates) == list(two.covariates)
    for name, covariate in one.covariates.items():
        twin = two.covariates[name]
        assert (covariate.levels, covariate.reference) == (twin.levels, twin.reference), name
        np.testing.assert_array_equal(covariate.values, twin.values, err_msg=name)


def levels_of(data: ChoiceData, name: str) -> list[str]:
    """The level of a covariate in every situation, as text."""
    covariate = data.covariates[name]
    assert covariate.levels is not None
    return [covariate.levels[code] for code in covariate.values]


def the_error(code: str, read: Callable[[], object]) -> Problem:
    """The one error of this code that reading raises; its message is in the text raised."""
    with pytest.raises(ac.DataError) as caught:
        read()
    (problem,) = (p for p in caught.value.problems if p.code == code)
    assert problem.severity == "error"
    assert problem.message in str(caught.value)
    return problem


def the_warning(code: str, read: Callable[[], ChoiceData]) -> Problem:
    """The one warning of this code that reading gives, which the data also carry."""
    with pytest.warns(ac.ArdchoiceWarning) as caught:
        data = read()
    (problem,) = (p for p in data.warnings if p.code == code)
    assert problem.severity == "warning"
    assert problem.message in [str(w.message) for w in caught]
    return problem


def the_refusal(read: Callable[[], object]) -> str:
    """What is said where a call cannot be understood at all."""
    with pytest.raises(ac.ArdchoiceError) as caught:
        read()
    assert not isinstance(caught.value, ac.DataError)
    return str(caught.value)


def says(text: str | Problem, *pieces: str) -> None:
    """Every piece stands in the message."""
    message = text if isinstance(text, str) else text.message
    for piece in pieces:
        assert piece in message, f"{piece!r} is not in: {message}"
