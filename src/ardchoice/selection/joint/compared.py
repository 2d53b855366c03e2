"""Never worse than the multinomial logit's terms: both sets of terms as mixed logits, by BIC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import Result, fit_anyway
from ardchoice.families import Mixed, QuickFits
from ardchoice.selection.joint.exact import Confirmed, candidates_of, possible_random
from ardchoice.selection.joint.select import JointSelection
from ardchoice.selection.refits import with_unit_weights
from ardchoice.selection.signs import SignRules, with_expected_signs
from ardchoice.selection.structure import Structure
from ardchoice.space import Specification

QUICK_TOLERANCE = 3.0
"""Of BIC, by which a quick fit may miss: beyond it the terms are not estimated to the end."""


def not_worse_than_mnl(
    data: ChoiceData, confirmed: Confirmed, *, family: Mixed, structure: Structure | None
) -> Confirmed:
    """The multinomial logit's terms in place of those decided jointly, if their BIC is lower.

    The joint decision rests on approximations (Laplace, quadratics). BIC over persons compares the
    exact fits of both sets of terms with the same random coefficients, as far as both have them.

    Parameters
    ----------
    data
        Those that selected.
    confirmed
        What was decided jointly.
    family
        As asked for.
    structure
        Signs that the other terms must obey too.
    """
    selection = confirmed.selection
    terms = Specification(selection.mnl.terms)
    if confirmed.estimated is None or set(terms.terms) == set(selection.specification.terms):
        return confirmed
    result = confirmed.estimated[0]
    own = _bic(result)
    random = possible_random(selection.random, Design(data, terms.terms).encoding)
    if not random:
        return confirmed
    try:
        quick = QuickFits(with_unit_weights(data), terms.terms, family.nodes, family.seed)
        found = quick.fit(random)
        size = len(found.values)
        rough = -2 * found.loglik / _scale(data) + size * np.log(_persons(result))
        if rough > own + QUICK_TOLERANCE:
            return confirmed
        other, notes = fit_anyway(data, terms, family.with_random(random))
    except ArdchoiceError:  # it has no such model: nothing is compared
        return confirmed
    if not other.converged or _bic(other) >= own or _wrong_signs(other, structure):
        return confirmed
    return Confirmed(_with_terms_of_mnl(selection, random, own, _bic(other)), (other, notes))


def _bic(result: Result) -> float:
    return float(-2 * result.loglik + result.n_parameters * np.log(_persons(result)))


def _persons(result: Result) -> int:
    return result.n_persons or result.n_situations


def _scale(data: ChoiceData) -> float:
    """Of a log-likelihood with weights that average to one, over that with weights as they are."""
    return len(data) / data.total_weight


def _wrong_signs(result: Result, structure: Structure | None) -> int:
    terms = [t.term for t in result.encoding.terms]
    structure = with_expected_signs(structure, result.data, terms)
    if structure is None or not structure.given_signs:
        return 0
    signs = {k: v for k, v in structure.given_signs.items() if k in {t.what for t in terms}}
    rules = SignRules(signs, result.encoding, result.data)
    return rules.count(range(len(terms)), result.mean_coefficients)


def _with_terms_of_mnl(
    selection: JointSelection, random: Mapping[str, str], own: float, other: float
) -> JointSelection:
    note = (
        f"The terms are those of the multinomial logit: as a mixed logit, their BIC over "
        f"{selection.persons:,} persons is {other:,.1f}, that of the "
        f"{len(selection.specification)} terms decided together with the random coefficients "
        f"{own:,.1f}."
    )
    specification = replace(selection.mnl, notes=(*selection.mnl.notes, note))
    candidates = candidates_of(selection, random)
    return replace(selection, specification=specification, candidates=candidates, explained={})
