"""A study file with the data of a script, and its specification to compare with."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ardchoice.data import Numeric
from ardchoice.scripts.model import ScriptModel
from ardchoice.settings import StudySettings, to_toml
from ardchoice.text import one_line

WIDTH = 96
"""Of a line of a comment."""


def study_file(model: ScriptModel, name: str, table: Path, folder: Path) -> str:
    """The text of a study file for a table as a script reads it.

    Parameters
    ----------
    model
    name
        Of the script, under which its specification is compared.
    table
        The file.
    folder
        In which the study file will be.
    """
    data = {key: _plain(value) for key, value in model.reading.items()}
    data |= {"table": Path(os.path.relpath(table, folder)).as_posix(), "layout": model.layout}
    settings = StudySettings.model_validate(
        {
            "data": data,
            "output": {"compare": {name: model.specification.to_text()}},
            **(
                {"model": {"family": "mixed", "random": dict(model.random)}} if model.random else {}
            ),
        }
    )
    return _comments(model, name) + "\n" + to_toml(settings)


def _plain(value: Any) -> Any:
    """Roles as tables of a study file."""
    if isinstance(value, Numeric):
        return {"kind": "numeric", "column": _plain(value.column)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    return value


def _comments(model: ScriptModel, name: str) -> str:
    """What was not understood, first of all."""
    out = [f"# Written by ardchoice init from {one_line(name)}, a script for {model.package}."]
    for doubt in model.not_understood:
        first, *rest = textwrap.wrap(f"Not understood: {one_line(str(doubt))}", WIDTH)
        out += [f"# ! {first}", *(f"#   {line}" for line in rest)]
    if model.fixed:
        values = ", ".join(f"{term} = {value:g}" for term, value in model.fixed.items())
        lines = textwrap.wrap(f"Fixed in the script, and free here: {one_line(values)}", WIDTH)
        out += [f"# {line}" for line in lines]
    text = (
        "Candidates are the attributes as they are. To search further, list forms and covariates "
        'under [space]: transforms = ["linear", "log1p"], by = ["..."].'
    )
    if "person" not in model.reading:
        text += ' If persons answered several times, name their column under [data]: person = "..."'
    out += [f"# {line}" for line in textwrap.wrap(text, WIDTH)]
    return "\n".join(out) + "\n"
