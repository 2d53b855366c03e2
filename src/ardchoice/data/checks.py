"""Checks of assembled choices: every problem of a table found, counted and explained together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add

import numpy as np

from ardchoice._types import AnyArray, Bools, Floats
from ardchoice.data.choices import Attribute, Covariate
from ardchoice.data.draft import FIX_OR_DROP, Draft
from ardchoice.data.recode import CODE_LEVELS
from ardchoice.data.similar_names import near_misses
from ardchoice.data.tally import (
    LARGEST_FINITE,
    MOST_CODE_VALUES,
    SENTINEL_VALUES,
    NumberSummary,
    Tally,
    VariableColumn,
    count,
    variable_columns,
)
from ardchoice.data.weights import MOST_COUNTED_ROWS
from ardchoice.errors import DataError, Problem, first_few

SENTINEL_RATIO = 3.0
"""A sentinel value is at least this many times larger than the next value."""
LARGEST_SD_RATIO = 1e6
"""Attributes whose standard deviations differ by more than this factor invite rounding errors."""
LEAST_RECODED_ROWS = 30
"""Rows from which a covariate that goes with the choice one to one does so by no chance."""
SEVERITIES = ("error", "warning", "note")
MISSING_OR_INFINITE = f"is missing or infinite (as is all beyond {LARGEST_FINITE:g})"
MISSING_LEVEL = f"{FIX_OR_DROP} Or make missing values a level: Categorical(missing='unknown')."
MISSING_WHERE_UNAVAILABLE = (
    f"{FIX_OR_DROP} Missing values are allowed where the alternative is unavailable: pass "
    "availability=."
)
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
"""Problems of data that a model is estimated from, not of data that are predicted."""


def check(draft: Draft, counted: Tally | None = None) -> list[Problem]:
    """Every problem of the draft, errors first.

    Parameters
    ----------
    draft
    counted
        Counts over all parts of a table, of which the draft has only what is common to all.
    """
    counted = count(draft) if counted is None else counted
    problems = [
        *draft.found,
        *_choice_problems(draft, counted),
        *_variable_problems(draft, counted),
        *_weight_problems(draft, counted),
        *_person_problems(draft),
        *_copies_of_the_choice(draft),
        *_attributes_of_the_chosen(draft),
        *_scale_problems(draft, counted),
        *_name_problems(draft, counted),
    ]
    if not draft.learning:
        problems = [p for p in problems if p.code not in LEARNING_ONLY]
    return sorted(problems, key=lambda p: SEVERITIES.index(p.severity))


def _warning(code: str, message: str) -> Problem:
    return Problem("warning", code, message)


def _is_infinite(values: AnyArray) -> Bools:
    """Infinite, or beyond what can be squared; false where missing."""
    return np.asarray(np.abs(values) > LARGEST_FINITE)


def _these(draft: Draft, which: Bools) -> str:
    """``alternative 'BUS'`` or ``3 alternatives ('BUS', 'TRAM', 'WALK')``."""
    names = [repr(draft.data.alternatives[j]) for j in np.flatnonzero(which)]
    if len(names) == 1:
        return f"alternative {names[0]}"
    return f"{len(names)} alternatives ({first_few(names)})"


def _choice_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    data, column = draft.data, draft.source.choice
    columns = map(repr, draft.source.availability.values())
    empty = f"No alternative is available (columns {first_few(columns)})"
    yield from draft.errors("empty-choice-set", np.asarray(~data.available.any(axis=0)), empty)
    if counted.single.n:
        rows = counted.single.text(draft.source.situation_unit)
        yield _warning(
            "single-alternative",
            f"Only one alternative is available in {rows}: such choices carry no information about "
            "preferences and are kept without effect.",
        )
    ever = counted.available > 0
    if not ever.all():
        yield _warning(
            "never-available",
            f"Never available: {_these(draft, ~ever)}. Remove from the alternatives what cannot "
            "be chosen, or check the availability.",
        )
    if data.choice is None:
        return
    known = data.choice >= 0
    picked = np.where(known, data.choice, 0)
    unavailable = known & ~data.available[picked, np.arange(len(picked))]
    for j, name in enumerate(data.alternatives):
        where = draft.source.availability.get(name)
        source = f" (availability column {where!r})" if where else ""
        what = f"{name!r} is chosen but not available{source}"
        fix = "Fix the choice or the availability, or drop these rows (drop_invalid=True)."
        yield from draft.errors("chosen-unavailable", unavailable & (picked == j), what, fix)
    never = ever & (counted.chosen == 0)
    if never.any():
        yield _warning(
            "never-chosen",
            f"Available but never chosen (column {column!r}): {_these(draft, never)}. Its "
            "alternative-specific constant is unidentified, it diverges to minus infinity: remove "
            "the alternative or its constant.",
        )
    if np.count_nonzero(counted.chosen) == 1 and len(data.alternatives) > 1:
        name = data.alternatives[int(counted.chosen.argmax())]
        yield Problem(
            "error",
            "one-always-chosen",
            f"The whole sample chose {name!r}, so there is nothing to explain. Check the choice "
            f"column {column!r} and the alternatives' codes.",
        )


def _variable_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    for column in variable_columns(draft):
        yield from _value_problems(draft, column)
        if column.variable.levels is None:
            yield from _number_problems(draft, column, counted.numbers[column.key])
        elif isinstance(column.variable, Covariate):
            yield from _level_problems(column, counted)


def _value_problems(draft: Draft, column: VariableColumn) -> Iterator[Problem]:
    """Values that are missing or infinite."""
    where, values = column.where, column.values
    categorical = column.variable.levels is not None
    missing = np.asarray(values < 0 if categorical else np.isnan(values))
    infinite = np.zeros_like(missing) if categorical else _is_infinite(values)
    if isinstance(column.variable, Covariate):
        what = f"{where} {'is missing' if categorical else MISSING_OR_INFINITE}"
        fix = MISSING_LEVEL if categorical else FIX_OR_DROP
        yield from draft.errors("missing-covariate", missing | infinite, what, fix)
        return
    name = draft.data.alternatives[column.alternative]
    what = f"{where} is missing although {name} is available"
    fix = MISSING_LEVEL if categorical else MISSING_WHERE_UNAVAILABLE
    yield from draft.errors("missing-attribute", column.available & missing, what, fix)
    what = f"{where} is infinite (as is all beyond {LARGEST_FINITE:g})"
    yield from draft.errors("infinite-attribute", column.available & infinite, what)


def _level_problems(column: VariableColumn, counted: Tally) -> Iterator[Problem]:
    levels, counts = column.variable.levels or (), counted.levels[column.variable.name]
    empty = [level for level, n in zip(levels, counts, strict=True) if not n]
    if np.count_nonzero(counts) == 1:
        yield _warning(
            "constant-covariate",
            f"{column.where} has one level only and cannot explain anything. Remove it.",
        )
    elif empty:
        yield _warning(
            "empty-level",
            f"{column.where} has no rows at level {first_few(map(repr, empty))}: the coefficient "
            "of its dummy is unidentified. Remove it from the levels or merge it.",
        )


def _number_problems(
    draft: Draft, column: VariableColumn, seen: NumberSummary
) -> Iterator[Problem]:
    where, n_values = column.where, len(seen.distinct)
    if seen.is_constant and isinstance(column.variable, Covariate):
        yield _warning(
            "constant-covariate",
            f"{where} is {seen.low:g} everywhere and cannot explain anything. Remove it.",
        )
    elif seen.is_constant:
        name = draft.data.alternatives[column.alternative]
        yield _warning(
            "constant-attribute",
            f"{where} is {seen.low:g} in every row where {name} is available: an "
            f"alternative-specific coefficient for {name} is not identified beside its constant "
            "(collinear). Remove it there, or share its coefficient with other alternatives.",
        )
    for sentinel in sentinels(seen):
        rows = seen.codes[sentinel].text(draft.source.situation_unit)
        yield _warning(
            "sentinel",
            f"{where} has the value {sentinel} in {rows}, far from all others: it looks like a "
            "code for missing values, and is used as a number. If it is a code, pass "
            f"missing_values = [{sentinel}], or make the alternative unavailable.",
        )
    if CODE_LEVELS < n_values <= MOST_CODE_VALUES:  # counted where the kind was guessed
        yield _warning(
            "codes-or-numbers",
            f"{where} has {n_values} distinct whole numbers and is read as a number. If they are "
            "codes, pass Categorical(), perhaps with pool_below=0.05; if it is a number, Numeric() "
            "silences this warning.",
        )


def sentinels(seen: NumberSummary) -> list[int]:
    """Codes for missing values such as 99999 or -99 that occur, far from all other values."""
    found = [code for code in SENTINEL_VALUES if code in seen.codes]
    low, high = seen.others
    if not low <= high:
        return []
    far = SENTINEL_RATIO * max(abs(high), abs(low), 1.0)
    # -1, 0, 1 is effects coding: a negative code is suspect only among proper quantities.
    proper = low >= 0 and high > SENTINEL_RATIO
    return [code for code in found if (code < 0 and proper) or abs(code) > far]


def _name_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    """Levels, and alternatives of a long table, that look like typing errors."""
    data = draft.data
    variables: list[Attribute | Covariate] = [*data.attributes.values(), *data.covariates.values()]
    for variable in variables:
        if variable.levels is None:
            continue
        for miss in near_misses(variable.levels, counted.levels[variable.name]):
            yield _warning(
                "near-miss",
                f"{variable.name} has level {miss.name!r} in {_rows(miss.rows)}; did you mean "
                f"{miss.meant!r}? Fix the table, or pass "
                f"merge={{{miss.meant!r}: [{miss.name!r}]}}.",
            )
    if draft.source.layout == "long":
        for miss in near_misses(data.alternatives, counted.available):
            yield _warning(
                "near-miss",
                f"Alternative {miss.name!r} has {_rows(miss.rows)}; did you mean {miss.meant!r}? "
                "Fix the table.",
            )


def _rows(n: int) -> str:
    return f"{n} row{'s' if n != 1 else ''}"


def _weight_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    weight = draft.data.weight
    if weight is None:
        return
    where = f"The weight (column {draft.source.weight!r})"
    bad, negative = np.isnan(weight) | _is_infinite(weight), weight < 0
    yield from draft.errors("missing-weight", bad, f"{where} {MISSING_OR_INFINITE}")
    yield from draft.errors("negative-weight", negative, f"{where} is negative")
    if not (bad | negative).any() and not counted.weighted:
        yield Problem(
            "error",
            "zero-weights",
            f"{where} is zero in every row, so that none would count. Name another column, or "
            "read without weight.",
        )
    if draft.source.weight_kind == "frequency":
        yield from _count_problems(draft, weight, where)


def _count_problems(draft: Draft, weight: Floats, where: str) -> Iterator[Problem]:
    """Counts are whole, and there is room for as many rows as they say."""
    known = np.isfinite(weight) & (weight >= 0)
    yield from draft.errors(
        "fractional-count",
        known & (weight % 1 != 0),
        f'{where} is no whole number, as a count is (weight_kind = "frequency")',
        'Give counts, or weight_kind = "sampling".',
    )
    total = float(weight[known].sum())
    if total > MOST_COUNTED_ROWS:
        yield Problem(
            "error",
            "too-many-counted",
            f"{where} adds up to {total:,.0f} choices, and a row is read for each: at most "
            f"{MOST_COUNTED_ROWS:,}. Divide the counts by a common number, or give "
            'weight_kind = "sampling".',
        )


def _person_problems(draft: Draft) -> Iterator[Problem]:
    if draft.data.person is not None:
        what = f"The person id (column {draft.source.person!r}) is missing"
        fix = f"{FIX_OR_DROP} Or read without person, as if every situation had its own."
        yield from draft.errors("missing-person", draft.data.person < 0, what, fix)


def _copies_of_the_choice(draft: Draft) -> Iterator[Problem]:
    """Covariates that are the choice, or it under other names."""
    data, choice = draft.data, draft.data.choice
    if choice is None or not draft.learning:
        return
    for name, covariate in data.covariates.items():
        column = draft.source.covariates.get(name)
        is_choice = draft.source.layout == "wide" and column == draft.source.choice
        if is_choice or (covariate.levels is not None and _is_recoding(covariate.values, choice)):
            yield Problem(
                "error",
                "choice-as-covariate",
                f"Covariate {name} (column {column!r}) is the choice itself, or a recoding of it: "
                "it would explain every choice, and nothing. Leave it out.",
            )


def _attributes_of_the_chosen(draft: Draft) -> Iterator[Problem]:
    """Numeric covariates that are an attribute of whatever was chosen, such as the price paid."""
    data, choice = draft.data, draft.data.choice
    if choice is None or not draft.learning:
        return
    numeric = {name: a for name, a in data.attributes.items() if a.levels is None}
    for name, covariate in data.covariates.items():
        if covariate.levels is not None:
            continue
        values = covariate.numbers()
        found = next((n for n, a in numeric.items() if _is_of_chosen(values, a, choice)), None)
        if found is not None:
            column = draft.source.covariates.get(name)
            yield Problem(
                "error",
                "outcome-as-covariate",
                f"Covariate {name} (column {column!r}) is {found} of the chosen alternative in "
                "every row: it would explain the choice by itself. Leave it out.",
            )


def _is_of_chosen(values: Floats, attribute: Attribute, choice: AnyArray) -> bool:
    """Whether a number is that of the chosen alternative, and not that of the others as well."""
    rows, differs = 0, False
    for j in attribute.alternatives:
        here = choice == j
        own = attribute.of(j)[here]
        if not np.array_equal(own, values[here]):
            return False
        rows += len(own)
        others = [k for k in attribute.alternatives if k != j]
        differs = differs or any((attribute.of(k)[here] != own).any() for k in others)
    return differs and rows >= LEAST_RECODED_ROWS


def _is_recoding(values: AnyArray, choice: AnyArray) -> bool:
    """Whether each level goes with one choice and each choice with one level."""
    known = (values >= 0) & (choice >= 0)
    if np.count_nonzero(known) < LEAST_RECODED_ROWS:
        return False
    pairs = np.unique(np.stack([values[known], choice[known]]), axis=1)
    n = pairs.shape[1]
    return n > 1 and all(len(np.unique(row)) == n for row in pairs)


def refuse_one_person(draft: Draft, persons: int, situations: int) -> None:
    """Raise where a panel has one person only: standard errors clustered by person need several."""
    if draft.learning and persons == 1 and situations > 1:
        column = draft.source.person
        message = (
            f"All choices are by one person (column {column!r}), and standard errors clustered by "
            "person need several. Name the column that identifies persons, or read without person."
        )
        raise DataError([Problem("error", "one-person", message)])


def _scale_problems(draft: Draft, counted: Tally) -> Iterator[Problem]:
    sds: dict[str, float] = {}
    for attribute in draft.data.attributes.values():
        if attribute.levels is None:
            each = (counted.numbers[attribute.name, j].moments for j in attribute.alternatives)
            sds[attribute.name] = reduce(add, each).sd
    sds = {name: sd for name, sd in sds.items() if sd > 0}
    if len(sds) < 2:
        return
    small, large = min(sds, key=sds.__getitem__), max(sds, key=sds.__getitem__)
    if sds[large] / sds[small] > LARGEST_SD_RATIO:
        yield _warning(
            "scales",
            f"The standard deviations of {large} ({sds[large]:.1g}) and {small} "
            f"({sds[small]:.1g}) differ widely. Estimation copes, but coefficients will be hard to "
            "read: change a unit.",
        )
