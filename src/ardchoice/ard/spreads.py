"""Relevance of spreads: a prior variance for the tastes of persons beside that of their mean.

In a mixed logit a coefficient is b + u_n for person n. The u_n of a term are coefficients like any
others, one for every person, and share a prior variance: u_n ~ N(0, τ). It is maximised as λ is,
and goes to zero where choices do not support that persons differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ardchoice._types import Floats, Ints
from ardchoice.ard.standardization import Standardization, shifts_alike
from ardchoice.design import Design, Encoding
from ardchoice.families import (
    Component,
    Family,
    Mixed,
    Mnl,
    ParameterLayout,
    Spread,
    TasteSums,
    candidates_of,
    structure_of,
)
from ardchoice.numerics import normal_sf
from ardchoice.space import Term

START_SPREAD = 0.3
"""τ at the start, on columns of unit spread: most leave from there within a few passes."""
LARGEST_SPREAD = 400.0
"""τ on columns of unit spread: a person's choices are certain long before."""
SMALLEST_SPREAD = 0.01
"""τ from which estimation may start where choices do not support any."""
SMALLEST_SHARE = 0.01
"""Mean of τ times a person's information below which τ is zero: the prior says it all."""
LONGEST_LOG_STEP = 1.4
"""A τ changes by a factor of four at most in a pass."""
EXTRAPOLATED_AFTER, SLOW_RATIO, LONGEST_EXTRAPOLATION = 3, 0.5, 10.0
"""Steps in one direction after which one is extrapolated, the ratio of two steps from which, and
how many times as long it may be."""
ENTRY_GAIN = 0.1
"""Log evidence that a τ which is zero must promise to be tried."""
SPREAD_GRID = 10.0 ** np.linspace(-5, 3, 161)
"""Where the evidence of one τ is looked at."""


@dataclass(frozen=True, eq=False)
class SpreadCandidates:
    """Which coefficients may differ between persons; q columns in T groups.

    Attributes
    ----------
    family
        With all of them random.
    names
        Of every group, as in `Mixed.random`; shape (T,).
    places
        Where they act: alternatives, or all.
    terms
        The term of every group; None for an error component or a shared taste.
    group
        Of every column; shape (q,).
    spreads
        Of every column.
    is_named
        Whether the family names them; else the data decide.
    """

    family: Mixed
    names: tuple[str, ...]
    places: tuple[str, ...]
    terms: tuple[Term | None, ...]
    group: Ints
    spreads: tuple[Spread, ...]
    is_named: bool

    @classmethod
    def of(cls, family: Mixed, encoding: Encoding) -> SpreadCandidates:
        """Those that a family names; where the data decide, all without interactions.

        Parameters
        ----------
        family
        encoding
            Of all candidate terms.
        """
        is_named = family.random is not None
        if not is_named:
            found = candidates_of(encoding, np.arange(encoding.n_columns))
            family = Mixed({c.key: "normal" for c in found}, nodes=family.nodes, seed=family.seed)
        spreads = structure_of(family.layout(encoding)).spreads
        numbers: dict[object, int] = {}
        group, kept = [], []
        for spread in spreads:
            own = spread.column is None
            key = spread.name if own else spread.term
            if key not in numbers:
                kept.append((spread.name[3:-1] if own else str(spread.term), spread.term, own))
            group.append(numbers.setdefault(key, len(numbers)))
        return cls(
            family,
            tuple(name for name, _, _ in kept),
            tuple("" if term is None else term.place for _, term, _ in kept),
            tuple(None if own else term for _, term, own in kept),
            np.array(group, dtype=np.intp),
            spreads,
            is_named,
        )

    @property
    def n(self) -> int:
        """Groups, T."""
        return len(self.names)

    @cached_property
    def sizes(self) -> Ints:
        """Columns of every group; shape (T,)."""
        return np.bincount(self.group, minlength=self.n).astype(np.intp)

    def in_blocks(self, design: Design) -> tuple[Ints, tuple[Component, ...]]:
        """Columns in block order, components behind the D; and these."""
        structure = structure_of(self.layout(design.encoding).reordered(design.order))
        return structure.columns, structure.keys

    def layout(self, encoding: Encoding) -> ParameterLayout:
        """Of the family with all of them random."""
        return self.family.layout(encoding)

    def uncentred(self, standard: Standardization, encoding: Encoding) -> Standardization:
        """Columns that may be random are not centred where a shift would change the model.

        A mean moves with a constant where its column is shifted; the taste of a person does not.
        Only what is the same for all alternatives makes no difference.
        """
        random = np.zeros(encoding.n_columns, dtype=bool)
        for spread in self.spreads:
            columns = spread.shared if spread.column is None else (spread.column,)
            random[list(columns)] = True
        return replace(
            standard,
            centre=np.where(random & ~shifts_alike(encoding), 0.0, standard.centre),
        )

    def resolved(self, tau: Floats) -> tuple[Family, dict[str, float]]:
        """The family as it was named, or with the spreads that stay where the data decide.

        And standard deviations by name, above zero, where the likelihood has no slope.
        """
        random, extras = {}, {}
        for spread, g in zip(self.spreads, self.group, strict=True):
            if tau[g] > 0 or self.is_named:
                random[spread.name[3:-1]] = "shared normal" if spread.shared else "normal"
                extras[spread.name] = float(np.sqrt(max(tau[g], SMALLEST_SPREAD)))
        if self.is_named:
            return self.family, extras
        return (replace(self.family, random=random), extras) if random else (Mnl(), {})

    def of_names(self, spreads: SpreadRelevance) -> Floats:
        """Their τ in a fit; shape (T,)."""
        known = dict(zip(spreads.names, spreads.lam, strict=True))
        return np.array([known[name] for name in self.names])


