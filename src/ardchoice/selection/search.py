"""Local search over valid specifications.

Most of it happens on a surrogate and costs no pass over the data: from several starts, always to
the best neighbour not yet visited, going on for a while where nothing improves. What looks best is
refitted exactly, a new surrogate is made around the best refit, and so on until no neighbour
improves on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ardchoice.selection.constraints import Chosen, Constraints
from ardchoice.selection.criterion import Criterion
from ardchoice.selection.models import Fitted, Models
from ardchoice.selection.neighbours import neighbours, predict
from ardchoice.selection.signs import SignRules
from ardchoice.selection.surrogate import Surrogate

Floats = npt.NDArray[np.float64]

NEAR = 2.0
"""A criterion this close to the best is a near-tie."""
PATIENCE = 6
"""Steps without improvement before a climb is given up."""
LOOK = 60
"""Neighbours of each step that are remembered, and whose signs are looked at."""
CONFIRM = 12
"""Most refits of a round."""
UNSURE = 1.0
"""By how much a prediction may miss before it is worth no refit."""
ROUNDS = 25
"""Most surrogates."""
BETTER = 1e-3
"""Improvement of a criterion that counts; less is rounding of refits."""

Score = tuple[int, float]
"""Segments with a wrong sign, then the criterion: any violation is worse than any criterion."""


@dataclass(frozen=True)
class SearchStep:
    """Progress of a search: which round, terms and criterion of the best so far, refits made."""

    round: int
    terms: int
    criterion: float
    refits: int


@dataclass(frozen=True, eq=False)
class Problem:
    """What is searched: models, rules and the criterion."""

    models: Models
    constraints: Constraints
    criterion: Criterion
    signs: SignRules

    def score(self, fitted: Fitted) -> Score:
        """Of an exact refit."""
        value = predict(fitted.chosen, fitted.loglik, self.constraints, self.criterion)
        return self.wrong(fitted.chosen, fitted.beta), value

    def wrong(self, chosen: Chosen, beta: Floats) -> int:
        """Segments in which a set of terms with (scaled) coefficients goes the wrong way."""
        return self.signs.count(chosen, self.models.raw(beta)) if self.signs.signs else 0


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
    surrogate
        Around the best.
    rounds, refits
    """

    best: Fitted
    score: Score
    tried: dict[Chosen, Score] = field(repr=False)
    surrogate: Surrogate = field(repr=False)
    rounds: int
    refits: int

    @property
    def criterion(self) -> float:
        """Of the best."""
        return self.score[1]


def search(
    problem: Problem,
    starts: Sequence[Chosen],
    *,
    patience: int = PATIENCE,
    progress: Callable[[SearchStep], None] | None = None,
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
    """
    models = problem.models
    tried: dict[Chosen, Score] = {}

    def confirm(chosen: Chosen, start: Floats | None) -> Fitted:
        fitted = models.refit(chosen, start)
        tried[chosen] = problem.score(fitted)
        return fitted

    best = confirm(starts[0], None)
    origins = list(dict.fromkeys(starts))
    done = 0
    for done in range(1, ROUNDS + 1):
        # 1 · A surrogate around the best, and what can be reached on it.
        surrogate = Surrogate(models.quadratic(best), models.columns)
        pool: dict[Chosen, Score] = {}
        for start in origins:
            climb(problem, surrogate, start, pool, patience)
        # 2 · The promising ones, exactly.
        before = best
        for chosen in promising(pool, tried, tried[best.chosen]):
            fitted = confirm(chosen, surrogate.beta(chosen))
            if _less(tried[chosen], tried[best.chosen]):
                best = fitted
        if progress is not None:
            progress(SearchStep(done, len(best.chosen), tried[best.chosen][1], models.refits))
        if best is before:
            break
        origins = [best.chosen]
    return Found(best, tried[best.chosen], tried, surrogate, done, models.refits)


def climb(
    problem: Problem,
    surrogate: Surrogate,
    start: Chosen,
    pool: dict[Chosen, Score],
    patience: int,
) -> None:
    """Walk on a surrogate; everything good on the way goes into the pool with its score.

    Always to the best neighbour not visited yet, better or not, until `patience` steps in a row
    brought nothing new.
    """
    constraints, criterion = problem.constraints, problem.criterion
    value = predict(start, float(surrogate.reached([start])[0]), constraints, criterion)
    current = start
    best = pool[current] = (problem.wrong(current, surrogate.beta(current)), value)
    visited, idle = {current}, 0
    while idle <= patience:
        around = neighbours(current, surrogate, constraints, criterion)
        step: tuple[Score, Chosen] | None = None
        for i in around.best(LOOK):
            chosen = around.at(i)
            if chosen in visited:
                continue
            score = pool.get(chosen)
            if score is None:
                wrong = problem.wrong(chosen, surrogate.beta(chosen)) if problem.signs.signs else 0
                score = pool[chosen] = (wrong, float(around.values[i]))
            if step is None or score < step[0]:
                step = (score, chosen)
        if step is None:
            return
        current = step[1]
        visited.add(current)
        idle = 0 if _less(step[0], best) else idle + 1
        best = min(best, step[0])


def promising(pool: dict[Chosen, Score], tried: dict[Chosen, Score], best: Score) -> list[Chosen]:
    """Sets worth a refit: those that may be better than the best, most promising first."""
    hopeful = [
        (score, chosen)
        for chosen, score in pool.items()
        if chosen not in tried and score < (best[0], best[1] + UNSURE)
    ]
    hopeful.sort(key=lambda pair: pair[0])
    return [chosen for _, chosen in hopeful[:CONFIRM]]


def _less(a: Score, b: Score) -> bool:
    return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1] - BETTER)
