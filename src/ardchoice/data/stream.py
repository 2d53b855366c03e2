"""`read_table`: a table in memory at once, or part by part into compact columns on disk.

A table that does not fit in memory is processed twice. First to learn what all rows decide: which
columns are numbers, which levels there are. Then to assemble choices, check them as in memory, and
write them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray, Codes, Ints
from ardchoice.data.assemble import (
    LAYOUTS,
    assemble,
    causes_of,
    dropped_rows,
    finish,
    invalid_rows,
    no_rows_left,
    without_unused_levels,
)
from ardchoice.data.batches import Files, find_files, streams
from ardchoice.data.cache import cache_folder, cached
from ardchoice.data.checks import check, refuse_one_person
from ardchoice.data.choices import ChoiceData
from ardchoice.data.compact import (
    Column,
    Stored,
    store_columns,
    store_whole,
    with_source,
    write_manifest,
)
from ardchoice.data.derived import needed_columns, with_derived
from ardchoice.data.draft import Draft, RowCount, with_variables
from ardchoice.data.learning import MOST_INVALID_ROWS, learn, wanted_rows, whole_situations
from ardchoice.data.person_rows import distinct_ids, person_codes
from ardchoice.data.roles import must_have
from ardchoice.data.source import ReadingOptions
from ardchoice.data.tables import Table, open_table
from ardchoice.data.tally import Tally, count
from ardchoice.data.weights import weight_scale
from ardchoice.errors import ArdchoiceError, DataError, Problem

HEAD_ROWS = 1000
"""Rows from which the columns of a table are seen."""
WHOLE_TABLE_ERRORS = frozenset({"one-always-chosen", "zero-weights"})
"""Errors that only all rows together can have."""


def read_table(
    table: object,
    options: ReadingOptions,
    like: ChoiceData | None = None,
    stream: bool | None = None,
) -> ChoiceData:
    """Read choices without warning; what the checks found is on `ChoiceData.warnings`.

    Parameters
    ----------
    table
        A path or a data frame.
    options
    like
        Earlier data whose recoding is applied again.
    stream
        Whether to read part by part. Default: where the table might not fit in memory.
    """
    if streams(table, stream):
        return _read_streamed(table, options, like)
    return finish(assemble(open_table(table, options), options, like, learning=like is None))


def _read_streamed(table: object, options: ReadingOptions, like: ChoiceData | None) -> ChoiceData:
    """Choices in compact columns, from the cache or written now."""
    if options.situation is not None and not isinstance(options.situation, str):
        raise ArdchoiceError(
            "A table that is read part by part needs one column that identifies the situations, "
            f"not {' and '.join(map(repr, options.situation))}: make one of these, or read the "
            "table with stream=False."
        )
    if options.weight is not None and options.weight_kind == "frequency":
        raise ArdchoiceError(
            'Counts (weight_kind = "frequency") repeat rows in memory, and this table is read part '
            'by part: read it with stream=False, or give weight_kind = "sampling".'
        )
    if options.situation in options.derive:
        raise ArdchoiceError(
            f"A table that is read part by part has a column of its own for the situations, not a "
            f"derived one ({options.situation!r}): name one, or read the table with stream=False."
        )
    files = find_files(str(table), options)
    first = next(wanted_rows(files, options, None), None)
    if first is None:
        empty = next(files.batches(), None) is None
        raise ArdchoiceError(
            f"{files.name} has no rows." if empty else no_rows_left(files.name, options)
        )
    head = files.table(first[1].head(HEAD_ROWS))
    # Arguments that do not fit the table are reported before anything else.
    columns = _columns_wanted(options, head)
    folder = cache_folder(files, f"{options!r}\n{_recodings(like)}")

    def make(new: Path, state: list[dict[str, Any]]) -> None:
        about = {"files": state, "path": str(files.path)}
        _Streamed(new, options, like, about).read(files, columns)

    data = cached(folder, files, make)
    return with_source(data, assemble(head, options, data, learning=False).source)


def _recodings(like: ChoiceData | None) -> str:
    if like is None:
        return ""
    known: Sequence[Any] = [*like.attributes.values(), *like.covariates.values()]
    return repr([(v.name, v.levels, v.recoding) for v in known]) + repr(like.alternatives)


def _columns_wanted(options: ReadingOptions, head: Table) -> list[str] | None:
    """The columns that reading needs, or an error where one is missing."""
    head = with_derived(head, options)
    columns = dict.fromkeys(
        must_have(head, column, role).name for role, column in options.role_columns().items()
    )
    try:
        rows = LAYOUTS[options.layout](options, head, None)
        for variable in rows.variables():
            columns |= dict.fromkeys(variable.columns.values())
    except DataError:  # which is reported for the whole table
        return None
    return needed_columns(options, [*columns, *rows.availability.values()])


# -- Writing ---------------------------------------------------------------------------------------


class _Writer:
    """Columns that are being written to a folder, part by part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.columns: dict[str, list[Column]] = {}
        self.persons: dict[object, int] = {}
        # Of the weights: their sum, and how many are above zero.
        self.total_weight, self.positive = 0.0, 0

    def add(self, draft: Draft) -> None:
        """Rows without errors."""
        data = draft.data
        self._put("available", data.available, np.dtype(bool))
        if data.choice is not None:
            self._put("choice", data.choice[None])
        if draft.person_ids is not None:
            self._put("person", self._person_codes(draft.person_ids)[None])
        if data.weight is not None:
            self._put("weight", data.weight[None], np.dtype(float))
            self.total_weight += fsum(data.weight)
            self.positive += int(np.count_nonzero(data.weight))
        self._put("situation", data.situation[None])
        for i, attribute in enumerate(data.attributes.values()):
            # Anything may be in unavailable cells: what takes least space.
            available = data.available[list(attribute.alternatives)]
            self._put(f"attribute {i}", np.where(available, attribute.values, 0))
        for i, covariate in enumerate(data.covariates.values()):
            self._put(f"covariate {i}", covariate.values[None])

    def _put(self, name: str, rows: AnyArray, kind: np.dtype[Any] | None = None) -> None:
        if name not in self.columns:
            at = len(self.columns)
            self.columns[name] = [Column(self.folder, f"{at}-{i}") for i in range(len(rows))]
        for column, values in zip(self.columns[name], rows, strict=True):
            column.append(values, kind)

    def _person_codes(self, ids: AnyArray) -> Ints:
        """Persons numbered in the order of their first row, for now."""
        codes, distinct = pd.factorize(ids)
        numbers = self.persons
        known = [numbers.setdefault(one, len(numbers)) for one in np.asarray(distinct).tolist()]
        return np.asarray(np.array(known, dtype=np.intp)[codes])

    def close(self) -> None:
        """Close the files, also after an error."""
        for columns in self.columns.values():
            for column in columns:
                column.close()

    def finish(self, changes: Mapping[str, Codes], always: bool) -> dict[str, Stored]:
        """Merge the parts of each column; `changes` has new codes of the levels of some."""
        out = {}
        for i, (name, columns) in enumerate(self.columns.items()):
            if name == "available" and always:
                for column in columns:
                    column.close()
                    column.path.unlink()
                continue
            change = changes[name].__getitem__ if name in changes else None
            if name == "weight":
                change = partial(np.multiply, weight_scale(self.total_weight, self.positive))
            two = name == "available" or name.startswith("attribute")
            out[name] = store_columns(self.folder, str(i), columns, flat=not two, change=change)
        return out


