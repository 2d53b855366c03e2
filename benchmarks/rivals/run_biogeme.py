"""Biogeme's assisted specification; runs in its environment, `run_biogeme.py RUN_FOLDER`.

Two ways of writing the space as catalogs:

- ``"segments"``, as in Biogeme's examples: for every alternative and attribute a catalog of forms
  (linear, log1p, absent), and for every coefficient and constant a catalog of segmentations (any
  of the covariates). It holds the sets that obey the default rules of `specify`.
- ``"terms"``: a catalog (out, in) for every term, the whole space.

The objective is BIC alone. Otherwise defaults, but for two limits lifted: the number of attempts,
which would end the search before the budget, and that of parameters, 50.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from incumbents import Incumbents, read_task

ENDLESS = 1_000_000
ATTRIBUTE_FORMS = ("linear", "log1p", "absent")
Utilities = dict[str, list[Any]]


def segments(space: dict[str, Any], table: pd.DataFrame) -> Utilities:
    """Forms and segmentations; the sum of a list is the utility of an alternative."""
    catalog, expressions = (import_module(f"biogeme.{m}") for m in ("catalog", "expressions"))
    tuples = import_module("biogeme.segmentation").DiscreteSegmentationTuple
    by = tuple(
        tuples(variable=name, mapping={int(level): f"{name}{level}" for level in levels})
        for name, levels in space["by"].items()
    )

    def coefficient(alternative: str, what: str) -> Any:
        beta = expressions.Beta(f"B_{alternative}_{what}", 0, None, None, 0)
        return catalog.segmentation_catalogs(
            generic_name=f"segments|{alternative}|{what}",
            beta_parameters=[beta],
            potential_segmentations=by,
            maximum_number=len(by),
        )[0]

    def attribute(alternative: str, what: str) -> Any:
        beta = coefficient(alternative, what)
        forms = {
            form: 0
            if form == "absent"
            else beta * expressions.Variable(f"{alternative}_{what}_{form}")
            for form in ATTRIBUTE_FORMS
        }
        return catalog.Catalog.from_dict(f"form|{alternative}|{what}", forms)

    return {
        alternative: [
            *([coefficient(alternative, "ASC")] if alternative in space["constants"] else []),
            *(attribute(alternative, what) for what in attributes),
        ]
        for alternative, attributes in space["attributes"].items()
    }


def terms(space: dict[str, Any], table: pd.DataFrame) -> Utilities:
    """A catalog for every term; constants are in to begin with."""
    catalog, expressions = (import_module(f"biogeme.{m}") for m in ("catalog", "expressions"))
    out: Utilities = {alternative: [] for alternative in space["alternatives"]}
    for i, term in enumerate(space["terms"]):
        columns = [
            expressions.Beta(f"b{k:03d}", 0, None, None, 0) * expressions.Variable(f"x{k:03d}")
            for k in range(*term["columns"])
        ]
        choices: list[tuple[str, Any]] = [("out", 0), ("in", sum(columns[1:], columns[0]))]
        if term["constant"]:
            choices.reverse()
        found = catalog.Catalog.from_dict(f"term|{i}", dict(choices))
        out[term["alternative"]].append(found)
    return out


WRITTEN: dict[str, Callable[[dict[str, Any], pd.DataFrame], Utilities]] = {
    "segments": segments,
    "terms": terms,
}


def watch(specification: Any, incumbents: Incumbents) -> None:
    """Tell of every model that it estimates; changes nothing."""
    estimate, known = specification._estimate, specification.all_results

    def reported(self: Any) -> None:
        new = self.config_id not in known
        estimate(self)
        if new:
            results = known[self.config_id]
            bad = results is None or not results.algorithm_has_converged
            bic = float("inf") if bad else float(results.bayesian_information_criterion)
            incumbents.tell(bic, self.config_id.split(";"))

    specification._estimate = reported


def patch(incumbents: Incumbents) -> None:
    """The smallest change with which it starts."""
    parameters: Any = import_module("biogeme.parameters")
    parameters.format_comment = lambda parameter: parameter.description
    incumbents.patch(
        "biogeme.parameters.format_comment breaks no lines: tomlkit 0.15.2 raises ValueError, "
        "'Comment cannot contain line breaks', when BIOGEME writes its parameters."
    )


def main(folder: Path) -> None:
    """Search until it ends or is stopped."""
    task, incumbents = read_task(folder), Incumbents(folder)
    data = Path(task["data"])
    space = json.loads((data / "space.json").read_text(encoding="utf-8"))
    table = pd.read_csv(data / "choices.csv")
    with np.load(data / "columns.npz", allow_pickle=False) as file:
        x = file["x"].sum(axis=1)  # every column is zero for all alternatives but one
    columns = pd.DataFrame(x, columns=[f"x{k:03d}" for k in range(x.shape[1])])
    biogeme, assisted, database, models, specification, expressions = (
        import_module(f"biogeme.{m}")
        for m in (
            "biogeme",
            "assisted",
            "database",
            "models",
            "catalog.specification",
            "expressions",
        )
    )
    incumbents.patch(
        f"Settings maximum_attempts={ENDLESS} instead of 100, which would end it early, and "
        "maximum_number_parameters above the size of the space instead of 50."
    )
    if task["patched"]:
        patch(incumbents)
    random.seed(task["seed"])
    utilities = WRITTEN[task["catalogs"]](space, table)
    variable = expressions.Variable
    logprob = models.loglogit(
        {j: sum(v[1:], v[0]) for j, v in enumerate(utilities.values(), 1)},
        {j: variable(f"{name}_AV") for j, name in enumerate(utilities, 1)},
        variable("CHOICE"),
    )
    problem = biogeme.BIOGEME(
        database.Database("choices", pd.concat([table, columns], axis=1)),
        logprob,
        generate_html=False,
        generate_yaml=False,
        save_iterations=False,
        maximum_number_parameters=10 * len(space["terms"]),
        maximum_attempts=ENDLESS,
    )
    problem.model_name = "assisted"
    search = assisted.AssistedSpecification(
        biogeme_object=problem,
        multi_objectives=lambda results: [results.bayesian_information_criterion],
        pareto_file_name=str(folder / "assisted.pareto"),
    )
    watch(specification.Specification, incumbents)
    incumbents.start()
    search.run()
    incumbents.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
