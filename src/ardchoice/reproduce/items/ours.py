"""Item 8: what `specify` selects on the real choices."""

from __future__ import annotations

import re
from collections.abc import Callable

from ardchoice.report import Cell, Table
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.items.real import fitted_job, mean_scores, split_job
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results, mean_and_error

RUNS = {
    "specify": ("medium", "default"),
    "specify, expected signs": ("medium", "signs"),
    "specify, no structure": ("medium", "none"),
    "specify, large space, no structure": ("large", "none"),
}
THEIRS = ("R6", "R7")
EFFORT = {"medium": 8.0, "large": 40.0}


def specified_job(name: str) -> Job:
    """On all real choices."""
    space, structure = RUNS[name]
    return Job("specified", {"space": space, "structure": structure}, EFFORT[space])


def _split_job(name: str, seed: int) -> Job:
    space, structure = RUNS[name]
    settings = {"space": space, "structure": structure, "seed": seed}
    return Job("specified_split", settings, EFFORT[space])


def _splits(plan: Plan, name: str) -> range:
    """The large space takes longer; a quick run does without its splits."""
    return range(0 if plan.quick and RUNS[name][0] == "large" else plan.splits)


def _split_jobs(plan: Plan, name: str) -> list[Job]:
    if name in THEIRS:
        return [split_job(name, seed) for seed in range(plan.splits)]
    return [_split_job(name, seed) for seed in _splits(plan, name)]


def _jobs(plan: Plan) -> list[Job]:
    jobs = [fitted_job(name) for name in THEIRS] + [specified_job(name) for name in RUNS]
    return jobs + [job for name in (*THEIRS, *RUNS) for job in _split_jobs(plan, name)]


def _section(plan: Plan, results: Results) -> Section:
    rows: dict[str, Json] = {}
    for name in (*THEIRS, *RUNS):
        fitted = results[fitted_job(name) if name in THEIRS else specified_job(name)]
        row = {k: v for k, v in fitted.items() if k not in ("coefficients", "value_of_time")}
        jobs = _split_jobs(plan, name)
        if jobs:
            row |= mean_scores(results, jobs)
            row |= _ahead(results, jobs, _split_jobs(plan, "R6"))
        rows[name] = row
    numbers: Json = {"rows": rows, "better": {name: _better(rows, name) for name in RUNS}}
    best = rows["specify"]
    text = [
        f"specify with its default rules reaches a BIC of {best['bic']:,.1f} with {best['k']} "
        f"coefficients; R6, the best of R1 to R7 by BIC, {rows['R6']['bic']:,.1f}. With the sign "
        "of time and cost given, BIC is "
        f"{rows['specify, expected signs']['bic']:,.1f} and utility rises with time or cost in "
        f"{rows['specify, expected signs']['wrong_signs']} segments (R6: "
        f"{rows['R6']['wrong_signs']}; specify without signs given: {best['wrong_signs']}).",
        f"Test figures are means over {plan.splits} splits 70/30 by person, the whole selection "
        "repeated on the 70 % of every split.",
        *(f"{name}: {_verdict(numbers['better'][name])}" for name in RUNS),
    ]
    tables = [_comparison(rows), _texts(results)]
    for name, (space, _) in RUNS.items():
        tables.append(_coefficients(name, results))
        if space == "medium":  # the large one has hundreds of segments
            tables.append(_value_of_time(name, results))
    return Section("ours", "What specify selects on the real choices", text, tables, [], numbers)


def _ahead(results: Results, jobs: list[Job], base: list[Job]) -> Json:
    """By how much the test log-likelihood is above R6's, with its standard error."""
    away = [
        results[a]["test_loglik"] - results[b]["test_loglik"]
        for a, b in zip(jobs, base, strict=True)
    ]
    ahead, error = mean_and_error(away)
    return {"ahead": ahead, "ahead_error": error}


COLUMNS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "loglik": ("log-likelihood", float.__gt__),
    "aic": ("AIC", float.__lt__),
    "bic": ("BIC", float.__lt__),
    "rho2_bar": ("ρ̄²", float.__gt__),
    "test_loglik": ("test log-likelihood", float.__gt__),
    "test_accuracy": ("test accuracy", float.__gt__),
}


def _better(rows: dict[str, Json], name: str) -> dict[str, bool]:
    """Whether a row is better than R6 and R7, column by column."""
    return {
        key: all(better(rows[name][key], rows[other][key]) for other in THEIRS)
        for key, (_, better) in COLUMNS.items()
        if key in rows[name]
    }


def _verdict(better: dict[str, bool]) -> str:
    lost = [COLUMNS[key][0] for key, won in better.items() if not won]
    if not lost:
        return f"better than R6 and R7 in all {len(better)} columns compared."
    return f"better than R6 and R7 in all but {', '.join(lost)}."


def _comparison(rows: dict[str, Json]) -> Table:
    keys = {
        "k": ("coefficients", "d"),
        "loglik": ("log-likelihood", ",.1f"),
        "aic": ("AIC", ",.1f"),
        "bic": ("BIC", ",.1f"),
        "rho2_bar": ("ρ̄²", ".4f"),
        "test_loglik": ("test log-lik.", ",.1f"),
        "ahead": ("above R6", ".1f"),
        "ahead_error": ("std. error", ".1f"),
        "test_accuracy": ("test accuracy", ".4f"),
        "wrong_signs": ("wrong signs", "d"),
    }
    body: list[list[Cell]] = [[name, *(row.get(k) for k in keys)] for name, row in rows.items()]
    head = ["", *(name for name, _ in keys.values())]
    formats = ["", *(how for _, how in keys.values())]
    return Table("ours", "specify beside the best published", head, formats, body)


def _texts(results: Results) -> Table:
    rows: list[list[Cell]] = []
    for name in RUNS:
        # A utility of several lines is one row.
        text = re.sub(r"\n\s+\+", " +", results[specified_job(name)]["text"])
        for line in text.splitlines():
            place, _, utility = line.partition(":")
            rows.append([name, place.strip(), utility.strip()])
    head = ["", "alternative", "utility"]
    return Table("ours_utilities", "The selected specifications", head, ["", "", ""], rows)


def _coefficients(name: str, results: Results) -> Table:
    rows: list[list[Cell]] = [
        [c["name"], c["estimate"], c["clustered"], c["estimate"] / c["clustered"]]
        for c in results[specified_job(name)]["coefficients"]
    ]
    head = ["coefficient", "estimate", "std. error (by person)", "z"]
    caption = f"Coefficients: {name} (conditional on the selection)"
    key = "_".join(RUNS[name])
    return Table(f"ours_coefficients_{key}", caption, head, ["", ".3f", ".3f", ".1f"], rows)


def _value_of_time(name: str, results: Results) -> Table:
    rows = [list(v.values()) for v in results[specified_job(name)]["value_of_time"]]
    head = ["alternative", "segment", "francs an hour", "std. error"]
    caption = f"Value of travel time by segment: {name}"
    key = "_".join(RUNS[name])
    return Table(f"ours_value_of_time_{key}", caption, head, ["", "", ",.0f", ",.0f"], rows)


OURS = Item("ours", _jobs, _section)
