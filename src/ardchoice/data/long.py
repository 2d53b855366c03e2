"""Reading a long table: one row per choice situation and alternative available in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.assemble import (
    Covariates,
    alternative_codes,
    as_role,
    column_of,
    covariate_roles,
    explicit_roles,
    finish,
    must_have,
    read_numbers,
    read_people,
    refusals,
    refuse_clashes,
    said_missing,
    with_codes,
)
from ardchoice.data.batches import streams
from ardchoice.data.checks import LEAVE_OUT, Draft, Place, rows_text
from ardchoice.data.choices import Attribute, ChoiceData
from ardchoice.data.learning import Start, ToLearn, numbered
from ardchoice.data.recode import (
    Categorical,
    Cut,
    Numeric,
    Role,
    factorise,
    marks,
    mostly_numbers,
    recode,
)
from ardchoice.data.source import Source
from ardchoice.data.stream import announce, read_streamed
from ardchoice.data.tables import EXACT, Series, Table, label, open_table
from ardchoice.errors import ArdchoiceError, DataError, Problem, first_few


@dataclass(frozen=True)
class _Layout:
    """Where each row of the long table goes: situation (column) and alternative (row) of (J, N)."""

    situation: npt.NDArray[np.intp]
    alternative: npt.NDArray[np.intp]
    names: npt.NDArray[Any]
    codes: dict[str, str]
    """Name of every alternative -> label of its code."""
    first: npt.NDArray[np.intp]
    """The first long row of every situation; shape (N,)."""

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self.codes)

    @property
    def place(self) -> Place:
        """What the rows of the long table stand for."""
        return Place(self.situation, self.names, "situation")

    @property
    def once(self) -> Place:
        """What the rows of a column with one value per situation stand for."""
        return Place(np.arange(len(self.names)), self.names, "situation")

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
    situation: str | Sequence[str],
    alternative: str,
    chosen: str | None,
    attributes: Sequence[str] | Mapping[str, str | Numeric | Categorical],
    covariates: Covariates | None = None,
    alternatives: Mapping[str, object] | Sequence[object] | None = None,
    person: str | None = None,
    weight: str | None = None,
    drop_invalid: bool = False,
    missing_values: Sequence[object] = (),
    like: ChoiceData | None = None,
    stream: bool | None = None,
) -> ChoiceData:
    """Read choices from a table with one row per choice situation and alternative.

    An alternative without a row in a situation was not available there.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet, a folder of Parquet files) or a data frame (pandas, polars,
        pyarrow).
    situation, alternative
        Columns with the id of the choice situation and the alternative's name or code. Where only
        several columns together number the situations: a list, ``["person", "task"]``.
    chosen
        The column that is 1 (or true, yes) in the row of the chosen alternative; None for
        situations to be predicted.
    attributes
        Columns that describe the alternative, or a dict name -> column or role. An alternative
        that has only missing values does not have the attribute.
    covariates
        Columns that describe the person: the same in all rows of a situation.
    alternatives
        The alternatives in the order wanted, or a dict name -> code; those of `like`, or else
        sorted, unless told.
    person, weight
        Columns with the person's id (for repeated choices) and the weight.
    drop_invalid
        Leave out the situations with errors, with a warning, instead of refusing the table.
    missing_values
        Values that stand for missing ones in the columns of attributes and covariates, such as
        ``[99999, -99]``.
    like
        Earlier data whose recoding of levels is to be repeated (for prediction).
    stream
        Whether a file is read part by part into compact columns on disk, which are kept for the
        next time, instead of into memory; unless told, where memory might not do. The rows of a
        situation must then follow each other.

    Returns
    -------
    ChoiceData
    """
    asked = Long(
        _columns(situation),
        alternative,
        chosen,
        attributes,
        covariates,
        alternatives,
        person,
        weight,
        drop_invalid,
        said_missing(missing_values),
    )
    if streams(table, stream):
        if not isinstance(asked.situation, str):
            raise ArdchoiceError(
                "A table that is read part by part needs one column that numbers the situations, "
                f"not {' and '.join(map(repr, asked.situation))}: make one of these, or read the "
                "table with stream=False."
            )
        return announce(read_streamed(table, asked, like))
    return finish(*asked.draft(open_table(table), like, learning=like is None))


@dataclass(frozen=True, eq=False)
class Long:
    """What `read_long` was asked."""

    situation: Any
    """A column, or a tuple of them."""
    alternative: str
    chosen: str | None
    attributes: Sequence[str] | Mapping[str, str | Numeric | Categorical]
    covariates: Covariates | None
    alternatives: Mapping[str, object] | Sequence[object] | None
    person: str | None
    weight: str | None
    drop_invalid: bool
    missing_values: tuple[str, ...]

    def draft(
        self, source: Table, like: ChoiceData | None, *, learning: bool, start: Start = 0
    ) -> tuple[Draft, Source]:
        """Put together a table, or a part of one; parameters as of `Wide.draft`."""
        source = with_codes(source, self.missing_values, self.columns())
        chosen, person, weight = self.chosen, self.person, self.weight
        if not len(source):
            raise ArdchoiceError(f"{source.name} has no rows.")
        roles = covariate_roles(self.covariates)
        how = self.named_attributes()
        refuse_clashes(how, roles)
        found: list[Problem] = []
        alternatives = self.alternatives
        if alternatives is None and like is not None:
            alternatives = like.alternatives
        layout = _layout(source, self.situation, self.alternative, alternatives, found, start)
        columns: dict[tuple[str, str], str] = {}
        read_attributes: dict[str, Attribute] = {}
        for name, role in how.items():
            kind = as_role(role, name)
            series = must_have(source, str(column_of(role, name)), f"attribute {name}")
            columns |= {(name, alt): series.name for alt in layout.alternatives}
            attribute = _attribute(name, series, kind, layout, like, found)
            if attribute is not None:
                read_attributes[name] = attribute
        people = read_people(
            source,
            roles,
            person,
            weight,
            lambda series, what: _per_situation(series, what, layout, found),
            layout.once,
            like,
            found,
        )
        columns |= {(name, ""): column for name, column in people.columns.items()}
        draft = Draft(
            alternatives=layout.alternatives,
            available=layout.spread(np.ones(len(source), dtype=bool), False),
            choice=None if chosen is None else _choice(source, chosen, layout, found),
            attributes=read_attributes,
            covariates=people.covariates,
            person=people.person,
            weight=people.weight,
            situation=layout.names,
            unit="situation",
            columns=columns,
            roles={"choice": chosen or "", "person": person or "", "weight": weight or ""},
            guessed=frozenset(n for n, r in roles.items() if as_role(r, n) is None),
            learning=learning,
            found=tuple(found),
            person_ids=people.ids,
        )
        names = layout.alternatives
        origin = Source(
            layout="long",
            path=source.path,
            text=source.text,
            alternatives=layout.codes,
            attributes={
                name: {alt: columns[name, alt] for alt in map(names.__getitem__, a.alternatives)}
                for name, a in read_attributes.items()
            },
            covariates=people.columns,
            roles=explicit_roles({**how, **roles}),
            choice=chosen,
            situation=self.situation,
            alternative=self.alternative,
            person=person,
            weight=weight,
            drop_invalid=self.drop_invalid,
            missing_values=self.missing_values,
        )
        return draft, origin

    def named_attributes(self) -> dict[str, str | Numeric | Categorical | None]:
        """The attributes and their columns, or an error that says what was wanted."""
        if isinstance(self.attributes, str):
            raise ArdchoiceError(
                f"attributes is a list of columns or a dict, not the text {self.attributes!r}; "
                f"write [{self.attributes!r}]."
            )
        if isinstance(self.attributes, Mapping):
            return dict(self.attributes)
        return dict.fromkeys(self.attributes)

    def to_learn(self, source: Table) -> Iterator[ToLearn]:
        """The columns whose kind or levels all rows decide."""
        source = with_codes(source, self.missing_values, self.columns())
        which = must_have(source, self.alternative, "alternative")
        raw, labels = factorise(which)
        yield ToLearn("alternatives", self.alternative, None, (which,))
        for name, role in self.named_attributes().items():
            one = must_have(source, str(column_of(role, name)), f"attribute {name}")
            there = np.unique(raw[~one.missing()])
            seen = tuple(labels[i] for i in there if i >= 0)
            yield ToLearn("attribute", name, as_role(role, name), (one,), present=seen)
        ids = situation_ids(source, self.situation)
        first = np.flatnonzero(~pd.Series(ids.values).duplicated().to_numpy())
        for name, about in covariate_roles(self.covariates).items():
            kind = as_role(about, name)
            one = must_have(source, str(column_of(about, name)), f"covariate {name}")
            once = Series(one.name, one.values[first], one.order)
            yield ToLearn("covariate", name, kind, (once,))

    def names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The alternatives, when the table has these."""
        if self.alternatives is None and len(labels) < 2:
            raise ArdchoiceError(_one_only(self.alternative))
        return tuple(alternative_codes(labels if self.alternatives is None else self.alternatives))

    def label_of(self, name: str) -> str:
        """How an alternative stands in the table."""
        if self.alternatives is None:
            return name
        return alternative_codes(self.alternatives)[name]

    def columns(self) -> dict[str, str]:
        """Role -> column, of what is not learned."""
        every = {
            "situation": self.situation,
            "alternative": self.alternative,
            "chosen": self.chosen,
            "person": self.person,
            "weight": self.weight,
        }
        return {role: column for role, column in every.items() if column is not None}


