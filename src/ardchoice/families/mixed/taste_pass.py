"""One pass over persons whose tastes have a Gaussian posterior each: what ARD of spreads rests on.

Utilities are x'β + z'u_n with u_n ~ N(0, diag τ), z the columns of the q candidates whose
coefficients may differ between persons. Tastes are approximated by q(u_n | β), normal around
m_n - K_n (β - μ) with variance S_n, and coefficients by q(β) = Π N(μ, c²). With s_n, A_n and X_n
the expected score by u_n and the expected information on u_n and on β and u_n together,

    S_n = (A_n + diag 1/τ)⁻¹,   K_n = S_n X_n',   m_n where s_n = m_n / τ,
    gradient by β  Σ (s_xn - X_n S_n (s_n - m_n / τ)),
    information    Σ (A_xxn - X_n S_n X_n').

Expectations are taken by antithetic draws of utilities, a pair for every choice situation; without
a generator everything is evaluated at the means, which is Laplace's approximation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Bools, Floats, Ints
from ardchoice.design import Block
from ardchoice.families.mixed.persons import Component, PersonGroup, persons_of

CHUNK_ELEMENTS = 1 << 21
"""Numbers in the columns of all other alternatives of the persons processed at a time."""
LARGEST_UTILITY = 600.0
"""Differences of utilities are cut there: exponentials would overflow."""
MODE_STEPS = 40
MODE_DECREMENT = 1e-6
"""Twice the log-likelihood that any person's tastes can still gain before the last step."""
VALUE_ROUNDING = 1e-12
"""Share of a person's log-likelihood that is rounding."""
SAMPLED_STEPS = 2
"""Steps towards a person's posterior at every visit, each with draws of its own."""
LONGEST_STEP = 3.0
"""Of a sampled step, in standard deviations of the taste between persons."""


@dataclass(frozen=True, eq=False)
class PersonTastes:
    """q(u) of the U persons of a block, at the mean of β; q candidates.

    Attributes
    ----------
    mean
        m; shape (U, q), zero where a candidate's τ is zero.
    information
        A of the candidates whose τ is not zero; shape (U, q, q).
    """

    mean: Floats
    information: Floats

    @classmethod
    def nothing(cls, units: int, q: int) -> PersonTastes:
        """Before anything is known."""
        return cls(np.zeros((units, q)), np.zeros((units, q, q)))


@dataclass(frozen=True, eq=False)
class TasteSums:
    """Summed over persons; D coefficients, q candidates.

    Attributes
    ----------
    loglik
        Expected log-likelihood given β and u.
    divergence
        From q(u) to its prior, less what is of β: Σ KL. At means only, what Laplace's
        approximation subtracts from the log-likelihood.
    gradient, curvature
        By β, tastes integrated out; shapes (D,) and (D, D).
    second
        Σ E[u²]; shape (q,).
    information
        Of log τ, ½ Σ W∘W with W = I - S/τ; shape (q, q).
    weight
        Of all persons.
    sparsity, quality, own
        Of every person and candidate: information on u_k given all other tastes, the score that
        goes with it, and the information with all others known; shape (U, q) each.
    each
        Weights of the persons; shape (U,).
    meat
        Σ of squared weighted scores of the persons, tastes integrated out; shape (D, D).
    """

    loglik: float
    divergence: float
    gradient: Floats
    curvature: Floats
    second: Floats
    information: Floats
    weight: float
    sparsity: Floats
    quality: Floats
    own: Floats
    each: Floats
    meat: Floats

    def __add__(self, other: TasteSums) -> TasteSums:
        return TasteSums(
            self.loglik + other.loglik,
            self.divergence + other.divergence,
            self.gradient + other.gradient,
            self.curvature + other.curvature,
            self.second + other.second,
            self.information + other.information,
            self.weight + other.weight,
            np.concatenate([self.sparsity, other.sparsity]),
            np.concatenate([self.quality, other.quality]),
            np.concatenate([self.own, other.own]),
            np.concatenate([self.each, other.each]),
            self.meat + other.meat,
        )


