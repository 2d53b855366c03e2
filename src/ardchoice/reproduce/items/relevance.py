"""Items 2 and 3: λ in the medium and the large space beside the published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ardchoice.report import Cell, Mark, Table
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import FOUND, LARGE, MEDIUM, STRONG, published_lambda, true_terms

SOLVERS = {"paper": "Dsvi.paper()", "newton": "Newton()", "full": 'Newton("full")'}
NAMES = {"medium": MEDIUM, "large": LARGE}
EFFORT = {
    ("medium", "paper"): 35.0,
    ("large", "paper"): 90.0,
    ("medium", "newton"): 1.0,
    ("medium", "full"): 1.0,
    ("large", "newton"): 2.0,
    ("large", "full"): 2.0,
}
MEAN = None
"""In place of the seed of a draw: the mean of all draws."""
MORE_ROWS = 3.0
"""Times as many as a draw has."""
CLOSE = 0.3
"""Share by which a λ may differ, the drawn choices being others."""


def relevance_job(space: str, specification: str, seed: int | None, solver: str) -> Job:
    """λ of one solver on one draw, or on the mean of all."""
    settings = {"space": space, "specification": specification, "seed": seed, "solver": solver}
    evaluate = (space, specification, seed) == ("medium", "S2", 0) and solver != "full"
    effort = EFFORT[space, solver] * (MORE_ROWS if seed is MEAN else 1.0)
    return Job("relevance", settings | {"evaluate": evaluate}, effort)


@dataclass(frozen=True)
class Agreement:
    """One draw beside the published run.

    Attributes
    ----------
    strong, close
        Terms with a published λ above `STRONG`; those of which ours is within 30 %.
    found, on_top
        Terms that the paper found; those of which are among as many of ours, from the top. A true
        term that the paper missed takes nobody's place.
    true, recovered
        True terms; those with λ above `FOUND` here.
    lost, instead
        Terms that the paper found and that are not on top here; which stand there.
    """

    strong: int
    close: int
    found: int
    on_top: int
    true: int
    recovered: int
    lost: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


Compared = dict[str, dict[str, list[Agreement]]]
"""Draw after draw, by solver and specification."""


def compare(space: str, specification: str, result: Json) -> Agreement:
    """One draw beside the published run."""
    theirs = published_lambda(space, specification)
    ours = dict(zip(result["terms"], result["lam"], strict=True))
    strong = [t for t, lam in theirs.items() if lam > STRONG]
    found = {t for t, lam in theirs.items() if lam > FOUND}
    true = true_terms(specification)
    ranked = sorted((t for t in ours if t in found or t not in true), key=lambda t: -ours[t])
    top = ranked[: len(found)]
    return Agreement(
        strong=len(strong),
        close=sum(abs(ours[t] / theirs[t] - 1) <= CLOSE for t in strong),
        found=len(found),
        on_top=len(found.intersection(top)),
        true=len(true),
        recovered=sum(ours[t] > FOUND for t in true),
        lost=tuple(t for t in theirs if t in found and t not in top),
        instead=tuple(t for t in top if t not in found),
    )


def _seeds(plan: Plan, space: str, solver: str) -> list[int]:
    return list(range(plan.draws if solver == "newton" else plan.paper_draws[space]))


def _on_the_mean(plan: Plan, space: str) -> list[str]:
    """Solvers that are run on the mean of all draws, too."""
    return [s for s in ("paper", "newton") if space == "medium" and _seeds(plan, space, s)]


def _solvers(plan: Plan, space: str) -> list[str]:
    return [s for s in SOLVERS if _seeds(plan, space, s)]


def _jobs(space: str, plan: Plan) -> list[Job]:
    return [
        relevance_job(space, name, seed, solver)
        for name in NAMES[space]
        for solver in SOLVERS
        for seed in [*_seeds(plan, space, solver), *_mean_of(plan, space, solver)]
    ]


def _mean_of(plan: Plan, space: str, solver: str) -> list[None]:
    return [MEAN] if solver in _on_the_mean(plan, space) else []


def _section(space: str, plan: Plan, results: Results) -> Section:
    def compared(solvers: Sequence[str], seeds: Callable[[str], Sequence[int | None]]) -> Compared:
        return {
            solver: {
                name: [
                    compare(space, name, results[relevance_job(space, name, seed, solver)])
                    for seed in seeds(solver)
                ]
                for name in NAMES[space]
            }
            for solver in solvers
        }

    drawn = compared(_solvers(plan, space), lambda solver: _seeds(plan, space, solver))
    mean = compared(_on_the_mean(plan, space), lambda _: [MEAN])
    numbers = {solver: _total(_all(by_name)) for solver, by_name in drawn.items()}
    numbers |= {f"{solver}_mean": _total(_all(by_name)) for solver, by_name in mean.items()}
    tables = [_summary(space, drawn, mean), _exchanged(space, drawn, mean)]
    tables += [_lambda_table(space, name, plan, results) for name in NAMES[space]]
    return Section(space, f"Relevance in the {space} space", _text(numbers), tables, [], numbers)


def _all(by_name: Mapping[str, Sequence[Agreement]]) -> list[Agreement]:
    return [a for draws in by_name.values() for a in draws]


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
    for key, n in numbers.items():
        solver, _, mean = key.partition("_")
        where = f"on the mean of all draws of {n['draws']} specifications" if mean else ""
        text.append(
            f"{SOLVERS[solver]}, {where or str(n['draws']) + ' draws'}: λ within {CLOSE:.0%} of "
            f"the published for {n['close']} of {n['strong']} strong terms "
            f"({n['close_share']:.0%}; published λ above {STRONG}); {n['on_top']} of the "
            f"{n['found']} terms that the paper found on top of the ranking "
            f"({n['on_top_share']:.0%}), all of them in {n['complete_draws']} of {n['draws']}; λ "
            f"above {FOUND} for {n['recovered']} of {n['true']} true terms "
            f"({n['recovered_share']:.0%})."
        )
    text.append(
        "Near-twins (two forms of an attribute, a term and its interaction with the season ticket, "
        "GA, which few have) can take one another's place from draw to draw; a table below says "
        'which did. Newton() maximises the bound of the paper, Newton("full") the evidence itself.'
    )
    if any("_mean" in key for key in numbers):
        text.append(
            "The authors had one draw, and which weak term wins there is partly chance. The mean "
            "of all draws, every situation with every alternative chosen and weighted by its true "
            "probability, leaves chance out: what the paper found and is on top there is there for "
            "a reason, and so is what both miss."
        )
    return text


def _summary(space: str, drawn: Compared, mean: Compared) -> Table:
    head = ["specification", "solver", "draws", "strong λ", "within 30 %", "found by the paper"]
    head += ["on top here", "true terms", "λ > 0.002 here"]
    rows: list[list[Cell]] = []
    for name in NAMES[space]:
        for compared in (drawn, mean):
            for solver in compared:
                n = _total(compared[solver][name])
                counts = [n[c] for c in ("strong", "close", "found", "on_top", "true", "recovered")]
                draws = str(n["draws"]) if compared is drawn else "mean"
                rows.append([name, SOLVERS[solver], draws, *counts])
    caption = f"Agreement with the published λ, {space} space, summed over draws"
    return Table(f"{space}_agreement", caption, head, ["", "", "", *["d"] * 6], rows)


def _exchanged(space: str, drawn: Compared, mean: Compared) -> Table:
    """Which terms that the paper found are not on top, run by run."""
    rows: list[list[Cell]] = [
        [
            name,
            SOLVERS[solver],
            str(seed) if compared is drawn else "mean",
            ", ".join(a.lost),
            ", ".join(a.instead),
        ]
        for name in NAMES[space]
        for compared in (drawn, mean)
        for solver, by_name in compared.items()
        for seed, a in enumerate(by_name[name])
        if a.lost
    ]
    head = ["specification", "solver", "draw", "found by the paper, not on top here"]
    head += ["on top here instead"]
    caption = f"Where the ranking differs from the published, {space} space"
    return Table(f"{space}_exchanged", caption, head, [""] * 5, rows)


def _lambda_table(space: str, name: str, plan: Plan, results: Results) -> Table:
    """Published and found terms of the first draw, and of the mean of all."""
    theirs, true = published_lambda(space, name), true_terms(name)
    ours: dict[str, dict[str, float]] = {}
    runs: list[tuple[str, int | None, str]] = [(s, 0, SOLVERS[s]) for s in _solvers(plan, space)]
    runs += [(s, MEAN, f"{SOLVERS[s]}, mean draw") for s in _on_the_mean(plan, space)]
    for solver, seed, label in runs:
        result = results[relevance_job(space, name, seed, solver)]
        ours[label] = dict(zip(result["terms"], result["lam"], strict=True))
    leading = next(iter(ours.values()))
    shown = [
        t for t in leading if t in theirs or t in true or max(o[t] for o in ours.values()) > FOUND
    ]
    places = ["TRAIN", "SM", "CAR"]
    shown.sort(key=lambda t: (places.index(t.partition(":")[0]), -leading[t]))
    rows: list[list[Cell]] = []
    marks: dict[str, Mark] = {}
    for r, term in enumerate(shown):
        rows.append([term, theirs.get(term), *(o[term] for o in ours.values())])
        if term in true:
            marks[f"{r},0"] = "true"
            lambdas = [theirs.get(term, 0.0), *(o[term] for o in ours.values())]
            marks |= {f"{r},{c}": "missed" for c, v in enumerate(lambdas, 1) if v <= FOUND}
    head = ["term", "published λ", *ours]
    caption = f"{name}, {space} space: λ of the first draw (bold: true; underlined: missed)"
    formats = ["", *[".3f"] * (1 + len(ours))]
    return Table(f"{space}_{name}", caption, head, formats, rows, marks)


MEDIUM_SPACE = Item("medium", partial(_jobs, "medium"), partial(_section, "medium"))
LARGE_SPACE = Item("large", partial(_jobs, "large"), partial(_section, "large"))
