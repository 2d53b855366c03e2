"""Baseline specifications: constants only, the textbook model, every attribute specific."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.families import one_pass
from ardchoice.numerics import single_blas_thread
from ardchoice.record import ALL_SPECIFIC, CONSTANTS_ONLY, EQUAL_SHARES, TEXTBOOK
from ardchoice.space import SearchSpace, Specification, Term

MAX_BASELINE_COEFFICIENTS = 300
"""Beyond these a baseline takes longer than it is useful."""
MAX_CONSTANT_ALTERNATIVES = 30
"""Alternatives up to which each has a constant, whatever the space says."""
MIN_OWN_INFORMATION_SHARE = 1e-8
"""Share of a column's information that the columns before it may leave it, at least."""


def baselines(data: ChoiceData, space: SearchSpace) -> dict[str, Specification]:
    """What every modeller estimates first.

    Constants only; the textbook model: constants and a generic coefficient of every attribute of
    the space, linear; the same with alternative-specific coefficients. What they cannot identify
    (a total beside its parts) is excluded, the later term first. With very many
    alternatives equal shares stand for constants.
    """
    constants = len(data.alternatives) <= MAX_CONSTANT_ALTERNATIVES
    names = list(dict.fromkeys(t.what for t in space.terms if t.what is not None))
    places = [a for a in data.alternatives if a != space.base] if constants else []
    first = [Term((place,)) for place in places]
    out = {CONSTANTS_ONLY if constants else EQUAL_SHARES: first}
    out[TEXTBOOK] = [*first, *(Term((), name) for name in names)]
    out[ALL_SPECIFIC] = [
        *first,
        *(
            Term((data.alternatives[j],), name)
            for name in names
            for j in data.attributes[name].alternatives
        ),
    ]
    made = {name: _estimable(data, space.base, terms) for name, terms in out.items()}
    return {
        name: Specification(tuple(terms))
        for name, terms in made.items()
        if terms is not None and (name == next(iter(out)) or len(terms) > len(first))
    }


def _estimable(data: ChoiceData, base: str, terms: Sequence[Term]) -> list[Term] | None:
    """Those of some terms that the data can identify; None where they are too many."""
    allowed = SearchSpace(data, attributes=[], constants=False, base=base, add=terms)
    if allowed.n_columns > MAX_BASELINE_COEFFICIENTS:
        return None
    return identified(data, allowed.terms)


def identified(data: ChoiceData, terms: Sequence[Term]) -> list[Term]:
    """Terms that say something new beside those before them, in their order.

    A pass at equal shares gives the information H on all columns. Cholesky's factorisation, term
    by term, leaves every column what those before it do not have.
    """
    if not terms:
        return []
    design = Design(data, tuple(terms))
    with single_blas_thread():
        information = one_pass(np.zeros(design.n_columns), design.blocks()).curvature
    information = information[np.ix_(design.position, design.position)]
    size = np.sqrt(np.maximum(np.diag(information), 0.0))
    size[size == 0] = 1.0
    left = information / size / size[:, None]
    kept: list[Term] = []
    for term in design.encoding.terms:
        columns = range(term.start, term.columns.stop)
        trial = left.copy()
        for k in columns:
            if trial[k, k] < MIN_OWN_INFORMATION_SHARE:
                break
            trial = trial - np.outer(trial[:, k], trial[k]) / trial[k, k]
        else:
            left = trial
            kept.append(term.term)
    return kept
