"""From a draft to `ChoiceData`: check, leave out or refuse, and say what was found."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.checks import Draft, check, rows_text
from ardchoice.data.choices import ChoiceData, Covariate
from ardchoice.data.recode import Categorical, Coded, Cut, Numeric, Role, default_role, recode
from ardchoice.data.tables import Series, Table
from ardchoice.errors import (
    ArdchoiceError,
    ArdchoiceWarning,
    DataError,
    Problem,
    did_you_mean,
)

Covariates = list[str] | tuple[str, ...] | dict[str, str | Role]


def finish(draft: Draft, *, drop_invalid: bool) -> ChoiceData:
    """Check a draft; raise every error together, or leave the rows out when told to."""
    problems = check(draft)
    errors = [p for p in problems if p.severity == "error"]
    if errors and drop_invalid and all(p.rows for p in errors):
        bad = np.unique(np.concatenate([np.array(p.rows, dtype=np.intp) for p in errors]))
        if len(bad) < draft.available.shape[1]:
            draft = _leave_out(draft, bad, sorted({p.code for p in errors}))
            problems = check(draft)
    if any(p.severity == "error" for p in problems):
        raise DataError(problems)
    for problem in problems:
        # Points at the caller of read_wide or read_long.
        warnings.warn(problem.message, ArdchoiceWarning, stacklevel=3)
    person = draft.person
    return ChoiceData(
        alternatives=draft.alternatives,
        available=draft.available,
        choice=draft.choice,
        attributes=draft.attributes,
        covariates=draft.covariates,
        person=None if person is None else np.asarray(pd.factorize(person)[0], dtype=np.intp),
        weight=draft.weight,
        situation=draft.situation,
        warnings=tuple(problems),
    )


def _leave_out(draft: Draft, bad: npt.NDArray[np.intp], codes: list[str]) -> Draft:
    rows = np.setdiff1d(np.arange(draft.available.shape[1]), bad)
    note = Problem(
        "warning",
        "dropped",
        f"{rows_text(bad, draft.situation, draft.unit)} left out, as drop_invalid=True asks: "
        f"{', '.join(codes)}.",
        tuple(bad.tolist()),
    )
    others = [p for p in draft.found if p.severity == "warning"]
    return replace(
        draft,
        available=draft.available[:, rows],
        choice=None if draft.choice is None else draft.choice[rows],
        attributes={n: replace(a, values=a.values[:, rows]) for n, a in draft.attributes.items()},
        covariates={n: replace(c, values=c.values[rows]) for n, c in draft.covariates.items()},
        person=None if draft.person is None else draft.person[rows],
        weight=None if draft.weight is None else draft.weight[rows],
        situation=draft.situation[rows],
        found=(note, *others),
    )


def covariate_roles(covariates: Covariates | None) -> dict[str, str | Role | None]:
    """``["GA", "AGE"]`` or ``{"age": "AGE", "income": Cut("INC", [30])}`` as name -> role."""
    if covariates is None:
        return {}
    if isinstance(covariates, str):
        raise ArdchoiceError(
            f"covariates is a list of columns or a dict, not the text {covariates!r}; "
            f"write [{covariates!r}]."
        )
    if isinstance(covariates, dict):
        return dict(covariates)
    return dict.fromkeys(covariates)


def as_role(value: object, name: str) -> Role | None:
    """A role object, or None where only a column was named (its kind is then guessed)."""
    if isinstance(value, Numeric | Categorical | Cut):
        return value
    if value is None or isinstance(value, str | dict):
        return None
    raise ArdchoiceError(
        f"{name}: expected a column name, Numeric(...), Categorical(...) or Cut(...), "
        f"got {type(value).__name__}."
    )


def column_of(value: object, name: str) -> object:
    """Where a role's values are: its column, pattern or dict; its own name unless told."""
    if isinstance(value, Numeric | Categorical | Cut):
        return value.column if value.column is not None else name
    return name if value is None else value


def read_covariate(
    name: str, series: Series, role: Role | None, like: ChoiceData | None
) -> tuple[Covariate, list[Problem]]:
    """Recode one covariate, as `like` did when given."""
    earlier = like.covariates.get(name) if like is not None else None
    coded: Coded
    if earlier is not None and earlier.recoding is not None:
        coded = earlier.recoding.apply(series)
    elif earlier is not None:
        coded = recode(series, Numeric())
    else:
        coded = recode(series, role or default_role(series))
    covariate = Covariate(name, coded.values, coded.levels, coded.reference, coded.recoding)
    return covariate, not_allowed(name, series, coded)


def not_allowed(name: str, series: Series, coded: Coded) -> list[Problem]:
    """The problem of values outside the levels that a role lists."""
    if not coded.not_allowed:
        return []
    missing = series.missing()
    rows = np.flatnonzero((coded.values < 0) & ~missing)
    levels = ", ".join(coded.levels or ())
    return [
        Problem(
            "error",
            "unknown-level",
            f"{name} (column {series.name!r}) has levels beyond those listed ({levels}): "
            f"{', '.join(coded.not_allowed)} in {rows_text(rows, np.arange(len(missing)), 'row')}. "
            "List them too, merge them, or leave these rows out.",
            tuple(rows.tolist()),
        )
    ]


def person_codes(series: Series) -> npt.NDArray[np.intp]:
    """Persons numbered in the order of their first row, -1 where the id is missing."""
    return np.asarray(pd.factorize(series.values)[0], dtype=np.intp)


def numbers(series: Series) -> npt.NDArray[np.float64]:
    """A column as float64; shape (rows,)."""
    return np.asarray(recode(series, Numeric()).values, dtype=float)


def must_have(table: Table, column: str, role: str) -> Series:
    """A column that a role names, or an error that says for which role it was wanted."""
    if column not in table:
        raise ArdchoiceError(
            f"Column {column!r}, named as {role}, is not in {table.name}. "
            f"{did_you_mean(column, table.columns)}"
        )
    return table.column(column)


def refuse_clashes(attributes: Any, covariates: Any) -> None:
    """An attribute and a covariate of one name could not be told apart in a term."""
    both = sorted(set(attributes) & set(covariates))
    if both:
        raise ArdchoiceError(
            f"{', '.join(both)} is both an attribute and a covariate; give one another name "
            "(covariates may be a dict, new name -> column)."
        )
