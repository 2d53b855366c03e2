"""What a worker of a cluster does: expand its shards, measure them, add up."""

from __future__ import annotations

import ctypes
import hashlib
import os
import pickle
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, reduce
from importlib.metadata import version
from operator import add

from ardchoice.design.design import Design
from ardchoice.design.encoding import Encoding, checked
from ardchoice.design.shards import Shard
from ardchoice.design.sources import CachedBlocks, Standardizer, StreamedBlocks
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import Measure, Measured, single_blas_thread

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3)."""
LARGEST = 1 << 25
"""Bytes of an allocation up to which glibc learns to reuse memory by itself, and half of what it
keeps then."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How rows become columns, the same for all shards.

    Attributes
    ----------
    encoding
    standardise
        What is done to every block; None for nothing.
    version
        Of ardchoice, which must be the worker's own.
    token
        The same for plans that make the same columns.
    """

    encoding: Encoding
    standardise: Standardizer | None
    version: str
    token: str


def plan_for(encoding: Encoding, standardise: Standardizer | None) -> Plan:
    """A plan by this version of ardchoice."""
    content = pickle.dumps((encoding, standardise))
    return Plan(encoding, standardise, version("ardchoice"), hashlib.sha256(content).hexdigest())


def as_it_is(plan: Plan) -> Plan:
    """The plan, on a worker: lost with it, it can be made again."""
    return plan


def measure_shard(shard: Shard, plan: Plan, measure: Measure[Measured], keep: int) -> Measured:
    """The sum of a measure over the blocks of one shard.

    Parameters
    ----------
    shard, plan, measure
    keep
        Bytes of expanded blocks that this process may keep between passes.
    """
    if version("ardchoice") != plan.version:
        raise ArdchoiceError(other_version({version("ardchoice")}, plan.version))
    keep_freed_memory()
    with single_blas_thread():
        return reduce(add, map(measure, KEPT.blocks(shard, plan, keep)))


@cache
def keep_freed_memory() -> None:
    """Let glibc keep some of what is freed, as it does by default.

    Dask tells it to give all of it back at once (MALLOC_TRIM_THRESHOLD_), so that every block would
    be made of pages that the system has to find and clear again: more work than the block itself.
    """
    if sys.platform != "linux" or "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    with suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST)
        libc.mallopt(M_TRIM_THRESHOLD, 2 * LARGEST)


def add_up(parts: Sequence[Measured]) -> Measured:
    """Their sum, in this order."""
    return reduce(add, parts)


def other_version(found: set[str | None], wanted: str) -> str:
    """What is wrong with workers of another version, and what to do."""
    theirs = ", ".join(sorted(v or "none" for v in found))
    return (
        "The scheduler and all workers must have the same ardchoice as this process, "
        f"{wanted}; there is also {theirs}. Install it there: "
        f"pip install 'ardchoice[dask]=={wanted}', then start them again."
    )


class WorkerCache:
    """Expanded blocks of shards, kept between passes as far as memory allows.

    A pass processes all shards in turn, so that what came last is what is wanted last: what was
    kept of the same plan stays, and only that of other plans makes room.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], CachedBlocks] = {}
        self._bytes: dict[tuple[str, str], int] = {}

    def blocks(self, shard: Shard, plan: Plan, limit: int) -> CachedBlocks | StreamedBlocks:
        """The blocks of a shard."""
        key = shard.token, plan.token
        with self._lock:
            if key in self._found:
                # At the end: what was not asked for longest makes room first.
                self._found[key] = self._found.pop(key)
                return self._found[key]
        data = shard.data()
        # Whoever sends work has checked all rows.
        for t in plan.encoding.terms:
            data.cached(checked(t.term, t.alternatives, t.parameters), lambda: None)
        design = Design(data, plan.encoding)
        blocks = StreamedBlocks(design, plan.standardise)
        if not self._makes_room(key, design.expanded_bytes(), limit):
            return blocks
        kept = CachedBlocks(blocks)
        with self._lock:
            self._found[key] = kept
        return kept

    def _makes_room(self, key: tuple[str, str], size: int, limit: int) -> bool:
        """Whether so many bytes may be kept, after others have gone; they count from now on."""
        with self._lock:
            others = [k for k in self._found if k[1] != key[1]]
            used = sum(self._bytes.values())
            if used - sum(self._bytes[k] for k in others) + size > limit:
                return False
            for other in others:
                if used + size <= limit:
                    break
                used -= self._bytes.pop(other)
                del self._found[other]
            self._bytes[key] = size
            return True


KEPT = WorkerCache()
"""Of this process."""
