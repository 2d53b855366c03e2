"""`ardchoice simulate`: a table that fits 80 columns, CSV, JSON, clear errors."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import ardchoice as ac
from ardchoice.cli.app import cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = ac.datasets.swissmetro_choices("real").take(range(0, 9_000, 5))
    space = ac.SearchSpace(data, by=["GA"], base="CAR")
    place = tmp_path_factory.mktemp("simulate") / "study"
    ac.specify(data, space).save(place)
    return place


def simulate(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, ["simulate", *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


def test_a_scenario_is_printed_in_80_columns(folder: Path) -> None:
    code, text, _ = simulate(folder, "TRAIN: CO * 1.1", "*: TT - 0.05", "--by", "GA")
    assert code == 0
    assert max(map(len, text.splitlines())) <= 80
    for word in ("share", "consumer surplus", "diversion to", "GA=1"):
        assert word in text


def test_json_and_csv_have_the_numbers_of_python(folder: Path, tmp_path: Path) -> None:
    scenario = ac.load(folder).result.scenario("SM: unavailable", where="GA == 0")
    code, text, _ = simulate(folder, "SM: unavailable", "--where", "GA == 0", "--json")
    assert code == 0
    found = json.loads(text)
    assert [row["scenario"] for row in found["shares"]] == pytest.approx(
        scenario.shares["scenario"].tolist(), abs=1e-9
    )
    out = tmp_path / "shares.csv"
    assert simulate(folder, "SM: unavailable", "--where", "GA == 0", "--out", out)[0] == 0
    pd.testing.assert_frame_equal(
        pd.read_csv(out), pd.DataFrame(scenario.shares), check_exact=False, rtol=1e-12
    )
    assert simulate(folder, "SM: unavailable", "--out", out)[0] == 3
    code, text, _ = simulate(folder, "SM: unavailable", "--where", "GA == 0", "--out", "-")
    assert len(pd.read_csv(io.StringIO(text))) == 3


def test_mistakes_end_with_a_sentence_and_exit_code_3(folder: Path) -> None:
    for change, message in {
        "TRAIN: CO ** 2": "one '*'",
        "TRAIN: PRICE * 2": "no attribute 'PRICE'",
        "__import__('os')": "expected",
    }.items():
        code, _, error = simulate(folder, change)
        assert code == 3
        assert message in error
        assert "Traceback" not in error
    assert simulate(folder)[0] == 2


@pytest.mark.parametrize("family", [ac.Mnl(), ac.Mixed({"*: TT": "normal"}, nodes=16)])
def test_a_saved_model_by_hand_is_used_like_a_study(family: ac.Family, tmp_path: Path) -> None:
    data = ac.datasets.swissmetro_choices("real").take(range(900))
    result = ac.fit(data, "TRAIN: ASC\nSM: ASC\n*: TT + CO", family=family)
    result.save(tmp_path / "model")
    code, text, _ = simulate(tmp_path / "model", "SM: unavailable", "*: TT * 2", "--by", "GA")
    assert code == 0
    assert max(map(len, text.splitlines())) <= 80
    code, text, _ = simulate(tmp_path / "model", "TRAIN: CO * 2", "--json")
    expected = result.scenario("TRAIN: CO * 2").shares["scenario"]
    assert [row["scenario"] for row in json.loads(text)["shares"]] == pytest.approx(
        expected.tolist(), abs=1e-9
    )
    done = CliRunner().invoke(cli, ["export", str(tmp_path / "model"), "text", "--out", "-"])
    assert done.exit_code == 0
    assert "TT" in done.stdout


def test_a_saved_model_by_hand_predicts_a_table(tmp_path: Path) -> None:
    table = pd.DataFrame({"x_a": [1.0, 2, 3, 4] * 9, "x_b": [2.0, 1, 4, 2] * 9})
    table["choice"] = ["a", "b", "a", "a", "b", "b", "a", "b", "a"] * 4
    table.to_csv(tmp_path / "table.csv", index=False)
    data = ac.read_wide(
        table, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"}
    )
    result = ac.fit_mnl(data, "a: ASC\n*: x")
    result.save(tmp_path / "model")
    words = ["predict", str(tmp_path / "model"), str(tmp_path / "table.csv")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0
    found = pd.read_csv(io.StringIO(done.stdout))[["a", "b"]].to_numpy()
    assert found == pytest.approx(result.predict().to_numpy(), abs=1e-9)
