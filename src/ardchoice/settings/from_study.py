"""`settings_of`: from the Python objects of a study to the settings that would make them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from ardchoice.ard import Solver
from ardchoice.data import Categorical, Cut, Numeric, Role, Source, label
from ardchoice.errors import ArdchoiceError
from ardchoice.record import Evaluation, StudyRecord
from ardchoice.selection import HeldOut, Rule, Structure, listed
from ardchoice.settings.schema import StudySettings
from ardchoice.settings.to_python import RULES, SOLVERS
from ardchoice.settings.values import transform_text
from ardchoice.space import SearchSpace

MOST_DEPTH = 10
"""No interaction has more covariates."""


def settings_of(record: StudyRecord, folder: str | Path | None = None) -> StudySettings:
    """The settings that make a study like this one.

    Parameters
    ----------
    record
        A study, perhaps made in Python. Of data that were not read from a table nothing is told;
        of a data frame everything but the table.
    folder
        To which the table's path is made relative; absolute unless told.
    """
    return StudySettings.model_validate(
        {
            "data": _data(record.data.source, folder),
            "space": _space(record.space),
            "structure": _structure(record.structure),
            "solver": _solver(record.fit.solver),
            "selection": _selection(record.rule, record.honest, record.seed),
            "output": _output(record.evaluation),
        }
    )


def settings_if_any(record: StudyRecord) -> StudySettings | None:
    """The same; None where a study made in Python goes beyond what a study file can say."""
    try:
        return settings_of(record)
    except (ValidationError, ArdchoiceError):
        return None


def _data(source: Source | None, folder: str | Path | None) -> dict[str, Any]:
    if source is None:
        return {}
    table = source.path
    if table is not None and folder is not None:
        table = Path(os.path.relpath(table, folder)).as_posix()
    wide = source.layout == "wide"
    return {
        "table": table,
        "layout": source.layout,
        "alternatives": dict(source.alternatives),
        "choice": source.choice if wide else None,
        "situation": source.situation,
        "alternative": source.alternative,
        "chosen": None if wide else source.choice,
        "availability": _pattern(source.availability, source.alternatives),
        "person": source.person,
        "weight": source.weight,
        "drop_invalid": source.drop_invalid,
        "missing_values": source.missing_values,
        "attributes": {
            name: {
                **_role(source.roles.get(name)),
                "column": _pattern(where, source.alternatives)
                if wide
                else next(iter(where.values()), name),
            }
            for name, where in source.attributes.items()
        },
        "covariates": {
            name: {**_role(source.roles.get(name)), "column": column}
            for name, column in source.covariates.items()
        },
    }


def _pattern(
    where: Mapping[str, str], alternatives: Mapping[str, str]
) -> str | dict[str, str] | None:
    """Columns by alternative as one pattern, where there is one that gives just these."""
    if not where:
        return None
    first, column = next(iter(where.items()))
    start = column.find(first)
    while start >= 0 and len(where) == len(alternatives):
        pattern = f"{column[:start]}{{alt}}{column[start + len(first) :]}"
        if all(pattern.replace("{alt}", a) == c for a, c in where.items()):
            return pattern
        start = column.find(first, start + 1)
    return dict(where)


def _role(role: Role | None) -> dict[str, Any]:
    if role is None:
        return {}
    if isinstance(role, Numeric):
        return {"kind": "numeric"}
    said = {
        "reference": None if role.reference is None else label(role.reference),
        "missing": role.missing,
    }
    if isinstance(role, Cut):
        labels = None if role.labels is None else [label(v) for v in role.labels]
        edges = [float(e) for e in role.edges] if role.quantiles is None else []
        more = {"edges": edges, "quantiles": role.quantiles, "labels": labels}
        return {"kind": "cut", **said, **more}
    assert isinstance(role, Categorical)  # noqa: S101 - the last of the three
    return {
        "kind": "categorical",
        **said,
        "levels": None if role.levels is None else [label(v) for v in role.levels],
        "merge": {str(new): [label(v) for v in olds] for new, olds in role.merge.items()},
        "pool_below": float(role.pool_below),
    }


def _space(space: SearchSpace) -> dict[str, Any]:
    told = space.told
    forms: Any = told.transforms
    if isinstance(forms, Mapping):
        transforms: Any = {name: [transform_text(f) for f in some] for name, some in forms.items()}
    else:
        transforms = [transform_text(f) for f in forms]
    return {
        "transforms": transforms,
        "by": list(told.by),
        "base": told.base,
        "attributes": None if told.attributes is None else list(told.attributes),
        "depth": min(int(told.depth), MOST_DEPTH),
        "constants": bool(told.constants),
        "generic": told.generic,
        "specific": bool(told.specific),
        "interact_classes": bool(told.interact_classes),
        "add": [str(t) for t in told.add],
        "remove": list(told.remove),
        "force": [str(t) for t in told.force],
    }


def _structure(structure: Structure | None) -> dict[str, Any]:
    if structure is None:
        return {"rules": False}
    return {
        "heredity": bool(structure.heredity),
        "one_form": structure.one_form,
        "linear_unless": float(structure.linear_unless),
        "constants": bool(structure.constants),
        "signs": dict(structure.signs),
        "force": list(listed(structure.force)),
        "forbid": list(listed(structure.forbid)),
        "exclusive": [list(listed(group)) for group in structure.exclusive],
        "together": [list(listed(group)) for group in structure.together],
        "max_terms": _plain(structure.max_terms),
        "max_coefficients": _plain(structure.max_coefficients),
    }


def _solver(solver: Solver) -> dict[str, Any]:
    method = next(name for name, kind in SOLVERS.items() if isinstance(solver, kind))
    return {"method": method, **_plain(asdict(solver))}


def _selection(rule: Rule, honest: bool, seed: int) -> dict[str, Any]:
    words = _plain(asdict(rule))
    if isinstance(rule, HeldOut):
        own = words.pop("seed")
        words["fold_seed"] = 0 if own == seed else own
    name = next(name for name, kind in RULES.items() if isinstance(rule, kind))
    return {"rule": name, "honest": bool(honest), "seed": int(seed), **words}


def _output(evaluation: Evaluation | None) -> dict[str, Any]:
    if evaluation is None:
        return {}
    return {"folds": int(evaluation.folds), "search_in_folds": bool(evaluation.searched)}


def _plain(value: Any) -> Any:
    """Python's own numbers and containers."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value
