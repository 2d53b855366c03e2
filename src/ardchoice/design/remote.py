"""Blocks on the workers of a Dask cluster: coefficients go out, sums come back."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from distributed import Client, KilledWorker

from ardchoice.data import ChoiceData, whole_person_ranges
from ardchoice.design.shards import cut, shard_rows
from ardchoice.design.sources import Standardizer, StreamedBlocks
from ardchoice.design.worker import Plan, add_up, as_it_is, measure_shard, other_version, plan_for
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import Measure, Measured

if TYPE_CHECKING:
    from ardchoice.design.design import Design

TOGETHER = 8
"""Sums that are added in one go: neighbours, most of them on the same worker."""
KEEP_SHARE = 0.2
"""Of a worker's memory for expanded blocks; Dask itself grows uneasy from 0.6 on."""
KEEP_BYTES = 1 << 28
"""The same where a worker does not say how much memory it has."""
SENT_TOGETHER = 16
"""Shards that are sent at once: all at once would be in memory twice."""
PATIENCE = 30.0
"""Seconds that may go by without any worker, before it is given up."""
TICK = 1.0
"""Seconds between looks at whether the cluster is still there."""
IN_VAIN = 10
"""Losses of workers in one pass, without any part of it getting done, before it is given up."""
SETTLING = 0.1
"""Seconds for the scheduler to tell all that went with a worker."""
AWAY = (CancelledError, TimeoutError, OSError)
"""What a call ends with when a worker, or the way to it, is gone."""


