"""The race: Swissmetro models estimated with standard errors, ours beside other estimators.

What is timed of ours is everything from the text of a specification to estimates with classical,
robust and clustered standard errors. The others start from a dense design that is there already,
and stop at the standard errors they have.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import threadpoolctl

import ardchoice as ac
from environments import EnvironmentUnavailableError, interpreter
from mnl_rivals import DenseProblem, RivalFit, fit_plain_newton, requirements, run_in

MODELS = ("R1", "R6")
OURS = "ardchoice"
OURS_FREE = "ardchoice, threads free"
NEWTON = "plain NumPy Newton"
RIVALS: dict[str, str] = {
    "xlogit": "xlogit, restarted",
    "xlogit:default": "xlogit, defaults",
    "xlogit:outer": "xlogit, scores' outer product",
    "xlogit:none": "xlogit, without std. errors",
    "pylogit": "PyLogit, trust-exact",
    "pylogit:default": "PyLogit, defaults",
    "pylogit:none": "PyLogit, without std. errors",
}
"""Adapters of `mnl_rivals`, and what the table calls them."""
QUICK_RIVALS = ("xlogit:default", "xlogit:none")
RIVAL_REPEATS = 5
"""The first run pays for fresh memory, several seconds of it with PyLogit; it must not count."""

SAME_LOGLIK = 0.01
"""Further from our log-likelihood than this is another estimate: it shows in the tables."""
SAME_STD_ERROR = 0.01
"""Correct means that no standard error is off by more than one per cent."""
RIVAL_TARGET = 30.0
NEWTON_TARGET = 1.5


@dataclass(frozen=True)
class Entry:
    """One estimator on one model.

    Attributes
    ----------
    estimator
        What the table calls it.
    seconds
        Best of the runs; None if it did not run.
    loglik
        Log-likelihood it reports; None if it did not run.
    deviation
        Largest relative deviation of its classical standard errors from ours; None without any.
    rival
        Whether it is another package, rather than a yardstick.
    note
        Its own words, or why it did not run.
    """

    estimator: str
    seconds: float | None
    loglik: float | None
    deviation: float | None
    rival: bool
    note: str


@dataclass(frozen=True)
class Race:
    """All estimators on one model.

    Attributes
    ----------
    model
        R1 or R6.
    n_situations, n_parameters
        Its size.
    entries
        Ours first.
    fastest_rival
        The fastest that gives our log-likelihood and correct standard errors; None if none ran.
    rival_ratio
        Its seconds over ours; None if none ran.
    newton_ratio
        Our seconds over those of the plain Newton.
    """

    model: str
    n_situations: int
    n_parameters: int
    entries: tuple[Entry, ...]
    fastest_rival: str | None
    rival_ratio: float | None
    newton_ratio: float


def dense_problem(design: ac.Design) -> DenseProblem:
    """Expand a design into one dense array, coefficients in the order of the terms."""
    data = design.data
    x = np.zeros((len(data), len(data.alternatives), design.n_columns))
    start = 0
    for block in design:
        rows = x[start : start + block.shape[1]]
        for part in block.parts:
            for i, alternative in enumerate(part.alternatives):
                rows[:, alternative, part.columns] = part.x[:, i].T
        start += block.shape[1]
    return DenseProblem(
        x=np.ascontiguousarray(x[:, :, design.position]),
        available=np.ascontiguousarray(data.available.T),
        choice=data.chosen().astype(np.int64),
        names=design.names,
    )


def race(model: str, *, repeats: int, venvs: Path, quick: bool) -> Race:
    """Put every estimator on one model.

    Parameters
    ----------
    model
        A published specification of the real Swissmetro data.
    repeats
        Runs of ours and of the plain Newton.
    venvs
        Where the environments of the packages are, or are to be made.
    quick
        Whether to leave out the packages' slower settings.
    """
    data = ac.datasets.swissmetro_choices("real")
    text = ac.datasets.swissmetro_specification(model)
    result = ac.fit_mnl(data, text)
    problem = dense_problem(ac.Design(data, result.specification.terms))

    at_home = _at_home(lambda: ac.fit_mnl(data, text), problem, repeats)
    ours = Entry(OURS, at_home.ours, result.loglik, None, False, f"{result.iterations} steps")
    free = Entry(OURS_FREE, at_home.ours_free, result.loglik, None, False, "")
    newton = _entry(at_home.newton, NEWTON, result, rival=False)
    adapters = QUICK_RIVALS if quick else tuple(RIVALS)
    rivals = [_rival(adapter, problem, result, venvs) for adapter in adapters]

    fastest = fastest_correct(rivals, result.loglik)
    return Race(
        model=model,
        n_situations=len(data),
        n_parameters=result.n_parameters,
        entries=(ours, free, newton, *rivals),
        fastest_rival=None if fastest is None else fastest.estimator,
        rival_ratio=None if fastest is None else (fastest.seconds or np.nan) / at_home.ours,
        newton_ratio=at_home.ours / at_home.newton.seconds,
    )


def fastest_correct(entries: list[Entry], loglik: float) -> Entry | None:
    """Find the fastest entry at this log-likelihood with correct standard errors."""
    # A package's own verdict on convergence does not count: PyLogit at the optimum says no
    # whenever rounding keeps it from gaining any more.
    correct = [
        (entry.seconds, entry)
        for entry in entries
        if entry.seconds is not None
        and entry.loglik is not None
        and entry.deviation is not None
        and abs(entry.loglik - loglik) < SAME_LOGLIK
        and entry.deviation < SAME_STD_ERROR
    ]
    return min(correct, key=lambda pair: pair[0])[1] if correct else None


@dataclass(frozen=True)
class _AtHome:
    """Best times in this process; one thread for the linear algebra, and as many as it likes."""

    ours: float
    newton: RivalFit
    ours_free: float


def _at_home(fit: Callable[[], object], problem: DenseProblem, repeats: int) -> _AtHome:
    """Run ours and the plain Newton in turns, so that what disturbs one disturbs the other."""
    ours, free, newton = [], [], []
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        for _ in range(repeats):
            ours.append(_seconds(fit))
            newton.append(fit_plain_newton(problem, 1))
    # Apart: threads that have just worked keep a core busy for a while, waiting for more.
    for _ in range(repeats):
        free.append(_seconds(fit))
    return _AtHome(min(ours), min(newton, key=lambda run: run.seconds), min(free))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _rival(adapter: str, problem: DenseProblem, result: ac.Result, venvs: Path) -> Entry:
    """Estimate with another package in its own environment, or say why that failed."""
    name = RIVALS[adapter]
    try:
        python = interpreter(venvs / adapter.partition(":")[0], requirements(adapter))
        fit = run_in(python, adapter, problem, RIVAL_REPEATS)
    except (EnvironmentUnavailableError, RuntimeError, subprocess.TimeoutExpired) as error:
        last_words = str(error).strip().splitlines()[-1:]
        return Entry(name, None, None, None, True, f"did not run: {' '.join(last_words)}")
    return _entry(fit, name, result, rival=True)


def _entry(fit: RivalFit, name: str, result: ac.Result, *, rival: bool) -> Entry:
    ours = result.to_frame(cov="classical")["std_err"].to_numpy()
    has_errors = bool(np.isfinite(fit.std_errors).all())
    deviation = float(np.abs(fit.std_errors / ours - 1).max()) if has_errors else None
    note = f"{fit.name} {fit.version}; {fit.note}"
    return Entry(name, fit.seconds, fit.loglik, deviation, rival, note)
