"""Guessing who chose: person ids, weights, and facts about people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from ardchoice.data import CODE_LEVELS
from ardchoice.settings.guess.long import same_within
from ardchoice.settings.guess.profile import Column
from ardchoice.settings.guess.roles import Finding, Variable
from ardchoice.settings.guess.words import (
    CODE_WORDS,
    DESIGN_WORDS,
    PERSON_WORDS,
    PLACE_WORDS,
    SURE_PERSON_WORDS,
    WEIGHT_WORDS,
    ZONE_WORDS,
    people_rank,
    says,
    words,
)

MIN_SITUATIONS_PER_PERSON = 1.2
"""Situations per person from which there is something to cluster by."""
MAX_TEXT_LEVELS = 30
"""Texts with more levels are no categories that a model could use."""
MAX_CODE_VALUES = 60
"""Beyond this many distinct whole numbers they are surely quantities."""
MAX_PREFIX_LETTERS = 2
"""Letters that may stand before a name without being a word of it."""
RARE_LEVEL_SHARE = 0.02
"""Levels with a smaller share of the rows are pooled."""
MISSING_LEVEL = "unknown"
NEGATIVE_CODES = (-1, -2, -9, -99, -999)
"""Negative values that stand for missing ones in a quantity."""


def find_person(
    columns: Sequence[Column], situation: Column | None, answers: Mapping[str, str]
) -> Finding:
    """The column with the person's id; None where every situation is its own person."""
    if "person" in answers:
        return Finding(answers["person"] or None, "as you said")
    rows = columns[0].rows if columns else 0
    situations = rows if situation is None else situation.distinct
    named_so = [
        c
        for c in columns
        if says(c.name, PERSON_WORDS)
        and not c.missing
        and (c.whole or not c.numeric)
        and c.distinct > 1
        and c is not situation
        and (situation is None or same_within(situation, c))
    ]
    repeated = [c for c in named_so if situations / c.distinct >= MIN_SITUATIONS_PER_PERSON]
    # 'household' and 'id' are less sure than 'person', and whoever has more values is the finer id.
    repeated.sort(
        key=lambda c: (-says(c.name, SURE_PERSON_WORDS), -says(c.name, PERSON_WORDS), -c.distinct)
    )
    repeated = [c for c in repeated if c.distinct > 12 or situations / c.distinct < 100]
    # What goes 1, 2, 3, ... through the choices of another id numbers these.
    counters = [
        c for c in repeated if any(counts_within(o, c, situation) for o in repeated if o is not c)
    ]
    repeated = [c for c in repeated if c not in counters]
    if repeated:
        best = repeated[0]
        why = f"{best.distinct:,} different values, {situations / best.distinct:.3g} choices each"
        return Finding(best.name, why, tuple(c.name for c in repeated[1:3]))
    if named_so:
        why = f"{named_so[0].name} differs in every choice: one choice a person"
        return Finding(None, why, (named_so[0].name,))
    return Finding(None, "no column is called an id and repeats")


def find_weight(columns: Sequence[Column], answers: Mapping[str, str]) -> Finding:
    """The column with weights; None where all count once."""
    if "weight" in answers:
        return Finding(answers["weight"] or None, "as you said")
    for column in columns:
        if is_weight(column.name) and column.numeric and column.low >= 0 and not column.is_constant:
            if column.missing:
                continue
            why = f"it is called so, from {column.low:g} to {column.high:g}"
            return Finding(column.name, why, confidence=0.9)
    return Finding(None, "no column is called a weight")


def is_weight(name: str) -> bool:
    """Whether a column is called a weight, perhaps behind a letter or two: ``q_weight``."""
    each = words(name)
    called = [w for w in each if w in WEIGHT_WORDS]
    others = "".join(w for w in each if w not in WEIGHT_WORDS)
    return says(name, WEIGHT_WORDS) == 2 or (len(called) == 1 and len(others) <= MAX_PREFIX_LETTERS)