class Workers:
    """The workers of a Dask cluster, and which of them holds which rows.

    Parameters
    ----------
    client
        Connected to the cluster.
    rows
        Of a shard. Default: from the size of the data. The sums depend on it in their last
        digits, and on nothing else of the cluster.
    keep
        Bytes of expanded blocks that a worker keeps between passes. Default: a share of its
        memory.
    patience
        Seconds to wait for a worker when none is left.
    """

    def __init__(
        self,
        client: Client,
        *,
        rows: int | None = None,
        keep: int | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.client: Any = client  # much of it has no types
        self.rows, self.keep, self.patience = rows, keep, patience
        # What is on the workers, as long as the data are in use here.
        self._placed: WeakKeyDictionary[ChoiceData, _Placed] = WeakKeyDictionary()

    # -- Passes -------------------------------------------------------------------------------

    def map_reduce(self, data: ChoiceData, plan: Planned, measure: Measure[Measured]) -> Measured:
        """The sum of a measure over all rows: neighbours first, always in the same order.

        A worker that dies takes its shards with it: they are sent again to others, and what was
        measured there is measured again.
        """
        run = _Pass(measure)
        with self._cancelling(run):
            while True:
                try:
                    with _asking():
                        placed = self._place(data)
                    self._submit(run, placed, plan)
                    found: Measured = self._outcome(run)
                    return found
                except KilledWorker as error:
                    raise ArdchoiceError(DYING.format(error)) from error
                except AWAY as error:
                    if run.top is not None and run.top.status == "error":
                        raise  # not the cluster, but the work itself
                    self._must_be_there(error)
                    if run.in_vain() > IN_VAIN:
                        raise ArdchoiceError(DYING.format(error)) from error
                    time.sleep(SETTLING)

    def _submit(self, run: _Pass, placed: _Placed, plan: Planned) -> None:
        """What is not under way: measures of shards, and the sums of neighbours, of these, ..."""
        client = self.client
        measure = partial(measure_shard, measure=run.measure, keep=placed.keep)
        on_workers = plan.on(client)
        groups = range(0, len(placed.shards), TOGETHER)
        run.sums = run.sums or [None] * len(groups)
        for g, first in enumerate(groups):
            if _is_gone(run.sums[g]):
                shards = placed.shards[first : first + TOGETHER]
                each = client.map(measure, shards, plan=on_workers, pure=False)
                run.sums[g] = each[0] if len(each) == 1 else client.submit(add_up, each, pure=False)
        level = list(run.sums)
        while len(level) > 1:
            level = [
                client.submit(add_up, level[i : i + TOGETHER], pure=False)
                for i in range(0, len(level), TOGETHER)
            ]
        run.top = level[0]

    def _outcome(self, run: _Pass) -> Any:
        while True:
            try:
                return run.top.result(timeout=TICK)
            except TimeoutError:
                if run.top.done():
                    raise
                self._must_be_there(None)
            except UnboundLocalError:
                # What distributed raises where a wait is cancelled just as its time runs out.
                if run.top.status == "error":
                    raise  # of the work

    @contextmanager
    def _cancelling(self, run: _Pass) -> Iterator[None]:
        """What is under way is called off when its sum is no longer wanted."""
        try:
            yield
        except BaseException:
            under_way = [f for f in (*run.sums, run.top) if f is not None]
            if self.client.status == "running":
                self.client.cancel(under_way)
            raise

    # -- Shards -------------------------------------------------------------------------------

    def _place(self, data: ChoiceData) -> _Placed:
        """Every shard on a worker that is there; sent only where it is not yet."""
        placed = self._placed.setdefault(data, _Placed(uuid.uuid4().hex))
        threads = self._threads(placed)
        size = self.rows or shard_rows(len(data))
        ranges = whole_person_ranges(data, size) or [slice(0, 0)]
        count = len(ranges)
        if len(placed.shards) != count:
            placed.shards, placed.homes = [None] * count, [None] * count
        before = [
            None if _is_gone(shard) else home
            for shard, home in zip(placed.shards, placed.homes, strict=True)
        ]
        homes = divide(before, threads)
        for worker in threads:
            wanted = [i for i in range(count) if homes[i] == worker and before[i] != worker]
            for some in _batches(wanted, SENT_TOGETHER):
                shards = [cut(data, ranges[i], f"{placed.token}-{i}") for i in some]
                sent = self.client.scatter(
                    shards, workers=[worker], hash=False, timeout=self.patience
                )
                for i, future in zip(some, sent, strict=True):
                    placed.shards[i], placed.homes[i] = future, worker
        return placed

    def _threads(self, placed: _Placed) -> dict[str, int]:
        """Worker -> its threads, in a fixed order; waits a while when there is none."""
        self._must_be_there(None)
        deadline = time.monotonic() + self.patience
        while not (found := self.client.nthreads()):
            left = deadline - time.monotonic()
            if left <= 0:
                raise ArdchoiceError(self._alone())
            # One that comes may be gone before it is asked.
            with suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=left)
        if not placed.met.issuperset(found):
            placed.keep = self._meet()
            placed.met |= set(found)
        return dict(sorted(found.items()))

    def _meet(self) -> int:
        """Refuse other versions, of the scheduler too; how many bytes workers may keep."""
        own = version("ardchoice")
        all_of_them = self.client.get_versions(packages=["ardchoice"])
        there = [all_of_them["scheduler"], *all_of_them["workers"].values()]
        found = {one["packages"].get("ardchoice") for one in there if one}
        if found - {own}:
            raise ArdchoiceError(other_version(found - {own}, own))
        if self.keep is not None:
            return self.keep
        known = self.client.scheduler_info()["workers"].values()
        limits = [w["memory_limit"] for w in known if w.get("memory_limit")]
        return int(KEEP_SHARE * min(limits)) if limits else KEEP_BYTES

    # -- What can go wrong --------------------------------------------------------------------

    def _must_be_there(self, error: BaseException | None) -> None:
        """Raise when the scheduler is gone."""
        since = time.monotonic()
        while self.client.status == "connecting" and time.monotonic() - since < self.patience:
            time.sleep(0.1)
        if self.client.status != "running":
            raise ArdchoiceError(
                "The connection to the Dask scheduler is lost"
                f"{f' ({error})' if error and str(error) else ''}. See whether it still runs; "
                "then connect again and repeat the call, or resume the run: what was saved "
                "so far is kept."
            ) from error

    def _alone(self) -> str:
        return (
            f"The cluster has had no worker for {self.patience:.0f} seconds. Start workers (or see "
            "in their logs why they ended: most often it is memory), then repeat the call or "
            "resume the run: what was saved so far is kept."
        )


