"""`evaluate`: held-out prediction of a study, beside baselines and given specifications."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData
from ardchoice.design import learn_encoding
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning, FileError, SpecificationError
from ardchoice.estimation import (
    CrossValidation,
    FoldScore,
    Result,
    ScenarioOptions,
    cross_validate,
    fit,
    null_loglik,
)
from ardchoice.evaluation.averaging import (
    can_be_averaged,
    compare_predictors,
    inclusion_table,
    is_small,
    predictors_of,
    score_predictors,
    search_again,
)
from ardchoice.evaluation.baselines import baselines
from ardchoice.evaluation.calibration import calibration
from ardchoice.evaluation.checks import count_wrong_signs
from ardchoice.evaluation.cross_validation import score_refit
from ardchoice.evaluation.families import predict_both_ways
from ardchoice.evaluation.path import selection_path
from ardchoice.evaluation.scenarios import study_scenarios
from ardchoice.evaluation.stability import stability
from ardchoice.families import Family, Mnl
from ardchoice.progress import Listener, PhaseProgress
from ardchoice.record import (
    RESERVED_MODEL_NAMES,
    SELECTED,
    ComparedFamily,
    Evaluation,
    Note,
    Path,
    StudyRecord,
)
from ardchoice.selection import Bic, Ebic, Structure
from ardchoice.space import Specification, as_specification


def evaluate(
    record: StudyRecord,
    *,
    folds: int = 5,
    search_in_folds: bool = False,
    stability_pairs: int = 0,
    compare: Mapping[str, Specification | str] | None = None,
    scenarios: Mapping[str, ScenarioOptions] | None = None,
    listener: Listener | None = None,
    keep: Checkpointer = NOTHING,
) -> Evaluation:
    """Cross-validation, calibration, path and stability of a study.

    Parameters
    ----------
    record
        The study. With `honest`, everything is measured on the persons that did not select.
    folds
        Of persons, for held-out figures; fewer where there are fewer persons, 0 for none.
    search_in_folds
        Repeat relevance and selection in every fold, not only the estimation.
    stability_pairs
        How often persons are divided into halves to see what is selected again; 0 for never.
    compare
        Name -> specification to be estimated beside the selected one.
    scenarios
        Name -> what changes.
    listener
        Called with the progress.
    keep
        Where every fold is checkpointed.

    Returns
    -------
    Evaluation
        With a note for everything that could not be computed.

    Raises
    ------
    ArdchoiceError
        A specification to compare with cannot be read or estimated; its name is in the message.
    """
    data = record.result.data
    folds = _possible_folds(data, folds)
    PhaseProgress("evaluate", listener)(0, 0, "path")
    path = keep.stage("path", partial(_path, record, folds))
    models = _models(record, compare or {})
    notes: list[Note] = []
    validated, searched = _validate(record, models, folds, search_in_folds, listener, keep, notes)
    three = _scored_in_folds(validated, len(models))
    stable = _stability(record, stability_pairs, listener, keep, notes) if stability_pairs else None
    sure = None
    if can_be_averaged(record.fit):
        PhaseProgress("evaluate", listener)(0, 0, "inclusion probabilities")
        sure = keep.stage("inclusion", partial(inclusion_table, record))
    if three is None and searched == search_in_folds:  # else no search in folds would succeed
        three = _predictors(record, folds, search_in_folds, listener, keep, notes)
    return Evaluation(
        path=path,
        comparisons=_comparisons(data, models, validated, record.structure),
        calibration=_calibration(data, validated),
        stability=stable,
        folds=folds,
        searched=bool(folds and searched),
        notes=tuple(notes),
        scenarios=study_scenarios(record.result, scenarios or {}),
        inclusion=sure,
        both_ways=_both_ways(record, folds, listener, keep),
        predictors=three,
    )


def _both_ways(
    record: StudyRecord, folds: int, listener: Listener | None, keep: Checkpointer
) -> tuple[ComparedFamily, ...]:
    """The multinomial logit and the mixed one, each with its own terms."""
    if record.joint is None or not folds or not record.joint.selection.random:
        return ()
    models = (record.joint.mnl_result, record.result)
    return predict_both_ways(models, folds=folds, seed=record.seed, listener=listener, keep=keep)


def _predictors(
    record: StudyRecord,
    folds: int,
    search_in_folds: bool,
    listener: Listener | None,
    keep: Checkpointer,
    notes: list[Note],
) -> pd.DataFrame | None:
    """Selected model, average and posterior; None where that is not possible or would take long."""
    asked = search_in_folds or is_small(record.fit)
    if not (folds and asked and can_be_averaged(record.fit)):
        return None
    PhaseProgress("evaluate", listener)(0, 0, "selected, averaged or posterior")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ArdchoiceWarning)
            return compare_predictors(record, folds, keep)
    except FileError:
        raise
    except ArdchoiceError as error:
        title = "Averaged predictions not compared, as some fold cannot be searched"
        notes.append(Note("plain", title, str(error)))
        return None


def _possible_folds(data: ChoiceData, folds: int) -> int:
    """As many folds as there are persons, at most; none where there would be one."""
    if folds < 0 or folds == 1:
        raise ArdchoiceError(f"Persons are divided into 2 or more folds, or 0 for none: {folds}.")
    most = min(folds, len(data) if data.n_persons is None else data.n_persons)
    return most if most >= 2 else 0


def _path(record: StudyRecord, folds: int) -> Path | None:
    """Terms entering in order of relevance; on the persons that selected."""
    if record.fit.continues:
        return None
    rule = record.rule if isinstance(record.rule, (Bic, Ebic)) else None
    return selection_path(
        record.fit,
        rule=rule,
        structure=record.structure,
        folds=_possible_folds(record.fit.data, folds),
        seed=record.seed,
    )


def _stability(
    record: StudyRecord,
    pairs: int,
    listener: Listener | None,
    keep: Checkpointer,
    notes: list[Note],
) -> pd.DataFrame | None:
    """As `ac.stability` gives it; None and a note where some half cannot be searched."""
    progress = PhaseProgress("evaluate", listener)
    try:
        return stability(
            record.data,
            record.space,
            family=record.fit.family,
            pairs=pairs,
            rule=record.rule,
            structure=record.structure,
            solver=record.fit.solver,
            seed=record.seed,
            progress=lambda i, n: progress(i, n, f"stability: half {i} of {n}"),
            keep=keep,
        )
    except FileError:
        raise
    except ArdchoiceError as error:
        notes.append(Note("look", "No stability, as some half cannot be searched", str(error)))
        return None


# -- Models side by side ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Model:
    """A specification and its estimates on all persons; None for equal shares."""

    name: str
    specification: Specification
    family: Family
    result: Result | None


def _models(record: StudyRecord, compare: Mapping[str, Specification | str]) -> list[_Model]:
    """The selected one; baselines, multinomial logits whatever the family; given ones."""
    data, family = record.result.data, record.result.family
    models = [_Model(SELECTED, record.specification, family, record.result)]
    for name, specification in baselines(data, record.space).items():
        result = None
        if specification.terms:
            try:
                result = _estimate(data, specification, Mnl())
            except ArdchoiceError:  # not every data set identifies a baseline
                continue
        models.append(_Model(name, specification, Mnl(), result))
    for name, given in compare.items():
        if name in RESERVED_MODEL_NAMES:
            raise SpecificationError(
                f"compare: {name!r} is the name of a model that is always shown; choose another."
            )
        try:
            specification = as_specification(given)
            own = family.for_terms(learn_encoding(data, specification.terms))
            result = _estimate(data, specification, own)
            models.append(_Model(name, specification, result.family, result))
        except ArdchoiceError as error:
            raise SpecificationError(f"compare: {name!r}: {error}") from None
    return models


def _estimate(data: ChoiceData, specification: Specification, family: Family) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)
        return fit(data, specification, family=family, separation="allow")


def _comparisons(
    data: ChoiceData,
    models: list[_Model],
    validated: CrossValidation,
    structure: Structure | None,
) -> pd.DataFrame:
    rows, selected = [], models[0].result
    for m, model in enumerate(models):
        r = model.result
        if r is None:
            null = null_loglik(data)
            figures: list[float] = [0, null, -2 * null, -2 * null, 0.0, 0.0]
        else:
            # A baseline that counts choices would not compare with a model that counts persons.
            bic = r.bic_counting(r.n_units if selected is None else selected.n_units)
            figures = [r.n_parameters, r.loglik, r.aic, bic, r.rho2, r.rho2_bar]
        held_out = [validated.loglik(m), validated.accuracy(m), _difference_error(validated, m)]
        wrong = 0 if r is None else count_wrong_signs(r, structure)
        rows.append([model.name, *figures, *held_out, wrong])
    names = ["model", "coefficients", "loglik", "aic", "bic", "rho2", "rho2_bar"]
    return pd.DataFrame(
        rows, columns=[*names, "held_out", "accuracy", "held_out_se", "wrong_signs"]
    )


def _difference_error(validated: CrossValidation, model: int) -> float:
    """Standard error of a model's held-out log-likelihood minus the first one's, from folds."""
    if len(validated.folds) < 2:
        return np.nan
    apart = [f.scores[model].loglik - f.scores[0].loglik for f in validated.folds]
    return float(np.sqrt(len(apart)) * np.std(apart, ddof=1))


# -- Cross-validation ------------------------------------------------------------------------------


class _NoSearchError(Exception):
    """The selection cannot be repeated on the training persons; the message says why."""


def _validate(
    record: StudyRecord,
    models: list[_Model],
    folds: int,
    search: bool,
    listener: Listener | None,
    keep: Checkpointer,
    notes: list[Note],
) -> tuple[CrossValidation, bool]:
    """Every fold, and whether the selection was repeated: in all of them or in none."""
    report = PhaseProgress("evaluate", listener)

    def procedure(train: ChoiceData, test: ChoiceData) -> list[FoldScore]:
        """Scores of the models; after them, where the search is repeated, of the predictors."""
        found = _search_again(record, train) if search else None
        scores: list[FoldScore] = []
        for m, model in enumerate(models):
            again = None if m else found
            family = model.family
            if again is not None:
                family = family.for_terms(learn_encoding(train, again[1].terms))
            score = score_refit(
                train,
                test,
                model.specification if again is None else again[1],
                family,
                whole_sample=record.data,
                near=model.result if again is None else None,
                with_probabilities=m == 0,
            )
            scores.append(score)
        return scores if found is None else [*scores, *_predicted(record, *found, test)]

    def validate(stage: str) -> CrossValidation:
        return cross_validate(
            record.result.data,
            folds,
            procedure,
            seed=record.seed,
            progress=lambda i, n: report(i, n, f"fold {min(i + 1, n)} of {n}"),
            keep=keep,
            stage=stage,
        )

    if search:
        try:
            return validate("searched"), True
        except _NoSearchError as error:
            search = False
            title = "Selection not repeated in every fold, only the estimation"
            notes.append(Note("look", title, str(error)))
    return validate("fold"), False


def _search_again(record: StudyRecord, train: ChoiceData) -> tuple[ArdFit, Specification]:
    """What would have been selected without the held-out persons."""
    try:
        return search_again(record, train)
    except ArdchoiceError as error:
        raise _NoSearchError(str(error)) from error


def _predicted(
    record: StudyRecord, fit: ArdFit, specification: Specification, test: ChoiceData
) -> list[FoldScore]:
    """Of the three predictors; none where they cannot be compared, which `_predictors` notes."""
    if not can_be_averaged(record.fit):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ArdchoiceWarning)
            return score_predictors(record, fit, specification, test)
    except FileError:
        raise
    except ArdchoiceError:
        return []


def _scored_in_folds(validated: CrossValidation, models: int) -> pd.DataFrame | None:
    """The three predictors, where every fold scored them behind so many models."""
    scores = [fold.scores[models:] for fold in validated.folds]
    return predictors_of(scores) if scores and all(scores) else None


def _calibration(data: ChoiceData, validated: CrossValidation) -> pd.DataFrame | None:
    if not validated.folds:
        return None
    parts = [fold.held_out for fold in validated.folds]
    predicted = [fold.scores[0].probabilities for fold in validated.folds]
    # Folds number their persons from zero.
    starts = np.cumsum([0, *(part.n_persons or 0 for part in parts)])
    persons = [
        part.person + a for part, a in zip(parts, starts, strict=False) if part.person is not None
    ]
    return calibration(
        data.alternatives,
        np.concatenate([p for p in predicted if p is not None], axis=1),
        np.concatenate([part.available for part in parts], axis=1),
        np.concatenate([part.chosen() for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate(persons) if persons else None,
    )
