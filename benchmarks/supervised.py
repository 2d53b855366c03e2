"""Steps in worker processes with limits of time and memory, and a log that is never lost.

A job is a number; what it does is a series of steps, each of which ends in ``ok``, ``refused`` (an
error of ardchoice), ``uncaught`` (anything else that is raised, or a process that died) or
``hangs``. A step may use a share of processor time, measured inside, and of wall-clock time,
measured from outside, where the process is killed. A worker's address space is limited, so that a
step which asks for more memory ends in a MemoryError, which is uncaught.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from ardchoice.errors import ArdchoiceError

PROCESSOR_SECONDS = 60.0
"""A step that takes more processor time hangs."""
CLOCK_SECONDS = 400.0
"""A step that takes longer by the clock waits for something; the machine may be busy."""
MOST_BYTES = 2 << 30
JOBS_PER_PROCESS = 50
"""What one job leaves behind harms few others."""
POLL_SECONDS = 1.0

Step = tuple[str, str, Callable[[], object]]
"""Name, label of the job, and what to call."""
Work = Callable[[int], Iterable[Step]]


@dataclass(frozen=True)
class Outcome:
    """How one step of a job ended; `megabytes` is the process's maximum until then."""

    number: int
    step: str
    kind: str
    seconds: float
    megabytes: float
    text: str = ""


class _HangsError(BaseException):
    """Too much processor time; not an Exception, which a step may catch."""


def supervise(work: Work, numbers: Sequence[int], log: Path, processes: int) -> list[Outcome]:
    """The outcomes of all jobs; those that the log has are not done again.

    Parameters
    ----------
    work
        Job -> its steps. Processes are forked: what this one has imported costs nothing.
    numbers
        The jobs.
    log
        One line of JSON per step, and one without a step when a job is done.
    processes
        At the same time.
    """
    done = _done(log)
    left = [n for n in reversed(numbers) if n not in done]
    running: list[_Worker] = []
    with log.open("a", encoding="utf-8") as file:
        while left or running:
            while left and len(running) < processes:
                jobs = [left.pop() for _ in range(min(JOBS_PER_PROCESS, len(left)))]
                running.append(_Worker.start(work, jobs))
            wait([w.pipe for w in running], timeout=POLL_SECONDS)
            for worker in running:
                for line in worker.news():
                    file.write(json.dumps(line) + "\n")
                file.flush()
            # What a process that died had not begun goes to another.
            left += [n for w in running if w.ended for n in reversed(w.jobs)]
            running = [w for w in running if not w.ended]
    wanted = set(numbers)
    return [o for o in read_log(log) if o.number in wanted]


def read_log(log: Path) -> list[Outcome]:
    """The outcomes of a log."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [Outcome(**line) for line in lines if "step" in line]


def _done(log: Path) -> set[int]:
    if not log.exists():
        return set()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return {line["number"] for line in lines if "step" not in line}


@dataclass
class _Worker:
    """A process, the jobs that it has not finished, and the step that it is in."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    jobs: list[int]
    step: str = "start"
    since: float = 0.0
    ended: bool = False

    @classmethod
    def start(cls, work: Work, jobs: list[int]) -> _Worker:
        """Fork one."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_through, args=(work, jobs, theirs), daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours, list(jobs), since=time.monotonic())

    def news(self) -> Iterator[dict[str, object]]:
        """What has ended since; a process that died or waits too long is an outcome too."""
        try:
            while self.pipe.poll():
                what, value = self.pipe.recv()
                self.since = time.monotonic()
                if what == "begins":
                    self.step = value
                elif what == "ends":
                    yield asdict(value)
                else:
                    self.jobs.remove(value)
                    yield {"number": value}
        except EOFError:
            yield from self._dead("uncaught", "")
            return
        if time.monotonic() - self.since > CLOCK_SECONDS:
            self.process.kill()
            yield from self._dead("hangs", f"killed after {CLOCK_SECONDS:.0f} s")

    def _dead(self, kind: str, text: str) -> Iterator[dict[str, object]]:
        self.process.join()
        self.ended = True
        if self.jobs:
            number = self.jobs.pop(0)
            text = text or f"the process ended with {self.process.exitcode}"
            yield asdict(Outcome(number, self.step, kind, 0.0, 0.0, text))
            yield {"number": number}


def _through(work: Work, jobs: Sequence[int], pipe: Connection) -> None:
    """The jobs of one process, in order."""
    signal.signal(signal.SIGPROF, _ring)
    most = _address_space() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for number in jobs:
        for name, label, call in work(number):
            pipe.send(("begins", name))
            pipe.send(("ends", _outcome(number, name, label, call)))
        pipe.send(("done", number))


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _ring(_number: int, _frame: FrameType | None) -> None:
    raise _HangsError


def _outcome(number: int, name: str, label: str, call: Callable[[], object]) -> Outcome:
    start, text = time.process_time(), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
            try:
                call()
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0.0)
        kind = "ok"
    except ArdchoiceError:
        kind = "refused"
    except BaseException as error:
        kind = "hangs" if isinstance(error, _HangsError) else "uncaught"
        text = f"{label}: {traceback.format_exc()[-1500:]}"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Outcome(number, name, kind, time.process_time() - start, most, text)
