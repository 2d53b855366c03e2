"""Expected signs of exact estimates, which may differ from those that quadratics promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import ArdFit
from ardchoice.design import Encoding, learn_encoding
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import Result, fit_anyway
from ardchoice.families import Mixed, QuickFits
from ardchoice.selection.compile import compile_structure
from ardchoice.selection.constraints import Constraints, TermSet
from ardchoice.selection.joint.exact import Confirmed, candidates_of, possible_random
from ardchoice.selection.joint.select import JointSelection
from ardchoice.selection.reasons import SIGNS_NOT_MET, some_segments
from ardchoice.selection.refits import with_unit_weights
from ardchoice.selection.select import smaller_sets
from ardchoice.selection.signs import SignRules, WrongSign, with_expected_signs
from ardchoice.selection.structure import Structure
from ardchoice.space import Specification

MOST_DROPPED = 6
"""Terms that may leave one after the other."""


def with_exact_signs(
    relevance: ArdFit, confirmed: Confirmed, *, family: Mixed, structure: Structure | None
) -> Confirmed:
    """Terms leave one by one until mean utility has every expected sign, by exact fits.

    Of the terms of an attribute that goes the wrong way the one leaves without which fewer segments
    are wrong and BIC over persons is lowest. Where none helps, nothing is changed.
    """
    structure = with_expected_signs(structure, relevance.data, relevance.terms)
    if confirmed.estimated is None or structure is None or not structure.given_signs:
        return confirmed
    repair = _Repair(relevance, structure, family)
    found = confirmed
    for _ in range(MOST_DROPPED):
        assert found.estimated is not None  # noqa: S101 - as above, and what `drop` returns
        wrong = repair.violations(found.selection, found.estimated[0])
        if not wrong:
            return found
        after = repair.drop(found.selection, found.estimated[0], wrong)
        if after is None:
            return confirmed
        found = after
    return confirmed


class _Repair:
    """What signs ask of sets of candidate terms, and exact fits of these."""

    def __init__(self, relevance: ArdFit, structure: Structure, family: Mixed) -> None:
        self.relevance, self.family = relevance, family
        self.constraints: Constraints = compile_structure(structure, relevance.space)
        self.rules = SignRules(structure.given_signs, relevance.encoding, relevance.data)
        self.place = {term: t for t, term in enumerate(relevance.terms)}

    def violations(self, selection: JointSelection, result: Result) -> list[WrongSign]:
        """Where mean utility goes the wrong way."""
        means = dict(zip(result.names, result.mean_coefficients.tolist(), strict=False))
        beta = _everywhere(self.relevance.encoding, means)
        return self.rules.violations(sorted(self._selected(selection)), beta)

    def drop(
        self, selection: JointSelection, result: Result, wrong: list[WrongSign]
    ) -> Confirmed | None:
        """Without one term of an attribute that goes the wrong way; None if none may leave."""
        selected = self._selected(selection)
        attributes = {one.attribute for one in wrong}
        terms = self.relevance.terms
        able = smaller_sets(
            self.constraints, selected, [t for t in selected if terms[t].what in attributes]
        )
        fewest = min((len(selected - s) for s in able), default=0)
        tried = [
            (score, s)
            for s in able
            if len(selected - s) == fewest
            and (score := self._score(selection, s, result, len(wrong))) is not None
        ]
        if not tried:
            return None
        _, best = min(tried, key=lambda pair: pair[0])
        return self._estimated(selection, selected, best, some_segments(wrong))

    def _selected(self, selection: JointSelection) -> TermSet:
        return frozenset(self.place[t] for t in selection.specification.terms)

    def _terms(self, selected: TermSet) -> Specification:
        return Specification(tuple(self.relevance.terms[t] for t in sorted(selected)))

    def _score(
        self, selection: JointSelection, selected: TermSet, near: Result, now: int
    ) -> tuple[bool, float] | None:
        """Whether as many segments are wrong as now, and BIC over persons; None without a fit."""
        terms = self._terms(selected)
        data = with_unit_weights(self.relevance.data)
        random = possible_random(selection.random, learn_encoding(data, terms.terms))
        if not random:
            return None
        fits = QuickFits(data, terms.terms, self.family.nodes, self.family.seed)
        known = dict(zip(near.names, near.coefficients.tolist(), strict=True))
        try:
            quick = fits.fit(random, known)
        except ArdchoiceError:
            return None
        beta = _everywhere(self.relevance.encoding, quick.values)
        still = self.rules.count(sorted(selected), beta)
        price = len(quick.values) * float(np.log(selection.persons))
        return still >= now, -2 * quick.loglik + price

    def _estimated(
        self, selection: JointSelection, before: TermSet, after: TermSet, wrong: str
    ) -> Confirmed | None:
        terms = self._terms(after)
        encoding = learn_encoding(self.relevance.data, terms.terms)
        random = possible_random(selection.random, encoding)
        try:
            estimated = fit_anyway(self.relevance.data, terms, self.family.with_random(random))
        except ArdchoiceError:
            return None
        why = f"dropped: with it, utility would go the wrong way for {wrong} (exact fits)"
        gone = {self.relevance.terms[t]: why for t in before - after}
        old = selection.specification
        notes = tuple(note for note in old.notes if not note.startswith(SIGNS_NOT_MET))
        reasons = {**old.reasons, **gone}
        specification = replace(old, terms=terms.terms, reasons=reasons, notes=notes, alerts=())
        candidates = candidates_of(selection, random)
        return Confirmed(
            replace(selection, specification=specification, candidates=candidates), estimated
        )


def _everywhere(encoding: Encoding, values: Mapping[str, float]) -> Floats:
    """Coefficients of all candidates, zero outside; shape (D,)."""
    names = [name for term in encoding.terms for name in term.names]
    return np.array([values.get(name, 0.0) for name in names])
