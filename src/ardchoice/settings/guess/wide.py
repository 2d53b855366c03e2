"""Guessing the roles of a wide table: which columns name alternatives, which one the choice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import log

import numpy as np
import numpy.typing as npt

from ardchoice.data import recognised_kind
from ardchoice.settings.guess.attributes import few, wide_attributes
from ardchoice.settings.guess.families import (
    Family,
    Template,
    attribute_name,
    family_of,
    find_families,
    glued_family,
    pattern_of,
    plausibility,
)
from ardchoice.settings.guess.profile import Column, named, with_one_spelling
from ardchoice.settings.guess.roles import Finding, Roles
from ardchoice.settings.guess.words import (
    AVAILABLE_WORDS,
    CHOICE_WORDS,
    OPT_OUT_WORDS,
    SURE_CHOICE_WORDS,
    plain,
    says,
    words,
)

MIN_CODE_SHARE = 0.02
"""A code that fewer rows than this have is a slip or 'unknown', not an alternative."""
MAX_PERMUTED_ALTERNATIVES = 6
"""Alternatives up to which every way to match codes is tried against the availability."""
MAX_UNAVAILABLE_SHARE = 0.02
"""Share of choices of something unavailable that may be slips."""
MIN_NUMBERED_SHARE = 0.5
"""Share of numbered columns whose number must occur as a code of the choice."""
WORD_FIT = 2.5
"""How well codes fit that have the names in them: between equal names and equal numbers."""
CHOICE_CONFIDENCE = {"name": 0.95, "word": 0.9, "number": 0.6, "order": 0.4}
"""How sure a choice column is that is not called so, by how its values match the alternatives."""
VALUES_CONFIDENCE = 0.7
"""How sure codes are that money and time speak for."""
UNEXPLAINED_CONFIDENCE = 0.6
"""How sure codes are at most where some have no columns."""
SINGLE_COLUMN_WORTH = 0.1
"""How much a column that only one alternative has speaks for a family."""
NEAR_SCORE_DIFFERENCE = 3.0
"""A choice column whose score is lower by less than this is worth a mention."""


@dataclass(frozen=True, eq=False)
class Match:
    """A choice column and the alternatives that its codes stand for.

    Attributes
    ----------
    family
    choice
    codes
        Alternative -> code.
    extra
        Codes without columns of their own -> share of the rows.
    how
        ``"name"``, ``"word"`` (the name is in the code), ``"number"`` (the code is in the name) or
        ``"order"`` (of the columns).
    score
    """

    family: Family
    choice: Column | None
    codes: dict[str, str]
    extra: dict[str, float]
    how: str
    score: float


def guess_wide(columns: Sequence[Column], answers: Mapping[str, str]) -> Roles | None:
    """The roles of a wide table; None where no columns come in families."""
    matches = rank_matches(columns, answers)
    if not matches:
        return None
    best = matches[0]
    templates, available = _availability(best.family, columns, answers)
    best, by_availability = _check_codes(best, available, columns)
    by_values = False
    if best.how == "order" and not by_availability:
        best, by_values = ordered_by_values(best, templates, columns)
    alternatives, without, notes = _alternatives(best)
    others = [
        m.choice.name
        for m in matches[1:]
        if m.choice and m.choice is not best.choice and m.score > best.score - NEAR_SCORE_DIFFERENCE
    ]
    findings = {
        "layout": Finding("wide", _why_wide(best)),
        "choice": _choice_finding(best, tuple(dict.fromkeys(others))[:3], answers),
        "alternatives": _alternatives_finding(best, by_availability, by_values),
        "availability": _availability_finding(best, available),
    }
    doubts = list(notes)
    if best.choice is None:
        doubts.append(
            "No column looks like the choice: none has a code for each of "
            f"{few(best.family.alternatives)}. Name it as data.choice and its codes under "
            "data.alternatives."
        )
    return Roles(
        layout=findings.pop("layout"),
        alternatives=alternatives,
        findings=findings,
        attributes=wide_attributes(best.family, templates, columns, alternatives),
        availability=available,
        labelled=not best.family.is_unlabelled,
        apart=tuple(dict.fromkeys([*best.family.apart, *without])),
        doubts=tuple(doubts),
    )


# -- Which column is the choice, and of what -----------------------------------------------------


def rank_matches(columns: Sequence[Column], answers: Mapping[str, str]) -> list[Match]:
    """Pairs of alternatives and a choice column, the likeliest first."""
    names = [c.name for c in columns]
    families = find_families(names)
    asked = answers.get("choice") or None
    candidates = [
        with_one_spelling(c) for c in columns if (c.name == asked if asked else _could_be_choice(c))
    ]
    # Names in the choice column say directly which words are alternatives.
    for column in candidates:
        if not column.numeric and 2 <= column.distinct <= 60:
            labels = {plain(v) for v in column.labels}
            inside = {a for f in families for a in f.alternatives if plain(a) in labels}
            if len(inside) > 1:
                families.append(family_of(inside, names))
            glued = glued_family(column.labels, names)
            if glued is not None and not any(f.columns >= glued.columns for f in families):
                families.append(glued)
    matches = [
        match
        for family in families
        for column in candidates
        if column.name not in family.columns
        and (match := match_codes(family, column, asked is not None)) is not None
    ]
    if not matches:
        matches = [Match(f, None, {}, {}, "order", plausibility(f) + _size(f)) for f in families]
    return sorted(matches, key=lambda m: -m.score)


def _could_be_choice(column: Column) -> bool:
    return column.distinct >= 2 and bool(column.labels) and (column.whole or not column.numeric)


def _size(family: Family) -> float:
    """More columns that fit speak for a family, ever less so."""
    whole = sum(len(w) for w in family.templates.values() if len(w) == len(family.alternatives))
    single = sum(len(w) == 1 for w in family.templates.values())
    partial = len(family.columns) - whole - single
    return log(1 + whole + 0.5 * partial + SINGLE_COLUMN_WORTH * single)


def match_codes(family: Family, column: Column, asked: bool = False) -> Match | None:
    """How the values of a column stand for alternatives; None where they cannot."""
    ways = (_by_name, _by_number, _by_word, _by_order)
    found = next((f for way in ways if (f := way(family, column)) is not None), None)
    if found is None:
        return None
    codes, how, fit = found
    extra = {
        text: share
        for text, share in zip(column.labels, column.shares, strict=True)
        if text not in codes.values()
    }
    score = fit + 1.5 * says(column.name, CHOICE_WORDS) + plausibility(family) + _size(family)
    score += 1.0 * (says(column.name, SURE_CHOICE_WORDS) > 0) + 5.0 * asked
    score -= 0.5 * len(extra) + 2.0 * (sum(extra.values()) > 0.3)
    return Match(family, column, codes, extra, how, score)


Found = tuple[dict[str, str], str, float]


def _by_name(family: Family, column: Column) -> Found | None:
    """Values that are the names, whatever their case and separators."""
    by_plain = {plain(text): text for text in column.labels}
    codes = {a: by_plain[plain(a)] for a in family.alternatives if plain(a) in by_plain}
    share = len(codes) / len(family.alternatives)
    if share < 0.7 or len(codes) < 2 or all(a.isdigit() for a in codes):
        return None
    full = {a: codes.get(a, a) for a in family.alternatives}
    return full, "name", 3.0 + share


def _by_number(family: Family, column: Column) -> Found | None:
    """Codes that stand in the names: 2 for alt2, price_2."""
    digits = {
        a: "".join(c for c in a if c.isdigit()).lstrip("0") or "0" for a in family.alternatives
    }
    if not all(any(c.isdigit() for c in a) for a in family.alternatives):
        return None
    if len(set(digits.values())) < len(digits):
        return None
    # The code may be written with a word: choice2, alt_2.
    written = {
        found[-1].lstrip("0") or "0": text
        for text in column.labels
        if (found := re.findall(r"\d+", text)) and (column.whole or len(found) == 1)
    }
    if len(written) < len(column.labels) and not column.whole:
        return None
    used = set(written) & set(digits.values())
    if len(used) < max(2, MIN_NUMBERED_SHARE * len(digits)) or len(written) > len(digits) + 2:
        return None
    codes = {a: written.get(d, d) for a, d in digits.items()}
    return codes, "number", 2.0 + len(used) / len(digits)


def _by_word(family: Family, column: Column) -> Found | None:
    """Texts that each have the name of one alternative in them: garage in ``garage (P+R)``."""
    if column.whole:
        return None
    codes: dict[str, str] = {}
    for a in family.alternatives:
        name = set(words(a))
        texts = [text for text in column.labels if name and name <= set(words(text))]
        if len(texts) != 1 or texts[0] in codes.values():
            return None
        codes[a] = texts[0]
    return codes, "word", WORD_FIT


def _by_order(family: Family, column: Column) -> Found | None:
    """Codes 1, 2, 3 (or 0, 1, 2; or any, as many as there are alternatives)."""
    n = len(family.alternatives)
    # A negative code says that the answer is missing.
    labels = [text for text in column.labels if not text.startswith("-")]
    if n > 30 or not 2 <= len(labels) <= n + 2:
        return None
    if not column.whole:
        if len(labels) != n:
            return None
        return dict(zip(family.alternatives, labels, strict=True)), "order", 0.0
    for first, fit in ((1, 2.0), (0, 1.8)):
        codes = [str(first + i) for i in range(n)]
        inside = sum(text in labels for text in codes)
        share = sum(
            s for text, s in zip(column.labels, column.shares, strict=True) if text in codes
        )
        if inside >= max(2, n - 1) and share > 0.5 and (first or labels[0] == "0"):
            beyond = len(labels) - inside
            if first and beyond and inside == n and "0" in column.labels and share < 0.9:
                continue  # codes from 0 fit better
            return dict(zip(family.alternatives, codes, strict=True)), "order", fit * inside / n
    if len(labels) == n:
        return dict(zip(family.alternatives, labels, strict=True)), "order", 0.8
    return None


# -- Availability, and what it says of the codes -------------------------------------------------


def _availability(
    family: Family, columns: Sequence[Column], answers: Mapping[str, str]
) -> tuple[dict[Template, dict[str, str]], str | dict[str, str] | None]:
    """Templates that are attributes, and the one that is availability."""
    rest = dict(family.templates)
    asked = answers.get("availability")
    for template, where in family.templates.items():
        looks_so = _is_availability(template, where, columns)
        if looks_so and asked == "":
            del rest[template]  # the user knows better, but times and prices these are not
        elif pattern_of(template) == asked or (looks_so and asked is None):
            del rest[template]
            complete = len(where) == len(family.alternatives)
            return rest, pattern_of(template) if complete else dict(where)
    return rest, None


def _is_availability(
    template: Template, where: Mapping[str, str], columns: Sequence[Column]
) -> bool:
    marks = [named(columns, c) for c in where.values()]
    return says(attribute_name(template), AVAILABLE_WORDS) > 0 and all(
        c and c.is_mark for c in marks
    )


def _check_codes(
    match: Match, available: str | dict[str, str] | None, columns: Sequence[Column]
) -> tuple[Match, bool]:
    """Codes matched by order are tried against the availability: nobody chose what was not there.

    Returns the match, perhaps with codes in another order, and whether availability spoke.
    """
    if match.how != "order" or match.choice is None or available is None:
        return match, False
    names = match.family.alternatives
    where = (
        available
        if isinstance(available, dict)
        else {a: available.replace("{alt}", a) for a in names}
    )
    marks = {a: named(columns, c) for a, c in where.items()}
    absent = np.array(
        [
            [_share_absent(match.choice, code, marks.get(a)) for a in names]
            for code in match.codes.values()
        ]
    )
    order = best_order(absent)
    if order is None:
        return match, False
    codes = list(match.codes.values())
    matched = {names[a]: codes[i] for i, a in enumerate(order)}
    return replace(match, codes={a: matched[a] for a in names}), True


@np.errstate(all="ignore")  # values may be of any size
def ordered_by_values(
    match: Match, templates: Mapping[Template, Mapping[str, str]], columns: Sequence[Column]
) -> tuple[Match, bool]:
    """Codes matched by order are tried against money and time: people avoid both.

    For every code and alternative, the mean of what the alternative costs more than the others in
    rows with that code, less its mean in all rows: constants of alternatives play no part. The
    order with the least sum is the one in which choices answer to costs.

    Returns the match, perhaps with codes in another order, and whether values spoke.
    """
    names, choice = match.family.alternatives, match.choice
    codes = [code for code in match.codes.values() if choice and code in choice.labels]
    if choice is None or len(codes) != len(names) or len(names) > MAX_PERMUTED_ALTERNATIVES:
        return match, False
    rows = [choice.codes == choice.labels.index(code) for code in codes]
    known = np.logical_or.reduce(rows)
    total = np.zeros((len(names), len(names)))
    for template, where in templates.items():
        each = [named(columns, where.get(a)) for a in names]
        burden = recognised_kind(attribute_name(template)) is not None
        numeric = [c.numbers for c in each if c is not None and c.numeric]
        if not burden or len(numeric) < len(names):
            continue
        x = np.stack(numeric)
        x = x - x.mean(axis=0)
        x = (x - np.nanmean(x[:, known], axis=1, keepdims=True)) / np.nanstd(x[:, known])
        total += np.array([[np.nanmean(x[a, here]) for a in range(len(names))] for here in rows])
    if not np.isfinite(total).all() or not total.any():
        return match, False
    orders = permutations(range(len(names)))
    best = min(orders, key=lambda p: float(total[np.arange(len(names)), list(p)].sum()))
    matched = {names[a]: codes[i] for i, a in enumerate(best)}
    return replace(match, codes={a: matched[a] for a in names}), True


def _share_absent(choice: Column, code: str, mark: Column | None) -> float:
    """Of the rows with a code, the share where an alternative is unavailable."""
    if mark is None or code not in choice.labels:
        return 0.0
    rows = choice.codes == choice.labels.index(code)
    return float(np.mean(~mark.marked[rows])) if rows.any() else 0.0


def best_order(absent: npt.NDArray[np.float64]) -> tuple[int, ...] | None:
    """Which alternative every code stands for, where availability can tell.

    Parameters
    ----------
    absent
        Of the rows with a code, the share in which an alternative is unavailable; shape (codes,
        alternatives).

    Returns
    -------
    tuple or None
        The first possible order, beginning with that of the columns; None where none is possible,
        or availability says nothing.
    """
    n = len(absent)
    rows = np.arange(n)
    if not (absent > MAX_UNAVAILABLE_SHARE).any():
        return None
    if (absent[rows, rows] <= MAX_UNAVAILABLE_SHARE).all():
        return tuple(range(n))
    if n > MAX_PERMUTED_ALTERNATIVES:
        return None
    orders = permutations(range(n))
    return next((p for p in orders if (absent[rows, list(p)] <= MAX_UNAVAILABLE_SHARE).all()), None)


# -- What was found, with reasons ----------------------------------------------------------------


def _alternatives(match: Match) -> tuple[dict[str, str], tuple[str, ...], list[str]]:
    """Name -> code, with codes that have no columns as alternatives of their own if not rare."""
    codes = dict(match.codes) or {a: a for a in match.family.alternatives}
    without: list[str] = []
    notes: list[str] = []
    for text, share in match.extra.items():
        if not _is_alternative(text, share):
            continue
        taken = {plain(a) for a in codes}
        name = text if not text.isdigit() and plain(text) not in taken else f"none_{text}"
        if text.isdigit() and "none" not in taken:
            name = "none" if match.family.is_unlabelled else f"other_{text}"
        codes[name] = text
        without.append(name)
        if not says(text, OPT_OUT_WORDS):
            notes.append(
                f"The choice has the code {text} in {100 * share:.0f}% of the rows, and no columns "
                f"belong to it: it is taken as an alternative '{name}' without attributes, such as "
                "'none of these'. If it means that the answer is missing, remove it from "
                "data.alternatives: its rows are then dropped."
            )
    return codes, tuple(without), notes


def _why_wide(match: Match) -> str:
    where = max(match.family.templates.values(), key=len)
    return f"columns come in families by alternative: {few(list(where.values()))}"


def _choice_finding(match: Match, others: tuple[str, ...], answers: Mapping[str, str]) -> Finding:
    if match.choice is None:
        return Finding(None, "no column has a code for each alternative", confidence=0.0)
    if answers.get("choice"):
        return Finding(match.choice.name, "as you said")
    named_so = says(match.choice.name, CHOICE_WORDS) > 0
    why = "it is called so and " if named_so else "its name does not say so, but "
    shown = few(match.choice.labels, 6)
    confidence = 1.0 if named_so else CHOICE_CONFIDENCE[match.how]
    return Finding(match.choice.name, f"{why}its values are {shown}", others, confidence)


def _alternatives_finding(match: Match, by_availability: bool, by_values: bool) -> Finding:
    if match.choice is None:
        return Finding(None, "codes are not known, as the choice is not", confidence=0.0)
    found = _codes_finding(match, by_availability, by_values)
    unexplained = [code for code, share in match.extra.items() if _is_alternative(code, share)]
    if unexplained and not match.family.is_unlabelled and not says(unexplained[0], OPT_OUT_WORDS):
        why = f"{found.why}; no columns belong to the code {few(unexplained)}"
        return replace(found, why=why, confidence=min(found.confidence, UNEXPLAINED_CONFIDENCE))
    return found


def _codes_finding(match: Match, by_availability: bool, by_values: bool) -> Finding:
    if match.how == "name":
        return Finding("name", "the choice holds their names")
    if match.how == "word":
        return Finding("word", "every code has the name of one alternative in it")
    if match.how == "number":
        return Finding("number", "the code is the number in the name of the columns")
    if by_availability:
        why = (
            "names come from the columns; with this order nobody chose an alternative that was "
            "not available"
        )
        return Finding("order", why, confidence=0.7)
    if by_values:
        why = (
            "names come from the columns; with this order people tend to choose what costs them "
            "less money and time"
        )
        return Finding("order", why, confidence=VALUES_CONFIDENCE)
    why = "names come from the columns; codes are matched in the order of the columns"
    return Finding("order", why, confidence=0.5)


def _is_alternative(code: str, share: float) -> bool:
    """Whether a code without columns is an alternative rather than a slip or a missing answer."""
    return share >= MIN_CODE_SHARE and not code.startswith("-")


def _availability_finding(match: Match, available: str | dict[str, str] | None) -> Finding:
    if available is None:
        return Finding(None, "no columns such as AV_x or x_AV with 0 and 1")
    shown = available if isinstance(available, str) else ", ".join(available.values())
    return Finding(shown, "it is called so and holds only 0 and 1")