def _columns(situation: str | Sequence[str]) -> str | tuple[str, ...]:
    if isinstance(situation, str):
        return situation
    columns = tuple(situation) if isinstance(situation, Sequence) else ()
    if not columns or not all(isinstance(c, str) for c in columns):
        raise ArdchoiceError(
            f"situation is a column or a list of columns, such as ['person', 'task'], not "
            f"{situation!r}."
        )
    return columns[0] if len(columns) == 1 else columns


def situation_ids(table: Table, situation: str | Sequence[str]) -> Series:
    """The id of the situation of every row; of several columns as text, ``P001 / 3``."""
    if isinstance(situation, str):
        return must_have(table, situation, "situation")
    parts = [must_have(table, column, "situation") for column in situation]
    coded = [factorise(part) for part in parts]
    missing = np.any([codes < 0 for codes, _ in coded], axis=0)
    texts = [np.array([*labels, ""], dtype=object)[codes] for codes, labels in coded]
    ids = np.array([" / ".join(row) for row in zip(*texts, strict=True)], dtype=object)
    ids[missing] = None
    distinct = len(pd.DataFrame([codes for codes, _ in coded]).T[~missing].drop_duplicates())
    if distinct != len(pd.unique(ids[~missing])):
        raise ArdchoiceError(
            f"Different values of {' and '.join(map(repr, situation))} read alike when joined by "
            "' / '. Take the slash out of them, or number the situations in one column."
        )
    return Series(" / ".join(situation), ids)


