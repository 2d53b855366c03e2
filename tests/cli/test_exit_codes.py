"""Every way out of a command has a code and a sentence."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import ardchoice as ac
from ardchoice.cli.app import Commands
from ardchoice.cli.console import Console, strip_control_characters
from ardchoice.cli.exit_codes import Code


def run(action: str, *, as_json: bool = False) -> Result:
    """A command that does one thing, as the group runs it."""

    @click.group(cls=Commands)
    def group() -> None:
        pass

    @group.command()
    @click.pass_obj
    def go(voice: Console) -> None:
        voice.as_json = as_json
        ACTIONS[action]()

    return CliRunner().invoke(group, ["go"])


def _raise(error: BaseException) -> None:
    raise error


def _warn() -> None:
    import warnings

    for _ in range(2):
        warnings.warn("Nobody chose 'bus'.", ac.ArdchoiceWarning, stacklevel=1)


ACTIONS = {
    "nothing": lambda: None,
    "data": lambda: _raise(ac.ArdchoiceError("Column 'x\x1b[2J' is not in the table.")),
    "disk": lambda: _raise(OSError(28, "No space left on device", "out/report.html")),
    "memory": lambda: _raise(MemoryError()),
    "bug": lambda: _raise(ZeroDivisionError("a secret\nof ours")),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "pipe": lambda: _raise(BrokenPipeError()),
    "usage": lambda: _raise(click.UsageError("no such thing")),
    "warning": _warn,
}


@pytest.mark.parametrize(
    ("action", "code", "told"),
    [
        ("nothing", Code.DONE, ""),
        ("data", Code.BAD_INPUT, "ardchoice: Column 'x\\x1b[2J' is not in the table.\n"),
        ("disk", Code.BAD_INPUT, "out/report.html: No space left on device"),
        ("memory", Code.BAD_INPUT, "not enough memory"),
        ("bug", Code.BUG, "ZeroDivisionError: a secret"),
        ("interrupt", Code.INTERRUPTED, "interrupted"),
        ("pipe", Code.DONE, ""),
        ("usage", Code.USAGE, "no such thing"),
        ("warning", Code.DONE, "ardchoice: note: Nobody chose 'bus'.\n"),
    ],
)
def test_every_way_out_has_its_code_and_its_sentence(action: str, code: Code, told: str) -> None:
    result = run(action)
    assert result.exit_code == code
    assert result.stdout == ""
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert bool(told) == bool(result.stderr)


def test_a_warning_is_told_once() -> None:
    assert run("warning").stderr.count("Nobody chose") == 1


def test_the_traceback_of_a_bug_is_in_a_file() -> None:
    said = run("bug").stderr
    path = Path(next(word for word in said.split() if "ardchoice-error" in word).rstrip(";"))
    written = path.read_text(encoding="utf-8")
    path.unlink()
    assert "Traceback" in written
    assert "of ours" in written
    assert ac.__version__ in written


@pytest.mark.parametrize("action", ["data", "bug", "interrupt", "warning"])
def test_with_json_every_line_of_standard_error_is_json(action: str) -> None:
    lines = run(action, as_json=True).stderr.splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows
    assert all(row["event"] in ("error", "warning") and row["message"] for row in rows)


def test_text_for_terminals_cannot_steer_them() -> None:
    assert (
        strip_control_characters("\x1b[2J\x9b1m\u202e\rnew\tline\n")
        == "\\x1b[2J\\x9b1m\\u202e\\rnew\tline\n"
    )
    assert strip_control_characters("λ é 中 😀") == "λ é 中 😀"


# -- Signals, in a process of its own ------------------------------------------------------------

SCRIPT = """
import hashlib, sys, time
import click
from ardchoice.cli.app import Commands

@click.group(cls=Commands)
def group():
    pass

@group.command()
@click.pass_obj
def python(voice):
    voice.resume_command = "ardchoice run study.toml --resume"
    print("begun", flush=True)
    time.sleep(600)

@group.command()
@click.pass_obj
def library(voice):
    voice.resume_command = "ardchoice run study.toml --resume"
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 2**31 - 1)  # Python hears nothing meanwhile

@group.command()
def lines():
    for i in range(100_000):
        print(i)

group()
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ending") / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.parametrize("busy", ["python", "library"])
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_soon_and_say_how_to_go_on(
    script: Path, busy: str, which: signal.Signals
) -> None:
    child = subprocess.Popen(
        [sys.executable, script, busy], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    os.kill(child.pid, which)
    _, said = child.communicate(timeout=60)
    assert child.returncode == Code.INTERRUPTED
    assert "ardchoice run study.toml --resume" in said
    assert "Traceback" not in said


def test_a_reader_that_leaves_early_is_no_error(script: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, script, "lines"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "0\n"
    child.stdout.close()
    assert child.stderr is not None
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait(timeout=30) == Code.DONE


def test_the_command_line_speaks_as_study_files_do(capsys: pytest.CaptureFixture[str]) -> None:
    Console().warning("2 rows dropped, as drop_invalid=True asks.")
    Console().error("Fix these rows, or drop them (drop_invalid=True).", Code.BAD_INPUT)
    said = capsys.readouterr().err
    assert said.count("drop_invalid = true") == 2
    assert "=True" not in said


def test_a_closed_standard_output_is_no_error(tmp_path) -> None:
    import subprocess
    import sys

    line = f"exec {sys.executable} -m ardchoice init --example --out - >&-"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
