"""Other packages' estimators of the multinomial logit, behind one interface.

Every adapter takes the same dense problem and returns the same record, so that a benchmark can
put their times and results beside those of ardchoice:

- `fit_xlogit`: xlogit, BFGS with an analytic gradient and a numerical Hessian;
- `fit_pylogit`: PyLogit, scipy's optimisers with an analytic gradient and Hessian;
- `fit_plain_newton`: Newton's method on the dense design in plain NumPy, the yardstick of what
  array code gives when it makes no use of the structure of the utilities.

What is timed is the estimation with its standard errors, the best of several runs. Building the
table a package wants (long format, data frame) is not timed: it depends on how the data are
stored, not on the estimator. What a package does with that table inside its own fit is timed.

The packages need not be installed where the benchmark runs. This file imports with NumPy alone,
and `run_in` estimates with the interpreter of another environment, through the command line

    python mnl_rivals.py PACKAGE problem.npz out.json --repeats 3

where PACKAGE is a key of `ADAPTERS`. `REQUIREMENTS` lists what to install for each package.
"""

from __future__ import annotations

import argparse
import collections.abc
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
XlogitHessian = Literal["default", "true", "outer", "none"]

T = TypeVar("T")

REQUIREMENTS: dict[str, list[str]] = {
    "plain_newton": ["numpy==2.4.6"],
    "xlogit": ["xlogit==0.2.7", "numpy==2.4.6", "scipy==1.17.1"],
    # PyLogit's last release predates these versions; `_restore_removed_names` bridges the gap.
    "pylogit": [
        "pylogit==1.0.1",
        "numpy==2.4.6",
        "scipy==1.17.1",
        "pandas==3.1.1",
        "statsmodels==0.15.0",
        "future==1.0.0",
        "tqdm==4.70.1",
    ],
}
"""Pins that work together on Python 3.11 from PyPI wheels alone, per package."""


@dataclass(frozen=True)
class DenseProblem:
    """A multinomial logit as one dense design.

    Attributes
    ----------
    x
        Design, shape (N, J, K): the column of every parameter in the utility of every
        alternative, finite also where an alternative is not available.
    available
        Availability, shape (N, J).
    choice
        Index of the chosen alternative, shape (N,).
    names
        Names of the K parameters.
    """

    x: FloatArray
    available: BoolArray
    choice: IntArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        if self.x.ndim != 3 or len(self.names) != self.x.shape[2]:
            raise ValueError("x must have shape (N, J, K) with one name per parameter")
        if self.available.shape != self.x.shape[:2] or self.choice.shape != self.x.shape[:1]:
            raise ValueError("available must have shape (N, J) and choice shape (N,)")
        if not self.available[np.arange(self.n_obs), self.choice].all():
            raise ValueError("every chosen alternative must be available")

    @property
    def n_obs(self) -> int:
        """Number of choice situations, N."""
        return int(self.x.shape[0])

    @property
    def n_alternatives(self) -> int:
        """Number of alternatives, J."""
        return int(self.x.shape[1])

    @property
    def n_params(self) -> int:
        """Number of parameters, K."""
        return int(self.x.shape[2])

    def save(self, path: Path) -> None:
        """Write the problem to an npz file.

        Parameters
        ----------
        path
            File to write.
        """
        np.savez(
            path,
            x=self.x,
            available=self.available,
            choice=self.choice,
            names=np.array(self.names, dtype=np.str_),
        )

    @classmethod
    def load(cls, path: Path) -> DenseProblem:
        """Read a problem that `save` wrote.

        Parameters
        ----------
        path
            File to read.

        Returns
        -------
        DenseProblem
            The problem.
        """
        with np.load(path, allow_pickle=False) as data:
            return cls(
                x=np.asarray(data["x"], dtype=np.float64),
                available=np.asarray(data["available"], dtype=np.bool_),
                choice=np.asarray(data["choice"], dtype=np.int64),
                names=tuple(str(name) for name in data["names"]),
            )