def _one_only(column: str) -> str:
    return f"Column {column!r} names one alternative only; a choice needs two."


def _layout(
    source: Table,
    situation: str | Sequence[str],
    alternative: str,
    wanted: Mapping[str, object] | Sequence[object] | None,
    found: list[Problem],
    start: Start,
) -> _Layout:
    ids = situation_ids(source, situation)
    which = must_have(source, alternative, "alternative")
    numbers = numbered(start, len(source))
    problems = [
        Problem(
            "error",
            "missing-id",
            f"The {role} (column {series.name!r}) is missing in "
            f"{rows_text(rows, numbers, 'row')}. Mend or remove these rows.",
        )
        for role, series in (("situation id", ids), ("alternative", which))
        if len(rows := np.flatnonzero(series.missing()))
    ]
    if problems:
        raise DataError(problems)
    codes, values = pd.factorize(ids.values)
    raw, labels = factorise(which)
    names, lookup = _alternatives(which.name, raw, labels, wanted, numbers)
    layout = _Layout(
        np.asarray(codes, dtype=np.intp),
        lookup[raw],
        _whole(np.asarray(values)),
        names,
        np.unique(codes, return_index=True)[1],
    )
    cell = layout.alternative * len(layout.names) + layout.situation
    twice = np.flatnonzero(pd.Series(cell).duplicated().to_numpy())
    if len(twice):
        rows = np.unique(layout.situation[twice])
        where = rows_text(rows, layout.names, "situation")
        one = twice[0]
        where_twice, which_twice = layout.situation[one], layout.alternative[one]
        example = f"{layout.names[where_twice]} has {layout.alternatives[which_twice]!r} twice"
        found.append(
            Problem(
                "error",
                "duplicate-rows",
                f"An alternative has more than one row in {where}; situation {example}, for "
                f"instance. Remove the duplicates, or check that column {ids.name!r} numbers "
                "choice situations rather than persons. Where only several columns together do, "
                "name them all: situation = ['person', 'task'].",
                tuple(rows.tolist()),
            )
        )
    return layout


