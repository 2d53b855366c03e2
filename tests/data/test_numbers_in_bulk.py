"""Columns of numbers that stand side by side in a table are copied together, and copied."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data.recode import ROWS_TOGETHER, stacked_numbers

ROWS, ALTERNATIVES = 3 * ROWS_TOGETHER // 2, 4


def wide_table(rng: np.random.Generator) -> pd.DataFrame:
    names = [f"x{i}" for i in range(ALTERNATIVES)] + [f"y{i}" for i in range(ALTERNATIVES)]
    table = pd.DataFrame(rng.random((ROWS, len(names))), columns=names)
    table["income"] = rng.random(ROWS)
    table["weight"] = 0.5 + rng.random(ROWS)
    table["choice"] = rng.integers(ALTERNATIVES, size=ROWS)
    return table


def read(table: pd.DataFrame) -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives={f"m{i}": i for i in range(ALTERNATIVES)},
        choice="choice",
        attributes={
            name: {f"m{i}": f"{name}{i}" for i in range(ALTERNATIVES)} for name in ("x", "y")
        },
        covariates={"income": ac.Numeric()},
        weight="weight",
    )


def test_every_cell_is_where_it_belongs() -> None:
    table = wide_table(np.random.default_rng(1))
    data = read(table)
    for name in ("x", "y"):
        columns = [f"{name}{i}" for i in range(ALTERNATIVES)]
        assert np.array_equal(data.attributes[name].values, table[columns].to_numpy().T)


def test_data_do_not_change_with_the_table_they_were_read_from() -> None:
    table = wide_table(np.random.default_rng(2))
    data, again = read(table), read(table.copy())
    table.iloc[:, :-1] = -1.0
    assert np.array_equal(data.attributes["x"].values, again.attributes["x"].values)
    assert np.array_equal(data.covariates["income"].values, again.covariates["income"].values)
    assert np.array_equal(np.asarray(data.weight), np.asarray(again.weight))


@pytest.mark.parametrize("kind", ["float64", "float32", "int8"])
@pytest.mark.parametrize("beside", [False, True])
def test_columns_are_stacked_whatever_their_layout(kind: str, beside: bool) -> None:
    rng = np.random.default_rng(3)
    block = (100 * rng.random((ROWS, 3))).astype(kind, order="C" if beside else "F")
    columns = [block[:, i] for i in range(3)]
    assert np.array_equal(stacked_numbers(columns), block.T.astype(float).ravel())
    # Alternatives that are not always available have columns of other lengths.
    uneven = [columns[0], columns[1][::2]]
    assert np.array_equal(stacked_numbers(uneven), np.concatenate(uneven).astype(float))
    assert len(stacked_numbers([])) == 0
