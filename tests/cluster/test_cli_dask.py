"""`ardchoice run --dask`."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from cluster_support import ragged_panel_table

from ardchoice.cli import cli

STUDY = """
[data]
table = "choices.csv"
layout = "wide"
alternatives = ["bus", "car", "rail", "walk"]
choice = "choice"
person = "person"
attributes = { time = "time_{alt}", cost = "cost_{alt}" }
covariates = ["age"]

[space]
transforms = ["linear", "log1p"]

[output]
folds = 2
exports = []
"""


def run(folder: Path, *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["run", str(folder / "study.toml"), "--quiet", *words])
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ragged_panel_table(800).to_csv(tmp_path / "choices.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_a_run_on_a_cluster_writes_what_a_run_here_writes(client: Any, folder: Path) -> None:
    run(folder, "--out", str(folder / "here"))
    run(folder, "--out", str(folder / "there"), "--dask", client.scheduler.address)
    names = {p.name for p in (folder / "here").iterdir()}
    assert {p.name for p in (folder / "there").iterdir()} == names
    for name in ("specification.txt", "relevance.csv", "estimates.csv"):
        here, there = (folder / which / name for which in ("here", "there"))
        if name.endswith("txt"):
            assert there.read_text() == here.read_text()
        else:
            pd.testing.assert_frame_equal(pd.read_csv(there), pd.read_csv(here), rtol=1e-7)


def test_an_address_where_nobody_answers_ends_with_three(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("ardchoice.cluster.CONNECTING", 0.5)
    said = run(folder, "--out", str(folder / "out"), "--dask", "tcp://127.0.0.1:9", code=3)
    assert "No Dask scheduler answers at 'tcp://127.0.0.1:9'" in " ".join(said.split())
    assert not (folder / "out").exists()
