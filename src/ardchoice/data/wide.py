"""The rows of a wide table: one per choice situation, a column per alternative and attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ardchoice._types import AnyArray, Bools, Ints
from ardchoice.data.draft import SituationIndex
from ardchoice.data.layout import PlacedRows, RawVariable
from ardchoice.data.recode import factorise, yes_or_no
from ardchoice.data.roles import alternative_codes, attribute_role, column_of, must_have
from ardchoice.data.similar_names import other_spellings, spelling_note
from ardchoice.data.source import Pattern
from ardchoice.data.tables import Table, label
from ardchoice.errors import ArdchoiceError, Problem, did_you_mean, first_few


class WideRows(PlacedRows):
    """A row is a situation; the cells of an alternative are in columns of its own."""

    def place(self, numbers: Ints) -> None:
        """Place every row in a situation of its own."""
        self.codes = alternative_codes(self.options.alternatives or ())
        self.index = SituationIndex(np.arange(len(numbers)), numbers, "row")
        self.available = self._availability(self.options.availability)

    def attributes(self) -> Iterator[RawVariable]:
        """The attributes, each with the columns of the alternatives that have it."""
        for name, how in self.options.named_attributes().items():
            role, pattern = attribute_role(how, name), column_of(how, name)
            columns = _columns(self.table, name, pattern, self.names)
            if isinstance(pattern, str) and len(columns) < len(self.names):
                self.found.append(
                    _absent(name, pattern, [a for a in self.names if a not in columns])
                )
            series, index = [], []
            for alternative, column in columns.items():
                # Only available cells count: anything may be in the others.
                here = self.available[self.names.index(alternative)]
                one = self.table.column(column)
                if here.all():
                    series.append(one)
                    index.append(self.index)
                    continue
                series.append(replace(one, values=one.values[here]))
                index.append(replace(self.index, position=self.index.position[here]))
            labels = tuple(f"{name} of {alternative}" for alternative in columns)
            yield RawVariable(
                "attribute", name, role, tuple(series), labels, tuple(index), columns, (*columns,)
            )

    def grid(self, positions: tuple[int, ...], values: AnyArray, fill: float) -> AnyArray:
        """Values of an attribute as (A, N), `fill` where the alternative is unavailable."""
        used = self.available[list(positions)]
        if used.all():
            return np.asarray(values).reshape(used.shape)
        out = np.full(used.shape, fill, dtype=values.dtype)
        out[used] = values
        return out

    def choice(self) -> Ints | None:
        """Positions of the chosen alternatives, from their codes."""
        column = self.options.choice
        if column is None:
            return None
        raw, labels = factorise(must_have(self.table, column, "choice"))
        position = {code: j for j, code in enumerate(self.codes.values())}
        other = other_spellings(labels, list(position))
        place = [position.get(other.get(text, text), -1) for text in labels]
        choice = np.array([*place, -1], dtype=np.intp)[raw]
        if other:
            self.found.append(spelling_note(column, other))
        unknown = first_few((repr(t) for t, j in zip(labels, place, strict=True) if j < 0), 8)
        meaning = first_few((f"{code} = {name}" for name, code in self.codes.items()), 8)
        fix = (
            f"The codes are: {meaning}. Add a missing code to alternatives=, fix these rows or "
            "drop them (drop_invalid=True)."
        )
        where = f"The choice (column {column!r})"
        stray = f"{where} is {unknown}, the code of no alternative"
        self.found += self.index.errors("missing-choice", raw < 0, f"{where} is missing", fix)
        self.found += self.index.errors("unknown-choice", (choice < 0) & (raw >= 0), stray, fix)
        return choice

    def _availability(self, availability: Pattern | None) -> Bools:
        available = np.ones((len(self.names), len(self.table)), dtype=bool)
        if availability is None:
            return available
        columns = _columns(self.table, "availability", availability, self.names)
        for alternative, column in columns.items():
            self.availability[alternative] = column
            flags = yes_or_no(self.table.column(column))
            what = f"The availability of {alternative} (column {column!r}) is neither 0 nor 1"
            self.found += self.index.errors("bad-availability", flags < 0, what)
            # What cannot be read counts as available, so that it is not reported a second time.
            available[self.names.index(alternative)] = flags != 0
        absent = [a for a in self.names if a not in columns]
        if absent and not isinstance(availability, Mapping):
            self.found.append(
                Problem(
                    "warning",
                    "absent-availability",
                    f"No availability column {str(availability)!r} for {first_few(absent)}: taken "
                    "as always available. A dict alternative -> column avoids this warning.",
                )
            )
        return available


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
            if column not in source:
                must_have(source, column, f"{name} of {alternative}")  # says what is wrong
        if not named:
            raise ArdchoiceError(f"{name}: the dict alternative -> column is empty.")
        return {a: named[a] for a in alternatives if a in named}
    pattern = str(where)
    if "{alt}" not in pattern:
        raise ArdchoiceError(
            f"{name}: {pattern!r} has no '{{alt}}' in it. Write a pattern such as "
            f"'{{alt}}_{name}', or a dict alternative -> column; a variable that is the same for "
            "all alternatives is a covariate."
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
        "A dict alternative -> column avoids this warning.",
    )
