"""The problem that every method gets: choices and the medium space, as plain files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.space import SearchSpace
from ardchoice.space.published import MEDIUM_BY, SURVEY_ATTRIBUTES
from mnl_race import dense_problem
from recovery import Case, make_case


def load(name: str, seed: int) -> Case:
    """The real choices, or those drawn from S2."""
    if name != "real":
        return make_case("medium", name, seed)
    data = ac.datasets.swissmetro_choices("real")
    return as_case(data, ac.swissmetro_space(data, "medium"), seed)


def as_case(data: ac.ChoiceData, space: SearchSpace, seed: int) -> Case:
    """Choices without a known truth."""
    return Case("medium", "real", seed, data, space, (), np.empty(0), math.nan)


def write_problem(case: Case, folder: Path) -> None:
    """Everything that a method may want, in plain files.

    - `choices.csv`, a row per situation: availability, choice, person, covariates, attributes as
      recorded, and their forms scaled to unit spread, which no maximum depends on;
    - `columns.npz`, the columns of the space in the long form of `DenseProblem`, scaled likewise;
    - `space.json`, what the space is made of.
    """
    folder.mkdir(parents=True, exist_ok=True)
    design = ac.Design(case.data, case.space.terms)
    sd = design.moments(design).sd
    scale = np.where(sd > 0, sd, 1.0)
    problem = dense_problem(design)
    problem = replace(problem, x=problem.x / scale)
    problem.save(folder / "columns.npz")
    data, table = case.data, {}
    for j, name in enumerate(data.alternatives):
        table[f"{name}_AV"] = data.available[j].astype(int)
        for attribute in SURVEY_ATTRIBUTES:
            if j in data.attributes[attribute].alternatives:
                # Anything may stand where an alternative is not available.
                values = np.where(data.available[j], data.attributes[attribute].of(j), 0.0)
                table[f"{name}_{attribute}"] = values
    for encoded in design.encoding.terms:
        term, (j, *_) = encoded.term, encoded.alternatives
        if term.what is not None and not term.by:
            column = problem.x[:, j, encoded.start]
            table[f"{data.alternatives[j]}_{term.what}_{term.how.name}"] = column
    for name in MEDIUM_BY:
        covariate = data.covariates[name]
        table[name] = np.array(covariate.levels, dtype=int)[covariate.values]
    table["CHOICE"] = data.chosen() + 1
    table["ID"] = np.arange(len(data)) if data.person is None else data.person
    pd.DataFrame(table).to_csv(folder / "choices.csv", index=False)
    (folder / "space.json").write_text(json.dumps(describe(case.space, design)), encoding="utf-8")


def describe(space: SearchSpace, design: ac.Design) -> dict[str, Any]:
    """What the space is made of: alternatives, their constants and attributes, levels, terms."""
    names = design.data.alternatives
    main = [t for t in space.terms if not t.by]
    return {
        "alternatives": names,
        "constants": [t.where[0] for t in main if t.what is None],
        "attributes": {
            name: list(dict.fromkeys(t.what for t in main if t.what and t.where == (name,)))
            for name in names
        },
        "by": {name: design.data.covariates[name].levels for name in MEDIUM_BY},
        "terms": [
            {
                "text": str(t.term),
                "alternative": t.term.where[0],
                "columns": [t.columns.start, t.columns.stop],
                "constant": t.term.what is None and not t.term.by,
            }
            for t in design.encoding.terms
        ],
    }


def read_problem(folder: Path) -> tuple[ac.ChoiceData, SearchSpace]:
    """The choices and the space, from the table that the rivals get."""
    space = json.loads((folder / "space.json").read_text(encoding="utf-8"))
    names = space["alternatives"]
    data = ac.read_wide(
        folder / "choices.csv",
        alternatives={name: j for j, name in enumerate(names, 1)},
        choice="CHOICE",
        attributes={
            a: {n: f"{n}_{a}" for n in names if a in space["attributes"][n]}
            for a in SURVEY_ATTRIBUTES
        },
        covariates={name: ac.Categorical() for name in MEDIUM_BY},
        availability="{alt}_AV",
        person="ID",
    )
    return data, ac.swissmetro_space(data, "medium")
