"""Reading a wide table: one row per choice situation, a column per alternative and attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

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
from ardchoice.data.checks import AVAILABILITY, LEAVE_OUT, Draft, Place
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
from ardchoice.data.tables import Series, Table, label, open_table
from ardchoice.errors import ArdchoiceError, Problem, did_you_mean, first_few

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
    missing_values: Sequence[object] = (),
    like: ChoiceData | None = None,
    stream: bool | None = None,
) -> ChoiceData:
    """Read choices from a table with one row per choice situation.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet, a folder of Parquet files; separator, encoding and decimal sign
        are found out) or a data frame (pandas, polars, pyarrow).
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
    missing_values
        Values that stand for missing ones in the columns of attributes and covariates, such as
        ``[99999, -99]``.
    like
        Earlier data whose recoding of levels is to be repeated (for prediction).
    stream
        Whether a file is read part by part into compact columns on disk, which are kept for the
        next time, instead of into memory; unless told, where memory might not do.

    Returns
    -------
    ChoiceData
    """
    asked = Wide(
        alternatives,
        choice,
        attributes,
        covariates,
        availability,
        person,
        weight,
        drop_invalid,
        said_missing(missing_values),
    )
    if streams(table, stream):
        return announce(read_streamed(table, asked, like))
    return finish(*asked.draft(open_table(table), like, learning=like is None))


@dataclass(frozen=True, eq=False)
class Wide:
    """What `read_wide` was asked."""

    alternatives: Mapping[str, object] | Sequence[object]
    choice: str | None
    attributes: Mapping[str, Pattern | Numeric | Categorical]
    covariates: Covariates | None
    availability: Pattern | None
    person: str | None
    weight: str | None
    drop_invalid: bool
    missing_values: tuple[str, ...]

    situation: ClassVar[str | None] = None
    """A column whose equal values must not be torn apart."""

    def draft(
        self, source: Table, like: ChoiceData | None, *, learning: bool, start: Start = 0
    ) -> tuple[Draft, Source]:
        """Put together a table, or a part of one.

        Parameters
        ----------
        source
        like
            Whose recoding of levels is to be repeated.
        learning
            Whether a model is to learn from them.
        start
            The number of the first row, or of every row.
        """
        source = with_codes(source, self.missing_values, self.columns())
        choice, person, weight = self.choice, self.person, self.weight
        if not len(source):
            raise ArdchoiceError(f"{source.name} has no rows.")
        attributes = self.named_attributes()
        codes = alternative_codes(self.alternatives)
        names = tuple(codes)
        roles = covariate_roles(self.covariates)
        refuse_clashes(attributes, roles)
        rows = numbered(start, len(source))
        place = Place(np.arange(len(source)), rows, "row")
        found: list[Problem] = []
        columns: dict[tuple[str, str], str] = {}
        available = _availability(source, self.availability, names, columns, place, found)
        read_attributes: dict[str, Attribute] = {}
        for name, how in attributes.items():
            kind, pattern = as_role(how, name), column_of(how, name)
            where = _columns(source, name, pattern, names)
            columns |= {(name, alt): column for alt, column in where.items()}
            if isinstance(pattern, str) and len(where) < len(names):
                found.append(_absent(name, pattern, [a for a in names if a not in where]))
            read_attributes[name] = _attribute(
                source, name, where, available, names, kind, like, place, found
            )
        people = read_people(source, roles, person, weight, lambda s, _: s, place, like, found)
        columns |= {(name, ""): column for name, column in people.columns.items()}
        draft = Draft(
            alternatives=names,
            available=available,
            choice=None if choice is None else _choice(source, choice, codes, place, found),
            attributes=read_attributes,
            covariates=people.covariates,
            person=people.person,
            weight=people.weight,
            situation=rows,
            unit="row",
            columns=columns,
            roles={"choice": choice or "", "person": person or "", "weight": weight or ""},
            guessed=frozenset(n for n, r in roles.items() if as_role(r, n) is None),
            learning=learning,
            found=tuple(found),
            person_ids=people.ids,
        )
        origin = Source(
            layout="wide",
            path=source.path,
            text=source.text,
            alternatives=codes,
            attributes={n: _by_alternative(columns, n) for n in read_attributes},
            covariates=people.columns,
            roles=explicit_roles({**attributes, **roles}),
            choice=choice,
            availability=_by_alternative(columns, AVAILABILITY),
            person=person,
            weight=weight,
            drop_invalid=self.drop_invalid,
            missing_values=self.missing_values,
        )
        return draft, origin

    def named_attributes(self) -> Mapping[str, Pattern | Numeric | Categorical]:
        """The attributes, or an error that says what was wanted."""
        if not isinstance(self.attributes, Mapping):
            raise ArdchoiceError(
                "attributes is a dict name -> pattern or columns, such as {'TT': '{alt}_TT'}, "
                f"not {self.attributes!r}."
            )
        return self.attributes

    def to_learn(self, source: Table) -> Iterator[ToLearn]:
        """The columns whose kind or levels all rows decide."""
        source = with_codes(source, self.missing_values, self.columns())
        names = tuple(alternative_codes(self.alternatives))
        place = Place(np.arange(len(source)), np.arange(len(source)), "row")
        available = _availability(source, self.availability, names, {}, place, [])
        for name, how in self.named_attributes().items():
            where = _columns(source, name, column_of(how, name), names)
            positions = tuple(names.index(a) for a in where)
            series = []
            for column, here in zip(where.values(), available[list(positions)], strict=True):
                one = source.column(column)
                series.append(replace(one, values=one.values[here]))
            yield ToLearn("attribute", name, as_role(how, name), tuple(series), positions)
        for name, role in covariate_roles(self.covariates).items():
            kind = as_role(role, name)
            one = must_have(source, str(column_of(role, name)), f"covariate {name}")
            yield ToLearn("covariate", name, kind, (one,))

    def names(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The alternatives."""
        return tuple(alternative_codes(self.alternatives))

    def label_of(self, name: str) -> str:
        """How an alternative stands in the table."""
        return alternative_codes(self.alternatives)[name]

    def columns(self) -> dict[str, str]:
        """Role -> column, of what is not learned."""
        every = {"choice": self.choice, "person": self.person, "weight": self.weight}
        return {role: column for role, column in every.items() if column is not None}