@dataclass(frozen=True, eq=False)
class TastePass:
    """`TasteSums` of a block, and where its persons end.

    Attributes
    ----------
    mean, variance
        μ and c² in block order; shape (D,) each.
    columns
        Of every candidate, components behind the D; shape (q,).
    components
    tau
        Shape (q,).
    pairs
        Antithetic pairs of draws for every choice situation.
    """

    mean: Floats
    variance: Floats
    columns: Ints
    components: tuple[Component, ...]
    tau: Floats
    pairs: int = 1

    def units(self, block: Block) -> int:
        """Persons of a block."""
        return len(persons_of(block, self.components).code)

    def __call__(
        self,
        block: Block,
        tastes: PersonTastes,
        rng: np.random.Generator | None = None,
        share: float = 1.0,
        batches: int = 1,
    ) -> tuple[TasteSums, PersonTastes]:
        """Of one block with whole persons.

        Parameters
        ----------
        block, tastes
        rng
            Of draws and batches. None: everything at the means.
        share
            Weight of this visit against those before, with draws.
        batches
            Into which persons are drawn.
        """
        persons = persons_of(block, self.components)
        after = PersonTastes(tastes.mean.copy(), tastes.information.copy())
        found = []
        for group in persons.groups:
            a, n, t, e = group.x.shape
            most = max(1, min(CHUNK_ELEMENTS // max(a * t * e, 1), -(-n // batches)))
            order = np.arange(n) if rng is None else rng.permutation(n)
            for part in np.array_split(order, -(-n // most)):
                unit = group.unit[part]
                some = _Some.of(group, part, self)
                weight = persons.weight[unit]
                before = PersonTastes(tastes.mean[unit], tastes.information[unit])
                sums, there = some.visit(before, weight, rng, share)
                after.mean[unit], after.information[unit] = there.mean, there.information
                found.append(sums)
        total = found[0]
        for one in found[1:]:
            total = total + one
        return total, after


@dataclass(frozen=True, eq=False)
class _Some:
    """n persons; x is (A, n, T, E), z (A, n, T, k) of the k candidates whose τ is not zero."""

    x: Floats
    absent: Bools | None
    base: Floats
    z: Floats
    active: Ints
    work: TastePass

    @classmethod
    def of(cls, group: PersonGroup, part: Ints, work: TastePass) -> _Some:
        x = group.x[:, part]
        absent = None if group.absent is None else group.absent[:, part]
        active = np.flatnonzero(work.tau > 0)
        z = np.ascontiguousarray(x[..., work.columns[active]])
        return cls(x, absent, x[..., : len(work.mean)] @ work.mean, z, active, work)

    def visit(
        self,
        before: PersonTastes,
        weight: Floats,
        rng: np.random.Generator | None,
        share: float,
    ) -> tuple[TasteSums, PersonTastes]:
        """Their sums, and where they end."""
        s = self.active
        prior = np.diag(1 / self.work.tau[s])
        mean, information = before.mean[:, s], before.information[:, s[:, None], s]
        carried: Floats | None = None
        if rng is None:
            mean = self._modes(mean)
            seen = self._seen([self._probabilities(self.base + self._taste(mean))])
            information = seen.between(s)
            variance = _inverse(information + prior)
        else:
            start = self._seen([self._probabilities(self.base + self._taste(mean))])
            is_new = (np.einsum("ukk->uk", information) == 0).any(axis=1)
            information[is_new] = start.between(s)[is_new]
            across = start.across(s).swapaxes(1, 2)
            mean, information = self._sampled(mean, information, across, rng, share)
            variance = _inverse(information + prior)
            carried = np.matmul(variance, across)
            # Draws of their own: those that led there would flatter it.
            seen = self._seen(self._draws(mean, variance, carried, rng))
        there = PersonTastes(np.zeros_like(before.mean), np.zeros_like(before.information))
        there.mean[:, s] = mean
        there.information[:, s[:, None], s] = information
        return self._sums(seen, mean, variance, weight, carried), there

    # -- Probabilities -------------------------------------------------------------------------

    def _taste(self, u: Floats) -> Floats:
        """Z'u of every alternative; shape (A, n, T)."""
        return np.asarray(np.matmul(self.z, u[:, :, None])[..., 0])

    def _probabilities(self, v: Floats) -> tuple[Floats, Floats]:
        """P of the other alternatives, (A, n, T), and log p of every person, (n,)."""
        v = np.minimum(v, LARGEST_UTILITY)
        if self.absent is not None:
            v[self.absent] = -np.inf
        p = np.exp(v)
        total = 1 + p.sum(axis=0)
        p /= total
        return p, -np.log(total).sum(axis=1)

    def _modes(self, start: Floats) -> Floats:
        """Where log p - ½ Σ u²/τ is highest: Newton's method, each person with steps of its own."""
        n, k = start.shape
        tau = self.work.tau[self.active]
        u, step, size = start.copy(), np.zeros_like(start), np.ones(n)
        if not k:
            return u
        value = np.full(n, -np.inf)
        for _ in range(MODE_STEPS):
            trial = u + size[:, None] * step
            p, logp = self._probabilities(self.base + self._taste(trial))
            reached = logp - 0.5 * (trial**2 / tau).sum(axis=1)
            better = reached >= value - VALUE_ROUNDING * np.abs(reached)
            size = np.where(better, 1.0, 0.5 * size)
            u[better], value[better] = trial[better], reached[better]
            score, information = _local([p], self.z)
            g = score - trial / tau
            move = np.linalg.solve(information + np.diag(1 / tau), g[:, :, None])[:, :, 0]
            step[better] = move[better]
            left = np.where(better, (g * move).sum(axis=1), np.inf)
            if left.max(initial=0.0) < MODE_DECREMENT:
                break
        return np.asarray(u + np.where(better[:, None], step, 0.0))

    def _sampled(
        self,
        mean: Floats,
        information: Floats,
        across: Floats,
        rng: np.random.Generator,
        share: float,
    ) -> tuple[Floats, Floats]:
        """Steps towards the best q(u), each with draws of its own."""
        tau = self.work.tau[self.active]
        reach = LONGEST_STEP * np.sqrt(tau)
        for _ in range(SAMPLED_STEPS if len(tau) else 0):
            variance = _inverse(information + np.diag(1 / tau))
            pairs = self._draws(mean, variance, np.matmul(variance, across), rng)
            score, new = _local([p for p, _ in pairs], self.z)
            information = (1 - share) * information + share * new
            g = score - mean / tau
            step = np.linalg.solve(information + np.diag(1 / tau), g[:, :, None])[:, :, 0]
            mean = mean + share * np.clip(step, -reach, reach)
        return mean, information

    def _draws(
        self, mean: Floats, variance: Floats, carried: Floats, rng: np.random.Generator
    ) -> list[tuple[Floats, Floats]]:
        """Probabilities at antithetic draws of the utilities; `carried` is K."""
        (_, n, t, k), d, found = self.z.shape, len(self.work.mean), []
        middle = self.base + self._taste(mean)
        root = np.linalg.cholesky(variance).swapaxes(1, 2)
        for _ in range(self.work.pairs):
            away = (self.z * (rng.standard_normal((n, t, k)) @ root)).sum(axis=3)
            if self.work.variance.any():
                moved = rng.standard_normal((n, t, d)) * np.sqrt(self.work.variance)
                away += np.einsum("anti,nti->ant", self.x[..., :d], moved, optimize=True)
                away -= (self.z * (moved @ carried.swapaxes(1, 2))).sum(axis=3)
            found += [self._probabilities(middle + away), self._probabilities(middle - away)]
        return found

    # -- Sums -----------------------------------------------------------------------------------

    def _seen(self, pairs: Sequence[tuple[Floats, Floats]]) -> _Seen:
        """Averages over draws."""
        a, n, t, e = self.x.shape
        many = len(pairs)
        p = sum(one for one, _ in pairs) / many
        means = [np.einsum("ant,ante->nte", one, self.x, optimize=True) for one, _ in pairs]
        m = np.concatenate(means, axis=1) / np.sqrt(many)
        flat = self.x.transpose(1, 0, 2, 3).reshape(n, a * t, e)
        weighted = flat * np.asarray(p).transpose(1, 0, 2).reshape(n, a * t, 1)
        score = -weighted.sum(axis=1)
        at = self.work.columns
        shared = weighted.swapaxes(1, 2) @ flat[:, :, at] - m.swapaxes(1, 2) @ m[:, :, at]
        loglik = sum(one for _, one in pairs) / many
        return _Seen(np.asarray(loglik), score, flat, weighted, m, shared, at, len(self.work.mean))

    def _sums(
        self, seen: _Seen, mean: Floats, variance: Floats, weight: Floats, carried: Floats | None
    ) -> TasteSums:
        s, work = self.active, self.work
        tau, d, q = work.tau[s], len(work.mean), len(work.tau)
        across = seen.across(s)
        root = np.sqrt(weight)
        # Of the same draws as the rest, so that the information that remains is positive.
        inverse = _inverse(seen.between(s) + np.diag(1 / tau))
        half = np.matmul(across, np.linalg.cholesky(inverse)) * root[:, None, None]
        half = half.transpose(1, 0, 2).reshape(d, -1)
        short = seen.score[:, work.columns[s]] - mean / tau
        pulled = np.matmul(across, np.matmul(inverse, short[:, :, None]))[:, :, 0]
        scores = weight[:, None] * (seen.score[:, :d] - pulled)
        second = mean**2 + np.einsum("ukk->uk", variance)
        log_det = np.linalg.slogdet(variance)[1]
        if carried is not None:
            second = second + np.einsum("ukd,d->uk", carried**2, work.variance)
            each = 0.5 * ((second / tau).sum(axis=1) - log_det + np.log(tau).sum() - len(s))
        else:
            each = 0.5 * ((mean**2 / tau).sum(axis=1) - log_det + np.log(tau).sum())
        w = np.eye(len(s)) - variance / np.sqrt(np.multiply.outer(tau, tau))
        whole = np.zeros(q)
        whole[s] = weight @ second
        information = np.zeros((q, q))
        information[np.ix_(s, s)] = 0.5 * np.einsum("u,ukl->kl", weight, w**2)
        sparsity, quality, own = self._qualities(seen, mean, variance)
        return TasteSums(
            float(weight @ seen.loglik),
            float(weight @ each),
            scores.sum(axis=0),
            seen.gram(weight) - half @ half.T,
            whole,
            information,
            float(weight.sum()),
            sparsity,
            quality,
            own,
            weight,
            scores.T @ scores,
        )

    def _qualities(
        self, seen: _Seen, mean: Floats, variance: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """What each person's choices say of each candidate given the other tastes."""
        s, tau = self.active, self.work.tau[self.active]
        everything = np.arange(len(self.work.tau))
        between = seen.between(everything)
        own = np.einsum("ukk->uk", between).copy()
        sparsity, quality = own.copy(), seen.score[:, self.work.columns].copy()
        if len(s):
            cross = between[:, :, s]
            sparsity -= np.einsum("ukl,ulm,ukm->uk", cross, variance, cross, optimize=True)
            inner = np.einsum("ukk->uk", variance)
            sparsity[:, s], quality[:, s] = 1 / inner - 1 / tau, mean / inner
        return np.maximum(sparsity, 0.0), quality, own


@dataclass(frozen=True, eq=False)
class _Seen:
    """Averages over draws of n persons; E columns, q candidates."""

    loglik: Floats
    score: Floats
    flat: Floats
    weighted: Floats
    m: Floats
    shared: Floats
    columns: Ints
    d: int

    def across(self, which: Ints) -> Floats:
        """X: information on β and some candidates together; shape (n, D, k)."""
        return np.asarray(self.shared[:, : self.d, which])

    def between(self, which: Ints) -> Floats:
        """A: information on some candidates; shape (n, k, k)."""
        return np.asarray(self.shared[:, self.columns[which][:, None], which])

    def gram(self, weight: Floats) -> Floats:
        """Σ A_xx; shape (D, D)."""
        d = self.d
        left = (self.weighted[..., :d] * weight[:, None, None]).reshape(-1, d)
        middle = (self.m[..., :d] * weight[:, None, None]).reshape(-1, d)
        right = self.flat[..., :d].reshape(-1, d)
        return np.asarray(left.T @ right - middle.T @ self.m[..., :d].reshape(-1, d))


def _local(p: Sequence[Floats], z: Floats) -> tuple[Floats, Floats]:
    """Score and information by u, averaged over draws; shapes (n, k) and (n, k, k)."""
    a, n, t, k = z.shape
    flat = z.transpose(1, 0, 2, 3).reshape(n, a * t, k)
    average = np.asarray(sum(p) / len(p)).transpose(1, 0, 2).reshape(n, a * t, 1)
    weighted = flat * average
    information = flat.swapaxes(1, 2) @ weighted
    for one in p:
        m = np.einsum("ant,antk->ntk", one, z, optimize=True)
        information -= m.swapaxes(1, 2) @ m / len(p)
    return -weighted.sum(axis=1), information


def _inverse(matrices: Floats) -> Floats:
    """Of each; shape (n, k, k)."""
    return np.asarray(np.linalg.inv(matrices), dtype=np.float64)
