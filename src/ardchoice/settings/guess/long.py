"""Guessing the roles of a long table: a row per situation and alternative, one of them chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.settings.guess.profile import Column, named, with_one_spelling
from ardchoice.settings.guess.roles import Finding, Roles, Variable
from ardchoice.settings.guess.values import are_labelled
from ardchoice.settings.guess.words import (
    ALTERNATIVE_WORDS,
    CHOICE_WORDS,
    DESIGN_WORDS,
    PERSON_WORDS,
    SITUATION_WORDS,
    UNLABELLED_WORDS,
    WEIGHT_WORDS,
    says,
    unlike_others,
    words,
)

MAX_ALTERNATIVES = 1000
MIN_ONE_CHOSEN_SHARE = 0.95
"""Share of situations with just one chosen row: the others may be slips."""
MIN_UNIQUE_ROW_SHARE = 0.99
"""Share of rows that are the only one of their situation and alternative."""
UNNAMED_CONFIDENCE = 0.5
"""How sure a column is whose values fit a role that its name does not say."""
MAX_TRIED_COLUMNS = 12
"""Columns tried for a role, the likeliest first."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Columns that together make a long table.

    Attributes
    ----------
    situation, alternative, chosen
    score
    one_chosen
        Share of situations with just one chosen row.
    unique
        Share of rows that are the only one of their situation and alternative.
    """

    situation: Column
    alternative: Column
    chosen: Column
    score: float
    one_chosen: float
    unique: float


def find_layouts(columns: Sequence[Column], answers: Mapping[str, str]) -> list[Layout]:
    """Ways to read a table as a long one, the likeliest first."""
    rows = columns[0].rows if columns else 0
    marks = _asked(columns, answers.get("chosen")) or [
        c for c in columns if c.is_mark and c.distinct == 2 and 0 < c.marked.mean() <= 0.55
    ]
    ids = _asked(columns, answers.get("situation")) or [
        c for c in columns if 2 <= c.distinct <= rows / 2 and not c.missing
    ]
    names = _asked(columns, answers.get("alternative")) or [
        c
        for c in columns
        if 2 <= c.distinct <= MAX_ALTERNATIVES and not c.missing and (c.whole or not c.numeric)
    ]
    # What a user says of all three is not doubted; what is wrong with it, reading will tell.
    all_given = all(answers.get(role) for role in ("situation", "alternative", "chosen"))
    marks.sort(key=lambda c: -says(c.name, CHOICE_WORDS))
    ids.sort(key=lambda c: (-says(c.name, SITUATION_WORDS), -c.distinct))
    names.sort(key=lambda c: (-says(c.name, ALTERNATIVE_WORDS), c.distinct))
    out = []
    for chosen in marks[:MAX_TRIED_COLUMNS]:
        for situation in ids[:MAX_TRIED_COLUMNS]:
            one = one_chosen(situation.codes, chosen.marked)
            if one < MIN_ONE_CHOSEN_SHARE and not all_given:
                continue
            for alternative in names[:MAX_TRIED_COLUMNS]:
                if alternative in (situation, chosen):
                    continue
                if same_within(alternative, chosen) and not all_given:
                    continue  # a constant of one alternative, not a choice
                unique = only_once(situation.codes, alternative.codes)
                if unique >= MIN_UNIQUE_ROW_SHARE or all_given:
                    score = _score(situation, alternative, chosen) + one + unique
                    out.append(Layout(situation, alternative, chosen, score, one, unique))
    return sorted(out, key=lambda found: -found.score)


def _asked(columns: Sequence[Column], name: str | None) -> list[Column]:
    column = named(columns, name) if name else None
    return [] if column is None else [column]


def _score(situation: Column, alternative: Column, chosen: Column) -> float:
    score = 1.5 * says(chosen.name, CHOICE_WORDS) + says(situation.name, SITUATION_WORDS)
    score += 1.5 * says(alternative.name, ALTERNATIVE_WORDS)
    # Each stands at most once in a situation, so there are about as many as rows in it.
    per_situation = situation.rows / situation.distinct
    score -= abs(np.log(alternative.distinct / per_situation))
    return float(score)


def one_chosen(situation: npt.NDArray[np.intp], chosen: npt.NDArray[np.bool_]) -> float:
    """Share of situations in which just one row is chosen."""
    counts = np.bincount(situation[chosen], minlength=int(situation.max()) + 1)
    return float(np.mean(counts == 1))


def only_once(situation: npt.NDArray[np.intp], alternative: npt.NDArray[np.intp]) -> float:
    """Share of rows that are the first of their situation and alternative."""
    cell = situation.astype(np.int64) * (int(alternative.max()) + 1) + alternative
    return len(np.unique(cell)) / len(cell)


def two_columns(
    columns: Sequence[Column], answers: Mapping[str, str]
) -> tuple[str, str, Layout] | None:
    """Two columns that only together number the situations, and the layout that they make."""
    marks = _asked(columns, answers.get("chosen")) or [
        c for c in columns if c.is_mark and c.distinct == 2 and says(c.name, CHOICE_WORDS)
    ]
    ids = [c for c in columns if not c.missing and 2 <= c.distinct <= c.rows / 2]
    ids = [c for c in ids if says(c.name, SITUATION_WORDS | DESIGN_WORDS | PERSON_WORDS)]
    said = answers.get("situation", "").split(", ")
    if len(said) == 2:
        ids = [c for name in said for c in _asked(columns, name)]
    names = _asked(columns, answers.get("alternative")) or [
        c for c in columns if c.distinct >= 2 and says(c.name, ALTERNATIVE_WORDS)
    ]
    for chosen in marks:
        for one, two in combinations(ids[:MAX_TRIED_COLUMNS], 2):
            both = together(one, two)
            share = one_chosen(both.codes, chosen.marked)
            if share < MIN_ONE_CHOSEN_SHARE:
                continue
            for alternative in names:
                unique = only_once(both.codes, alternative.codes)
                if alternative not in (one, two, chosen) and unique >= MIN_UNIQUE_ROW_SHARE:
                    layout = Layout(both, alternative, chosen, 0.0, share, unique)
                    return one.name, two.name, layout
    return None


def together(one: Column, two: Column) -> Column:
    """A column that two columns make together."""
    pair = one.codes.astype(np.int64) * two.distinct + two.codes
    codes, values = pd.factorize(pair)
    return replace(
        one,
        name=f"{one.name}, {two.name}",
        position=-1,
        distinct=len(values),
        labels=(),
        shares=(),
        codes=np.asarray(codes, dtype=np.intp),
    )


def guess_long(
    columns: Sequence[Column], layout: Layout, others: Sequence[Layout], answers: Mapping[str, str]
) -> Roles:
    """The roles of a long table."""
    situation, alternative, chosen = layout.situation, layout.alternative, layout.chosen
    per = situation.rows / situation.distinct
    findings = {
        "situation": Finding(
            situation.name,
            f"{situation.distinct:,} different values, {per:.3g} rows each, one of them chosen in "
            f"{100 * layout.one_chosen:.4g}%",
            _others(others, "situation", situation),
        ),
        "alternative": Finding(
            alternative.name,
            "every value stands at most once in a situation",
            _others(others, "alternative", alternative),
            1.0 if says(alternative.name, ALTERNATIVE_WORDS) else UNNAMED_CONFIDENCE,
        ),
        "chosen": Finding(
            chosen.name,
            f"yes or no, and yes once in a situation ({100 * chosen.marked.mean():.3g}% of rows)",
            _others(others, "chosen", chosen),
            1.0 if says(chosen.name, CHOICE_WORDS) else UNNAMED_CONFIDENCE,
        ),
    }
    used = {situation.name, alternative.name, chosen.name}
    attributes: list[Variable] = []
    left_out: dict[str, str] = {}
    for column in columns:
        if column.name in used or column.is_constant or same_within(situation, column):
            continue
        if says(column.name, WEIGHT_WORDS) == 2:
            continue
        if same_within(alternative, column):
            left_out[column.name] = (
                f"the same in every row of one {alternative.name}: a constant says as much"
            )
        elif column.distinct == column.rows and column.whole:
            left_out[column.name] = "numbers the rows"
        elif not column.numeric and column.distinct > 60:
            left_out[column.name] = f"text with {column.distinct} different values"
        else:
            attributes.append(_attribute(column))
    codes = {text: text for text in with_one_spelling(alternative).labels}
    numbers = all(text.lstrip("-").isdigit() for text in codes)
    placeless, apart = unlike_others(list(codes))
    if numbers:  # modes may have numbers, too: the name of the column tells
        named_so = any(w in UNLABELLED_WORDS for w in words(alternative.name))
        used_columns = [c for c in columns if any(a.name == c.name for a in attributes)]
        placeless = named_so and not are_labelled(alternative, used_columns)
    doubts = []
    if numbers and not placeless:
        doubts.append(
            f"The alternatives are only numbers in column {alternative.name}: give them names "
            "under data.alternatives, name = number, and all results will read better."
        )
    return Roles(
        layout=Finding(
            "long",
            f"rows of one {situation.name} differ in {alternative.name}, and one of them has "
            f"{chosen.name} = {_yes(chosen)}",
        ),
        alternatives=codes,
        findings=findings,
        attributes=tuple(attributes),
        left_out=left_out,
        labelled=not placeless,
        apart=apart,
        doubts=tuple(doubts),
    )


def _yes(column: Column) -> str:
    rows = np.flatnonzero(column.marked)
    return column.labels[column.codes[rows[0]]] if len(rows) else "1"


def same_within(group: Column, column: Column) -> bool:
    """Whether a column has one value in all rows of a group."""
    first = np.full(group.distinct + 1, -2, dtype=np.intp)
    first[group.codes[::-1]] = column.codes[::-1]
    return bool(np.all(first[group.codes] == column.codes))


def _attribute(column: Column) -> Variable:
    if column.numeric:
        return Variable(column.name, {}, "a number that differs between alternatives")
    why = f"text that differs between alternatives, {column.distinct} levels"
    return Variable(column.name, {"kind": "categorical"}, why, max(column.distinct - 1, 1))


def _others(layouts: Sequence[Layout], role: str, mine: Column) -> tuple[str, ...]:
    """Other columns of a role that have about as many values."""
    each = [getattr(one, role) for one in layouts]
    found = [c.name for c in each if mine.distinct / 2 <= c.distinct <= 2 * mine.distinct]
    return tuple(dict.fromkeys(n for n in found if n != mine.name))[:3]
