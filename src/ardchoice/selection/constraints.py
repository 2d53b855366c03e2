"""A structure met with candidates: which sets of terms are valid, and how to stay among them.

A set of terms is a frozenset of positions in the space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ardchoice._types import Bools
from ardchoice.space import Term, Transform

TermSet = frozenset[int]


def bits(terms: Iterable[int]) -> int:
    """A set of terms as the bits of one number: rules are checked a million times."""
    out = 0
    for t in terms:
        out |= 1 << int(t)
    return out


@dataclass(frozen=True, eq=False)
class _Rules:
    """The rules as bits."""

    forced: int
    impossible: int
    conflicts: list[int]
    partners: list[int]
    needs: list[tuple[int, ...]]
    dependents: list[int]

    def is_satisfied(self, t: int, inside: int) -> bool:
        """Whether a term has all it needs."""
        if self.partners[t] & ~inside:
            return False
        for clause in self.needs[t]:  # noqa: SIM110 - a million times, and all() takes twice as long
            if not clause & inside:
                return False
        return True


@dataclass(frozen=True, eq=False)
class Constraints:
    """What every selected set of T candidate terms obeys.

    Attributes
    ----------
    terms
    columns
        How many each term has; shape (T,).
    forced
        Terms that are always in, those they need included.
    why_forced
        Forced term -> why.
    impossible
        Term -> why it can never be in.
    needs
        For every term some clauses: of each, at least one must be in when the term is.
    conflicts
        For every term those that cannot be in with it, and why.
    partners
        For every term those that are in when it is, and out when it is out.
    costs
        What every term adds to a criterion besides its columns; shape (T,).
    textbook
        Terms that do not count as finds of the search: see `searched`.
    max_terms, max_coefficients
    notes
        On rules that have no effect, a sentence each.
    """

    terms: tuple[Term, ...]
    columns: npt.NDArray[np.intp]
    forced: TermSet
    impossible: Mapping[int, str]
    needs: tuple[tuple[tuple[int, ...], ...], ...]
    conflicts: tuple[Mapping[int, str], ...]
    partners: tuple[TermSet, ...]
    costs: npt.NDArray[np.float64]
    textbook: TermSet = frozenset()
    max_terms: int | None = None
    max_coefficients: int | None = None
    why_forced: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    _counterparts: dict[object, dict[Transform, int]] = field(default_factory=dict, repr=False)

    # -- What holds ---------------------------------------------------------------------------

    def broken(self, selected: Iterable[int]) -> list[str]:
        """What a set of terms violates, a sentence each; empty when it is valid."""
        inside = frozenset(selected)
        out = [f"'{self.terms[t]}' must be in" for t in sorted(self.forced - inside)]
        for t in sorted(inside):
            name = f"'{self.terms[t]}'"
            if t in self.impossible:
                out.append(f"{name} cannot be in: {self.impossible[t]}")
            for clause in self.needs[t]:
                if inside.isdisjoint(clause):
                    out.append(f"{name} needs '{self.terms[clause[0]]}'")
            out += [
                f"{name} and '{self.terms[u]}' cannot be in together: {why}"
                for u, why in self.conflicts[t].items()
                if u in inside and u > t
            ]
            missing = self.partners[t] - inside
            out += [f"{name} needs its partner '{self.terms[u]}'" for u in sorted(missing)]
        if self.max_terms is not None and len(inside) > self.max_terms:
            out.append(f"{len(inside)} terms are more than max_terms={self.max_terms}")
        if self.max_coefficients is not None and self.count(inside) > self.max_coefficients:
            count = self.count(inside)
            most = self.max_coefficients
            out.append(f"{count} coefficients are more than max_coefficients={most}")
        return out

    def is_valid(self, selected: TermSet) -> bool:
        """Whether a set of terms obeys every rule."""
        rules, inside = self._rules, bits(selected)
        if rules.forced & ~inside or rules.impossible & inside:
            return False
        for t in selected:
            if rules.conflicts[t] & inside or not rules.is_satisfied(t, inside):
                return False
        return self.within_limits(selected)

    def valid_among(self, sets: Iterable[TermSet], selected: TermSet) -> list[TermSet]:
        """Those of some sets that obey every rule, each once, but for the valid one they are near.

        Only what a set has more or less than that one is looked at.
        """
        rules, here = self._rules, bits(selected)
        out = []
        for other in dict.fromkeys(sets):
            new, gone = other - selected, selected - other
            if not (new or gone) or not self.forced.isdisjoint(gone):
                continue
            inside, affected = here, 0
            for t in gone:
                inside ^= 1 << t
                affected |= rules.dependents[t]
            for t in new:
                inside |= 1 << t
                affected |= 1 << t
            affected &= inside
            if (
                not rules.impossible & inside
                and not any(rules.conflicts[t] & inside for t in new)
                and (
                    not affected
                    or all(rules.is_satisfied(t, inside) for t in other if affected >> t & 1)
                )
                and self.within_limits(other)
            ):
                out.append(other)
        return out

    def count(self, selected: Iterable[int]) -> int:
        """Coefficients of a set of terms."""
        return sum(map(self._sizes.__getitem__, selected))

    def searched(self, selected: TermSet) -> int:
        """How many terms of a set the search had to find: all but those of the textbook."""
        return len(selected) - len(selected & self.textbook)

    @cached_property
    def searched_columns(self) -> npt.NDArray[np.intp]:
        """Columns of every candidate that the search has to find."""
        found = np.ones(len(self.terms), dtype=bool)
        found[list(self.textbook)] = False
        return self.columns[found]

    @cached_property
    def is_searched(self) -> npt.NDArray[np.intp]:
        """1 for every term that the search has to find, 0 for those of the textbook; (T,)."""
        return np.array([int(t not in self.textbook) for t in range(len(self.terms))])

    def cost(self, selected: Iterable[int]) -> float:
        """What a set of terms adds to a criterion besides its coefficients."""
        return sum(map(self._prices.__getitem__, selected), 0.0)

    def within_limits(self, selected: TermSet) -> bool:
        """Whether it is small enough."""
        return (self.max_terms is None or len(selected) <= self.max_terms) and (
            self.max_coefficients is None or self.count(selected) <= self.max_coefficients
        )

    # -- One term in, one term out --------------------------------------------------------------

    def addable(self, selected: TermSet) -> Bools:
        """Which terms can come in just like that; shape (T,)."""
        mask = self._possible.copy()
        mask[list(selected)] = False
        for t in selected:
            mask[self._conflict_lists[t]] = False
        if len(self._owners):
            inside = np.zeros(len(self.terms))
            inside[list(selected)] = 1.0
            mask[self._owners[self._clauses @ inside == 0]] = False
        for t in self._partnered:
            if not self.partners[t] - {t} <= selected:
                mask[t] = False
        if self.max_terms is not None and len(selected) >= self.max_terms:
            mask[:] = False
        if self.max_coefficients is not None:
            mask &= self.columns <= self.max_coefficients - self.count(selected)
        return mask

    def without(self, selected: TermSet, out: Iterable[int]) -> TermSet | None:
        """A valid set without some terms and what cannot stand alone then; None if never."""
        rules, dropped, left = self._rules, list(out), selected
        while dropped:
            left = left.difference(dropped)
            inside, affected = bits(left), 0
            for t in dropped:
                affected |= rules.dependents[t]
            # Nothing can fall but what leans on those that left.
            affected &= inside
            dropped = [t for t in left if affected >> t & 1 and not rules.is_satisfied(t, inside)]
        return left if self.forced <= left else None

    def needed(self, selected: TermSet, t: int) -> TermSet | None:
        """What must come in for a term to be in, itself included; None if it never can."""
        new: set[int] = set()
        waiting = [t]
        while waiting:
            u = waiting.pop()
            if u in selected or u in new:
                continue
            if u in self.impossible or not new.isdisjoint(self.conflicts[u]):
                return None
            new.add(u)
            waiting += self.partners[u] - {u}
            for clause in self.needs[u]:
                if selected.isdisjoint(clause) and new.isdisjoint(clause):
                    able = [c for c in clause if c not in self.impossible]
                    if not able:
                        return None
                    waiting.append(able[0])
        return frozenset(new)

    # -- Sets of terms --------------------------------------------------------------------------

    def completions(self, selected: TermSet, t: int) -> list[TermSet]:
        """Valid sets with a term that cannot come in just like that.

        What it needs comes in with it. What it excludes leaves, or takes on the new form.
        """
        new = self.needed(selected, t)
        if new is None:
            return []
        rivals = {u for v in new for u in self.conflicts[v] if u in selected}
        out = []
        left = self.without(selected, rivals)
        if left is not None:
            out.append(left | new)
        if rivals:
            forms = {self.terms[v].how for v in new}
            counterparts = {self.counterpart(u, how) for u in rivals for how in forms}
            out.append(
                selected.difference(rivals) | new | {u for u in counterparts if u is not None}
            )
        return self.valid_among(out, selected)

    def reshaped(self, selected: TermSet) -> list[TermSet]:
        """Valid sets in which an attribute takes another form, with all its interactions."""
        families: dict[object, list[int]] = {}
        for t in selected:
            term = self.terms[t]
            if term.what is not None:
                families.setdefault((term.where, term.what, term.how), []).append(t)
                families.setdefault((term.what, term.how), []).append(t)
        out = []
        for members in families.values():
            other = {how for t in members for how in self._forms(t)}
            for how in other - {self.terms[members[0]].how}:
                counterparts = (self.counterpart(t, how) for t in members)
                new = selected.difference(members) | {t for t in counterparts if t is not None}
                out.append(new)
        return self.valid_among(out, selected)

    def reformed(self, selected: TermSet, terms: Iterable[int]) -> list[TermSet]:
        """Valid sets in which one of some terms takes another form."""
        out = []
        for t in terms:
            counterparts = (self.counterpart(t, how) for how in self._forms(t))
            out += [
                selected - {t} | {u} for u in counterparts if u is not None and u not in selected
            ]
        return self.valid_among(out, selected)

    def regrouped(self, selected: TermSet) -> list[TermSet]:
        """Valid sets in which a shared coefficient is split by alternative, or joined again."""
        out = []
        for members in self._by_content.values():
            shared = [t for t in members if len(self.terms[t].where) != 1]
            single = frozenset(members).difference(shared)
            if not shared or not single or selected.isdisjoint(members):
                continue
            rest = selected.difference(members)
            out += [rest | {t} for t in shared if t not in selected] + [rest | single]
        out += self._regrouped_with_interactions(selected)
        return self.valid_among(out, selected)

    def _regrouped_with_interactions(self, selected: TermSet) -> list[TermSet]:
        """The same for an attribute with all its interactions, which need their main terms."""
        families: dict[object, list[int]] = {}
        for t in selected:
            term = self.terms[t]
            if term.what is not None:
                families.setdefault((term.what, term.how), []).append(t)
        out = []
        for members in families.values():
            if len(members) < 2:
                continue
            rest = selected.difference(members)
            for want_shared in (True, False):
                moved: set[int] = set()
                for t in members:
                    term = self.terms[t]
                    same = self._by_content[term.what, term.how, frozenset(term.by)]
                    moved.update(u for u in same if (len(self.terms[u].where) != 1) == want_shared)
                out.append(rest | moved)
        return out

    def bundled(self, selected: TermSet) -> list[TermSet]:
        """Valid sets with a covariate interacted in several places at once, or in none of them.

        What a covariate does often shows only when it may act on several alternatives, or on
        several attributes, together: one such interaction alone gains nothing. The bundles are all
        interactions with a covariate of one attribute, of one alternative, and all there are, in
        the forms that are in.
        """
        forms = {(self.terms[t].where, self.terms[t].what, self.terms[t].how) for t in selected}
        bundles: dict[object, set[int]] = {}
        for form in forms:
            for t in self._by_form[form]:
                term = self.terms[t]
                if len(term.by) == 1 and t not in self.impossible:
                    for key in ((term.what, None), (None, term.where), (None, None)):
                        bundles.setdefault((term.by, key), set()).add(t)
        out = []
        for bundle in bundles.values():
            if len(bundle - selected) > 1:
                out.append(selected | bundle)
            if len(bundle & selected) > 1:
                left = self.without(selected, bundle)
                out += [] if left is None else [left]
        return self.valid_among(out, selected)

    def least(self) -> TermSet:
        """The forced terms and what they need: a smallest valid set, if there is any."""
        return self._least

    @cached_property
    def _least(self) -> TermSet:
        found = self._completed(self.forced)
        return self.forced if found is None else found

    def _completed(self, selected: TermSet) -> TermSet | None:
        """A set with what its terms need, trying every way where there are several."""
        for t in sorted(selected):
            for clause in (*self.needs[t], *((u,) for u in self.partners[t])):
                if not selected.isdisjoint(clause):
                    continue
                ways = [u for u in clause if u not in self.impossible]
                # Whoever serves several terms first: it makes the smallest set.
                ways.sort(key=lambda u: -self._serves(u, selected))
                for u in ways:
                    if selected.isdisjoint(self.conflicts[u]):
                        found = self._completed(selected | {u})
                        if found is not None:
                            return found
                return None
        return selected if self.within_limits(selected) else None

    def _serves(self, u: int, selected: TermSet) -> int:
        return sum(u in clause for t in selected for clause in self.needs[t])

    def build(self, strength: npt.NDArray[np.float64], wanted: Iterable[int]) -> TermSet:
        """A valid set from wanted terms: strongest form first, each with what it needs.

        Parameters
        ----------
        strength
            Of every term; shape (T,).
        wanted
            Terms to take where the rules allow.
        """
        wanted = [int(t) for t in wanted if int(t) not in self.impossible]
        family: dict[object, float] = {}
        for t in wanted:
            term = self.terms[t]
            key = (term.where, term.what, term.how)
            family[key] = family.get(key, 0.0) + float(strength[t])

        def rank(t: int) -> tuple[float, float]:
            term = self.terms[t]
            return -family[(term.where, term.what, term.how)], -float(strength[t])

        selected = self.least()
        for t in sorted(wanted, key=rank):
            new = self.needed(selected, t)
            if new is None or any(not selected.isdisjoint(self.conflicts[u]) for u in new):
                continue
            if self.within_limits(selected | new):
                selected |= new
        return selected

    def counterpart(self, t: int, how: Transform) -> int | None:
        """The same term in another form, if it is a candidate that can be in."""
        term = self.terms[t]
        found = self._counterparts.get((term.where, term.what, term.by), {}).get(how)
        return None if found is None or found in self.impossible else found

    def _forms(self, t: int) -> Iterable[Transform]:
        term = self.terms[t]
        return self._counterparts[(term.where, term.what, ())] if term.what is not None else ()

    @cached_property
    def _rules(self) -> _Rules:
        return _Rules(
            bits(self.forced),
            bits(self.impossible),
            [bits(c) for c in self.conflicts],
            [bits(p) for p in self.partners],
            [tuple(bits(clause) for clause in needs) for needs in self.needs],
            self._dependents,
        )

    @cached_property
    def _dependents(self) -> list[int]:
        """For every term, as bits, those that need it or one of several like it."""
        out = [bits(p) for p in self.partners]
        for t, clauses in enumerate(self.needs):
            for clause in clauses:
                for u in clause:
                    out[u] |= 1 << t
        return out

    @cached_property
    def _sizes(self) -> list[int]:
        return [int(k) for k in self.columns]

    @cached_property
    def _prices(self) -> list[float]:
        return [float(c) for c in self.costs]

    # -- Arrays ---------------------------------------------------------------------------------

    @cached_property
    def _possible(self) -> Bools:
        mask = np.ones(len(self.terms), dtype=bool)
        mask[list(self.impossible)] = False
        return mask

    @cached_property
    def _conflict_lists(self) -> list[list[int]]:
        return [list(c) for c in self.conflicts]

    @cached_property
    def _partnered(self) -> list[int]:
        return [t for t, partners in enumerate(self.partners) if len(partners) > 1]

    @cached_property
    def _owners(self) -> npt.NDArray[np.intp]:
        return np.array([t for t, c in enumerate(self.needs) for _ in c], dtype=np.intp)

    @cached_property
    def _clauses(self) -> sparse.csr_array:
        clauses = [clause for needs in self.needs for clause in needs]
        row = np.repeat(np.arange(len(clauses)), [len(c) for c in clauses])
        column = np.array([c for clause in clauses for c in clause], dtype=np.intp)
        shape = (len(clauses), len(self.terms))
        return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)

    @cached_property
    def _by_form(self) -> dict[object, list[int]]:
        out: dict[object, list[int]] = {}
        for t, term in enumerate(self.terms):
            out.setdefault((term.where, term.what, term.how), []).append(t)
        return out

    @cached_property
    def _by_content(self) -> dict[object, list[int]]:
        out: dict[object, list[int]] = {}
        for t, term in enumerate(self.terms):
            out.setdefault((term.what, term.how, frozenset(term.by)), []).append(t)
        return out
