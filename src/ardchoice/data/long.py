"""The rows of a long table: one per choice situation and alternative available in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ardchoice._types import AnyArray, Ints
from ardchoice.data.choices import ChoiceData
from ardchoice.data.draft import SituationIndex, rows_text
from ardchoice.data.layout import PlacedRows, RawVariable
from ardchoice.data.recode import factorise, yes_or_no
from ardchoice.data.roles import alternative_codes, attribute_role, column_of, must_have
from ardchoice.data.similar_names import one_spelling, other_spellings, spelling_note
from ardchoice.data.source import ReadingOptions
from ardchoice.data.tables import LARGEST_EXACT_INTEGER, Series, Table, label
from ardchoice.errors import ArdchoiceError, DataError, Problem, first_few


class LongRows(PlacedRows):
    """A row is an alternative available in a situation; DataError where some have no place."""

    def place(self, numbers: Ints) -> None:
        """Place the rows by their ids."""
        options, table, known = self.options, self.table, self.known
        ids = situation_ids(table, options.situation or "")
        which = must_have(table, str(options.alternative), "alternative")
        _refuse_missing_ids({"situation id": ids, "alternative": which}, numbers)
        codes, values = pd.factorize(ids.values)
        raw, labels = factorise(which)
        self.unlisted = which if options.alternatives is None and known is None else None
        self.codes = _codes(options, known, one_spelling(labels, _counts(raw, len(labels))))
        other = other_spellings(labels, list(self.codes.values()))
        if other:
            self.found.append(spelling_note(which.name, other))
            labels = [other.get(text, text) for text in labels]
        self.situation = np.asarray(codes, dtype=np.intp)
        self.alternative = _positions(self.codes, labels, which.name, raw, numbers)
        self.first = np.unique(codes, return_index=True)[1]
        n = np.arange(len(values))
        self.index = SituationIndex(n, _whole(np.asarray(values)), "situation")
        self.row_index = replace(self.index, position=self.situation)
        self.shape = len(self.names), len(values)
        self.available = np.zeros(self.shape, dtype=bool)
        self.available[self.alternative, self.situation] = True
        if self.checking:
            self._find_duplicates(ids.name)

    def attributes(self) -> Iterator[RawVariable]:
        """The attributes, one column each."""
        for name, how in self.options.named_attributes().items():
            role = attribute_role(how, name)
            series = must_have(self.table, str(column_of(how, name)), f"attribute {name}")
            columns = dict.fromkeys(self.names, series.name)
            yield RawVariable(
                "attribute",
                name,
                role,
                (series,),
                (name,),
                (self.row_index,),
                columns,
                self._present(name, series),
            )

    def _present(self, name: str, series: Series) -> tuple[str, ...]:
        """Alternatives with a value of an attribute, or those that are known to have it."""
        earlier = None if self.known is None else self.known.attributes.get(name)
        if self.known is not None and earlier is not None:
            present = {self.known.alternatives[j] for j in earlier.alternatives}
            return tuple(a for a in self.names if a in present)
        there = np.unique(self.alternative[~series.missing()])
        return tuple(self.names[j] for j in there)

    def per_situation(self, series: Series, what: str) -> Series:
        """One value per situation; a problem where the rows of a situation differ."""
        one = series.values[self.first]
        if self.checking:
            back = one[self.situation]
            differ = (series.values != back) & ~(series.missing() & np.asarray(pd.isna(back)))
            what = f"{what} (column {series.name!r}) differs between the rows of one situation"
            fix = "If it describes the alternative, name it among the attributes; else fix it."
            self.found += self.row_index.errors("varying-covariate", differ, what, fix)
        return replace(series, values=one)

    def grid(self, positions: tuple[int, ...], values: AnyArray, fill: float) -> AnyArray:
        """Values of an attribute as (A, N), `fill` where the alternative is unavailable."""
        out = np.full(self.shape, fill, dtype=values.dtype)
        out[self.alternative, self.situation] = values
        return out[list(positions)]

    def choice(self) -> Ints | None:
        """Positions of the chosen alternatives, from the marks in their rows."""
        column, n = self.options.choice, self.shape[1]
        if column is None:
            return None
        series = must_have(self.table, column, "chosen")
        flags = yes_or_no(series)
        picked = flags == 1
        choice = np.full(n, -1, dtype=np.intp)
        choice[self.situation[picked]] = self.alternative[picked]
        count = np.bincount(self.situation[picked], minlength=n)
        unclear = np.bincount(self.situation[flags < 0], minlength=n) > 0
        values = first_few(
            "nothing" if pd.isna(v) else repr(label(v)) for v in pd.unique(series.values[flags < 0])
        )
        bad = f"The mark of the chosen row is {values}, neither 1/0 nor yes/no"
        cases = {
            "bad-chosen": (unclear, bad),
            "nobody-chose": ((count == 0) & ~unclear, "No alternative is marked as chosen"),
            "two-chosen": (count > 1, "More than one alternative is marked as chosen"),
        }
        for code, (mask, what) in cases.items():
            self.found += self.index.errors(code, mask, f"{what} (column {column!r})")
        return choice

    def _find_duplicates(self, column: str) -> None:
        cell = self.alternative * self.shape[1] + self.situation
        twice = np.flatnonzero(pd.Series(cell).duplicated().to_numpy())
        if not len(twice):
            return
        rows, ids = np.unique(self.situation[twice]), self.index.ids
        first, name = ids[self.situation[twice[0]]], self.names[self.alternative[twice[0]]]
        self.found.append(
            Problem(
                "error",
                "duplicate-rows",
                f"An alternative has more than one row in {rows_text(rows, ids, 'situation')}; "
                f"situation {first} has {name!r} twice, for instance. Remove the duplicates, or "
                f"check that column {column!r} identifies choice situations rather than persons. "
                "Where only several columns together do, name them all: situation = "
                "['person', 'task'].",
                tuple(rows.tolist()),
            )
        )


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
            "' / '. Take the slash out of them, or identify the situations by one column."
        )
    return Series(" / ".join(situation), ids)


def _refuse_missing_ids(columns: Mapping[str, Series], numbers: Ints) -> None:
    """Rows without a situation or an alternative belong nowhere."""
    problems = [
        Problem(
            "error",
            "missing-id",
            f"The {role} (column {series.name!r}) is missing in "
            f"{rows_text(rows, numbers, 'row')}. Fix or remove these rows.",
        )
        for role, series in columns.items()
        if len(rows := np.flatnonzero(series.missing()))
    ]
    if problems:
        raise DataError(problems)


def _counts(raw: Ints, n: int) -> Ints:
    """Rows that have each of n values; shape (n,)."""
    return np.bincount(raw[raw >= 0], minlength=n)


def _codes(options: ReadingOptions, known: ChoiceData | None, labels: list[str]) -> dict[str, str]:
    """Alternative -> label of its code: listed, as in earlier data, or as in the table."""
    if options.alternatives is not None:
        return alternative_codes(options.alternatives)
    return {name: name for name in (labels if known is None else known.alternatives)}


def _positions(
    codes: Mapping[str, str], labels: list[str], column: str, raw: Ints, numbers: Ints
) -> Ints:
    """The position of the alternative of every row."""
    position = {code: j for j, code in enumerate(codes.values())}
    out = np.array([position.get(text, -1) for text in labels], dtype=np.intp)[raw]
    rows = np.flatnonzero(out < 0)
    if len(rows):
        unknown = first_few(repr(text) for text in labels if text not in position)
        message = (
            f"Column {column!r} has alternatives that were not listed: {unknown} in "
            f"{rows_text(rows, numbers, 'row')}. The listed ones are: {first_few(position, 20)}. "
            "List them too, or remove their rows."
        )
        raise DataError([Problem("error", "unknown-alternative", message)])
    return out


def _whole(ids: AnyArray) -> AnyArray:
    """Ids as they are in the table: whole numbers that were read as floats are integers again."""
    if ids.dtype.kind != "f" or not len(ids) or not np.abs(ids).max() < LARGEST_EXACT_INTEGER:
        return ids
    if (ids % 1 == 0).all():
        return ids.astype(np.int64)
    return ids
