"""A first search space: what would run in seconds to a minute on these data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ardchoice.settings.guess.people import plausible
from ardchoice.settings.guess.profile import Column
from ardchoice.settings.guess.roles import Roles, Variable
from ardchoice.settings.guess.words import PEOPLE, UNLIKED, says, words

MOST_LABELLED = 12
"""Alternatives up to which each has coefficients of its own."""
MOST_BY = 5
MOST_PAIRS = 3
"""Covariates of two values that come first: what is large leaves them no room."""
MOST_ATTRIBUTES = 25
"""Beyond this many attributes their logarithms are not tried at first."""
BUDGET = ((20_000, 400), (200_000, 200))
"""Situations -> columns that a first space may have; fewer beyond the last."""
FEWEST = 100
ROWS_PER_COLUMN = 2
"""Situations that every candidate column should have to speak for it."""


@dataclass(frozen=True)
class Plan:
    """The words of a first space.

    Attributes
    ----------
    transforms, by, base
    generic
        Whether all alternatives share their coefficients.
    constants
    add
        Alternatives that have a constant though the others have none.
    columns
        How many it has, about.
    others
        Covariates that would make it larger.
    signs
        Attributes of which more is seldom liked.
    """

    transforms: tuple[str, ...]
    by: tuple[str, ...]
    base: str | None
    generic: bool
    constants: bool
    add: tuple[str, ...]
    columns: int
    others: tuple[str, ...]
    signs: tuple[str, ...]


def plan_space(roles: Roles, situations: int, columns: Sequence[Column]) -> Plan:
    """A space of a size that suits the data."""
    names = list(roles.alternatives)
    generic = not roles.labelled or len(names) > MOST_LABELLED
    numeric = [a for a in roles.attributes if a.how.get("kind") != "categorical"]
    few = len(roles.attributes) <= MOST_ATTRIBUTES
    transforms = ("linear", "log1p") if few and _any_above(numeric, columns) else ("linear",)
    places = 1 if generic else len(names)
    mains = places * (
        sum(a.columns for a in roles.attributes)
        + (len(transforms) - 1) * len(numeric)
        + (0 if generic else 1)
    )
    budget = _budget(situations)
    by: list[str] = []
    others: list[str] = []
    total = mains
    likely = sorted(roles.covariates, key=plausible)
    pairs = [c for c in likely if c.columns == 1 and c.how.get("kind") == "categorical"]
    pairs = [c for c in pairs if any(w in PEOPLE for w in words(c.name))][:MOST_PAIRS]
    for covariate in [*pairs, *(c for c in likely if c not in pairs)]:
        more = mains * covariate.columns
        if len(by) < MOST_BY and total + more <= budget:
            by.append(covariate.name)
            total += more
        else:
            others.append(covariate.name)
    base = names[-1] if names and not generic else None
    return Plan(
        transforms=transforms,
        by=tuple(c.name for c in roles.covariates if c.name in by),
        base=base,
        generic=generic,
        constants=not generic,
        add=roles.apart if generic else (),
        columns=total,
        others=tuple(others),
        signs=tuple(a.name for a in numeric if says(a.name, UNLIKED)),
    )


def _budget(situations: int) -> int:
    most = next((columns for n, columns in BUDGET if situations <= n), 60)
    return max(FEWEST, min(most, situations // ROWS_PER_COLUMN))


def _any_above(attributes: Sequence[Variable], columns: Sequence[Column]) -> bool:
    """Whether some attribute is more than yes or no, so that a logarithm would differ."""
    by_name = {c.name: c for c in columns}
    for attribute in attributes:
        where = attribute.how.get("column", attribute.name)
        each = list(where.values()) if isinstance(where, dict) else [str(where)]
        for name in each:
            if "{alt}" in name:
                start, _, end = name.partition("{alt}")
                found = [c for c in columns if c.name.startswith(start) and c.name.endswith(end)]
            else:
                found = [by_name[name]] if name in by_name else []
            if any(c.distinct > 2 and c.low > -1 for c in found):
                return True
    return False
