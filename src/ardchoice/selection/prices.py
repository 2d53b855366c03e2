"""What terms cost by a rule on some data: the criterion of a search, and how it reads."""

from __future__ import annotations

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import ArdFit
from ardchoice.selection.constraints import Constraints
from ardchoice.selection.counting import log_valid_sets
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.rules import Searched


def design_effects(fit: ArdFit) -> Floats | None:
    """Of every candidate, one for main terms and constants; None where no person repeats.

    Main terms are priced as if answers were independent: with their design effect true terms of
    cost and time would be dropped.
    """
    if not fit.persons_repeat:
        return None
    interaction = np.array([bool(t.by) for t in fit.terms])
    return np.where(interaction, np.maximum(fit.tests.design_effect, 1.0), 1.0)


def criterion_of(rule: Searched, fit: ArdFit, n: int, constraints: Constraints) -> Criterion:
    """The criterion of a rule for the candidates of a relevance fit and n choice situations."""
    return rule.criterion(
        n,
        constraints.columns,
        design_effect=design_effects(fit) if rule.cluster else None,
        log_sets=log_valid_sets(constraints) if rule.cluster else None,
        searched=constraints.is_searched.astype(bool),
    )


def formula_of(criterion: Criterion, persons: int | None) -> str:
    """The criterion in words: formula, n, and the design effect where there is one."""
    weight = criterion.per_coefficient / np.log(criterion.n)
    by = "" if abs(weight - 1) < 1e-9 else f"{weight:g} "
    text = f"{criterion.name.partition(' with')[0]} = -2 LL + {by}K ln n"
    if criterion.gamma > 0:
        text += f" + 2 * {criterion.gamma:.3g} ln V(q)"
    if criterion.surcharge > 0:
        text += f" + {criterion.surcharge:.3g} q"
    text += f" with n = {criterion.n:,} choice situations"
    if criterion.gamma > 0:
        text += " and V(q) valid specifications of q terms"
    text += "."
    d = criterion.design_effect
    if d is not None and (d > 1).any():
        some = d[d > 1]
        text += (
            f" {persons:,} persons have several answers: an interaction costs d ln(n/d) rather "
            f"than ln n (with K columns, as much for the same chance of noise), with design "
            f"effects d of {some.min():.1f} to {some.max():.1f} (median {np.median(some):.1f})."
        )
    return text
