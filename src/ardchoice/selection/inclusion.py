"""How sure each term is: specifications around the selected one, and what they have in common.

From the selected set of terms, valid sets are visited on the surrogate, most probable first, each
with all its neighbours. A set s weighs

    w(s) = exp(-½ (C(s) - C(selected)) / d(s)),

C being the criterion that selected, in which prices are known, and d(s) the mean design effect of
the columns in which s differs from the selected set: answers of one person that resemble each other
say less than as many independent ones. Without persons d is that of situations, about one. The
inclusion probability of a term is the share of the weight that has it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import ArdFit
from ardchoice.design import running
from ardchoice.errors import SpecificationError
from ardchoice.numerics import single_blas_thread
from ardchoice.selection.compile import compile_structure
from ardchoice.selection.constraints import TermSet
from ardchoice.selection.neighbours import neighbours, predict
from ardchoice.selection.prices import criterion_of, largest_design_effect
from ardchoice.selection.refits import Refit, RefitCache
from ardchoice.selection.rules import Bic, Ebic, Rule, Searched
from ardchoice.selection.search import Problem
from ardchoice.selection.signs import SignRules, with_expected_signs
from ardchoice.selection.structure import Structure
from ardchoice.selection.surrogate import Surrogate
from ardchoice.space import Specification

MOST_VISITED = 40
"""Sets whose neighbours are looked at."""
LEAST_LOG_WEIGHT = -7.0
"""A set with less than a thousandth of the weight of the selected one is forgotten."""


@dataclass(frozen=True, eq=False)
class Inclusion:
    """Valid specifications around the selected one, and how sure that makes every term.

    Attributes
    ----------
    probabilities
        Of every candidate; shape (T,).
    sets
        Of terms, most probable first.
    weights
        Of the sets; they sum to one.
    problem
        With the models that estimate them.
    """

    probabilities: Floats
    sets: tuple[TermSet, ...]
    weights: Floats
    problem: Problem

    def most_probable(self, share: float, most: int) -> tuple[tuple[TermSet, ...], Floats]:
        """The first sets that have a share of the weight, and their weights, summing to one."""
        count = int(np.searchsorted(self.weights.cumsum(), share)) + 1
        count = min(count, most, len(self.sets))
        weights = self.weights[:count]
        return self.sets[:count], weights / weights.sum()


def inclusion(
    fit: ArdFit,
    specification: Specification,
    rule: Rule | None = None,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
) -> Inclusion:
    """Visit the specifications around a selected one.

    Parameters
    ----------
    fit
        Relevance of all candidates.
    specification
        What was selected.
    rule, structure
        What it was selected by. Where a rule has no criterion, that of `Ebic()` counts.
    """
    searched = rule if isinstance(rule, (Bic, Ebic)) else Ebic()
    with running(fit.execution), single_blas_thread():
        problem = _problem(fit, searched, structure)
        selected = _set_of(fit, specification)
        visited = _Visit(problem, selected, _design_effects(fit, searched)).run()
    sets = sorted(visited, key=lambda s: (-visited[s], sorted(s)))
    weights = np.exp([visited[s] - visited[sets[0]] for s in sets])
    weights /= weights.sum()
    probabilities: Floats = np.zeros(len(fit.terms))
    for one, weight in zip(sets, weights, strict=True):
        probabilities[list(one)] += weight
    return Inclusion(np.minimum(probabilities, 1.0), tuple(sets), weights, problem)


def _problem(fit: ArdFit, rule: Searched, structure: Structure | None) -> Problem:
    structure = with_expected_signs(structure, fit.data, fit.terms)
    constraints = compile_structure(structure, fit.space)
    signs = SignRules({} if structure is None else structure.given_signs, fit.encoding, fit.data)
    models = RefitCache.of(fit)
    return Problem(models, constraints, criterion_of(rule, fit, models.n, constraints), signs)


def _set_of(fit: ArdFit, specification: Specification) -> TermSet:
    place = {term: t for t, term in enumerate(fit.terms)}
    unknown = [term for term in specification.terms if term not in place]
    if unknown:
        raise SpecificationError(f"'{unknown[0]}' is not among the candidates of the search.")
    return frozenset(place[term] for term in specification.terms)


def _design_effects(fit: ArdFit, rule: Searched) -> Floats:
    """Of every candidate, one at least."""
    if not rule.cluster:
        return np.ones(len(fit.terms))
    return np.clip(fit.tests.design_effect, 1.0, largest_design_effect(fit.data))


class _Visit:
    """Sets and their log weights, from the most probable one on.

    A set is refitted before its neighbours are looked at, and what the surrogate missed there it is
    taken to miss at these as well.
    """

    def __init__(self, problem: Problem, selected: TermSet, design_effect: Floats) -> None:
        self.problem, self.selected, self.d = problem, selected, design_effect
        fitted = problem.models.refit(selected)
        self.surrogate = Surrogate(problem.models.quadratic(fitted), problem.models.columns)
        self.value, self.wrong = self._value(fitted), problem.wrong(selected, fitted.beta)
        self.reach = self.value - 2 * LEAST_LOG_WEIGHT * float(design_effect.max())
        self.predicted = {selected: self.value}
        self.weights = {selected: 0.0}
        self.seen = {selected}

    def run(self) -> dict[TermSet, float]:
        """Every set that weighs enough."""
        waiting: list[tuple[float, list[int], TermSet]] = [(0.0, [], self.selected)]
        missed = {self.selected: 0.0}
        expanded = 0
        while waiting and expanded < MOST_VISITED:
            ahead, order, current = heapq.heappop(waiting)
            if current not in missed:
                exact = self._refit(current)
                missed[current] = exact - self.predicted[current]
                weight = self.weights[current] = self._log_weight(current, exact)
                if weight < LEAST_LOG_WEIGHT:
                    del self.weights[current]
                    continue
                if waiting and -weight > waiting[0][0] > ahead:
                    heapq.heappush(waiting, (-weight, order, current))
                    continue
            expanded += 1
            for one, weight in self._around(current, missed[current]):
                heapq.heappush(waiting, (-weight, sorted(one), one))
        return self.weights

    def _refit(self, one: TermSet) -> float:
        """The exact criterion; infinite where signs are wrong."""
        problem = self.problem
        fitted = problem.models.refit(one, self.surrogate.beta(one))
        return np.inf if problem.wrong(one, fitted.beta) > self.wrong else self._value(fitted)

    def _value(self, fitted: Refit) -> float:
        problem = self.problem
        return predict(fitted.selected, fitted.loglik, problem.constraints, problem.criterion)

    def _around(self, current: TermSet, missed: float) -> list[tuple[TermSet, float]]:
        """New neighbours of a set that weigh enough."""
        problem, out = self.problem, []
        around = neighbours(
            current, self.surrogate, problem.constraints, problem.criterion, thorough=True
        )
        values = around.values + missed
        for i in np.flatnonzero(values < self.reach).tolist():
            one, value = around.at(i), float(values[i])
            if one in self.seen:
                continue
            self.seen.add(one)
            weight = self._log_weight(one, value)
            if weight < LEAST_LOG_WEIGHT:
                continue
            if problem.predicted_violations(one, self.surrogate) <= self.wrong:
                self.predicted[one], self.weights[one] = value, weight
                out.append((one, weight))
        return out

    def _log_weight(self, one: TermSet, value: float) -> float:
        apart = list(one ^ self.selected)
        if not apart:
            return 0.0
        d = float(np.average(self.d[apart], weights=self.problem.constraints.columns[apart]))
        return -0.5 * (value - self.value) / d
