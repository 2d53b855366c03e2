"""Alternatives in column names: ``TRAIN_TT, SM_TT, CAR_TT`` are TT of TRAIN, SM and CAR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from ardchoice.data import recognised_kind
from ardchoice.settings.guess.words import (
    AVAILABLE_WORDS,
    UNLABELLED_WORDS,
    UNLIKED_WORDS,
    pieces,
    plain,
    says,
    unlike_others,
)

MAX_ALTERNATIVE_WORDS = 3
"""Words that the name of an alternative may have in a column's name."""
MAX_INTERSECTED_SETS = 150
"""Sets of words of which every two are intersected, the smallest first."""
MIN_GLUED_LETTERS = 3
"""Letters of an alternative that is recognised at the end of a name without a separator."""
MAX_ALTERNATIVE_SETS = 100
"""Sets of alternatives looked at, those with the most columns first."""

CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
"""Bracket that opens -> bracket that closes."""

Template = tuple[str, str]
"""What stands before and after the alternative in a column's name."""


@dataclass(frozen=True)
class Family:
    """A set of alternatives and the columns that name them.

    Attributes
    ----------
    alternatives
        In the order of their first column.
    templates
        What stands around the alternative -> alternative -> column.
    """

    alternatives: tuple[str, ...]
    templates: dict[Template, dict[str, str]]

    @property
    def columns(self) -> set[str]:
        """All columns that belong to an alternative."""
        return {c for where in self.templates.values() for c in where.values()}

    @property
    def apart(self) -> tuple[str, ...]:
        """Alternatives unlike the others: none of these, the status quo."""
        return unlike_others(self.alternatives)[1]

    @property
    def is_unlabelled(self) -> bool:
        """Whether names only number the alternatives: 1, 2, 3; alt1, alt2; A, B."""
        return unlike_others(self.alternatives)[0]


def find_families(names: Sequence[str]) -> list[Family]:
    """Sets of alternatives that column names could be about, those with the most columns first."""
    cuts = _cuts(names)
    sets: dict[frozenset[str], int] = {}
    for where in cuts.values():
        if len(where) > 1:
            key = frozenset(where)
            sets[key] = sets.get(key, 0) + len(where)
    # Words of one template may be more than alternatives: what several have in common is less.
    several = sorted({frozenset(w) for w in cuts.values() if len(w) > 1}, key=len)
    for one, two in combinations(several[:MAX_INTERSECTED_SETS], 2):
        common = one & two
        if len(common) > 1:
            sets.setdefault(common, 2 * len(common))
    for together in (_union(cuts, 0), _union(cuts, 1)):
        if together:
            sets.setdefault(together, len(together))
    best = sorted(sets, key=lambda s: -sets[s])[:MAX_ALTERNATIVE_SETS]
    families = [family_of(alternatives, names, cuts) for alternatives in best]
    return sorted(families, key=lambda f: -len(f.columns))


def family_of(
    alternatives: Iterable[str],
    names: Sequence[str],
    cuts: dict[Template, dict[str, str]] | None = None,
) -> Family:
    """The columns of given alternatives."""
    cuts = _cuts(names) if cuts is None else cuts
    inside = set(alternatives)
    found = {
        template: {a: c for a, c in where.items() if a in inside}
        for template, where in cuts.items()
    }
    # A column belongs to one attribute: to the one that most alternatives have.
    taken: set[str] = set()
    templates: dict[Template, dict[str, str]] = {}
    for template, where in sorted(found.items(), key=lambda t: (-len(t[1]), t[0])):
        free = {a: c for a, c in where.items() if c not in taken}
        if free:
            taken |= set(free.values())
            templates[template] = free
    position = {name: i for i, name in enumerate(names)}
    order = sorted(templates, key=lambda t: min(position[c] for c in templates[t].values()))
    templates = {t: templates[t] for t in order}
    return Family(_usual_order(inside, templates, position), templates)


def _usual_order(
    inside: set[str], templates: dict[Template, dict[str, str]], position: dict[str, int]
) -> tuple[str, ...]:
    """Alternatives in the order in which most attributes have their columns."""
    votes = Counter(
        tuple(sorted(where, key=lambda a: position[where[a]]))
        for template, where in templates.items()
        # Availability is often added later, in an order of its own.
        if not says(attribute_name(template), AVAILABLE_WORDS)
    )
    first = max(votes, key=lambda order: (len(order), votes[order]), default=())
    known = [a for where in templates.values() for a in where]
    rest = sorted(inside - set(first), key=lambda a: known.index(a) if a in known else -1)
    return (*first, *(a for a in rest if a in known))


