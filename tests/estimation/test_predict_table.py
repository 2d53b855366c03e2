"""New situations are predicted as the study's own, row by row."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.estimation.predict import predict_table

ROWS = 400
SPECIFICATION = "bus: ASC + log(time)\ncar: log(time) + ASC x kind\nbus: cost"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pick": rng.choice(["bus", "car"], ROWS),
            **{f"time_{m}": rng.uniform(1, 9, ROWS) for m in ("bus", "car")},
            **{f"cost_{m}": rng.uniform(1, 9, ROWS) for m in ("bus", "car")},
            "kind": rng.choice(["x", "y", "z"], ROWS),
            "other": rng.uniform(1, 9, ROWS),
            "who": np.arange(ROWS) // 2,
        }
    )


@pytest.fixture(scope="module")
def data(table: pd.DataFrame) -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives=["bus", "car"],
        choice="pick",
        attributes={"time": "time_{alt}", "cost": "cost_{alt}"},
        covariates={"kind": ac.Categorical(reference="x"), "other": ac.Numeric()},
        person="who",
    )


def test_what_the_model_does_not_use_need_not_be_there(
    table: pd.DataFrame, data: ac.ChoiceData
) -> None:
    result = ac.fit_mnl(data, SPECIFICATION)
    # Also not the cost of the car: only that of the bus is in the model.
    new = table[["time_bus", "time_car", "cost_bus", "kind"]]
    np.testing.assert_allclose(predict_table(result, data, new), result.predict(), rtol=1e-12)
    with pytest.raises(ac.ArdchoiceError, match="'cost_bus'"):
        predict_table(result, data, new.drop(columns="cost_bus"))


def test_every_row_has_its_place_whatever_is_wrong_with_some(
    table: pd.DataFrame, data: ac.ChoiceData
) -> None:
    result = ac.fit_mnl(data, SPECIFICATION)
    new = table[:8].copy()
    new.loc[1, "cost_bus"] = np.nan  # missing
    new.loc[3, "time_car"] = -2.0  # no logarithm
    new.loc[6, "kind"] = "w"  # never seen
    new.loc[7, "cost_car"] = np.nan  # missing, and not used
    with pytest.warns(ac.ArdchoiceWarning, match=r"3 rows \(1, 3, 6\) cannot be predicted"):
        found = predict_table(result, data, new)
    assert found.index.tolist() == list(range(8))
    good = [0, 2, 4, 5, 7]
    assert found.isna().any(axis=1).tolist() == [i not in good for i in range(8)]
    np.testing.assert_allclose(found.iloc[good], result.predict().iloc[good], rtol=1e-12)


def test_situations_of_long_tables_keep_their_ids(data: ac.ChoiceData) -> None:
    frame = pd.DataFrame(
        {
            "trip": np.repeat(np.arange(100, 160), 2),
            "mode": ["bus", "car"] * 60,
            "time": np.random.default_rng(1).uniform(1, 9, 120),
        }
    )
    frame["chosen"] = (frame.index % 2 == frame["trip"] % 2).astype(int)
    first = ac.read_long(
        frame, situation="trip", alternative="mode", chosen="chosen", attributes=["time"]
    )
    result = ac.fit_mnl(first, "*: time")
    new = frame[:8].drop(columns="chosen")
    new.loc[2, "time"] = np.nan
    with pytest.warns(ac.ArdchoiceWarning, match=r"1 situation \(101\) cannot be predicted"):
        found = predict_table(result, first, new)
    assert found.index.tolist() == [100, 101, 102, 103]
    assert found["bus"].isna().tolist() == [False, True, False, False]


def test_a_study_predicts_tables_paths_and_choices_also_after_loading(
    table: pd.DataFrame, data: ac.ChoiceData, tmp_path: Path
) -> None:
    study = ac.specify(data, ac.SearchSpace(data, ["linear"]))
    study.save(tmp_path / "study")
    table.drop(columns=["pick", "who"]).to_csv(tmp_path / "new.csv", index=False)
    expected = study.result.predict()
    for one in (study, ac.load(tmp_path / "study")):
        for new in (None, data, table, tmp_path / "new.csv", str(tmp_path / "new.csv")):
            np.testing.assert_allclose(one.predict(new), expected, rtol=1e-9)
    with pytest.raises(ac.ArdchoiceError, match=r"study\.predict\(table\)"):
        study.result.predict(str(tmp_path / "new.csv"))  # type: ignore[arg-type]


def test_values_beyond_those_of_the_estimation_are_a_warning(
    table: pd.DataFrame, data: ac.ChoiceData
) -> None:
    result = ac.fit_mnl(data, SPECIFICATION)
    new = table.head(5).assign(time_bus=[2.0, 3.0, 50.0, 60.0, 4.0])
    with pytest.warns(ac.ArdchoiceWarning, match=r"time of bus .*extrapolates in 2 of 5"):
        p = predict_table(result, data, new)
    assert p.notna().all(axis=None)


def test_rows_of_weight_zero_are_predicted(table: pd.DataFrame) -> None:
    weighted = ac.read_wide(
        table.assign(w=(np.arange(ROWS) > 9) * 2.0),
        alternatives=["bus", "car"],
        choice="pick",
        attributes={"time": "time_{alt}"},
        weight="w",
    )
    result = ac.fit_mnl(weighted, "*: time")
    assert result.n_situations == ROWS - 10
    again = table.assign(w=0.0)
    assert len(predict_table(result, weighted, again).dropna()) == ROWS
    assert len(result.predict(weighted)) == ROWS