def spread_candidates(family: Family, encoding: Encoding) -> SpreadCandidates | None:
    """Of a mixed logit with normal, independent tastes (not in WTP space); else None."""
    if not isinstance(family, Mixed) or family.correlated or family.space != "preference":
        return None
    found = SpreadCandidates.of(family, encoding)
    return found if all(s.distribution == "normal" for s in found.spreads) else None


@dataclass(frozen=True, eq=False)
class SpreadRelevance:
    """Relevance of the spread of every candidate; T of them.

    Attributes
    ----------
    names, places, columns
        As in `Mixed.random`, where it acts, and how many columns share τ.
    terms
        Positions among the candidate terms; -1 for an error component or a shared taste.
    lam
        τ on the standardised scale, zero where choices do not support that persons differ.
    evidence
        Log evidence lost without, zero where τ is.
    statistic, p_value
        Score statistic of τ = 0 given the other spreads, about N(0, 1) where persons do not differ,
        and its one-sided p-value.
    """

    names: tuple[str, ...]
    places: tuple[str, ...]
    columns: Ints
    terms: Ints
    lam: Floats
    evidence: Floats
    statistic: Floats
    p_value: Floats

    def table(self) -> pd.DataFrame:
        """A row per candidate."""
        return pd.DataFrame(
            {
                "term": list(self.names),
                "alternative": list(self.places),
                "columns": self.columns,
                "lambda_sd": self.lam,
                "evidence_sd": self.evidence,
                "statistic_sd": self.statistic,
                "p_value_sd": self.p_value,
            }
        )


def spread_relevance(
    candidates: SpreadCandidates, encoding: Encoding, tau: Floats, sums: TasteSums
) -> SpreadRelevance:
    """What the last pass says of every spread."""
    place = {t.term: k for k, t in enumerate(encoding.terms)}
    qualities = group_qualities(candidates, sums)
    evidence = np.array([q.gain(lam) for q, lam in zip(qualities, tau, strict=True)])
    statistic = np.array([q.statistic for q in qualities])
    return SpreadRelevance(
        candidates.names,
        candidates.places,
        candidates.sizes,
        np.array([-1 if t is None else place[t] for t in candidates.terms], dtype=np.intp),
        tau,
        evidence,
        statistic,
        np.asarray(normal_sf(statistic)),
    )


# -- The evidence of one τ -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SpreadQuality:
    """What all persons say of one τ, f(τ) = ½ Σ w [τ q²/(1 + τ s) - log(1 + τ s)].

    Attributes
    ----------
    s, q
        Sparsity and quality of every person and column.
    w
        Weights.
    """

    s: Floats
    q: Floats
    w: Floats

    def gain(self, tau: float) -> float:
        """f: the log evidence that τ adds to none."""
        each = tau * self.q**2 / (1 + tau * self.s) - np.log1p(tau * self.s)
        return 0.5 * float(self.w @ each)

    def best(self) -> float:
        """The τ of the grid with the most evidence; zero where none adds any."""
        tau = SPREAD_GRID[:, None]
        each = tau * self.q**2 / (1 + tau * self.s) - np.log1p(tau * self.s)
        values = each @ self.w
        k = int(values.argmax())
        return float(SPREAD_GRID[k]) if values[k] > 0 else 0.0

    @property
    def statistic(self) -> float:
        """f'(0) over its standard deviation under the null; zero where nothing is known."""
        information = 0.5 * float(self.w @ self.s**2)
        if information <= 0:
            return 0.0
        return 0.5 * float(self.w @ (self.q**2 - self.s)) / float(np.sqrt(information))


