"""Saved studies of earlier schemas in the shape of the present one.

A study saved today loads in every later version. A new field needs nothing here: its default says
what older files mean by its absence. What is renamed or takes another shape gets an upgrade, and
`SCHEMA_VERSION` counts up, so that older versions report that they are too old. `tests/saved`
keeps a study of every schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

SCHEMA_VERSION = 2
"""Of files that are written; all up to this can be read."""
Json = dict[str, Any]


def upgraded(content: Json, schema: int) -> Json:
    """The content of `study.json` as this version writes it."""
    for step in range(schema, SCHEMA_VERSION):
        content = SCHEMA_UPGRADES[step](content)
    return content


# -- From 1 to 2: "class" for "kind", variables by name, steps in columns, fields renamed ----------


def _from_1(content: Json) -> Json:
    study, fit = content["study"], content["study"]["fit"]
    for holder in (study, fit, study["result"], study["selection_result"] or {}):
        _upgrade_choices(holder.get("data"))
    for tagged in (study["rule"], fit["solver"]):
        tagged["class"] = tagged.pop("kind")
    for holder in (study, fit):
        if isinstance(holder["space"], dict):
            holder["space"]["options"] = holder["space"].pop("told")
    fit["revisited"] = fit.pop("recalled")
    fit["trace"]["of"] = fit["trace"].pop("of_most")
    fit["trace"] = {"columns": fit["trace"]}
    if (earlier := fit["earlier"]) is not None:
        earlier["standard"] = {name: earlier.pop(name) for name in ("centre", "scale")}
        for data in earlier["rows"]:
            _upgrade_choices(data)
    evaluation = study["evaluation"] or {}
    frames = [evaluation.get(name) for name in ("comparisons", "calibration", "stability")]
    for frame in (*frames, (evaluation.get("path") or {}).get("frame")):
        if frame is not None:
            frame["index"] = frame["index"] and _values(frame["index"])
            frame["columns"] = [_values(column) for column in frame["columns"]]
    return content


def _upgrade_choices(data: Any) -> None:
    """In place; what is only the number of a shared object stays."""
    if not isinstance(data, dict):
        return
    data["attributes"] = {one["name"]: one for one in data["attributes"]}
    data["covariates"] = {one["name"]: one for one in data["covariates"]}
    for covariate in data["covariates"].values():
        del covariate["alternatives"]
    data["situation"] = _values(data["situation"])
    for role in (data["source"] or {"roles": {}})["roles"].values():
        role["class"] = role.pop("kind")


def _values(column: Json) -> Any:
    return column["values"] if column["array"] is None else column["array"]


SCHEMA_UPGRADES: Mapping[int, Callable[[Json], Json]] = {1: _from_1}
