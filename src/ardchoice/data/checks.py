"""The checks at the door: every problem of a table found, counted and explained together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice.data.choices import Attribute, Covariate
from ardchoice.data.recode import CODE_LEVELS
from ardchoice.data.similar_names import near_misses
from ardchoice.data.tally import (
    LARGEST,
    MOST_CODES,
    NOBODY,
    SENTINELS,
    Numbers,
    Tally,
    count_numbers,
    some,
)
from ardchoice.errors import FIRST_ROWS, DataError, Problem, first_few

SENTINEL_GAP = 3.0
"""A sentinel lies at least this many times further out than the next value."""
SCALE_RATIO = 1e6
"""Attributes whose spreads differ by more than this invite rounding trouble and odd units."""

BEYOND = f" (as is all beyond {LARGEST:g})"

AVAILABILITY = ""
"""Stands for the name of an attribute where `Draft.columns` tells the columns of availability."""
LEAVE_OUT = "Mend these rows or leave them out (drop_invalid=True does so)."
LEARNING_ONLY = frozenset(
    {
        "codes-or-numbers",
        "constant-attribute",
        "constant-covariate",
        "empty-level",
        "near-miss",
        "never-available",
        "never-chosen",
        "one-always-chosen",
        "scales",
        "single-alternative",
    }
)
"""Problems for a model that is to learn from the data, not for one that is to predict them."""


@dataclass(frozen=True, eq=False)
class Draft:
    """Choices put together from a table but not checked yet.

    `unit` is what a position means to the user ("row" or "situation"), `situation` its own name in
    the table, `columns` where (attribute, alternative) came from, `found` what the reader saw.
    """

    alternatives: tuple[str, ...]
    available: npt.NDArray[np.bool_]
    choice: npt.NDArray[np.intp] | None
    attributes: Mapping[str, Attribute]
    covariates: Mapping[str, Covariate]
    person: npt.NDArray[np.intp] | None
    weight: npt.NDArray[np.float64] | None
    situation: npt.NDArray[Any]
    unit: str
    columns: Mapping[tuple[str, str], str]
    roles: Mapping[str, str]
    guessed: frozenset[str] = frozenset()
    """Covariates whose kind was guessed."""
    learning: bool = True
    """Whether a model is to learn from them, rather than repeat what it learned elsewhere."""
    found: tuple[Problem, ...] = field(default=())
    person_ids: npt.NDArray[Any] | None = None
    """As they stand in the table."""


@dataclass(frozen=True, eq=False)
class Place:
    """What the rows of a column stand for: positions among the N situations, and their names."""

    position: npt.NDArray[np.intp]
    names: npt.NDArray[Any]
    unit: str

    def error(self, code: str, mask: npt.NDArray[np.bool_], what: str, do: str) -> Problem:
        """What is wrong with the rows where the mask is true, counted by situation."""
        rows = np.unique(self.position[mask])
        text = f"{what}: {rows_text(rows, self.names, self.unit)}. {do}"
        return Problem("error", code, text, tuple(rows.tolist()))


def rows_text(rows: npt.NDArray[np.intp], situation: npt.NDArray[Any], unit: str) -> str:
    """``3 rows (12, 40, 77)``: how many and the first few, by their own names."""
    names = [str(s) for s in situation[rows[: FIRST_ROWS + 1]]]
    return f"{len(rows)} {unit}{'s' if len(rows) != 1 else ''} ({first_few(names)})"


def check(draft: Draft, counted: Tally | None = None) -> list[Problem]:
    """Every problem of the draft, errors first.

    Parameters
    ----------
    draft
    counted
        What was counted over drafts that come one after the other, of which this one has only what
        is common to all.
    """
    counted = count(draft) if counted is None else counted
    problems = [
        *draft.found,
        *_choice_problems(draft, counted),
        *_attribute_problems(draft, counted),
        *_covariate_problems(draft, counted),
        *_weight_problems(draft, counted),
        *_person_problems(draft),
        *_scale_problems(draft, counted),
        *_name_problems(draft, counted),
    ]
    if not draft.learning:
        problems = [p for p in problems if p.code not in LEARNING_ONLY]
    return sorted(problems, key=lambda p: p.severity != "error")


def count(draft: Draft) -> Tally:
    """What the warnings are told from, over all rows of a draft."""
    available, names = draft.available, draft.situation
    sizes = available.sum(axis=0)
    chosen = np.zeros(len(draft.alternatives), dtype=np.intp)
    if draft.choice is not None and len(draft.choice):
        known = draft.choice >= 0
        picked = np.where(known, draft.choice, 0)
        known &= available[picked, np.arange(len(picked))]
        chosen += np.bincount(picked[known], minlength=len(chosen))
    numbers: dict[tuple[str, int], Numbers] = {}
    levels: dict[str, npt.NDArray[np.intp]] = {}
    for attribute in draft.attributes.values():
        if attribute.levels is not None:
            codes = attribute.values[available[list(attribute.alternatives)]]
            levels[attribute.name] = np.bincount(codes[codes >= 0], minlength=len(attribute.levels))
            continue
        for values, j in zip(attribute.values, attribute.alternatives, strict=True):
            numbers[attribute.name, j] = count_numbers(values, available[j], names)
    for covariate in draft.covariates.values():
        values = covariate.values
        if covariate.levels is not None:
            n = len(covariate.levels)
            levels[covariate.name] = np.bincount(values[values >= 0], minlength=n)
        else:
            guessed = covariate.name in draft.guessed
            numbers[covariate.name, NOBODY] = count_numbers(values, None, names, distinct=guessed)
    return Tally(
        available=np.count_nonzero(available, axis=1),
        chosen=chosen,
        single=some(sizes == 1, names),
        numbers=numbers,
        levels=levels,
        weighted=draft.weight is None or bool(draft.weight.any()),
    )


def _problem(draft: Draft, code: str, mask: npt.NDArray[np.bool_], what: str, do: str) -> Problem:
    place = Place(np.arange(len(mask)), draft.situation, draft.unit)
    return place.error(code, mask, what, do)


def _warning(code: str, message: str) -> Problem:
    return Problem("warning", code, message)


def _these(draft: Draft, which: npt.NDArray[np.bool_]) -> str:
    """``alternative 'BUS'`` or ``3 alternatives ('BUS', 'TRAM', 'WALK')``."""
    names = [repr(draft.alternatives[j]) for j in np.flatnonzero(which)]
    if len(names) == 1:
        return f"alternative {names[0]}"
    return f"{len(names)} alternatives ({first_few(names)})"


def _choice_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    sizes = draft.available.sum(axis=0)
    if (sizes == 0).any():
        columns = [repr(c) for (what, _), c in draft.columns.items() if what == AVAILABILITY]
        what = f"No alternative is available (columns {first_few(columns)})"
        yield _problem(draft, "empty-choice-set", sizes == 0, what, LEAVE_OUT)
    if counted.single.n:
        yield _warning(
            "single-alternative",
            f"Only one alternative is available in {counted.single.text(draft.unit)}: they say "
            "nothing about preferences and are kept without effect.",
        )
    ever = counted.available > 0
    if not ever.all():
        yield _warning(
            "never-available",
            f"Never available: {_these(draft, ~ever)}. Leave out of the alternatives what cannot "
            "be chosen, or check the availability.",
        )
    if draft.choice is None:
        return
    known = draft.choice >= 0
    picked = np.where(known, draft.choice, 0)
    unavailable = known & ~draft.available[picked, np.arange(len(picked))]
    for j, name in enumerate(draft.alternatives):
        mask = unavailable & (picked == j)
        if mask.any():
            column = draft.columns.get((AVAILABILITY, name))
            source = f" (availability column {column!r})" if column else ""
            what = f"{name!r} is chosen but not available{source}"
            do = "Mend the choice or the availability, or leave these out (drop_invalid=True)."
            yield _problem(draft, "chosen-unavailable", mask, what, do)
    counts = counted.chosen
    never = ever & (counts == 0)
    if never.any():
        yield _warning(
            "never-chosen",
            f"Available but never chosen (column {draft.roles.get('choice', '')!r}): "
            f"{_these(draft, never)}. A constant of its own would run to minus infinity: leave the "
            "alternative or its constant out.",
        )
    if np.count_nonzero(counts) == 1 and len(draft.alternatives) > 1:
        name = draft.alternatives[int(counts.argmax())]
        yield Problem(
            "error",
            "one-always-chosen",
            f"Everybody chose {name!r}, so there is nothing to explain. Check the choice column "
            f"{draft.roles.get('choice', '')!r} and the alternatives' codes.",
        )


def _attribute_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    for attribute in draft.attributes.values():
        for row, j in enumerate(attribute.alternatives):
            values, available = attribute.values[row], draft.available[j]
            name = draft.alternatives[j]
            column = draft.columns.get((attribute.name, name), attribute.name)
            where = f"{attribute.name} of {name} (column {column!r})"
            if attribute.levels is not None:
                bad = available & (values < 0)
                if bad.any():
                    do = f"{LEAVE_OUT} Or make a level of them: Categorical(missing='unknown')."
                    what = f"{where} is missing although {name} is available"
                    yield _problem(draft, "missing-attribute", bad, what, do)
                continue
            bad = available & np.isnan(values)
            if bad.any():
                what = f"{where} is missing although {name} is available"
                do = (
                    f"{LEAVE_OUT} Missing is fine where the alternative is unavailable: say so "
                    "with availability=."
                )
                yield _problem(draft, "missing-attribute", bad, what, do)
            bad = available & (np.abs(values) > LARGEST)
            if bad.any():
                what = f"{where} is infinite{BEYOND}"
                yield _problem(draft, "infinite-attribute", bad, what, LEAVE_OUT)
            seen = counted.numbers[attribute.name, j]
            if seen.is_constant:
                yield _warning(
                    "constant-attribute",
                    f"{where} is {seen.low:g} in every row where it is available: for "
                    f"{name} alone it cannot be told from a constant. Leave it out there, or share "
                    "its coefficient with other alternatives.",
                )
            yield from _sentinel_problems(draft, where, seen)


def _sentinel_problems(draft: Draft, where: str, seen: Numbers) -> Iterator[Problem]:
    for sentinel in sentinels(seen):
        yield _warning(
            "sentinel",
            f"{where} has the value {sentinel} in {seen.codes[sentinel].text(draft.unit)}, "
            "far from all others: it looks like a code for 'missing', and is used as a number now. "
            f"If it is one, say missing_values = [{sentinel}], or make the alternative "
            "unavailable.",
        )


def sentinels(seen: Numbers) -> list[int]:
    """Values such as 99999 or -99 that occur and stand far from all others."""
    found = [code for code in SENTINELS if code in seen.codes]
    low, high = seen.others
    if not low <= high:
        return []
    far = SENTINEL_GAP * max(abs(high), abs(low), 1.0)
    # -1, 0, 1 is effects coding: a negative code is suspect only beside proper quantities.
    proper = low >= 0 and high > SENTINEL_GAP
    return [code for code in found if (code < 0 and proper) or abs(code) > far]


def _name_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    """Levels, and alternatives of a long table, that look like slips of the pen."""
    variables: list[Attribute | Covariate] = [
        *draft.attributes.values(),
        *draft.covariates.values(),
    ]
    for variable in variables:
        if variable.levels is None:
            continue
        for miss in near_misses(variable.levels, counted.levels[variable.name]):
            yield _warning(
                "near-miss",
                f"{variable.name} has level {miss.name!r} in {_times(miss.rows)}; did you mean "
                f"{miss.meant!r}? Mend the table, or say "
                f"merge={{{miss.meant!r}: [{miss.name!r}]}}.",
            )
    if draft.unit == "situation":
        for miss in near_misses(draft.alternatives, counted.available):
            yield _warning(
                "near-miss",
                f"Alternative {miss.name!r} has {_times(miss.rows)}; did you mean {miss.meant!r}? "
                "Mend the table.",
            )


def _times(rows: int) -> str:
    return f"{rows} row{'s' if rows != 1 else ''}"


def _covariate_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    for covariate in draft.covariates.values():
        column = draft.columns.get((covariate.name, ""), covariate.name)
        where = f"{covariate.name} (column {column!r})"
        values = covariate.values
        if covariate.levels is not None:
            if (values < 0).any():
                do = f"{LEAVE_OUT} Or make a level of them: Categorical(missing='unknown')."
                yield _problem(draft, "missing-covariate", values < 0, f"{where} is missing", do)
            counts = counted.levels[covariate.name]
            empty = [v for v, count in zip(covariate.levels, counts, strict=True) if not count]
            if np.count_nonzero(counts) == 1:
                yield _warning(
                    "constant-covariate",
                    f"{where} has one level only and can explain nothing. Leave it out.",
                )
            elif empty:
                yield _warning(
                    "empty-level",
                    f"{where} has no rows at level {first_few(map(repr, empty))}: a coefficient of "
                    "its own could not be estimated. Leave it out of the levels or merge it.",
                )
            continue
        bad = ~(np.abs(values) <= LARGEST)
        if bad.any():
            what = f"{where} is missing or infinite{BEYOND}"
            yield _problem(draft, "missing-covariate", bad, what, LEAVE_OUT)
        seen = counted.numbers[covariate.name, NOBODY]
        if seen.is_constant:
            yield _warning(
                "constant-covariate",
                f"{where} is {seen.low:g} everywhere and can explain nothing. Leave it out.",
            )
        yield from _sentinel_problems(draft, where, seen)
        distinct = seen.distinct
        if covariate.name in draft.guessed and CODE_LEVELS < len(distinct) <= MOST_CODES:
            yield _warning(
                "codes-or-numbers",
                f"{where} has {len(distinct)} distinct whole numbers and is taken as a number. If "
                "they are codes, say so: Categorical(), perhaps with pool_below=0.05; if it is a "
                "number, Numeric() says that you know.",
            )


def _weight_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    if draft.weight is None:
        return
    column = draft.roles.get("weight", "weight")
    bad = ~(np.abs(draft.weight) <= LARGEST)
    if bad.any():
        what = f"The weight (column {column!r}) is missing or infinite{BEYOND}"
        yield _problem(draft, "missing-weight", bad, what, LEAVE_OUT)
    negative = draft.weight < 0
    if negative.any():
        what = f"The weight (column {column!r}) is negative"
        yield _problem(draft, "negative-weight", negative, what, LEAVE_OUT)
    if not bad.any() and not negative.any() and not counted.weighted:
        yield Problem(
            "error",
            "zero-weights",
            f"Every weight (column {column!r}) is zero, so that nothing would count. Name another "
            "column, or read without weight.",
        )


def _person_problems(draft: Draft) -> Iterator[Problem]:
    if draft.person is not None and (draft.person < 0).any():
        column = draft.roles.get("person", "person")
        what = f"The person id (column {column!r}) is missing"
        do = f"{LEAVE_OUT} Or read without person, as if every situation had its own."
        yield _problem(draft, "missing-person", draft.person < 0, what, do)


def refuse_one_person(draft: Draft, persons: int, situations: int) -> None:
    """Errors by person need several; one who chose often was hardly meant."""
    if draft.learning and persons == 1 and situations > 1:
        column = draft.roles.get("person", "person")
        said = (
            f"All choices are by one person (column {column!r}), and standard errors by person "
            "need several. Name the column that tells persons apart, or read without person."
        )
        raise DataError([Problem("error", "one-person", said)])


def _scale_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    spreads: dict[str, float] = {}
    for attribute in draft.attributes.values():
        if attribute.levels is None:
            each = [counted.numbers[attribute.name, j] for j in attribute.alternatives]
            spread = reduce(add, (seen.spread for seen in each)).sd
            if spread > 0:
                spreads[attribute.name] = spread
    if len(spreads) < 2:
        return
    small, large = min(spreads, key=spreads.__getitem__), max(spreads, key=spreads.__getitem__)
    if spreads[large] / spreads[small] > SCALE_RATIO:
        yield _warning(
            "scales",
            f"{large} varies by about {spreads[large]:.1g} and {small} by {spreads[small]:.1g}. "
            "Estimation copes, but coefficients will be hard to read: change a unit.",
        )
