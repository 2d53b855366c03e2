"""Item 9: run times."""

from __future__ import annotations

import os

from ardchoice.reproduce.document import Cell, Section, Table
from ardchoice.reproduce.items.convergence import paper_job
from ardchoice.reproduce.items.extreme import extreme_job
from ardchoice.reproduce.items.relevance import relevance_job
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import published

PAPER_STEPS = 400_000
PART = {"medium": 4000, "large": 2000, "extreme": 400}
"""Steps from which the time of the whole schedule is told where it is not run in full."""


def _timed(space: str, method: str, effort: float) -> Job:
    settings = {"space": space, "specification": "S2", "seed": 0, "method": method}
    return Job("timed", settings, effort)


def _part(plan: Plan, space: str) -> Job:
    """The published schedule, in full where it is run anyway."""
    if plan.paper_draws.get(space):
        return relevance_job(space, "S2", 0, "paper")
    if space == "medium":
        return paper_job(plan)
    settings: Json = {"space": space, "specification": "S2", "seed": 0, "solver": "paper"}
    if space == "extreme":
        settings["noise_to"] = plan.noise_to
    return Job("relevance", settings | {"steps": PART[space]}, 20.0)


def _cells(plan: Plan) -> dict[str, dict[str, Job | None]]:
    """Space -> way -> the job that tells how long it takes."""
    return {
        "medium": {
            "Dsvi.paper()": _part(plan, "medium"),
            "Dsvi()": _timed("medium", "dsvi", 6.0),
            "Newton()": _timed("medium", "newton", 1.0),
            "specify": _timed("medium", "specify", 3.0),
        },
        "large": {
            "Dsvi.paper()": _part(plan, "large"),
            "Dsvi()": _timed("large", "dsvi", 20.0),
            "Newton()": _timed("large", "newton", 4.0),
            "specify": _timed("large", "specify", 10.0),
        },
        "extreme": {
            "Dsvi.paper()": _part(plan, "extreme"),
            "Dsvi()": None,
            "Newton()": extreme_job(plan, "own"),
            "specify": None if plan.quick else _extreme_specify(plan),
        },
    }


def _extreme_specify(plan: Plan) -> Job:
    settings = {"space": "extreme", "specification": "S2", "seed": 0, "method": "specify"}
    return Job("timed", settings | {"noise_to": plan.noise_to}, 400.0)


def _jobs(plan: Plan) -> list[Job]:
    return [job for ways in _cells(plan).values() for job in ways.values() if job is not None]


def _section(plan: Plan, results: Results) -> Section:
    rows: list[list[Cell]] = []
    numbers: Json = {"cores": os.cpu_count()}
    for space, ways in _cells(plan).items():
        minutes = published()["minutes"][space]
        numbers[space] = {"published_seconds": 60 * minutes}
        for way, job in ways.items():
            if job is None:
                continue
            seconds, steps = results[job]["seconds"], job.settings.get("steps")
            note = ""
            if steps is not None:
                seconds *= PAPER_STEPS / steps
                note = f"told from {steps:,} of {PAPER_STEPS:,} steps"
            if space == "extreme" and plan.noise_to != 1000:
                note = ", ".join(filter(None, [note, f"{plan.noise_to} columns per alternative"]))
            numbers[space][way] = seconds
            rows.append([space, way, 60 * minutes, seconds, 60 * minutes / seconds, note])
    text = [
        "On S2. The authors report about 10 minutes, close to 1 hour and about 5 hours for their "
        "program on a 2.3 GHz dual-core laptop; the machines differ, so their column is for "
        "orientation. Ours ran with other fits side by side, one core each.",
    ]
    head = ["space", "", "published, s", "here, s", "ratio", ""]
    formats = ["", "", ",d", ",.1f", ",.0f", ""]
    table = Table("times", "Run times in seconds", head, formats, rows)
    return Section("times", "Run times", text, [table], [], numbers)


TIMES = Item("times", _jobs, _section)
