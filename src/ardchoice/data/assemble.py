"""From a draft to `ChoiceData`: check, leave out or refuse, and say what was found."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.checks import LEAVE_OUT, Draft, Place, check, refuse_one_person, rows_text
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.recode import Categorical, Coded, Cut, Numeric, Role, default_role, recode
from ardchoice.data.source import Source
from ardchoice.data.tables import Series, Table, label
from ardchoice.errors import (
    ArdchoiceError,
    ArdchoiceWarning,
    DataError,
    Problem,
    did_you_mean,
    first_few,
)

Covariates = Sequence[str] | Mapping[str, str | Role]


def finish(draft: Draft, source: Source) -> ChoiceData:
    """Check a draft; raise every error together, or leave the rows out when told to."""
    problems = check(draft)
    errors = [p for p in problems if p.severity == "error"]
    if errors and source.drop_invalid and all(p.rows for p in errors):
        bad = np.unique(np.concatenate([np.array(p.rows, dtype=np.intp) for p in errors]))
        if len(bad) < draft.available.shape[1]:
            draft = _leave_out(draft, bad, sorted({p.code for p in errors}))
            problems = check(draft)
    if any(p.severity == "error" for p in problems):
        raise DataError(problems)
    person = None if draft.person is None else pd.factorize(draft.person)[0].astype(np.intp)
    if person is not None:
        refuse_one_person(draft, int(person.max(initial=0)) + 1, len(person))
    for problem in problems:
        # Points at the caller of read_wide or read_long.
        warnings.warn(problem.message, ArdchoiceWarning, stacklevel=3)
    return ChoiceData(
        alternatives=draft.alternatives,
        available=draft.available,
        choice=draft.choice,
        attributes=draft.attributes,
        covariates=draft.covariates,
        person=person,
        weight=draft.weight,
        situation=draft.situation,
        warnings=tuple(problems),
        source=source,
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
    left = without_rows(draft, rows)
    if draft.learning:
        left = replace(
            left,
            attributes={n: _without_empty_levels(a) for n, a in left.attributes.items()},
            covariates={n: _without_empty_levels(c) for n, c in left.covariates.items()},
        )
    return replace(left, found=(note, *others))


def without_rows(draft: Draft, rows: npt.NDArray[np.intp]) -> Draft:
    """Some rows of a draft, with its levels as they are and nothing found."""
    return replace(
        draft,
        available=draft.available[:, rows],
        choice=None if draft.choice is None else draft.choice[rows],
        attributes={n: replace(a, values=a.values[:, rows]) for n, a in draft.attributes.items()},
        covariates={n: replace(c, values=c.values[rows]) for n, c in draft.covariates.items()},
        person=None if draft.person is None else draft.person[rows],
        weight=None if draft.weight is None else draft.weight[rows],
        situation=draft.situation[rows],
        found=(),
        person_ids=None if draft.person_ids is None else draft.person_ids[rows],
    )


Variable = TypeVar("Variable", Attribute, Covariate)


def _without_empty_levels(variable: Variable) -> Variable:
    """Forget the levels that only the rows left out had, unless the user asked for them."""
    if variable.levels is None:
        return variable
    kept, lookup = used_levels(variable, np.unique(variable.values[variable.values >= 0]))
    return kept if kept is variable else replace(kept, values=lookup[variable.values])


def used_levels(
    variable: Variable, used: npt.NDArray[np.integer[Any]]
) -> tuple[Variable, npt.NDArray[np.int32]]:
    """The same with the levels that are used, and their new numbers (-1 for none, and for -1)."""
    recoding, levels = variable.recoding, variable.levels or ()
    if recoding is None or recoding.closed or recoding.edges or len(used) == len(levels):
        return variable, np.arange(len(levels), dtype=np.int32)
    kept = tuple(levels[i] for i in used)
    lookup = np.full(len(levels) + 1, -1, dtype=np.int32)
    lookup[used] = np.arange(len(used))
    reference = int(lookup[variable.reference])
    reference = len(kept) - 1 if reference < 0 else reference
    missing = recoding.missing if recoding.missing in kept else None
    recoding = replace(recoding, levels=kept, reference=reference, missing=missing)
    return replace(variable, levels=kept, reference=reference, recoding=recoding), lookup


def alternative_codes(alternatives: Mapping[str, object] | Sequence[object]) -> dict[str, str]:
    """Name -> label of its code in the table."""
    if isinstance(alternatives, str) or not isinstance(alternatives, Iterable):
        raise ArdchoiceError("alternatives is a dict name -> code, or a list of names.")
    if isinstance(alternatives, Mapping):
        if not any(isinstance(n, str) for n in alternatives) and all(
            isinstance(c, str) for c in alternatives.values()
        ):
            raise ArdchoiceError(
                "alternatives maps a name to its code, such as {'bus': 1, 'car': 2}; this looks "
                "like code to name."
            )
        pairs = [(label(name), label(code)) for name, code in alternatives.items()]
    else:
        pairs = [(label(code), label(code)) for code in alternatives]
    if len(pairs) < 2:
        raise ArdchoiceError("A choice needs at least two alternatives.")
    for what, side in (("name", 0), ("code", 1)):
        counts = Counter(pair[side] for pair in pairs)
        twice = [repr(text) for text, count in counts.items() if count > 1]
        if twice:
            raise ArdchoiceError(f"Two alternatives have the same {what}: {first_few(twice)}.")
    return dict(pairs)


def covariate_roles(covariates: Covariates | None) -> dict[str, str | Role | None]:
    """``["GA", "AGE"]`` or ``{"age": "AGE", "income": Cut("INC", [30])}`` as name -> role."""
    if covariates is None:
        return {}
    if isinstance(covariates, str):
        raise ArdchoiceError(
            f"covariates is a list of columns or a dict, not the text {covariates!r}; "
            f"write [{covariates!r}]."
        )
    if isinstance(covariates, Mapping):
        return dict(covariates)
    return dict.fromkeys(covariates)


def as_role(value: object, name: str) -> Role | None:
    """A role object, or None where only a column was named (its kind is then guessed)."""
    if isinstance(value, Numeric | Categorical | Cut):
        return value
    if value is None or isinstance(value, str | Mapping):
        return None
    raise ArdchoiceError(
        f"{name}: expected a column name, Numeric(...), Categorical(...) or Cut(...), "
        f"got {type(value).__name__}."
    )


def explicit_roles(values: Mapping[str, object]) -> dict[str, Role]:
    """Name -> role, for those whose role was said."""
    roles = {name: as_role(value, name) for name, value in values.items()}
    return {name: role for name, role in roles.items() if role is not None}


def column_of(value: object, name: str) -> object:
    """Where a role's values are: its column, pattern or dict; its own name unless told."""
    if isinstance(value, Numeric | Categorical | Cut):
        return value.column if value.column is not None else name
    return name if value is None else value


