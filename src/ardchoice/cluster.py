"""Dask clusters: one that is there, or one of this machine."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
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
        Seconds for the scheduler to answer; 20 unless told.

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
        How many; one per core unless told.

    Returns
    -------
    distributed.Client
        For ``executor=``; the workers end when it is closed, or its ``with`` statement is left.
    """
    if workers is not None and workers < 1:
        raise ArdchoiceError(f"At least one worker is needed, not {workers}.")
    dask = _distributed()
    # A worker that ends is survived or told of: what Dask logs meanwhile is no news to a user.
    return _started(
        partial(
            dask.Client,
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            set_as_default=False,
            preload=[__name__],
        )
    )


def dask_setup(worker: object) -> None:
    """Called by Dask in every worker that it starts for `local_cluster`.

    Ctrl-C reaches all processes of a terminal; it is for the one that waits for results to hear.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _started(make: Callable[[], Any]) -> Any:
    """A client that is whole or not there: one that Ctrl-C leaves half-made hangs at the end."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(make)
        try:
            return coming.result()
        except (KeyboardInterrupt, SystemExit):
            with suppress(Exception):
                coming.result().close()
            raise


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ArdchoiceError(
            "Clusters need Dask, which is not installed: pip install 'ardchoice[dask]'."
        ) from None
    return distributed
