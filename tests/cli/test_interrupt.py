"""Ctrl-C at a terminal: out with a code and a word on how to go on, and the same end."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import command, german

STUDY = """
[data]
table = "wege.csv"
alternatives = ["Zug", "Auto", "Velo"]
choice = "Wahl"
person = "Person"
attributes = {Zeit = "Zeit_{alt}", Preis = {Zug = "Preis_Zug", Auto = "Preis_Auto"}}
covariates = ["Geschlecht"]

[space]
transforms = ["linear", "log1p"]
by = ["Geschlecht"]

[output]
stability_pairs = 6
exports = ["text"]
"""
# A process has the terminal only if it is that of its session.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
SAME = ("specification.txt", "estimates.csv", "relevance.csv")


def at_a_terminal(*words: object, until: str, then: bytes) -> tuple[int, str]:
    """Run the command at a terminal and type something once a text has appeared."""
    ours, theirs = pty.openpty()
    script = Path(sys.executable).with_name("ardchoice")
    child = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, script, *map(str, words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    seen, typed = b"", False
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
        if not typed and until.encode() in seen:
            os.write(ours, then)
            typed = True
    code = child.wait(timeout=60)
    os.close(ours)
    assert typed, seen.decode()
    return code, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    german(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_ctrl_c_ends_with_130_and_resume_ends_with_the_same_result(folder: Path) -> None:
    study = folder / "study.toml"
    code, seen = at_a_terminal("run", study, until="evaluate", then=b"\x03")
    assert code == 130
    assert "Traceback" not in seen
    told = " ".join(seen.split())
    assert "interrupted. Finished steps are saved; resume with:" in told
    assert f"ardchoice run {study} --resume" in told
    assert not (folder / "results" / "report.html").exists()
    # It is not overwritten unawares, and goes on when told.
    assert "--resume" in command("run", study, code=3).stderr
    command("run", study, "--resume", "--quiet")
    command("run", study, "--out", folder / "straight", "--quiet")
    for name in SAME:
        there = (folder / "straight" / name).read_bytes()
        assert (folder / "results" / name).read_bytes() == there


def test_a_folder_that_is_there_is_not_overwritten_without_force(folder: Path) -> None:
    out = folder / "results"
    out.mkdir()
    (out / "thesis.tex").write_text("precious")
    said = command("run", folder / "study.toml", code=3).stderr
    assert "--force" in said
    assert [p.name for p in out.iterdir()] == ["thesis.tex"]