def _whole(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Ids as they stood in the table: whole numbers read as floats are whole again."""
    if ids.dtype.kind != "f" or not len(ids) or not np.abs(ids).max() < EXACT:
        return ids
    if (ids % 1 == 0).all():
        return ids.astype(np.int64)
    return ids


def _alternatives(
    column: str,
    raw: npt.NDArray[np.intp],
    labels: list[str],
    wanted: Mapping[str, object] | Sequence[object] | None,
    numbers: npt.NDArray[np.intp],
) -> tuple[dict[str, str], npt.NDArray[np.intp]]:
    """Name -> label of its code, and the position of every label of the column among the names."""
    if wanted is None and len(labels) < 2:
        raise ArdchoiceError(_one_only(column))
    codes = alternative_codes(labels if wanted is None else wanted)
    position = {code: j for j, code in enumerate(codes.values())}
    lookup = np.array([position.get(text, -1) for text in labels], dtype=np.intp)
    rows = np.flatnonzero(lookup[raw] < 0)
    if len(rows):
        unknown = first_few(repr(text) for text in labels if text not in position)
        raise DataError(
            [
                Problem(
                    "error",
                    "unknown-alternative",
                    f"Column {column!r} holds alternatives that were not listed: {unknown} in "
                    f"{rows_text(rows, numbers, 'row')}. The listed ones are: "
                    f"{first_few(position, 20)}. List them too, or remove their rows.",
                )
            ]
        )
    return codes, lookup


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
    # Data without rows tell what parts of one table have in common: a part may well have none.
    is_part = like is not None and not len(like) and name in like.attributes
    if not present.any() and not is_part:
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
    categorical = not mostly_numbers(series) if role is None else isinstance(role, Categorical)
    if earlier is not None and like is not None:
        categorical = earlier.levels is not None
        known = {like.alternatives[j] for j in earlier.alternatives}
        has = tuple(j for j, a in enumerate(layout.alternatives) if a in known)
    if not categorical:
        values = read_numbers(name, series, layout.place, found)
        return Attribute(name, has, layout.spread(values, np.nan)[list(has)])
    if earlier is not None and earlier.recoding is not None:
        coded = earlier.recoding.apply(series)
    else:
        coded = recode(series, role or Categorical())
    found += refusals(name, series, coded, layout.place)
    values = layout.spread(coded.values, -1)[list(has)]
    return Attribute(name, has, values, coded.levels, coded.reference, coded.recoding)


def _per_situation(series: Series, what: str, layout: _Layout, found: list[Problem]) -> Series:
    """One value per situation; a problem where the rows of a situation disagree."""
    one = series.values[layout.first]
    back = one[layout.situation]
    differ = (series.values != back) & ~(series.missing() & np.asarray(pd.isna(back)))
    if differ.any():
        what = f"{what} (column {series.name!r}) differs between the rows of one situation"
        do = "If it describes the alternative, name it among the attributes; otherwise mend it."
        found.append(layout.place.error("varying-covariate", differ, what, do))
    return Series(series.name, one, series.order)


def _choice(
    source: Table, column: str, layout: _Layout, found: list[Problem]
) -> npt.NDArray[np.intp]:
    series = must_have(source, column, "chosen")
    said = marks(series)
    picked = said == 1
    n = len(layout.names)
    choice = np.full(n, -1, dtype=np.intp)
    choice[layout.situation[picked]] = layout.alternative[picked]
    count = np.bincount(layout.situation[picked], minlength=n)
    unclear = np.bincount(layout.situation[said < 0], minlength=n) > 0
    values = first_few(
        "nothing" if pd.isna(v) else repr(label(v)) for v in pd.unique(series.values[said < 0])
    )
    cases = {
        "bad-chosen": (unclear, f"The mark of the chosen row is {values}, neither 1/0 nor yes/no"),
        "nobody-chose": ((count == 0) & ~unclear, "No alternative is marked as chosen"),
        "two-chosen": (count > 1, "More than one alternative is marked as chosen"),
    }
    for code, (mask, what) in cases.items():
        if mask.any():
            where = f"{what} (column {column!r})"
            found.append(layout.once.error(code, mask, where, LEAVE_OUT))
    return choice
