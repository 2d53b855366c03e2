"""Terms whose estimates diverge: a search prefers specifications without them."""

from __future__ import annotations

import numpy as np

from ardchoice.ard import ArdFit
from ardchoice.errors import IdentificationError
from ardchoice.estimation import estimate
from ardchoice.families import Mnl
from ardchoice.selection.constraints import Constraints
from ardchoice.selection.refits import Refit
from ardchoice.space import Specification

SUSPICIOUS_COEFFICIENT = 1.5
"""Size of a coefficient, per standard deviation of its column, from which it may diverge: refits
end when the log-likelihood hardly rises, for a level of 2 % of the rows at about 1.5."""
MOST_DIVERGENCE_ROUNDS = 8
"""How often a search starts again without what diverged."""
WHY_DIVERGES = (
    "its estimate diverges in '{}' (complete or quasi-complete separation): merge or pool levels"
)


def diverging_terms(
    fit: ArdFit, constraints: Constraints, best: Refit, few: bool = False
) -> dict[int, str]:
    """Terms of a specification whose estimates diverge, and may be out -> why they are.

    Interactions, where any of them diverge: without them their main terms are finite as a rule.
    Where passes are to be few, only if a coefficient is suspiciously large.
    """
    if not isinstance(fit.family, Mnl) or not len(best.beta):
        return {}
    if few and np.abs(best.beta).max() < SUSPICIOUS_COEFFICIENT:
        return {}
    selected = sorted(best.selected)
    specification = Specification(tuple(fit.terms[t] for t in selected))
    try:
        result = estimate(fit.data, specification, fit.family, separation="allow")
    except IdentificationError:
        # A case that does not occur, which the final estimation names.
        return {}
    terms = result.encoding.terms
    infinite = [
        t
        for t, columns in zip(selected, terms, strict=True)
        if result.is_infinite[columns.columns].any()
        and t not in constraints.forced
        # Without its constant, an alternative that nobody chooses would have a share.
        and (fit.terms[t].what is not None or fit.terms[t].by)
    ]
    banned = [t for t in infinite if fit.terms[t].by] or infinite
    return {t: WHY_DIVERGES.format(fit.terms[t]) for t in banned}
