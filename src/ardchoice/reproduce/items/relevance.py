"""Items 2 and 3: λ in the medium and the large space beside the published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ardchoice.ard import PAPER_LAMBDA_CUTOFF
from ardchoice.report import Cell, Mark, Table
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import (
    LARGE_SPECIFICATIONS,
    MEDIUM_SPECIFICATIONS,
    STRONG_LAMBDA,
    published_lambda,
    true_terms,
)

SOLVERS = {"paper": "Dsvi.paper()", "newton": "Newton()", "full": 'Newton("full")'}
NAMES = {"medium": MEDIUM_SPECIFICATIONS, "large": LARGE_SPECIFICATIONS}
EFFORT = {
    ("medium", "paper"): 35.0,
    ("large", "paper"): 90.0,
    ("medium", "newton"): 1.0,
    ("medium", "full"): 1.0,
    ("large", "newton"): 2.0,
    ("large", "full"): 2.0,
}
PLACES = ("TRAIN", "SM", "CAR")
MEAN_DRAW = None
"""In place of the seed of a draw: the mean of all draws."""
MEAN_DRAW_EFFORT = 3.0
"""Times as many rows as a draw has."""
LAMBDA_TOLERANCE = 0.3
"""Share by which a λ may differ, the drawn choices being others."""


def relevance_job(space: str, specification: str, seed: int | None, solver: str) -> Job:
    """λ of one solver on one draw, or on the mean of all."""
    settings = {"space": space, "specification": specification, "seed": seed, "solver": solver}
    evaluate = (space, specification, seed) == ("medium", "S2", 0) and solver != "full"
    effort = EFFORT[space, solver] * (MEAN_DRAW_EFFORT if seed is MEAN_DRAW else 1.0)
    return Job("relevance", settings | {"evaluate": evaluate}, effort)


@dataclass(frozen=True)
class Agreement:
    """One draw beside the published run.

    Attributes
    ----------
    strong, close
        Terms with a published λ above `STRONG_LAMBDA`; those of which ours is within 30 %.
    found, on_top
        Terms that the paper found; those of which are among as many of ours, from the top. A true
        term that the paper missed takes nobody's place.
    true, recovered
        True terms; those with λ above `PAPER_LAMBDA_CUTOFF` here.
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


COUNTS = ("strong", "close", "found", "on_top", "true", "recovered")
Compared = dict[str, dict[str, list[Agreement]]]
"""Draw after draw, by solver and specification."""


