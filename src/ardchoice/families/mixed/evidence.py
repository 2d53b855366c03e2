"""Which coefficients differ between persons, by the evidence of quadratics; no simulation.

Every person's log-likelihood is a quadratic about common coefficients (`PersonQuadratics`), over d
columns whose coefficients are shared and E that may be random. With u_n ~ N(0, diag τ) along a set
S of these and the shared coefficients shifted by δ, tastes integrate out:

    F(S, τ) = max_δ Σ_n [l_n + s_n'δ - ½ δ'A_n δ + ½ r_n'M_n r_n - ½ log|I + A_n,SS diag τ|],

r_n = (s_n - A_n δ)_S, M_n = (A_n,SS + diag 1/τ)⁻¹. Everything is written in v = u/√τ, so that a
variance of zero is nothing special.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.families.mixed.quadratics import PersonQuadratics
from ardchoice.numerics import stacked_cholesky, stacked_gram, stacked_inverse

VARIANCE_STEPS = 12
"""Most steps towards the best variances of a set."""
EVIDENCE_TOLERANCE = 0.05
"""Evidence still to be gained at which variances are good enough."""
HOPED_GAINS = 4.0
"""How many times what a step of the variances promises a set may still gain."""
LARGEST_LOG_STEP = 1.4
"""A variance changes by a factor of four at most in a step."""
SMALLEST_SHARE = 0.02
"""Mean of τ A below which a person's answers say nothing of a taste: it is not random."""
LARGEST_VARIANCE = 400.0
"""Of a taste on a column of unit spread."""
RIDGE_SHARE = 1e-9
"""Of its information that is added to that on every shared coefficient."""
RIVAL_SHARE, RIVALS_TRIED = 0.5, 2
"""Share of the statistic of what leaves that what takes its place has at least; and how many."""
LEAST_STATISTIC = 0.8
"""Score statistic below which a candidate is noise."""
CANDIDATES_TRIED = 4
"""Candidates that are tried as additions, those with the largest score statistics."""


@dataclass(frozen=True, eq=False)
class TasteSet:
    """A set of random coefficients at its best variances.

    Attributes
    ----------
    chosen
        Positions among the candidates, ascending.
    variance
        τ; shape (q,).
    evidence
        F.
    statistic
        Score statistic of every candidate that is not chosen, about N(0, 1) where it is not
        random; shape (E,).
    first_variance
        Of those, after one step; shape (E,).
    shift, tastes
        δ and the mode of u of every person; shapes (d,) and (U, q).
    below
        Not exact, only known to be below this evidence; minus infinity where it is exact.
    """

    chosen: tuple[int, ...]
    variance: Floats
    evidence: float
    statistic: Floats
    first_variance: Floats
    shift: Floats
    tastes: Floats
    below: float = -np.inf


def _nothing(chosen: tuple[int, ...], variance: Floats, below: float) -> TasteSet:
    """A set that is not worth having, or not worth knowing."""
    none = np.zeros(0)
    return TasteSet(chosen, variance, -np.inf, none, none, none, none, below)


@dataclass(frozen=True, eq=False)
class _Point:
    """A set at some variances.

    Attributes
    ----------
    variance, evidence, shift
        As in `TasteSet`.
    tastes
        Shape (q, U).
    half
        B with B'B = (I + √τ A √τ)⁻¹, lower triangular; shape (q, q, U).
    step, gain
        Of the logarithms of the variances, and the evidence that it promises; shape (q,).
    """

    variance: Floats
    evidence: float
    shift: Floats
    tastes: Floats
    half: Floats
    step: Floats
    gain: float


class _Set:
    """The quadratics over a set of q candidates."""

    def __init__(self, evidence: TasteEvidence, chosen: tuple[int, ...]) -> None:
        at = list(chosen)
        self.all, self.q = evidence, len(at)
        self.score = evidence.score[at]
        self.across = evidence.across[:, at]
        self.inside = evidence.inside[at][:, at]
        w = evidence.weight
        own = self.inside[range(self.q), range(self.q)]
        self.mean = np.maximum(own @ w / w.sum(), 1e-12)

    def at(self, tau: Floats) -> _Point:
        """The shift, the evidence and a step of the variances."""
        q, evidence, sd = self.q, self.all, np.sqrt(tau)
        w, root = evidence.weight, evidence.root
        a = self.inside * (sd[:, None] * sd)[:, :, None]
        a[range(q), range(q)] += 1.0
        factor = stacked_cholesky(a)
        half = stacked_inverse(factor)
        # 1 · The shared coefficients with tastes integrated out.
        across = np.zeros_like(self.across)
        own = np.zeros_like(self.score)
        for k in range(q):
            for m in range(k + 1):
                scaled = sd[m] * half[k, m]
                across[:, k] += scaled * self.across[:, m]
                own[k] += scaled * self.score[m]
        flat = (across * root).reshape(len(across), -1)
        h = evidence.total - flat @ flat.T
        delta = _solved(h + evidence.ridge, evidence.total_score - flat @ (own * root).ravel())
        rest = own - np.tensordot(delta, across, axes=1)
        f = (
            evidence.value
            + float(evidence.total_score @ delta)
            - 0.5 * float(delta @ evidence.total @ delta)
            + 0.5 * float((rest**2).sum(axis=0) @ w)
            - float(np.log(factor[range(q), range(q)]).sum(axis=0) @ w)
        )
        # 2 · The modes, and a step of the variances.
        v = np.zeros_like(rest)
        for k in range(q):
            for m in range(k, q):
                v[k] += half[m, k] * rest[m]
        known = stacked_gram(half)
        known[range(q), range(q)] -= 1.0
        gradient = 0.5 * ((v**2 + known[range(q), range(q)]) @ w)
        information = 0.5 * (known**2 @ w)
        information[range(q), range(q)] += 1e-9 * w.sum()
        step = np.clip(_solved(information, gradient), -LARGEST_LOG_STEP, LARGEST_LOG_STEP)
        gain = abs(0.5 * float(gradient @ step))
        return _Point(tau, f, delta, v * sd[:, None], half, step, gain)


