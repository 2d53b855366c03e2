"""Passes by forked processes, each of which keeps its share of the blocks and what it made of them.

Where a pass is a long row of small array operations, threads wait for one another most of the time:
each operation releases the interpreter and asks for it back. Processes do not.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Sequence
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ardchoice.errors import ArdchoiceError
from ardchoice.numerics.passes import Measure, Measured


def may_fork() -> bool:
    """Whether a fork is safe: on Linux, and where no other Python thread may hold a lock."""
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
        and not current_process().daemon
    )


class ForkedPasses:
    """Processes that hold some blocks each, for as long as this object lives.

    Parameters
    ----------
    blocks
        At least as many as processes.
    n_processes
    """

    def __init__(self, blocks: Sequence[Any], n_processes: int) -> None:
        self.n_blocks = len(blocks)
        context = get_context("fork")
        self._pipes: list[Connection] = []
        processes: list[BaseProcess] = []
        self._close = weakref.finalize(self, _close, self._pipes, processes)
        for first in range(n_processes):
            here, there = context.Pipe()
            # The other ends that this process holds by now: whoever keeps one open keeps it alive.
            inherited = [*self._pipes, here]
            process = context.Process(
                target=_serve, args=(there, inherited, blocks[first::n_processes]), daemon=True
            )
            with warnings.catch_warnings():
                # Python counts the threads of BLAS, too, which take care of forks themselves.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            there.close()
            self._pipes.append(here)
            processes.append(process)

    def measured(self, measure: Measure[Measured]) -> list[Measured]:
        """What is measured on every block, in their order."""
        found: list[Any] = [None] * self.n_blocks
        try:
            for pipe in self._pipes:
                pipe.send(measure)
            answers = [pipe.recv() for pipe in self._pipes]
        except (EOFError, ConnectionError) as ended:
            self.close()
            raise ArdchoiceError(
                "A process that shared the work ended; perhaps memory was short. With n_threads=1 "
                "there is none."
            ) from ended
        except BaseException:
            # Answers that nobody waits for would be taken for those of the next pass.
            self.close()
            raise
        for error, _ in answers:
            if error is not None:
                raise error
        for first, (_, results) in enumerate(answers):
            found[first :: len(self._pipes)] = results
        return found

    def close(self) -> None:
        """End the processes."""
        self._close()


def _close(pipes: list[Connection], processes: list[BaseProcess]) -> None:
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.terminate()
        process.join()


def _serve(pipe: Connection, inherited: Sequence[Connection], blocks: Sequence[Any]) -> None:
    """In a process of its own: measure until the other end is closed."""
    # Ctrl-C is the parent's business, which then closes the pipe; it ends this process by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:
        other.close()
    while True:
        try:
            measure = pipe.recv()
        except EOFError:
            return
        try:
            answer: tuple[BaseException | None, list[Any]] = None, [measure(b) for b in blocks]
        except Exception as found:  # the parent raises it
            answer = found, []
        try:
            pipe.send(answer)
        except ConnectionError:  # nobody waits for it any more
            return
