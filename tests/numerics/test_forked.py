"""Passes by forked processes: the same digits, errors of processes, and no process is left."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ardchoice.numerics import may_fork

PROGRAM = str(Path(__file__).with_name("forked_program.py"))
PATIENCE_SECONDS = 30

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes fork on Linux only")


@pytest.mark.parametrize("what", ["same", "errors"])
def test_in_a_process_without_threads(what: str) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM, what], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_no_process_is_left_when_theirs_ends(how: str) -> None:
    with subprocess.Popen(
        [sys.executable, PROGRAM, "wait"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None
        pids = [int(one) for one in running.stdout.readline().split()]
        assert len(set(pids)) == 3
        if how == "kill":
            running.kill()
        else:
            running.terminate()
    end = time.monotonic() + PATIENCE_SECONDS
    while any(map(is_running, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def test_nothing_is_forked_beside_other_threads() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert not may_fork()
    finally:
        done.set()
        other.join()


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except (ProcessLookupError, FileNotFoundError):
        return False
