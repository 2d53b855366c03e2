"""Item 7: the real choices, as published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ardchoice.report import Cell, Table
from ardchoice.reproduce.baselines import baselines
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.items.relevance import SOLVERS, lambda_table, lambdas
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import REAL_SPECIFICATIONS, published, published_lambda, to_term

STATISTIC_COLUMNS = {
    "loglik": ("log-likelihood", ",.3f"),
    "aic": ("AIC", ",.1f"),
    "bic": ("BIC", ",.1f"),
    "rho2": ("ρ²", ".3f"),
    "rho2_bar": ("ρ̄²", ".3f"),
}
SCORE_COLUMNS = {
    "train_loglik": ("train log-lik.", ",.1f"),
    "test_loglik": ("test log-lik.", ",.1f"),
    "train_accuracy": ("train accuracy", ".3f"),
    "test_accuracy": ("test accuracy", ".3f"),
}


def fitted_job(name: str) -> Job:
    """A published specification on all real choices."""
    return Job("fitted_specification", {"name": name}, 0.5)


def split_job(name: str, seed: int) -> Job:
    """The same on 70 % of the persons."""
    return Job("fitted_split", {"name": name, "seed": seed}, 0.5)


def mean_scores(results: Results, jobs: list[Job]) -> Json:
    """Means over splits."""
    runs = [results[job] for job in jobs]
    return {key: float(np.mean([run[key] for run in runs])) for key in SCORE_COLUMNS}


def _ranking_job(solver: str) -> Job:
    settings = {"space": "medium", "specification": "real", "seed": 0, "solver": solver}
    return Job("relevance", settings, 150.0 if solver == "paper" else 1.0)


def _solvers(plan: Plan) -> list[str]:
    return [s for s in SOLVERS if s == "newton" or not plan.quick]


def _names() -> list[str]:
    return [*baselines(), *REAL_SPECIFICATIONS]


def _jobs(plan: Plan) -> list[Job]:
    jobs = [_ranking_job(solver) for solver in _solvers(plan)]
    jobs += [fitted_job(name) for name in _names()]
    return jobs + [split_job(name, seed) for name in _names() for seed in range(plan.splits)]


def _section(plan: Plan, results: Results) -> Section:
    fitted = {name: results[fitted_job(name)] for name in _names()}
    scores = {
        name: mean_scores(results, [split_job(name, s) for s in range(plan.splits)])
        for name in _names()
    }
    theirs = published()
    rows = theirs["real_results"]["rows"]
    largest = max(
        abs(fitted[name]["loglik"] - rows[name]["loglik"]) for name in REAL_SPECIFICATIONS
    )
    pairs = _coefficients(fitted["R6"])
    off = max(abs(a - b) for _, a, b, *_ in pairs)
    off_error = max(abs(row[4] - row[3]) for row in pairs)
    numbers: Json = {
        "largest_loglik_difference": largest,
        "largest_coefficient_difference": off,
        "largest_error_difference": off_error,
        "fitted": {
            n: {k: v for k, v in f.items() if k != "coefficients"} for n, f in fitted.items()
        },
        "scores": scores,
        "baselines": {
            name: fitted[name]["loglik"] - theirs["literature_baselines"][name]["loglik"]
            for name in baselines()
        },
    }
    text = [
        f"R1 to R7 on all 10,692 choices: log-likelihoods differ from the published by at most "
        f"{largest:.4f}. R6: coefficients differ by at most {off:.4f} and classical standard "
        f"errors by at most {off_error:.4f}.",
        f"Train and test figures are means over {plan.splits} splits 70/30 by person; the "
        "published are of one split by another generator, so they agree in size, not in digits.",
        *(
            f"{name}: log-likelihood {fitted[name]['loglik']:,.1f} here, "
            f"{theirs['literature_baselines'][name]['loglik']:,} published. {about['source']}"
            for name, about in baselines().items()
        ),
    ]
    tables = [
        _ranking(plan, results),
        _statistics(fitted),
        _beside_published("real_splits", "Splits 70/30 by person", scores, SCORE_COLUMNS),
        _coefficient_table(pairs),
    ]
    return Section("real", "The real choices", text, tables, [], numbers)


def _ranking(plan: Plan, results: Results) -> Table:
    ours = {SOLVERS[s]: lambdas(results[_ranking_job(s)]) for s in _solvers(plan)}
    caption = "λ on the real choices, medium space"
    return lambda_table("real_lambda", caption, ours, published_lambda("real"))


def _theirs(name: str) -> Json:
    made: Json = published()["literature_baselines"].get(name)
    if made is None:
        row = published()["real_results"]["rows"][name]
        made = row | {key: row[f"published_{key}"] for key in SCORE_COLUMNS}
    return made


def _beside_published(
    name: str, caption: str, ours: dict[str, Json], columns: dict[str, tuple[str, str]]
) -> Table:
    """Every statistic beside the published one: key -> (head, format)."""
    head, formats = [""], [""]
    for label, how in columns.values():
        head += [label, f"published {label}"]
        formats += [how, how]
    rows: list[list[Cell]] = [
        [model, *(value for key in columns for value in (found[key], _theirs(model)[key]))]
        for model, found in ours.items()
    ]
    return Table(name, caption, head, formats, rows)


def _statistics(fitted: dict[str, Json]) -> Table:
    table = _beside_published(
        "real_fits", "Statistics on all real choices", fitted, STATISTIC_COLUMNS
    )
    rows = [[row[0], f["k"], *row[1:]] for row, f in zip(table.rows, fitted.values(), strict=True)]
    head, formats = ["", "coefficients", *table.head[1:]], ["", "d", *table.formats[1:]]
    return replace(table, head=head, formats=formats, rows=rows)


def _coefficients(fitted: Json) -> list[tuple[str, float, float, float, float, float]]:
    """Name; estimate, published; published error, ours; clustered error."""
    theirs = list(published()["R6_coefficients"]["rows"].items())
    ours = {c["name"]: c for c in fitted["coefficients"]}
    rows = []
    for name, (estimate, error, _) in theirs:
        c = ours[_coefficient_name(name, ours)]
        rows.append((c["name"], c["estimate"], estimate, error, c["std_err"], c["clustered"]))
    return rows


def _coefficient_name(theirs: str, ours: Json) -> str:
    """A coefficient of the published table as it is called here."""
    place, _, rest = theirs.partition(": ")
    what, _, level = rest.partition(" [")
    term = to_term(place, what)
    if level:
        return f"{term} [{level}"
    return next(n for n in ours if n == term or n.startswith(f"{term} ["))


def _coefficient_table(pairs: list[tuple[str, float, float, float, float, float]]) -> Table:
    head = ["R6", "estimate", "published estimate", "std. error", "published std. error"]
    head += ["clustered by person"]
    rows: list[list[Cell]] = [
        [name, estimate, theirs, error, their_error, clustered]
        for name, estimate, theirs, their_error, error, clustered in pairs
    ]
    caption = "Coefficients of R6; the published errors are classical"
    return Table("real_R6", caption, head, ["", *[".3f"] * 5], rows)


REAL_CHOICES = Item("real", _jobs, _section)