class TasteEvidence:
    """The evidence of sets of random coefficients.

    Parameters
    ----------
    quadratics
        d + E columns.
    fixed
        d.
    precision
        Of the shared coefficients, should answers say nothing of one; shape (d,).
    largest
        Variance of every candidate that is not exceeded; shape (E,). Default: `LARGEST_VARIANCE`.
    """

    def __init__(
        self,
        quadratics: PersonQuadratics,
        fixed: int,
        precision: Floats | None = None,
        largest: Floats | None = None,
    ) -> None:
        self.d = d = fixed
        self.weight = w = quadratics.weight
        self.root = np.sqrt(w)
        self.value = float(w @ quadratics.value)
        # Persons last: everything is a loop over few columns, each step over all persons.
        self.score = np.ascontiguousarray(quadratics.score[:, d:].T)
        information = quadratics.information
        self.across = np.ascontiguousarray(information[:, :d, d:].transpose(1, 2, 0))
        self.inside = np.ascontiguousarray(information[:, d:, d:].transpose(1, 2, 0))
        self.total_score = w @ quadratics.score[:, :d]
        self.total = np.tensordot(w, information[:, :d, :d], axes=1)
        own = np.diag(self.total)
        self.ridge = np.diag(np.where(own > 0, RIDGE_SHARE * own, 1.0))
        if precision is not None:
            self.ridge += np.diag(precision)
        self.n_candidates = len(self.score)
        everywhere = np.full(self.n_candidates, LARGEST_VARIANCE)
        self.largest = everywhere if largest is None else largest
        self._known: dict[tuple[int, ...], TasteSet] = {}

    def at(
        self, chosen: Sequence[int], start: Floats | None = None, enough: float = -np.inf
    ) -> TasteSet:
        """A set at its best variances.

        Parameters
        ----------
        chosen
        start
            Variances near the best; shape (len(chosen),).
        enough
            Evidence below which the result need not be exact: its evidence is minus infinity then.
        """
        order = np.argsort(chosen, kind="stable")
        key = tuple(int(chosen[k]) for k in order)
        known = self._known.get(key)
        if known is None or known.below > enough:
            first = None if start is None else np.asarray(start)[order]
            known = self._known[key] = self._best(key, first, enough)
        return known

    def _best(self, chosen: tuple[int, ...], start: Floats | None, enough: float) -> TasteSet:
        q = len(chosen)
        work = _Set(self, chosen)
        largest = self.largest[list(chosen)]
        tau = np.minimum(np.ones(q) if start is None else np.maximum(start, 0.05), largest)
        best: _Point | None = None
        for _ in range(VARIANCE_STEPS if q else 1):
            here = work.at(tau)
            if best is None or here.evidence > best.evidence:
                best = here
            if not q or here.gain < EVIDENCE_TOLERANCE:
                break
            if here.evidence + HOPED_GAINS * here.gain < enough:
                return _nothing(chosen, tau, enough)
            tau = np.minimum(tau * np.exp(here.step), largest)
            if (tau * work.mean < SMALLEST_SHARE).any():
                # A variance goes to zero: the set is worth no more than without it.
                return _nothing(chosen, tau, -np.inf)
        assert best is not None  # noqa: S101 - there is always a first step
        statistic, first = self._tests(np.array(chosen, dtype=np.intp), best)
        tastes = best.tastes.T
        return TasteSet(chosen, best.variance, best.evidence, statistic, first, best.shift, tastes)

    def _tests(self, at: Ints, here: _Point) -> tuple[Floats, Floats]:
        """Score statistics of all candidates given a set, and their first variances; (E,)."""
        e, q = self.n_candidates, len(at)
        r = self.score - np.tensordot(here.shift, self.across, axes=1)
        diagonal = self.inside[range(e), range(e)].copy()
        for k in range(q):
            r -= self.inside[:, at[k]] * here.tastes[k]
        sd = np.sqrt(here.variance)
        for k in range(q):
            # (A + diag 1/τ)⁻¹ = B'B: what the tastes of the set know already.
            known = np.zeros_like(r)
            for m in range(k + 1):
                known += self.inside[:, at[m]] * (sd[m] * here.half[k, m])
            diagonal -= known**2
        diagonal = np.maximum(diagonal, 0.0)
        raw = 0.5 * ((r**2 - diagonal) @ self.weight)
        information = np.maximum(0.5 * (diagonal**2 @ self.weight), 1e-12)
        statistic, first = raw / np.sqrt(information), raw / information
        statistic[at] = -np.inf
        return statistic, first

    def search(
        self,
        start: Sequence[int],
        price: float,
        is_allowed: Callable[[Sequence[int]], bool],
        start_variance: Floats | None = None,
        first: Collection[int] = (),
    ) -> TasteSet:
        """The set with the least -2F + |S| price: add, drop and swap while it falls.

        Parameters
        ----------
        start
            Where it starts.
        price
            Of a random coefficient in twice the log-likelihood.
        is_allowed
            Whether a set can be.
        start_variance
            Of the start; shape (len(start),).
        first
            Candidates that come in before all others, and that only one another replace: constants
            of alternatives, which an attribute that varies little could stand for.
        """
        best = self.at(start, start_variance)
        while not np.isfinite(best.evidence):
            # A variance that vanishes takes nothing with it.
            share = best.variance * _Set(self, best.chosen).mean
            rest = np.arange(len(share)) != int(share.argmin())
            kept = [k for k, stays in zip(best.chosen, rest, strict=True) if stays]
            best = self.at(kept, best.variance[rest])
        climb = _Climb(self, price, is_allowed, frozenset(first))
        if first:
            best = climb.ended(best, frozenset(first))
        return climb.ended(best, frozenset(range(self.n_candidates)))


