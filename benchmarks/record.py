"""The record: numbers of today, to be compared with those of changed code.

`python benchmarks/record.py make OUT.json [--quick] [--items "NAME; ..."]` estimates and specifies
a fixed list of items and writes what came out, floats in full precision.
`python benchmarks/record.py compare OLD NEW [--partial]` prints one table and ends with 1 where an
item fails, or where NEW lacks an item of OLD (allowed by --partial). `record.json` beside this
script is the reference; it names the commit that it is from.

Items: R1 to R7 on the real Swissmetro choices; S1 to S9, first draw, in their spaces; the real
choices specified with the default structure, without one, and with signs, and the example of the
README with and without persons; a long table with weights, choice sets that differ and generic
coefficients, with and without persons, whose rows are not together: in memory, streamed from
Parquet, and on a local Dask cluster.

Differences are relative to
- an estimate: the larger of its size and its classical standard error, since an estimate near zero
  is known to its standard error only;
- a standard error (classical, robust, clustered): itself;
- λ: itself, but not less than 1e-6 of the largest finite λ, below which a term is out;
- log evidence and log-likelihood: themselves.
NaN agrees with NaN and infinity with infinity, and with nothing else. A specification is the same
when it has the same terms.

The limit is 1e-10, and 1e-6 where sums are added in another order: in items with persons, since
blocks of whole persons are cut at other rows; and in all items where the records are from another
NumPy or another BLAS kernel, which depends on the processor. Where the evidence is flat, λ feels
that order, up to 3e-7 in the example of the README. Make both records on one machine.

Where a later feature changed what is selected on purpose, items are made as before it: answers
count as independent, `Ebic(cluster=False)`, and EBIC charges constants and generic linear
attributes for the size of the search like all other terms, and weights are not scaled to a mean of
one, and interactions that diverge are not dropped, for which there is no option.

What differs for a known reason is marked "known", within a limit of its own, and is not counted
among the items that agree (`KNOWN_DIFFERENCES`).

Otherwise only public names are used.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

import ardchoice as ac

SAME_ORDER_LIMIT = 1e-10
OTHER_ORDER_LIMIT = 1e-6
"""Relative differences that are allowed, by whether sums are added in the same order."""
LAMBDA_FLOOR_SHARE = 1e-6
"""Of the largest finite λ: below it a term is out, and digits of its λ mean nothing."""
KNOWN_DIFFERENCES: dict[str, dict[str, float]] = {
    **{key: {"lambdas": 2e-10} for key in ("long in memory", "long streamed")},
    "S4 medium": {"estimates": 1e-2, "standard_errors": 1e-2},
    "S2 extreme": {"lambdas": 1e5, "evidence": 5e-5},
}
"""Item -> kind -> relative difference that is known.

The last step of Newton's method in log λ was refused where rounding hides its gain; it is taken
now. On the quadratic of the last pass, maximised in 40 digits, the λ of ``bus: log1p(cost)`` was
1.7e-10 from its maximum in the record, and is 3.2e-12 from it now; all other λ are nearer as well.

In S4 nine coefficients of the cost by car diverge along three directions. The log-likelihood is the
same to 2e-16; estimation stops further along these directions than it did. In the limit, from the
information by brute force, standard errors of the other coefficients were up to 5.4e-3 too small in
the record, and are up to 4.2e-4 too small now.

In S2 extreme, with 2,576 columns, the bound is maximised from zero only, not from the maximum of
the evidence as well, which took most of the time: another maximum is found, lower by 0.36. Its λ
differ where they are small, among the 740 terms that none of the true ones needs; the terms
selected and their estimates are the same.
"""

SMALL_TABLE_SITUATIONS = 3_000
LARGE_TABLE_SITUATIONS = 40_000
"""So many that the rows of the long table are read and expanded in several parts."""
TRIPS_PER_PERSON = 6
CLUSTER_WORKERS = 2
CLUSTER_START_SECONDS = 60
EXTREME_COLUMNS_PER_ALTERNATIVE = 1000

MODES = ["bus", "car", "rail", "walk"]
MEDIUM_SPACE = ("S1", "S2", "S3", "S4", "S5", "S6")
LARGE_SPACE = ("S1", "S2", "S3", "S7", "S8", "S9")
HAND_WRITTEN = """
    bus: ASC + log(time) x age
    car: ASC + time + time x income
    rail: ASC
    *: time + cost
