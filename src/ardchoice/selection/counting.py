"""How many valid sets of terms there are of every size.

Constraints fall into components that do not touch each other (an attribute of an alternative, say,
with its forms and interactions). Within one, a term that needs nothing is taken in or not,
what it excludes leaves and what needed it may enter, until only terms are left that nothing
concerns: m of these make C(m, k) sets of k. Sizes of independent components add, so that their
counts convolve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.selection.constraints import Constraints
from ardchoice.selection.criterion import log_combinations

MOST_BRANCHES = 20_000
"""Of all components together: beyond them, what is left of one is counted as if nothing forbade
anything there."""
LARGEST_SET = 300
"""Terms up to which sets are counted."""

Clauses = Mapping[int, frozenset[frozenset[int]]]


@dataclass
class _Budget:
    branches: int = MOST_BRANCHES


def log_valid_sets(constraints: Constraints) -> Floats:
    """Ln of the number of valid sets with q = 0, 1, … terms, minus infinity for none.

    Terms of the textbook, which the search need not find, do not count in q.
    Limits on the number of terms or coefficients are not looked at: they take sizes away, not sets
    of a size.
    """
    # Partners are in or out together: each group is one term of several.
    leader = {t: min(group) for t, group in enumerate(constraints.partners)}
    size: dict[int, int] = {}
    for t, first in leader.items():
        size[first] = size.get(first, 0) + int(t not in constraints.textbook)
    forced = {leader[t] for t in constraints.forced}
    free = {leader[t] for t in range(len(leader)) if t not in constraints.impossible} - forced
    needs: dict[int, set[frozenset[int]]] = {t: set() for t in free}
    conflicts: dict[int, set[int]] = {t: set() for t in free}
    for t, first in leader.items():
        if first not in free:
            continue
        for clause in constraints.needs[t]:
            members = {leader[u] for u in clause}
            if not members & (forced | {first}):
                needs[first].add(frozenset(members & free))
        conflicts[first] |= {leader[u] for u in constraints.conflicts[t]} & free
    problem = _Problem(conflicts, size, _Budget())
    counts = problem.count(frozenset(free), {t: frozenset(c) for t, c in needs.items()})
    always = sum(size[t] for t in forced)
    return np.concatenate([np.full(always, -np.inf), counts])[: LARGEST_SET + always + 1]


@dataclass(frozen=True)
class _Problem:
    conflicts: Mapping[int, set[int]]
    size: Mapping[int, int]
    budget: _Budget

    def count(self, free: frozenset[int], needs: Clauses) -> Floats:
        """Ln of the number of valid subsets of some terms, by size."""
        # What needs something that is gone is gone too.
        while gone := {t for t in free if any(not clause & free for clause in needs[t])}:
            free = free - gone
        needs = {t: frozenset(clause & free for clause in needs[t]) for t in free}
        out, alone = np.zeros(1), 0
        for part in self._components(free, needs):
            if len(part) == 1:
                (t,) = part
                if self.size[t] == 1:
                    alone += 1
                    continue
            out = _convolve(out, self._branch(frozenset(part), needs))
        return _convolve(out, log_combinations(alone, np.arange(min(alone, LARGEST_SET) + 1)))

    def _branch(self, part: frozenset[int], needs: Clauses) -> Floats:
        """A component: its most entangled term that needs nothing, in or out."""
        roots = [t for t in part if not needs[t]]
        self.budget.branches -= 1
        if not roots or self.budget.branches < 0:
            total = sum(self.size[t] for t in part)
            return log_combinations(total, np.arange(min(total, LARGEST_SET) + 1))
        dependents = dict.fromkeys(roots, 0)
        for clauses in (needs[u] for u in part):
            for t in {v for clause in clauses for v in clause} & dependents.keys():
                dependents[t] += 1
        t = max(roots, key=lambda r: (len(self.conflicts[r] & part) + dependents[r], -r))
        rest = part - {t}
        left_out = self.count(rest, {u: needs[u] for u in rest})
        able = rest - self.conflicts[t]
        met = {u: frozenset(clause for clause in needs[u] if t not in clause) for u in able}
        taken = np.concatenate([np.full(self.size[t], -np.inf), self.count(able, met)])
        return _add(left_out, taken)[: LARGEST_SET + 1]

    def _components(self, free: frozenset[int], needs: Clauses) -> list[set[int]]:
        """Terms that concern each other, directly or through others."""
        touches: dict[int, set[int]] = {t: self.conflicts[t] & free for t in free}
        for t in free:
            for u in {v for clause in needs[t] for v in clause}:
                touches[t].add(u)
                touches[u].add(t)
        out, left = [], set(free)
        while left:
            part, waiting = set(), [left.pop()]
            while waiting:
                t = waiting.pop()
                part.add(t)
                new = touches[t] & left
                left -= new
                waiting += new
            out.append(part)
        return out


def _add(a: Floats, b: Floats) -> Floats:
    out = np.full(max(len(a), len(b)), -np.inf)
    out[: len(a)] = a
    out[: len(b)] = np.logaddexp(out[: len(b)], b)
    return out


def _convolve(a: Floats, b: Floats) -> Floats:
    """Counts of unions, one set from either; logarithms of both."""
    if len(a) < len(b):
        a, b = b, a
    out = np.full(len(a) + len(b) - 1, -np.inf)
    for k, value in enumerate(b):
        if value > -np.inf:
            out[k : k + len(a)] = np.logaddexp(out[k : k + len(a)], a + value)
    return out[: LARGEST_SET + 1]
