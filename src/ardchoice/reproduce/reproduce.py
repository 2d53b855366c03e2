"""`reproduce`: every table and figure of the paper, ours beside theirs."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ardchoice.errors import ArdchoiceError, did_you_mean
from ardchoice.files import write
from ardchoice.reproduce.document import Section, to_html, to_markdown
from ardchoice.reproduce.figures import draw_figure
from ardchoice.reproduce.items import ITEMS
from ardchoice.reproduce.jobs import JobCache, JobsStep, code_stamp, run_jobs
from ardchoice.reproduce.plan import FULL, QUICK, Results
from ardchoice.reproduce.published import published

TITLE = "The published results on Swissmetro, reproduced"


def reproduce(
    out: str | Path,
    *,
    only: Sequence[str] = (),
    quick: bool = False,
    workers: int | None = None,
    progress: Callable[[JobsStep], None] | None = None,
) -> Path:
    """Regenerate the published tables and figures in a folder.

    What is done already in that folder, by this version and with the same settings, is not run
    again: an interrupted run resumes.

    Parameters
    ----------
    out
        The folder: ``index.html``, ``report.md``, ``results.json``, ``figures``, and in ``work``
        what is needed to resume.
    only
        Names of items. Default: all. Items of the folder that are complete already are shown as
        well.
    quick
        Fewer draws and splits, and not the whole published schedule.
    workers
        Parallel fits. Default: as many as there are cores.
    progress
        Called after every fit.

    Returns
    -------
    Path
        Of the page.
    """
    folder, plan = Path(out), QUICK if quick else FULL
    unknown = [name for name in only if name not in ITEMS]
    if unknown:
        hint = did_you_mean(unknown[0], ITEMS)
        raise ArdchoiceError(f"There is no item {unknown[0]!r}. {hint}")
    _refuse_other_plan(folder, quick)
    started = time.monotonic()
    cache = JobCache(folder / "work", code_stamp())
    jobs = {name: item.jobs(plan) for name, item in ITEMS.items()}
    wanted = [job for name, some in jobs.items() if not only or name in only for job in some]
    done = run_jobs(wanted, cache, workers=workers or os.cpu_count() or 1, progress=progress)
    for job in (job for some in jobs.values() for job in some):
        found = done.get(job.key) or cache.get(job)
        if found is not None:
            done[job.key] = found
    sections = [
        item.section(plan, Results(done))
        for name, item in ITEMS.items()
        if all(job.key in done for job in jobs[name])
    ]
    spent = sum(float(result["job_seconds"]) for result in done.values())
    results = {
        "title": TITLE,
        "text": [*_introduction(quick, spent), *verdicts(sections)],
        "version": version("ardchoice"),
        "quick": quick,
        "seconds_of_all_fits": spent,
        "seconds_of_this_call": time.monotonic() - started,
        "items": [section.to_json() for section in sections],
    }
    return publish(finite(results), folder)


def _refuse_other_plan(folder: Path, quick: bool) -> None:
    """A quick run must not write over a full one, nor the other way round."""
    try:
        before = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(before, dict) and before.get("quick") != quick:
        kinds = {True: "quick", False: "full"}
        raise ArdchoiceError(
            f"{folder} holds a {kinds[not quick]} run. Write the {kinds[quick]} one elsewhere: "
            "--out DIR."
        )


def finite(value: Any) -> Any:
    """The same with None for what JSON cannot write: infinity, and what is not a number."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, list):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def publish(results: dict[str, Any], folder: Path) -> Path:
    """Write figures, pages and `results.json`, all from the results alone."""
    for made in results["items"]:
        section = Section.from_json(made)
        for figure in section.figures:
            draw_figure(figure.name, section.numbers, folder / "figures")
    write(
        folder / "results.json",
        json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    )
    write(folder / "report.md", to_markdown(results))
    write(folder / "index.html", to_html(results))
    return folder / "index.html"


def verdicts(sections: Sequence[Section]) -> list[str]:
    """What agrees, what differs and why, in a sentence or two per item."""
    numbers = {section.item: section.numbers for section in sections}
    out = []
    if "real" in numbers:
        n = numbers["real"]
        off = ", ".join(f"{name} by {away:+,.1f}" for name, away in n["baselines"].items())
        out.append(
            "The real choices: log-likelihoods of R1 to R7 differ from the published by at most "
            f"{n['largest_loglik_difference']:.4f}, coefficients of R6 by at most "
            f"{n['largest_coefficient_difference']:.4f}; log-likelihoods of the two specifications "
            f"of the literature, not all of which is published, {off}."
        )
    for space in ("medium", "large"):
        if "paper" in numbers.get(space, {}):
            n, mean = numbers[space]["paper"], numbers[space].get("paper_mean")
            text = (
                f"Relevance, {space} space: with Dsvi.paper(), {n['close']} of {n['strong']} "
                f"strong λ are within 30 % of the published ({n['close_share']:.0%}), and "
                f"{n['on_top']} of the {n['found']} terms that the paper found are on top. "
                "Which other terms stand there is listed below; the choices were drawn again, and "
                "highly correlated terms change places from draw to draw."
            )
            if mean:
                text += (
                    f" On the mean of all draws, where chance has no part, {mean['on_top']} of "
                    f"{mean['found']} are on top, in {mean['complete_draws']} of {mean['draws']} "
                    f"specifications all of them, and {mean['close']} of {mean['strong']} strong λ "
                    f"are within 30 % ({mean['close_share']:.0%})."
                )
            out.append(text)
    if "heldout" in numbers:
        n = numbers["heldout"]
        worst = max(n[by]["largest_gap"]["ard mean"] for by in ("person", "situation"))
        out.append(
            "Held-out choices: the log-likelihood of ARD is off that of the true terms by at most "
            f"{worst:.2%}, published {n['published_largest_gap']:.1%}."
        )
    if "ours" in numbers:
        rows = numbers["ours"]["rows"]
        out.append(
            "The specification that specify selects on the real choices has a BIC of "
            f"{rows['specify']['bic']:,.1f}, R6 {rows['R6']['bic']:,.1f}."
        )
    return out


def _introduction(quick: bool, spent: float) -> list[str]:
    text = [
        f"Published: {published()['source']}. Every table and figure is computed again from the "
        "Swissmetro data by ardchoice and compared with the published one. The times of all fits, "
        f"run in parallel, add up to {spent / 60:.0f} minutes.",
    ]
    if quick:
        text.append(
            "This is a quick run: fewer draws and splits, a smaller extreme space, and only the "
            "beginning of the published schedule."
        )
    return text
