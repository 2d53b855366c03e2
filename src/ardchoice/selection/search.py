"""Local search over valid specifications.

Most of it is a tabu search on a surrogate and costs no pass over the data: always to the best
neighbour not yet visited, for a while also where nothing improves. What looks best is refitted
exactly, a new surrogate is made around the first that is better, and so on until nothing improves
on it. This is done from several starts. Where these end differently, they are relinked: what their
ends have in common and what either has is where to start on the surrogate of the best, and only
what looks better there is refitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ardchoice._types import Floats
from ardchoice.selection.constraints import Constraints, TermSet
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.neighbours import Neighbours, neighbours, predict
from ardchoice.selection.refits import Refit, RefitCache
from ardchoice.selection.signs import SignRules
from ardchoice.selection.surrogate import Surrogate

SURROGATE_TOLERANCE = 0.05
"""Log-likelihood by which a surrogate may miss a refit and still be as good as one made there."""
NEAR_TIE_MARGIN = 2.0
"""A criterion this close to the best is a near-tie."""
PATIENCE_STEPS = 2
"""Steps without improvement before a climb is given up."""
NEIGHBOURS_REMEMBERED = 24
"""Neighbours of each step that are remembered, and whose signs are looked at."""
NEAR_TIE_REFITS = 40
"""Neighbours of the end that are refitted if they may be near-ties."""
WRONG_SIGN_FACTOR = 20
"""How many times as many are looked at where most have the wrong sign."""
MAX_REFITS_PER_ROUND = 12
"""Most refits before a round is given up."""
PREDICTION_MARGIN = 1.0
"""By how much a prediction may miss before it deserves no refit."""
PREDICTION_ERROR_SHARE = 0.15
"""Share of what is gained or lost in -2 ℓ that a surrogate may miss."""
RELINK_GENERATIONS, RELINK_PARENTS = 3, 3
"""How often ends are crossed, and how many of the best."""
MAX_ROUNDS = 25
"""Most surrogates on the way from one start."""
CRITERION_TOLERANCE = 0.01
"""Improvement of a criterion that counts; less is rounding of refits."""

Score = tuple[int, float]
"""Segments with a wrong sign, then the criterion: any violation is worse than any criterion."""


@dataclass(frozen=True)
class SearchStep:
    """Progress of a search: which round, terms and criterion of the best so far, refits made.

    The criterion is the one that the specification ends with, without what forms cost; `measure` is
    its name. It falls from step to step, or `higher` says for what it does not.
    """

    round: int
    terms: int
    criterion: float
    refits: int
    measure: str = "criterion"
    higher: str = ""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is searched: models, rules and the criterion."""

    models: RefitCache
    constraints: Constraints
    criterion: Criterion
    signs: SignRules

    def score(self, fitted: Refit) -> Score:
        """Of an exact refit."""
        value = predict(fitted.selected, fitted.loglik, self.constraints, self.criterion)
        return self.wrong(fitted.selected, fitted.beta), value

    def reach(self, selected: TermSet, criterion: float) -> float:
        """The log-likelihood below which a set is not even a near-tie of a criterion."""
        zero = predict(selected, 0.0, self.constraints, self.criterion)
        slack = 2 * NEAR_TIE_MARGIN + self.constraints.cost(selected)
        return 0.5 * (zero - criterion - slack)

    def within_tolerance(self, selected: TermSet, value: float, fitted: Refit) -> bool:
        """Whether a neighbour of a refit, by what is predicted, may be a near-tie of it, or better.

        A quadratic misses most where most changes: the gain of a strong term by a tenth and more.
        """
        best = predict(fitted.selected, fitted.loglik, self.constraints, self.criterion)
        zero = predict(selected, 0.0, self.constraints, self.criterion)
        changed = abs(value - zero + 2 * fitted.loglik)
        return value < best + NEAR_TIE_MARGIN + PREDICTION_MARGIN + PREDICTION_ERROR_SHARE * changed

    def wrong_sign_terms(self, selected: TermSet, surrogate: Surrogate) -> frozenset[int]:
        """Terms of a set that hold an attribute whose sign is wrong."""
        if not self.signs.signs:
            return frozenset()
        beta = self.models.raw(surrogate.beta(selected))
        wrong = {w.attribute for w in self.signs.violations(selected, beta)}
        return frozenset(t for t in selected if self.constraints.terms[t].what in wrong)

    def wrong(self, selected: TermSet, beta: Floats) -> int:
        """Segments in which a set of terms with (scaled) coefficients goes the wrong way."""
        return self.signs.count(selected, self.models.raw(beta)) if self.signs.signs else 0

    def predicted_violations(self, selected: TermSet, surrogate: Surrogate) -> int:
        """The same for the coefficients that a surrogate predicts."""
        return self.wrong(selected, surrogate.beta(selected)) if self.signs.signs else 0