@dataclass(frozen=True)
class RivalFit:
    """What one estimator reports, and what it took.

    Attributes
    ----------
    name
        Key of the estimator in `ADAPTERS`.
    version
        Version of the package (of NumPy for the plain Newton).
    loglik
        Log-likelihood at the estimates.
    estimates
        Estimates, shape (K,).
    std_errors
        Standard errors that are meant to be classical, shape (K,); not a number if none were
        asked for.
    robust_std_errors
        Sandwich standard errors, shape (K,), or None if the estimator did not compute them.
    converged
        The estimator's own verdict.
    seconds
        Wall time of the estimation with its standard errors, best of the runs, without the
        building of the package's long table.
    peak_mb
        Peak of the memory allocated during a further run, in megabytes, or None if not asked
        for. The input table is not part of it.
    note
        Iterations, messages, and how the standard errors came about.
    """

    name: str
    version: str
    loglik: float
    estimates: FloatArray
    std_errors: FloatArray
    robust_std_errors: FloatArray | None
    converged: bool
    seconds: float
    peak_mb: float | None
    note: str

    def save(self, path: Path) -> None:
        """Write the record to a json file.

        Parameters
        ----------
        path
            File to write.
        """
        record = asdict(self)
        for key, value in record.items():
            if isinstance(value, np.ndarray):
                record[key] = value.tolist()
        path.write_text(json.dumps(record), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> RivalFit:
        """Read a record that `save` wrote.

        Parameters
        ----------
        path
            File to read.

        Returns
        -------
        RivalFit
            The record.
        """
        record = json.loads(path.read_text(encoding="utf-8"))
        for key in ("estimates", "std_errors", "robust_std_errors"):
            if record[key] is not None:
                record[key] = np.asarray(record[key], dtype=np.float64)
        return cls(**record)


@dataclass(frozen=True)
class _Timed(Generic[T]):
    """The outcome of repeated runs."""

    result: T
    seconds: float
    peak_mb: float | None


def _best_of(run: Callable[[], Callable[[], T]], repeats: int, memory: bool) -> _Timed[T]:
    """Time the best of several runs.

    Parameters
    ----------
    run
        Prepares a run, untimed, and returns the function to time.
    repeats
        Number of runs, at least one.
    memory
        Whether to add a run that traces allocations; apart, because tracing slows it down.

    Returns
    -------
    _Timed
        Result of the last timed run, seconds of the fastest one, peak memory.
    """
    seconds = np.inf
    for _ in range(max(repeats, 1)):
        work = run()
        start = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - start)
    return _Timed(result, seconds, _peak_mb(run()) if memory else None)


def _peak_mb(work: Callable[[], object]) -> float:
    """Peak of the memory that a run allocates, in megabytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


# --------------------------------------------------------------------------------------------
# xlogit


@dataclass(frozen=True)
class _XlogitTable:
    """The long-format arrays that xlogit wants, one row per alternative, available or not."""

    x: FloatArray
    chosen: IntArray
    available: FloatArray
    alternatives: IntArray
    ids: IntArray
    names: list[str]


def fit_xlogit(
    problem: DenseProblem,
    repeats: int = 3,
    *,
    hessian: XlogitHessian = "true",
    memory: bool = False,
) -> RivalFit:
    """Estimate with xlogit's MultinomialLogit.

    Parameters
    ----------
    problem
        The problem.
    repeats
        Number of timed runs; the fastest counts.
    hessian
        Where the standard errors come from:

        - ``"default"``: whatever xlogit does when nothing is set. In 0.2.7 that is the inverse
          of a numerical Hessian, forward differences of the analytic gradient (its
          documentation says the opposite). Classical, and correct to the digits one reports.
        - ``"true"``: the same Hessian, asked for by name, at an optimum that is tightened by
          a restart.
        - ``"outer"``: the inverse outer product of the scores (``num_hess=False``). Fast, but
          not the classical standard errors.
        - ``"none"``: no standard errors, to tell the optimiser's share of the time.
    memory
        Whether to measure the peak memory in a further run.

    Returns
    -------
    RivalFit
        Estimates and time.
    """
    table = _xlogit_table(problem)
    # Importing takes longer than estimating, and would count as part of the first run.
    importlib.import_module("xlogit")
    timed = _best_of(lambda: partial(_xlogit_run, table, hessian), repeats, memory)
    model = timed.result
    std_errors = np.asarray(model.stderr, dtype=np.float64)
    return RivalFit(
        name="xlogit" if hessian == "true" else f"xlogit:{hessian}",
        version=importlib.metadata.version("xlogit"),
        loglik=float(model.loglikelihood),
        estimates=np.asarray(model.coeff_, dtype=np.float64),
        std_errors=np.full_like(std_errors, np.nan) if hessian == "none" else std_errors,
        robust_std_errors=None,
        converged=bool(model.convergence),
        seconds=timed.seconds,
        peak_mb=timed.peak_mb,
        note=f"{_XLOGIT_STD_ERRORS[hessian]}; {model.estimation_message}",
    )


_XLOGIT_STD_ERRORS: dict[str, str] = {
    "default": "package defaults: numerical Hessian",
    "true": "numerical Hessian at a restarted optimum",
    "outer": "outer product of the scores, not classical",
    "none": "no standard errors",
}


def _xlogit_table(problem: DenseProblem) -> _XlogitTable:
    """Lay the problem out in xlogit's long format."""
    n_obs, n_alternatives = problem.available.shape
    alternatives = np.arange(n_alternatives)
    # xlogit exponentiates before it applies availability; zeros keep that from overflowing.
    x = np.where(problem.available[:, :, None], problem.x, 0.0)
    return _XlogitTable(
        x=x.reshape(-1, problem.n_params),
        chosen=(problem.choice[:, None] == alternatives).ravel().astype(np.int64),
        available=problem.available.ravel().astype(np.float64),
        alternatives=np.tile(alternatives, n_obs),
        ids=np.repeat(np.arange(n_obs), n_alternatives),
        names=list(problem.names),
    )


