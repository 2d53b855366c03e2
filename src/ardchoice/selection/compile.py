"""From a `Structure` and candidates to `Constraints`; contradictions are found here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ardchoice._types import Ints
from ardchoice.data import ChoiceData
from ardchoice.design import learn_encoding
from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.families import Family, Mnl, TermRules
from ardchoice.selection.constraints import Constraints
from ardchoice.selection.structure import Structure, listed
from ardchoice.space import Linear, SearchSpace, Term, Transform, matches, parse_factor


def compile_structure(structure: Structure | None, space: SearchSpace) -> Constraints:
    """Which sets of candidates are valid.

    Raises
    ------
    SpecificationError
        Rules that contradict one another, or that speak of terms that are no candidates.
    """
    if structure is not None and not isinstance(structure, Structure):
        raise SpecificationError(
            f"A structure is ac.Structure(...), or None for no rules at all; not {structure!r}."
        )
    structure = Structure.none() if structure is None else structure
    terms = space.terms
    _check_signs(structure, terms)
    conflicts = _conflicts(structure, terms)
    partners = _partners(structure, terms)
    needs = _needs(structure, terms)
    forced = _forced(structure, space)
    impossible, notes = _forbidden(structure, terms)
    _propagate(terms, needs, partners, conflicts, forced, impossible)
    constraints = Constraints(
        terms=terms,
        columns=np.asarray(space.columns) + _shape_counts(terms),
        forced=frozenset(forced),
        impossible=impossible,
        needs=tuple(needs),
        conflicts=tuple(conflicts),
        partners=tuple(partners),
        costs=_costs(structure, terms),
        textbook=_textbook(terms),
        max_terms=structure.max_terms,
        max_coefficients=structure.max_coefficients,
        why_forced=forced,
        notes=tuple(notes),
        _counterparts=_counterparts(terms),
    )
    least = constraints.least()
    broken = constraints.broken(least)
    if broken:
        inside = ", ".join(str(terms[t]) for t in sorted(least))
        raise SpecificationError(
            f"The rules contradict one another. What must be in ({inside}) breaks them: "
            + "; ".join(broken)
            + "."
        )
    return constraints


def with_family_rules(
    structure: Structure | None, family: Family, data: ChoiceData, space: SearchSpace
) -> Structure | None:
    """The structure with what a family demands of every specification.

    Raises
    ------
    SpecificationError
        Options of the family that fit neither the candidates nor the data.
    """
    if isinstance(family, Mnl):
        return structure
    candidates = learn_encoding(data, space.terms)
    family.must_fit(candidates, data)
    rules = family.selection_rules(candidates)
    if rules == TermRules():
        return structure
    given = Structure.none() if structure is None else structure
    force = dict.fromkeys((*listed(given.force), *rules.force))
    forbid = dict.fromkeys((*listed(given.forbid), *rules.forbid))
    return replace(given, force=tuple(force), forbid=tuple(forbid))


def _check_signs(structure: Structure, terms: Sequence[Term]) -> None:
    known = dict.fromkeys(t.what for t in terms if t.what is not None)
    for attribute in structure.given_signs:
        if attribute not in known:
            covariates = {name for t in terms for name in t.by}
            hint = (
                "It is a covariate; signs are of attributes of the alternatives."
                if attribute in covariates
                else did_you_mean(attribute, known)
            )
            raise SpecificationError(f"signs: no candidate uses an attribute {attribute!r}. {hint}")


def _matching(pattern: str, terms: Sequence[Term], rule: str) -> list[int]:
    found = [t for t, term in enumerate(terms) if matches(pattern, term)]
    if not found:
        names = [str(t) for t in terms]
        raise SpecificationError(
            f"{rule}: no candidate fits '{pattern}'. {did_you_mean(pattern, names)} A term that is "
            "not among the candidates comes in by SearchSpace(..., add=...)."
        )
    return found


def _single_term_group(rule: str, pattern: str) -> str:
    return (
        f"{rule}: the entry '{pattern}' is about one term only. An entry is a group of patterns: "
        f"{rule}=[('{pattern}', 'another')]."
    )


def _overlap(a: Term, b: Term) -> bool:
    return not a.where or not b.where or not set(a.where).isdisjoint(b.where)


def _conflicts(structure: Structure, terms: Sequence[Term]) -> list[dict[int, str]]:
    out: list[dict[int, str]] = [{} for _ in terms]
    by_attribute: dict[str, list[int]] = {}
    for t, term in enumerate(terms):
        if term.what is not None:
            by_attribute.setdefault(term.what, []).append(t)
    for members in by_attribute.values():
        for a, b in combinations(members, 2):
            why = _why_not_both(structure, terms[a], terms[b])
            if why is not None:
                out[a][b] = out[b][a] = why
    for entry in structure.exclusive:
        patterns = listed(entry)
        sets = [_matching(p, terms, "exclusive") for p in patterns]
        if len(sets) == 1 and len(sets[0]) == 1:
            raise SpecificationError(_single_term_group("exclusive", patterns[0]))
        why = " and ".join(f"'{p}'" for p in patterns) + " exclude each other"
        pairs = (
            combinations(sets[0], 2)
            if len(sets) == 1
            else ((a, b) for x, y in combinations(sets, 2) for a in x for b in y)
        )
        for a, b in pairs:
            if a != b:
                out[a][b] = out[b][a] = why
    return out


def _why_not_both(structure: Structure, a: Term, b: Term) -> str | None:
    """Why two terms of one attribute exclude each other; None where they do not."""
    if a.how != b.how:
        everywhere = structure.one_form == "everywhere"
        if structure.one_form and (everywhere or _overlap(a, b)):
            return "one form per attribute"
    elif structure.one_coefficient and set(a.by) == set(b.by) and _overlap(a, b):
        return "generic and alternative-specific coefficients exclude each other (one_coefficient)"
    return None


def _partners(structure: Structure, terms: Sequence[Term]) -> list[frozenset[int]]:
    group = [{t} for t in range(len(terms))]
    for entry in structure.together:
        merged = {t for p in listed(entry) for t in _matching(p, terms, "together")}
        if len(merged) == 1:
            raise SpecificationError(_single_term_group("together", listed(entry)[0]))
        merged |= {u for t in merged for u in group[t]}
        for t in merged:
            group[t] = merged
    return [frozenset(g) for g in group]


def _needs(structure: Structure, terms: Sequence[Term]) -> list[tuple[tuple[int, ...], ...]]:
    """For every interaction the terms with one covariate less, each a clause."""
    if not structure.heredity:
        return [() for _ in terms]
    by_content: dict[object, list[int]] = {}
    main: dict[str | None, list[int]] = {}
    for t, term in enumerate(terms):
        by_content.setdefault((term.what, term.how, frozenset(term.by)), []).append(t)
        if not term.by:
            main.setdefault(term.what, []).append(t)
    attributes = {term.what for term in terms}
    out = []
    for term in terms:
        clauses = []
        for name in term.by:
            less = frozenset(term.by) - {name}
            same = by_content.get((term.what, term.how, less), [])
            parents = [u for u in same if _covers(terms[u], term)]
            # The base alternative has no constant to need.
            if parents or term.what is not None or less:
                parents.sort(key=lambda u: terms[u].where != term.where)
                clauses.append(tuple(parents))
            other = parse_factor(name).name
            if term.what is not None and other in attributes:  # a product needs both
                clauses.append(tuple(u for u in main.get(other, []) if _covers(terms[u], term)))
        out.append(tuple(clauses))
    return out


def _covers(parent: Term, child: Term) -> bool:
    """Whether a term enters every alternative of another."""
    return not parent.where or (bool(child.where) and set(child.where) <= set(parent.where))


def _forced(structure: Structure, space: SearchSpace) -> dict[int, str]:
    terms = space.terms
    known = {term: t for t, term in enumerate(terms)}
    out = {known[term]: "forced by the space" for term in space.forced}
    if structure.constants:
        for t, term in enumerate(terms):
            if term.what is None and not term.by:
                out[t] = "constants stay"
    for pattern in listed(structure.force):
        for t in _matching(pattern, terms, "force"):
            out[t] = f"forced by '{pattern}'"
    return out


def _forbidden(structure: Structure, terms: Sequence[Term]) -> tuple[dict[int, str], list[str]]:
    """Forbidden term -> by what; and a note of every pattern that forbids nothing."""
    out: dict[int, str] = {}
    notes = []
    for pattern in listed(structure.forbid):
        found = [t for t, term in enumerate(terms) if matches(pattern, term)]
        if not found:
            notes.append(f"forbid: no candidate fits '{pattern}', so it forbids nothing.")
        for t in found:
            out.setdefault(t, f"forbidden by '{pattern}'")
    return out, notes


def _shape_counts(terms: Sequence[Term]) -> Ints:
    """Exponents and thresholds that every term adds to its coefficients.

    Terms with one form of an attribute share them: they are counted with the term without
    interactions, else with the first.
    """
    counts = np.zeros(len(terms), dtype=np.intp)
    seen: dict[Term, int] = {}
    for t, term in enumerate(terms):
        if term.how.shapes() and (term.main not in seen or not term.by):
            seen[term.main] = t
    for term, t in seen.items():
        counts[t] = len(term.how.shapes())
    return counts


def forbidding(constraints: Constraints, banned: Mapping[int, str]) -> Constraints:
    """The same rules where some terms, and those that need them, can never be in.

    Raises
    ------
    SpecificationError
        One of them must be in.
    """
    impossible, forced = {**constraints.impossible, **banned}, dict(constraints.why_forced)
    _propagate(
        constraints.terms,
        list(constraints.needs),
        list(constraints.partners),
        [dict(c) for c in constraints.conflicts],
        forced,
        impossible,
    )
    return replace(constraints, impossible=impossible, forced=frozenset(forced), why_forced=forced)


def _propagate(
    terms: Sequence[Term],
    needs: list[tuple[tuple[int, ...], ...]],
    partners: list[frozenset[int]],
    conflicts: list[dict[int, str]],
    forced: dict[int, str],
    impossible: dict[int, str],
) -> None:
    """What must be in pulls in what it needs; what can never be in takes others with it.

    Both grow in place until nothing changes. A term that ends in both is a contradiction.
    """
    while True:
        before = len(forced), len(impossible)
        for t in range(len(terms)):
            if t not in impossible:
                why = _why_impossible(t, terms, needs, partners, conflicts, forced, impossible)
                if why is not None:
                    impossible[t] = why
        for t in list(forced):
            for u in partners[t] - {t}:
                forced.setdefault(u, f"together with '{terms[t]}'")
            for clause in needs[t]:
                able = [u for u in clause if u not in impossible]
                # With several that would do, the choice is left to the search.
                if len(able) == 1 and able[0] not in forced:
                    forced[able[0]] = f"needed by '{terms[t]}'"
        for t in forced:
            if t in impossible:
                raise SpecificationError(
                    f"The rules contradict one another: '{terms[t]}' must be in "
                    f"({forced[t]}), but cannot be in ({impossible[t]}). Give up one of the two."
                )
        if before == (len(forced), len(impossible)):
            return


def _why_impossible(
    t: int,
    terms: Sequence[Term],
    needs: list[tuple[tuple[int, ...], ...]],
    partners: list[frozenset[int]],
    conflicts: list[dict[int, str]],
    forced: dict[int, str],
    impossible: dict[int, str],
) -> str | None:
    for clause in needs[t]:
        if not clause:
            return "it needs its main term, which is no candidate"
        if all(u in impossible for u in clause):
            return f"it needs '{terms[clause[0]]}', which is out: {impossible[clause[0]]}"
    for u, why in conflicts[t].items():
        if u in forced:
            return f"'{terms[u]}' must be in ({forced[u]}), and {why}"
        if u in partners[t]:
            return f"it goes together with '{terms[u]}', yet {why}"
    for u in partners[t]:
        if u in impossible:
            return f"it goes together with '{terms[u]}', which is out: {impossible[u]}"
    return None


def _costs(structure: Structure, terms: Sequence[Term]) -> npt.NDArray[np.float64]:
    """A price on forms other than linear where the linear one is a candidate; shape (T,)."""
    plain = {(t.where, t.what) for t in terms if t.how == Linear()}
    return np.array(
        [
            structure.linear_unless
            if t.how != Linear()
            and (t.where, t.what) in plain
            # With heredity the main term is_satisfied for the form; without, every term for itself.
            and not (structure.heredity and t.by)
            else 0.0
            for t in terms
        ]
    )


def _textbook(terms: Sequence[Term]) -> frozenset[int]:
    """Constants and generic linear attributes, where a space has such: no finds of a search.

    They are what a modeller estimates before searching anything, so that a criterion that charges
    for the size of the search does not charge for them: what is selected then has no higher BIC
    than the textbook model, unless that breaks a rule.
    """
    generic = {
        t
        for t, term in enumerate(terms)
        if term.what is not None and not (term.where or term.by) and term.how == Linear()
    }
    constants = {t for t, term in enumerate(terms) if term.what is None and not term.by}
    return frozenset(generic | constants if generic else ())


def _counterparts(terms: Sequence[Term]) -> dict[object, dict[Transform, int]]:
    out: dict[object, dict[Transform, int]] = {}
    for t, term in enumerate(terms):
        out.setdefault((term.where, term.what, term.by), {})[term.how] = t
        out.setdefault((term.where, term.what, ()), {}).setdefault(term.how, -1)
    # A form known from an interaction only has no main term.
    for forms in out.values():
        for how in [how for how, t in forms.items() if t < 0]:
            del forms[how]
    return out
