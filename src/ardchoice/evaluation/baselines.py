"""Baseline specifications: equal shares, constants only, every attribute linear."""

from __future__ import annotations

from ardchoice.data import ChoiceData
from ardchoice.record import CONSTANTS_ONLY, EQUAL_SHARES, PLAIN_LINEAR
from ardchoice.space import SearchSpace, Specification, Term

MAX_LINEAR_COEFFICIENTS = 300
"""Beyond these a linear baseline takes longer than it is useful."""


def baselines(data: ChoiceData, space: SearchSpace) -> dict[str, Specification]:
    """What every modeller estimates first: constants, and every attribute of the space, linear.

    Coefficients are alternative-specific where the space allows it; the others are generic.
    """
    constants = any(t.what is None and t.where and not t.by for t in space.terms)
    names = list(dict.fromkeys(t.what for t in space.terms if t.what is not None))
    specific = {t.what for t in space.terms if t.what is not None and t.where}
    first = SearchSpace(data, base=space.base, attributes=[], constants=constants)
    out = {CONSTANTS_ONLY if constants else EQUAL_SHARES: Specification(first.terms)}
    linear = SearchSpace(
        data,
        base=space.base,
        attributes=[name for name in names if name in specific],
        constants=constants,
        add=[Term((), name) for name in names if name not in specific],
    )
    if len(linear) > len(first) and linear.n_columns <= MAX_LINEAR_COEFFICIENTS:
        out[PLAIN_LINEAR] = Specification(linear.terms)
    return out
