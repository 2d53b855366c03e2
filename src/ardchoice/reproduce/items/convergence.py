"""Item 4: how the solvers come to rest on S2, and λ of every column."""

from __future__ import annotations

from ardchoice.report import Figure
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.items.relevance import relevance_job
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import true_terms


def paper_job(plan: Plan) -> Job:
    """The published schedule on the first draw of S2, in part where time is short."""
    if plan.steps is None:
        return relevance_job("medium", "S2", 0, "paper")
    settings = {"space": "medium", "specification": "S2", "seed": 0, "solver": "paper"}
    return Job("relevance", settings | {"evaluate": True, "steps": plan.steps}, 15.0)


def _jobs(plan: Plan) -> list[Job]:
    return [paper_job(plan), relevance_job("medium", "S2", 0, "newton")]


def _section(plan: Plan, results: Results) -> Section:
    paper, newton = (results[job] for job in _jobs(plan))
    steps = paper["trace"]["iteration"][-1]
    ends = {"paper": paper["trace"]["evidence"][-1], "newton": newton["trace"]["evidence"][-1]}
    numbers: Json = {
        "steps": steps,
        "evidence": ends,
        "seconds": {"paper": paper["seconds"], "newton": newton["seconds"]},
        "bound": {k: paper["trace"][k] for k in ("iteration", "objective")},
        "by_time": {
            name: {k: r["trace"][k] for k in ("evaluated_seconds", "evidence")}
            for name, r in (("paper", paper), ("newton", newton))
        },
        "lambda": {k: (newton if plan.quick else paper)[k] for k in ("terms", "columns", "lam")},
        "lambda_solver": "Newton()" if plan.quick else "Dsvi.paper()",
        "true": sorted(true_terms("S2")),
    }
    text = [
        f"On S2, medium space, first draw. Log evidence, evaluated the same way for both (Laplace, "
        f"at the mode that belongs to the λ): Dsvi.paper() ends at {ends['paper']:,.2f} after "
        f"{steps:,} steps and {paper['seconds']:,.1f} s, Newton() at {ends['newton']:,.2f} after "
        f"{newton['seconds']:,.2f} s.",
    ]
    if plan.quick:
        text.append("This is a quick run: only the beginning of the published schedule is shown.")
    figures = [
        Figure("convergence", "The evidence lower bound by mini-batch step, raw and smoothed"),
        Figure("evidence", "Log evidence against time, evaluated the same way for both solvers"),
        Figure("lambda", "λ of every column of the medium space; plateaus are interactions"),
    ]
    return Section("convergence", "Convergence, and λ column by column", text, [], figures, numbers)


CONVERGENCE = Item("convergence", _jobs, _section)
