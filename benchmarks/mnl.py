"""Benchmark of the multinomial logit: speed beside other estimators, scaling, many alternatives.

    python benchmarks/mnl.py [--quick] [--out FILE.json] [--venvs DIR]

One run prints one table: (a) R1 and R6 on the real Swissmetro data, ours beside xlogit, PyLogit
and a plain NumPy Newton; (b) a 27-parameter model on up to a million choice situations; (c) 200
unlabelled alternatives against a brute-force evaluation; and last the targets. Targets are ratios
and memory, never seconds, and a missed one is reported, not raised. README.md says how to read it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import ardchoice as ac
import mnl_race
import mnl_scaling
import mnl_unlabelled
from environments import CACHE
from mnl_race import Entry, Race
from mnl_scaling import Scaling
from mnl_unlabelled import Unlabelled

WIDTH = 80
NOTHING = "–"


@dataclass(frozen=True)
class Target:
    """Something aimed at, and what was found.

    Attributes
    ----------
    what
        The quantity.
    wanted
        The bound in words.
    found
        Its value; None if it was not measured.
    holds
        None if it was not measured.
    """

    what: str
    wanted: str
    found: float | None
    holds: bool | None


@dataclass(frozen=True)
class Report:
    """All that one run measured."""

    machine: str
    quick: bool
    races: tuple[Race, ...]
    scaling: tuple[Scaling, ...]
    unlabelled: Unlabelled
    targets: tuple[Target, ...]


# -- Measuring ------------------------------------------------------------------------------


def run(*, quick: bool, venvs: Path) -> Report:
    """Measure everything.

    Parameters
    ----------
    quick
        Fewer repetitions, fewer packages, up to 10⁵ situations.
    venvs
        Where the environments of other packages are, or are to be made.
    """
    races = []
    for model in mnl_race.MODELS:
        _progress(f"{model} on Swissmetro")
        repeats = 10 if quick else 30
        races.append(mnl_race.race(model, repeats=repeats, venvs=venvs, quick=quick))
    scaling = []
    for size in mnl_scaling.QUICK_SIZES if quick else mnl_scaling.SIZES:
        _progress(f"{size:,} choice situations")
        scaling.append(mnl_scaling.measure_apart(size, mnl_scaling.repeats_for(size)))
    _progress("200 alternatives")
    unlabelled = mnl_unlabelled.measure(repeats=2 if quick else 3)
    targets = (*_race_targets(races), _memory_target(scaling), *_agreement_targets(unlabelled))
    return Report(_machine(), quick, tuple(races), tuple(scaling), unlabelled, targets)


def _progress(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


def _machine() -> str:
    return (
        f"ardchoice {ac.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )


def _race_targets(races: Sequence[Race]) -> Iterator[Target]:
    least, most = mnl_race.RIVAL_TARGET, mnl_race.NEWTON_TARGET
    for race in races:
        ratio = race.rival_ratio
        holds = None if ratio is None else ratio >= least
        what = f"{race.model}: fastest correct rival / ours"
        yield Target(what, f">= {least:g}", ratio, holds)
    for race in races:
        ratio = race.newton_ratio
        yield Target(f"{race.model}: ours / plain Newton", f"<= {most:g}", ratio, ratio <= most)


def _memory_target(scaling: Sequence[Scaling]) -> Target:
    most, size = mnl_scaling.MEMORY_TARGET_GB, mnl_scaling.SIZES[-1]
    peak = next((s.peak_gb for s in scaling if s.n_situations == size), None)
    what = f"{size:,} situations: peak memory, GB"
    return Target(what, f"< {most:g}", peak, None if peak is None else peak < most)


def _agreement_targets(found: Unlabelled) -> Iterator[Target]:
    for name, value, most in (
        ("log-likelihood", found.loglik_deviation, mnl_unlabelled.SAME_LOGLIK),
        ("gradient", found.gradient_deviation, mnl_unlabelled.SAME_GRADIENT),
    ):
        what = f"200 alternatives: {name} off by"
        yield Target(what, f"< {most:.0e}", value, value < most)


# -- Printing -------------------------------------------------------------------------------


def table(report: Report) -> str:
    """Lay the report out in 80 columns."""
    lines = [
        "Multinomial logit: estimation with standard errors; best time of several runs",
        report.machine,
        "Linear algebra on one thread unless it says otherwise.",
        "",
        *_race_lines(report.races),
        "",
        *_scaling_lines(report.scaling),
        "",
        *_unlabelled_lines(report.unlabelled),
        "",
        *_target_lines(report.targets),
        *_correct_lines(report.races),
    ]
    return "\n".join(lines)


def _race_lines(races: Sequence[Race]) -> Iterator[str]:
    yield f"(a) Swissmetro, {races[0].n_situations:,} choice situations"
    head = f"{'':4} {'estimator':31}{'seconds':>10}{'/ ours':>9}{'log-lik.':>12}{'SE off by':>12}"
    yield head
    yield "-" * WIDTH
    for race in races:
        ours = race.entries[0].seconds or np.nan
        for i, entry in enumerate(race.entries):
            yield f"{race.model if i == 0 else '':4} {_entry_text(entry, ours)}"
    yield "SE off by: largest relative deviation of classical standard errors from ours."
    yield "Ours is timed from the text of the specification to classical, robust and"
    yield "clustered errors; the others from a dense design to the errors they have."
    entries = [entry for race in races for entry in race.entries]
    missing = [f"{entry.estimator} {entry.note}" for entry in entries if entry.seconds is None]
    for note in dict.fromkeys(missing):
        yield from textwrap.wrap(note, WIDTH)


def _entry_text(entry: Entry, ours: float) -> str:
    if entry.seconds is None:
        return f"{entry.estimator:31}{NOTHING:>10}   did not run"
    deviation = NOTHING if entry.deviation is None else f"{entry.deviation:.1e}"
    return (
        f"{entry.estimator:31}{entry.seconds:10.4f}{entry.seconds / ours:9.2f}"
        f"{entry.loglik:12.3f}{deviation:>12}"
    )


def _scaling_lines(scaling: Sequence[Scaling]) -> Iterator[str]:
    first = scaling[0]
    yield f"(b) {mnl_scaling.MODEL} ({first.n_parameters} parameters) on resampled Swissmetro"
    yield (
        f"{'situations':>12}{'persons':>10}{'seconds':>10}{'s per 10⁶':>12}{'/ linear':>10}"
        f"{'data, GB':>12}{'peak, GB':>12}"
    )
    yield "-" * WIDTH
    for size in scaling:
        growth = size.seconds_per_million / first.seconds_per_million
        yield (
            f"{size.n_situations:12,}{size.n_persons:10,}{size.seconds:10.3f}"
            f"{size.seconds_per_million:12.2f}{growth:10.2f}"
            f"{_number(size.data_gb):>12}{_number(size.peak_gb):>12}"
        )
    yield "Peak memory of the whole process: Python and libraries, data, estimation."


def _unlabelled_lines(found: Unlabelled) -> Iterator[str]:
    yield (
        f"(c) {found.n_alternatives} alternatives, {found.n_situations:,} situations, "
        f"{found.n_parameters} attributes, choice sets of {found.smallest} to {found.largest}"
    )
    yield "-" * WIDTH
    yield f"{'seconds':60}{found.seconds:20.3f}"
    yield f"{'log-likelihood':60}{found.loglik:20.6f}"
    yield f"{'  off the brute force by (relative)':60}{found.loglik_deviation:20.1e}"
    yield f"{'gradient at the estimate, off by (relative to its terms)':60}" + (
        f"{found.gradient_deviation:20.1e}"
    )
    yield f"{'  brute-force gradient in standard errors':60}{found.still_to_move:20.1e}"


def _target_lines(targets: Sequence[Target]) -> Iterator[str]:
    yield f"{'Targets':44}{'wanted':>10}{'found':>12}"
    yield "-" * WIDTH
    words = {True: "holds", False: "MISSED", None: "not measured"}
    for target in targets:
        yield (
            f"{target.what:44}{target.wanted:>10}{_number(target.found):>12}  "
            + (words[target.holds])
        )


def _correct_lines(races: Sequence[Race]) -> Iterator[str]:
    named = (f"{race.model} {race.fastest_rival}" for race in races if race.fastest_rival)
    text = (
        f"Correct: log-likelihood within {mnl_race.SAME_LOGLIK:g} of ours, standard errors within "
        f"{mnl_race.SAME_STD_ERROR:.0%}. Fastest of these: {'; '.join(named) or 'none ran'}."
    )
    yield from textwrap.wrap(text, WIDTH)


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1e}"


# -- Command line ---------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark, print the table, write the json if asked."""
    parser = argparse.ArgumentParser(description="Benchmark the multinomial logit.")
    parser.add_argument("--quick", action="store_true", help="less of everything, half a minute")
    parser.add_argument("--out", type=Path, help="json file for the numbers")
    parser.add_argument(
        "--venvs", type=Path, default=CACHE, help="environments of other packages (%(default)s)"
    )
    options = parser.parse_args(arguments)
    report = run(quick=options.quick, venvs=options.venvs)
    print(table(report))
    if options.out is not None:
        options.out.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
