"""Item 7: the real choices, as published."""

from __future__ import annotations

import numpy as np

from ardchoice.report import Cell, Table
from ardchoice.reproduce.baselines import BASELINES
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.items.relevance import SOLVERS
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import FOUND, REAL, published, published_lambda, to_term

SCORES = ("train_loglik", "test_loglik", "train_accuracy", "test_accuracy")


def fitted_job(name: str) -> Job:
    """A published specification on all real choices."""
    return Job("fitted_specification", {"name": name}, 0.5)


def split_job(name: str, seed: int) -> Job:
    """The same on 70 % of the persons."""
    return Job("fitted_split", {"name": name, "seed": seed}, 0.5)


def mean_scores(results: Results, jobs: list[Job]) -> Json:
    """Means over splits."""
    runs = [results[job] for job in jobs]
    return {key: float(np.mean([run[key] for run in runs])) for key in SCORES}


def _ranking_job(solver: str) -> Job:
    settings = {"space": "medium", "specification": "real", "seed": 0, "solver": solver}
    return Job("relevance", settings, 150.0 if solver == "paper" else 1.0)


def _solvers(plan: Plan) -> list[str]:
    return [s for s in SOLVERS if s == "newton" or not plan.quick]


def _names() -> list[str]:
    return [*BASELINES, *REAL]


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
    largest = max(abs(fitted[name]["loglik"] - rows[name]["loglik"]) for name in REAL)
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
            for name in BASELINES
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
            f"{theirs['literature_baselines'][name]['loglik']:,} published. {about.told}"
            for name, about in BASELINES.items()
        ),
    ]
    tables = [
        _ranking(plan, results),
        _statistics(fitted),
        _splits(scores),
        _coefficient_table(pairs),
    ]
    return Section("real", "The real choices", text, tables, [], numbers)


def _ranking(plan: Plan, results: Results) -> Table:
    theirs = published_lambda("real")
    solvers = _solvers(plan)
    ours: dict[str, dict[str, float]] = {}
    for solver in solvers:
        result = results[_ranking_job(solver)]
        ours[solver] = dict(zip(result["terms"], result["lam"], strict=True))
    leading = ours[solvers[0]]
    shown = [t for t in leading if t in theirs or max(ours[s][t] for s in solvers) > FOUND]
    places = ["TRAIN", "SM", "CAR"]
    shown.sort(key=lambda t: (places.index(t.partition(":")[0]), -theirs.get(t, 0), -leading[t]))
    rows: list[list[Cell]] = [[t, theirs.get(t), *(ours[s][t] for s in solvers)] for t in shown]
    head = ["term", "published λ", *(SOLVERS[s] for s in solvers)]
    caption = "λ on the real choices, medium space"
    return Table("real_lambda", caption, head, ["", *[".3f"] * (1 + len(solvers))], rows)


def _theirs(name: str) -> Json:
    made: Json = published()["literature_baselines"].get(name)
    if made is None:
        row = published()["real_results"]["rows"][name]
        made = row | {key: row[f"published_{key}"] for key in SCORES}
    return made


def _statistics(fitted: dict[str, Json]) -> Table:
    keys = {"loglik": ",.3f", "aic": ",.1f", "bic": ",.1f", "rho2": ".3f", "rho2_bar": ".3f"}
    names = ["log-likelihood", "AIC", "BIC", "ρ²", "ρ̄²"]
    head, formats = ["", "coefficients"], ["", "d"]
    for name, how in zip(names, keys.values(), strict=True):
        head += [name, f"published {name}"]
        formats += [how, how]
    rows: list[list[Cell]] = []
    for name, f in fitted.items():
        pairs = [value for key in keys for value in (f[key], _theirs(name)[key])]
        rows.append([name, f["k"], *pairs])
    return Table("real_fits", "Statistics on all real choices", head, formats, rows)


def _splits(scores: dict[str, Json]) -> Table:
    head, formats = [""], [""]
    for name, how in zip(
        ("train log-lik.", "test log-lik.", "train accuracy", "test accuracy"),
        (",.1f", ",.1f", ".3f", ".3f"),
        strict=True,
    ):
        head += [name, f"published {name}"]
        formats += [how, how]
    rows: list[list[Cell]] = [
        [name, *(v for key in SCORES for v in (s[key], _theirs(name)[key]))]
        for name, s in scores.items()
    ]
    return Table("real_splits", "Splits 70/30 by person", head, formats, rows)


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
