"""A first search space: what would run in seconds to a minute on these data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ardchoice.data import recognised_kind
from ardchoice.settings.guess.people import is_place, plausible
from ardchoice.settings.guess.profile import Column
from ardchoice.settings.guess.roles import Roles, Variable
from ardchoice.settings.guess.words import COUNT_WORDS, people_rank, says

MAX_SPECIFIC_ALTERNATIVES = 12
"""Alternatives up to which each has coefficients of its own."""
MAX_CONSTANT_ALTERNATIVES = 30
"""Labelled alternatives up to which each has a constant."""
MAX_POSITION_CONSTANTS = 12
"""Unlabelled alternatives up to which their positions have constants to be tested."""
MAX_INTERACTED_COVARIATES = 5
MAX_UNKNOWN_COLUMNS = 4
"""Coefficients that a term of a covariate may take whose name says nothing."""
MAX_FIRST_PAIRS = 2
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
    specific
        Whether attributes have alternative-specific coefficients beside generic ones.
    constants
        Whether every alternative but the base has a constant, also interacted.
    positions
        Unlabelled alternatives whose position may have a constant, a candidate among others.
    apart
        Alternatives unlike the others, such as none of these: they keep a constant.
    columns
        How many it has, about.
    others
        Covariates that would make it larger.
    signs
        Attributes that are recognised -> as what.
    """

    transforms: tuple[str, ...]
    by: tuple[str, ...]
    base: str | None
    specific: bool
    constants: bool
    positions: tuple[str, ...]
    apart: tuple[str, ...]
    columns: int
    others: tuple[str, ...]
    signs: dict[str, str]


def plan_space(roles: Roles, situations: int, columns: Sequence[Column]) -> Plan:
    """A space of a size that suits the data."""
    names = list(roles.alternatives)
    specific = roles.labelled and len(names) <= MAX_SPECIFIC_ALTERNATIVES
    constants = roles.labelled and len(names) <= MAX_CONSTANT_ALTERNATIVES
    numeric = [a for a in roles.attributes if a.how.get("kind") != "categorical"]
    few = len(roles.attributes) <= MAX_TRANSFORMED_ATTRIBUTES
    transforms = ("linear", "log1p") if few and _any_above(numeric, columns) else ("linear",)
    places = 1 + specific * len(names)
    mains = places * (
        sum(a.columns for a in roles.attributes) + (len(transforms) - 1) * len(numeric)
    ) + constants * (len(names) - 1)
    budget = next((columns for n, columns in COLUMN_BUDGETS if situations <= n), 60)
    budget = max(MIN_COLUMN_BUDGET, min(budget, situations // SITUATIONS_PER_COLUMN))
    by: list[str] = []
    others: list[str] = []
    total = mains
    likely = sorted(roles.covariates, key=plausible)
    pairs = [c for c in likely if c.columns == 1 and c.how.get("kind") == "categorical"]
    pairs = [c for c in pairs if people_rank(c.name) is not None][:MAX_FIRST_PAIRS]
    for covariate in [*pairs, *(c for c in likely if c not in pairs)]:
        more = mains * covariate.columns
        if people_rank(covariate.name) is None and is_unsuitable(covariate):
            others.append(covariate.name)
        elif len(by) < MAX_INTERACTED_COVARIATES and total + more <= budget:
            by.append(covariate.name)
            total += more
        else:
            others.append(covariate.name)
    return Plan(
        transforms=transforms,
        by=tuple(c.name for c in roles.covariates if c.name in by),
        base=names[-1] if names and constants else None,
        specific=specific,
        constants=constants,
        positions=_positions(roles, constants),
        apart=() if constants else roles.apart,
        columns=total,
        others=tuple(others),
        signs={
            a.name: kind
            for a in numeric
            if (kind := recognised_kind(a.name)) is not None and not _any_below_zero(a, columns)
        },
    )


def is_unsuitable(covariate: Variable) -> bool:
    """Whether a column that does not say whom it describes may be an id, a zone or a count."""
    return (
        covariate.how.get("kind") != "categorical"
        or covariate.columns > MAX_UNKNOWN_COLUMNS
        or is_place(covariate.name)
        or says(covariate.name, COUNT_WORDS) > 0
    )


def _positions(roles: Roles, constants: bool) -> tuple[str, ...]:
    """Positions that may have a constant: those of unlabelled alternatives, but for the last."""
    alike = [name for name in roles.alternatives if name not in roles.apart]
    many = len(alike) > MAX_POSITION_CONSTANTS
    return () if constants or roles.labelled or many else tuple(alike[:-1])


def _any_below_zero(attribute: Variable, columns: Sequence[Column]) -> bool:
    """Whether some value is negative: then it is no amount of money or time."""
    used = attribute.columns_in([c.name for c in columns])
    return any(c.low < 0 for c in columns if c.name in used)


def _any_above(attributes: Sequence[Variable], columns: Sequence[Column]) -> bool:
    """Whether some attribute is more than yes or no, so that a logarithm would differ."""
    more = {c.name for c in columns if c.distinct > 2 and c.low > -1}
    return any(more & attribute.columns_in([c.name for c in columns]) for attribute in attributes)
