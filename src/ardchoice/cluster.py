"""Dask clusters: one that is there, or one of this machine."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from ardchoice.errors import ArdchoiceError

CONNECTING = 20.0
"""Seconds for a scheduler to answer."""


def connect(address: str, *, timeout: float | None = None) -> Any:
    """Connect to a Dask cluster, or start one.

    Parameters
    ----------
    address
        Of a scheduler, such as ``"tcp://10.0.0.1:8786"``; or ``"local"`` for workers on this
        machine, one per core, as by `local_cluster`.
    timeout
        Seconds for the scheduler to answer. Default: 20.

    Returns
    -------
    distributed.Client
        For ``executor=``; close it, or use it in a ``with`` statement.
    """
    if address == "local":
        return local_cluster()
    dask = _distributed()
    try:
        return _started(
            partial(dask.Client, address, timeout=timeout or CONNECTING, set_as_default=False)
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise ArdchoiceError(
            f"No Dask scheduler answers at {address!r}. Expected 'local', or an address such as "
            "tcp://10.0.0.1:8786, as the scheduler says when it starts (dask scheduler); see "
            "whether it runs, and whether this machine may reach it."
        ) from error


def local_cluster(workers: int | None = None) -> Any:
    """Workers on this machine: processes of one thread each.

    In a script, call it under ``if __name__ == "__main__":``, since every worker reads the script.

    Parameters
    ----------
    workers
        How many. Default: one per core.

    Returns
    -------
    distributed.Client
        For ``executor=``; the workers end when it is closed, or its ``with`` statement is left.
    """
    if workers is not None and workers < 1:
        raise ArdchoiceError(f"At least one worker is needed, not {workers}.")
    dask = _distributed()
    # A worker that ends is survived or reported: what Dask logs meanwhile is no news to a user.
    return _started(
        partial(
            dask.Client,
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            set_as_default=False,
        )
    )


def _started(make: Callable[[], Any]) -> Any:
    """A client that is whole or not there: one that Ctrl-C leaves half-made hangs at the end."""
    with ThreadPoolExecutor(1, initializer=_be_deaf) as pool:
        coming = pool.submit(make)
        try:
            return coming.result()
        except (KeyboardInterrupt, SystemExit):
            with _undisturbed(), suppress(Exception):
                coming.result().close()
            raise


def _be_deaf() -> None:
    """Let this thread, and all threads and processes that it starts, not hear Ctrl-C.

    Ctrl-C reaches all processes of a terminal; it is for the one that waits for results to hear.
    """
    if hasattr(signal, "pthread_sigmask"):
        # Else it is started with the first process, and opens the ears of the thread again.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@contextmanager
def closing(client: Any) -> Iterator[Any]:
    """A client that is closed in the end, and not once more interrupted in that."""
    try:
        yield client
    finally:
        with _undisturbed():
            client.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No Ctrl-C while it lasts: half-closed, a client would hang for a minute."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ArdchoiceError(
            "Clusters need Dask, which is not installed: pip install 'ardchoice[dask]'."
        ) from None
    return distributed
