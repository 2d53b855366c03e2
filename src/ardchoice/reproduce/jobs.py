"""Jobs: run in parallel, their results cached, none run twice."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from ardchoice.errors import ArdchoiceError
from ardchoice.files import write

Json = dict[str, Any]
POLL_SECONDS = 0.5
"""Between checks for an interruption while waiting."""
FITTING_ROOMS = (
    *("ard", "data", "design", "estimation", "evaluation", "families", "numerics"),
    *("selection", "space"),
)


@dataclass(frozen=True)
class Job:
    """One call of a function of `reproduce.fits` with settings that JSON can write.

    Attributes
    ----------
    call
        Name of the function.
    settings
        Its arguments.
    effort
        Seconds it takes, roughly: the longest begin first, so that no core waits at the end.
    """

    call: str
    settings: Json = field(hash=False)
    effort: float = 1.0

    @property
    def key(self) -> str:
        """Of its result in the cache: readable, and different for different settings."""
        text = json.dumps([self.call, self.settings], sort_keys=True)
        words = "-".join(str(v) for v in self.settings.values() if isinstance(v, (str, int)))
        name = "".join(c if c.isalnum() or c in "-." else "_" for c in f"{self.call}-{words}")
        return f"{name[:80]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class JobsStep:
    """Progress: jobs done of all, what ended last, seconds since the start and perhaps left."""

    done: int
    of: int
    last: str
    seconds: float
    seconds_left: float


def code_stamp() -> str:
    """The version and a digest of the code that fits: results of other code are not reused."""
    root = files("ardchoice")
    digest = hashlib.sha256()
    for room in FITTING_ROOMS:
        for path in sorted(Path(str(root / room)).rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    for name in ("study.py", "stages.py", "reproduce/fits.py", "reproduce/baselines.py"):
        digest.update(Path(str(root / name)).read_bytes())
    return f"{version('ardchoice')}-{digest.hexdigest()[:12]}"


class JobCache:
    """Results in a folder, one file each, written whole or not at all.

    Parameters
    ----------
    folder
    stamp
        Of the code that makes them.
    """

    def __init__(self, folder: Path, stamp: str) -> None:
        self.folder, self.stamp = folder, stamp
        # An error now is better than one after the first long fit.
        write(folder / ".writable", "")

    def get(self, job: Job) -> Json | None:
        """The result of a job that this code has done with these settings; None otherwise."""
        try:
            saved = json.loads((self.folder / f"{job.key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(saved, dict) or saved.get("stamp") != self.stamp:
            return None
        result = saved.get("result")
        return (
            result if saved.get("settings") == job.settings and isinstance(result, dict) else None
        )

    def put(self, job: Job, result: Json) -> None:
        """Save a result."""
        saved = {"stamp": self.stamp, "settings": job.settings, "result": result}
        write(self.folder / f"{job.key}.json", json.dumps(saved))


def perform(call: str, settings: Json) -> Json:
    """Run a job in this process; its seconds are part of the result."""
    function: Callable[..., Json] = getattr(import_module("ardchoice.reproduce.fits"), call)
    started = time.perf_counter()
    return function(**settings) | {"job_seconds": time.perf_counter() - started}


def run_jobs(
    jobs: Iterable[Job],
    cache: JobCache,
    *,
    workers: int,
    progress: Callable[[JobsStep], None] | None = None,
) -> dict[str, Json]:
    """Results by key; what is in the cache is not run again.

    Parameters
    ----------
    jobs
    cache
        Where results are looked up and saved, each as soon as it is there.
    workers
        Processes side by side.
    progress
        Called after every job.
    """
    wanted = {job.key: job for job in jobs}
    results = {key: found for key, job in wanted.items() if (found := cache.get(job)) is not None}
    missing = sorted(
        (job for key, job in wanted.items() if key not in results), key=lambda job: -job.effort
    )
    if missing:
        _side_by_side(missing, results, cache, workers, progress)
    return results


def _side_by_side(
    missing: Sequence[Job],
    results: dict[str, Json],
    cache: JobCache,
    workers: int,
    progress: Callable[[JobsStep], None] | None,
) -> None:
    started, effort = time.monotonic(), sum(job.effort for job in missing)
    spent, before = 0.0, len(results)
    # Spawned, not forked: a child must not inherit the threads of numerical libraries.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(missing)), mp_context=context)
    waiting: dict[Future[Json], Job] = {
        pool.submit(perform, job.call, job.settings): job for job in missing
    }
    failed: dict[str, str] = {}
    if progress is not None:
        progress(JobsStep(before, before + len(missing), "started", 0.0, effort / workers))
    try:
        while waiting:
            done, _ = wait(waiting, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                job = waiting.pop(future)
                # One that fails does not take the others with it.
                error = future.exception()
                if error is not None:
                    failed[job.key] = f"{type(error).__name__}: {error}"
                    continue
                results[job.key] = future.result()
                cache.put(job, results[job.key])
                spent += job.effort
                if progress is not None:
                    seconds = time.monotonic() - started
                    left = seconds * (effort - spent) / spent
                    of = before + len(missing)
                    progress(JobsStep(of - len(waiting), of, job.key, seconds, left))
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    if failed:
        name, why = next(iter(failed.items()))
        raise ArdchoiceError(
            f"{len(failed)} of {len(missing)} fits failed, first {name}: {why}. What was done is "
            "saved. If a process was ended for want of memory, try fewer workers."
        )