class _Streamed:
    """A table on its way to an empty folder: its valid rows are written, the others remembered."""

    def __init__(
        self,
        folder: Path,
        options: ReadingOptions,
        like: ChoiceData | None,
        about: Mapping[str, object],
    ) -> None:
        self.folder, self.options, self.like, self.about = folder, options, like, about
        self.writer, self.n = _Writer(folder), 0
        # Rows with errors: how many, why, where, and the first of them.
        self.invalid, self.causes = RowCount(), causes_of([])
        self.positions: list[Ints] = []
        self.frames: list[tuple[Ints, pd.DataFrame]] = []
        self.all_rows: Tally | None = None
        self.written: Tally | None = None

    def read(self, files: Files, columns: list[str] | None) -> None:
        """Write the columns of a table without errors, or of its valid rows; raise otherwise."""
        options, drop = self.options, self.options.drop_invalid
        template, files = learn(files, options, self.like, columns)
        first: Draft | None = None
        try:
            for numbers, frame in whole_situations(files, options, columns):
                draft = assemble(
                    files.table(frame), options, template, learning=self.like is None, start=numbers
                )
                first = first or draft
                self._add(draft, frame, numbers)
                if self.invalid.n > MOST_INVALID_ROWS and not drop:
                    break
            assert first is not None  # noqa: S101 - there are rows
            if self.written is None or (self.invalid.n and not drop):
                errors = self._all_errors(files, template)
                together = check(_empty(first, template), self.all_rows)
                raise DataError([*errors, *(p for p in together if p.code in WHOLE_TABLE_ERRORS)])
            if options.situation is not None:
                _refuse_torn(self.writer.columns["situation"][0], str(options.situation))
            self._finish(first, template, self.written)
        finally:
            self.writer.close()

    def _add(self, draft: Draft, frame: pd.DataFrame, numbers: Ints) -> None:
        """Check a part and write its valid rows."""
        counted, size = count(draft), len(draft)
        self.all_rows = counted if self.all_rows is None else self.all_rows + counted
        errors = [e for e in check(draft, counted) if _is_of_rows(e)]
        others = [e for e in errors if not e.rows]
        if others:  # what concerns no row in particular cannot be dropped
            raise DataError(others)
        if errors:
            draft = self._set_aside(draft, frame, errors, numbers)
            counted = count(draft)
        self.n += size
        if len(draft):
            self.writer.add(draft)
            self.written = counted if self.written is None else self.written + counted

    def _set_aside(
        self, draft: Draft, frame: pd.DataFrame, errors: list[Problem], numbers: Ints
    ) -> Draft:
        """Remember the rows with errors; what remains of the draft."""
        bad = invalid_rows(errors)
        mask = np.isin(np.arange(len(draft)), bad)
        self.invalid += RowCount.of(bad, draft.data.situation)
        self.causes += causes_of(errors)
        self.positions.append(self.n + bad)
        if self.invalid.n <= MOST_INVALID_ROWS:
            at = mask
            if self.options.situation is not None:
                at = mask[pd.factorize(frame[self.options.situation])[0]]
            self.frames.append((numbers[at], frame[at]))
        return draft.take(np.flatnonzero(~mask))

    def _all_errors(self, files: Files, template: ChoiceData) -> list[Problem]:
        """The errors of all parts, as if they were one."""
        numbers, frames = zip(*self.frames, strict=True)
        draft = assemble(
            files.table(pd.concat(frames, ignore_index=True)),
            self.options,
            template,
            learning=self.like is None,
            start=np.concatenate(numbers),
        )
        positions = np.concatenate(self.positions)
        return [
            replace(e, rows=tuple(positions[list(e.rows)].tolist()))
            for e in check(draft)
            if _is_of_rows(e)
        ]

    def _finish(self, first: Draft, template: ChoiceData, counted: Tally) -> None:
        """Check what all rows together decide, and write the folder."""
        found = [p for p in first.found if p.severity != "error" and p.code != "filtered"]
        lookups: Mapping[str, Codes] = {}
        data = template
        if self.invalid.n:
            positions = np.concatenate(self.positions)
            found.insert(0, dropped_rows(self.invalid, first.source, self.causes, positions))
            if self.like is None:
                used = without_unused_levels(data, counted)
                data, counted, lookups = used.data, used.counted, used.lookups
        if self.like is not None:
            data = _recoded_as(data, self.like)
        problems = check(replace(_empty(first, data), found=tuple(found)), counted)
        if any(p.severity == "error" for p in problems):
            raise DataError(problems)
        writer, n = self.writer, self.n - self.invalid.n
        scale = weight_scale(writer.total_weight, writer.positive)
        refuse_one_person(first, len(writer.persons), n)
        changes = _by_file(data, lookups)
        if writer.persons:
            ids = np.array(list(writer.persons), dtype=object)
            changes["person"] = person_codes(ids).astype(np.int32)
        files = writer.finish(changes, bool((counted.available == n).all()))
        if writer.persons:
            files["person_ids"] = store_whole(self.folder, "person_ids", distinct_ids(ids))
        write_manifest(
            self.folder,
            replace(data, warnings=tuple(problems), weight_scale=scale),
            files,
            n=n,
            persons=len(writer.persons) if "person" in files else None,
            times_available=counted.available.tolist(),
            about=self.about,
        )


