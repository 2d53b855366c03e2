"""`settings_of`: from the Python objects of a study to the settings that would make them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ardchoice.data import Role, Source
from ardchoice.errors import ArdchoiceError
from ardchoice.record import StudyRecord
from ardchoice.selection import Rule
from ardchoice.settings.schema import (
    AUTO,
    FIELD_KEYS,
    ROLE_CLASSES,
    RULE_CLASSES,
    SOLVER_CLASSES,
    DataSettings,
    StudySettings,
    options_of,
)
from ardchoice.settings.values import MAX_INTERACTION_DEPTH, file_value
from ardchoice.space import SearchSpace


def settings_of(record: StudyRecord, folder: str | Path | None = None) -> StudySettings:
    """The settings that make a study like this one.

    Parameters
    ----------
    record
        A study, perhaps made in Python. Of data that were not read from a table there is nothing;
        of a data frame everything but the table.
    folder
        To which the table's path is made relative. Default: absolute.
    """
    structure, solver, done = record.structure, record.fit.solver, record.evaluation
    return StudySettings.model_validate(
        {
            "data": _data(record.data.source, folder),
            "model": _model(record),
            "space": _space(record.space),
            "structure": {"rules": False} if structure is None else _fields(structure),
            "solver": {"method": _name_in(SOLVER_CLASSES, solver), **_fields(solver)},
            "selection": _selection(record.rule, record.honest, record.seed),
            "output": {"folds": int(done.folds), "search_in_folds": bool(done.searched)}
            if done
            else {},
            "scenarios": {
                one.name: {"changes": one.changes, "by": one.by, "where": one.where}
                for one in (done.scenarios if done else ())
            },
        }
    )


def settings_if_any(record: StudyRecord) -> StudySettings | None:
    """The same; None where a study made in Python goes beyond what a study file can say."""
    try:
        return settings_of(record)
    except (ValidationError, ArdchoiceError):
        return None


def _model(record: StudyRecord) -> dict[str, Any]:
    """As requested: terms may have been selected with a simpler family."""
    if record.families is not None:
        return {"family": AUTO}
    family = record.family or record.fit.family
    return {"family": family.tag, **_fields(family)}


_SHARED = {f.name for f in fields(Source)} - {"choice"}
"""Settings that a source has under the same name; its choice is chosen in a long table."""


def _data(source: Source | None, folder: str | Path | None) -> dict[str, Any]:
    if source is None:
        return {}
    table = source.path
    if table is not None and folder is not None:
        table = Path(os.path.relpath(table, folder)).as_posix()
    wide = source.layout == "wide"
    words = {name: getattr(source, name) for name in DataSettings.model_fields if name in _SHARED}
    return {
        **words,
        "table": table,
        "alternatives": dict(source.alternatives),
        "choice" if wide else "chosen": source.choice,
        "availability": _pattern(source.availability, source.alternatives),
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
    return {} if role is None else {"kind": _name_in(ROLE_CLASSES, role), **_fields(role)}


def _space(space: SearchSpace) -> dict[str, Any]:
    words = _fields(space.options)
    return {**words, "depth": min(int(words["depth"]), MAX_INTERACTION_DEPTH)}


def _selection(rule: Rule, honest: bool, seed: int) -> dict[str, Any]:
    words = {"rule": _name_in(RULE_CLASSES, rule), "honest": bool(honest), "seed": int(seed)}
    words |= _fields(rule)
    # Folds are those of the study's seed by default.
    return words | ({"fold_seed": 0} if words.get("fold_seed") == seed else {})


def _name_in(classes: Mapping[str, type], value: object) -> str:
    return next(name for name, cls in classes.items() if isinstance(value, cls))


def _fields(value: Any) -> dict[str, Any]:
    """The keys of a section that the fields of an object are."""
    keys = FIELD_KEYS.get(type(value), {})
    return {keys.get(f.name, f.name): file_value(getattr(value, f.name)) for f in options_of(value)}
