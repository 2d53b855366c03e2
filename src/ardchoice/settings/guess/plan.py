"""A first search space: what would run in seconds to a minute on these data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ardchoice.settings.guess.people import plausible
from ardchoice.settings.guess.profile import Column
from ardchoice.settings.guess.roles import Roles, Variable
from ardchoice.settings.guess.words import PEOPLE_WORDS, UNLIKED_WORDS, says, words

MAX_SPECIFIC_ALTERNATIVES = 12
"""Alternatives up to which each has coefficients of its own."""
MAX_INTERACTED_COVARIATES = 5
MAX_FIRST_PAIRS = 3
"""Covariates of two values that come first: what is large leaves them no room."""
MAX_TRANSFORMED_ATTRIBUTES = 25
"""Beyond this many attributes their logarithms are not tried at first."""
COLUMN_BUDGETS = ((20_000, 400), (200_000, 200))
"""Situations -> columns that a first space may have; fewer beyond the last."""
MIN_COLUMN_BUDGET = 100
SITUATIONS_PER_COLUMN = 2
"""Situations that every candidate column should have to speak for it."""


@dataclass(frozen=True)
class Plan:
    """The words of a first space.

    Attributes
    ----------
    transforms, by, base
    generic
        Whether all alternatives share their coefficients.
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
    add: tuple[str, ...]
    columns: int
    others: tuple[str, ...]
    signs: tuple[str, ...]


def plan_space(roles: Roles, situations: int, columns: Sequence[Column]) -> Plan:
    """A space of a size that suits the data."""
    names = list(roles.alternatives)
    generic = not roles.labelled or len(names) > MAX_SPECIFIC_ALTERNATIVES
    numeric = [a for a in roles.attributes if a.how.get("kind") != "categorical"]
    few = len(roles.attributes) <= MAX_TRANSFORMED_ATTRIBUTES
    transforms = ("linear", "log1p") if few and _any_above(numeric, columns) else ("linear",)
    places = 1 if generic else len(names)
    mains = places * (
        sum(a.columns for a in roles.attributes)
        + (len(transforms) - 1) * len(numeric)
        + (0 if generic else 1)
    )
    budget = next((columns for n, columns in COLUMN_BUDGETS if situations <= n), 60)
    budget = max(MIN_COLUMN_BUDGET, min(budget, situations // SITUATIONS_PER_COLUMN))
    by: list[str] = []
    others: list[str] = []
    total = mains
    likely = sorted(roles.covariates, key=plausible)
    pairs = [c for c in likely if c.columns == 1 and c.how.get("kind") == "categorical"]
    pairs = [c for c in pairs if any(w in PEOPLE_WORDS for w in words(c.name))][:MAX_FIRST_PAIRS]
    for covariate in [*pairs, *(c for c in likely if c not in pairs)]:
        more = mains * covariate.columns
        if len(by) < MAX_INTERACTED_COVARIATES and total + more <= budget:
            by.append(covariate.name)
            total += more
        else:
            others.append(covariate.name)
    return Plan(
        transforms=transforms,
        by=tuple(c.name for c in roles.covariates if c.name in by),
        base=names[-1] if names and not generic else None,
        generic=generic,
        add=roles.apart if generic else (),
        columns=total,
        others=tuple(others),
        signs=tuple(a.name for a in numeric if says(a.name, UNLIKED_WORDS)),
    )


def _any_above(attributes: Sequence[Variable], columns: Sequence[Column]) -> bool:
    """Whether some attribute is more than yes or no, so that a logarithm would differ."""
    more = {c.name for c in columns if c.distinct > 2 and c.low > -1}
    return any(more & attribute.columns_in([c.name for c in columns]) for attribute in attributes)
