"""Letters that all column names begin with, such as ``q_``: taken off to guess, put back after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ardchoice.settings.guess.roles import Finding, Roles, Variable

MIN_NAMES = 4
"""Columns from which a common beginning is no chance."""


def common_prefix(names: Sequence[str]) -> str:
    """What all names begin with, up to a separator; empty where they do not."""
    if len(names) < MIN_NAMES:
        return ""
    # The first and the last in their order differ as early as any two.
    first, last = min(names), max(names)
    same = next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    start = first[:same]
    ends = [i for i, letter in enumerate(start, 1) if not letter.isalnum()]
    prefix = start[: ends[-1]] if ends else ""
    return prefix if prefix and all(len(name) > len(prefix) for name in names) else ""


def with_prefix(roles: Roles, prefix: str) -> Roles:
    """The same roles with whole names of columns; attributes and covariates keep short ones."""

    def finding(role: str, found: Finding) -> Finding:
        if role in ("layout", "alternatives"):
            return found
        value = None if found.value is None else _whole(found.value, prefix)
        return replace(
            found, value=value, instead=tuple(_whole(name, prefix) for name in found.instead)
        )

    def variable(one: Variable) -> Variable:
        column = _where(one.how.get("column", one.name), prefix)
        return replace(one, how={"column": column, **{**one.how, "column": column}})

    available = roles.availability
    return replace(
        roles,
        findings={role: finding(role, found) for role, found in roles.findings.items()},
        attributes=tuple(map(variable, roles.attributes)),
        covariates=tuple(map(variable, roles.covariates)),
        left_out={prefix + name: why for name, why in roles.left_out.items()},
        availability=None if available is None else _where(available, prefix),
        pair=tuple(prefix + name for name in roles.pair),
    )


def _whole(text: str, prefix: str) -> str:
    """Names of columns, or a pattern, with their beginning."""
    return ", ".join(prefix + part for part in text.split(", "))


def _where(column: Any, prefix: str) -> Any:
    """A column, a pattern, or alternative -> column."""
    if isinstance(column, dict):
        return {alternative: prefix + name for alternative, name in column.items()}
    return prefix + column