def compare(space: str, specification: str, result: Json) -> Agreement:
    """One draw beside the published run."""
    theirs = published_lambda(space, specification)
    ours = lambdas(result)
    strong = [t for t, lam in theirs.items() if lam > STRONG_LAMBDA]
    found = {t for t, lam in theirs.items() if lam > PAPER_LAMBDA_CUTOFF}
    true = true_terms(specification)
    ranked = sorted((t for t in ours if t in found or t not in true), key=lambda t: -ours[t])
    top = ranked[: len(found)]
    return Agreement(
        strong=len(strong),
        close=sum(abs(ours[t] / theirs[t] - 1) <= LAMBDA_TOLERANCE for t in strong),
        found=len(found),
        on_top=len(found.intersection(top)),
        true=len(true),
        recovered=sum(ours[t] > PAPER_LAMBDA_CUTOFF for t in true),
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
    return [MEAN_DRAW] if solver in _on_the_mean(plan, space) else []


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
    mean = compared(_on_the_mean(plan, space), lambda _: [MEAN_DRAW])
    numbers = {solver: _total(_all(by_name)) for solver, by_name in drawn.items()}
    numbers |= {f"{solver}_mean": _total(_all(by_name)) for solver, by_name in mean.items()}
    tables = [_summary(space, drawn, mean), _exchanged(space, drawn, mean)]
    tables += [_lambda_table(space, name, plan, results) for name in NAMES[space]]
    return Section(space, f"Relevance in the {space} space", _text(numbers), tables, [], numbers)


def _all(by_name: Mapping[str, Sequence[Agreement]]) -> list[Agreement]:
    return [a for draws in by_name.values() for a in draws]


def _total(draws: Sequence[Agreement]) -> Json:
    n = {count: sum(getattr(a, count) for a in draws) for count in COUNTS}
    return n | {
        "draws": len(draws),
        "close_share": n["close"] / n["strong"],
        "on_top_share": n["on_top"] / n["found"],
        "complete_draws": sum(a.on_top == a.found for a in draws),
        "recovered_share": n["recovered"] / n["true"],
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
            f"{SOLVERS[solver]}, {where or str(n['draws']) + ' draws'}: λ within "
            f"{LAMBDA_TOLERANCE:.0%} of the published for {n['close']} of {n['strong']} strong "
            f"terms ({n['close_share']:.0%}; published λ above {STRONG_LAMBDA}); {n['on_top']} of "
            f"the {n['found']} terms that the paper found on top of the ranking "
            f"({n['on_top_share']:.0%}), all of them in {n['complete_draws']} of {n['draws']}; λ "
            f"above {PAPER_LAMBDA_CUTOFF} for {n['recovered']} of {n['true']} true terms "
            f"({n['recovered_share']:.0%})."
        )
    text.append(
        "Highly correlated terms (two forms of an attribute, a term and its interaction with the "
        "season ticket, GA, which few have) can replace one another from draw to draw; a table "
        'below shows which did. Newton() maximises the bound of the paper, Newton("full") the '
        "evidence itself."
    )
    if any("_mean" in key for key in numbers):
        text.append(
            "The authors had one draw, and which weak term wins there is partly chance. The mean "
            "of all draws, every situation with every alternative chosen and weighted by its true "
            "probability, removes chance: what the paper found and is on top there is there for "
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
                counts = [n[count] for count in COUNTS]
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
    runs: list[tuple[str, int | None, str]] = [(s, 0, SOLVERS[s]) for s in _solvers(plan, space)]
    runs += [(s, MEAN_DRAW, f"{SOLVERS[s]}, mean draw") for s in _on_the_mean(plan, space)]
    ours = {
        label: lambdas(results[relevance_job(space, name, seed, solver)])
        for solver, seed, label in runs
    }
    caption = f"{name}, {space} space: λ of the first draw (bold: true; underlined: missed)"
    theirs = published_lambda(space, name)
    return lambda_table(f"{space}_{name}", caption, ours, theirs, true_terms(name))


def lambdas(result: Json) -> dict[str, float]:
    """λ of a relevance job by term."""
    return dict(zip(result["terms"], result["lam"], strict=True))


def lambda_table(
    name: str,
    caption: str,
    ours: Mapping[str, Mapping[str, float]],
    theirs: Mapping[str, float],
    true: frozenset[str] | None = None,
) -> Table:
    """Published λ beside ours: terms that either found, by alternative.

    Parameters
    ----------
    name, caption
        Of the table.
    ours
        Head of a column -> λ by term; terms are sorted by the first.
    theirs
        Published λ by term.
    true
        Terms that are marked; None where the truth is unknown: published λ sort first then.
    """
    leading = next(iter(ours.values()))
    shown = [
        t
        for t in leading
        if t in theirs
        or t in (true or ())
        or max(lam[t] for lam in ours.values()) > PAPER_LAMBDA_CUTOFF
    ]
    first = theirs if true is None else {}
    shown.sort(key=lambda t: (PLACES.index(t.partition(":")[0]), -first.get(t, 0), -leading[t]))
    rows: list[list[Cell]] = [[t, theirs.get(t), *(lam[t] for lam in ours.values())] for t in shown]
    marks: dict[str, Mark] = {}
    for r, row in enumerate(rows):
        if row[0] in (true or ()):
            marks[f"{r},0"] = "true"
            values = [float(value or 0.0) for value in row[1:]]
            missed = [c for c, value in enumerate(values, 1) if value <= PAPER_LAMBDA_CUTOFF]
            marks |= {f"{r},{c}": "missed" for c in missed}
    formats = ["", *[".3f"] * (1 + len(ours))]
    return Table(name, caption, ["term", "published λ", *ours], formats, rows, marks)


MEDIUM_SPACE = Item("medium", partial(_jobs, "medium"), partial(_section, "medium"))
LARGE_SPACE = Item("large", partial(_jobs, "large"), partial(_section, "large"))
