"""How sure each term is, and predictions averaged over specifications around the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.ard import ArdFit, fit_ard, posterior_probabilities
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import (
    FoldScore,
    Model,
    cross_validate,
    predict_with,
    prediction,
    probabilities,
)
from ardchoice.numerics import single_blas_thread
from ardchoice.record import AVERAGED, POSTERIOR, SELECTED_MODEL, StudyRecord
from ardchoice.selection import Inclusion, RefitCache, inclusion, select
from ardchoice.space import Specification

AVERAGED_SHARE, MOST_AVERAGED = 0.99, 40
"""Of the weight of all specifications that predictions are averaged over, and most of these."""
TINY = 1e-300
NAMES = {AVERAGED: "average over specifications", POSTERIOR: "relevance posterior"}
"""Predictors in a sentence."""
SHOWN = 0.05
"""Least difference of log-likelihoods that a table shows."""
MOST_CELLS = 10_000_000
"""Situations times candidate columns up to which predictors are compared without being asked to."""


def visit_around(record: StudyRecord) -> Inclusion:
    """The specifications around the selected one of a study."""
    if not can_be_averaged(record.fit):
        raise ArdchoiceError(
            "Inclusion probabilities need all data at hand and a family without random tastes: "
            "they compare specifications by exact refits."
        )
    return inclusion(record.fit, record.specification, record.rule, record.structure)


def inclusion_table(record: StudyRecord, found: Inclusion | None = None) -> pd.DataFrame:
    """How sure each candidate is, surest first: term, alternative, columns, selected, probability.

    Where the study has another family than its search, such as a mixed logit, `model` names the one
    that the probabilities belong to.

    Parameters
    ----------
    record
        A study.
    found
        The specifications around the selected one, if they were visited before.
    """
    found = visit_around(record) if found is None else found
    terms, selected = record.fit.terms, set(record.specification.terms)
    frame = pd.DataFrame(
        {
            "term": [str(t) for t in terms],
            "alternative": [t.place for t in terms],
            "columns": np.array([t.n_columns for t in record.fit.encoding.terms]),
            "selected": [t in selected for t in terms],
            "probability": found.probabilities,
        }
    )
    searched = model_of_search(record)
    if searched:
        frame["model"] = searched
    frame = frame.sort_values(["probability", "selected"], ascending=False, kind="stable")
    return frame.reset_index(drop=True)


def model_of_search(record: StudyRecord) -> str:
    """The family that terms were searched with, where the study's model is of another; else empty.

    Inclusion probabilities and repeated selections are those of the search.
    """
    searched, own = record.fit.family.title, record.result.family.title
    return "" if searched == own else searched.lower()


# -- Averaged predictions --------------------------------------------------------------------------


def averaged_models(
    found: Inclusion, models: RefitCache | None = None
) -> tuple[list[Model], Floats]:
    """Models of the most probable specifications, and their weights.

    Parameters
    ----------
    found
    models
        What estimates them. Default: what visited them.
    """
    models = found.problem.models if models is None else models
    sets, weights = found.most_probable(AVERAGED_SHARE, MOST_AVERAGED)
    return [models.model(models.refit(s)) for s in sets], weights


def averaged_probabilities(models: list[Model], weights: Floats, data: ChoiceData) -> Floats:
    """Choice probabilities averaged over models; shape (J, N)."""
    total: Floats = np.zeros(data.available.shape)
    for model, weight in zip(models, weights, strict=True):
        total += weight * probabilities(model, data)
    return total


def predict_averaged(record: StudyRecord, new: object = None) -> pd.DataFrame:
    """As `Study.predict`, averaged over the specifications around the selected one."""
    with single_blas_thread():
        found = visit_around(record)
        fit, data = record.fit, record.result.data
        models = None
        if data is not fit.data:
            # The persons that did not select estimate.
            models = RefitCache(data, fit.encoding, fit.scale, family=fit.family, extras=fit.extras)
        each, weights = averaged_models(found, models)
    sets, _ = found.most_probable(AVERAGED_SHARE, MOST_AVERAGED)
    encoding = fit.encoding.restrict(sorted({t for s in sets for t in s}))

    def predict(situations: ChoiceData) -> pd.DataFrame:
        with single_blas_thread():
            p = averaged_probabilities(each, weights, situations)
        index = pd.Index(situations.situation, name="situation")
        return pd.DataFrame(p.T, index=index, columns=list(situations.alternatives))

    if new is None or isinstance(new, ChoiceData):
        return predict(data if new is None else new)
    return predict_with(encoding, predict, record.data, new)


# -- Selected, averaged or posterior? --------------------------------------------------------------


def compare_predictors(
    record: StudyRecord, folds: int, keep: Checkpointer = NOTHING
) -> pd.DataFrame:
    """Held-out prediction by the selected model, the average and the relevance posterior.

    Relevance, selection and estimation are repeated in every fold, so that no held-out choice has a
    part in any of the three.

    Parameters
    ----------
    record
        A study.
    folds
        Of persons.
    keep
        Where every fold is checkpointed.

    Returns
    -------
    DataFrame
        A row each: predictor, held_out (log-likelihood, summed over folds), difference (from the
        selected model) and difference_se (its standard error, from folds).
    """
    validated = cross_validate(
        record.result.data,
        folds,
        partial(_three, record),
        seed=record.seed,
        keep=keep,
        stage="predictors",
    )
    return predictors_of([fold.scores for fold in validated.folds])


def predictors_of(scores: Sequence[Sequence[FoldScore]]) -> pd.DataFrame:
    """As `compare_predictors` gives it, from the scores of the three in every fold."""
    each = np.array([[score.loglik for score in three] for three in scores])
    apart = each - each[:, :1]
    return pd.DataFrame(
        {
            "predictor": [SELECTED_MODEL, AVERAGED, POSTERIOR],
            "held_out": each.sum(axis=0),
            "difference": apart.sum(axis=0),
            "difference_se": np.sqrt(len(each)) * apart.std(axis=0, ddof=1),
        }
    )


def _three(record: StudyRecord, train: ChoiceData, test: ChoiceData) -> list[FoldScore]:
    return score_predictors(record, *search_again(record, train), test)


def search_again(record: StudyRecord, train: ChoiceData) -> tuple[ArdFit, Specification]:
    """Relevance and selection of a study repeated without the held-out persons."""
    options = {name: getattr(record.fit, name) for name in ("family", "solver", "prior")}
    fit = fit_ard(train, record.space, **options)
    return fit, select(fit, record.rule, structure=record.structure)


def score_predictors(
    record: StudyRecord, fit: ArdFit, specification: Specification, test: ChoiceData
) -> list[FoldScore]:
    """The held-out log-likelihood of one fold by each of the three.

    Parameters
    ----------
    record
        A study.
    fit, specification
        As `search_again` finds them without the held-out persons.
    test
        What these choose.
    """
    found = inclusion(fit, specification, record.rule, record.structure)
    with single_blas_thread():
        selected = frozenset(fit.terms.index(t) for t in specification.terms)
        models, weights = averaged_models(found)
        average = averaged_probabilities(models, weights, test)
        own = found.problem.models
        alone = prediction(own.model(own.refit(selected)), test).loglik
    posterior = posterior_probabilities(fit, test)
    return [FoldScore(alone), *(FoldScore(_loglik(p, test)) for p in (average, posterior))]


def _loglik(p: Floats, data: ChoiceData) -> float:
    chosen = p[data.chosen(), np.arange(len(data))]
    return float(data.weights @ np.log(np.maximum(chosen, TINY)))


def can_be_averaged(fit: ArdFit) -> bool:
    """Whether specifications around the selected one can be compared by exact refits."""
    return not (fit.continues or fit.family.panel)


def is_small(fit: ArdFit) -> bool:
    """Whether everything may be repeated in every fold without being asked for."""
    return len(fit.data) * len(fit.mean) <= MOST_CELLS


def best_predictor(frame: pd.DataFrame, unit: str = "persons") -> str:
    """Which of the three predicts best, in a sentence.

    Parameters
    ----------
    frame
        As `compare_predictors` gives it.
    unit
        What was held out.
    """
    best = int(frame["held_out"].to_numpy().argmax())
    name, apart, error = frame.iloc[best][["predictor", "difference", "difference_se"]]
    if not best:
        return f"The selected model predicts held-out {unit} best of the three."
    if apart < SHOWN:
        return f"None of the three predicts held-out {unit} better than the selected model."
    sure = "more" if apart > 2 * error else "no more"
    text = (
        f"Of the three the {NAMES[name]} predicts held-out {unit} best, by {apart:,.1f} ± "
        f"{error:,.1f} of log-likelihood, {sure} than two standard errors."
    )
    how = " study.predict(average=True) predicts with it." if name == AVERAGED else ""
    return f"{text} The answer stays the selected model.{how}"
