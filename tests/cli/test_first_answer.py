"""What a new user must be told at the command line, whatever the table is."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_support import command, installed

import ardchoice as ac

N = 400
MODES = ("bus", "car", "rail")
TOO_LONG = "x" * 300


def trips(folder: Path, cost: float = -0.2, **more: object) -> Path:
    """Three modes with time and cost; utility of a franc as given."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"id": np.arange(N)})
    value = rng.gumbel(size=(3, N))
    for j, mode in enumerate(MODES):
        frame[f"time_{mode}"] = rng.uniform(5, 60, N).round(1)
        frame[f"cost_{mode}"] = rng.uniform(1, 20, N).round(2)
        value[j] += cost * frame[f"cost_{mode}"] - 0.08 * frame[f"time_{mode}"]
    frame["choice"] = np.array(MODES)[value.argmax(axis=0)]
    path = folder / "trips.csv"
    frame.assign(**more).to_csv(path, index=False)
    return path


def study_of(table: Path, folder: Path, *changes: tuple[str, str]) -> Path:
    """As init writes it, with lines changed."""
    study = folder / "study.toml"
    command("init", table, "--out", study, "--force")
    text = study.read_text(encoding="utf-8")
    for pattern, new in (("folds = 5", "folds = 2"), *changes):
        text, count = re.subn(rf"(?m)^{pattern}.*$", new, text)
        assert count == 1, pattern
    study.write_text(text, encoding="utf-8")
    return study


def answer(study: Path) -> dict[str, Any]:
    """The last line that a run prints for programs."""
    found: dict[str, Any] = json.loads(command("run", study, "--json").stdout.splitlines()[-1])
    return found


def test_a_wrong_sign_is_in_json_on_the_terminal_and_a_cross_at_the_top_of_the_report(
    tmp_path: Path,
) -> None:
    study = study_of(trips(tmp_path, cost=0.2), tmp_path, ("signs = ", "signs = {}"))
    (alarm,) = [a for a in answer(study)["alarms"] if a["title"] == "Wrong sign"]
    assert alarm["verdict"] == "bad"
    assert "Utility rises with cost of" in alarm["text"]
    page = (tmp_path / "results" / "report.html").read_text(encoding="utf-8")
    verdicts = re.findall(r'<li class="(good|look|bad|info)">', page)
    assert verdicts[0] == "bad"
    assert '<span class="spoken">Problem: </span>' in page
    said = ac.load(tmp_path / "results").summary()
    assert "✗ Wrong sign: Utility rises with cost of" in " ".join(said.split())


def test_with_the_signs_that_init_writes_there_is_no_alarm(tmp_path: Path) -> None:
    study = study_of(trips(tmp_path, cost=0.2), tmp_path)
    assert 'signs = { time = "-", cost = "-" }' in study.read_text(encoding="utf-8")
    assert [a["title"] for a in answer(study)["alarms"] if a["verdict"] == "bad"] == []
    written = (tmp_path / "results" / "specification.txt").read_text(encoding="utf-8")
    assert "cost" not in written
    assert "time" in written


def test_an_attribute_far_from_zero_is_refused_by_check_and_run_alike(tmp_path: Path) -> None:
    frame = pd.read_csv(trips(tmp_path))
    for mode in MODES:
        frame[f"time_{mode}"] += 3e7
    frame.to_csv(tmp_path / "trips.csv", index=False)
    study = study_of(tmp_path / "trips.csv", tmp_path)
    said = {" ".join(command(c, study, code=3).stderr.split()) for c in ("check", "run")}
    for text in said:
        assert "time of bus lies around 3e+07 with a standard deviation of" in text
        assert "[data.derive] of a study file" in text


@pytest.mark.parametrize(
    "words",
    [
        ["init", f"{TOO_LONG}.csv"],
        ["check", f"{TOO_LONG}.toml"],
        ["run", f"{TOO_LONG}.toml"],
        ["predict", TOO_LONG, f"{TOO_LONG}.csv"],
    ],
)
def test_names_that_are_too_long_are_refused_in_a_sentence(words: list[str]) -> None:
    done = installed(*words, code=3)
    assert "File name too long" in done.stderr
    assert len(done.stderr.splitlines()) <= 8


@pytest.mark.parametrize("words", [["--version"], ["init", "no-such-table.csv"], ["--help"]])
def test_a_closed_standard_output_is_no_traceback(words: list[str], tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("ardchoice")
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" >&-', str(script), *words],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        timeout=120,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode in (0, 3)
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("ardchoice-error-*"))


@pytest.mark.parametrize(
    ("pattern", "new", "message"),
    [
        ("seed = ", "seed = -1", "selection.seed: must be at least 0, not -1"),
        ("transforms = ", 'transforms = ["boxcox(1e308)"]', "takes a shift of at most"),
        ("rule = ", 'rule = "ebbic"', "selection.rule"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_their_line(
    pattern: str, new: str, message: str, tmp_path: Path
) -> None:
    study = study_of(trips(tmp_path), tmp_path, (pattern, new))
    said = " ".join(command("check", study, code=3).stderr.split())
    assert message in said
    assert re.search(r"study\.toml: line \d+", said)


def test_no_remedy_asks_for_what_the_command_line_has_not(tmp_path: Path) -> None:
    broken = pd.read_csv(trips(tmp_path)).astype({"time_bus": object})
    tables = {
        "text.csv": broken.assign(time_bus=["1,2.3"] * N),
        "missing.csv": broken.assign(time_bus=[None] * N),
        "codes.csv": broken.assign(choice=[f"c{i}" for i in range(N)]),
    }
    study = study_of(tmp_path / "trips.csv", tmp_path)
    text = study.read_text(encoding="utf-8")
    for name, frame in tables.items():
        frame.to_csv(tmp_path / name, index=False)
        study.write_text(text.replace("trips.csv", name), encoding="utf-8")
        guessed = ("init", tmp_path / name, "--out", tmp_path / f"{name}.toml")
        for words in (("check", study), ("run", study), guessed):
            done = command(*words, code=None)
            assert "pandas" not in done.output
            assert "read_wide(" not in done.output
