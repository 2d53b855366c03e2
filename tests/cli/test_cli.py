"""The command line, as a user meets it."""

import subprocess
import sys

from click.testing import CliRunner

from ardchoice.cli import cli


def test_wrong_usage_ends_with_two_and_no_traceback() -> None:
    command = [sys.executable, "-c", "from ardchoice.cli import main; main()", "dmeo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "dmeo" in done.stderr


def test_the_version_is_told() -> None:
    assert "0.1" in CliRunner().invoke(cli, ["--version"]).output
