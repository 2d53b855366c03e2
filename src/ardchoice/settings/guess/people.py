"""Guessing who chose: person ids, weights, and facts about people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ardchoice.data import CODE_LEVELS
from ardchoice.settings.guess.long import same_within
from ardchoice.settings.guess.profile import Column
from ardchoice.settings.guess.roles import Finding, Variable
from ardchoice.settings.guess.words import (
    DESIGN_WORDS,
    PEOPLE_WORDS,
    PERSON_WORDS,
    PLACE_WORDS,
    SURE_PERSON_WORDS,
    WEIGHT_WORDS,
    says,
    words,
)

MIN_SITUATIONS_PER_PERSON = 1.2
"""Situations per person from which there is something to cluster by."""
MAX_TEXT_LEVELS = 30
"""Texts with more levels are no categories that a model could use."""
MAX_CODE_VALUES = 60
"""Beyond this many distinct whole numbers they are surely quantities."""
RARE_LEVEL_SHARE = 0.02
"""Levels with a smaller share of the rows are pooled."""
TINY_LEVELS_SHARE = 0.005
"""Levels that together have a smaller share than this are a level nothing can be learned of."""
MISSING_LEVEL = "unknown"


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
        called = says(column.name, WEIGHT_WORDS)
        if called == 2 and column.numeric and column.low >= 0 and not column.is_constant:
            if column.missing:
                continue
            why = f"it is called so, from {column.low:g} to {column.high:g}"
            return Finding(column.name, why, sure=False)
    return Finding(None, "no column is called a weight")


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
    if codes_or_text and column.distinct > 0.5 * situations and column.distinct > CODE_LEVELS:
        return "a different value in nearly every row: it numbers something"
    if says(column.name, DESIGN_WORDS) == 2 or (
        says(column.name, PERSON_WORDS) and column.distinct > 12
    ):
        return "bookkeeping of the survey, by its name"
    if codes_or_text and column.distinct > CODE_LEVELS and says(column.name, PLACE_WORDS):
        return f"{column.distinct} places: {_pooled(column.name)} would take the large ones"
    if not column.numeric and column.distinct > MAX_TEXT_LEVELS:
        return f"text with {column.distinct} different values"
    if column.missing > 0.5 * column.rows:
        return f"missing in {100 * column.missing / column.rows:.0f}% of the rows"
    return None


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
    if few_missing:
        gone += ": such rows are dropped"
    if not column.numeric or (few and column.whole):
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
            if sum(s for s in column.shares if s < RARE_LEVEL_SHARE) < TINY_LEVELS_SHARE:
                how["levels"] = kept
                why += f". Too few rows have {', '.join(rare[:6])}: they are dropped"
                levels -= len(rare)
            else:
                how["pool_below"] = RARE_LEVEL_SHARE
                why += f". Levels below {100 * RARE_LEVEL_SHARE:g}% become one, 'other'"
                levels -= len(rare) - 1
        return Variable(column.name, how, why, max(levels - 1, 1))
    spread = f"{column.low:g} to {column.high:g}"
    if column.missing and not few_missing:
        how = {"kind": "cut", "quantiles": 3, "missing": MISSING_LEVEL}
        return Variable(column.name, how, f"a number, {spread}{gone}: three classes", 3)
    why = f"a number, {spread}{gone}. Classes: {{ quantiles = 3 }} or {{ edges = [...] }}"
    if column.whole and column.distinct <= MAX_CODE_VALUES:
        why = (
            f"{column.distinct} different whole numbers, {spread}{gone}: a quantity, or else "
            'codes: { kind = "categorical", pool_below = 0.05 }'
        )
    return Variable(column.name, {"kind": "numeric"}, why, 1)


def _values(column: Column) -> str:
    shown = ", ".join(column.labels[:6])
    return shown + (", ..." if len(column.labels) > 6 else "")


def plausible(variable: Variable) -> tuple[int, int]:
    """Sort key: what is likely to matter to how people choose comes first."""
    said = [PEOPLE_WORDS.index(w) for w in words(variable.name) if w in PEOPLE_WORDS]
    return (min(said) if said else len(PEOPLE_WORDS), variable.columns)
