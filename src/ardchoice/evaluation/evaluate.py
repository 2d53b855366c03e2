"""`evaluate`: how well a study predicts persons left out, beside simpler models and given ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.ard import fit_ard
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData
from ardchoice.design import Encoding, learn_encoding
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning, FileError, SpecificationError
from ardchoice.estimation import Model, Result, fit_mnl, null_loglik, probabilities
from ardchoice.evaluation.calibration import calibration
from ardchoice.evaluation.path import selection_path
from ardchoice.evaluation.stability import stability
from ardchoice.numerics import single_blas_thread
from ardchoice.progress import Listener, PhaseProgress
from ardchoice.record import ALWAYS, CONSTANTS, EQUAL, FOUND, LINEAR, Evaluation, Path, StudyRecord
from ardchoice.selection import Bic, Ebic, RefitCache, select
from ardchoice.space import SearchSpace, Specification, Term, as_specification

MOST_LINEAR = 300
"""Coefficients beyond which a plain linear baseline takes longer than it tells."""


def evaluate(
    record: StudyRecord,
    *,
    folds: int = 5,
    search_in_folds: bool = False,
    stability_pairs: int = 0,
    compare: Mapping[str, Specification | str] | None = None,
    listener: Listener | None = None,
    keep: Checkpointer = NOTHING,
) -> Evaluation:
    """Work out what a report says besides the model itself.

    Parameters
    ----------
    record
        The study. With `honest`, everything is measured on the persons that did not select.
    folds
        Of persons, for held-out figures; fewer where there are fewer persons, 0 for none.
    search_in_folds
        Repeat relevance and selection in every fold, not only the estimation.
    stability_pairs
        How often persons are divided in two to see what is selected again; 0 for not at all.
    compare
        Name -> specification to be set beside the one found.
    listener
        Told how far it is.
    keep
        Where what is done is laid down, fold by fold, for a run that may be broken off.

    Returns
    -------
    Evaluation

    Raises
    ------
    ArdchoiceError
        A specification to compare with cannot be read or estimated; its name is told.
    """
    data = record.result.data
    folds = _possible(data, folds)
    PhaseProgress("evaluate", listener)(0, 0, "path")
    path = keep.stage("path", partial(_path, record, folds))
    models = _models(record, compare or {})
    parts, searched = _left_out(record, models, folds, search_in_folds, listener, keep)
    stable = _stability(record, stability_pairs, listener, keep) if stability_pairs else None
    return Evaluation(
        path=path,
        comparisons=_comparisons(data, models, parts),
        calibration=_calibration(data, parts),
        stability=stable,
        folds=folds,
        searched=bool(folds and searched),
    )


def _stability(
    record: StudyRecord, pairs: int, listener: Listener | None, keep: Checkpointer
) -> pd.DataFrame | None:
    """As `ac.stability` gives it; None, and a warning, where some half cannot be searched."""
    tell = PhaseProgress("evaluate", listener)
    try:
        return stability(
            record.data,
            record.space,
            pairs=pairs,
            rule=record.rule,
            structure=record.structure,
            solver=record.fit.solver,
            seed=record.seed,
            progress=lambda i, n: tell(i, n, f"stability: half {i} of {n}"),
            keep=keep,
        )
    except FileError:
        raise
    except ArdchoiceError as error:
        _warn(f"Stability is left out: the selection cannot be repeated on some half: {error}")
        return None


def _warn(message: str) -> None:
    # What was found stands; what cannot be worked out besides is no reason to lose it.
    warnings.warn(message, ArdchoiceWarning, stacklevel=4)


def _possible(data: ChoiceData, folds: int) -> int:
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
        folds=_possible(record.fit.data, folds),
        seed=record.seed,
    )


# -- Models side by side ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Model:
    """A specification and its fit on all persons; None for equal shares."""

    name: str
    specification: Specification
    result: Result | None


def _models(record: StudyRecord, compare: Mapping[str, Specification | str]) -> list[_Model]:
    data = record.result.data
    models = [_Model(FOUND, record.specification, record.result)]
    for name, specification in baselines(data, record.space).items():
        result = None
        if specification.terms:
            try:
                result = _estimated(data, specification)
            except ArdchoiceError:  # not every data set can bear a baseline
                continue
        models.append(_Model(name, specification, result))
    for name, given in compare.items():
        if name in ALWAYS:
            raise SpecificationError(
                f"compare: {name!r} is the name of a model that is always shown; choose another."
            )
        try:
            specification = as_specification(given)
            models.append(_Model(name, specification, _estimated(data, specification)))
        except ArdchoiceError as error:
            raise SpecificationError(f"compare: {name!r}: {error}") from None
    return models


def _estimated(data: ChoiceData, specification: Specification) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)
        return fit_mnl(data, specification, separation="allow")


def baselines(data: ChoiceData, space: SearchSpace) -> dict[str, Specification]:
    """What anybody would try first: constants, and every attribute of the space as it is.

    Alternatives have coefficients of their own where the space lets them; the rest is shared.
    """
    constants = any(t.what is None and t.where and not t.by for t in space.terms)
    names = list(dict.fromkeys(t.what for t in space.terms if t.what is not None))
    own = {t.what for t in space.terms if t.what is not None and t.where}
    shared = [name for name in names if name not in own]
    first = SearchSpace(data, base=space.base, attributes=[], constants=constants)
    out = {CONSTANTS if constants else EQUAL: Specification(first.terms)}
    linear = SearchSpace(
        data,
        base=space.base,
        attributes=[name for name in names if name in own],
        constants=constants,
        add=[Term((), name) for name in shared],
    )
    if len(linear) > len(first) and linear.n_columns <= MOST_LINEAR:
        out[LINEAR] = Specification(linear.terms)
    return out


def _comparisons(data: ChoiceData, models: list[_Model], parts: list[_Fold]) -> pd.DataFrame:
    rows = []
    for m, model in enumerate(models):
        r = model.result
        if r is None:
            null = null_loglik(data)
            figures: list[float] = [0, null, -2 * null, -2 * null, 0.0, 0.0]
        else:
            figures = [r.n_parameters, r.loglik, r.aic, r.bic, r.rho2, r.rho2_bar]
        held_out = sum(part.loglik[m] for part in parts) if parts else np.nan
        weight = sum(part.weight for part in parts)
        right = sum(part.right[m] for part in parts) / weight if parts else np.nan
        rows.append([model.name, *figures, held_out, right])
    names = ["model", "coefficients", "loglik", "aic", "bic", "rho2", "rho2_bar"]
    return pd.DataFrame(rows, columns=[*names, "held_out", "accuracy"])


# -- Persons left out ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Fold:
    """Predictions of one fold: log-likelihood and weight of right ones by model; P of the first."""

    data: ChoiceData
    probabilities: Floats
    loglik: list[float]
    right: list[float]
    weight: float


class _NoSearchError(Exception):
    """The selection cannot be repeated without some persons; the message says why."""


def _left_out(
    record: StudyRecord,
    models: list[_Model],
    folds: int,
    search_in_folds: bool,
    listener: Listener | None,
    keep: Checkpointer,
) -> tuple[list[_Fold], bool]:
    """Every fold, and whether the selection was repeated: in all of them or in none."""
    if search_in_folds:
        try:
            return _folds(record, models, folds, True, listener, keep), True
        except _NoSearchError as error:
            _warn(
                "The selection cannot be repeated in every fold, so that only the estimation is: "
                f"{error}"
            )
    return _folds(record, models, folds, False, listener, keep), False


def _folds(
    record: StudyRecord,
    models: list[_Model],
    folds: int,
    search: bool,
    listener: Listener | None,
    keep: Checkpointer,
) -> list[_Fold]:
    parts: list[_Fold] = []
    tell = PhaseProgress("evaluate", listener)
    kept = "searched" if search else "fold"
    for rest, left_out in record.result.data.folds(folds, seed=record.seed) if folds else ():
        tell(len(parts), folds, f"fold {len(parts) + 1} of {folds}")
        predict = partial(_fold, record, models, rest, left_out, search)
        parts.append(_Fold(left_out, *keep.stage(f"{kept}-{len(parts)}", predict)))
        tell(len(parts), folds, f"fold {len(parts)} of {folds}")
    return parts


def _fold(
    record: StudyRecord,
    models: list[_Model],
    rest: ChoiceData,
    left_out: ChoiceData,
    search_in_folds: bool,
) -> tuple[Floats, list[float], list[float], float]:
    """What `_Fold` has besides the data."""
    logliks, right, shown = [], [], []
    for m, model in enumerate(models):
        specification = model.specification
        if m == 0 and search_in_folds:
            specification = _searched(record, rest)
        p, loglik = _predicted(rest, left_out, specification, record.data)
        hit = p.argmax(axis=0) == left_out.chosen()
        logliks.append(loglik)
        right.append(float(left_out.weights @ hit))
        shown += [p] if m == 0 else []
    return shown[0], logliks, right, float(left_out.weights.sum())


def _searched(record: StudyRecord, rest: ChoiceData) -> Specification:
    """What would have been found without the persons left out."""
    try:
        fit = fit_ard(rest, record.space, solver=record.fit.solver, prior=record.fit.prior)
        return select(fit, record.rule, structure=record.structure)
    except ArdchoiceError as error:
        raise _NoSearchError(str(error)) from error


def _predicted(
    rest: ChoiceData, left_out: ChoiceData, specification: Specification, everybody: ChoiceData
) -> tuple[Floats, float]:
    """P of the persons left out, shape (J, n), and their log-likelihood."""
    if not specification.terms:
        p = left_out.available / left_out.available.sum(axis=0)
        return p, null_loglik(left_out)
    with single_blas_thread():
        try:
            return _refitted(rest, left_out, learn_encoding(rest, specification.terms))
        except ArdchoiceError:
            # A transform that few persons cannot teach learns from everybody's attributes.
            return _refitted(rest, left_out, learn_encoding(everybody, specification.terms))


def _refitted(rest: ChoiceData, left_out: ChoiceData, encoding: Encoding) -> tuple[Floats, float]:
    models = RefitCache(rest, encoding, np.ones(encoding.n_columns))
    fitted = models.refit(frozenset(range(len(encoding.terms))))
    p = probabilities(Model(models.raw(fitted.beta), encoding), left_out)
    return p, models.loglik_on(left_out, fitted)


def _calibration(data: ChoiceData, parts: list[_Fold]) -> pd.DataFrame | None:
    if not parts:
        return None
    # Folds number their persons from zero.
    people = [part.data.person for part in parts]
    starts = np.cumsum([0, *(part.data.n_persons or 0 for part in parts)])
    who = [ids + start for ids, start in zip(people, starts, strict=False) if ids is not None]
    return calibration(
        data.alternatives,
        np.concatenate([p.probabilities for p in parts], axis=1),
        np.concatenate([p.data.available for p in parts], axis=1),
        np.concatenate([p.data.chosen() for p in parts]),
        np.concatenate([p.data.weights for p in parts]),
        np.concatenate(who) if who else None,
    )
