"""The Apollo script: as it was when a modeller read it, and, where there is R, run with stand-ins.

The stand-ins do what Apollo's manual says of the functions that the script calls. Apollo itself
never ran these scripts.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from export_models import (
    EVERY_TRANSFORM,
    MODECHOICE,
    MODECHOICE_SPECIFICATION,
    ODD_CORNERS,
    RAGGED_SPECIFICATION,
    corners,
    modechoice,
    modechoice_by_two,
    odd_corners,
    products,
    ragged,
    trips,
    wide,
)
from export_support import CLOSE

import ardchoice as ac

REFERENCE = Path(__file__).parents[1] / "reference"
RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(RSCRIPT is None, reason="R is not installed")
DIGITS = re.compile(r"-?\d+\.\d{6,}")


def test_the_script_is_the_one_that_was_checked(tmp_path: Path) -> None:
    data = modechoice(ac.data.tables.open_table(MODECHOICE).frame.to_native())
    script = ac.export(ac.fit_mnl(data, MODECHOICE_SPECIFICATION), "apollo", tmp_path / "modes.R")

    def plain(text: str) -> str:
        """Without what may change: our version, and digits beyond the sixth."""
        text = text.replace(f"ardchoice {ac.__version__}", "ardchoice VERSION")
        return DIGITS.sub(lambda m: f"{float(m[0]):.6f}", text)

    written = plain(script.read_text(encoding="utf-8"))
    assert written == plain((REFERENCE / "modes.R").read_text(encoding="utf-8"))


def logliks(script: Path) -> list[float]:
    """At zero and at the estimates, by R with stand-ins for Apollo."""
    assert RSCRIPT is not None
    run = "source(commandArgs(TRUE)[1]); source(commandArgs(TRUE)[2])"
    command = [RSCRIPT, "-e", run, str(REFERENCE / "apollo_stand_ins.R"), script.name]
    done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("LOGLIK "))
    return [float(text) for text in line.split()[1:]]


def check(result: ac.Result, folder: Path) -> str:
    script = ac.export(result, "apollo", folder / "model.R")
    found = logliks(script)
    assert found == pytest.approx([result.null_loglik, result.loglik], rel=0, abs=CLOSE)
    return script.read_text(encoding="utf-8")


FORMATS: dict[str, dict[str, Any]] = {
    "comma.csv": {},
    "semicolon.csv": {"sep": ";", "decimal": ",", "encoding": "cp1252"},
    "packed.csv.gz": {},
    "marked.csv": {"encoding": "utf-8-sig"},
    "sixteen.csv": {"encoding": "utf-16"},
}


@needs_r
@pytest.mark.parametrize("name", FORMATS)
def test_r_reads_a_wide_file_as_we_do(tmp_path: Path, name: str) -> None:
    trips().to_csv(tmp_path / name, index=False, **FORMATS[name])
    text = check(ac.fit_mnl(wide(tmp_path / name), EVERY_TRANSFORM), tmp_path)
    assert name in text


@needs_r
def test_r_reads_rows_that_end_in_a_separator_or_begin_with_a_name(tmp_path: Path) -> None:
    lines = trips().to_csv(index=False).splitlines()
    for name, row in (("tail.csv", "{0},"), ("names.csv", '"{1}",{0}')):
        body = [row.format(line, i) for i, line in enumerate(lines[1:], 1)]
        (tmp_path / name).write_text("\n".join([lines[0], *body]) + "\n")
        assert name in check(ac.fit_mnl(wide(tmp_path / name), EVERY_TRANSFORM), tmp_path)


@needs_r
def test_r_reads_long_files_as_we_do(tmp_path: Path) -> None:
    assert MODECHOICE.name in check(ac.fit_mnl(modechoice(), MODECHOICE_SPECIFICATION), tmp_path)
    two = modechoice_by_two(tmp_path)
    assert "two.csv" in check(ac.fit_mnl(two, MODECHOICE_SPECIFICATION), tmp_path)
    ragged().to_csv(tmp_path / "sets.csv", index=False)
    data = products(tmp_path / "sets.csv")
    assert "sets.csv" in check(ac.fit_mnl(data, RAGGED_SPECIFICATION), tmp_path)
    half = data.take(range(0, len(data), 2))
    assert "model_rows.csv" in check(ac.fit_mnl(half, RAGGED_SPECIFICATION), tmp_path)


@needs_r
def test_r_reads_what_is_written_beside_the_script(tmp_path: Path) -> None:
    for data, specification in (
        (wide(trips()), EVERY_TRANSFORM),
        (products(ragged()), RAGGED_SPECIFICATION),
    ):
        assert "model_choices.csv" in check(ac.fit_mnl(data, specification), tmp_path)


@needs_r
def test_r_meets_odd_corners(tmp_path: Path) -> None:
    odd_corners().to_csv(tmp_path / "odd.csv", index=False)
    for source in (tmp_path / "odd.csv", odd_corners()):
        check(ac.fit_mnl(corners(source), ODD_CORNERS), tmp_path)
