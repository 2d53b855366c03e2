"""Terms and random coefficients found together, in turns."""

from __future__ import annotations

from collections.abc import Callable
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
    with_effective_rows,
)
from ardchoice.selection.joint.refits import TasteRefits
from ardchoice.selection.joint.tastes import (
    RandomCandidate,
    Taste,
    candidate_tastes,
    is_allowed,
)
from ardchoice.selection.neighbours import predict
from ardchoice.selection.refits import Refit
from ardchoice.selection.search import (
    CRITERION_TOLERANCE,
    PATIENCE_STEPS,
    LocalSearch,
    Problem,
    SearchStep,
)
from ardchoice.selection.signs import SignRules
from ardchoice.selection.surrogate import columns_of
from ardchoice.space import Linear

MAX_ROUNDS = 3
MOST_SEARCHES, MOST_GROWTHS = 3, 5
"""Searches for random coefficients in a row, and steps of their variances after each."""
SETTLED_LOGLIK = 2.0
"""Log-likelihood that another one has to gain."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Terms and random coefficients.

    Attributes
    ----------
    fitted
    tastes, variance
    problem
        With the prices at the end.
    rows
        n_t of every term; shape (T,).
    rounds
    """

    fitted: Refit
    tastes: tuple[Taste, ...]
    variance: Floats
    problem: Problem
    rows: Floats
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
        progress: Callable[[SearchStep], None] | None = None,
    ) -> None:
        self.fit, self.constraints, self.plain, self.signs = fit, constraints, plain, signs
        self.refits, self.progress = refits, progress
        person = refits.data.person
        self.persons = refits.n if person is None else len(np.unique(person))

    def run(self, mnl: TermSet) -> Joint:
        """From the terms of the MNL without its interactions."""
        refits = self.refits
        fitted = refits.refit(self.start(mnl, linear=True))
        refits.set_tastes((), np.zeros(0))
        fitted = refits.refit(fitted.selected, fitted.beta)
        fitted = self.settle_tastes(fitted)
        here = self.state(fitted)
        rounds = 0
        while rounds < MAX_ROUNDS:
            rounds += 1
            problem = self.problem(fitted)
            found = [self.settled(here, one) for one in self.search_terms(problem, here)]
            totals = [self.total(problem, state) for state in found]
            best = found[int(np.argmin(totals))]
            if min(totals) >= self.total(problem, here) - CRITERION_TOLERANCE:
                break
            here, fitted = best, best.fitted
        self.restore(here)
        fitted = here.fitted
        problem = self.problem(fitted)
        return Joint(fitted, here.tastes, here.variance, problem, self.rows, rounds)

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
        rows = np.full(len(self.constraints.terms), float(refits.n))
        if refits.tastes:
            found = refits.marginal(fitted)
            shares = remaining_shares(
                found.conditional.curvature + np.diag(refits.ridge),
                found.marginal.curvature + np.diag(refits.ridge),
                refits.columns,
                fitted.selected,
            )
            rows = effective_rows(shares, refits.n, self.persons)
            criterion = with_effective_rows(self.plain, self.constraints.columns, rows)
        self.rows = rows
        return Problem(refits, self.constraints, criterion, self.signs)

    def search_terms(self, problem: Problem, here: State) -> list[Refit]:
        """The best terms given the random coefficients: whatever they are, and with their means.

        An attribute in another form takes the taste in this one with it, which a search over terms
        does not see.
        """
        self.restore(here)
        free = LocalSearch(problem, self.progress).improve(
            here.fitted.selected, PATIENCE_STEPS, here.fitted.beta
        )
        needs = frozenset().union(*(taste.needs for taste in here.tastes))
        if needs <= free.selected:
            return [free]
        constraints = problem.constraints
        held = replace(constraints, forced=constraints.forced | needs)
        walk = LocalSearch(replace(problem, constraints=held), self.progress)
        return [free, walk.improve(here.fitted.selected, PATIENCE_STEPS, here.fitted.beta)]

    def settled(self, here: State, found: Refit) -> State:
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

    def explained_candidates(self, joint: Joint) -> tuple[RandomCandidate, ...]:
        """Every candidate for a random coefficient, and why it is in or out."""
        evidence, tastes, chosen = self.taste_evidence(joint.fitted)
        by_name = {t.name: v for t, v in zip(joint.tastes, joint.variance, strict=True)}
        best = evidence.at(chosen, np.array([by_name[tastes[k].name] for k in chosen]))
        price = float(np.log(self.persons))
        out = []
        for k, taste in enumerate(tastes):
            if k in chosen:
                without = evidence.at([c for c in chosen if c != k])
                gain = 2 * (best.evidence - without.evidence) - price
                z, why = np.nan, f"kept: the criterion would rise by {gain:.1f} without it"
            else:
                gain, z = np.nan, float(best.statistic[k])
                rivals = [tastes[c] for c in chosen if not is_allowed((tastes[c], taste))]
                why = f"dropped: its score statistic is {z:.1f}"
                if rivals:
                    why = f"dropped: '{rivals[0].name}' takes its place"
            out.append(RandomCandidate(taste.name, taste.distribution, k in chosen, gain, z, why))
        return tuple(out)

    def settle_tastes(self, fitted: Refit) -> Refit:
        """Random coefficients searched again around the tastes of the last search, until they stay.

        Quadratics made where tastes are too small know them too small: between searches only their
        variances grow.
        """
        for _ in range(MOST_SEARCHES):
            names = [t.name for t in self.refits.tastes]
            fitted = self.search_tastes(fitted)
            if names == [t.name for t in self.refits.tastes]:
                break
            for _ in range(MOST_GROWTHS):
                before = fitted.loglik
                fitted = self.grow_tastes(fitted)
                if fitted.loglik < before + SETTLED_LOGLIK:
                    break
        return fitted

    def grow_tastes(self, fitted: Refit) -> Refit:
        """The variances of the random coefficients there are, around the tastes of persons now."""
        refits = self.refits
        if not refits.tastes:
            return fitted
        quadratics, fixed = refits.person_quadratics(fitted, refits.tastes)
        own = columns_of(refits.columns, fitted.selected)
        evidence = TasteEvidence(quadratics, fixed, refits.ridge[own])
        found = evidence.at(range(len(refits.tastes)), refits.variance)
        if not np.isfinite(found.evidence):
            return fitted
        refits.set_tastes(refits.tastes, found.variance)
        return refits.refit(fitted.selected, fitted.beta)

    def search_tastes(self, fitted: Refit) -> Refit:
        """The best random coefficients given the terms, and the terms refitted with them."""
        refits = self.refits
        evidence, tastes, chosen = self.taste_evidence(fitted)
        by_name = dict(zip((t.name for t in refits.tastes), refits.variance, strict=True))
        found = evidence.search(
            chosen,
            float(np.log(self.persons)),
            lambda chosen: is_allowed(tastes[k] for k in chosen),
            np.array([by_name[tastes[k].name] for k in chosen]),
            [k for k, taste in enumerate(tastes) if taste.is_constant],
        )
        refits.set_tastes([tastes[k] for k in found.chosen], found.variance)
        return refits.refit(fitted.selected, fitted.beta)

    def taste_evidence(self, fitted: Refit) -> tuple[TasteEvidence, tuple[Taste, ...], list[int]]:
        """Of all candidates around a refit, and which of them are random now."""
        refits = self.refits
        tastes = candidate_tastes(
            self.constraints.terms,
            fitted.selected,
            refits.columns,
            refits.scale_in_blocks,
            refits.encoding.alternatives,
        )
        quadratics, fixed = refits.person_quadratics(fitted, tastes)
        own = columns_of(refits.columns, fitted.selected)
        now = {t.name for t in refits.tastes}
        chosen = [k for k, t in enumerate(tastes) if t.name in now]
        return TasteEvidence(quadratics, fixed, refits.ridge[own]), tastes, chosen
