"""Item 9: run times."""

from __future__ import annotations

from ardchoice.ard import DsviPaper
from ardchoice.report import Cell, Table
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.items.convergence import paper_job
from ardchoice.reproduce.items.extreme import extreme_job
from ardchoice.reproduce.items.relevance import relevance_job
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results
from ardchoice.reproduce.published import published

PARTIAL_STEPS = {"large": 2000, "extreme": 400}
"""Steps from which the time of the whole schedule is extrapolated where it is not run in full."""


def _timed(space: str, method: str, effort: float, noise_to: int | None = None) -> Job:
    settings: Json = {"space": space, "specification": "S2", "seed": 0, "method": method}
    return Job("timed", settings | ({"noise_to": noise_to} if noise_to else {}), effort)


def _part(plan: Plan, space: str) -> Job:
    """The published schedule, in full where it is run anyway."""
    if plan.paper_draws.get(space):
        return relevance_job(space, "S2", 0, "paper")
    if space == "medium":
        return paper_job(plan)
    settings: Json = {"space": space, "specification": "S2", "seed": 0, "solver": "paper"}
    if space == "extreme":
        settings["noise_to"] = plan.noise_to
    return Job("relevance", settings | {"steps": PARTIAL_STEPS[space]}, 20.0)


def _cells(plan: Plan) -> dict[str, dict[str, Job | None]]:
    """Space -> way -> the job whose time is shown."""
    effort = {"medium": (6.0, 1.0, 3.0), "large": (20.0, 4.0, 10.0)}
    methods = {"Dsvi()": "dsvi", "Newton()": "newton", "specify": "specify"}
    cells: dict[str, dict[str, Job | None]] = {}
    for space, seconds in effort.items():
        cells[space] = {"Dsvi.paper()": _part(plan, space)}
        for (way, method), expected in zip(methods.items(), seconds, strict=True):
            cells[space][way] = _timed(space, method, expected)
    cells["extreme"] = {
        "Dsvi.paper()": _part(plan, "extreme"),
        "Dsvi()": None,
        "Newton()": extreme_job(plan, "own"),
        "specify": None if plan.quick else _timed("extreme", "specify", 400.0, plan.noise_to),
    }
    return cells


def _jobs(plan: Plan) -> list[Job]:
    return [job for ways in _cells(plan).values() for job in ways.values() if job is not None]


def _section(plan: Plan, results: Results) -> Section:
    rows: list[list[Cell]] = []
    numbers: Json = {}
    for space, ways in _cells(plan).items():
        theirs = 60 * published()["minutes"][space]
        numbers[space] = {"published_seconds": theirs}
        smaller = space == "extreme" and plan.noise_to != 1000
        for way, job in ways.items():
            if job is None:
                rows.append([space, way, theirs, None, None, "not run here"])
                continue
            seconds, steps = results[job]["seconds"], job.settings.get("steps")
            notes = [f"{plan.noise_to} columns per alternative"] if smaller else []
            if steps is not None:
                seconds = _whole(results[job]["trace"])
                notes.append(f"extrapolated from {steps:,} of {DsviPaper.steps:,} steps")
            numbers[space][way] = seconds
            ratio = None if smaller else theirs / seconds
            rows.append([space, way, theirs, seconds, ratio, ", ".join(notes)])
    text = [
        "On S2. The authors report about 10 minutes, close to 1 hour and about 5 hours for their "
        "program on a 2.3 GHz dual-core laptop; the machines differ, so their column is for "
        "orientation. Ours ran in parallel with other fits and so under different loads: compare "
        "orders of magnitude.",
    ]
    head = ["space", "solver", "published, s", "here, s", "ratio", "note"]
    formats = ["", "", ",d", ",.1f", ",.0f", ""]
    table = Table("times", "Run times in seconds", head, formats, rows)
    return Section("times", "Run times", text, [table], [], numbers)


def _whole(trace: Json) -> float:
    """Seconds of the whole published schedule, at the pace of a part of it."""
    steps = trace["iteration"][-1] - trace["iteration"][0]
    return float(DsviPaper.steps * (trace["seconds"][-1] - trace["seconds"][0]) / steps)


TIMES = Item("times", _jobs, _section)