def _xlogit_run(table: _XlogitTable, hessian: XlogitHessian) -> Any:
    """Estimate once with xlogit; the fitted model."""
    options: dict[str, dict[str, Any]] = {
        "default": {},
        "true": {"num_hess": True},
        "outer": {"num_hess": False},
        "none": {"skip_std_errs": True},
    }
    if hessian != "true":
        return _xlogit_fit(table, **options[hessian])
    # The only tolerance xlogit lets one set does not bind: a fixed one on the projected gradient
    # stops it a little short. Starting again from there closes most of the gap.
    first = _xlogit_fit(table, skip_std_errs=True)
    return _xlogit_fit(table, init_coeff=first.coeff_, tol_opts={"ftol": 1e-12}, **options["true"])


def _xlogit_fit(table: _XlogitTable, **options: Any) -> Any:
    """Call xlogit's fit; the fitted model."""
    model = importlib.import_module("xlogit").MultinomialLogit()
    model.fit(
        table.x,
        table.chosen,
        varnames=table.names,
        alts=table.alternatives,
        ids=table.ids,
        avail=table.available,
        verbose=0,
        **options,
    )
    return model


# --------------------------------------------------------------------------------------------
# PyLogit


@dataclass(frozen=True)
class _PylogitFit:
    """What one run of PyLogit reports."""

    loglik: float
    estimates: FloatArray
    std_errors: FloatArray
    robust_std_errors: FloatArray | None
    converged: bool
    message: str


def fit_pylogit(
    problem: DenseProblem,
    repeats: int = 3,
    *,
    method: str = "trust-exact",
    std_errors: bool = True,
    memory: bool = False,
    limit_gb: float = 8.0,
) -> RivalFit:
    """Estimate with PyLogit's conditional logit.

    Its standard errors come from the analytic Hessian, whatever the optimiser. The robust ones
    always come with them, and on the way PyLogit fills two dense matrices of one row per
    available alternative and one column per choice situation: its memory grows with the square
    of the sample.

    Parameters
    ----------
    problem
        The problem.
    repeats
        Number of timed runs; the fastest counts.
    method
        Optimiser of ``scipy.optimize.minimize``. The package's default is ``"BFGS"``, which
        leaves its Hessian unused; a trust-region Newton is several times faster.
    std_errors
        Whether to have standard errors; without, one sees the optimiser's share of the time.
    memory
        Whether to measure the peak memory in a further run.
    limit_gb
        Memory for the two dense matrices beyond which to refuse, in gigabytes.

    Returns
    -------
    RivalFit
        Estimates and time.

    Raises
    ------
    MemoryError
        If the standard errors would take more memory than the limit.
    """
    need_gb = 2 * 8 * int(problem.available.sum()) * problem.n_obs / 1e9
    if std_errors and need_gb > limit_gb:
        raise MemoryError(f"PyLogit needs {need_gb:.0f} GB for its standard errors")
    _restore_removed_names()
    run = partial(_pylogit_run, problem, method, std_errors)
    timed = _best_of(run, repeats, memory)
    variant = "" if std_errors else ":none"
    return RivalFit(
        name="pylogit:default" if method == "BFGS" else f"pylogit{variant}",
        version=importlib.metadata.version("pylogit"),
        loglik=timed.result.loglik,
        estimates=timed.result.estimates,
        std_errors=timed.result.std_errors,
        robust_std_errors=timed.result.robust_std_errors,
        converged=timed.result.converged,
        seconds=timed.seconds,
        peak_mb=timed.peak_mb,
        note=f"{method}, {'analytic Hessian' if std_errors else 'no standard errors'}; "
        f"{timed.result.message}",
    )