@dataclass(frozen=True, eq=False)
class Found:
    """The best specification of a search.

    Attributes
    ----------
    best
    score
        Its wrong signs and its criterion.
    tried
        Every exact refit -> its score.
    surrogate, around
        Around the best, and every neighbour of it scored on that.
    rounds, refits
    """

    best: Refit
    score: Score
    tried: dict[TermSet, Score] = field(repr=False)
    surrogate: Surrogate = field(repr=False)
    around: Neighbours = field(repr=False)
    rounds: int
    refits: int

    @property
    def criterion(self) -> float:
        """Of the best."""
        return self.score[1]


def search(
    problem: Problem,
    starts: Sequence[TermSet],
    *,
    patience: int = PATIENCE_STEPS,
    progress: Callable[[SearchStep], None] | None = None,
    surrogate: Surrogate | None = None,
) -> Found:
    """The best valid set of terms that a local search finds.

    Parameters
    ----------
    problem
    starts
        Valid sets.
    patience
        Steps without improvement before a climb is given up.
    progress
        Called after every round.
    surrogate
        For large data: of all candidates around something near the best. The starts are
        climbed from on it, and only what looks best of all is where to improve from.
    """
    walk = LocalSearch(problem, progress, surrogate)
    if surrogate is None:
        ends = [walk.improve(start, patience) for start in dict.fromkeys(starts)]
    else:
        seen: dict[TermSet, Score] = {}
        for start in dict.fromkeys(starts):
            seen |= climb(problem, surrogate, start, patience).all
        best = min(seen, key=lambda selected: (seen[selected], sorted(selected)))
        ends = [walk.improve(best, patience, surrogate.beta(best))]
    top, around = walk.polish(walk.relink(ends, patience), patience)
    return Found(
        best=top,
        score=walk.tried[top.selected],
        tried=walk.tried,
        surrogate=walk.around(top),
        around=around,
        rounds=walk.rounds,
        refits=problem.models.refits,
    )


