"""Probabilities of the situations of a table, also where some of them have none."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice._types import Bools
from ardchoice.data import (
    FIX_OR_DROP,
    Attribute,
    ChoiceData,
    dropped_situations,
    every_situation,
    read_like,
    rows_text,
)
from ardchoice.design import Encoding, TermColumns
from ardchoice.errors import ArdchoiceWarning, DataError, SpecificationError, TransformError
from ardchoice.estimation.result import Result
from ardchoice.estimation.scenarios.apply import ObservedRange
from ardchoice.space import Linear, Ratio


def predict_table(result: Result, data: ChoiceData, table: object) -> pd.DataFrame:
    """As `predict_with`, by a result."""
    return predict_with(result.encoding, result.predict, data, table)


def predict_with(
    encoding: Encoding,
    predict: Callable[[ChoiceData], pd.DataFrame],
    data: ChoiceData,
    table: object,
) -> pd.DataFrame:
    """Probabilities of every situation of a table that is read as `data` were.

    Parameters
    ----------
    encoding
        With every term that is used.
    predict
        Probabilities of situations that were read, a row each.
    data
        What was read before.
    table
        A path or a data frame. Only the columns that the model uses need be there.

    Returns
    -------
    DataFrame
        A row per situation of the table in its order, a column per alternative; NaN where a
        situation cannot be predicted, and a warning that says why.
    """
    used = used_columns(encoding)
    reasons: list[str] = []
    try:
        new = read_like(table, data, only=used, drop_invalid=False)
    except DataError as error:
        new = read_like(table, data, only=used, drop_invalid=True)
        errors = [p.message for p in error.problems if p.severity == "error"]
        reasons += [message.replace(FIX_OR_DROP, "").strip() for message in errors]
    else:
        for note in (p for p in new.warnings if p.severity == "warning"):
            warnings.warn(note.message, ArdchoiceWarning, stacklevel=4)
    every = every_situation(table, new)
    rows = np.setdiff1d(np.arange(len(every)), dropped_situations(new))
    try:
        found = predict(new)
    except (TransformError, SpecificationError) as error:
        bad = unpredictable(encoding, new)
        if not bad.any() or bad.all():
            raise
        reasons.append(str(error))
        rows, new = rows[~bad], new.take(~bad)
        found = predict(new)
    for beyond in ObservedRange(data, encoding).beyond(new):
        warnings.warn(beyond, ArdchoiceWarning, stacklevel=4)
    p = np.full((len(every), found.shape[1]), np.nan)
    p[rows] = found.to_numpy()
    if reasons:
        unit = "row" if new.source is None or new.source.layout == "wide" else "situation"
        gone = np.setdiff1d(np.arange(len(every)), rows)
        named = rows_text(gone, np.array(every, dtype=object), unit)
        warnings.warn(
            f"{named} cannot be predicted and left empty. {' '.join(reasons)}",
            ArdchoiceWarning,
            stacklevel=4,
        )
    return pd.DataFrame(p, pd.Index(every, name="situation"), found.columns)


def used_columns(encoding: Encoding) -> dict[str, set[str]]:
    """Attributes and covariates of a model -> the alternatives that need them."""
    out: dict[str, set[str]] = {}
    for term in encoding.terms:
        where = {encoding.alternatives[j] for j in term.alternatives}
        for name in term.columns_used:
            out.setdefault(name, set()).update(where)
    return out


def unpredictable(encoding: Encoding, data: ChoiceData) -> Bools:
    """Situations with levels that the model has never seen, or beyond a transform; shape (N,)."""
    bad = np.zeros(len(data), dtype=bool)
    for term in encoding.terms:
        for known in term.by:
            covariate = data.covariates[known.name]
            bad |= (known.lookup(covariate.levels or ()) < 0)[covariate.values]
        if term.term.what is not None:
            attribute = data.attributes[term.term.what]
            for j in term.alternatives:
                here = data.available[j]
                bad[here] |= _refused(term, attribute, attribute.of(j)[here])
    return bad


def _refused(term: TermColumns, attribute: Attribute, values: npt.NDArray[np.float64]) -> Bools:
    """Which values of an attribute a term cannot take."""
    if term.base is not None:
        return np.asarray((term.base.lookup(attribute.levels or ()) < 0)[values.astype(np.intp)])
    if isinstance(term.term.how, Linear | Ratio):
        return np.zeros(len(values), dtype=bool)
    distinct, place = np.unique(values, return_inverse=True)
    return np.array([_beyond(term, value) for value in distinct], dtype=bool)[place]


def _beyond(term: TermColumns, value: float) -> bool:
    try:
        term.term.how.check(np.array([value]), term.parameters)
    except TransformError:
        return True
    return False