def _restore_removed_names() -> None:
    """Put back two names that PyLogit 1.0.1 uses and that are gone.

    No choice of versions replaces the first on Python 3.10 or later; the second left NumPy
    in 2.4.
    """
    vars(collections).setdefault("Iterable", collections.abc.Iterable)
    vars(np).setdefault("in1d", np.isin)


def _pylogit_model(problem: DenseProblem) -> Any:
    """Build PyLogit's model on a data frame with one row per available alternative."""
    pandas = importlib.import_module("pandas")
    pylogit = importlib.import_module("pylogit")
    observation, alternative = np.nonzero(problem.available)
    # Columns of our own making cannot collide with the three that PyLogit needs besides.
    columns = [f"x{k}" for k in range(problem.n_params)]
    frame = pandas.DataFrame(problem.x[problem.available], columns=columns)
    frame["observation"] = observation
    frame["alternative"] = alternative
    frame["chosen"] = (problem.choice[observation] == alternative).astype(np.int64)
    return pylogit.create_choice_model(
        data=frame,
        alt_id_col="alternative",
        obs_id_col="observation",
        choice_col="chosen",
        specification=collections.OrderedDict((column, "all_same") for column in columns),
        names=collections.OrderedDict(zip(columns, problem.names, strict=True)),
        model_type="MNL",
    )


def _pylogit_run(problem: DenseProblem, method: str, std_errors: bool) -> Callable[[], _PylogitFit]:
    """Prepare one estimation with PyLogit."""
    model = _pylogit_model(problem)
    start = np.zeros(problem.n_params)

    def run() -> _PylogitFit:
        with warnings.catch_warnings():
            # PyLogit hands the Hessian to every optimiser, and scipy warns if it is not used.
            warnings.simplefilter("ignore")
            found = model.fit_mle(start, print_res=False, method=method, just_point=not std_errors)
        return _pylogit_full(model) if std_errors else _pylogit_point(found)

    return run


def _pylogit_full(model: Any) -> _PylogitFit:
    """Read a fitted model."""
    return _PylogitFit(
        loglik=float(model.llf),
        estimates=np.asarray(model.params, dtype=np.float64),
        std_errors=np.asarray(model.standard_errors, dtype=np.float64),
        robust_std_errors=np.asarray(model.robust_std_errs, dtype=np.float64),
        converged=bool(model.estimation_success),
        message=str(model.estimation_message),
    )


def _pylogit_point(found: Any) -> _PylogitFit:
    """Read what PyLogit returns if only the estimates are asked for."""
    estimates = np.asarray(found["x"], dtype=np.float64)
    return _PylogitFit(
        loglik=-float(found["fun"]),
        estimates=estimates,
        std_errors=np.full_like(estimates, np.nan),
        robust_std_errors=None,
        converged=bool(found["success"]),
        message=str(found["message"]),
    )


# --------------------------------------------------------------------------------------------
# Plain Newton


@dataclass(frozen=True)
class _Differences:
    """The design as differences to the chosen alternative, which need one row less per choice.

    Attributes
    ----------
    d
        Differences, shape (J - 1, N, K); alternatives first, so that each is one block.
    offset
        Zero, or minus infinity where the alternative is not available, shape (J - 1, N).
    mean, scaled
        Work space, shape (N, K), kept because fresh memory costs more than what is done in it.
    """

    d: FloatArray
    offset: FloatArray
    mean: FloatArray
    scaled: FloatArray