"""

CovarianceKind = Literal["classical", "robust", "cluster"]
SpaceSize = Literal["medium", "large", "extreme"]
COVARIANCES: tuple[CovarianceKind, ...] = ("classical", "robust", "cluster")


@dataclass(frozen=True)
class Numbers:
    """What is recorded of an item.

    Attributes
    ----------
    persons
        Whether the choices have persons.
    converged
        Whether estimation and, where there is one, relevance converged.
    terms
        The specification.
    loglik
    estimates
        By the name of their coefficient.
    variances
        Kind of covariance -> its diagonal, in the order of the estimates.
    log_evidence, lambdas
        Of relevance, by term; None and empty for a specification by hand.
    """

    persons: bool
    converged: bool
    terms: list[str]
    loglik: float
    estimates: dict[str, float]
    variances: dict[str, list[float]]
    log_evidence: float | None = None
    lambdas: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """Numbers by item, and the code and libraries that made them."""

    made_by: dict[str, str]
    items: dict[str, Numbers]

    def same_arithmetic(self, other: Record) -> bool:
        """Whether sums over the same rows are added in the same order."""
        return all(self.made_by[k] == other.made_by[k] for k in ("numpy", "blas"))


@dataclass(frozen=True)
class Item:
    """Something to estimate or to specify; `make` does it."""

    name: str
    make: Callable[[], Numbers]
    quick: bool = False


# -- What is recorded ------------------------------------------------------------------------------


def estimated(data: ac.ChoiceData, text: str) -> Numbers:
    """A specification by hand."""
    return numbers_of(
        ac.fit_mnl(data, text), ac.parse_specification(text), persons=has_persons(data)
    )


def specified(
    data: ac.ChoiceData,
    space: ac.SearchSpace,
    *,
    structure: ac.Structure | None = ac.Structure(),  # noqa: B008 - frozen
    executor: Any = None,
) -> Numbers:
    """Relevance, selection and estimates."""
    # The record was made with answers that count as independent, with a price on every term, and
    # with interactions that diverge.
    rule = ac.Ebic(cluster=False)
    with (
        patch("ardchoice.selection.compile._textbook", return_value=frozenset()),
        patch("ardchoice.selection.select.diverging_terms", return_value={}),
    ):
        study = ac.specify(data, space, rule=rule, structure=structure, executor=executor)
    relevance = study.fit.table()
    return numbers_of(
        study.result,
        study.specification,
        persons=has_persons(data),
        converged=bool(study.fit.converged),
        log_evidence=float(study.fit.log_evidence),
        lambdas=dict(zip(relevance["term"], relevance["lambda"].tolist(), strict=True)),
    )


def numbers_of(
    result: Any,
    specification: ac.Specification,
    *,
    persons: bool,
    converged: bool = True,
    log_evidence: float | None = None,
    lambdas: dict[str, float] | None = None,
) -> Numbers:
    """What is recorded of a result, and of the relevance that led to it."""
    kinds = COVARIANCES if persons else COVARIANCES[:2]
    estimates = result.to_frame("classical")["estimate"]
    return Numbers(
        persons=persons,
        converged=converged and bool(result.converged),
        terms=[str(term) for term in specification.terms],
        loglik=float(result.loglik),
        estimates=dict(zip(estimates.index, estimates.tolist(), strict=True)),
        variances={k: np.diag(result.covariance(k).to_numpy()).tolist() for k in kinds},
        log_evidence=log_evidence,
        lambdas=lambdas or {},
    )


def has_persons(data: ac.ChoiceData) -> bool:
    """Whether choices are known to be of the same person."""
    return data.person is not None


# -- Swissmetro ------------------------------------------------------------------------------------


@cache
def real_choices() -> ac.ChoiceData:
    """The choices of the survey, as the paper prepares them."""
    return ac.datasets.swissmetro_choices("real")


def published(name: str) -> Numbers:
    """R1 to R7."""
    return estimated(real_choices(), ac.datasets.swissmetro_specification(name))


def drawn(name: str, size: SpaceSize) -> Numbers:
    """S1 to S9, fitted to the choices of the survey; the first draw from it, specified."""
    noise_to = EXTREME_COLUMNS_PER_ALTERNATIVE if size == "extreme" else None
    survey = ac.datasets.swissmetro_choices(noise_to=noise_to, seed=0)
    data = ac.simulate_choices(survey, ac.datasets.swissmetro_specification(name), seed=0)
    return specified(data, ac.swissmetro_space(data, size))


def real(structure: ac.Structure | None, size: SpaceSize = "medium") -> Numbers:
    """The choices of the survey, specified."""
    return specified(real_choices(), ac.swissmetro_space(real_choices(), size), structure=structure)


def signs() -> ac.Structure:
    """Utility must not increase with time or cost."""
    return ac.Structure(signs={"TT": "-", "CO": "-"})


def readme(person: str | None) -> Numbers:
    """The example of the README."""
    table = ac.datasets.swissmetro()
    for mode in ("TRAIN", "SM"):
        table[f"{mode}_CO"] *= table["GA"] == 0
    data = ac.read_wide(
        table[table["CHOICE"] != 0],
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA", "MALE"],
        availability="{alt}_AV",
        person=person,
    )
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["GA", "MALE"], base="CAR")
    return specified(data, space, structure=signs())


# -- A long table ----------------------------------------------------------------------------------


def long_table(situations: int) -> pd.DataFrame:
    """A row per situation and alternative that is available; those of a situation together.

    Only uniform numbers are drawn: other distributions may change with NumPy's version.
    """
    rng = np.random.default_rng(0)
    shape = (situations, len(MODES))
    time_, cost = 5 + 60 * rng.random(shape).round(2), 1 + 9 * rng.random(shape).round(2)
    age, income = np.floor(1 + 3 * rng.random(situations)), (2 * rng.random(situations)).round(3)
    taste = -0.9 * np.log(time_) - 0.25 * cost + 0.3 * np.arange(len(MODES))
    taste += 0.8 * (age[:, None] == np.arange(len(MODES)))
    taste[:, 1] -= 0.01 * time_[:, 1] * income
    taste -= np.log(-np.log(rng.random(shape)))
    available = np.column_stack([np.ones((situations, 2)), rng.random((situations, 2)) < 0.8]) > 0
    chosen = np.where(available, taste, -np.inf).argmax(axis=1)
    persons = np.floor(rng.random(situations) * (situations / TRIPS_PER_PERSON))
    weight = 0.5 + 1.5 * rng.random(situations).round(3)
    row, mode = np.nonzero(available)
    return pd.DataFrame(
        {
            "trip": row,
            "mode": np.array(MODES)[mode],
            "chosen": (chosen[row] == mode).astype(int),
            "time": time_[row, mode],
            "cost": cost[row, mode],
            "age": age[row].astype(int),
            "income": income[row],
            "person": persons[row].astype(int),
            "weight": weight[row],
        }
    )


def read_trips(
    table: pd.DataFrame | Path, person: str | None, *, stream: bool = False
) -> ac.ChoiceData:
    """The long table, in memory or with stream=True; weights as they stand in it."""
    unscaled = [
        patch(f"ardchoice.data.{module}.weight_scale", return_value=1.0)
        for module in ("weights", "stream")
    ]
    with unscaled[0], unscaled[1]:
        return ac.read_long(
            table,
            situation="trip",
            alternative="mode",
            chosen="chosen",
            attributes=["time", "cost"],
            covariates={"age": ac.Categorical(), "income": ac.Numeric()},
            alternatives=MODES,
            person=person,
            weight="weight",
            stream=stream,
        )


def trips_specified(data: ac.ChoiceData, executor: Any = None) -> Numbers:
    """Generic and specific candidates, no structure."""
    space = ac.SearchSpace(
        data, transforms=["linear", "log1p"], by=["age", "income"], generic=["time", "cost"]
    )
    return specified(data, space, structure=None, executor=executor)


def trips_by_hand(situations: int, person: str | None) -> Numbers:
    """Generic and specific coefficients."""
    return estimated(read_trips(long_table(situations), person), HAND_WRITTEN)


def trips_in_memory(situations: int, person: str | None) -> Numbers:
    """Read whole."""
    return trips_specified(read_trips(long_table(situations), person))


def trips_streamed(situations: int, person: str | None) -> Numbers:
    """Read from Parquet, in parts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trips.parquet"
        long_table(situations).to_parquet(path)
        return trips_specified(read_trips(path, person, stream=True))


