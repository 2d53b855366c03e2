"""What terms cost by a rule on some data: the criterion of a search, and how it reads."""

from __future__ import annotations

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import FORM_SHARE, INTERACTION_SHARE, ArdFit, design_effect_shares
from ardchoice.data import ChoiceData
from ardchoice.selection.constraints import Constraints
from ardchoice.selection.counting import log_valid_sets
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.rules import Searched


def design_effects(fit: ArdFit) -> Floats | None:
    """Of every candidate, as far as prices have it in them; None where no person repeats.

    No more than that of answers that are the same within every person: beyond it, scores vary
    because the model misses some rows by far, which is no dependence between answers.
    """
    if not fit.persons_repeat:
        return None
    excess = np.clip(fit.tests.substitute_effect, 1.0, largest_design_effect(fit.data)) - 1.0
    return 1.0 + design_effect_shares(fit.terms) * excess


def largest_design_effect(data: ChoiceData) -> float:
    """Σ W_n² / Σ W_n, W_n the weights of a person's answers: the design effect were they all alike.

    With m answers of every person and no weights, m. At least one.
    """
    if data.person is None:
        return 1.0
    answers = np.bincount(data.person, data.weights).astype(np.float64)
    return max(1.0, float(answers @ answers) * len(data) / data.total_weight**2)


def _sets(constraints: Constraints) -> Floats:
    """Ln V(q), nowhere falling: a set is not better for being so large that few are larger."""
    return np.maximum.accumulate(log_valid_sets(constraints))


def criterion_of(rule: Searched, fit: ArdFit, n: int, constraints: Constraints) -> Criterion:
    """The criterion of a rule for the candidates of a relevance fit and n choice situations."""
    return rule.criterion(
        n,
        constraints.columns,
        design_effect=design_effects(fit) if rule.cluster else None,
        log_sets=_sets(constraints) if rule.cluster else None,
        searched=constraints.is_searched.astype(bool),
    )


def formula_of(criterion: Criterion, persons: int | None) -> str:
    """The criterion in words: formula, n, and the design effect where there is one."""
    weight = criterion.per_coefficient / np.log(criterion.n)
    by = "" if abs(weight - 1) < 1e-9 else f"{weight:g} "
    text = f"{criterion.name.partition(' with')[0]} = -2 LL + {by}K ln n"
    d = criterion.design_effect
    flat = d is None or not (d > 1).any()
    if criterion.gamma > 0:
        text += f" + 2 * {criterion.gamma:.3g} ln V(q)"
    if criterion.surcharge > 0:
        text += f" + {criterion.surcharge:.3g} {'q' if flat else 'Σ d'}"
    text += f" with n = {criterion.n:,} choice situations"
    if criterion.gamma > 0:
        text += " and V(q) valid specifications of q terms"
    text += "."
    if d is not None and not flat:
        some = d[d > 1]
        text += (
            f" {persons:,} persons answered: a term with the design effect D costs "
            f"d ln(n/d) rather than ln n (with K columns, as much for the same chance of noise), "
            f"d = 1 + s (D - 1) with s = {INTERACTION_SHARE:g} for interactions, {FORM_SHARE:g} "
            f"for a form in place of the linear one and 0 for other main terms; d is "
            f"{some.min():.1f} to {some.max():.1f} (median {np.median(some):.1f})."
        )
    return text
