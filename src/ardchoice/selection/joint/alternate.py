"""Terms and random coefficients found together, in turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import ArdFit
from ardchoice.families import TasteEvidence
from ardchoice.selection.constraints import Constraints, TermSet
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.joint.prices import (
    effective_rows,
    remaining_shares,
    sums_ready,
    with_effective_rows,
)
from ardchoice.selection.joint.refits import TasteRefits
from ardchoice.selection.joint.tastes import Taste, candidate_tastes, is_allowed
from ardchoice.selection.refits import Refit
from ardchoice.selection.search import PATIENCE_STEPS, LocalSearch, Problem
from ardchoice.selection.signs import SignRules
from ardchoice.selection.surrogate import columns_of
from ardchoice.space import Linear

MAX_ROUNDS = 3
FIRST_SEARCHES = 2
"""Searches for random coefficients before the first for terms: variances of the first are too
small, and the second is made around the tastes of the first."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Terms and random coefficients.

    Attributes
    ----------
    fitted
    tastes, variance
    criterion
        With the prices of the last round.
    candidates
        All candidate tastes of the last round.
    """

    fitted: Refit
    tastes: tuple[Taste, ...]
    variance: Floats
    problem: Problem
    criterion: Criterion
    candidates: tuple[Taste, ...]
    rounds: int


class Alternation:
    """What is known while terms and tastes are searched in turns."""

    def __init__(
        self,
        fit: ArdFit,
        constraints: Constraints,
        plain: Criterion,
        signs: SignRules,
        refits: TasteRefits,
    ) -> None:
        self.fit, self.constraints, self.plain, self.signs = fit, constraints, plain, signs
        self.refits = refits
        person = refits.data.person
        self.persons = refits.n if person is None else len(np.unique(person))
        self.candidates: tuple[Taste, ...] = ()

    def run(self, mnl: TermSet) -> Joint:
        """From the terms of the MNL without its interactions."""
        refits = self.refits
        import os
        fitted = refits.refit(self.start(mnl, linear=os.environ.get('LIN')=='1'))
        refits.set_tastes((), np.zeros(0))
        fitted = refits.refit(fitted.selected, fitted.beta)
        for _ in range(FIRST_SEARCHES):
            fitted = self.search_tastes(fitted)
        seen = set()
        rounds = 0
        problem = None
        while rounds < MAX_ROUNDS:
            rounds += 1
            before = (fitted.selected, tuple(t.name for t in refits.tastes))
            problem = self.problem(fitted)
            fitted = self.search_terms(problem, fitted)
            fitted = self.search_tastes(fitted)
            after = (fitted.selected, tuple(t.name for t in refits.tastes))
            if after == before or after in seen:
                break
            seen.add(after)
        assert problem is not None  # noqa: S101 - at least one round
        return Joint(
            fitted,
            refits.tastes,
            refits.variance,
            problem,
            problem.criterion,
            self.candidates,
            rounds,
        )

    def start(self, mnl: TermSet, *, linear: bool = False) -> TermSet:
        """Constants and one form of every attribute in every alternative: no interactions.

        In the form that the MNL has it, or linear; where there is none, the most relevant one.
        """
        terms = self.constraints.terms
        gain = np.nan_to_num(self.fit.evidence, nan=0.0)
        mains = [t for t, u in enumerate(terms) if not u.by]

        def rank(t: int) -> tuple[bool, float]:
            first = terms[t].how == Linear() if linear else t in mnl
            return (not first, -gain[t])

        wanted: list[int] = []
        there: set[tuple[str, str | None]] = set()
        alternatives = self.refits.encoding.alternatives
        shared = {terms[t].what for t in mnl if len(terms[t].where) != 1}
        for t in sorted(mains, key=rank):
            what = terms[t].what
            if (len(terms[t].where) != 1) != (what in shared):
                continue
            places = {(a, what) for a in terms[t].where or alternatives}
            if places & there:
                continue
            wanted.append(t)
            there |= places
        strength = np.ones(len(terms))
        strength[wanted] = len(terms)
        return self.constraints.build(strength, wanted)

    def problem(self, fitted: Refit) -> Problem:
        """With prices by the information that remains at a refit."""
        refits, criterion = self.refits, self.plain
        if refits.tastes:
            conditional, marginal = sums_ready(refits.marginal(fitted))
            shares = remaining_shares(conditional, marginal, refits.columns, fitted.selected)
            rows = effective_rows(shares, refits.n, self.persons)
            criterion = with_effective_rows(self.plain, self.constraints.columns, rows)
        return Problem(refits, self.constraints, criterion, self.signs)

    def search_terms(self, problem: Problem, fitted: Refit) -> Refit:
        """The best terms given the random coefficients."""
        walk = LocalSearch(problem, None)
        return walk.improve(fitted.selected, PATIENCE_STEPS, fitted.beta)

    def search_tastes(self, fitted: Refit) -> Refit:
        """The best random coefficients given the terms, and the terms refitted with them."""
        refits = self.refits
        tastes = candidate_tastes(
            self.constraints.terms,
            fitted.selected,
            refits.columns,
            refits.scale_in_blocks,
            refits.encoding.alternatives,
        )
        self.candidates = tastes
        quadratics, fixed = refits.person_quadratics(fitted, tastes)
        own = columns_of(refits.columns, fitted.selected)
        evidence = TasteEvidence(quadratics, fixed, refits.ridge[own])
        names = [t.name for t in tastes]
        start = sorted(
            (names.index(t.name), v)
            for t, v in zip(refits.tastes, refits.variance, strict=True)
            if t.name in names
        )
        n_alternatives = len(refits.encoding.alternatives)
        found = evidence.search(
            [k for k, _ in start],
            float(np.log(self.persons)),
            lambda chosen: is_allowed((tastes[k] for k in chosen), n_alternatives),
            np.array([v for _, v in start]),
        )
        refits.set_tastes([tastes[k] for k in found.chosen], found.variance)
        return refits.refit(fitted.selected, fitted.beta)
