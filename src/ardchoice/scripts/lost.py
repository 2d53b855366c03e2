"""What a statement that was not followed may have changed: tables, utilities and names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ardchoice.scripts.forms import Form
from ardchoice.scripts.names import Names
from ardchoice.scripts.values import Doubt, Table, Unknown

SHOWING = frozenset(
    (
        *("head", "tail", "describe", "info", "hist", "plot", "boxplot", "corr", "value_counts"),
        *("print", "memory_usage", "nunique", "sum", "mean", "count", "keys", "items", "columns"),
        *("get_sample_size", "getSampleSize", "sample_size", "get_number_of_observations"),
        *("getNumberOfObservations", "num_rows", "num_columns", "statistics", "dump_on_file"),
        *("dumpOnFile", "check_segmentation", "check_availability_of_chosen_alt"),
        *("choice_availability_statistics", "suggest_scaling", "suggestScaling", "is_panel"),
        *("sample_with_replacement", "generate_flat_panel_dataframe", "verify_segmentation"),
        *("to_csv", "to_excel", "to_parquet", "to_string", "to_markdown", "to_latex"),
        *("itertuples", "iterrows", "isnull", "isna", "equals", "copy", "get"),
    )
)
"""Methods that change nothing of what they are called on."""

SCOPES = frozenset(("globals", "locals", "vars"))
"""Functions that return all names, which may be changed there."""


def forget(node: ast.stmt, doubt: Doubt, names: Names, doubts: list[Doubt]) -> None:
    """Add a doubt to the tables and utilities that a statement may have changed.

    Parameters
    ----------
    node
        A statement that was not followed, or whose condition is not known.
    doubt
        Why not.
    names
        Where it stands.
    doubts
        Of the script, for what is in utilities.
    """
    for place in _changed(node):
        if any(isinstance(one, ast.Name) and one.id in SCOPES for one in ast.walk(place)):
            _add(doubts, doubt)
        root = _root(place)
        value = _found(root.id, names) if root is not None else None
        if isinstance(value, Table):
            _add(value.doubts, doubt)
        elif isinstance(value, dict) and any(isinstance(v, Form) for v in value.values()):
            _add(doubts, doubt)
        elif isinstance(value, Form) and isinstance(place, ast.Name):
            names.values[place.id] = Unknown(doubt)


def has_effect(node: ast.Expr) -> bool:
    """Whether a call that stands for itself is of a method that may change something."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr not in SHOWING


def leaves_loop(statements: list[ast.stmt]) -> bool:
    """Whether a round of a loop ends in some statements."""
    ends = ast.Break | ast.Continue
    return any(isinstance(inner, ends) for one in statements for inner in ast.walk(one))


def changed_in_place(node: ast.Expr) -> ast.expr | None:
    """What a method changes (``inplace=True``); None where it returns something else."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    in_place = any(
        k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in call.keywords
    )
    return call.func.value if in_place else None


def _changed(node: ast.stmt) -> Iterator[ast.expr]:
    """What a statement, and those within it, give a value to or call a method of."""
    for one in ast.walk(node):
        if isinstance(one, ast.Assign | ast.Delete):
            yield from one.targets
        elif isinstance(one, ast.AugAssign | ast.AnnAssign):
            yield one.target
        elif isinstance(one, ast.Expr) and has_effect(one):
            yield one.value.func.value  # type: ignore[attr-defined]


def _root(place: ast.expr) -> ast.Name | None:
    """The name that a column, an entry or a part is of, as ``names(table)[1]`` in R."""
    while isinstance(place, ast.Attribute | ast.Subscript | ast.Call):
        if not isinstance(place, ast.Call):
            place = place.value
        elif isinstance(place.func, ast.Attribute):
            place = place.func.value
        elif place.args:
            place = place.args[0]
        else:
            return None
    return place if isinstance(place, ast.Name) else None


def _found(name: str, names: Names) -> Any:
    try:
        return names.find(name)
    except KeyError:
        return None


def _add(doubts: list[Doubt], doubt: Doubt) -> None:
    if doubt not in doubts:
        doubts.append(doubt)