def trips_on_cluster(situations: int, person: str | None) -> Numbers:
    """Passes over the data by the workers of a local Dask cluster."""
    with ac.local_cluster(CLUSTER_WORKERS) as client:
        client.wait_for_workers(CLUSTER_WORKERS, timeout=CLUSTER_START_SECONDS)
        return trips_specified(read_trips(long_table(situations), person), client)


# -- Items -----------------------------------------------------------------------------------------


def all_items() -> list[Item]:
    """Everything that is recorded, in the order of the table."""
    items = [Item(f"R{i}", partial(published, f"R{i}"), quick=i == 1) for i in range(1, 8)]
    spaces: dict[SpaceSize, tuple[str, ...]] = {
        "medium": MEDIUM_SPACE,
        "large": LARGE_SPACE,
        "extreme": ("S2",),
    }
    for size, names in spaces.items():
        for name in names:
            quick = (name, size) == ("S1", "medium")
            items.append(Item(f"{name} {size}", partial(drawn, name, size), quick))
    items += [
        Item("real", partial(real, ac.Structure())),
        Item("real, no structure", partial(real, None)),
        Item("real, signs", partial(real, signs())),
        Item("real large", partial(real, ac.Structure(), "large")),
        Item("README", partial(readme, "ID")),
        Item("README, no persons", partial(readme, None)),
    ]
    ways = {
        "by hand": trips_by_hand,
        "in memory": trips_in_memory,
        "streamed": trips_streamed,
        "cluster": trips_on_cluster,
    }
    small, large = SMALL_TABLE_SITUATIONS, LARGE_TABLE_SITUATIONS
    for way, make in ways.items():
        quick = way in ("in memory", "streamed")
        sizes = [("small ", small, True), ("", large, False)] if quick else [("", large, False)]
        for prefix, n, is_quick in sizes:
            for suffix, person in (("", None), (", persons", "person")):
                name = f"{prefix}long {way}{suffix}"
                items.append(Item(name, partial(make, n, person), is_quick))
    return items