def _by_alternative(columns: Mapping[tuple[str, str], str], what: str) -> dict[str, str]:
    return {alt: column for (name, alt), column in columns.items() if name == what and alt}


def _columns(
    source: Table, name: str, where: object, alternatives: tuple[str, ...]
) -> dict[str, str]:
    """Alternative -> column of one attribute, from a pattern or a dict."""
    if isinstance(where, Mapping):
        named = {label(alternative): str(column) for alternative, column in where.items()}
        for alternative, column in named.items():
            if alternative not in alternatives:
                raise ArdchoiceError(
                    f"{name}: there is no alternative {alternative!r}. "
                    f"{did_you_mean(alternative, alternatives)}"
                )
            must_have(source, column, f"{name} of {alternative}")
        if not named:
            raise ArdchoiceError(f"{name}: the dict alternative -> column is empty.")
        return {a: named[a] for a in alternatives if a in named}
    pattern = str(where)
    if "{alt}" not in pattern:
        raise ArdchoiceError(
            f"{name}: {pattern!r} has no '{{alt}}' in it. Write a pattern such as "
            f"'{{alt}}_{name}', or a dict alternative -> column; what does not differ between "
            "alternatives is a covariate."
        )
    wanted = {a: pattern.replace("{alt}", a) for a in alternatives}
    known = set(source.columns)
    pairs = {a: c for a, c in wanted.items() if c in known}
    if not pairs:
        first = wanted[alternatives[0]]
        raise ArdchoiceError(
            f"{name}: no column of {source.name} fits the pattern {pattern!r}; {first!r} was "
            f"looked for, for instance. {did_you_mean(first, source.columns)}"
        )
    return pairs


def _absent(name: str, pattern: str, without: Sequence[str]) -> Problem:
    columns = first_few((repr(pattern.replace("{alt}", a)) for a in without), 3)
    have = "has" if len(without) == 1 else "have"
    return Problem(
        "warning",
        "absent-attribute",
        f"{name}: there is no column {columns}, so {first_few(without, 3)} {have} no {name}. "
        "A dict alternative -> column says so without this warning.",
    )


