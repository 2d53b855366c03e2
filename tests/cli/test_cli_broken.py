"""A hundred broken study files and fifty broken tables, as the command line meets them."""

import signal
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from cli_support import command, installed

import ardchoice as ac
from ardchoice.cli.exit_codes import Code

sys.path.append(str(Path(__file__).parents[1] / "settings"))

from broken import study_candidates, table_candidates
from settings_support import STUDY, write_study

STUDIES, TABLES = 100, 50
LONGEST = 60
"""Seconds after which something hangs."""


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """What hangs ends as a bug would, with a code that is neither 2 nor 3."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refused(study: Path, what: str) -> bool:
    """Whether a study cannot be run; then check and run say so and where; nothing is left."""
    signal.alarm(LONGEST)
    checked = command("check", study, code=None)
    if checked.exit_code == Code.DONE:
        return False
    for done in (checked, command("run", study, "--quiet", code=None)):
        assert done.exit_code == Code.BAD_INPUT, (what, done.output)
        assert done.stdout == ""
        place = ("study.toml", "olumn", "row", "t.csv", "t.parquet")
        assert any(word in done.stderr for word in place), (what, done.stderr)
    assert not (study.parent / "results").exists()
    return True


def test_a_hundred_broken_study_files_end_with_three_and_the_place(tmp_path: Path) -> None:
    study, broken = write_study(tmp_path), 0
    for what, content in islice(study_candidates(STUDY, seed=7), 1000):
        study.write_bytes(content)
        broken += refused(study, what)
        if broken == STUDIES:
            return
    pytest.fail(f"only {broken} were broken")


def test_fifty_broken_tables_end_with_three_and_the_place(tmp_path: Path) -> None:
    table = ac.datasets.swissmetro().head(180).reset_index(drop=True)
    study, broken = tmp_path / "study.toml", 0
    for what, file, content in islice(table_candidates(table, seed=7), 400):
        (tmp_path / file).write_bytes(content)
        text = STUDY.replace("swissmetro.csv", file).replace("drop_invalid = true", "")
        study.write_text(text, encoding="utf-8")
        broken += refused(study, what)
        (tmp_path / file).unlink()
        if broken == TABLES:
            return
    pytest.fail(f"only {broken} were broken")


def test_the_installed_command_refuses_them_too(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    _, content = next(study_candidates(STUDY))
    study.write_bytes(content)
    assert "study.toml" in installed("run", study, code=Code.BAD_INPUT).stderr
