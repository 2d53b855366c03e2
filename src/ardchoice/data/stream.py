"""Reading a table part by part into compact columns: larger than memory, the same checks.

The parts are gone through twice. First to learn what all rows decide: which columns are numbers,
which levels there are. Then to put choices together, check them as in memory, and write them down.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.assemble import Variable, must_have, used_levels, without_rows
from ardchoice.data.batches import Files, find_files, streams
from ardchoice.data.cache import cache_folder, kept
from ardchoice.data.checks import Draft, check, count, refuse_one_person
from ardchoice.data.choices import Attribute, ChoiceData, Covariate
from ardchoice.data.compact import Column, Stored, store_columns, with_source, write_manifest
from ardchoice.data.learning import Asked, Start, ToLearn, learn, numbered, whole_situations
from ardchoice.data.tables import Series, Table
from ardchoice.data.tally import Rows, Tally, some
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning, DataError, Problem

__all__ = ["Asked", "Start", "ToLearn", "announce", "numbered", "read_streamed", "streams"]

HEAD = 1000
"""Rows from which it is seen what a table has."""
MOST_BAD = 1_000_000
"""Rows with errors that are remembered; with more, reading stops."""
MANY = 16
"""Tallies that are added up together."""
EVERYWHERE = frozenset({"one-always-chosen", "zero-weights"})
"""Errors that only all rows together can have."""


def read_streamed(table: object, asked: Asked, like: ChoiceData | None) -> ChoiceData:
    """Choices in compact columns, kept from last time or made now."""
    files = find_files(str(table))
    head = files.table(next(files.batches(), (0, pd.DataFrame()))[1].head(HEAD))
    if not len(head):
        raise ArdchoiceError(f"{files.name} has no rows.")
    # What was asked and cannot be is found out before anything else.
    columns = _columns_wanted(asked, head)
    folder = cache_folder(files, f"{asked!r}\n{_recodings(like)}")

    def make(new: Path, state: list[dict[str, Any]]) -> None:
        _compact(new, files, asked, like, columns, {"files": state, "path": str(files.path)})

    data = kept(folder, files, make)
    return with_source(data, asked.draft(head, data, learning=False)[1])


def announce(data: ChoiceData) -> ChoiceData:
    """Say what the checks found, pointing at the caller of read_wide or read_long."""
    for problem in data.warnings:
        warnings.warn(problem.message, ArdchoiceWarning, stacklevel=3)
    return data


def _recodings(like: ChoiceData | None) -> str:
    if like is None:
        return ""
    known: list[Attribute | Covariate] = [*like.attributes.values(), *like.covariates.values()]
    return repr([(v.name, v.levels, v.recoding) for v in known]) + repr(like.alternatives)


@dataclass(frozen=True)
class _Recording(Table):
    """A table that remembers which columns were asked for."""

    used: dict[str, None] = field(default_factory=dict)

    def column(self, name: str) -> Series:
        """The column of that name."""
        self.used[name] = None
        return super().column(name)


def _columns_wanted(asked: Asked, head: Table) -> list[str]:
    """The columns that reading needs, or an error where one is missing."""
    table = _Recording(head.frame, head.name, head.path, head.text)
    for _ in asked.to_learn(table):
        pass
    for role, column in asked.columns().items():
        must_have(table, column, role)
    return list(table.used)


# -- Writing down ----------------------------------------------------------------------------------


class _Writer:
    """Columns on their way to a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.columns: dict[str, list[Column]] = {}
        self.persons: dict[object, int] = {}

    def add(self, draft: Draft) -> None:
        """Rows without errors."""
        self._put("available", draft.available, np.dtype(bool))
        if draft.choice is not None:
            self._put("choice", draft.choice[None])
        if draft.person_ids is not None:
            self._put("person", self._person_codes(draft.person_ids)[None])
        if draft.weight is not None:
            self._put("weight", draft.weight[None], np.dtype(float))
        self._put("situation", draft.situation[None])
        for i, attribute in enumerate(draft.attributes.values()):
            # Anything may stand where the alternative is unavailable: what takes least room.
            may = draft.available[list(attribute.alternatives)]
            self._put(f"attribute {i}", np.where(may, attribute.values, 0))
        for i, covariate in enumerate(draft.covariates.values()):
            self._put(f"covariate {i}", covariate.values[None])

    def _put(self, name: str, rows: npt.NDArray[Any], kind: np.dtype[Any] | None = None) -> None:
        if name not in self.columns:
            at = len(self.columns)
            self.columns[name] = [Column(self.folder, f"{at}-{i}") for i in range(len(rows))]
        for column, values in zip(self.columns[name], rows, strict=True):
            column.append(values, kind)

    def _person_codes(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """Persons numbered in the order of their first row."""
        codes, distinct = pd.factorize(ids)
        numbers = self.persons
        known = [numbers.setdefault(one, len(numbers)) for one in np.asarray(distinct).tolist()]
        return np.asarray(np.array(known, dtype=np.intp)[codes])

    def close(self) -> None:
        """Give the files back, also where something went wrong."""
        for columns in self.columns.values():
            for column in columns:
                column.close()

    def finish(
        self, changes: Mapping[str, npt.NDArray[np.int32]], always: bool
    ) -> dict[str, Stored]:
        """Each column whole; `changes` renumber the levels of some."""
        out = {}
        for i, (name, columns) in enumerate(self.columns.items()):
            if name == "available" and always:
                for column in columns:
                    column.close()
                    column.path.unlink()
                continue
            change = changes[name].__getitem__ if name in changes else None
            two = name == "available" or name.startswith("attribute")
            out[name] = store_columns(self.folder, str(i), columns, flat=not two, change=change)
        return out


@dataclass
class _Bad:
    """Rows with errors."""

    frames: list[pd.DataFrame] = field(default_factory=list)
    numbers: list[npt.NDArray[np.intp]] = field(default_factory=list)
    positions: list[npt.NDArray[np.intp]] = field(default_factory=list)
    rows: Rows = field(default_factory=Rows)
    codes: set[str] = field(default_factory=set)
    torn: bool = False
    """Whether some parts could not even be put together."""

    def unreadable(self, frame: pd.DataFrame, start: int) -> None:
        """All rows of a part."""
        self.frames.append(frame)
        self.numbers.append(start + np.arange(len(frame)))
        self.rows = self.rows + Rows(len(frame))
        self.torn = True


def _compact(
    folder: Path,
    files: Files,
    asked: Asked,
    like: ChoiceData | None,
    columns: list[str],
    about: Mapping[str, object],
) -> None:
    """Fill an empty folder with the columns of a table that has no errors, or leave these out."""
    template, files = learn(files, asked, like, columns)
    writer, bad = _Writer(folder), _Bad()
    tallies: list[Tally] = []
    whole: list[Tally] = []
    first: Draft | None = None
    n = 0
    try:
        for start, frame in whole_situations(files, asked, columns):
            try:
                draft, _ = asked.draft(
                    files.table(frame), template, learning=like is None, start=start
                )
            except DataError:
                # Nothing can be put together; whether other parts have the same is seen yet.
                bad.unreadable(frame, start)
                continue
            first = first or draft
            counted = count(draft)
            whole.append(counted)
            size = draft.available.shape[1]
            errors = [e for e in check(draft, counted) if _is_of_rows(e)]
            _refuse_others(errors)
            if errors:
                draft = _set_aside(bad, asked, frame, draft, errors, start, n)
                counted = count(draft)
            n += size
            if draft.available.shape[1]:
                writer.add(draft)
                tallies.append(counted)
            if len(whole) > MANY:
                whole, tallies = [reduce(add, whole)], [reduce(add, tallies)] if tallies else []
            if bad.rows.n > MOST_BAD and not asked.drop_invalid:
                break
        if bad.torn or (bad.rows.n and not (asked.drop_invalid and tallies)):
            errors = _all_errors(bad, files, asked, template, like is None)
            if first is not None:
                alone = without_rows(first, np.empty(0, dtype=np.intp))
                together = check(alone, reduce(add, whole))
                errors += [p for p in together if p.code in EVERYWHERE]
            raise DataError(errors)
        assert first is not None  # noqa: S101 - there are rows
        if asked.situation is not None:
            _refuse_torn(writer.columns["situation"][0], asked.situation)
        _finish(folder, writer, template, like, first, bad, reduce(add, tallies), about)
    finally:
        writer.close()


def _refuse_torn(ids: Column, column: str) -> None:
    """Situations whose rows do not follow each other were taken for several."""
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
            f"The rows of situation {twice.iloc[0]} (column {column!r}) do not follow each other, "
            f"as they must in a table that is read part by part ({len(twice)} such). Sort the "
            "table by that column, or read it with stream=False."
        )


