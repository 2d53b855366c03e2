"""Item 5: S2 among noise."""

from __future__ import annotations

from ardchoice.ard import PAPER_LAMBDA_CUTOFF
from ardchoice.data import NOISE_PREFIX
from ardchoice.report import Cell, Mark, Table
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.items.relevance import lambdas
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import true_terms

WAYS = {"tied": (f"*: {NOISE_PREFIX}*",), "own": ()}
TITLES = {"tied": "one λ for all noise", "own": "a λ for every noise column"}


def extreme_job(plan: Plan, way: str) -> Job:
    """Relevance in the extreme space."""
    settings: Json = {"space": "extreme", "specification": "S2", "seed": 0, "solver": "newton"}
    settings |= {"noise_to": plan.noise_to, "tied": list(WAYS[way])}
    return Job("relevance", settings, 8.0 if plan.quick else 300.0)


def _jobs(plan: Plan) -> list[Job]:
    return [extreme_job(plan, way) for way in WAYS]


def _section(plan: Plan, results: Results) -> Section:
    found = {way: results[extreme_job(plan, way)] for way in WAYS}
    true = true_terms("S2")
    numbers: Json = {}
    for way, r in found.items():
        lam = lambdas(r)
        found_here = [t for t in true if lam[t] > PAPER_LAMBDA_CUTOFF]
        numbers[way] = {
            **r["noise"],
            "seconds": r["seconds"],
            "true_terms": len(true),
            "true_above": len(found_here),
            "true_above_noise": sum(lam[t] > r["noise"]["largest"] for t in found_here),
        }
    text = [
        f"S2 in the large space with standard Gaussian noise until every alternative has "
        f"{plan.noise_to:,} columns, Newton(). The original program ties all noise columns to one "
        "λ. With a λ for each, a term of noise survives wherever its z-score is above 1: a third "
        "are expected to, and λ is a ranking, not a decision.",
        *(
            f"With {TITLES[way]}: {n['true_above']} of {n['true_terms']} true terms have λ above "
            f"{PAPER_LAMBDA_CUTOFF}, {n['true_above_noise']} of them more than any noise; the "
            f"largest λ of noise is {n['largest']:.4f}{_rank(n)}; {n['active']:,} of "
            f"{n['terms']:,} noise columns have λ above zero."
            for way, n in numbers.items()
        ),
    ]
    return Section(
        "extreme", "The extreme space", text, [_table(found, true)], [], {"ways": numbers}
    )


def _rank(numbers: Json) -> str:
    return f", rank {numbers['rank_of_largest']}" if numbers["largest"] > 0 else ""


def _table(found: dict[str, Json], true: frozenset[str]) -> Table:
    lam = {way: lambdas(r) for way, r in found.items()}
    shown = [
        t for t in lam["own"] if t in true or max(lam[w][t] for w in WAYS) > PAPER_LAMBDA_CUTOFF
    ]
    shown.sort(key=lambda t: -lam["own"][t])
    rows: list[list[Cell]] = [[t, lam["tied"][t], lam["own"][t]] for t in shown]
    marks: dict[str, Mark] = {f"{r},0": "true" for r, t in enumerate(shown) if t in true}
    rows.append(["largest λ of noise", *(found[w]["noise"]["largest"] for w in WAYS)])
    caption = f"λ in the extreme space, those above {PAPER_LAMBDA_CUTOFF} (bold: true)"
    head = ["term", "noise tied", "noise on its own"]
    return Table("extreme", caption, head, ["", ".4f", ".4f"], rows, marks)


EXTREME = Item("extreme", _jobs, _section)
