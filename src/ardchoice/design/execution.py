"""`Execution`: where passes over the data run, in a context of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ardchoice.errors import ArdchoiceError

if TYPE_CHECKING:
    from ardchoice.design.remote import Workers


@dataclass(frozen=True, eq=False)
class Execution:
    """Where passes over the data run.

    Attributes
    ----------
    workers
        Of a Dask cluster; None for this process.
    n_threads
        That process large data; None for as many as there are cores.
    """

    workers: Workers | None = None
    n_threads: int | None = None

    @classmethod
    def of(cls, executor: Any = None, n_threads: int | None = None) -> Execution:
        """From the arguments that users give."""
        if n_threads is not None and not (isinstance(n_threads, int) and n_threads >= 1):
            raise ArdchoiceError(f"n_threads is a whole number from 1 on, not {n_threads!r}.")
        if executor is None:
            return cls(None, n_threads)
        # Only who has workers needs Dask.
        from ardchoice.design.remote import workers_of

        return cls(workers_of(executor), n_threads)


_current: ContextVar[Execution] = ContextVar("_current", default=Execution())  # noqa: B039 - frozen


def current_execution() -> Execution:
    """Where passes run at the moment."""
    return _current.get()


@contextmanager
def running(executor: Any = None, n_threads: int | None = None) -> Iterator[Execution]:
    """Where passes over the data run while it lasts; what is not given is as outside.

    Parameters
    ----------
    executor
        A Dask client (`connect`, `local_cluster`) whose workers process the data.
    n_threads
        Threads that process large data.

    Examples
    --------
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real")
    >>> with ac.running(n_threads=1):
    ...     ac.fit_mnl(data, "*: TT + CO").converged
    True
    """
    is_made = isinstance(executor, Execution)
    inside = executor if is_made else Execution.of(executor, n_threads)
    outside = _current.get()
    if inside.workers is None or inside.n_threads is None:
        inside = Execution(inside.workers or outside.workers, inside.n_threads or outside.n_threads)
    before = _current.set(inside)
    try:
        yield inside
    finally:
        _current.reset(before)