def read_covariate(
    name: str,
    series: Series,
    role: Role | None,
    like: ChoiceData | None,
    place: Place,
    found: list[Problem],
) -> Covariate:
    """Recode one covariate, as `like` did when given."""
    earlier = like.covariates.get(name) if like is not None else None
    coded: Coded
    if earlier is not None and earlier.recoding is not None:
        coded = earlier.recoding.apply(series)
    elif earlier is not None:
        coded = recode(series, Numeric())
    else:
        coded = recode(series, role or default_role(series))
    found += refusals(name, series, coded, place)
    return Covariate(name, coded.values, coded.levels, coded.reference, coded.recoding)


def refusals(what: str, series: Series, coded: Coded, place: Place) -> list[Problem]:
    """The problem of values that are no numbers, or outside the levels that a role lists."""
    if not coded.refused.any():
        return []
    values = first_few(repr(label(v)) for v in pd.unique(series.values[coded.refused]))
    if coded.levels is None or (coded.recoding and coded.recoding.edges):
        code, said = "not-a-number", f"should hold numbers but has {values}"
        do = f"{LEAVE_OUT} Or take the column as Categorical()."
    else:
        levels = first_few(coded.levels, 20)
        code, said = "unknown-level", f"has levels beyond those listed ({levels}), {values}"
        do = f"{LEAVE_OUT} Or list these levels too, or merge them."
    return [place.error(code, coded.refused, f"{what} (column {series.name!r}) {said}", do)]


def person_codes(series: Series) -> npt.NDArray[np.intp]:
    """Persons numbered in the order of their first row, -1 where the id is missing."""
    return np.asarray(pd.factorize(series.values)[0], dtype=np.intp)


def read_numbers(
    what: str, series: Series, place: Place, found: list[Problem]
) -> npt.NDArray[np.float64]:
    """A column as float64; shape (rows,)."""
    coded = recode(series, Numeric())
    found += refusals(what, series, coded, place)
    return coded.values


@dataclass(frozen=True, eq=False)
class People:
    """What a table says of those who choose: covariates, ids, weights, and whence each came."""

    covariates: dict[str, Covariate]
    person: npt.NDArray[np.intp] | None
    weight: npt.NDArray[np.float64] | None
    columns: dict[str, str]
    ids: npt.NDArray[Any] | None = None
    """Of the persons, as they stand in the table."""


def read_people(
    source: Table,
    roles: Mapping[str, str | Role | None],
    person: str | None,
    weight: str | None,
    once: Callable[[Series, str], Series],
    place: Place,
    like: ChoiceData | None,
    found: list[Problem],
) -> People:
    """Covariates, person ids and weights; `once` makes one value per situation of a column."""
    covariates: dict[str, Covariate] = {}
    columns: dict[str, str] = {}
    for name, role in roles.items():
        kind = as_role(role, name)
        series = must_have(source, str(column_of(role, name)), f"covariate {name}")
        columns[name] = series.name
        one = once(series, f"Covariate {name}")
        covariates[name] = read_covariate(name, one, kind, like, place, found)
    persons = weights = ids = None
    if person is not None:
        series = once(must_have(source, person, "person"), "The person id")
        persons, ids = person_codes(series), series.values
    if weight is not None:
        series = once(must_have(source, weight, "weight"), "The weight")
        weights = read_numbers("The weight", series, place, found)
    return People(covariates, persons, weights, columns, ids)


def said_missing(values: Sequence[object]) -> tuple[str, ...]:
    """Labels of the values that stand for missing ones."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ArdchoiceError(
            f"missing_values is a list of values, such as [99999, -99], not {values!r}."
        )
    return tuple(label(v) for v in values)


def with_codes(source: Table, codes: Sequence[str], roles: Mapping[str, Any]) -> Table:
    """A table whose columns have nothing where a code says so, but for ids, choices and weights."""
    if not codes:
        return source
    each = [(c,) if isinstance(c, str) else tuple(c) for c in roles.values()]
    return replace(source, codes=frozenset(codes), plain=frozenset(c for one in each for c in one))


def must_have(table: Table, column: str, role: str) -> Series:
    """A column that a role names, or an error that says for which role it was wanted."""
    if not isinstance(column, str):
        raise ArdchoiceError(f"The column named as {role} must be text, not {column!r}.")
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
