"""Studies of several families that are killed after some stages, and resumed, end the same."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac

STUDY = """
[data]
table = "trips.csv"
alternatives = ["A", "B", "C"]
choice = "choice"
person = "person"
attributes = {v = "{alt}_v", w = "{alt}_w"}

[space]
generic = true

[model]
%s

[output]
folds = 0
stability_pairs = 0
exports = ["text"]
"""
SAME = ("specification.txt", "estimates.csv", "relevance.csv")
MIXED, AUTO = 'family = "mixed"\nnodes = 16', 'family = "auto"'
PATIENCE = 120.0
PAUSE = 0.002


def write(folder: Path, model: str) -> None:
    """Tastes for v differ between persons."""
    rng = np.random.default_rng(5)
    persons, answers = 80, 6
    n = persons * answers
    x = rng.normal(size=(n, 3, 2))
    v = np.repeat(1.0 + 1.2 * rng.normal(size=persons), answers)
    utility = x[..., 0] * v[:, None] - 0.8 * x[..., 1] + rng.gumbel(size=(n, 3))
    table = pd.DataFrame(
        {f"{a}_{k}": x[:, j, i] for j, a in enumerate("ABC") for i, k in enumerate("vw")}
    )
    table["choice"] = np.array(list("ABC"))[utility.argmax(axis=1)]
    table["person"] = np.repeat(np.arange(persons), answers)
    table.to_csv(folder / "trips.csv", index=False)
    (folder / "study.toml").write_text(STUDY % model, encoding="utf-8")


def process(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ardchoice", "run", str(folder / "study.toml"), "--quiet"]
    return subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def stages(out: Path) -> list[Path]:
    return sorted(out.rglob("*.stage")) if out.exists() else []


def killed(folder: Path, out: Path, after: int, *more: str) -> int:
    """Kill a run once so many stages are saved; how many are."""
    child = process(folder, "--out", str(out), *more)
    until = time.monotonic() + PATIENCE
    while len(stages(out)) < after and child.poll() is None and time.monotonic() < until:
        time.sleep(PAUSE)
    child.kill()
    _, error = child.communicate()
    assert child.returncode == -9, error.decode()
    return len(stages(out))


def ended(folder: Path, *more: str) -> None:
    child = process(folder, *more)
    _, error = child.communicate()
    assert child.returncode == 0, error.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not killed there like this")
@pytest.mark.parametrize(
    ("model", "kills_after"),
    # Stages that are saved when the process is killed; of several families, in the middle of the
    # mixed logit, then of the folds.
    [(MIXED, (2, 5)), (AUTO, (4, 8))],
    ids=["mixed", "auto"],
)
def test_killed_after_any_stage_a_study_ends_the_same(
    tmp_path: Path, model: str, kills_after: tuple[int, ...]
) -> None:
    write(tmp_path, model)
    ended(tmp_path, "--out", str(tmp_path / "straight"))
    out, saved, more = tmp_path / "out", 0, ()
    for after in kills_after:
        now = killed(tmp_path, out, after, *more)
        # What was saved before is not computed again.
        assert now >= max(after, saved)
        saved, more = now, ("--resume",)
        assert not (out / "study" / "study.json").exists()
    ended(tmp_path, "--out", str(out), "--resume")
    for name in SAME:
        assert (out / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()
    a, b = (ac.load(tmp_path / name) for name in ("straight", "out"))
    assert isinstance(a.result.family, ac.Mixed)
    assert a.result.family == b.result.family
    assert a.result.coefficients.tolist() == b.result.coefficients.tolist()
    assert a.result.loglik == b.result.loglik
    assert (a.families is None) == (b.families is None) == (model == MIXED)
    if a.families is not None and b.families is not None:
        assert a.families.reason == b.families.reason
        frames = [study.families.frame.drop(columns="seconds") for study in (a, b)]
        pd.testing.assert_frame_equal(*frames, check_exact=True)
        assert {"mnl", "mixed", "latent"} == set(a.families.results)
