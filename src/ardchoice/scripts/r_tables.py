"""Functions of R whose arguments are about the columns of a table: ``subset``, ``mutate``.

Names in them are columns before they are anything else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from ardchoice.scripts.forms import Form
from ardchoice.scripts.interpret import Names, Reader
from ardchoice.scripts.values import Foreign, Table

Verb = Callable[[Reader, ast.Call, Names], Any]
_MADE = r"^[ \t]*database[ \t]*(?:=|<-)[ \t]*"
_GIVEN = re.compile(
    rf"{_MADE}([A-Za-z][\w.]*)[ \t]*(?:$|\[|#|%>%|\|>)"
    rf"|{_MADE}(?:\w+::)?(?:subset|filter|mutate|transform)\([ \t]*([A-Za-z][\w.]*)",
    re.MULTILINE,
)
"""What ``database`` is made of, where that is a name."""


def given_tables(text: str) -> dict[str, Table]:
    """Tables that a script has from elsewhere: from a package, or an R data file.

    Apollo's own examples begin with ``database = apollo_modeChoiceData``.
    """
    names = {name for found in _GIVEN.findall(text) for name in found if name}
    return {name: Table() for name in ("database", *sorted(names))}


def _first_table(reader: Reader, node: ast.Call, names: Names) -> Table | None:
    """The table that a call is about."""
    if not node.args:
        return None
    table = reader.attempt(node.args[0], names)
    return table if isinstance(table, Table) else None


def _within(reader: Reader, table: Table, node: ast.expr, names: Names) -> Any:
    """An expression in which names that the table has, or nobody else, are its columns."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in called}
    columns = {
        name: reader.column(table, name)
        for name in used
        if name in table.columns or name in table.mapped or _is_undefined(name, names)
    }
    return reader.attempt(node, Names(columns, names))


def _is_undefined(name: str, names: Names) -> bool:
    try:
        return isinstance(names.find(name), Foreign)
    except KeyError:
        return True


def _filter(reader: Reader, node: ast.Call, names: Names) -> Any:
    table = _first_table(reader, node, names)
    if table is None:
        return NotImplemented
    given = {k.arg: k.value for k in node.keywords}
    conditions = [*node.args[1:], *([given["subset"]] if "subset" in given else [])]
    for condition in conditions:
        value = _within(reader, table, condition, names)
        if isinstance(value, Form):
            table = table.filtered(value.pure("a filter"))
        elif value is not True:
            table = table.copy()
            reason = "rows are chosen in a way that is not understood"
            table.doubts.append(reader.doubt(condition, reason))
    return table


def _mutate(reader: Reader, node: ast.Call, names: Names) -> Any:
    table = _first_table(reader, node, names)
    if table is None:
        return NotImplemented
    table = table.copy()
    for keyword in node.keywords:
        if keyword.arg is not None and not keyword.arg.startswith("."):
            value = _within(reader, table, keyword.value, names)
            reader.set_column(table, keyword.arg, value)
    return table


def _with(reader: Reader, node: ast.Call, names: Names) -> Any:
    table = _first_table(reader, node, names)
    if table is None or len(node.args) != 2:
        return NotImplemented
    return _within(reader, table, node.args[1], names)


def _same_rows(reader: Reader, node: ast.Call, names: Names) -> Any:
    """Columns chosen, rows ordered: nothing that a model would notice."""
    table = _first_table(reader, node, names)
    return NotImplemented if table is None else table


def _other_rows(reader: Reader, node: ast.Call, names: Names) -> Any:
    """What may change the rows, in a way that is not followed."""
    table = _first_table(reader, node, names)
    if table is None:
        return NotImplemented
    table = table.copy()
    name = node.func.id if isinstance(node.func, ast.Name) else "this"
    table.doubts.append(reader.doubt(node, f"{name} may change the rows"))
    return table


VERBS: Mapping[str, Verb] = {
    "subset": _filter,
    "filter": _filter,
    "mutate": _mutate,
    "transform": _mutate,
    "with": _with,
    **dict.fromkeys(("select", "arrange", "ungroup", "as_tibble", "data_table"), _same_rows),
    **dict.fromkeys(
        ("na_omit", "drop_na", "slice", "distinct", "sample_n", "left_join", "inner_join",
         "right_join", "merge", "pivot_wider", "pivot_longer", "head", "rename"),
        _other_rows,
    ),
}  # fmt: skip
"""Name of a function -> how it is understood, from the call as it stands."""
