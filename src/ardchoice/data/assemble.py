"""From a table to `ChoiceData`: place its cells, recode them, check them, drop or refuse rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray, Codes, Ints
from ardchoice.data.checks import check, refuse_one_person
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.draft import (
    FIX_OR_DROP,
    Draft,
    RowCount,
    RowsProblem,
    SituationIndex,
    with_variables,
)
from ardchoice.data.layout import PlacedRows, RawVariable
from ardchoice.data.long import LongRows
from ardchoice.data.number_text import NumberFormat
from ardchoice.data.person_rows import distinct_ids, person_codes
from ardchoice.data.recode import (
    Coded,
    Counted,
    Numeric,
    Recoding,
    pooled,
    recode,
    stacked_numbers,
)
from ardchoice.data.roles import (
    explicit_roles,
    must_have,
    refuse_clashes,
)
from ardchoice.data.source import Layout, ReadingOptions, Source, shared_options
from ardchoice.data.tables import Series, Table, label
from ardchoice.data.tally import Tally, count
from ardchoice.data.text_format import encoding_note
from ardchoice.data.weights import counted_rows, is_counted, with_scaled_weights
from ardchoice.data.wide import WideRows
from ardchoice.errors import ArdchoiceError, DataError, Problem, first_few

LAYOUTS: Mapping[Layout, type[PlacedRows]] = {"wide": WideRows, "long": LongRows}
"""Layout of a table -> how its rows are placed."""
MOST_CAUSES_SHOWN = 6
"""Columns that cost rows, listed where rows are dropped."""
Causes = Counter[tuple[str, str]]
"""Code of an error and what is wrong -> how many rows have it."""


def refuse_single_alternative(names: Collection[str], options: ReadingOptions) -> None:
    """Raise where the column of alternatives names one only."""
    if len(names) < 2:
        raise ArdchoiceError(
            f"Column {options.alternative!r} names one alternative only; a choice needs two."
        )


def no_rows_left(table: str, options: ReadingOptions) -> str:
    """The message where a filter leaves nothing."""
    return f"{table} has no row in which {options.where} holds, as where asks."


def assemble(
    table: Table,
    options: ReadingOptions,
    like: ChoiceData | None,
    *,
    learning: bool,
    start: int | Ints = 0,
) -> Draft:
    """Assemble the choices of a table, or of a part of one.

    Parameters
    ----------
    table, options
    like
        Data whose alternatives, kinds of variables and levels are used again; where it has none,
        they are learned from the table.
    learning
        Whether a model is to be estimated from the choices, rather than to predict them.
    start
        The number of the first row, or of every row.
    """
    if not len(table):
        raise ArdchoiceError(f"{table.name} has no rows.")
    named = options.named_attributes(), options.named_covariates()
    refuse_clashes(*named)
    rows = LAYOUTS[options.layout](options, table, like, start, checking=True)
    if not len(rows.table):
        raise ArdchoiceError(no_rows_left(table.name, options))
    rows.found += _notes(table, options, len(table) - len(rows.table))
    refuse_single_alternative(rows.codes, options)
    columns: dict[str, Mapping[str, str]] = {}
    attributes, covariates = {}, {}
    for variable in rows.variables():
        name = variable.name
        if variable.kind == "attribute" and not variable.present:
            where = f"{name} (column {variable.series[0].name!r})"
            missing = Problem("error", "missing-attribute", f"{where} is missing everywhere.")
            rows.found.append(missing)
            continue
        columns[name] = {a: variable.columns[a] for a in variable.present or ("",)}
        coded = _coded(variable, like, rows)
        coding = coded.levels, coded.reference, coded.recoding, coded.written
        if variable.kind == "attribute":
            positions = tuple(rows.names.index(a) for a in variable.present)
            fill = np.nan if coded.levels is None else -1
            values = rows.grid(positions, coded.values, fill)
            attributes[name] = Attribute(name, positions, values, *coding)
        else:
            covariates[name] = Covariate(name, coded.values, *coding)
    ids, weight = _person_ids(rows), _weights(rows)
    source = Source(
        path=table.path,
        text=table.text,
        alternatives=rows.codes,
        attributes={name: columns[name] for name in attributes},
        covariates={name: columns[name][""] for name in covariates},
        availability=rows.availability,
        roles=explicit_roles({**named[0], **named[1]}),
        **shared_options(options),
    )
    data = ChoiceData(
        alternatives=rows.names,
        available=rows.available,
        choice=rows.choice(),
        attributes=attributes,
        covariates=covariates,
        person=None if ids is None else person_codes(ids),
        weight=weight,
        situation=rows.index.ids,
        source=source,
    )
    return Draft(data, source, learning, tuple(rows.found), ids)


def _notes(table: Table, options: ReadingOptions, n_filtered: int) -> list[Problem]:
    """What was detected, and what was dropped as asked."""
    notes = []
    encoding = None if table.text is None else encoding_note(table.text)
    if encoding is not None and options.encoding is None:
        notes.append(Problem("note", "encoding", encoding))
    if n_filtered:
        share = f"{n_filtered:,} of {len(table):,} rows are"
        text = f"{share} dropped, in which not {options.where} (where)."
        notes.append(Problem("note", "filtered", text))
    return notes


def _coded(variable: RawVariable, like: ChoiceData | None, rows: PlacedRows) -> Coded:
    """The values of a variable as numbers or codes of levels, all its columns together."""
    known = variable.known_recoding(like)
    every = [Counted(series) for series in variable.series]
    if known is None:
        known = rows.learn_recoding(variable, every)
    if isinstance(known, Recoding):
        # Levels are shared by all alternatives, so that a code means the same everywhere.
        coded = known.apply(pooled(every).series)
        ends = np.cumsum([len(series.values) for series in variable.series])[:-1]
        each = [replace(coded, refused=refused) for refused in np.split(coded.refused, ends)]
    elif isinstance(known, Numeric) and all(series.is_numeric for series in variable.series):
        values = stacked_numbers([series.values for series in variable.series])
        return Coded(values, None, 0, None, np.zeros(0, dtype=bool))
    else:
        each = [recode(series, known) for series in variable.series]
        together = [one.values for one in each]
        values = together[0] if len(together) == 1 else np.concatenate(together)
        coded = replace(each[0], values=values)
    parts = zip(variable.labels, variable.series, each, variable.index, strict=True)
    for part in parts:
        rows.found += _refusals(*part)
    if coded.written is not None:
        rows.found.append(_written_note(variable, coded.written))
    return coded


def _written_note(variable: RawVariable, written: NumberFormat) -> Problem:
    """That numbers were written as text, and what an example was read as."""
    series = next(s for s in variable.series if not s.is_numeric)
    texts = (str(v) for v in series.values if v is not None)
    text = next((t for t in texts if written.read(t) is not None), "")
    number = f"{written.read(text):.10g}" if text else ""
    meaning = f", {written.meaning}" if written.meaning else ""
    where = f"{variable.name} (column {series.name!r})"
    message = f"{where} holds numbers written as text: {text!r} is read as {number}{meaning}."
    return Problem("note", "numbers-as-text", message)


def _refusals(what: str, series: Series, coded: Coded, index: SituationIndex) -> list[Problem]:
    """The problem of values that are no numbers, or outside the levels that a role lists."""
    if not coded.refused.any():
        return []
    values = first_few(repr(label(v)) for v in pd.unique(series.values[coded.refused]))
    if coded.levels is None or (coded.recoding and coded.recoding.edges):
        code, problem = "not-a-number", f"should hold numbers but has {values}"
        fix = f"{FIX_OR_DROP} Or read the column as Categorical()."
    else:
        levels = first_few(coded.levels, 20)
        code, problem = "unknown-level", f"has levels beyond those listed ({levels}), {values}"
        fix = f"{FIX_OR_DROP} Or list these levels too, or merge them."
    return index.errors(code, coded.refused, f"{what} (column {series.name!r}) {problem}", fix)


def _person_ids(rows: PlacedRows) -> AnyArray | None:
    column = rows.options.person
    if column is None:
        return None
    return rows.per_situation(must_have(rows.table, column, "person"), "The person id").values


def _weights(rows: PlacedRows) -> AnyArray | None:
    column = rows.options.weight
    if column is None:
        return None
    series = rows.per_situation(must_have(rows.table, column, "weight"), "The weight")
    coded = recode(series, Numeric())
    rows.found += _refusals("The weight", series, coded, rows.index)
    return coded.values


def finish(draft: Draft) -> ChoiceData:
    """Check a draft; raise every error together, or drop the rows that have some if allowed."""
    problems = check(draft)
    errors = [p for p in problems if p.severity == "error"]
    if errors and draft.source.drop_invalid and all(p.rows for p in errors):
        bad = invalid_rows(errors)
        if len(bad) < len(draft):
            draft = _without_rows(draft, bad, causes_of(errors))
            problems = check(draft)
    if any(p.severity == "error" for p in problems):
        raise DataError(problems)
    person, ids = draft.data.person, None
    if person is not None and draft.person_ids is not None:
        person, ids = person_codes(person), distinct_ids(draft.person_ids)
        refuse_one_person(draft, int(person.max(initial=0)) + 1, len(person))
    data = replace(draft.data, person=person, person_ids=ids, warnings=tuple(problems))
    return counted_rows(data) if is_counted(data) else with_scaled_weights(data)


def invalid_rows(errors: Sequence[Problem]) -> Ints:
    """Positions of the situations that have some of these errors."""
    return np.unique(np.concatenate([np.array(p.rows, dtype=np.intp) for p in errors]))


def causes_of(errors: Sequence[Problem]) -> Causes:
    """How many rows have each of these errors."""
    causes: Causes = Counter()
    for e in errors:
        causes[e.code, e.what if isinstance(e, RowsProblem) else e.code] += len(e.rows)
    return causes


def _without_rows(draft: Draft, bad: Ints, causes: Causes) -> Draft:
    rows = RowCount.of(bad, draft.data.situation)
    note = dropped_rows(rows, draft.source, causes, bad)
    left = draft.take(np.setdiff1d(np.arange(len(draft)), bad))
    if draft.learning:
        used = without_unused_levels(left.data, count(left))
        left = replace(left, data=used.with_codes())
    return replace(left, found=(note, *(p for p in draft.found if p.severity != "error")))


def dropped_rows(rows: RowCount, source: Source, causes: Causes, positions: Ints) -> Problem:
    """The warning that rows with errors were dropped, with a count by column."""
    dropped = rows.text(source.situation_unit)
    codes = sorted({code for code, _ in causes})
    text = f"{dropped} dropped, as drop_invalid=True asks: {', '.join(codes)}."
    each = [f"{what}: {n:,}" for (_, what), n in causes.most_common(MOST_CAUSES_SHOWN)]
    if len(causes) > MOST_CAUSES_SHOWN:
        each.append(f"and {len(causes) - MOST_CAUSES_SHOWN} more")
    return Problem("warning", "dropped", f"{text} {'; '.join(each)}.", tuple(positions.tolist()))


# -- Levels that no row has ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UsedLevels:
    """Data whose variables have only levels that occur.

    Attributes
    ----------
    data
        With the codes that its values had before.
    counted
        With the counts of these levels.
    lookups
        Attribute or covariate -> new code of every old one, -1 for none and for -1.
    """

    data: ChoiceData
    counted: Tally
    lookups: Mapping[str, Codes]

    def with_codes(self) -> ChoiceData:
        """The data with the new codes."""
        return with_variables(
            self.data,
            lambda v: (
                replace(v, values=self.lookups[v.name][v.values]) if v.name in self.lookups else v
            ),
        )


def without_unused_levels(data: ChoiceData, counted: Tally) -> UsedLevels:
    """Forget the levels that only dropped rows had, but not those that the user asked for."""
    lookups: dict[str, Codes] = {}
    levels = dict(counted.levels)

    def used(variable: Any) -> Any:
        recoding, old, name = variable.recoding, variable.levels or (), variable.name
        here = np.flatnonzero(levels.get(name, ()))
        if recoding is None or recoding.closed or recoding.edges or len(here) == len(old):
            return variable
        lookup = np.full(len(old) + 1, -1, dtype=np.int32)
        lookup[here] = np.arange(len(here))
        lookups[name], levels[name] = lookup, levels[name][here]
        kept = tuple(old[i] for i in here)
        reference = int(lookup[variable.reference])
        reference = len(kept) - 1 if reference < 0 else reference
        missing = recoding.missing if recoding.missing in kept else None
        recoding = replace(recoding, levels=kept, reference=reference, missing=missing)
        return replace(variable, levels=kept, reference=reference, recoding=recoding)

    data = with_variables(data, used)
    return UsedLevels(data, replace(counted, levels=levels), lookups)
