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

from ardchoice._types import Floats
from ardchoice.families.mixed.quadratics import PersonQuadratics

VARIANCE_STEPS = 12
"""Most steps towards the best variances of a set."""
EVIDENCE_TOLERANCE = 0.05
"""Evidence still to be gained at which variances are good enough."""
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
    """

    chosen: tuple[int, ...]
    variance: Floats
    evidence: float
    statistic: Floats
    first_variance: Floats
    shift: Floats
    tastes: Floats


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
    """

    def __init__(
        self, quadratics: PersonQuadratics, fixed: int, precision: Floats | None = None
    ) -> None:
        self.d = fixed
        w = quadratics.weight
        root = np.sqrt(w)
        self.weight = w
        self.value = float(w @ quadratics.value)
        self.score, self.information = quadratics.score, quadratics.information
        d = fixed
        self.total_score = w @ self.score[:, :d]
        self.total = np.einsum("u,uij->ij", w, self.information[:, :d, :d], optimize=True)
        self.root = root
        own = np.diag(self.total)
        self.ridge = np.diag(np.where(own > 0, RIDGE_SHARE * own, 1.0))
        if precision is not None:
            self.ridge += np.diag(precision)
        self.n_candidates = self.score.shape[1] - d
        self._known: dict[tuple[int, ...], TasteSet] = {}

    def at(self, chosen: Sequence[int], start: Floats | None = None) -> TasteSet:
        """A set at its best variances."""
        key = tuple(sorted(chosen))
        if key not in self._known:
            self._known[key] = self._best(key, start)
        return self._known[key]

    def _best(self, chosen: tuple[int, ...], start: Floats | None) -> TasteSet:
        q, d = len(chosen), self.d
        at = d + np.array(chosen, dtype=np.intp)
        inside = self.information[:, at[:, None], at]
        across = self.information[:, :d, at]
        score = self.score[:, at]
        mean = np.maximum(np.einsum("u,ukk->k", self.weight, inside) / self.weight.sum(), 1e-12)
        tau = np.ones(q) if start is None else np.clip(start, 0.05, LARGEST_VARIANCE)
        best: tuple[float, Floats, Floats, Floats] | None = None
        for _ in range(VARIANCE_STEPS if q else 1):
            sd = np.sqrt(tau)
            a = inside * sd[:, None] * sd
            a[:, range(q), range(q)] += 1.0
            factor = np.linalg.cholesky(a)
            inverse = np.linalg.inv(factor)
            half = np.matmul(across * sd, inverse.swapaxes(1, 2))  # (U, d, q)
            own = np.matmul(inverse, (score * sd)[:, :, None])[:, :, 0]
            flat = (half * self.root[:, None, None]).transpose(1, 0, 2).reshape(d, -1)
            pulled = flat @ (own * self.root[:, None]).ravel()
            h = self.total - flat @ flat.T
            rhs = self.total_score - pulled
            delta = _solved(h + self.ridge, rhs)
            rest = own - np.einsum("udk,d->uk", half, delta)
            diagonal = np.diagonal(factor, axis1=1, axis2=2)
            f = (
                self.value
                + float(self.total_score @ delta)
                - 0.5 * float(delta @ self.total @ delta)
                + 0.5 * float(self.weight @ (rest**2).sum(axis=1))
                - float(self.weight @ np.log(diagonal).sum(axis=1))
            )
            v = np.matmul(inverse.swapaxes(1, 2), rest[:, :, None])[:, :, 0]
            if best is None or f > best[0]:
                best = (f, tau, v * sd, delta)
            if not q:
                break
            m = np.matmul(inverse.swapaxes(1, 2), inverse)
            gradient = 0.5 * (self.weight @ (v**2 + np.diagonal(m, axis1=1, axis2=2) - 1.0))
            w = np.eye(q) - m
            information = 0.5 * np.einsum("u,ukl->kl", self.weight, w**2)
            information[range(q), range(q)] += 1e-9 * self.weight.sum()
            step = _solved(information, gradient)
            step = np.clip(step, -LARGEST_LOG_STEP, LARGEST_LOG_STEP)
            if abs(0.5 * float(gradient @ step)) < EVIDENCE_TOLERANCE:
                break
            tau = np.minimum(tau * np.exp(step), LARGEST_VARIANCE)
            if (tau * mean < SMALLEST_SHARE).any():
                # A variance goes to zero: the set is worth no more than without it.
                nothing = np.zeros(0)
                return TasteSet(chosen, tau, -np.inf, nothing, nothing, nothing, nothing)
        assert best is not None  # noqa: S101 - there is always a first step
        f, tau, u, delta = best
        statistic, first = self._tests(at, tau, u, delta)
        return TasteSet(chosen, tau, f, statistic, first, delta, u)

    def _tests(
        self, at: np.ndarray, tau: Floats, u: Floats, delta: Floats
    ) -> tuple[Floats, Floats]:
        """Score statistics of all candidates given a set, and their first variances; (E,)."""
        d, e = self.d, self.n_candidates
        tail = self.information[:, d:, :]
        r = self.score[:, d:] - np.einsum("ued,d->ue", tail[:, :, :d], delta)
        diagonal = np.diagonal(tail[:, :, d:], axis1=1, axis2=2).copy()
        if len(at):
            cross = tail[:, :, at]
            r = r - np.einsum("ueq,uq->ue", cross, u)
            inside = self.information[:, at[:, None], at]
            m = np.linalg.inv(inside + np.diag(1 / tau))
            diagonal = diagonal - np.einsum("ueq,uqr,uer->ue", cross, m, cross, optimize=True)
        diagonal = np.maximum(diagonal, 0.0)
        raw = 0.5 * (self.weight @ (r**2 - diagonal))
        information = np.maximum(0.5 * (self.weight @ diagonal**2), 1e-12)
        statistic, first = raw / np.sqrt(information), raw / information
        inside_set = at - d
        statistic[inside_set] = -np.inf
        assert len(statistic) == e  # noqa: S101 - one for every candidate
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
        if not np.isfinite(best.evidence):
            best = self.at(())
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
                option = self.evidence.at(move, np.array(guess))
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
