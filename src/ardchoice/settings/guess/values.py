"""What values say beyond names: totals beside their parts, and whether alternatives differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ardchoice._types import Floats
from ardchoice.settings.guess.profile import Column, named
from ardchoice.settings.guess.roles import Roles, Variable

MAX_SUMMED_ATTRIBUTES = 20
"""Attributes among which totals are looked for."""
SAME_SHARE = 1e-3
"""Share of its spread by which a total may miss the sum of its parts: all three are rounded."""
LABELLED_SHARE = 0.15
"""Share of an attribute's variance between alternatives from which these are labelled."""


@np.errstate(all="ignore")  # values may be of any size
def without_totals(roles: Roles, columns: Sequence[Column]) -> Roles:
    """The same without attributes that are the sum of two others, or another one in other units.

    A total beside its parts is not identified.
    """
    values = {a.name: _stacked(a, columns) for a in roles.attributes}
    known = {name: v for name, v in values.items() if v is not None and np.nanstd(v) > 0}
    if len(known) > MAX_SUMMED_ATTRIBUTES:
        return roles
    totals: dict[str, str] = {}
    for total, whole in known.items():
        for one, two in combinations([n for n in known if n != total], 2):
            if one in totals or two in totals:
                continue
            parts = (known[one], known[two])
            if {len(p) for p in parts} == {len(whole)} and _same(whole, parts[0] + parts[1]):
                totals[total] = f"{one} + {two}: the two say more"
                break
    gone = {
        column: f"{name} is {why}"
        for name, why in totals.items()
        for column in _columns(roles, name, columns)
    }
    return replace(
        roles,
        attributes=tuple(a for a in roles.attributes if a.name not in totals),
        left_out={**roles.left_out, **gone},
    )


def _columns(roles: Roles, name: str, columns: Sequence[Column]) -> list[str]:
    attribute = next(a for a in roles.attributes if a.name == name)
    return sorted(attribute.columns_in([c.name for c in columns]))


def _stacked(attribute: Variable, columns: Sequence[Column]) -> Floats | None:
    """All values of a numeric attribute, alternative after alternative; None of others."""
    used = attribute.columns_in([c.name for c in columns])
    each = [c for c in columns if c.name in used]
    if not each or not all(c.numeric for c in each):
        return None
    # In the order of the alternatives' names, whatever the order of the columns.
    where = attribute.how.get("column", attribute.name)
    if isinstance(where, dict):
        order = {column: alternative for alternative, column in where.items()}
        each.sort(key=lambda c: order.get(c.name, c.name))
    else:
        before, _, after = str(where).partition("{alt}")
        each.sort(key=lambda c: c.name[len(before) : len(c.name) - len(after)])
    return np.concatenate([c.numbers for c in each])


def _same(a: Floats, b: Floats) -> bool:
    known = np.isfinite(a) & np.isfinite(b)
    if not known.any() or (known != np.isfinite(a)).any():
        return False
    return bool(np.abs(a[known] - b[known]).max() <= SAME_SHARE * np.std(a[known]))


@np.errstate(all="ignore")
def are_labelled(alternative: Column, columns: Sequence[Column]) -> bool:
    """Whether attributes differ between alternatives as those of modes do, not as in a design.

    Parameters
    ----------
    alternative
        Of a long table.
    columns
        Numeric attributes.
    """
    return any(_between_share(alternative, c) > LABELLED_SHARE for c in columns if c.numeric)


def _between_share(group: Column, column: Column) -> float:
    """Share of the variance of a column that is between groups (eta squared)."""
    known = np.isfinite(column.numbers)
    values, codes = column.numbers[known], group.codes[known]
    spread = float(values.var()) if len(values) else 0.0
    if spread <= 0:
        return 0.0
    counts = np.bincount(codes, minlength=group.distinct).astype(float)
    means = np.bincount(codes, values, minlength=group.distinct) / np.maximum(counts, 1.0)
    return float(counts @ (means - values.mean()) ** 2 / len(values) / spread)


def without_own_level(
    where: Mapping[str, str], columns: Sequence[Column]
) -> tuple[dict[str, str], str]:
    """The columns of a categorical attribute but for alternatives that always have a level alone.

    A bus whose fuel is always 'none', which no car has: the level cannot be told from the constant
    of the bus, and the attribute is one of cars.

    Parameters
    ----------
    where
        Alternative -> column.
    columns
        Of the table.

    Returns
    -------
    tuple
        Alternative -> column, and what is reported of those that are not in it.
    """
    labels = {a: set(c.labels) for a, name in where.items() if (c := named(columns, name))}
    varying = [found for found in labels.values() if len(found) != 1]
    shared: set[str] = set().union(*varying)
    alone = [a for a, found in labels.items() if len(found) == 1 and not found & shared]
    if not varying or not alone:
        return dict(where), ""
    said = " and ".join(f"{a} is always {next(iter(labels[a]))}" for a in alone)
    return {a: c for a, c in where.items() if a not in alone}, f"; {said}, as its constant says"
