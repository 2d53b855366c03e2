"""Columns that tell the outcome: what the chosen alternative costs, beside what each costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import recognised_kind
from ardchoice.settings.guess.profile import Column, named
from ardchoice.settings.guess.roles import Roles, Variable
from ardchoice.settings.guess.words import plain

SAME_SHARE = 1e-3
"""Share of its spread by which such a column may miss the attribute: both are rounded."""
FREE_TEXT_LETTERS = 2
"""Names of attributes of no more letters take that of the column, where it begins so."""


@np.errstate(all="ignore")  # values may be of any size
def without_outcomes(roles: Roles, columns: Sequence[Column]) -> Roles:
    """The same without columns of a wide table that hold an attribute of the chosen alternative.

    As a covariate it would explain the choice by itself. An attribute that is called by a letter,
    the ``p`` of ``pboat``, takes the name of such a column, ``price``.
    """
    choice = named(columns, roles.column("choice"))
    if choice is None or not roles.alternatives:
        return roles
    used = {c for a in roles.attributes for c in _columns(a, roles).values()}
    free = [c for c in columns if c.numeric and c.name not in used and c is not choice]
    gone, names = dict(roles.left_out), {a.name for a in roles.attributes}
    attributes = []
    for attribute in roles.attributes:
        chosen = _of_chosen(attribute, roles, choice, columns)
        if chosen is not None:
            for column in free:
                if column.name in gone or not _same(chosen, column.numbers):
                    continue
                gone[column.name] = (
                    f"{attribute.name} of the chosen alternative: it would explain the choice by "
                    "itself"
                )
                if _stands_for(attribute.name, column.name) and column.name not in names:
                    names.add(column.name)
                    attribute = _called(attribute, column.name)
        attributes.append(attribute)
    return replace(roles, attributes=tuple(attributes), left_out=gone)


def _of_chosen(
    attribute: Variable, roles: Roles, choice: Column, columns: Sequence[Column]
) -> Floats | None:
    """Values of the chosen alternative; None where alternatives do not differ; shape (rows,)."""
    each = {a: named(columns, c) for a, c in _columns(attribute, roles).items()}
    out = np.full(choice.rows, np.nan)
    other = np.full(choice.rows, np.nan)
    for alternative, column in each.items():
        code = roles.alternatives.get(alternative)
        if column is None or not column.numeric or code not in choice.labels:
            continue
        here = choice.codes == choice.labels.index(code)
        out[here], other[~here] = column.numbers[here], column.numbers[~here]
    known = np.isfinite(out)
    if not known.any():
        return None
    differ = np.abs(out[known] - other[known]) > SAME_SHARE * np.std(out[known])
    return out if differ.any() else None


def _columns(attribute: Variable, roles: Roles) -> dict[str, str]:
    """Alternative -> column; nothing for an attribute of a long table."""
    where = attribute.how.get("column", attribute.name)
    if isinstance(where, dict):
        return where
    if "{alt}" not in str(where):
        return {}
    return {a: str(where).replace("{alt}", a) for a in roles.alternatives}


def _same(chosen: Floats, values: Floats) -> bool:
    known = np.isfinite(chosen)
    if not known.any() or len(values) != len(chosen):
        return False
    spread = np.std(chosen[known])
    return bool(spread > 0 and np.abs(chosen[known] - values[known]).max() <= SAME_SHARE * spread)


def _stands_for(short: str, name: str) -> bool:
    letters = plain(short)
    return (
        0 < len(letters) <= FREE_TEXT_LETTERS
        and plain(name).startswith(letters)
        and recognised_kind(short) is None
    )


def _called(attribute: Variable, name: str) -> Variable:
    return replace(attribute, name=name, how={"column": attribute.name, **attribute.how})