def find_covariates(
    columns: Sequence[Column],
    used: set[str],
    choice: Column | None,
    situation: Column | None,
    person: Column | None = None,
) -> tuple[tuple[Variable, ...], dict[str, str]]:
    """Facts about people, the likeliest to matter first in mind, and what is not used and why."""
    found: list[Variable] = []
    left_out: dict[str, str] = {}
    for column in columns:
        if column.name in used:
            continue
        reason = why_not(column, choice, situation)
        if reason is None and person is not None and counts_within(person, column, situation):
            reason = f"numbers the choices of every {person.name}"
        if reason is None:
            found.append(covariate(column))
        else:
            left_out[column.name] = reason
    return tuple(found), left_out


def why_not(column: Column, choice: Column | None, situation: Column | None) -> str | None:
    """Why a column is not taken for a covariate; None where it may be one."""
    if column.missing == column.rows:
        return "empty"
    if column.is_constant:
        return "one value only"
    if situation is not None and not same_within(situation, column):
        return "differs within a situation"
    if choice is not None and column.distinct <= 2 * choice.distinct:
        if same_within(choice, column):
            return f"follows from {choice.name}: it would explain the choice by itself"
        if column.distinct >= choice.distinct and same_within(column, choice):
            return f"tells {choice.name}: it would explain the choice by itself"
    situations = column.rows if situation is None else situation.distinct
    codes_or_text = column.whole or not column.numeric
    many = column.distinct > 0.5 * situations and column.distinct > CODE_LEVELS
    if codes_or_text and many and not (column.numeric and people_rank(column.name) is not None):
        return "a different value in nearly every row: it numbers something"
    if says(column.name, DESIGN_WORDS) == 2 or (
        says(column.name, PERSON_WORDS) and column.distinct > 12
    ):
        return "bookkeeping of the survey, by its name"
    if column.whole and words(column.name) and words(column.name)[-1].endswith("id"):
        return "an id, by its name"
    if codes_or_text and column.distinct > CODE_LEVELS and is_place(column.name):
        return f"{column.distinct} places: {_pooled(column.name)} would take the large ones"
    if not column.numeric and column.distinct > MAX_TEXT_LEVELS:
        return f"text with {column.distinct} different values"
    if column.missing > 0.5 * column.rows:
        return f"missing in {100 * column.missing / column.rows:.0f}% of the rows"
    return None


