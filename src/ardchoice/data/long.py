"""Reading a long table: one row per choice situation and alternative available in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

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
from ardchoice.data.choices import Attribute, ChoiceData
from ardchoice.data.recode import (
    Categorical,
    Cut,
    Numeric,
    Role,
    factorise,
    label,
    recode,
)
from ardchoice.data.tables import Series, Table, open_table
from ardchoice.errors import ArdchoiceError, DataError, Problem, first_few

TRUE = {"1", "true", "yes", "y", "t"}
FALSE = {"0", "false", "no", "n", "f"}


@dataclass(frozen=True)
class _Layout:
    """Where each row of the long table goes: situation (column) and alternative (row) of (J, N)."""

    situation: npt.NDArray[np.intp]
    alternative: npt.NDArray[np.intp]
    names: npt.NDArray[Any]
    alternatives: tuple[str, ...]
    first: npt.NDArray[np.intp]
    """The first long row of every situation; shape (N,)."""

    @property
    def shape(self) -> tuple[int, int]:
        """(J, N)."""
        return len(self.alternatives), len(self.names)

    def spread(self, values: npt.NDArray[Any], fill: float) -> npt.NDArray[Any]:
        """Long values as (J, N), `fill` where the alternative is absent."""
        out = np.full(self.shape, fill, dtype=values.dtype)
        out[self.alternative, self.situation] = values
        return out


def read_long(
    table: object,
    *,
    situation: str,
    alternative: str,
    chosen: str | None,
    attributes: Sequence[str] | Mapping[str, str | Numeric | Categorical],
    covariates: Covariates | None = None,
    alternatives: Mapping[str, object] | Sequence[object] | None = None,
    person: str | None = None,
    weight: str | None = None,
    drop_invalid: bool = False,
    like: ChoiceData | None = None,
) -> ChoiceData:
    """Read choices from a table with one row per choice situation and alternative.

    An alternative without a row in a situation was not available there.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet) or a data frame (pandas, polars, pyarrow).
    situation, alternative
        Columns with the id of the choice situation and the alternative's name or code.
    chosen
        The column that is 1 (or true, yes) in the row of the chosen alternative; None for
        situations to be predicted.
    attributes
        Columns that describe the alternative, or a dict name -> column or role. An alternative
        that has only missing values does not have the attribute.
    covariates
        Columns that describe the person: the same in all rows of a situation.
    alternatives
        The alternatives in the order wanted, or a dict name -> code; sorted unless told.
    person, weight
        Columns with the person's id (for repeated choices) and the weight.
    drop_invalid
        Leave out the situations with errors, with a warning, instead of refusing the table.
    like
        Earlier data whose recoding of levels is to be repeated (for prediction).

    Returns
    -------
    ChoiceData
    """
    source = open_table(table)
    if not len(source):
        raise ArdchoiceError(f"{source.name} has no rows.")
    roles = covariate_roles(covariates)
    how = dict(attributes) if isinstance(attributes, Mapping) else dict.fromkeys(attributes)
    refuse_clashes(how, roles)
    found: list[Problem] = []
    layout = _layout(source, situation, alternative, alternatives, found)
    columns: dict[tuple[str, str], str] = {}
    read_attributes: dict[str, Attribute] = {}
    for name, role in how.items():
        series = must_have(source, str(column_of(role, name)), f"attribute {name}")
        columns |= {(name, alt): series.name for alt in layout.alternatives}
        attribute = _attribute(name, series, as_role(role, name), layout, like, found)
        if attribute is not None:
            read_attributes[name] = attribute
    read_covariates = {}
    for name, role in roles.items():
        series = must_have(source, str(column_of(role, name)), f"covariate {name}")
        columns[name, ""] = series.name
        one = _per_situation(series, f"covariate {name}", layout, found)
        read_covariates[name], problems = read_covariate(name, one, as_role(role, name), like)
        found += problems
    draft = Draft(
        alternatives=layout.alternatives,
        available=layout.spread(np.ones(len(source), dtype=bool), False),
        choice=None if chosen is None else _choice(source, chosen, layout, found),
        attributes=read_attributes,
        covariates=read_covariates,
        person=None
        if person is None
        else person_codes(
            _per_situation(must_have(source, person, "person"), "the person id", layout, found)
        ),
        weight=None
        if weight is None
        else numbers(
            _per_situation(must_have(source, weight, "weight"), "the weight", layout, found)
        ),
        situation=layout.names,
        unit="situation",
        columns=columns,
        roles={"choice": chosen or "", "person": person or "", "weight": weight or ""},
        guessed=frozenset(n for n, r in roles.items() if as_role(r, n) is None),
        found=tuple(found),
    )
    return finish(draft, drop_invalid=drop_invalid)


def _layout(
    source: Table,
    situation: str,
    alternative: str,
    wanted: Mapping[str, object] | Sequence[object] | None,
    found: list[Problem],
) -> _Layout:
    ids = must_have(source, situation, "situation")
    which = must_have(source, alternative, "alternative")
    problems = [
        Problem(
            "error",
            "missing-id",
            f"The {role} (column {series.name!r}) is missing in "
            f"{rows_text(rows, np.arange(len(source)), 'row')}. Mend or remove these rows.",
        )
        for role, series in (("situation id", ids), ("alternative", which))
        if len(rows := np.flatnonzero(series.missing()))
    ]
    if problems:
        raise DataError(problems)
    codes, values = pd.factorize(ids.values)
    raw, labels = factorise(which)
    names, lookup = _alternatives(which.name, labels, wanted)
    layout = _Layout(
        np.asarray(codes, dtype=np.intp),
        lookup[raw],
        np.array([label(v) for v in values], dtype=object),
        names,
        np.unique(codes, return_index=True)[1],
    )
    cell = layout.alternative * len(layout.names) + layout.situation
    twice = np.flatnonzero(pd.Series(cell).duplicated().to_numpy())
    if len(twice):
        rows = np.unique(layout.situation[twice])
        where = rows_text(rows, layout.names, "situation")
        example = f"{layout.names[rows[0]]} has {names[layout.alternative[twice[0]]]!r} twice"
        found.append(
            Problem(
                "error",
                "duplicate-rows",
                f"An alternative has more than one row in {where}; situation {example}, for "
                f"instance. Remove the duplicates, or check that column {situation!r} numbers "
                "choice situations rather than persons.",
                tuple(rows.tolist()),
            )
        )
    return layout


def _alternatives(
    column: str, labels: list[str], wanted: Mapping[str, object] | Sequence[object] | None
) -> tuple[tuple[str, ...], npt.NDArray[np.intp]]:
    """Names in order, and the position of every label of the column among them."""
    if wanted is None:
        codes = {text: text for text in labels}
    elif isinstance(wanted, Mapping):
        codes = {str(name): label(code) for name, code in wanted.items()}
    else:
        codes = {label(code): label(code) for code in wanted}
    position = {code: j for j, code in enumerate(codes.values())}
    unknown = [text for text in labels if text not in position]
    if unknown:
        raise DataError(
            [
                Problem(
                    "error",
                    "unknown-alternative",
                    f"Column {column!r} holds alternatives that were not listed: "
                    f"{first_few(map(repr, unknown))}. The listed ones are: "
                    f"{', '.join(list(codes.values())[:20])}. List them too, or remove their rows.",
                )
            ]
        )
    if len(codes) < 2:
        raise ArdchoiceError(f"Column {column!r} names one alternative only; a choice needs two.")
    return tuple(codes), np.array([position[text] for text in labels], dtype=np.intp)


def _attribute(
    name: str,
    series: Series,
    role: Role | None,
    layout: _Layout,
    like: ChoiceData | None,
    found: list[Problem],
) -> Attribute | None:
    if isinstance(role, Cut):
        raise ArdchoiceError(f"{name}: an attribute is cut in a term, as in quantiles({name}, 4).")
    present = np.zeros(len(layout.alternatives), dtype=bool)
    present[layout.alternative[~series.missing()]] = True
    if not present.any():
        found.append(
            Problem(
                "error",
                "missing-attribute",
                f"{name} (column {series.name!r}) is missing everywhere.",
            )
        )
        return None
    has = tuple(np.flatnonzero(present).tolist())
    earlier = like.attributes.get(name) if like is not None else None
    categorical = not series.is_numeric if role is None else isinstance(role, Categorical)
    if earlier is not None:
        categorical = earlier.levels is not None
    if not categorical:
        return Attribute(name, has, layout.spread(numbers(series), np.nan)[list(has)])
    if earlier is not None and earlier.recoding is not None:
        coded = earlier.recoding.apply(series)
    else:
        coded = recode(series, role or Categorical())
    found += not_allowed(name, series, coded)
    values = layout.spread(coded.values, -1)[list(has)]
    return Attribute(name, has, values, coded.levels, coded.reference, coded.recoding)


def _per_situation(series: Series, what: str, layout: _Layout, found: list[Problem]) -> Series:
    """One value per situation; a problem where the rows of a situation disagree."""
    one = series.values[layout.first]
    back = one[layout.situation]
    differ = (series.values != back) & ~(series.missing() & np.asarray(pd.isna(back)))
    rows = np.unique(layout.situation[differ])
    if len(rows):
        found.append(
            Problem(
                "error",
                "varying-covariate",
                f"{what} (column {series.name!r}) differs between the rows of one situation: "
                f"{rows_text(rows, layout.names, 'situation')}. If it describes the alternative, "
                "name it among the attributes; otherwise mend it.",
                tuple(rows.tolist()),
            )
        )
    return Series(series.name, one, series.order)


def _choice(
    source: Table, column: str, layout: _Layout, found: list[Problem]
) -> npt.NDArray[np.intp]:
    series = must_have(source, column, "chosen")
    text = [label(v).strip().casefold() for v in series.values]
    known = np.array([t in TRUE or t in FALSE for t in text])
    picked = np.array([t in TRUE for t in text])
    n = len(layout.names)
    choice = np.full(n, -1, dtype=np.intp)
    choice[layout.situation[picked]] = layout.alternative[picked]
    count = np.bincount(layout.situation[picked], minlength=n)
    bad = np.flatnonzero(~known)
    cases: list[tuple[str, str, npt.NDArray[np.intp]]] = [
        ("nobody-chose", "No alternative is marked as chosen", np.flatnonzero(count == 0)),
        ("two-chosen", "More than one alternative is marked as chosen", np.flatnonzero(count > 1)),
    ]
    if len(bad):
        value = text[bad[0]]
        said = f"The mark of the chosen row is {value!r}, neither 1/0 nor yes/no,"
        cases.insert(0, ("bad-chosen", said, np.unique(layout.situation[bad])))
    for code, what, rows in cases:
        if len(rows):
            found.append(
                Problem(
                    "error",
                    code,
                    f"{what} (column {column!r}) in {rows_text(rows, layout.names, 'situation')}. "
                    f"{LEAVE_OUT}",
                    tuple(rows.tolist()),
                )
            )
    return choice
