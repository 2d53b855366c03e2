"""K-fold cross-validation by person: the one loop over folds, for whatever is estimated inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ardchoice._types import Floats
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData
from ardchoice.space import Specification


class FoldScore(NamedTuple):
    """How well one model predicts the held-out situations of one fold.

    Attributes
    ----------
    loglik
        (Weighted) log-likelihood of the observed choices.
    hits
        Weight of the situations whose most probable alternative was chosen.
    probabilities
        Choice probabilities, shape (J, n); None where they are not needed.
    specification
        What was estimated on the training situations.
    """

    loglik: float
    hits: float = math.nan
    probabilities: Floats | None = None
    specification: Specification | None = None


Procedure = Callable[[ChoiceData, ChoiceData], Sequence[FoldScore]]
"""Estimates on the training situations and scores the held-out ones: a score for every model."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold.

    Attributes
    ----------
    held_out
        The situations that were predicted.
    scores
        Of every model.
    """

    held_out: ChoiceData
    scores: tuple[FoldScore, ...]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """All folds of a cross-validation; together they hold every situation once."""

    folds: tuple[Fold, ...]

    def loglik(self, model: int = 0) -> float:
        """Held-out log-likelihood of a model, summed over folds; NaN without folds."""
        return sum(f.scores[model].loglik for f in self.folds) if self.folds else math.nan

    def accuracy(self, model: int = 0) -> float:
        """Weighted share of held-out situations that a model predicts; NaN without folds."""
        if not self.folds:
            return math.nan
        weight = sum(float(f.held_out.weights.sum()) for f in self.folds)
        return sum(f.scores[model].hits for f in self.folds) / weight


def cross_validate(
    data: ChoiceData,
    folds: int,
    procedure: Procedure,
    *,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    keep: Checkpointer = NOTHING,
    stage: str = "fold",
) -> CrossValidation:
    """Divide the persons into folds; estimate without each of them and predict it.

    Parameters
    ----------
    data
        The choices. Folds are of persons whenever there are persons.
    folds
        How many; 0 for none.
    procedure
        Called with the training and the held-out situations of every fold.
    seed
        Of the division.
    progress
        Called with (folds done, folds in all) before and after every fold.
    keep, stage
        Where the scores of a fold are checkpointed, and under which name.
    """
    done: list[Fold] = []
    for train, held_out in data.folds(folds, seed=seed) if folds else ():
        if progress is not None:
            progress(len(done), folds)
        scores = keep.stage(f"{stage}-{len(done)}", partial(procedure, train, held_out))
        done.append(Fold(held_out, tuple(FoldScore(*score) for score in scores)))
        if progress is not None:
            progress(len(done), folds)
    return CrossValidation(tuple(done))
