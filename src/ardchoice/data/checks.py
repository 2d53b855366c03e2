"""The checks at the door: every problem of a table found, counted and explained together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice.data.choices import Attribute, Covariate
from ardchoice.data.recode import CODE_LEVELS
from ardchoice.errors import FIRST_ROWS, Problem, first_few

SENTINELS = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)
SENTINEL_GAP = 3.0
"""A sentinel lies at least this many times further out than the next value."""
MOST_CODES = 60
"""Beyond this many distinct whole numbers a covariate is surely not a code."""
SCALE_RATIO = 1e6
"""Attributes whose spreads differ by more than this invite rounding trouble and odd units."""

LARGEST = 1e100
"""Larger numbers are as good as infinite: sums of their squares would be."""
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


def check(draft: Draft) -> list[Problem]:
    """Every problem of the draft, errors first."""
    problems = [
        *draft.found,
        *_choice_problems(draft),
        *_attribute_problems(draft),
        *_covariate_problems(draft),
        *_weight_problems(draft),
        *_person_problems(draft),
        *_scale_problems(draft),
    ]
    if not draft.learning:
        problems = [p for p in problems if p.code not in LEARNING_ONLY]
    return sorted(problems, key=lambda p: p.severity != "error")


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


def _choice_problems(draft: Draft) -> Iterator[Problem]:
    sizes = draft.available.sum(axis=0)
    if (sizes == 0).any():
        columns = [repr(c) for (what, _), c in draft.columns.items() if what == AVAILABILITY]
        what = f"No alternative is available (columns {first_few(columns)})"
        yield _problem(draft, "empty-choice-set", sizes == 0, what, LEAVE_OUT)
    single = np.flatnonzero(sizes == 1)
    if len(single):
        yield _warning(
            "single-alternative",
            f"Only one alternative is available in {rows_text(single, draft.situation, draft.unit)}"
            ": they say nothing about preferences and are kept without effect.",
        )
    ever = np.asarray(draft.available.any(axis=1))
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
    counts = np.bincount(picked[known & ~unavailable], minlength=len(draft.alternatives))
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


def _attribute_problems(draft: Draft) -> Iterator[Problem]:
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
            usable = available & (np.abs(values) <= LARGEST)
            if _is_constant(values[usable]):
                yield _warning(
                    "constant-attribute",
                    f"{where} is {values[usable][0]:g} in every row where it is available: for "
                    f"{name} alone it cannot be told from a constant. Leave it out there, or share "
                    "its coefficient with other alternatives.",
                )
            yield from _sentinel_problems(draft, where, values, usable)


def _is_constant(values: npt.NDArray[np.float64]) -> bool:
    return len(values) > 1 and bool(values.min() == values.max())


def _sentinel_problems(
    draft: Draft, where: str, values: npt.NDArray[Any], usable: npt.NDArray[np.bool_]
) -> Iterator[Problem]:
    for sentinel in sentinels(values[usable]):
        rows = np.flatnonzero(usable & (values == sentinel))
        yield _warning(
            "sentinel",
            f"{where} has the value {sentinel} in {rows_text(rows, draft.situation, draft.unit)}, "
            "far from all others: it looks like a code for 'missing'. If so, make it missing (or "
            "the alternative unavailable); it is used as a number now.",
        )


def sentinels(values: npt.NDArray[np.float64]) -> list[int]:
    """Values such as 99999 or -99 that occur and stand far from all others."""
    found = [code for code in SENTINELS if (values == code).any()]
    others = values[~np.isin(values, found)] if found else values
    if not len(others):
        return []
    low, high = others.min(), others.max()
    far = SENTINEL_GAP * max(abs(high), abs(low), 1.0)
    # -1, 0, 1 is effects coding: a negative code is suspect only beside proper quantities.
    proper = low >= 0 and high > SENTINEL_GAP
    return [code for code in found if (code < 0 and proper) or abs(code) > far]


def _covariate_problems(draft: Draft) -> Iterator[Problem]:
    for covariate in draft.covariates.values():
        column = draft.columns.get((covariate.name, ""), covariate.name)
        where = f"{covariate.name} (column {column!r})"
        values = covariate.values
        if covariate.levels is not None:
            if (values < 0).any():
                do = f"{LEAVE_OUT} Or make a level of them: Categorical(missing='unknown')."
                yield _problem(draft, "missing-covariate", values < 0, f"{where} is missing", do)
            counts = np.bincount(values[values >= 0], minlength=len(covariate.levels))
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
        if _is_constant(values[~bad]):
            yield _warning(
                "constant-covariate",
                f"{where} is {values[~bad][0]:g} everywhere and can explain nothing. Leave it out.",
            )
        yield from _sentinel_problems(draft, where, values, ~bad)
        distinct = np.unique(values[~bad])
        whole = bool(np.all(distinct % 1 == 0))
        if covariate.name in draft.guessed and whole and CODE_LEVELS < len(distinct) <= MOST_CODES:
            yield _warning(
                "codes-or-numbers",
                f"{where} has {len(distinct)} distinct whole numbers and is taken as a number. If "
                "they are codes, say so: Categorical(), perhaps with pool_below=0.05; if it is a "
                "number, Numeric() says that you know.",
            )


def _weight_problems(draft: Draft) -> Iterator[Problem]:
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
    if not bad.any() and not negative.any() and not draft.weight.any():
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


def _scale_problems(draft: Draft) -> Iterator[Problem]:
    spreads: dict[str, float] = {}
    for attribute in draft.attributes.values():
        if attribute.levels is None:
            values = attribute.values[draft.available[list(attribute.alternatives)]]
            values = values[np.abs(values) <= LARGEST]
            if len(values) and values.std() > 0:
                spreads[attribute.name] = float(values.std())
    if len(spreads) < 2:
        return
    small, large = min(spreads, key=spreads.__getitem__), max(spreads, key=spreads.__getitem__)
    if spreads[large] / spreads[small] > SCALE_RATIO:
        yield _warning(
            "scales",
            f"{large} varies by about {spreads[large]:.1g} and {small} by {spreads[small]:.1g}. "
            "Estimation copes, but coefficients will be hard to read: change a unit.",
        )