def _attribute(
    source: Table,
    name: str,
    where: Mapping[str, str],
    available: npt.NDArray[np.bool_],
    alternatives: tuple[str, ...],
    role: Role | None,
    like: ChoiceData | None,
    place: Place,
    found: list[Problem],
) -> Attribute:
    if isinstance(role, Cut):
        raise ArdchoiceError(f"{name}: an attribute is cut in a term, as in quantiles({name}, 4).")
    positions = tuple(alternatives.index(a) for a in where)
    # Only what could be chosen counts: anything may stand where the alternative is unavailable.
    used = available[list(positions)]
    each = []
    for (alternative, column), here in zip(where.items(), used, strict=True):
        one = source.column(column)
        spot = replace(place, position=place.position[here])
        each.append((f"{name} of {alternative}", replace(one, values=one.values[here]), spot))
    series = [one for _, one, _ in each]
    earlier = like.attributes.get(name) if like is not None else None
    categorical = isinstance(role, Categorical)
    if earlier is not None:
        categorical = earlier.levels is not None
    elif role is None:
        categorical = not all(mostly_numbers(s) for s in series)
    if not categorical:
        values: npt.NDArray[Any] = np.full(used.shape, np.nan)
        values[used] = np.concatenate([read_numbers(*one, found) for one in each])
        return Attribute(name, positions, values)
    # Levels are learned over all alternatives together, so that a code means the same everywhere.
    pooled = _concatenate(series)
    if earlier is not None and earlier.recoding is not None:
        coded = earlier.recoding.apply(pooled)
    else:
        coded = recode(pooled, role or Categorical())
    ends = np.cumsum([len(s.values) for s in series])[:-1]
    for (what, one, spot), refused in zip(each, np.split(coded.refused, ends), strict=True):
        found += refusals(what, one, replace(coded, refused=refused), spot)
    values = np.full(used.shape, -1, dtype=np.int32)
    values[used] = coded.values
    return Attribute(name, positions, values, coded.levels, coded.reference, coded.recoding)


def _concatenate(series: Sequence[Series]) -> Series:
    values: npt.NDArray[Any] = np.concatenate([s.values for s in series])
    order: dict[object, None] = {}
    for one in series:
        order |= dict.fromkeys(one.order or ())
    known = tuple(order) if all(s.order is not None for s in series) else None
    return Series(series[0].name, values, known)


def _choice(
    source: Table, column: str, codes: Mapping[str, str], place: Place, found: list[Problem]
) -> npt.NDArray[np.intp]:
    raw, labels = factorise(must_have(source, column, "choice"))
    position = {code: j for j, code in enumerate(codes.values())}
    lookup = np.array([position.get(text, -1) for text in labels] + [-1], dtype=np.intp)
    choice: npt.NDArray[np.intp] = lookup[raw]
    unknown = first_few((repr(text) for text in labels if text not in position), 8)
    meaning = first_few((f"{code} = {name}" for name, code in codes.items()), 8)
    do = (
        f"The codes are: {meaning}. Add a code that is missing to alternatives=, mend these rows "
        "or leave them out (drop_invalid=True does so)."
    )
    said = f"The choice (column {column!r})"
    cases = {
        "missing-choice": (raw < 0, f"{said} is missing"),
        "unknown-choice": (
            (choice < 0) & (raw >= 0),
            f"{said} holds {unknown}, the code of no alternative",
        ),
    }
    for code, (mask, what) in cases.items():
        if mask.any():
            found.append(place.error(code, mask, what, do))
    return choice


def _availability(
    source: Table,
    availability: Pattern | None,
    alternatives: tuple[str, ...],
    columns: dict[tuple[str, str], str],
    place: Place,
    found: list[Problem],
) -> npt.NDArray[np.bool_]:
    available = np.ones((len(alternatives), len(source)), dtype=bool)
    if availability is None:
        return available
    where = _columns(source, "availability", availability, alternatives)
    for alternative, column in where.items():
        columns[AVAILABILITY, alternative] = column
        said = marks(source.column(column))
        if (said < 0).any():
            what = f"The availability of {alternative} (column {column!r}) is neither 0 nor 1"
            found.append(place.error("bad-availability", said < 0, what, LEAVE_OUT))
        # What cannot be read counts as available, so that it is not reported a second time.
        available[alternatives.index(alternative)] = said != 0
    absent = [a for a in alternatives if a not in where]
    if absent and not isinstance(availability, Mapping):
        found.append(
            Problem(
                "warning",
                "absent-availability",
                f"No availability column {str(availability)!r} for {first_few(absent)}: taken as "
                "always available. A dict alternative -> column says so without this warning.",
            )
        )
    return available
