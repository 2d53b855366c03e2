"""The command line, as a user meets it."""

import subprocess
import sys

from click.testing import CliRunner

from ardchoice.cli import cli


def test_the_demo_finds_a_specification_and_shows_it_within_eighty_columns() -> None:
    result = CliRunner().invoke(cli, ["demo"])
    assert result.exit_code == 0
    assert "candidate terms" in result.output
    assert "15,542.4" in result.output  # the published R6, for comparison
    assert "value of time" in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_wrong_usage_ends_with_two_and_no_traceback() -> None:
    command = [sys.executable, "-c", "from ardchoice.cli import main; main()", "dmeo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "dmeo" in done.stderr


def test_the_version_is_told() -> None:
    assert "0.1" in CliRunner().invoke(cli, ["--version"]).output
