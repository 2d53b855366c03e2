"""Reading a wide table: one row per choice situation, a column per alternative and attribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice.data.assemble import (
    Covariates,
    as_role,
    column_of,
    covariate_roles,
    finish,
    must_have,
    not_allowed,
    numbers,
    person_codes,
    read_covariate,
    refuse_clashes,
)
from ardchoice.data.checks import LEAVE_OUT, Draft, rows_text
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.recode import (
    Categorical,
    Coded,
    Cut,
    Numeric,
    Role,
    factorise,
    label,
    recode,
)
from ardchoice.data.tables import Series, Table, open_table
from ardchoice.errors import ArdchoiceError, Problem, did_you_mean

Pattern = str | Mapping[str, str]


def read_wide(
    table: object,
    *,
    alternatives: Mapping[str, object] | Sequence[object],
    choice: str | None,
    attributes: Mapping[str, Pattern | Numeric | Categorical],
    covariates: Covariates | None = None,
    availability: Pattern | None = None,
    person: str | None = None,
    weight: str | None = None,
    drop_invalid: bool = False,
    like: ChoiceData | None = None,
) -> ChoiceData:
    """Read choices from a table with one row per choice situation.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet; separator, encoding and decimal sign are found out) or a data
        frame (pandas, polars, pyarrow).
    alternatives
        Name -> its code in the choice column; or a list, when the codes are the names.
    choice
        The column that says what was chosen; None for situations to be predicted.
    attributes
        Name -> a pattern such as ``"{alt}_TT"``, or a dict alternative -> column. An alternative
        without such a column does not have the attribute. `Categorical` or `Numeric` around the
        pattern says how to take it.
    covariates
        Columns that describe the person, or a dict name -> column or role (`Categorical`,
        `Numeric`, `Cut`).
    availability
        Pattern or dict of columns with 1 where the alternative could be chosen; all unless told.
    person, weight
        Columns with the person's id (for repeated choices) and the weight.
    drop_invalid
        Leave out the rows with errors, with a warning, instead of refusing the table.
    like
        Earlier data whose recoding of levels is to be repeated (for prediction).

    Returns
    -------
    ChoiceData
    """
    source = open_table(table)
    if not len(source):
        raise ArdchoiceError(f"{source.name} has no rows.")
    codes = _alternative_codes(alternatives)
    names = tuple(codes)
    roles = covariate_roles(covariates)
    refuse_clashes(attributes, roles)
    found: list[Problem] = []
    columns: dict[tuple[str, str], str] = {}
    read_attributes: dict[str, Attribute] = {}
    for name, how in attributes.items():
        where = _columns(source, name, column_of(how, name), names, found)
        columns |= {(name, alt): column for alt, column in where.items()}
        read_attributes[name] = _attribute(
            source, name, where, names, as_role(how, name), like, found
        )
    read_covariates: dict[str, Covariate] = {}
    for name, role in roles.items():
        column = column_of(role, name)
        series = must_have(source, str(column), f"covariate {name}")
        columns[name, ""] = series.name
        read_covariates[name], problems = read_covariate(name, series, as_role(role, name), like)
        found += problems
    persons = None if person is None else person_codes(must_have(source, person, "person"))
    weights = None if weight is None else numbers(must_have(source, weight, "weight"))
    draft = Draft(
        alternatives=names,
        available=_availability(source, availability, names, columns, found),
        choice=None if choice is None else _choice(source, choice, codes, found),
        attributes=read_attributes,
        covariates=read_covariates,
        person=persons,
        weight=weights,
        situation=np.arange(len(source)),
        unit="row",
        columns=columns,
        roles={"choice": choice or "", "person": person or "", "weight": weight or ""},
        guessed=frozenset(n for n, r in roles.items() if as_role(r, n) is None),
        found=tuple(found),
    )
    return finish(draft, drop_invalid=drop_invalid)


def _alternative_codes(alternatives: Mapping[str, object] | Sequence[object]) -> dict[str, str]:
    """Name -> label of its code in the choice column."""
    if isinstance(alternatives, str):
        raise ArdchoiceError("alternatives is a dict name -> code, or a list of names.")
    if isinstance(alternatives, Mapping):
        codes = {str(name): label(code) for name, code in alternatives.items()}
    else:
        codes = {label(code): label(code) for code in alternatives}
        if len(codes) < len(list(alternatives)):
            raise ArdchoiceError("An alternative is listed twice.")
    if len(codes) < 2:
        raise ArdchoiceError("A choice needs at least two alternatives.")
    if len(set(codes.values())) < len(codes):
        raise ArdchoiceError("Two alternatives have the same code in the choice column.")
    return codes


def _columns(
    source: Table, name: str, where: object, alternatives: tuple[str, ...], found: list[Problem]
) -> dict[str, str]:
    """Alternative -> column of one attribute, from a pattern or a dict."""
    if isinstance(where, Mapping):
        for alternative in where:
            if alternative not in alternatives:
                raise ArdchoiceError(
                    f"{name}: there is no alternative {alternative!r}. "
                    f"{did_you_mean(str(alternative), alternatives)}"
                )
        pairs = {a: str(where[a]) for a in alternatives if a in where}
        for alternative, column in pairs.items():
            must_have(source, column, f"{name} of {alternative}")
        return pairs
    pattern = str(where)
    if "{alt}" not in pattern:
        raise ArdchoiceError(
            f"{name}: {pattern!r} has no '{{alt}}' in it. Write a pattern such as "
            f"'{{alt}}_{name}', or a dict alternative -> column; what does not differ between "
            "alternatives is a covariate."
        )
    wanted = {a: pattern.replace("{alt}", a) for a in alternatives}
    pairs = {a: c for a, c in wanted.items() if c in source}
    absent = [a for a in alternatives if a not in pairs]
    if not pairs:
        first = wanted[alternatives[0]]
        raise ArdchoiceError(
            f"{name}: no column of {source.name} fits the pattern {pattern!r}; {first!r} was "
            f"looked for, for instance. {did_you_mean(first, source.columns)}"
        )
    if absent and name != "availability":
        found.append(
            Problem(
                "warning",
                "absent-attribute",
                f"{name}: there is no column {', '.join(repr(wanted[a]) for a in absent[:3])}"
                f"{', ...' if len(absent) > 3 else ''}, so {', '.join(absent[:3])} has no {name}. "
                "A dict alternative -> column says so without this warning.",
            )
        )
    return pairs


def _attribute(
    source: Table,
    name: str,
    where: Mapping[str, str],
    alternatives: tuple[str, ...],
    role: Role | None,
    like: ChoiceData | None,
    found: list[Problem],
) -> Attribute:
    positions = tuple(alternatives.index(a) for a in where)
    series = [source.column(column) for column in where.values()]
    earlier = like.attributes.get(name) if like is not None else None
    categorical = role is None and not all(s.is_numeric for s in series)
    if earlier is not None:
        categorical = earlier.levels is not None
    if isinstance(role, Cut):
        raise ArdchoiceError(f"{name}: an attribute is cut in a term, as in quantiles({name}, 4).")
    if not categorical and not isinstance(role, Categorical):
        return Attribute(name, positions, np.stack([numbers(s) for s in series]))
    # Levels are learned over all alternatives together, so that a code means the same everywhere.
    pooled = _concatenate(series)
    if earlier is not None and earlier.recoding is not None:
        coded = earlier.recoding.apply(pooled)
    else:
        coded = recode(pooled, role or Categorical())
    values = coded.values.reshape(len(series), -1)
    for row, one in enumerate(series):
        part = Coded(values[row], coded.levels, 0, None, coded.not_allowed)
        if (values[row] < 0).sum() > one.missing().sum():
            found += not_allowed(name, one, part)
    return Attribute(name, positions, values, coded.levels, coded.reference, coded.recoding)


def _concatenate(series: Iterable[Series]) -> Series:
    series = list(series)
    values: npt.NDArray[Any] = np.concatenate([s.values for s in series])
    order: dict[object, None] = {}
    for one in series:
        order |= dict.fromkeys(one.order or ())
    known = tuple(order) if all(s.order is not None for s in series) else None
    return Series(series[0].name, values, known)


def _choice(
    source: Table, column: str, codes: Mapping[str, str], found: list[Problem]
) -> npt.NDArray[np.intp]:
    series = must_have(source, column, "choice")
    raw, labels = factorise(series)
    position = {code: j for j, code in enumerate(codes.values())}
    lookup = np.array([position.get(text, -1) for text in labels] + [-1], dtype=np.intp)
    choice: npt.NDArray[np.intp] = lookup[raw]
    situation = np.arange(len(choice))
    for kind, mask in (("missing", raw < 0), ("unknown", (choice < 0) & (raw >= 0))):
        rows = np.flatnonzero(mask)
        if not len(rows):
            continue
        seen = ", ".join(repr(labels[i]) for i in np.unique(raw[rows])[:8] if i >= 0)
        what = f"holds {seen}, the code of no alternative" if kind == "unknown" else "is missing"
        known = ", ".join(f"{code} = {name}" for name, code in list(codes.items())[:8])
        found.append(
            Problem(
                "error",
                f"{kind}-choice",
                f"The choice (column {column!r}) {what}: {rows_text(rows, situation, 'row')}. "
                f"The codes are: {known}. {LEAVE_OUT}",
                tuple(rows.tolist()),
            )
        )
    return choice


def _availability(
    source: Table,
    availability: Pattern | None,
    alternatives: tuple[str, ...],
    columns: dict[tuple[str, str], str],
    found: list[Problem],
) -> npt.NDArray[np.bool_]:
    available = np.ones((len(alternatives), len(source)), dtype=bool)
    if availability is None:
        return available
    where = _columns(source, "availability", availability, alternatives, found)
    for alternative, column in where.items():
        columns["availability", alternative] = column
        values = numbers(source.column(column))
        bad = np.flatnonzero(~np.isin(values, (0.0, 1.0)))
        if len(bad):
            found.append(
                Problem(
                    "error",
                    "bad-availability",
                    f"The availability of {alternative} (column {column!r}) is neither 0 nor 1: "
                    f"{rows_text(bad, np.arange(len(values)), 'row')}. {LEAVE_OUT}",
                    tuple(bad.tolist()),
                )
            )
        available[alternatives.index(alternative)] = values == 1.0
    absent = [a for a in alternatives if a not in where]
    if absent and not isinstance(availability, Mapping):
        found.append(
            Problem(
                "warning",
                "absent-availability",
                f"No availability column for {', '.join(absent)}: taken as always available.",
            )
        )
    return available
