"""The command line, as a user meets it."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from ardchoice.cli.app import cli


def test_wrong_usage_ends_with_two_and_no_traceback() -> None:
    command = [sys.executable, "-c", "from ardchoice.cli import main; main()", "dmeo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "dmeo" in done.stderr


def test_the_version_is_told() -> None:
    assert "0.1" in CliRunner().invoke(cli, ["--version"]).output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script_that_completes(shell: str) -> None:
    printed = CliRunner().invoke(cli, ["completion", shell]).stdout
    assert "_ARDCHOICE_COMPLETE" in printed
    assert "ardchoice" in printed


def test_commands_and_packages_are_completed() -> None:
    def offered(words: str) -> list[str]:
        found = words.split(" ")
        variables = {"COMP_WORDS": words, "COMP_CWORD": str(len(found) - 1)}
        done = CliRunner().invoke(
            cli, env={"_ARDCHOICE_COMPLETE": "bash_complete", **variables}, prog_name="ardchoice"
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert offered("ardchoice re") == ["report", "reproduce"]
    assert offered("ardchoice export results py") == ["pylogit"]
    assert "--resume" in offered("ardchoice run --")


@pytest.mark.parametrize("command", [None, *cli.commands])
def test_help_fits_a_terminal_and_shows_how(command: str | None) -> None:
    words = ["--help"] if command is None else [command, "--help"]
    done = CliRunner().invoke(cli, words, prog_name="ardchoice")
    assert done.exit_code == 0
    assert max(map(len, done.output.splitlines())) <= 80
    assert "..." not in done.output.replace("ARGS]...", "").replace("CHANGES...", "")
    shown = f"ardchoice {command or 'run'} "
    assert shown in done.output or f"ardchoice {command}\n" in done.output