DYING = (
    "Workers die again and again in the same pass, most likely for lack of memory (the last that "
    "was heard: {}). Give them more of it, let fewer threads share it, or make the search space "
    "smaller; as executor, ardchoice.design.remote.Workers(client, rows=..., keep=...) has smaller "
    "shards and keeps less between passes."
)


@contextmanager
def _asking() -> Iterator[None]:
    """The scheduler is asked about workers, any of which may be gone by then.

    What it answers then is of many kinds, such as the KeyError of who is no longer known.
    """
    try:
        yield
    except (ArdchoiceError, *AWAY):
        raise
    except Exception as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from error


GONE = ("cancelled", "lost", "error")
"""States of a future that has nothing to give."""


def _is_gone(future: Any) -> bool:
    return future is None or future.status in GONE


@dataclass(eq=False)
class Planned:
    """How rows become columns, here and, from the first pass on, on the workers."""

    plan: Plan
    sent: Any = None

    def on(self, client: Client) -> Any:
        """The plan on the workers: lost with one of them, it is made again."""
        if _is_gone(self.sent):
            self.sent = client.submit(as_it_is, self.plan, pure=False)
        return self.sent


@dataclass(eq=False)
class _Placed:
    """The shards of some data, the worker each was sent to, and what is known of workers."""

    token: str
    shards: list[Any] = field(default_factory=list)
    homes: list[str | None] = field(default_factory=list)
    met: set[str] = field(default_factory=set)
    keep: int = 0


@dataclass(eq=False)
class _Pass:
    """A pass under way: the sums of neighbouring shards, and the sum of all."""

    measure: Measure[Any]
    sums: list[Any] = field(default_factory=list)
    top: Any = None
    most_done: int = 0
    failed: int = 0

    def in_vain(self) -> int:
        """Losses since something more got done."""
        done = sum(f is not None and f.status == "finished" for f in self.sums)
        self.failed = 1 if done > self.most_done else self.failed + 1
        self.most_done = max(done, self.most_done)
        return self.failed


def divide(homes: Sequence[str | None], threads: Mapping[str, int]) -> list[str]:
    """A worker for every shard, as many each as its share of the threads; few move.

    Parameters
    ----------
    homes
        Where shards are, None for nowhere; a worker may be gone.
    threads
        Of every worker.
    """
    left = {
        worker: math.ceil(len(homes) * own / sum(threads.values()))
        for worker, own in threads.items()
    }
    out: list[str | None] = [None] * len(homes)
    for i, home in enumerate(homes):
        if home is not None and left.get(home, 0):
            out[i] = home
            left[home] -= 1
    # In order, so that neighbours come together.
    waiting = iter([worker for worker, places in left.items() for _ in range(places)])
    return [next(waiting) if home is None else home for home in out]


def _batches(items: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (items[i : i + size] for i in range(0, len(items), size))


class Remote(StreamedBlocks):
    """Blocks of a design that are passed over by workers.

    What needs rows themselves, such as drawing some at random, still expands them here.

    Parameters
    ----------
    design, workers
    standardise
        What is done to every block; default: nothing.
    """

    def __init__(
        self, design: Design, workers: Workers, standardise: Standardizer | None = None
    ) -> None:
        super().__init__(design, standardise)
        self.workers = workers
        self.plan = Planned(plan_for(design.encoding, standardise))

    def map_reduce(self, measure: Measure[Measured]) -> Measured:
        """The sum of a measure over all blocks; the same to the last bit on any workers."""
        return self.workers.map_reduce(self.design.data, self.plan, measure)


def workers_of(executor: Any) -> Workers:
    """The workers that an executor stands for."""
    if isinstance(executor, Workers):
        return executor
    if not isinstance(executor, Client):
        raise ArdchoiceError(
            f"An executor is a Dask client, not {type(executor).__name__}: "
            "ac.connect('tcp://...'), ac.local_cluster(2), or distributed.Client(...)."
        )
    if executor.asynchronous:
        raise ArdchoiceError("The Dask client must not be asynchronous: Client(address).")
    return Workers(executor)
