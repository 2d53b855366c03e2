"""Items 2 and 3: λ in the medium and the large space beside the published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ardchoice.reproduce.document import Cell, Mark, Section, Table
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import (
    FOUND,
    LARGE,
    MEDIUM,
    STRONG,
    published_lambda,
    true_terms,
)

SOLVERS = {"paper": "Dsvi.paper()", "diagonal": 'Newton("diagonal")', "newton": "Newton()"}
NAMES = {"medium": MEDIUM, "large": LARGE}
EFFORT = {
    ("medium", "paper"): 200.0,
    ("large", "paper"): 450.0,
    ("medium", "diagonal"): 1.0,
    ("medium", "newton"): 1.0,
    ("large", "diagonal"): 6.0,
    ("large", "newton"): 5.0,
}
CLOSE = 0.3
"""Share by which a λ may differ, the drawn choices being others."""


def relevance_job(space: str, specification: str, seed: int, solver: str) -> Job:
    """λ of one solver on one draw."""
    settings = {"space": space, "specification": specification, "seed": seed, "solver": solver}
    evaluate = (space, specification, seed) == ("medium", "S2", 0) and solver != "diagonal"
    return Job("relevance", settings | {"evaluate": evaluate}, EFFORT[space, solver])


@dataclass(frozen=True)
class Agreement:
    """One draw beside the published run.

    Attributes
    ----------
    strong, close
        Terms with a published λ above `STRONG`; those of which ours is within 30 %.
    found, on_top
        Terms that the paper found; those of which are among as many of ours, from the top.
    true, recovered
        True terms; those with λ above `FOUND` here.
    """

    strong: int
    close: int
    found: int
    on_top: int
    true: int
    recovered: int


def compare(space: str, specification: str, result: Json) -> Agreement:
    """One draw beside the published run."""
    theirs = published_lambda(space, specification)
    ours = dict(zip(result["terms"], result["lam"], strict=True))
    strong = [t for t, lam in theirs.items() if lam > STRONG]
    found = {t for t, lam in theirs.items() if lam > FOUND}
    top = set(sorted(ours, key=lambda t: -ours[t])[: len(found)])
    true = true_terms(specification)
    return Agreement(
        strong=len(strong),
        close=sum(abs(ours[t] / theirs[t] - 1) <= CLOSE for t in strong),
        found=len(found),
        on_top=len(found & top),
        true=len(true),
        recovered=sum(ours[t] > FOUND for t in true),
    )


def _seeds(plan: Plan, space: str, solver: str) -> range:
    if solver == "newton":
        return range(plan.draws)
    return range(plan.paper_draws[space])


def _solvers(plan: Plan, space: str) -> list[str]:
    return [s for s in SOLVERS if len(_seeds(plan, space, s))]


def _jobs(space: str, plan: Plan) -> list[Job]:
    return [
        relevance_job(space, name, seed, solver)
        for name in NAMES[space]
        for solver in SOLVERS
        for seed in _seeds(plan, space, solver)
    ]


def _section(space: str, plan: Plan, results: Results) -> Section:
    compared = {
        solver: {
            name: [
                compare(space, name, results[relevance_job(space, name, seed, solver)])
                for seed in _seeds(plan, space, solver)
            ]
            for name in NAMES[space]
        }
        for solver in _solvers(plan, space)
    }
    numbers = {
        solver: _total([a for draws in by_name.values() for a in draws])
        for solver, by_name in compared.items()
    }
    tables = [_summary(space, plan, compared)]
    tables += [_lambda_table(space, name, plan, results) for name in NAMES[space]]
    return Section(space, f"Relevance in the {space} space", _text(numbers), tables, [], numbers)


def _total(draws: Sequence[Agreement]) -> Json:
    strong, close = sum(a.strong for a in draws), sum(a.close for a in draws)
    found, on_top = sum(a.found for a in draws), sum(a.on_top for a in draws)
    true, recovered = sum(a.true for a in draws), sum(a.recovered for a in draws)
    return {
        "draws": len(draws),
        "strong": strong,
        "close": close,
        "close_share": close / strong,
        "found": found,
        "on_top": on_top,
        "on_top_share": on_top / found,
        "complete_draws": sum(a.on_top == a.found for a in draws),
        "true": true,
        "recovered": recovered,
        "recovered_share": recovered / true,
    }


def _text(numbers: dict[str, Json]) -> list[str]:
    text = [
        "λ on the published scale: columns centred and scaled over all rows, a column being zero "
        "where its alternative is unavailable; constants shrunk like the rest. The drawn choices "
        "are others than the authors', so λ can agree in size, not in digits.",
    ]
    for solver, n in numbers.items():
        text.append(
            f"{SOLVERS[solver]}, {n['draws']} runs: λ within {CLOSE:.0%} of the published for "
            f"{n['close']} of {n['strong']} strong terms ({n['close_share']:.0%}; published λ "
            f"above {STRONG}); {n['on_top']} of the {n['found']} terms that the paper found on top "
            f"of the ranking ({n['on_top_share']:.0%}), all of them in {n['complete_draws']} "
            f"of the runs; λ above {FOUND} for {n['recovered']} of {n['true']} true terms "
            f"({n['recovered_share']:.0%})."
        )
    text.append(
        "Where a term that the paper found is not on top, a near-twin took its place: nearly all "
        "travellers have no season ticket (GA), so that CAR: CO and CAR: CO x GA, or log1p(TT) x "
        "GA and a constant by GA, hardly differ, and the draw decides which is kept. The rules of "
        "structure settle this (the section on what specify finds); λ alone cannot. "
        "Newton() keeps the whole posterior covariance where the published bound keeps a diagonal: "
        'it maximises the evidence itself. Newton("diagonal") maximises the published bound.'
    )
    return text


def _summary(space: str, plan: Plan, compared: dict[str, dict[str, list[Agreement]]]) -> Table:
    head = ["specification", "solver", "draws", "strong λ", "within 30 %", "found by the paper"]
    head += ["on top here", "true terms", "λ > 0.002 here"]
    rows: list[list[Cell]] = []
    for name in NAMES[space]:
        for solver in compared:
            n = _total(compared[solver][name])
            counts = ("draws", "strong", "close", "found", "on_top", "true", "recovered")
            rows.append([name, SOLVERS[solver], *(n[c] for c in counts)])
    caption = f"Agreement with the published λ, {space} space, summed over draws"
    return Table(f"{space}_agreement", caption, head, ["", "", *["d"] * 7], rows)


def _lambda_table(space: str, name: str, plan: Plan, results: Results) -> Table:
    """Published and found terms of the first draw."""
    solvers = _solvers(plan, space)
    theirs, true = published_lambda(space, name), true_terms(name)
    ours: dict[str, dict[str, float]] = {}
    for solver in solvers:
        result = results[relevance_job(space, name, 0, solver)]
        ours[solver] = dict(zip(result["terms"], result["lam"], strict=True))
    leading = ours[solvers[0]]
    shown = [t for t in leading if t in theirs or t in true or leading[t] > FOUND]
    places = ["TRAIN", "SM", "CAR"]
    shown.sort(key=lambda t: (places.index(t.partition(":")[0]), -leading[t]))
    rows: list[list[Cell]] = []
    marks: dict[str, Mark] = {}
    for r, term in enumerate(shown):
        rows.append([term, theirs.get(term), *(ours[s][term] for s in solvers)])
        if term in true:
            missed = theirs.get(term, 0.0) <= FOUND
            marks[f"{r},0"] = "missed" if missed else "true"
    head = ["term", "published λ", *(SOLVERS[s] for s in solvers)]
    caption = f"{name}, {space} space: λ of the first draw (bold: true; underlined: true, missed "
    caption += "by the paper)"
    formats = ["", *[".3f"] * (1 + len(solvers))]
    return Table(f"{space}_{name}", caption, head, formats, rows, marks)


MEDIUM_SPACE = Item("medium", partial(_jobs, "medium"), partial(_section, "medium"))
LARGE_SPACE = Item("large", partial(_jobs, "large"), partial(_section, "large"))
