"""Held-out prediction by cross-validation: of a specification, or of the whole search for one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ardchoice.ard import Solver, fit_ard
from ardchoice.data import ChoiceData, must_be_choice_data
from ardchoice.design import Encoding, learn_encoding, running
from ardchoice.errors import ArdchoiceError, IdentificationError
from ardchoice.estimation import (
    FoldScore,
    Model,
    Result,
    cross_validate,
    estimate,
    null_loglik,
    prediction,
    probabilities,
    refit_near,
)
from ardchoice.families import Family, Mnl, estimated_shapes
from ardchoice.numerics import single_blas_thread
from ardchoice.selection import RefitCache, Rule, Structure, select
from ardchoice.space import SearchSpace, Specification, Term, as_specification
from ardchoice.text import table


@dataclass(frozen=True)
class HeldOutScore:
    """How well held-out persons are predicted.

    Attributes
    ----------
    loglik
        Summed over all folds, so over all choices.
    by_fold
        The log-likelihood of every fold.
    specifications
        The one of every fold.
    """

    loglik: float
    by_fold: tuple[float, ...]
    specifications: tuple[Specification, ...] = field(repr=False)

    def __str__(self) -> str:
        folds = zip(self.by_fold, self.specifications, strict=True)
        rows = [[str(i), f"{loglik:,.1f}", str(len(s))] for i, (loglik, s) in enumerate(folds, 1)]
        body = table(rows, ["fold", "log-likelihood", "terms"])
        return f"Held-out log-likelihood {self.loglik:,.1f}\n\n{body}"


def held_out(
    data: ChoiceData,
    what: SearchSpace | Specification | str | Iterable[Term | str],
    *,
    family: Family = Mnl(),  # noqa: B008 - frozen
    folds: int = 5,
    seed: int = 0,
    rule: Rule | None = None,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    solver: Solver | None = None,
    executor: Any = None,
) -> HeldOutScore:
    """Held-out log-likelihood by K-fold cross-validation, by person where there are persons.

    Parameters
    ----------
    data
        The choices.
    what
        A specification, which is estimated again in every fold; or a search space: relevance and
        selection are repeated in every fold as well, so that no held-out choice is used.
    family
        Default: `Mnl()`.
    folds, seed
        How persons are divided.
    rule, structure, solver
        How to select, as for `specify`.
    executor
        A Dask client whose workers process the data. Default: this process.
    """
    must_be_choice_data(data)
    given = None if isinstance(what, SearchSpace) else as_specification(what)

    def procedure(train: ChoiceData, test: ChoiceData) -> list[FoldScore]:
        specification = given
        if isinstance(what, SearchSpace):
            relevance = fit_ard(train, what, family=family.for_selection, solver=solver)
            specification = select(relevance, rule, structure=structure)
        assert specification is not None  # noqa: S101 - one of the two
        score = score_refit(train, test, specification, family)
        return [score._replace(specification=specification)]

    with running(executor):
        validated = cross_validate(data, folds, procedure, seed=seed)
    scores = [fold.scores[0] for fold in validated.folds]
    specifications = tuple(s.specification for s in scores if s.specification is not None)
    return HeldOutScore(validated.loglik(), tuple(s.loglik for s in scores), specifications)


def score_refit(
    train: ChoiceData,
    test: ChoiceData,
    specification: Specification,
    family: Family,
    *,
    whole_sample: ChoiceData | None = None,
    near: Result | None = None,
    with_probabilities: bool = False,
) -> FoldScore:
    """Estimate a specification on training situations and score the held-out ones.

    Parameters
    ----------
    train, test
    specification
        Without terms, every available alternative is equally likely.
    family
    whole_sample
        Whose attributes a transform is learned from where the training situations do not suffice.
        Default: an error.
    near
        Estimates of this model on the whole sample: a family whose likelihood has several maxima
        starts there.
    with_probabilities
        Whether probabilities are returned too.
    """
    if not specification.terms:
        p = test.available / test.available.sum(axis=0)
        hits = float(test.weights @ (p.argmax(axis=0) == test.chosen()))
        return FoldScore(null_loglik(test), hits, p if with_probabilities else None)
    with single_blas_thread():
        model = _estimated(train, specification, family, whole_sample, near)
        found = prediction(model, test)
        p = probabilities(model, test) if with_probabilities else None
        return FoldScore(found.loglik, found.hits, p)


def _estimated(
    train: ChoiceData,
    specification: Specification,
    family: Family,
    whole_sample: ChoiceData | None,
    near: Result | None,
) -> Model:
    """From anywhere where there is one maximum, else from near where something near is known."""
    if near is not None and not family.concave:
        return refit_near(near, train)
    return _refit(train, specification, family, whole_sample)


def _refit(
    train: ChoiceData,
    specification: Specification,
    family: Family,
    whole_sample: ChoiceData | None,
) -> Model:
    """Estimates on the training situations; a small ridge holds what they do not identify."""
    try:
        encoding = estimated_shapes(train, learn_encoding(train, specification.terms))
        return refit_model(train, encoding, family)
    except ArdchoiceError:
        if whole_sample is None:
            raise
        return refit_model(train, learn_encoding(whole_sample, specification.terms), family)


def refit_model(train: ChoiceData, encoding: Encoding, family: Family) -> Model:
    """All terms of an encoding, estimated on some situations.

    A family that is not concave is estimated as `fit` does it, from its own starts: Newton's method
    from zero would end at another maximum, or where tastes do not vary.
    """
    if not family.concave:
        specification = Specification(tuple(t.term for t in encoding.terms))
        try:
            return estimate(train, specification, family, separation="allow").model
        except IdentificationError:
            pass
    every = frozenset(range(len(encoding.terms)))
    models = RefitCache(train, encoding, np.ones(encoding.n_columns), family=family)
    return models.model(models.refit(every))
