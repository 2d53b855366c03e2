"""Terms and random coefficients found together, in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import ArdFit
from ardchoice.families import TasteEvidence, TasteSet
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
    in_other_forms,
    is_allowed,
)
from ardchoice.selection.neighbours import predict
from ardchoice.selection.refits import Refit
from ardchoice.selection.search import (
    PATIENCE_STEPS,
    LocalSearch,
    Problem,
    SearchStep,
)
from ardchoice.selection.signs import SignRules
from ardchoice.selection.surrogate import columns_of
from ardchoice.space import Linear

MAX_ROUNDS = 3
SETTLED_CRITERION = 1.0
"""By how much another round has to lower the criterion: less is how well variances are known."""
MOST_SEARCHES = 3
"""Searches for random coefficients in a row; their variances grow after each."""
LARGEST_FIRST, LARGEST_FACTOR = 4.0, 4.0
"""Of the variance of a new taste on a column of unit spread, and of how a known one grows in a
search: quadratics that are made where nobody differs know nothing of large ones."""


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
    narrow
        The variances at which quadratics are made; shape (q,).
    """

    fitted: Refit
    tastes: tuple[Taste, ...]
    variance: Floats
    problem: Problem
    rows: Floats
    rounds: int
    narrow: Floats


@dataclass(frozen=True, eq=False)
class State:
    """Terms, random coefficients, their variances, and the tastes of persons (n, q).

    `narrow` has the variances at which quadratics are made, where F is not at its highest.
    """

    fitted: Refit
    tastes: tuple[Taste, ...]
    variance: Floats
    people: Floats
    narrow: Floats


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
        here = self.wide(self.settle_tastes(fitted))
        rounds = 0
        tried: set[TermSet] = set()
        while rounds < MAX_ROUNDS:
            rounds += 1
            problem = self.problem(here.fitted)
            options = [one for one in self.search_terms(problem, here) if one.selected not in tried]
            tried |= {one.selected for one in options}
            found = [here, *(self.grown(here, one) for one in options)]
            best = min(found, key=lambda state: self.total(problem, state))
            if best is here:
                break
            best = self.settled(best)
            if self.total(problem, best) >= self.total(problem, here) - SETTLED_CRITERION:
                break
            here = best
        self.restore(here)
        fitted = here.fitted
        problem = self.problem(fitted)
        return Joint(fitted, here.tastes, here.variance, problem, self.rows, rounds, here.narrow)

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
        does not see: the terms of all tastes, and those of each attribute, are held in turn.
        """
        self.restore(here)
        start = here.fitted
        free = LocalSearch(problem, self.progress).improve(
            start.selected, PATIENCE_STEPS, start.beta
        )
        terms = problem.constraints.terms
        lost = frozenset().union(*(taste.needs for taste in here.tastes)) - free.selected
        attributes = sorted({terms[t].what or "" for t in lost})
        out = {free.selected: free}
        each = [[a] for a in attributes] if len(attributes) > 1 else []
        for held in [attributes, *each] if lost else []:
            needs = {
                t for taste in here.tastes for t in taste.needs if (terms[t].what or "") in held
            }
            forced = replace(problem.constraints, forced=problem.constraints.forced | needs)
            walk = LocalSearch(replace(problem, constraints=forced), self.progress)
            found = walk.improve(start.selected, PATIENCE_STEPS, start.beta)
            out.setdefault(found.selected, found)
        return list(out.values())

    def grown(self, here: State, found: Refit) -> State:
        """Other terms with the tastes that there are, in the forms of these terms."""
        if found.selected == here.fitted.selected:
            return here
        self.restore(here)
        return self.wide(self.move_tastes(found, here.narrow))

    def settled(self, state: State) -> State:
        """With the best random coefficients for the terms."""
        self.restore(state)
        self.refits.set_tastes(state.tastes, state.narrow)
        fitted = self.refits.refit(state.fitted.selected, state.fitted.beta)
        settled = self.settle_tastes(fitted)
        if [t.name for t in self.refits.tastes] == [t.name for t in state.tastes]:
            return state
        return self.wide(settled)

    def total(self, problem: Problem, state: State) -> float:
        """The criterion with a price for every random coefficient."""
        fitted = state.fitted
        value = predict(fitted.selected, fitted.loglik, self.constraints, problem.criterion)
        return value + len(state.tastes) * float(np.log(self.persons))

    def wide(self, fitted: Refit) -> State:
        """Where the alternation is, with the variances at which F is highest."""
        refits, narrow = self.refits, self.refits.variance
        fitted = refits.widen(fitted)
        return State(fitted, refits.tastes, refits.variance, refits.people, narrow)

    def restore(self, state: State) -> None:
        """Go back to a state, unless it is there; refits of others are forgotten."""
        if state.tastes is self.refits.tastes and state.variance is self.refits.variance:
            return
        self.refits.set_tastes(state.tastes, state.variance, state.people)

    def narrowed(self, joint: Joint) -> Refit:
        """With the variances at which quadratics are made, and scores as large as information."""
        self.refits.set_tastes(joint.tastes, joint.narrow)
        return self.refits.refit(joint.fitted.selected, joint.fitted.beta)

    def explained_candidates(self, fitted: Refit) -> tuple[RandomCandidate, ...]:
        """Every candidate for a random coefficient, and why it is in or out."""
        evidence, tastes, chosen = self.taste_evidence(fitted)
        now = {t.name: v for t, v in zip(self.refits.tastes, self.refits.variance, strict=True)}

        def at(some: list[int]) -> TasteSet:
            return evidence.at(some, np.array([now[tastes[k].name] for k in some]))

        best = at(chosen)
        price = float(np.log(self.persons))
        out = []
        for k, taste in enumerate(tastes):
            if k in chosen:
                without = at([c for c in chosen if c != k])
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

    def move_tastes(self, fitted: Refit, narrow: Floats) -> Refit:
        """Tastes for attributes that stand in other forms now become tastes for these forms."""
        refits = self.refits
        moved = in_other_forms(refits.tastes, self.candidates(fitted))
        places = [place for _, place in moved]
        people, variance = refits.people[:, places], narrow[places]
        refits.set_tastes([taste for taste, _ in moved], variance, people)
        return refits.grow(refits.refit(fitted.selected, fitted.beta))

    def settle_tastes(self, fitted: Refit) -> Refit:
        """Random coefficients searched again around the tastes of the last search, until they stay.

        Quadratics made where tastes are too small know them too small: between searches their
        variances grow.
        """
        refits = self.refits
        for _ in range(MOST_SEARCHES):
            names = [t.name for t in refits.tastes]
            fitted = self.search_tastes(fitted)
            if names == [t.name for t in refits.tastes]:
                break
            fitted = refits.grow(fitted)
        return fitted

    def candidates(self, fitted: Refit) -> tuple[Taste, ...]:
        """For random coefficients beside the terms of a refit."""
        refits = self.refits
        return candidate_tastes(
            self.constraints.terms,
            fitted.selected,
            refits.columns,
            refits.scale_in_blocks,
            refits.encoding.alternatives,
        )

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
        if list(found.chosen) == chosen:
            return fitted
        refits.set_tastes([tastes[k] for k in found.chosen], found.variance)
        return refits.refit(fitted.selected, fitted.beta)

    def taste_evidence(self, fitted: Refit) -> tuple[TasteEvidence, tuple[Taste, ...], list[int]]:
        """Of all candidates around a refit, and which of them are random now."""
        refits, tastes = self.refits, self.candidates(fitted)
        quadratics, fixed = refits.person_quadratics(fitted, tastes)
        own = columns_of(refits.columns, fitted.selected)
        now = dict(zip((t.name for t in refits.tastes), refits.variance.tolist(), strict=True))
        chosen = [k for k, t in enumerate(tastes) if t.name in now]
        largest = [max(LARGEST_FACTOR * now.get(t.name, 0.0), LARGEST_FIRST) for t in tastes]
        evidence = TasteEvidence(quadratics, fixed, refits.ridge[own], np.array(largest))
        return evidence, tastes, chosen
