"""`ardchoice run --dask`: the same results by the workers of a cluster."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from ardchoice.cli.app import cli

MODES = Path(__file__).parents[1] / "reference" / "modechoice.csv"


def run(*words: object) -> str:
    result = CliRunner().invoke(cli, [str(w) for w in words])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_run_on_a_cluster_writes_what_a_run_here_does(client: Any, tmp_path: Path) -> None:
    shutil.copy(MODES, tmp_path / "modes.csv")
    study = tmp_path / "study.toml"
    run("init", tmp_path / "modes.csv", "--out", study)
    text = study.read_text(encoding="utf-8")
    study.write_text(text.replace("folds = 5", "folds = 0"), encoding="utf-8")
    run("run", study, "--out", tmp_path / "here", "--quiet")
    address = client.scheduler.address
    run("run", study, "--out", tmp_path / "there", "--quiet", "--dask", address)
    here, there = (tmp_path / name for name in ("here", "there"))
    assert (here / "specification.txt").read_text() == (there / "specification.txt").read_text()
    one, two = (pd.read_csv(f / "estimates.csv") for f in (here, there))
    pd.testing.assert_frame_equal(one, two, rtol=1e-6)
    assert "--dask" in (there / "report.html").read_text(encoding="utf-8")


def test_an_address_where_nobody_answers_ends_with_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("ardchoice.cluster.CONNECTING", 0.5)
    study = tmp_path / "study.toml"
    run("init", MODES, "--out", study)
    words = ["run", str(study), "--out", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:9"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 3
    assert "No Dask scheduler answers at 'tcp://127.0.0.1:9'" in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()