@dataclass(frozen=True)
class _Point:
    """Log-likelihood and derivatives at one vector of coefficients.

    Attributes
    ----------
    beta
        Coefficients.
    loglik
        Log-likelihood.
    gradient
        Its gradient.
    information
        Minus its Hessian.
    outer
        Outer product of the scores, the middle of the sandwich.
    """

    beta: FloatArray
    loglik: float
    gradient: FloatArray
    information: FloatArray
    outer: FloatArray


@dataclass(frozen=True)
class _NewtonFit:
    """Outcome of the plain Newton."""

    point: _Point
    std_errors: FloatArray
    robust_std_errors: FloatArray
    converged: bool
    evaluations: int


def fit_plain_newton(
    problem: DenseProblem,
    repeats: int = 3,
    *,
    tolerance: float = 1e-10,
    max_evaluations: int = 100,
    memory: bool = False,
) -> RivalFit:
    """Estimate with Newton's method in plain NumPy.

    The time includes the differencing of the design, both kinds of standard errors, and every
    evaluation of the Hessian.

    Parameters
    ----------
    problem
        The problem.
    repeats
        Number of timed runs; the fastest counts.
    tolerance
        Newton decrement (twice the log-likelihood still to gain) at which to stop.
    max_evaluations
        Evaluations of the log-likelihood and its derivatives at which to give up.
    memory
        Whether to measure the peak memory in a further run.

    Returns
    -------
    RivalFit
        Estimates and time.
    """
    work = partial(_newton, problem, tolerance, max_evaluations)
    timed = _best_of(lambda: work, repeats, memory)
    fit = timed.result
    return RivalFit(
        name="plain_newton",
        version=np.__version__,
        loglik=fit.point.loglik,
        estimates=fit.point.beta,
        std_errors=fit.std_errors,
        robust_std_errors=fit.robust_std_errors,
        converged=fit.converged,
        seconds=timed.seconds,
        peak_mb=timed.peak_mb,
        note=f"analytic Hessian; {fit.evaluations} evaluations",
    )


def _newton(problem: DenseProblem, tolerance: float, max_evaluations: int) -> _NewtonFit:
    """Maximise from zero, halving a step that does not gain."""
    data = _differences(problem)
    point = _evaluate(data, np.zeros(problem.n_params))
    step = np.linalg.solve(point.information, point.gradient)
    evaluations = 1
    converged = bool(point.gradient @ step < tolerance)
    while not converged and evaluations < max_evaluations:
        trial = _evaluate(data, point.beta + step)
        evaluations += 1
        # Rounding alone must not count as a loss. The condition is negated, so that a
        # log-likelihood that is not a number counts as one.
        if not trial.loglik >= point.loglik - 1e-12 * abs(point.loglik):
            step = 0.5 * step
            continue
        point = trial
        step = np.linalg.solve(point.information, point.gradient)
        converged = bool(point.gradient @ step < tolerance)
    covariance = np.linalg.inv(point.information)
    sandwich = covariance @ point.outer @ covariance
    return _NewtonFit(
        point=point,
        std_errors=np.sqrt(np.diag(covariance)),
        robust_std_errors=np.sqrt(np.diag(sandwich)),
        converged=converged,
        evaluations=evaluations,
    )


def _differences(problem: DenseProblem) -> _Differences:
    """Subtract the chosen alternative's row from the others'."""
    n_obs, n_alternatives, n_params = problem.x.shape
    rows = problem.x.reshape(-1, n_params)
    available = problem.available.ravel()
    first = np.arange(n_obs) * n_alternatives
    chosen = rows.take(first + problem.choice, axis=0)
    d = np.empty((n_alternatives - 1, n_obs, n_params))
    offset = np.zeros((n_alternatives - 1, n_obs))
    for j in range(n_alternatives - 1):
        other = first + (problem.choice + 1 + j) % n_alternatives
        # A mode other than the default lets `take` write without a buffer in between.
        rows.take(other, axis=0, out=d[j], mode="clip")
        d[j] -= chosen
        offset[j, ~available[other]] = -np.inf
    return _Differences(d=d, offset=offset, mean=np.empty_like(chosen), scaled=chosen)


