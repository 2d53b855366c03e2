"""Environments of their own for the packages that a benchmark compares with.

Other packages pin what they need, and some need versions that ardchoice would not want, so each
gets a virtual environment in a cache folder, made the first time it is asked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CACHE = Path("~/.cache/ardchoice-benchmarks").expanduser()
"""Default folder of the environments; safe to delete."""
STAMP = "installed.txt"
"""Written when an installation is complete, so that one broken off half-way is made again."""
INSTALL_SECONDS = 900.0
TAIL = 300
"""Characters of pip's last words that a message repeats."""


class EnvironmentUnavailableError(Exception):
    """An environment could not be made; the message says why."""


def interpreter(folder: Path, requirements: Sequence[str]) -> Path:
    """Find the Python of an environment, making the environment if need be.

    Parameters
    ----------
    folder
        The environment.
    requirements
        What it must hold, as pip takes it.

    Returns
    -------
    Path
        Its interpreter.

    Raises
    ------
    EnvironmentUnavailableError
        If it cannot be made, for example without a network.
    """
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, wanted = folder / STAMP, "\n".join(requirements) + "\n"
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)])
    # Where everything is in place already, pip says so without a network.
    _run([str(python), "-m", "pip", "install", "--quiet", "--no-input", *requirements])
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _run(command: list[str]) -> None:
    """Run a command, or say how it failed."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentUnavailableError(str(error)) from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip()
        raise EnvironmentUnavailableError(words[-TAIL:])
