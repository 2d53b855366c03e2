"""Terms whose estimates diverge, or that others repeat: a search prefers to do without them."""

from __future__ import annotations

from collections.abc import Sequence

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
WHY_COLLINEAR = (
    "it is collinear with '{}', which stays: merge levels so that it is not, or let constants go "
    "(constants=False in the structure)"
)
MOST_DIVERGENCE_ROUNDS = 8
"""How often a search starts again without what diverged."""
SUSPICIOUS_EIGENVALUE = 1e-7
"""Least eigenvalue of the curvature, with a unit diagonal, below which terms may be collinear."""
WHY_DIVERGES = (
    "its estimate diverges in '{}' (complete or quasi-complete separation): merge or pool levels"
)


def diverging_terms(
    fit: ArdFit, constraints: Constraints, best: Refit, few: bool = False
) -> dict[int, str]:
    """Terms of a specification whose estimates diverge, and may be out -> why they are.

    Interactions, where any of them diverge: without them their main terms are finite as a rule.
    Or terms that are collinear with others. Where passes are to be few, only if a coefficient is
    suspiciously large, or the curvature of relevance nearly singular.
    """
    if not isinstance(fit.family, Mnl) or not len(best.beta):
        return {}
    selected = sorted(best.selected)
    is_suspicious = np.abs(best.beta).max() >= SUSPICIOUS_COEFFICIENT
    if few and not is_suspicious and not _may_be_collinear(fit, selected):
        return {}
    specification = Specification(tuple(fit.terms[t] for t in selected))
    try:
        result = estimate(fit.data, specification, fit.family, separation="allow")
    except IdentificationError as error:
        return _collinear_terms(fit, constraints, selected, error)
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


def _may_be_collinear(fit: ArdFit, selected: Sequence[int]) -> bool:
    """Whether the curvature over these terms, with a unit diagonal, is nearly singular."""
    each = np.arange(fit.encoding.n_columns)
    columns = np.concatenate([each[fit.encoding.terms[t].columns] for t in selected])
    curvature = fit.quadratic.curvature[np.ix_(columns, columns)]
    scale = 1 / np.sqrt(np.maximum(np.diag(curvature), 1e-300))
    least = np.linalg.eigvalsh(curvature * scale * scale[:, None])[0]
    return bool(least < SUSPICIOUS_EIGENVALUE)


def _collinear_terms(
    fit: ArdFit, constraints: Constraints, selected: Sequence[int], error: IdentificationError
) -> dict[int, str]:
    """A term of every direction in which no probability changes, if one may be out -> why it is.

    A level that does not occur is left to the final estimation, which names it.
    """
    found = {}
    for numbers in error.collinear:
        involved = [selected[number] for number in sorted(numbers)]
        free = [t for t in involved if t not in constraints.forced and t not in found]
        if len(involved) < 2 or not free or any(t in found for t in involved):
            continue
        # The one that says least besides.
        out = min(free, key=lambda t: (constraints.columns[t], -t))
        staying = ", ".join(str(fit.terms[t]) for t in involved if t != out)
        found[out] = WHY_COLLINEAR.format(staying)
    return found