class LocalSearch:
    """What is known while searching: refits and surrogates, made once."""

    def __init__(
        self,
        problem: Problem,
        progress: Callable[[SearchStep], None] | None,
        near: Surrogate | None = None,
    ) -> None:
        self.problem, self.progress, self.near = problem, progress, near
        self.tried: dict[TermSet, Score] = {}
        self.rounds = 0
        self._reported: tuple[Score, float] | None = None
        self._top: TermSet | None = None
        self._latest: tuple[TermSet, Surrogate] | None = None

    def confirm(self, selected: TermSet, start: Floats | None, best: Refit | None = None) -> Refit:
        """A refit: exact, unless it is clearly worse than the best."""
        wanted = -np.inf
        # Where the best has a wrong sign, a set may win whatever its criterion.
        if best is not None and not self.tried[best.selected][0]:
            wanted = self.problem.reach(selected, self.tried[best.selected][1])
        fitted = self.problem.models.refit(selected, start, wanted)
        self.tried[selected] = self.problem.score(fitted)
        return fitted

    def around(self, fitted: Refit) -> Surrogate:
        """The surrogate around a refit; one pass, unless one that is known is as good."""
        if self._latest is None or self._latest[0] != fitted.selected:
            models, made = self.problem.models, self.near
            # One that predicted the refit to so little knows what is next to it as well.
            if (
                made is None
                or abs(made.reached([fitted.selected])[0] - fitted.loglik) > SURROGATE_TOLERANCE
            ):
                made = Surrogate(models.quadratic(fitted), models.columns)
            self._latest = (fitted.selected, made)
        return self._latest[1]

    def improve(self, start: TermSet, patience: int, near: Floats | None = None) -> Refit:
        """From a start to where no neighbour, and nothing that a climb finds, is better.

        Parameters
        ----------
        start, patience
        near
            Coefficients close to those of the start, if some are known.
        """
        best = self.confirm(start, near)
        for _ in range(MAX_ROUNDS):
            self.rounds += 1
            # 1 · What can be reached on a surrogate around the best.
            surrogate, before = self.around(best), best
            pools = climb(self.problem, surrogate, best.selected, patience)
            # 2 · The promising ones, exactly: what is far away first, since it gains most if it
            # holds; where it does not, the neighbours, which a surrogate knows well.
            for pool in (pools.all, pools.near):
                best = self._better(pool, surrogate, best)
                if best is not before:
                    break
            self._report(best)
            if best is before:
                break
        return best

    def relink(self, ends: Sequence[Refit], patience: int) -> Refit:
        """Climb from what two ends have in common, and from what either has, while that helps.

        These climbs are on the surrogate around the best, which knows well what lies between ends:
        they cost no pass unless something better is predicted. A descent does not step on what an
        earlier one refitted, so that different starts end differently, and relinking
        their ends helps even where each alone would end alike.
        """
        constraints = self.problem.constraints
        known = {end.selected: end for end in ends}
        best = min(known.values(), key=lambda end: self.tried[end.selected])
        started: set[TermSet] = set()
        for _ in range(RELINK_GENERATIONS):
            before = best
            ranked = sorted(known, key=lambda s: self.tried[s])[:RELINK_PARENTS]
            for a, b in combinations(ranked, 2):
                shares = np.zeros(len(constraints.terms))
                shares[list(a)] += 1
                shares[list(b)] += 1
                for wanted in (a & b, a | b):
                    start = constraints.build(shares, sorted(wanted))
                    if start in started or start in known:
                        continue
                    started.add(start)
                    surrogate = self.around(best)
                    pools = climb(self.problem, surrogate, start, patience, best.selected)
                    found = self._better(pools.all, surrogate, best)
                    if found is not best:
                        best = self.improve(found.selected, patience)
                        known[best.selected] = best
            if best is before:
                break
        return best

    def polish(self, best: Refit, patience: int) -> tuple[Refit, Neighbours]:
        """Look at every neighbour of the best, also at those that a climb skips."""
        problem = self.problem
        while True:
            before, surrogate = best, self.around(best)
            around = neighbours(
                best.selected, surrogate, problem.constraints, problem.criterion, thorough=True
            )
            pool: dict[TermSet, Score] = {}
            for i in around.best(NEAR_TIE_REFITS):
                selected, value = around.at(i), float(around.values[i])
                if problem.within_tolerance(selected, value, best):
                    pool[selected] = (problem.predicted_violations(selected, surrogate), value)
            best = self._better(pool, surrogate, best, slack=np.inf, most=NEAR_TIE_REFITS)
            if best is before:
                return best, around
            best = self.improve(best.selected, patience)

    def _better(
        self,
        pool: dict[TermSet, Score],
        surrogate: Surrogate,
        best: Refit,
        *,
        slack: float = PREDICTION_MARGIN,
        most: int = MAX_REFITS_PER_ROUND,
    ) -> Refit:
        """The first of a pool that is better by an exact refit, or the best so far."""
        now = self.tried[best.selected]
        failed: dict[TermSet, float] = {}
        for selected in promising(pool, self.tried, now, slack)[:most]:
            wrong, value = pool[selected]
            # What is nearer to one that did not hold its promise will not hold its own either.
            far = len(selected ^ best.selected)
            missed = [miss for other, miss in failed.items() if len(selected ^ other) < far]
            if wrong == now[0] and value + max(missed, default=0.0) > now[1] + slack:
                continue
            fitted = self.confirm(selected, surrogate.beta(selected), best)
            if _less(self.tried[selected], now):
                return fitted
            failed[selected] = self.tried[selected][1] - value
        return best

    def _report(self, best: Refit) -> None:
        """The best of all descents, which need not be that of this one."""
        if self._top is None or self.tried[best.selected] < self.tried[self._top]:
            self._top = best.selected
        if self.progress is None:
            return
        top, problem = self._top, self.problem
        score = self.tried[top]
        value, higher = score[1] - problem.constraints.cost(top), ""
        if self._reported is not None and value > self._reported[1]:
            signs = score[0] < self._reported[0][0]
            higher = "for expected signs" if signs else "for linear forms"
        self._reported = (score, value)
        refits, name = problem.models.refits, problem.criterion.name
        self.progress(SearchStep(self.rounds, len(top), value, refits, name, higher))