def _number(text: str) -> float | None:
    """A finite number; None for other texts."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def merged_levels(column: Column, rare: Sequence[str]) -> dict[str, list[str]]:
    """Level -> its values: rare ones join the nearest code, or the most common text."""
    kept = [text for text in column.labels if text not in rare]
    share = dict(zip(column.labels, column.shares, strict=True))

    codes = {text: number for text in column.labels if (number := _number(text)) is not None}

    def host(text: str) -> str:
        # A typing error among codes is near none of them.
        near = [k for k in kept if k in codes]
        if column.numeric and text in codes and near:
            return min(near, key=lambda k: (abs(codes[k] - codes[text]), -share[k]))
        return max(kept, key=lambda k: share[k])

    joined = {k: [k, *(text for text in rare if host(text) == k)] for k in kept}
    return {
        k if len(values) == 1 else f"{k} or {', '.join(values[1:])}": values
        for k, values in joined.items()
    }


def is_code(name: str) -> bool:
    """Whether a column is called like a category, so that its numbers are codes."""
    return any(w in CODE_WORDS or w.endswith(("type", "code", "class")) for w in words(name))


def is_place(name: str) -> bool:
    """Whether a column is called like the number or the name of a place."""
    return bool(says(name, PLACE_WORDS) or says(name, ZONE_WORDS)) or any(
        w.endswith(("zone", "taz")) for w in words(name)
    )


def counts_within(person: Column, column: Column, situation: Column | None) -> bool:
    """Whether a column goes 1, 2, 3, ... through the choices of every person."""
    if column.missing or not column.whole or column.low not in (0, 1):
        return False
    if column.distinct != column.high - column.low + 1 or len(column.labels) != column.distinct:
        return False
    rows = np.arange(column.rows)
    if situation is not None:
        rows = np.unique(situation.codes, return_index=True)[1]
    order = rows[np.lexsort((rows, person.codes[rows]))]
    who, number = person.codes[order], column.codes[order]
    same = who[1:] == who[:-1]
    most = int(np.bincount(who).max())
    # A few choices may have been dropped, so that there are gaps.
    return bool(same.any() and np.all(number[1:][same] > number[:-1][same])) and (
        column.distinct <= most + 2
    )


def _pooled(name: str) -> str:
    return f'{name} = {{ kind = "categorical", pool_below = 0.05 }}'


def covariate(column: Column) -> Variable:
    """How a column is read: as a category or as a number."""
    few = column.distinct <= CODE_LEVELS
    share = 100 * column.missing / column.rows
    gone = f", missing in {share:.2g}%" if column.missing else ""
    few_missing = 0 < column.missing < RARE_LEVEL_SHARE * column.rows
    lost = column.missing if few_missing else 0
    if few_missing:
        gone += ": such rows are dropped"
    coded = column.whole and column.distinct <= MAX_CODE_VALUES and is_code(column.name)
    if not column.numeric or (few and column.whole) or coded:
        how: dict[str, object] = {"kind": "categorical"}
        why = f"{column.distinct} different values: {_values(column)}{gone}"
        if few and column.numeric and column.distinct > 3:
            why += '. kind = "numeric" if they are quantities'
        if column.missing and not few_missing:
            how["missing"] = MISSING_LEVEL
        levels = len(column.labels) + ("missing" in how)
        rare = [
            text
            for text, s in zip(column.labels, column.shares, strict=True)
            if s < RARE_LEVEL_SHARE
        ]
        kept = [text for text in column.labels if text not in rare]
        if rare and len(kept) > 1:
            if sum(s for s in column.shares if s < RARE_LEVEL_SHARE) < RARE_LEVEL_SHARE:
                # Alone they would be a level that nothing can be learned of: others take them in.
                how["merge"] = merged_levels(column, rare)
                why += (
                    f". Too few rows have {', '.join(rare[:6])}: levels next to them take them in"
                )
                levels -= len(rare)
            else:
                how["pool_below"] = RARE_LEVEL_SHARE
                why += f". Levels below {100 * RARE_LEVEL_SHARE:g}% become one, 'other'"
                levels -= len(rare) - 1
        return Variable(column.name, how, why, max(levels - 1, 1), lost)
    spread = f"{column.low:g} to {column.high:g}"
    unknown = negative_code(column)
    if unknown is not None:
        return _with_unknown(column, unknown)
    if column.missing and not few_missing:
        how = {"kind": "cut", "quantiles": 3, "missing": MISSING_LEVEL}
        return Variable(column.name, how, f"a number, {spread}{gone}: three classes", 3)
    why = f"a number, {spread}{gone}. Classes: {{ quantiles = 3 }} or {{ edges = [...] }}"
    if column.whole and column.distinct <= MAX_CODE_VALUES:
        why = (
            f"{column.distinct} different whole numbers, {spread}{gone}: a quantity, or else "
            'codes: { kind = "categorical", pool_below = 0.05 }'
        )
    return Variable(column.name, {"kind": "numeric"}, why, 1, lost)


def negative_code(column: Column) -> float | None:
    """The one negative value of a quantity that is otherwise positive: it stands for missing."""
    if not column.numeric or not column.low < 0:
        return None
    below = np.unique(column.numbers[column.numbers < 0])
    return float(below[0]) if len(below) == 1 and below[0] in NEGATIVE_CODES else None


def _with_unknown(column: Column, code: float) -> Variable:
    """A quantity in classes, with one for what is not known."""
    known = column.numbers[column.numbers >= 0]
    edges = sorted({0.0, *(float(f"{q:.4g}") for q in np.quantile(known, [1 / 3, 2 / 3]))})
    labels = [MISSING_LEVEL, *(("low", "middle", "high") if len(edges) == 3 else ("low", "high"))]
    how: dict[str, object] = {"kind": "cut", "edges": edges, "labels": labels[: len(edges) + 1]}
    rows = int((column.numbers == code).sum())
    if column.missing:
        how["missing"] = MISSING_LEVEL
    why = f"{code:g} in {rows:,} rows stands for unknown, so it is no number: classes"
    return Variable(column.name, how, why, len(edges))


def _values(column: Column) -> str:
    shown = ", ".join(column.labels[:6])
    return shown + (", ..." if len(column.labels) > 6 else "")


def plausible(variable: Variable) -> tuple[int, int]:
    """Sort key: what describes people or trips comes first, and what has few levels."""
    rank = people_rank(variable.name)
    return (1_000 if rank is None else rank, variable.columns)
