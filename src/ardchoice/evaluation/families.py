"""`compare_families`: which model family the data support, on the same terms."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, log, nan, sqrt
from typing import Any

import numpy as np

from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData, must_be_choice_data
from ardchoice.design import running
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning
from ardchoice.estimation import (
    CrossValidation,
    FoldScore,
    Result,
    cross_validate,
    fit,
    joint_loglik,
    prediction,
    refit_near,
)
from ardchoice.families import Family, LatentClass, Mixed, Mnl, Nested, must_be_family
from ardchoice.numerics import single_blas_thread
from ardchoice.progress import Listener, PhaseProgress
from ardchoice.record import ComparedFamily, FamilyComparison
from ardchoice.space import Specification, Term, as_specification

FEWEST_NESTED = 3
"""Alternatives below which there is no nest."""
COMPARED_STARTS = 4
"""Of latent classes, whose number the data decide: half of the usual ones. Every number of classes
also starts from one class less, and nobody estimates eight classes for one maximum."""
NOTABLE_SE = 2.0
"""Standard errors from which a difference of held-out log-likelihoods is more than chance."""


def compare_families(
    data: ChoiceData,
    spec: Specification | str | Iterable[Term | str],
    *,
    families: Sequence[Family] | None = None,
    folds: int = 5,
    seed: int = 0,
    listener: Listener | None = None,
    keep: Checkpointer = NOTHING,
    executor: Any = None,
) -> FamilyComparison:
    """Estimate a specification in several model families and compare them.

    By BIC over persons, -2ℓ + P log(persons) for all of them, which decides among those that are
    admissible (no scale of a nest below 1); and by the log-likelihood of held-out persons, the
    answers of each jointly and every answer alone.

    Parameters
    ----------
    data
        The choices.
    spec
        The terms that all families have.
    families
        Default: the multinomial logit; a nested logit with nests found by the data; and, where
        persons answered several times, a mixed logit whose random coefficients, and whether they
        are correlated, and a latent class logit whose number of classes the data decide.
    folds, seed
        Of persons, for held-out figures; 0 folds for none. Coefficients are estimated without
        the held-out persons; nests, random coefficients and the number of classes are found with
        them.
    listener, keep
        Called with the progress; where every stage is saved.
    executor
        A Dask client whose workers process the data. Default: this process.

    Returns
    -------
    FamilyComparison

    Examples
    --------
    >>> import numpy as np
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real").take(np.arange(900))
    >>> nested = ac.Nested({"existing": ["TRAIN", "CAR"]})
    >>> found = ac.compare_families(data, "*: TT + CO", families=[nested], folds=0)
    >>> list(found.results)
    ['mnl', 'nested']
    """
    must_be_choice_data(data)
    specification = as_specification(spec)
    with running(executor), single_blas_thread():
        return _compare(data, specification, families, folds, seed, listener, keep)


def _compare(
    data: ChoiceData,
    specification: Specification,
    families: Sequence[Family] | None,
    folds: int,
    seed: int,
    listener: Listener | None,
    keep: Checkpointer,
) -> FamilyComparison:
    report = PhaseProgress("estimate", listener, even=False)
    candidates = _candidates(data, specification, families)
    notes = list(candidates.notes)
    fitted: list[_Fitted] = []
    for i, family in enumerate(candidates.families):
        report(i, len(candidates.families), family.title)
        try:
            one = _Fitted(
                *keep.stage(f"family-{family.tag}", partial(_fit, data, specification, family))
            )
        except ArdchoiceError as error:
            notes.append(f"{family.title}: not compared. {error}")
            continue
        if fitted and _is_multinomial(one.result.family):
            notes += [_nothing_found(family), *_to_look_at(one.result, fitted[0].result)]
            continue
        fitted.append(one)
    validated = _validate(data, fitted, folds, seed, listener, keep)
    n_units = data.n_persons or len(data)
    compared = _compared(fitted, validated, n_units)
    reasons = {one.tag: _inadmissible(one.result) for one in compared}
    admissible = [one for one in compared if not reasons[one.tag]]
    best = min(admissible, key=lambda one: one.bic)
    notes += [
        f"{one.title}: inadmissible, so not selected whatever its BIC. {reason}"
        for one in compared
        for reason in reasons[one.tag]
    ]
    notes += [
        f"{one.title}: estimation did not converge, do not use it as it is."
        for one in compared
        if not one.result.converged
    ]
    return FamilyComparison(
        families=compared,
        selected=best.tag,
        reason=_reason(
            admissible,
            best,
            f"{n_units:,} {'choices' if data.n_persons is None else 'persons'}"
            + (", of the admissible families" if len(admissible) < len(compared) else ""),
            data.n_persons is not None,
        ),
        n_units=n_units,
        folds=len(validated.folds),
        notes=tuple(notes),
    )


def _inadmissible(result: Result) -> tuple[str, ...]:
    return result.family.inadmissible(result.coefficients, result.layout)


# -- Candidates ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidates:
    families: tuple[Family, ...]
    notes: tuple[str, ...] = ()


def _candidates(
    data: ChoiceData, specification: Specification, given: Sequence[Family] | None
) -> _Candidates:
    """The multinomial logit first: everything else is compared with it."""
    if given is not None:
        others = [must_be_family(family) for family in given]
        wanted = (Mnl(), *(f for f in others if not isinstance(f, Mnl)))
        tags = [family.tag for family in wanted]
        if len(set(tags)) < len(tags):
            raise ArdchoiceError("Each family is compared once: name no family twice.")
        return _Candidates(wanted)
    families: list[Family] = [Mnl()]
    notes = []
    if len(data.alternatives) >= FEWEST_NESTED:
        families.append(Nested(None))
    if data.n_persons is not None and data.n_persons < len(data):
        interactions = tuple(str(t) for t in specification.terms if t.by)
        families += [Mixed(None), LatentClass(None, shared=interactions, starts=COMPARED_STARTS)]
    else:
        notes.append(
            "No person answered more than once: mixed and latent class logits, which need several "
            "answers of a person to see that persons differ, were not compared."
        )
    return _Candidates(tuple(families), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A family estimated, and the processor time of it."""

    result: Result
    seconds: float