def _is_of_rows(problem: Problem) -> bool:
    return problem.severity == "error" and problem.code not in EVERYWHERE


def _refuse_others(errors: list[Problem]) -> None:
    """What concerns no row in particular cannot be left out."""
    others = [e for e in errors if not e.rows]
    if others:
        raise DataError(others)


def _set_aside(
    bad: _Bad,
    asked: Asked,
    frame: pd.DataFrame,
    draft: Draft,
    errors: list[Problem],
    start: int,
    before: int,
) -> Draft:
    """Remember the rows with errors; what is left of the draft."""
    mask = np.zeros(draft.available.shape[1], dtype=bool)
    mask[np.concatenate([np.array(e.rows, dtype=np.intp) for e in errors])] = True
    bad.rows = bad.rows + some(mask, draft.situation)
    bad.codes |= {e.code for e in errors}
    bad.positions.append(before + np.flatnonzero(mask))
    if bad.rows.n <= MOST_BAD:
        at = mask
        if asked.situation is not None:
            at = mask[pd.factorize(frame[asked.situation])[0]]
        bad.frames.append(frame[at])
        bad.numbers.append(start + np.flatnonzero(at))
    return without_rows(draft, np.flatnonzero(~mask))


def _all_errors(
    bad: _Bad, files: Files, asked: Asked, template: ChoiceData, learning: bool
) -> list[Problem]:
    """The errors of all parts, told as if they were one."""
    table = files.table(pd.concat(bad.frames, ignore_index=True))
    numbers = np.concatenate(bad.numbers)
    try:
        draft, _ = asked.draft(table, template, learning=learning, start=numbers)
    except DataError as error:
        return list(error.problems)
    positions = np.concatenate(bad.positions)
    return [
        replace(e, rows=tuple(positions[list(e.rows)].tolist()))
        for e in check(draft)
        if _is_of_rows(e)
    ]


