"""Killed, interrupted, without space or rights: nothing is lost, and the end is the same."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "hardship.py"
KILLS, INTERRUPTS = 20, 3

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may look into, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="ardchoice-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def hardship(folder: Path, *ways: str) -> list[dict[str, Any]]:
    command = [sys.executable, str(SCRIPT), str(folder), *ways]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_or_interrupted_anywhere_a_run_ends_the_same(tmp_path: Path) -> None:
    killed, interrupted = hardship(tmp_path / "runs", "killed", "interrupted")
    assert sum(killed["stopped"].values()) == KILLS
    assert len(killed["stopped"]) >= 4, "moments lie in all kinds of phases"
    assert sum(interrupted["stopped"].values()) == INTERRUPTS


def test_without_space_or_rights_it_is_said_and_nothing_is_lost(open_folder: Path) -> None:
    limited, full, forbidden = hardship(open_folder / "runs", "limited", "full", "forbidden")
    for message in limited["messages"]:
        assert "File too large. Files there may not be that large" in message
        assert "still there" in message
    for message in forbidden["messages"]:
        assert "Permission denied. You may not write there: choose another folder" in message
    if "skipped" in full:
        pytest.skip(full["skipped"])
    for message in full["messages"]:
        assert "No space left on device. Free some space there" in message