def make_record(items: Iterable[Item]) -> Record:
    """Every item, and what made it."""
    recorded: dict[str, Numbers] = {}
    for item in items:
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ac.ArdchoiceWarning)  # separation in S4
            recorded[item.name] = item.make()
        print(f"{item.name}: {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
    return Record(origin(), recorded)


def origin() -> dict[str, str]:
    """Which code, with which versions."""
    blas = [b for b in threadpool_info() if b["user_api"] == "blas"]
    return {
        "commit": commit_of(Path(ac.__file__).parent),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pandas": pd.__version__,
        "blas": "; ".join(sorted({f"{b['version']} {b['architecture']}" for b in blas})),
        "machine": platform.platform(),
    }


def commit_of(folder: Path) -> str:
    """The commit of a checkout, and whether files of its folder were changed since."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    words = [
        git,
        "-C",
        str(folder),
        "describe",
        "--always",
        "--abbrev=40",
        "--exclude=*",
        "--dirty",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


# -- Files -----------------------------------------------------------------------------------------


def write_record(record: Record, path: Path) -> None:
    """As JSON; floats are written so that they are read back to the last bit."""
    path.write_text(
        json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def read_record(path: Path) -> Record:
    """What `write_record` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    items = {name: Numbers(**numbers) for name, numbers in found["items"].items()}
    return Record(found["made_by"], items)


# -- Comparing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """One item, old and new; the largest relative difference of every kind, None without any."""

    name: str
    same_terms: bool
    still_converges: bool
    estimates: float | None
    standard_errors: float | None
    lambdas: float | None
    evidence: float | None
    loglik: float | None
    limit: float
    known: dict[str, float] = field(default_factory=dict)

    @property
    def differences(self) -> tuple[float | None, ...]:
        """In the order of the table."""
        return (
            self.estimates,
            self.standard_errors,
            self.lambdas,
            self.evidence,
            self.loglik,
        )

    @property
    def passed(self) -> bool:
        """Whether the specification is the same, and every number within the limit."""
        return self._within(self.limit)

    @property
    def is_known(self) -> bool:
        """Whether only what is known and explained differs, and by no more than that."""
        return not self.passed and self._within(self.limit, self.known)

    @property
    def verdict(self) -> str:
        """In the table."""
        return "pass" if self.passed else "known" if self.is_known else "FAIL"

    def _within(self, limit: float, known: Mapping[str, float] = MappingProxyType({})) -> bool:
        kinds = ("estimates", "standard_errors", "lambdas", "evidence", "loglik")
        near = all(
            d is None or d <= max(limit, known.get(kind, 0.0))
            for kind, d in zip(kinds, self.differences, strict=True)
        )
        return self.same_terms and self.still_converges and near


def relative(old: float, new: float, scale: float) -> float:
    """|old - new| / scale; infinite where only one is a number, zero where both are alike."""
    if old == new or (math.isnan(old) and math.isnan(new)):
        return 0.0
    difference = abs(old - new) / scale if scale > 0 else math.inf
    return difference if math.isfinite(difference) else math.inf


def compare_item(
    name: str, old: Numbers, new: Numbers, *, same_arithmetic: bool = True
) -> Comparison:
    """The largest differences of every kind."""
    same_order = same_arithmetic and not old.persons
    same_names = set(old.estimates) == set(new.estimates)
    return Comparison(
        name=name,
        same_terms=sorted(old.terms) == sorted(new.terms) and same_names,
        still_converges=new.converged or not old.converged,
        estimates=_of_estimates(old, new) if same_names else None,
        standard_errors=_of_standard_errors(old, new) if same_names else None,
        lambdas=_of_lambdas(old.lambdas, new.lambdas),
        evidence=_of_sums(old.log_evidence, new.log_evidence),
        loglik=_of_sums(old.loglik, new.loglik),
        limit=SAME_ORDER_LIMIT if same_order else OTHER_ORDER_LIMIT,
        known=KNOWN_DIFFERENCES.get(name, {}),
    )


def _of_estimates(old: Numbers, new: Numbers) -> float:
    errors = _standard_errors(old, "classical")
    return max(
        relative(one, new.estimates[name], max(abs(one), float(np.nan_to_num(errors[name]))))
        for name, one in old.estimates.items()
    )


def _of_standard_errors(old: Numbers, new: Numbers) -> float:
    if set(old.variances) != set(new.variances):
        return math.inf
    worst = 0.0
    for kind in old.variances:
        now = _standard_errors(new, kind)
        for name, error in _standard_errors(old, kind).items():
            worst = max(worst, relative(error, now[name], abs(error)))
    return worst


def _standard_errors(numbers: Numbers, kind: str) -> dict[str, float]:
    errors = np.sqrt(np.array(numbers.variances[kind])).tolist()
    return dict(zip(numbers.estimates, errors, strict=True))


def _of_lambdas(old: dict[str, float], new: dict[str, float]) -> float | None:
    if set(old) != set(new):
        return math.inf
    floor = LAMBDA_FLOOR_SHARE * max((v for v in old.values() if math.isfinite(v)), default=0.0)
    return max((relative(v, new[t], max(abs(v), floor)) for t, v in old.items()), default=None)


def _of_sums(old: float | None, new: float | None) -> float | None:
    if old is None or new is None:
        return None if old is new else math.inf
    return relative(old, new, abs(old))


def compare_records(old: Record, new: Record) -> list[Comparison]:
    """The items of both."""
    compare = partial(compare_item, same_arithmetic=old.same_arithmetic(new))
    both = [name for name in old.items if name in new.items]
    return [compare(name, old.items[name], new.items[name]) for name in both]


def show(found: list[Comparison], only_old: list[str], only_new: list[str]) -> None:
    """The table, in 100 columns."""
    kinds = ("estimates", "std. err.", "lambda", "evidence", "loglik")
    head = f"{'item':32}{'same':>5}" + "".join(f"{k:>10}" for k in kinds) + f"{'limit':>7}"
    print(f"{head}\n{'-' * (len(head) + 6)}")
    for c in found:
        cells = "".join(f"{'.' if d is None else f'{d:.1e}':>10}" for d in c.differences)
        same = "yes" if c.same_terms else "NO"
        print(f"{c.name:32}{same:>5}{cells}{c.limit:7.0e}  {c.verdict}")
        if not c.still_converges:
            print(f"{'':32}  converged in the old record, not in the new one")
    for where, names in (("old", only_old), ("new", only_new)):
        if names:
            print(textwrap.fill(f"Only in the {where} record: {'; '.join(names)}.", 100))
    print("same: the same terms. Largest relative differences; estimates relative to the larger of")
    print("their size and standard error, λ to at least 1e-6 of the largest.")
    print("Limit 1e-6: persons, or another NumPy or BLAS, so that sums are added in another order.")
    known = [c.name for c in found if c.is_known]
    print(f"{sum(c.passed for c in found)} of {len(found)} items agree.")
    if known:
        print(textwrap.fill(f"Differ for a known reason: {'; '.join(known)}.", 100))


def main(arguments: list[str] | None = None) -> int:
    """Make or compare; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="write a record")
    make.add_argument("out", type=Path)
    make.add_argument("--quick", action="store_true", help="small items only, seconds")
    make.add_argument("--items", default="", help="names from the table, separated by semicolons")
    both = commands.add_parser("compare", help="compare two records")
    both.add_argument("old", type=Path)
    both.add_argument("new", type=Path)
    both.add_argument("--partial", action="store_true", help="NEW may lack items of OLD")
    options = parser.parse_args(arguments)
    if options.command == "make":
        items = [i for i in all_items() if i.quick or not options.quick]
        if options.items:
            wanted = [name.strip() for name in options.items.split(";")]
            unknown = set(wanted) - {i.name for i in items}
            if unknown:
                parser.error(f"no such items: {'; '.join(sorted(unknown))}")
            items = [i for i in items if i.name in wanted]
        write_record(make_record(items), options.out)
        return 0
    old, new = read_record(options.old), read_record(options.new)
    found = compare_records(old, new)
    only_old = [name for name in old.items if name not in new.items]
    only_new = [name for name in new.items if name not in old.items]
    show(found, only_old, only_new)
    complete = not only_new and (options.partial or not only_old)
    return 0 if found and complete and all(c.passed or c.is_known for c in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