class _Climb:
    """Steps from set to set of random coefficients."""

    def __init__(
        self,
        evidence: TasteEvidence,
        price: float,
        is_allowed: Callable[[Sequence[int]], bool],
        first: frozenset[int],
    ) -> None:
        self.evidence, self.price, self.is_allowed = evidence, price, is_allowed
        self.first = first

    def value(self, found: TasteSet) -> float:
        """-2F + |S| price."""
        return -2 * found.evidence + self.price * len(found.chosen)

    def ended(self, best: TasteSet, able: frozenset[int]) -> TasteSet:
        """Where no addition from `able`, and nothing that leaves or is replaced, is better."""
        while True:
            found = best
            tau = dict(zip(best.chosen, best.variance, strict=True))
            for move in self.moves(best, able):
                if not self.is_allowed(move):
                    continue
                guess = [tau.get(e, np.clip(best.first_variance[e], 0.05, 4.0)) for e in move]
                enough = 0.5 * (self.price * len(move) - self.value(found))
                option = self.evidence.at(move, np.array(guess), enough)
                if self.value(option) < self.value(found) - EVIDENCE_TOLERANCE:
                    found = option
            if found is best:
                return best
            best = found

    def moves(self, best: TasteSet, able: frozenset[int]) -> list[tuple[int, ...]]:
        """Neighbours of a set, ascending each."""
        out: list[Sequence[int]] = [(*best.chosen, e) for e in self.likely(best, able)]
        for gone in best.chosen:
            base = tuple(k for k in best.chosen if k != gone)
            out.append(base)
            alike = {e for e in able if (e in self.first) == (gone in self.first)}
            there = self.evidence.at(base, best.variance[[k in base for k in best.chosen]])
            if len(there.statistic):
                enough = RIVAL_SHARE * max(float(there.statistic[gone]), 0.0)
                rivals = self.likely(there, frozenset(alike - {gone}), enough)[:RIVALS_TRIED]
                out += [(*base, e) for e in rivals if e not in best.chosen]
        return list(dict.fromkeys(tuple(sorted(move)) for move in out))

    def likely(
        self, found: TasteSet, able: frozenset[int], enough: float = LEAST_STATISTIC
    ) -> list[int]:
        """The candidates that score best given a set."""
        order = np.argsort(-found.statistic, kind="stable")
        least = max(enough, LEAST_STATISTIC)
        rising = [int(e) for e in order if int(e) in able and found.statistic[e] > least]
        return [e for e in rising if e not in found.chosen][:CANDIDATES_TRIED]


def _solved(h: Floats, right: Floats) -> Floats:
    """H⁻¹ r, the shortest solution where columns add up to one another."""
    try:
        return np.asarray(np.linalg.solve(h, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(h, right, rcond=None)[0])