def _evaluate(data: _Differences, beta: FloatArray) -> _Point:
    """Log-likelihood, gradient, information and outer product of the scores."""
    utility = (data.d.reshape(-1, beta.size) @ beta).reshape(data.offset.shape)
    utility += data.offset
    top = np.maximum(utility.max(axis=0), 0.0)
    utility -= top
    probability = np.exp(utility, out=utility)
    # The chosen alternative's difference is zero, and so its exponential is that of -top.
    total = probability.sum(axis=0) + np.exp(-top)
    probability /= total
    # The mean difference is minus the score of each choice. It serves the gradient, the second
    # part of the information, and the sandwich.
    mean = np.einsum("jnk,jn->nk", data.d, probability, out=data.mean)
    outer = mean.T @ mean
    information = -outer
    for d, root in zip(data.d, np.sqrt(probability), strict=True):
        # With the square root on both sides, the product is of a matrix with itself, for which
        # NumPy calls the BLAS routine that does half the work.
        scaled = np.multiply(d, root[:, None], out=data.scaled)
        information += scaled.T @ scaled
    return _Point(
        beta=beta,
        loglik=-float(np.sum(top) + np.sum(np.log(total))),
        gradient=-(np.ones(mean.shape[0]) @ mean),
        information=information,
        outer=outer,
    )


# --------------------------------------------------------------------------------------------
# Command line and other environments

ADAPTERS: dict[str, Callable[..., RivalFit]] = {
    "plain_newton": fit_plain_newton,
    "xlogit": fit_xlogit,
    "xlogit:default": partial(fit_xlogit, hessian="default"),
    "xlogit:outer": partial(fit_xlogit, hessian="outer"),
    "xlogit:none": partial(fit_xlogit, hessian="none"),
    "pylogit": fit_pylogit,
    "pylogit:default": partial(fit_pylogit, method="BFGS"),
    "pylogit:none": partial(fit_pylogit, std_errors=False),
}
"""Estimators by name: a bare name is the package at its best settings that give the optimum and
classical standard errors, ``:default`` is what a user gets who sets nothing, ``:none`` is without
standard errors."""


def requirements(package: str) -> list[str]:
    """List what to install for an estimator.

    Parameters
    ----------
    package
        Key of `ADAPTERS`.

    Returns
    -------
    list of str
        Requirements for pip.
    """
    return REQUIREMENTS[package.partition(":")[0]]


def run_in(
    python: Path,
    package: str,
    problem: DenseProblem,
    repeats: int = 3,
    *,
    memory: bool = False,
    threads: int = 1,
    timeout: float = 1800.0,
) -> RivalFit:
    """Estimate with the interpreter of another environment.

    Parameters
    ----------
    python
        Interpreter of an environment where `requirements` of the package are installed.
    package
        Key of `ADAPTERS`.
    problem
        The problem.
    repeats
        Number of timed runs; the fastest counts.
    memory
        Whether to measure the peak memory in a further run.
    threads
        Threads that the linear algebra may use; set there before NumPy starts, which is the
        only time it is heeded.
    timeout
        Seconds after which to give up.

    Returns
    -------
    RivalFit
        Estimates and time.

    Raises
    ------
    RuntimeError
        If the other interpreter fails; with the end of what it wrote.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "fit.json")
        problem.save(source)
        command = [str(python), str(Path(__file__).resolve()), package, str(source), str(target)]
        command += ["--repeats", str(repeats), *(["--memory"] if memory else [])]
        done = subprocess.run(
            command,
            env={**os.environ, **_thread_limits(threads)},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{package} failed in {python}:\n{done.stderr[-2000:]}")
        return RivalFit.load(target)


def _thread_limits(threads: int) -> dict[str, str]:
    """Environment variables by which the BLAS libraries take their number of threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, str(threads))


def main(arguments: Sequence[str] | None = None) -> int:
    """Estimate a saved problem with one package and save the record.

    Parameters
    ----------
    arguments
        Command line, or None for that of the process.

    Returns
    -------
    int
        Exit status.
    """
    parser = argparse.ArgumentParser(description="Estimate a multinomial logit with a package.")
    parser.add_argument("package", choices=sorted(ADAPTERS))
    parser.add_argument("problem", type=Path, help="npz file with the problem")
    parser.add_argument("out", type=Path, help="json file to write")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="measure the peak memory as well")
    options = parser.parse_args(arguments)
    fit = ADAPTERS[options.package](
        DenseProblem.load(options.problem), options.repeats, memory=options.memory
    )
    # The same package can run under several interpreters; the record says under which it did.
    note = f"{fit.note}; Python {platform.python_version()}, NumPy {np.__version__}"
    replace(fit, note=note).save(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