@dataclass(frozen=True, eq=False)
class Pools:
    """Sets seen on a climb with their predicted scores: all, and those next to the start."""

    all: dict[TermSet, Score]
    near: dict[TermSet, Score]


def climb(
    problem: Problem,
    surrogate: Surrogate,
    start: TermSet,
    patience: int,
    known: TermSet | None = None,
) -> Pools:
    """Walk on a surrogate, always to the best neighbour not visited yet, better or not.

    Parameters
    ----------
    problem, surrogate
    start
    patience
        It ends when more steps than this in a row brought nothing new.
    known
        A set whose surroundings are known: it ends there, too.
    """
    constraints, criterion = problem.constraints, problem.criterion
    value = predict(start, float(surrogate.reached([start])[0]), constraints, criterion)
    current = start
    best = (problem.predicted_violations(current, surrogate), value)
    pools = Pools({current: best}, {})
    visited, idle = {current}, 0
    while idle <= patience and current != known:
        around = neighbours(
            current,
            surrogate,
            constraints,
            criterion,
            wrong_sign_terms=problem.wrong_sign_terms(current, surrogate),
            # Any step down will do; but all that is next to the start is remembered, and
            # where signs are expected what has the lowest criterion may have the wrong ones.
            enough=-np.inf
            if current == start or problem.signs.signs
            else best[1] - CRITERION_TOLERANCE,
        )
        step: tuple[Score, TermSet] | None = None
        seen = 0
        for rank, i in enumerate(
            around.best(
                NEIGHBOURS_REMEMBERED
                if not problem.signs.signs
                else WRONG_SIGN_FACTOR * NEIGHBOURS_REMEMBERED
            )
        ):
            # Wrong signs may crowd the front; what improves with the right ones may stand behind.
            if seen == NEIGHBOURS_REMEMBERED or (
                rank >= NEIGHBOURS_REMEMBERED and around.values[i] > best[1] + PREDICTION_MARGIN
            ):
                break
            selected = around.at(i)
            score = pools.all.get(selected)
            if score is None:
                wrong = problem.predicted_violations(selected, surrogate)
                score = pools.all[selected] = (wrong, float(around.values[i]))
            seen += score[0] <= best[0]
            if current == start:
                pools.near[selected] = score
            if selected not in visited and (step is None or score < step[0]):
                step = (score, selected)
        if step is None:
            break
        current = step[1]
        visited.add(current)
        idle = 0 if _less(step[0], best) else idle + 1
        best = min(best, step[0])
    return pools


def promising(
    pool: dict[TermSet, Score],
    tried: dict[TermSet, Score],
    best: Score,
    slack: float = PREDICTION_MARGIN,
) -> list[TermSet]:
    """Sets that deserve a refit: those that may be better than the best, most promising first."""
    better = [
        (score, selected)
        for selected, score in pool.items()
        if selected not in tried and score < (best[0], best[1] + slack)
    ]
    better.sort(key=lambda pair: pair[0])
    return [selected for _, selected in better]


def _less(a: Score, b: Score) -> bool:
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1] - CRITERION_TOLERANCE)