def _fit(data: ChoiceData, specification: Specification, family: Family) -> tuple[Result, float]:
    """Estimates, and the processor time of them."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)
        result = fit(data, specification, family=family, separation="allow")
        if isinstance(family, Mixed) and family.random is None and not family.correlated:
            result = _correlated(data, result)
    return result, time.process_time() - started


def _correlated(data: ChoiceData, result: Result) -> Result:
    """A mixed logit that the data chose, with correlated tastes where BIC over persons is lower.

    Classes differ in all coefficients together: without correlations the comparison with them
    would be of what a mixed logit leaves out, not of discrete with continuous tastes.
    """
    family = result.family
    if not isinstance(family, Mixed) or len(family.random or ()) < 2:
        return result
    wider = replace(family, correlated=True, anchor=None)
    try:
        other = fit(data, result.specification, family=wider, separation="allow")
    except ArdchoiceError:
        return result
    if not other.converged or other.bic >= result.bic:
        return result
    text = (
        f"Tastes are correlated: BIC {other.bic:,.1f}, {result.bic - other.bic:,.1f} below that "
        "with independent ones."
    )
    return replace(
        other,
        notes=(*result.notes[:1], text, *other.notes),
        information=(*result.information, text, *other.information),
    )


def _is_multinomial(family: Family) -> bool:
    """Whether a family, as the data decided its options, is the multinomial logit."""
    one_class = isinstance(family, LatentClass) and family.classes == 1
    return isinstance(family, Mnl) or one_class


def _nothing_found(family: Family) -> str:
    what = {
        Nested: "no nest is supported by the data",
        Mixed: "no coefficient varies between persons as far as the data show",
        LatentClass: "one class has the lowest BIC",
    }.get(type(family), "it is the same as another family here")
    return f"{family.title}: {what}, so that it is the multinomial logit."


def _to_look_at(result: Result, mnl: Result) -> list[str]:
    """What the search for nests, tastes or classes noted beside what holds of the MNL anyway."""
    known = {*result.information, *mnl.notes}
    return [text for text in result.notes if text not in known]


# -- Held-out persons ------------------------------------------------------------------------------


def _validate(
    data: ChoiceData,
    fitted: Sequence[_Fitted],
    folds: int,
    seed: int,
    listener: Listener | None,
    keep: Checkpointer,
) -> CrossValidation:
    """Two scores for every family: the answers of a person jointly, and every answer alone."""
    report = PhaseProgress("evaluate", listener)

    def procedure(train: ChoiceData, test: ChoiceData) -> list[FoldScore]:
        models = [refit_near(one.result, train) for one in fitted]
        return [FoldScore(joint_loglik(model, test)) for model in models] + [
            FoldScore(prediction(model, test).loglik) for model in models
        ]

    units = data.n_persons or len(data)
    return cross_validate(
        data,
        min(folds, units) if units >= 2 else 0,
        procedure,
        seed=seed,
        progress=lambda i, n: report(i, n, f"families: fold {min(i + 1, n)} of {n}"),
        keep=keep,
        stage="family-fold",
    )


def predict_both_ways(
    results: Sequence[Result],
    *,
    folds: int,
    seed: int = 0,
    listener: Listener | None = None,
    keep: Checkpointer = NOTHING,
) -> tuple[ComparedFamily, ...]:
    """Several models on the same folds of persons, which predict each person twice.

    The answers of a person jointly, and every answer as that of a person of whom nothing is known.

    Parameters
    ----------
    results
        Models of one data set, each with its own terms; differences are from the first.
    folds, seed
        Of persons.
    listener, keep
        Progress, and where folds are saved.
    """
    data = results[0].data
    fitted = [_Fitted(result, 0.0) for result in results]
    with single_blas_thread():
        validated = _validate(data, fitted, folds, seed, listener, keep)
    return _compared(fitted, validated, data.n_persons or len(data))


def _compared(
    fitted: Sequence[_Fitted], validated: CrossValidation, n_units: int
) -> tuple[ComparedFamily, ...]:
    """Scores of the first half are joint, of the second half of every answer alone."""
    m = len(fitted)
    return tuple(
        ComparedFamily(
            result=one.result,
            bic=-2 * one.result.loglik + one.result.n_parameters * log(n_units),
            held_out=validated.loglik(k),
            held_out_se=_difference_error(validated, k, 0),
            each=validated.loglik(m + k),
            each_se=_difference_error(validated, m + k, m),
            seconds=one.seconds,
        )
        for k, one in enumerate(fitted)
    )


def _difference_error(validated: CrossValidation, score: int, base: int) -> float:
    """Standard error of the difference of two held-out log-likelihoods, from the folds."""
    if len(validated.folds) < 2:
        return nan
    apart = [f.scores[score].loglik - f.scores[base].loglik for f in validated.folds]
    return sqrt(len(apart)) * float(np.std(apart, ddof=1))


# -- The reason ------------------------------------------------------------------------------------


def _reason(
    compared: Sequence[ComparedFamily], best: ComparedFamily, counted: str, has_persons: bool
) -> str:
    """Why a family is the one, and where held-out persons say otherwise."""
    unit, base = "persons" if has_persons else "choices", compared[0]
    details = best.result.family.details
    text = f"{best.title}{f' ({details})' if details else ''}: lowest BIC over {counted}"
    others = [one for one in compared if one is not best]
    if others:
        second = min(others, key=lambda one: one.bic)
        text += f", {second.bic - best.bic:,.1f} below the {_lower(second.title)}"
    text += "."
    if best is not base and not isnan(best.held_out):
        joint = f"{best.held_out - base.held_out:+,.1f} ± {best.held_out_se:,.1f}"
        beside = f" from the {_lower(base.title)}"
        if has_persons:
            each = f"{best.each - base.each:+,.1f} ± {best.each_se:,.1f}"
            text += (
                f" Held-out persons: log-likelihood of their answers taken together {joint}"
                f"{beside}, of single answers {each}."
            )
        else:
            text += f" Held-out choices: log-likelihood {joint}{beside}."
    return (text + _better_held_out(compared, best, unit)).replace(" -", " −")


def _better_held_out(compared: Sequence[ComparedFamily], best: ComparedFamily, unit: str) -> str:
    """A sentence where another family predicts held-out persons better."""
    if isnan(best.held_out):
        return ""
    top = max(compared, key=lambda one: one.held_out)
    ahead = top.held_out - best.held_out
    if top is best or ahead <= NOTABLE_SE * max(top.held_out_se, best.held_out_se):
        return ""
    return (
        f" Held-out {unit} are predicted better by the {_lower(top.title)} "
        f"(+{ahead:,.1f}): look at both."
    )


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]
