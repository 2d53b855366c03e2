"""Random coefficients confirmed by exact estimates: what quadratics miss, and what they take in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ardchoice.data import ChoiceData
from ardchoice.errors import IdentificationError, SeparationError
from ardchoice.estimation import Result, fit
from ardchoice.families import Mixed
from ardchoice.selection.joint.select import JointSelection
from ardchoice.selection.joint.tastes import RandomCandidate
from ardchoice.space import Specification, parse_term

WEAK_Z = 4.0
"""A standard deviation below so many standard errors is confirmed by a fit without it."""
PROMISING_Z = 1.0
"""Score statistic from which a candidate is tried exactly: quadratics underrate weak tastes."""
MOST_TRIED = 2
"""Candidates that are tried, the ones with the largest statistics."""


def confirm(data: ChoiceData, selection: JointSelection, *, family: Mixed) -> JointSelection:
    """Exact fits with and without the random coefficients that are in doubt.

    A random coefficient is worth ln(persons) in twice the log-likelihood.
    """
    if not selection.random:
        return selection
    price = float(np.log(selection.persons))
    gains = {c.name: c.gain for c in selection.candidates}
    random = selection.random
    weakest = sorted(random, key=lambda name: gains[name])
    best = None
    while best is None:
        try:
            best = _Model.of(data, selection, family, random)
        except IdentificationError:
            # Quadratics are always definite; the likelihood need not be.
            name, *weakest = weakest
            random = {k: v for k, v in random.items() if k != name}
            selection = _without(selection, name)
            if not random:
                return selection
    notes: dict[str, tuple[bool, float]] = {}
    # 1 · What exact estimates find weak leaves if the criterion falls without.
    for name in best.weak():
        rest = {k: v for k, v in best.random.items() if k != name}
        if not rest:
            continue
        try:
            without = _Model.of(data, selection, family, rest)
        except IdentificationError:
            continue
        gain = 2 * (best.loglik - without.loglik) - price
        notes[name] = (gain > 0, gain)
        if gain <= 0:
            best = without
    # 2 · What quadratics hardly see comes in if the criterion falls with it.
    for candidate in _promising(selection, best):
        try:
            added = {**best.random, candidate.name: candidate.distribution}
            with_it = _Model.of(data, selection, family, added)
        except IdentificationError:
            continue
        gain = 2 * (with_it.loglik - best.loglik) - price
        notes[candidate.name] = (gain > 0, gain)
        if gain > 0:
            best = with_it
    candidates = tuple(_noted(c, notes) for c in selection.candidates)
    return replace(selection, candidates=candidates)


@dataclass(frozen=True, eq=False)
class _Model:
    """Random coefficients and the estimates with them."""

    random: dict[str, str]
    result: Result

    @classmethod
    def of(
        cls, data: ChoiceData, selection: JointSelection, family: Mixed, random: dict[str, str]
    ) -> _Model:
        # In the order in which the study estimates them: nodes depend on it.
        order = [c.name for c in selection.candidates if c.name in random]
        random = {name: random[name] for name in order}
        named = replace(family, random=random)
        plain = Specification(selection.specification.terms)
        try:
            return cls(random, fit(data, plain, family=named))
        except SeparationError:
            return cls(random, fit(data, plain, family=named, separation="allow"))

    @property
    def loglik(self) -> float:
        return self.result.loglik

    def weak(self) -> list[str]:
        """Random coefficients whose standard deviation is hardly above zero, the weakest first."""
        frame = self.result.to_frame()
        z = (frame["estimate"] / frame["std_err"]).fillna(0.0)
        found = {name: float(z.get(f"sd({name})", 0.0)) for name in self.random}
        return sorted((n for n, value in found.items() if value < WEAK_Z), key=found.__getitem__)


def _without(selection: JointSelection, name: str) -> JointSelection:
    """Without a random coefficient that is not identified."""
    reason = "dropped: not identified beside the others (exact fits)"
    candidates = tuple(
        replace(c, selected=False, reason=reason) if c.name == name else c
        for c in selection.candidates
    )
    return replace(selection, candidates=candidates)


def _promising(selection: JointSelection, best: _Model) -> list[RandomCandidate]:
    """Candidates that are out, may come in, and whose choices vary more than explained."""
    inside = {parse_term(name).what for name in best.random}
    out = [
        c
        for c in selection.candidates
        if not c.selected
        and c.z > PROMISING_Z
        and (parse_term(c.name).what is None or parse_term(c.name).what not in inside)
    ]
    return sorted(out, key=lambda c: -c.z)[:MOST_TRIED]


def _noted(candidate: RandomCandidate, notes: dict[str, tuple[bool, float]]) -> RandomCandidate:
    """With what exact fits say."""
    if candidate.name not in notes:
        return candidate
    selected, gain = notes[candidate.name]
    if selected:
        reason = f"kept: the criterion would rise by {gain:.1f} without it (exact fits)"
    else:
        reason = f"dropped: the criterion would rise by {-gain:.1f} with it (exact fits)"
    return replace(candidate, selected=selected, gain=gain, reason=reason)
