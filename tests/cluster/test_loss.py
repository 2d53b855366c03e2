"""Workers and schedulers that go away."""

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_support import TEXT, generic_space, killing, ragged_panel, slowly

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import remote
from ardchoice.design.remote import Workers
from ardchoice.errors import ArdchoiceError

SAME = 1e-9
ROWS = 250
A_MINUTE = 60.0
SLOW = 0.02
"""Seconds that a block takes in passes that something is to happen in."""


@pytest.fixture(scope="module")
def panel() -> ChoiceData:
    return ragged_panel()


@pytest.fixture(scope="module")
def breakable() -> Iterator[Any]:
    """Two workers that are started anew when they die."""
    dask = pytest.importorskip("dask")
    # Dask takes one that dies twice within this time for lost.
    patient = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with dask.config.set(patient), ac.local_cluster(2) as client:
        client.wait_for_workers(2, timeout=A_MINUTE)
        yield client


def blocks_on(data: ChoiceData, workers: Workers) -> Any:
    with ac.running(workers):
        return ac.Design(data, ac.parse_specification(TEXT).terms).blocks()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_relevance_is_the_same_when_workers_are_killed_meanwhile(
    breakable: Any, panel: ChoiceData, seed: int
) -> None:
    space = generic_space(panel)
    here = ac.fit_ard(panel, space)
    breakable.wait_for_workers(2, timeout=A_MINUTE)
    moments = np.random.default_rng(seed).uniform(0.05, 0.4, 1).tolist()
    with killing(breakable, moments, seed) as killed:
        there = ac.fit_ard(panel, space, executor=Workers(breakable, rows=ROWS))
        while len(killed) < len(moments):  # the fit may have been faster
            there = ac.fit_ard(panel, space, executor=Workers(breakable, rows=ROWS))
    assert there.log_evidence == pytest.approx(here.log_evidence, rel=SAME)
    np.testing.assert_allclose(there.mean, here.mean, rtol=0, atol=1e-8)


def test_a_pass_in_which_a_worker_dies_has_the_same_sum_to_the_last_bit(
    breakable: Any, panel: ChoiceData
) -> None:
    breakable.wait_for_workers(2, timeout=A_MINUTE)
    blocks = blocks_on(panel, Workers(breakable, rows=100))
    measure = partial(slowly, SLOW)
    whole = blocks.map_reduce(measure)
    for seed in (2, 3):
        with killing(breakable, [0.1], seed) as killed:
            assert blocks.map_reduce(measure) == whole
        assert killed


def test_a_mistake_in_the_work_is_told_as_it_is(breakable: Any, panel: ChoiceData) -> None:
    blocks = blocks_on(panel, Workers(breakable, rows=ROWS))
    with pytest.raises(TypeError):
        blocks.map_reduce(partial(slowly, "no number"))


def test_what_is_interrupted_is_called_off(breakable: Any, panel: ChoiceData) -> None:
    breakable.wait_for_workers(1, timeout=A_MINUTE)
    blocks = blocks_on(panel, Workers(breakable, rows=100))
    blocks.map_reduce(partial(slowly, 0.0))
    # Who runs tests in the background may have it ignored, which is then nobody's to hear.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            blocks.map_reduce(partial(slowly, 1.0))  # thirty shards: fifteen seconds
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 5
    while any(breakable.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(breakable.processing().values())
    assert time.monotonic() - started < 10
    assert np.isfinite(blocks.map_reduce(partial(slowly, 0.0)))  # and all is as before


def test_workers_of_another_version_are_refused(
    breakable: Any, panel: ChoiceData, monkeypatch: pytest.MonkeyPatch
) -> None:
    breakable.wait_for_workers(1, timeout=A_MINUTE)
    monkeypatch.setattr(remote, "version", lambda name: "99.0")
    with pytest.raises(
        ArdchoiceError, match=rf"99\.0; there is also {ac.__version__}\..*pip install"
    ):
        blocks_on(panel, Workers(breakable)).map_reduce(partial(slowly, 0.0))


# -- Nobody is left -------------------------------------------------------------------------------


def start(*words: str) -> "subprocess.Popen[bytes]":
    quiet, here = subprocess.DEVNULL, os.pathsep.join(filter(None, sys.path))
    command, told = [sys.executable, "-m", "dask", *words], os.environ | {"PYTHONPATH": here}
    return subprocess.Popen(command, env=told, stdout=quiet, stderr=quiet)


@contextmanager
def processes(folder: Path, workers: int) -> Iterator[tuple[Any, list[Any]]]:
    """A scheduler and workers that nobody starts again: (client, [scheduler, worker, ...])."""
    file, common = folder / "scheduler.json", ("--dashboard-address", ":0")
    started = [start("scheduler", "--port", "0", "--scheduler-file", str(file), *common)]
    try:
        words = ("--no-nanny", "--nthreads", "1", "--local-directory", str(folder), *common)
        started += [start("worker", "--scheduler-file", str(file), *words) for _ in range(workers)]
        deadline = time.monotonic() + A_MINUTE
        while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        with ac.connect(json.loads(file.read_text())["address"]) as client:
            client.wait_for_workers(workers, timeout=A_MINUTE)
            yield client, started
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_without_any_worker_and_without_a_scheduler_it_is_said_what_to_do(
    tmp_path: Path, panel: ChoiceData
) -> None:
    with processes(tmp_path, 2) as (client, (scheduler, *workers)):
        blocks = blocks_on(panel, Workers(client, rows=100, patience=2))
        blocks.map_reduce(partial(slowly, 0.0))
        # 1 · All workers die.
        timer = threading.Timer(0.3, lambda: [os.kill(w.pid, signal.SIGKILL) for w in workers])
        timer.start()
        started = time.monotonic()
        with pytest.raises(ArdchoiceError, match=r"no worker for 2 seconds\. Start workers"):
            blocks.map_reduce(partial(slowly, 0.5))
        assert time.monotonic() - started < A_MINUTE
        # 2 · The scheduler, too.
        timer = threading.Timer(0.3, scheduler.kill)
        timer.start()
        started = time.monotonic()
        blocks = blocks_on(panel, Workers(client, rows=100, patience=10))
        with pytest.raises(ArdchoiceError, match="connection to the Dask scheduler is lost"):
            blocks.map_reduce(partial(slowly, 0.5))
        assert time.monotonic() - started < A_MINUTE
        with pytest.raises(ArdchoiceError, match="connection to the Dask scheduler is lost"):
            blocks.map_reduce(partial(slowly, 0.5))


def test_an_address_where_nobody_answers_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ArdchoiceError, match=r"No Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        ac.connect("tcp://127.0.0.1:9", timeout=0.5)
    with pytest.raises(ArdchoiceError, match=r"No Dask scheduler answers at 'nowhere'"):
        ac.connect("nowhere", timeout=0.5)
    with pytest.raises(ArdchoiceError, match="At least one worker"):
        ac.local_cluster(0)


def test_an_executor_is_a_client(panel: ChoiceData) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ArdchoiceError, match=r"An executor is a Dask client, not str: ac\.connect"):
        ac.fit_mnl(panel, TEXT, executor="tcp://127.0.0.1:8786")