def _finish(
    folder: Path,
    writer: _Writer,
    template: ChoiceData,
    like: ChoiceData | None,
    first: Draft,
    bad: _Bad,
    counted: Tally,
    about: Mapping[str, object],
) -> None:
    """Look at all together, and write the folder."""
    found = [p for p in first.found if p.severity == "warning"]
    changes: dict[str, npt.NDArray[np.int32]] = {}
    attributes = {n: template.attributes[n] for n in first.attributes}
    covariates = {n: template.covariates[n] for n in first.covariates}
    if bad.rows.n:
        left_out = f"left out, as drop_invalid=True asks: {', '.join(sorted(bad.codes))}."
        rows = tuple(np.concatenate(bad.positions).tolist())
        note = f"{bad.rows.text(first.unit)} {left_out}"
        found.insert(0, Problem("warning", "dropped", note, rows))
        if like is None:
            attributes, covariates, counted, changes = _used_levels(attributes, covariates, counted)
    if like is not None:
        # What is new to them is no part of what earlier data learned.
        attributes = {n: _as_learned(a, like.attributes.get(n)) for n, a in attributes.items()}
        covariates = {n: _as_learned(c, like.covariates.get(n)) for n, c in covariates.items()}
    nothing = np.empty(0, dtype=np.intp)
    empty = replace(
        without_rows(first, nothing),
        attributes=attributes,
        covariates=covariates,
        found=tuple(found),
    )
    problems = check(empty, counted)
    if any(p.severity == "error" for p in problems):
        raise DataError(problems)
    n = sum(k for _, k in writer.columns["situation"][0].pieces)
    refuse_one_person(first, len(writer.persons), n)
    files = writer.finish(changes, bool((counted.available == n).all()))
    data = replace(template, attributes=attributes, covariates=covariates, warnings=tuple(problems))
    write_manifest(
        folder,
        data,
        files,
        n=n,
        persons=len(writer.persons) if "person" in files else None,
        times_available=counted.available.tolist(),
        about=about,
    )


def _used_levels(
    attributes: dict[str, Attribute], covariates: dict[str, Covariate], counted: Tally
) -> tuple[dict[str, Attribute], dict[str, Covariate], Tally, dict[str, npt.NDArray[np.int32]]]:
    """Forget the levels that only rows left out had."""
    changes: dict[str, npt.NDArray[np.int32]] = {}
    levels = dict(counted.levels)

    def less(variables: dict[str, Variable], kind: str) -> dict[str, Variable]:
        out = {}
        for i, (name, variable) in enumerate(variables.items()):
            out[name] = variable
            if variable.levels is not None:
                out[name], lookup = used_levels(variable, np.flatnonzero(levels[name]))
                if out[name] is not variable:
                    changes[f"{kind} {i}"] = lookup
                    levels[name] = levels[name][levels[name] > 0]
        return out

    attributes, covariates = less(attributes, "attribute"), less(covariates, "covariate")
    return attributes, covariates, replace(counted, levels=levels), changes


def _as_learned(variable: Any, earlier: Any) -> Any:
    return variable if earlier is None else replace(variable, recoding=earlier.recoding)