def _cuts(names: Sequence[str]) -> dict[Template, dict[str, str]]:
    """Every way to take some words of a name for the alternative: template -> it -> column."""
    out: dict[Template, dict[str, str]] = {}
    for name in names:
        parts = pieces(name)
        for i, first in enumerate(parts):
            if not first[0].isalnum():
                continue
            for j in range(i + 1, min(i + 2 * MAX_ALTERNATIVE_WORDS, len(parts) + 1)):
                if not parts[j - 1][0].isalnum():
                    continue
                whole = _with_brackets("".join(parts[i:j]), "".join(parts[j:]))
                if whole is None:
                    continue
                alternative, after = whole
                template = ("".join(parts[:i]), after)
                if any(c.isalnum() for part in template for c in part):
                    out.setdefault(template, {})[alternative] = name
    return out


def _with_brackets(text: str, after: str) -> tuple[str, str] | None:
    """Some words and what follows, with the bracket that closes one of theirs among the words.

    ``Bus (express`` and ``)_time`` are ``Bus (express)`` and ``_time``; None where a bracket is
    open that is not closed next, or closed that is not open.
    """
    waiting: list[str] = []
    for c in text:
        if c in CLOSED_BY:
            waiting.append(CLOSED_BY[c])
        elif c in CLOSED_BY.values() and (not waiting or waiting.pop() != c):
            return None
    closing = "".join(reversed(waiting))
    if not after.startswith(closing):
        return None
    return text + closing, after[len(closing) :]


def glued_family(labels: Sequence[str], names: Sequence[str]) -> Family | None:
    """Alternatives whose names the choice holds, with no separator: ``pboat, pbeach, cboat``.

    A letter before or behind them is an attribute where every alternative has it; None where none
    is.
    """
    known = [text for text in labels if len(plain(text)) >= MIN_GLUED_LETTERS]
    if len(known) < len(labels) or any(plain(text).isdigit() for text in known):
        return None
    cuts: dict[Template, dict[str, str]] = {}
    for name in names:
        small = name.casefold()
        for text in known:
            k = len(text)
            if len(name) <= k:
                continue
            if small.endswith(text.casefold()):
                cuts.setdefault((name[:-k], ""), {})[name[-k:]] = name
            if small.startswith(text.casefold()):
                cuts.setdefault(("", name[k:]), {})[name[:k]] = name
    whole = {template: where for template, where in cuts.items() if len(where) == len(known)}
    if not whole:
        return None
    inside = Counter(frozenset(where) for where in whole.values()).most_common(1)[0][0]
    return family_of(
        inside, names, {t: where for t, where in whole.items() if set(where) == inside}
    )


def _union(cuts: dict[Template, dict[str, str]], side: int) -> frozenset[str]:
    """All that stands at one end of names, where at least two share the rest."""
    return frozenset(
        a
        for template, where in cuts.items()
        if not template[side] and len(where) > 1
        for a in where
        if len(pieces(a)) == 1
    )


def attribute_name(template: Template) -> str:
    """What a template is about: ``{alt}_TT`` -> TT, ``alt{alt}_price`` -> price."""
    before = template[0].strip("_.- :/").rstrip(" ([{")
    after = template[1].strip("_.- :/").lstrip(")]} ")
    parts = [p for p in (before, after) if p]
    if len(parts) == 2 and plain(parts[0]) in UNLABELLED_WORDS:
        parts = parts[1:]
    return "_".join(parts)


def pattern_of(template: Template) -> str:
    """As a study file writes it."""
    return f"{template[0]}{{alt}}{template[1]}"


def _part_names(family: Family) -> int:
    """Alternatives with a single column whose name has that of another: ``PT``, ``marginal PT``."""
    counts = Counter(a for where in family.templates.values() for a in where)
    split = {a: {w.casefold() for w in pieces(a) if w[0].isalnum()} for a in family.alternatives}
    return sum(
        counts[a] == 1 and counts[b] > 1 and split[b] < split[a]
        for a in family.alternatives
        for b in family.alternatives
    )


def plausibility(family: Family) -> float:
    """How much alternatives sound like alternatives rather than like attributes or people."""
    n = len(family.alternatives)
    bad = sum(bool(says(a, AVAILABLE_WORDS) or says(a, UNLIKED_WORDS)) for a in family.alternatives)
    good = sum(
        bool(says(attribute_name(t), AVAILABLE_WORDS) or says(attribute_name(t), UNLIKED_WORDS))
        for t, where in family.templates.items()
        if len(where) > 1
    )
    # Money, time, waits and changes of every alternative are what choices are about.
    known = sum(
        recognised_kind(attribute_name(t)) is not None
        for t, where in family.templates.items()
        if len(where) > 1
    )
    # A word that stands alone between separators, rather than TIME in TIME1.
    alone = sum(not (t[0][-1:].isalnum() or t[1][:1].isalnum()) for t in family.templates) / max(
        len(family.templates), 1
    )
    # Envir01, Envir02, Mobil01, Mobil02 are items of a questionnaire, not attributes 01 and 02.
    items = sum(attribute_name(t).isdigit() for t in family.templates) / max(
        len(family.templates), 1
    )
    return (
        -4.0 * bad / max(n, 1)
        - 2.0 * _part_names(family)
        + 1.0 * min(good, 2) / 2
        + 0.3 * alone
        - 6.0 * items
        + 1.5 * min(known, 2)
    )
