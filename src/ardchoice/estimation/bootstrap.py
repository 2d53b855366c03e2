"""The bootstrap by persons: estimates of resampled persons, and whatever follows from them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.delta import check_level
from ardchoice.estimation.display import DisplayFrame
from ardchoice.files import write
from ardchoice.numerics import must_be_seed, ordered_map, single_blas_thread

if TYPE_CHECKING:
    from ardchoice.estimation.result import Result

CHUNK = 10
"""Replications that are saved together."""
FEWEST = 2
METHOD = 2
"""Changes where replications are computed in another way: earlier ones are not resumed."""
MOST_FAILED = 0.5
"""Share of replications without estimates beyond which there is no bootstrap."""
Refit = Callable[["Result", ChoiceData], "Result"]


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """Estimates of resampled persons. Made by `Result.bootstrap`.

    Attributes
    ----------
    result
        The result itself, with the bootstrap's covariance as a further kind: pass
        ``cov="bootstrap"`` to any of its methods.
    estimates
        A row per replication, a column per parameter; missing where estimation failed.
    seed
    failed
        Replications that could not be estimated, such as by separation.

    Examples
    --------
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
    >>> boot = ac.fit_mnl(data, "*: TT + CO").bootstrap(20, seed=0)
    >>> boot.estimates.shape, boot.failed
    ((20, 2), 0)
    """

    result: Result
    estimates: pd.DataFrame
    seed: int
    failed: int

    def __len__(self) -> int:
        return len(self.estimates)

    def __repr__(self) -> str:
        return f"<Bootstrap: {len(self)} replications, seed {self.seed}>"

    @property
    def results(self) -> list[Result]:
        """The result with the estimates of every replication that has some."""
        rows = self.estimates.dropna().to_numpy()
        return [self.result.at(row) for row in rows]

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """estimate, std_err, low, high (percentiles); a row per parameter."""
        frame = self._percentiles(self.estimates.dropna().to_numpy(), level)
        frame.insert(0, "estimate", self.result.all_values)
        frame.index = pd.Index(self.result.all_names, name="coefficient")
        return frame

    def interval(
        self, function: Callable[[Result], pd.DataFrame], *, level: float = 0.95
    ) -> pd.DataFrame:
        """A table that is computed from a result, with percentile intervals of its numbers.

        Parameters
        ----------
        function
            Such as ``lambda r: r.wtp("TT", "CO")``. Its column ``estimate``, or ``change`` of
            scenarios, gets std_err, low and high.
        level
            Of the interval.
        """
        table = pd.DataFrame(function(self.result))
        column = next((c for c in ("estimate", "change", "share") if c in table), None)
        if column is None:
            raise ArdchoiceError(
                "The function returns a table with a column 'estimate', 'change' or 'share', not "
                f"one with {', '.join(map(str, table))}."
            )
        found = [pd.DataFrame(function(one))[column].to_numpy(float) for one in self.results]
        new = self._percentiles(np.stack(found), level)
        for name in ("std_err", "low", "high"):
            table[name] = new[name].to_numpy()
        return DisplayFrame(table)

    def scenario(
        self, *changes: str, by: str | Sequence[str] = (), level: float = 0.95, **options: object
    ) -> pd.DataFrame:
        """Shares of a scenario as `Scenario.shares`, with percentile intervals of the change."""

        def shares(result: Result) -> pd.DataFrame:
            scenario = result.scenario(*changes, by=by, **options)  # type: ignore[arg-type]
            return scenario.shares_without_intervals

        return self.interval(shares, level=level)

    def _percentiles(self, values: Floats, level: float) -> pd.DataFrame:
        check_level(level)
        low, high = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2], axis=0)
        return pd.DataFrame({"std_err": values.std(axis=0, ddof=1), "low": low, "high": high})


def bootstrap(
    result: Result,
    n: int,
    seed: int,
    refit: Refit,
    *,
    n_threads: int = 1,
    folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Bootstrap:
    """Replication r draws persons with the seed (seed, r): neither n nor threads change it."""
    if n < FEWEST:
        raise ArdchoiceError(f"A bootstrap has {FEWEST} replications or more, not {n}.")
    place = None if folder is None else Path(folder)
    key = _fingerprint(result, seed)
    starts = range(0, n, CHUNK)
    known = memberships(result) if result.family.n_exchangeable >= FEWEST else None

    def chunk(start: int) -> Floats:
        saved = None if place is None else _load(place, key, start)
        if saved is not None:
            return saved
        rows = [_replicate(result, seed, start + r, refit, known) for r in range(CHUNK)]
        found = np.stack(rows)
        if place is not None:
            _save(place, key, start, found)
        return found

    chunks = []
    with single_blas_thread():
        for done, found in enumerate(ordered_map(chunk, starts, n_threads), 1):
            chunks.append(found)
            if progress is not None:
                progress(min(done * CHUNK, n), n)
    estimates = np.concatenate(chunks)[:n]
    good = ~np.isnan(estimates).any(axis=1)
    if good.mean() < 1 - MOST_FAILED or good.sum() < FEWEST:
        raise ArdchoiceError(
            f"{int((~good).sum())} of {n} replications could not be estimated: too few persons for "
            "this specification. Leave out terms of rare levels, or fix parameters."
        )
    covariance = np.atleast_2d(np.cov(estimates[good], rowvar=False))
    p, shapes = len(result.coefficients), result.shapes
    covariances = {**result.covariances, "bootstrap": covariance[:p, :p]}
    if shapes is not None:
        shapes = replace(shapes, covariances={**shapes.covariances, "bootstrap": covariance})
    return Bootstrap(
        replace(result, covariances=covariances, shapes=shapes),
        pd.DataFrame(estimates, columns=list(result.all_names)),
        seed,
        int((~good).sum()),
    )


def resampled(data: ChoiceData, rng: np.random.Generator) -> ChoiceData:
    """Persons (situations, without persons) drawn with replacement, as weights."""
    unit = np.arange(len(data)) if data.person is None else np.asarray(data.person)
    count = int(unit.max()) + 1
    present = np.unique(unit)
    drawn = np.bincount(rng.choice(present, len(present)), minlength=count)
    return replace(data, weight=data.weights * drawn[unit])


def _replicate(result: Result, seed: int, r: int, refit: Refit, known: Floats | None) -> Floats:
    """Estimates of one replication; not numbers where there are none."""
    data = resampled(result.data, np.random.default_rng([must_be_seed(seed), r]))
    try:
        found = refit(result, data)
    except ArdchoiceError:
        return np.full(len(result.all_values), np.nan)
    if not found.converged or found.names != result.names or found.is_infinite.any():
        return np.full(len(result.all_values), np.nan)
    values, p = found.all_values, len(result.coefficients)
    if known is None:
        return values
    return np.concatenate([aligned(result, values[:p], known), values[p:]])


def aligned(result: Result, theta: Floats, known: Floats) -> Floats:
    """Other estimates of a result with their classes in the order of those of the result.

    Classes have no names of their own: those that the same persons belong to are the same.

    Parameters
    ----------
    result
    theta
        Of the same parameters; shape (P,).
    known
        Memberships of the result.
    """
    from scipy.optimize import linear_sum_assignment

    there = memberships(replace(result, coefficients=theta))
    order = linear_sum_assignment(known.T @ there, maximize=True)[1]
    return result.family.relabelled(theta, result.layout, np.asarray(order, dtype=np.intp))


def memberships(result: Result) -> Floats:
    """The probability of every class for every person; shape (persons, Q)."""
    return result.individual().to_numpy(float)


def _fingerprint(result: Result, seed: int) -> str:
    """What replications are made from."""
    text = (
        f"{METHOD}|{seed}|{result.specification.to_text()}|{result.family!r}|{result.constraints!r}"
    )
    found = hashlib.sha256(text.encode())
    for array in (result.coefficients, result.data.chosen(), result.data.weights):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _file(folder: Path, key: str, start: int) -> Path:
    return folder / f"bootstrap_{key[:12]}_{start:06d}.npy"


def _save(folder: Path, key: str, start: int, found: Floats) -> None:
    buffer = io.BytesIO()
    np.save(buffer, found, allow_pickle=False)
    folder.mkdir(parents=True, exist_ok=True)
    write(_file(folder, key, start), buffer.getvalue())


def _load(folder: Path, key: str, start: int) -> Floats | None:
    """What an earlier run saved; None for nothing that can be used."""
    try:
        found = np.load(_file(folder, key, start), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return np.asarray(found) if found.ndim == 2 and len(found) == CHUNK else None