def _empty(draft: Draft, template: ChoiceData) -> Draft:
    """A draft without rows and without problems, with the variables of a template."""
    left = draft.take(np.empty(0, dtype=np.intp))
    data = replace(left.data, attributes=template.attributes, covariates=template.covariates)
    return replace(left, data=data)


def _recoded_as(data: ChoiceData, like: ChoiceData) -> ChoiceData:
    """Levels that are new to earlier data are no part of what these learned."""
    earlier: dict[str, Any] = {**like.attributes, **like.covariates}
    return with_variables(
        data, lambda v: replace(v, recoding=earlier[v.name].recoding) if v.name in earlier else v
    )


def _by_file(data: ChoiceData, lookups: Mapping[str, Codes]) -> dict[str, Codes]:
    """Name of a file -> new codes of its levels."""
    kinds = {"attribute": data.attributes, "covariate": data.covariates}
    files = {name: f"{kind} {i}" for kind, of in kinds.items() for i, name in enumerate(of)}
    return {files[name]: codes for name, codes in lookups.items()}


def _refuse_torn(ids: Column, column: str) -> None:
    """Raise where the rows of a situation are not consecutive: it was read as several."""
    ids.flush()
    last, ascending = None, True
    for piece in ids.read():
        steps = piece[1:] > piece[:-1]
        ascending = ascending and bool(steps.all()) and (last is None or bool(piece[0] > last))
        last = piece[-1]
    if ascending:
        return
    every = pd.Series(np.concatenate(list(ids.read())))
    twice = every[every.duplicated()]
    if len(twice):
        raise ArdchoiceError(
            f"The rows of situation {twice.iloc[0]} (column {column!r}) are not consecutive, as "
            f"they must be in a table that is read part by part ({len(twice)} such). Sort it "
            "by that column, or read it with stream=False."
        )


def _is_of_rows(problem: Problem) -> bool:
    return problem.severity == "error" and problem.code not in WHOLE_TABLE_ERRORS
