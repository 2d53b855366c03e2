"""Random coefficients confirmed by exact estimates: what quadratics miss, and what they take in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ardchoice.data import ChoiceData
from ardchoice.design import Encoding
from ardchoice.errors import IdentificationError, SpecificationError
from ardchoice.estimation import Result, fit_anyway
from ardchoice.families import Mixed, QuickFit, QuickFits
from ardchoice.selection.joint.select import JointSelection
from ardchoice.selection.joint.tastes import RandomCandidate
from ardchoice.selection.refits import with_unit_weights
from ardchoice.space import Specification, parse_term

WEAK_Z = 4.0
"""A standard deviation below so many standard errors is confirmed by a fit without it."""
PROMISING_Z = 1.0
"""Score statistic from which a candidate is tried exactly: quadratics underrate weak tastes."""
MOST_TRIED = 2
"""Candidates that are tried, the ones with the largest statistics."""


@dataclass(frozen=True, eq=False)
class Confirmed:
    """Random coefficients after exact fits.

    Attributes
    ----------
    selection
        With what exact fits say of the candidates that were in doubt.
    estimated
        The estimates with it, and notes on them; None where nothing is random.
    """

    selection: JointSelection
    estimated: tuple[Result, tuple[str, ...]] | None


def confirm(data: ChoiceData, selection: JointSelection, *, family: Mixed) -> Confirmed:
    """Exact fits with and without the random coefficients that are in doubt.

    A random coefficient is worth ln(persons) in twice the log-likelihood. Fits that only compare
    are quick ones; the set that stands is estimated to the end.
    """
    if not selection.random:
        return Confirmed(selection, None)
    plain = Specification(selection.specification.terms)
    fits = QuickFits(with_unit_weights(data), plain.terms, family.nodes, family.seed)
    selection, best = _decided(selection, fits)
    if best is None:
        return Confirmed(selection, None)
    weakest = sorted(best.random, key=best.z.__getitem__)
    while weakest:
        random = {k: v for k, v in _in_order(selection, best.random).items() if k in weakest}
        try:
            alike = len(random) == len(best.random) and family.space == "preference"
            near = best.values if alike else None
            named = replace(family.with_random(random), near=near)
            return Confirmed(selection, fit_anyway(data, plain, named))
        except IdentificationError:
            # The likelihood may be flat where scores are not.
            name, *weakest = weakest
            selection = _without(selection, name)
    return Confirmed(selection, None)


def _decided(selection: JointSelection, fits: QuickFits) -> tuple[JointSelection, QuickFit | None]:
    """Which of those in doubt are random, and the estimates with them."""
    price = float(np.log(selection.persons))
    selection, best = _first(selection, fits)
    if best is None:
        return selection, None
    notes: dict[str, tuple[bool, float]] = {}
    # 1 · What exact estimates find weak leaves if the criterion falls without.
    for name in sorted(best.random, key=best.z.__getitem__):
        rest = {k: v for k, v in best.random.items() if k != name}
        if best.z[name] >= WEAK_Z or not rest:
            continue
        without = fits.fit(_in_order(selection, rest), best.values)
        gain = 2 * (best.loglik - without.loglik) - price
        notes[name] = (gain > 0, gain)
        if gain <= 0:
            best = without
    # 2 · What quadratics hardly see comes in if the criterion falls with it.
    for candidate in _promising(selection, best):
        added = {**best.random, candidate.name: candidate.distribution}
        try:
            with_it = fits.fit(_in_order(selection, added), best.values)
        except IdentificationError:
            continue
        gain = 2 * (with_it.loglik - best.loglik) - price
        notes[candidate.name] = (gain > 0, gain)
        if gain > 0:
            best = with_it
    candidates = tuple(_noted(c, notes) for c in selection.candidates)
    return replace(selection, candidates=candidates), best


def _first(selection: JointSelection, fits: QuickFits) -> tuple[JointSelection, QuickFit | None]:
    """The estimates with what quadratics chose, without what is not identified."""
    gains = {c.name: c.gain for c in selection.candidates}
    for name in sorted(selection.random, key=lambda name: gains[name]):
        try:
            return selection, fits.fit(selection.random, selection.start)
        except IdentificationError:
            # Quadratics are always definite; the likelihood need not be.
            selection = _without(selection, name)
    return selection, None


def _in_order(selection: JointSelection, random: Mapping[str, str]) -> dict[str, str]:
    """In the order in which the study estimates them: nodes depend on it."""
    return {c.name: random[c.name] for c in selection.candidates if c.name in random}


def _without(selection: JointSelection, name: str) -> JointSelection:
    """Without a random coefficient that is not identified."""
    reason = "dropped: not identified beside the others (exact fits)"
    candidates = tuple(
        replace(c, selected=False, reason=reason) if c.name == name else c
        for c in selection.candidates
    )
    return replace(selection, candidates=candidates)


def _promising(selection: JointSelection, best: QuickFit) -> list[RandomCandidate]:
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


def possible_random(random: Mapping[str, str], encoding: Encoding) -> dict[str, str]:
    """Random coefficients that a model of these terms has too."""
    out: dict[str, str] = {}
    for name, distribution in random.items():
        try:
            Mixed({**out, name: distribution}).extra_parameters(encoding)
        except SpecificationError:
            continue
        out[name] = distribution
    return out


def candidates_of(
    selection: JointSelection, random: Mapping[str, str]
) -> tuple[RandomCandidate, ...]:
    """The candidates, where other terms leave only some of them random."""
    return tuple(
        replace(c, selected=False, reason="dropped: its terms are not in the model")
        if c.selected and c.name not in random
        else c
        for c in selection.candidates
    )
