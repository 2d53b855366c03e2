"""Item 6: held-out prediction."""

from __future__ import annotations

import numpy as np

from ardchoice.ard import PAPER_LAMBDA_CUTOFF
from ardchoice.report import Cell, Table
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.items.relevance import NAMES
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Json, Plan, Results, mean_and_error
from ardchoice.reproduce.published import published

WAYS = {
    "all": "MNL, all columns",
    "ard mean": "ARD",
    "ard": "ARD, averaged",
    "specify": "specify",
    "true": "MNL, true terms",
}
SPLITS = {"person": "by person", "situation": "by row, as in the paper"}
CASES = [(space, name) for space, names in NAMES.items() for name in names]
EFFORT = {"medium": 3.0, "large": 12.0}


def _job(space: str, name: str, seed: int, by: str) -> Job:
    settings = {"space": space, "specification": name, "seed": seed, "by": by}
    return Job("held_out", settings, EFFORT[space])


def _jobs(plan: Plan) -> list[Job]:
    return [
        _job(space, name, seed, by)
        for space, name in CASES
        for seed in range(plan.held_out)
        for by in SPLITS
    ]


def _section(plan: Plan, results: Results) -> Section:
    numbers: Json = {}
    tables = []
    for by in SPLITS:
        rows = [_row(plan, results, space, name, by) for space, name in CASES]
        numbers[by] = {
            "rows": rows,
            "ard_beats_all": sum(r["ard mean"]["loglik"] > r["all"]["loglik"] for r in rows),
            "largest_gap": {way: _largest_gap(rows, way) for way in ("ard mean", "ard", "specify")},
        }
        tables += [_table(rows, by, "loglik"), _table(rows, by, "accuracy")]
    gap = max(row[5] / row[7] - 1 for row in published()["published_heldout"]["rows"])
    numbers["published_largest_gap"] = gap
    text = [
        f"30 % held out, {plan.held_out} draws of choices and splits; published figures are of one "
        "draw and one split by row. Splits by row have the same person in training and test data. "
        'ARD predicts at the posterior mean of Newton("full"), terms with λ above '
        f"{PAPER_LAMBDA_CUTOFF} only; averaged, over the whole posterior; specify selects and "
        "estimates again. Of all columns, those that are not identified (collinear) are held by a "
        "negligible ridge.",
        *(
            f"Split {SPLITS[by]}: ARD is better than the MNL with all columns in "
            f"{n['ard_beats_all']} of {len(CASES)} rows; its log-likelihood is off that of the "
            f"true terms by at most {n['largest_gap']['ard mean']:.2%} (averaged: "
            f"{n['largest_gap']['ard']:.2%}; specify: {n['largest_gap']['specify']:.2%}; "
            f"published: {gap:.1%})."
            for by, n in numbers.items()
            if by in SPLITS
        ),
    ]
    return Section("heldout", "Held-out prediction", text, tables, [], numbers)


def _largest_gap(rows: list[Json], way: str) -> float:
    """By what share a log-likelihood falls short of that of the true terms at worst."""
    return max(float(r[way]["loglik"] / r["true"]["loglik"]) - 1 for r in rows)


def _row(plan: Plan, results: Results, space: str, name: str, by: str) -> Json:
    """Means over splits, and standard errors of the differences to the true terms."""
    runs = [results[_job(space, name, seed, by)] for seed in range(plan.held_out)]
    made: Json = {"space": space, "specification": name, "n": runs[0]["n"]}
    for way in WAYS:
        made[way] = {}
        for key in ("loglik", "accuracy"):
            made[way][key] = float(np.mean([run[way][key] for run in runs]))
            away = [run[way][key] - run["true"][key] for run in runs]
            made[way][f"{key}_away"], made[way][f"{key}_error"] = mean_and_error(away)
    return made


def _table(rows: list[Json], by: str, key: str) -> Table:
    theirs = {(r[0], r[1]): r[2:] for r in published()["published_heldout"]["rows"]}
    first = 1 if key == "loglik" else 0
    how = ",.1f" if key == "loglik" else ".3f"
    fine = ".1f" if key == "loglik" else ".4f"
    head = ["space", "", *WAYS.values(), "ARD − true", "std. error"]
    head += ["published (by row): all", "published: ARD", "published: true"]
    formats = ["", "", *[how] * len(WAYS), fine, fine, *[how] * 3]
    body: list[list[Cell]] = []
    for r in rows:
        line: list[Cell] = [r["space"], r["specification"], *(r[way][key] for way in WAYS)]
        line += [r["ard mean"][f"{key}_away"], r["ard mean"][f"{key}_error"]]
        body.append([*line, *theirs[r["space"], r["specification"]][first::2]])
    what = {"loglik": "Log-likelihood", "accuracy": "Accuracy"}[key]
    caption = f"{what} of held-out choices, {SPLITS[by]}"
    return Table(f"heldout_{by}_{key}", caption, head, formats, body)


HELD_OUT = Item("heldout", _jobs, _section)