def group_qualities(candidates: SpreadCandidates, sums: TasteSums) -> list[SpreadQuality]:
    """Of every group, all its columns together."""
    out = []
    for g in range(candidates.n):
        at = np.flatnonzero(candidates.group == g)
        s, q = sums.sparsity[:, at].ravel(), sums.quality[:, at].ravel()
        out.append(SpreadQuality(s, q, np.repeat(sums.each, len(at))))
    return out


@dataclass(frozen=True, eq=False)
class Spreads:
    """τ and how its steps went; shape (T,) each.

    Attributes
    ----------
    tau
    reach
        Longest step of log τ: half as long where a step turns round, as the information on a small
        τ is not what it is on a larger one.
    last
        The last step of log τ, before it was extrapolated.
    streak
        Steps in the same direction since one was extrapolated.
    """

    tau: Floats
    reach: Floats
    last: Floats
    streak: Floats

    @classmethod
    def start(cls, count: int) -> Spreads:
        """All alike."""
        tau = np.full(count, START_SPREAD)
        return cls(tau, np.full(count, LONGEST_LOG_STEP), np.zeros(count), np.zeros(count))

    def with_one(self, g: int, tau: float) -> Spreads:
        """With one more that is not zero."""
        values, reach, last = self.tau.copy(), self.reach.copy(), self.last.copy()
        values[g], reach[g], last[g] = tau, LONGEST_LOG_STEP, 0.0
        return Spreads(values, reach, last, np.zeros_like(last))


def next_spreads(candidates: SpreadCandidates, now: Spreads, sums: TasteSums) -> Spreads:
    """A step of Newton's method in log τ, all at once; those that vanish are zero."""
    tau = now.tau
    of = np.eye(candidates.n)[candidates.group]  # (q, T)
    on = np.flatnonzero(tau > 0)
    out, step = np.zeros_like(tau), np.zeros_like(tau)
    if not len(on):
        return now
    count = sums.weight * candidates.sizes
    gradient = 0.5 * ((sums.second @ of)[on] / tau[on] - count[on])
    information = (of.T @ sums.information @ of)[np.ix_(on, on)]
    information[range(len(on)), range(len(on))] += 1e-9 * sums.weight
    step[on] = np.linalg.solve(information, gradient)
    turned = step * now.last < 0
    reach = np.where(turned, 0.5, 1.1) * now.reach
    reach = np.minimum(reach, LONGEST_LOG_STEP)
    # Steps that shrink slowly, since λ, τ and means share a scale, are summed up (Aitken).
    streak = np.where(step * now.last > 0, now.streak + 1, 0.0)
    ratio = np.divide(step, now.last, out=np.zeros_like(step), where=now.last != 0)
    slow = (streak >= EXTRAPOLATED_AFTER) & (ratio > SLOW_RATIO)
    left = 1 / np.maximum(1 - ratio, 1 / LONGEST_EXTRAPOLATION)
    taken = np.clip(np.where(slow, left, 1.0) * step, -reach, reach)
    streak = np.where(slow, 0.0, streak)
    out[on] = np.minimum(tau[on] * np.exp(taken[on]), LARGEST_SPREAD)
    known = (sums.each @ sums.own) / sums.weight
    typical = np.bincount(candidates.group, known, minlength=candidates.n) / candidates.sizes
    return Spreads(np.where(out * typical < SMALLEST_SHARE, 0.0, out), reach, step, streak)


def entering_spread(
    candidates: SpreadCandidates,
    tau: Floats,
    sums: TasteSums,
    barred: frozenset[int],
) -> tuple[int, float] | None:
    """The τ of zero that promises most evidence, and where; None where none promises enough."""
    found = None
    most = ENTRY_GAIN
    for g, quality in enumerate(group_qualities(candidates, sums)):
        if tau[g] > 0 or g in barred:
            continue
        best = quality.best()
        value = quality.gain(best)
        if value > most:
            found, most = (g, best), value
    return found
