"""Terms and random coefficients found together, in turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from ardchoice.selection.neighbours import predict
from ardchoice.selection.refits import Refit
from ardchoice.selection.search import (
    CRITERION_TOLERANCE,
    PATIENCE_STEPS,
    LocalSearch,
    Problem,
)
from ardchoice.selection.signs import SignRules
from ardchoice.selection.surrogate import columns_of
from ardchoice.space import Linear

MAX_ROUNDS = 3
MOST_SEARCHES = 6
"""Searches for random coefficients in a row, each around the tastes of the one before."""
SETTLED_LOGLIK = 2.0
"""Log-likelihood that another one has to gain."""


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


@dataclass(frozen=True, eq=False)
class State:
    """Terms, random coefficients, their variances, and the tastes of persons (n, q)."""

    fitted: Refit
    tastes: tuple[Taste, ...]
    variance: Floats
    people: Floats


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
        fitted = refits.refit(self.start(mnl, linear=True))
        refits.set_tastes((), np.zeros(0))
        fitted = refits.refit(fitted.selected, fitted.beta)
        fitted = self.settle_tastes(fitted)
        here = self.state(fitted)
        problem, rounds = None, 0
        while rounds < MAX_ROUNDS:
            rounds += 1
            problem = self.problem(fitted)
            best = min(
                (self.settled(problem, here, found) for found in self.search_terms(problem, here)),
                key=lambda state: self.total(problem, state),
            )
            if self.total(problem, best) >= self.total(problem, here) - CRITERION_TOLERANCE:
                break
            here, fitted = best, best.fitted
        self.restore(here)
        fitted = here.fitted
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

    def search_terms(self, problem: Problem, here: State) -> list[Refit]:
        """The best terms given the random coefficients: whatever they are, and with their means.

        An attribute in another form takes the taste in this one with it, which a search over terms
        does not see.
        """
        self.restore(here)
        free = LocalSearch(problem, None).improve(
            here.fitted.selected, PATIENCE_STEPS, here.fitted.beta
        )
        needs = frozenset().union(*(taste.needs for taste in here.tastes))
        if needs <= free.selected:
            return [free]
        constraints = problem.constraints
        held = replace(constraints, forced=constraints.forced | needs)
        walk = LocalSearch(replace(problem, constraints=held), None)
        return [free, walk.improve(here.fitted.selected, PATIENCE_STEPS, here.fitted.beta)]

    def settled(self, problem: Problem, here: State, found: Refit) -> State:
        """With the best random coefficients for other terms."""
        self.restore(here)
        return self.state(self.settle_tastes(found))

    def total(self, problem: Problem, state: State) -> float:
        """The criterion with a price for every random coefficient."""
        fitted = state.fitted
        value = predict(fitted.selected, fitted.loglik, self.constraints, problem.criterion)
        return value + len(state.tastes) * float(np.log(self.persons))

    def state(self, fitted: Refit) -> State:
        """Where the alternation is."""
        return State(fitted, self.refits.tastes, self.refits.variance, self.refits.people)

    def restore(self, state: State) -> None:
        """Go back to a state."""
        self.refits.set_tastes(state.tastes, state.variance, state.people)

    def settle_tastes(self, fitted: Refit) -> Refit:
        """Random coefficients searched again around the tastes of the last search, until they stay.

        Quadratics made where tastes are too small know them too small.
        """
        for _ in range(MOST_SEARCHES):
            before, names = fitted.loglik, [t.name for t in self.refits.tastes]
            fitted = self.search_tastes(fitted)
            if names == [t.name for t in self.refits.tastes] and (
                not names or fitted.loglik < before + SETTLED_LOGLIK
            ):
                break
        return fitted

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
        found = evidence.search(
            [k for k, _ in start],
            float(np.log(self.persons)),
            lambda chosen: is_allowed(tastes[k] for k in chosen),
            np.array([v for _, v in start]),
            [k for k, taste in enumerate(tastes) if taste.is_constant],
        )
        refits.set_tastes([tastes[k] for k in found.chosen], found.variance)
        return refits.refit(fitted.selected, fitted.beta)
