"""The attributes of a wide table: families of columns, and columns of single alternatives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ardchoice.data import Kind, recognised_kind
from ardchoice.settings.guess.families import Family, Template, attribute_name, pattern_of
from ardchoice.settings.guess.people import is_code, is_place
from ardchoice.settings.guess.profile import Column, named
from ardchoice.settings.guess.roles import Variable
from ardchoice.settings.guess.values import without_own_level
from ardchoice.settings.guess.words import NUMBER_OF_WORDS, people_rank, words

MAX_LISTED_COLUMNS = 12
"""Columns of an attribute that are listed one by one."""


def wide_attributes(
    family: Family,
    templates: Mapping[Template, dict[str, str]],
    columns: Sequence[Column],
    alternatives: Mapping[str, str],
) -> tuple[Variable, ...]:
    """The attributes of these templates, with the columns of every alternative.

    Parameters
    ----------
    family
        The columns by alternative.
    templates
        Template -> alternative -> column.
    columns
        Of the table.
    alternatives
        Name -> code.
    """
    out: list[Variable] = []
    taken: set[str] = set()
    templates, joined = complementary(templates, len(family.alternatives))
    for template, where in templates.items():
        if describes_people(template, where, family, columns):
            continue
        each = [c for c in (named(columns, name) for name in where.values()) if c is not None]
        if all(c.missing == c.rows for c in each):
            continue
        # A plain name needs no back quotes in terms and scenarios.
        name = re.sub(r"_*\W+_*", "_", attribute_name(template)).strip("_") or pattern_of(template)
        while name in taken:
            name += "_"
        taken.add(name)
        constant = ""
        if not all(c.numeric for c in each) and not family.is_unlabelled:
            where, constant = without_own_level(where, columns)
            each = [c for c in each if c.name in where.values()]
        # Where an alternative has no such column the pattern does too, but with a warning.
        complete = set(where) == set(alternatives) or len(where) > MAX_LISTED_COLUMNS
        complete &= template not in joined
        how: dict[str, object] = {"column": pattern_of(template) if complete else dict(where)}
        why = f"columns {few(list(where.values()))}"
        if template in joined:
            why += f": each is {joined[template]} that only one alternative has"
        if len(where) == 1 and len(family.alternatives) > 1:
            only = next(iter(where))
            why += f"; only {only} has it. If it describes the person, make it a covariate"
        levels = 1
        if not all(c.numeric for c in each):
            how["kind"] = "categorical"
            labels = {text for c in each for text in c.labels}
            levels = max(len(labels) - 1, 1)
            why += f"; text, {len(labels)} levels{constant}"
        out.append(Variable(name, how, why, levels))
    return tuple(out)


def complementary(
    templates: Mapping[Template, dict[str, str]], n_alternatives: int
) -> tuple[dict[Template, dict[str, str]], dict[Template, Kind]]:
    """Columns of one kind that single alternatives have, taken for one attribute of them all.

    ``MarginalCostPT`` and ``CostCarCHF`` are money, each of another alternative: together they are
    one attribute under the first name. Only where every kind has just one column per alternative;
    two waiting times of one alternative stay apart.
    """
    singles: dict[Kind, list[Template]] = {}
    for template, where in templates.items():
        kind = recognised_kind(attribute_name(template))
        if len(where) == 1 and kind is not None:
            singles.setdefault(kind, []).append(template)
    out, joined = dict(templates), {}
    for kind, each in singles.items():
        places = [next(iter(templates[t])) for t in each]
        if len(each) == n_alternatives > 1 and len(set(places)) == len(places):
            out[each[0]] = {a: c for t in each for a, c in templates[t].items()}
            for other in each[1:]:
                del out[other]
            joined[each[0]] = kind
    return out, joined


def describes_people(
    template: Template, where: Mapping[str, str], family: Family, columns: Sequence[Column]
) -> bool:
    """Whether a column that only one alternative has describes people: ``NbCar``, ``CarAvail``.

    So it is unless it is called like money, time, waiting or changes or is no count or code, as
    long as other columns come in whole families: where nothing separates the alternative from the
    rest of the name; where alternatives are only numbered; where it is called like a fact about
    people, or has negative codes, as answers to a questionnaire have.
    """
    if len(where) > 1 or not any(len(w) > 1 for w in family.templates.values()):
        return False
    column = named(columns, next(iter(where.values())))
    if column is None or (column.numeric and not column.whole):
        return False
    if recognised_kind(attribute_name(template)) is not None:
        return False
    attached = template[0][-1:].isalnum() or template[1][:1].isalnum()
    coded = column.numeric and column.low < 0
    name = attribute_name(template)
    about = people_rank(name) is not None or is_code(name) or is_place(name)
    about |= bool(words(name)) and set(words(name)) <= NUMBER_OF_WORDS
    return attached or family.is_unlabelled or coded or about


def few(items: Sequence[str], limit: int = 4) -> str:
    """The first of some names, and how many there are."""
    shown = ", ".join(str(i) for i in items[:limit])
    return shown + (f", ... ({len(items)})" if len(items) > limit else "")
