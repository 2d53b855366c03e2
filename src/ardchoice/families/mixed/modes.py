"""The mode of every person's tastes, and the log-likelihood once tastes are integrated out.

Utilities are V = x'β + z'(√τ ∘ v_n) with v_n ~ N(0, I), n a person and z the q columns whose
coefficients differ between persons. At the mode of log p_n(β, v) - ½ v'v, which is concave, with
z̄ = Σ_j P z and z times √τ, the sums over the situations of a person

    A_n = Σ P (z - z̄)(z - z̄)',   X_n = Σ x P (z - z̄)',   M_n = (I + A_n)⁻¹

give the log-likelihood with tastes integrated out (Laplace), and to first order its Hessian by β:

    F = Σ_n [log p_n - ½ v_n'v_n - ½ log|I + A_n|],
    H = Σ P (x - x̄)(x - x̄)' - Σ_n X_n M_n X_n'.

H is exactly the Hessian of the profile Σ_n max_v [log p_n - ½ v'v], whose gradient is that of
Σ log p_n; a search over terms works on F and H. H is positive definite by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Bools, Floats, Ints
from ardchoice.design import Block
from ardchoice.families.mnl.kernel import choice_probabilities, evaluate_at, weighted_columns
from ardchoice.families.mnl.kernel import utilities as mnl_utilities
from ardchoice.numerics import (
    Order,
    Sums,
    stacked_cholesky,
    stacked_gram,
    stacked_inverse,
    stacked_solve,
)

MODE_STEPS = 40
"""Most Newton steps towards the modes."""
MODE_DECREMENT = 1e-3
"""Twice the log-likelihood that any person's tastes can still gain before the last step."""
ACTIVE_SHARE = 0.6
"""Of the persons: below it those that are at their modes are put aside."""
VALUE_ROUNDING = 1e-12
"""Share of a person's log-likelihood that is rounding."""


@dataclass(frozen=True, eq=False)
class TasteColumn:
    """One column of z: ones for some alternatives, or a weighted sum of columns of the blocks.

    Attributes
    ----------
    alternatives
        Those whose utility it is a constant of; empty for none.
    columns, weights
        What is added up; shape (M,) both.
    """

    alternatives: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()

    def moved(self, place: Ints) -> TasteColumn:
        """The same for blocks whose columns stand elsewhere; `place` has the new positions."""
        return replace(self, columns=tuple(int(place[c]) for c in self.columns))


def taste_values(block: Block, tastes: Sequence[TasteColumn]) -> Floats:
    """The columns z of a block; shape (q, J, B)."""
    out = np.zeros((len(tastes), *block.shape))
    for k, taste in enumerate(tastes):
        if taste.alternatives:
            out[k, list(taste.alternatives)] = 1.0
        for column, weight in zip(taste.columns, taste.weights, strict=True):
            for part in block.parts:
                if part.columns.start <= column < part.columns.stop:
                    x = part.x[column - part.columns.start]
                    out[k, list(part.alternatives)] += weight * x
    return out


@dataclass(frozen=True, eq=False)
class ModeSums:
    """Summed over the persons of some blocks; W columns, q tastes.

    Attributes
    ----------
    conditional
        Log-likelihood given tastes, its gradient and its information.
    penalty, log_determinant
        Σ ½ v'v and Σ ½ log|I + A|.
    lost
        Σ X M X': information on β that tastes take away; shape (W, W).
    meat
        Σ s s' of the persons' scores; shape (W, W), empty if not asked for.
    lost_by
        Information that each taste alone takes from every column; shape (W, q), empty too.
    by_variance, variance_information
        Of F by the logarithms of τ, at the modes: Σ ½ (v_k² + M_kk - 1), shape (q,), and
        Σ ½ (I - M)∘(I - M), shape (q, q).
    codes, tastes
        Persons and their modes, (U,) and (U, q) of every block.
    """

    conditional: Sums
    penalty: float
    log_determinant: float
    lost: Floats
    meat: Floats
    lost_by: Floats
    by_variance: Floats
    variance_information: Floats
    codes: tuple[Ints, ...] = ()
    tastes: tuple[Floats, ...] = ()

    def __add__(self, other: ModeSums) -> ModeSums:
        return ModeSums(
            self.conditional + other.conditional,
            self.penalty + other.penalty,
            self.log_determinant + other.log_determinant,
            self.lost + other.lost,
            self.meat + other.meat,
            self.lost_by + other.lost_by,
            self.by_variance + other.by_variance,
            self.variance_information + other.variance_information,
            self.codes + other.codes,
            self.tastes + other.tastes,
        )

    @property
    def objective(self) -> float:
        """Σ [log p - ½ v'v]: the profile that the modes maximise."""
        return self.conditional.loglik - self.penalty

    @property
    def marginal(self) -> Sums:
        """F, the gradient of the profile by β, and the information that remains."""
        return Sums(
            self.objective - self.log_determinant,
            self.conditional.gradient,
            self.conditional.curvature - self.lost,
        )

    def people(self, before: Floats) -> Floats:
        """The modes of all persons by code; shape (persons, q)."""
        out = before.copy()
        for codes, tastes in zip(self.codes, self.tastes, strict=True):
            out[codes] = tastes
        return out


@dataclass(frozen=True, eq=False)
class ModeMeasure:
    """`ModeSums` of a block; can be sent to another process.

    Attributes
    ----------
    beta
        In block order; shape (W,).
    tastes
        The q columns z.
    sd
        √τ; shape (q,).
    v
        Tastes of every person by code, near their modes; shape (persons, q).
    order
        0 for the profile and the log-likelihood alone.
    meat
        Whether products of scores are wanted, and what each taste takes.
    """

    beta: Floats
    tastes: tuple[TasteColumn, ...]
    sd: Floats
    v: Floats
    order: Order = 2
    meat: bool = False

    def __call__(self, block: Block) -> ModeSums:
        """Of one block, whose persons are whole and stand together."""
        persons = _Runs.of(block)
        weight = persons.weight
        block = persons.block
        d, q = len(self.beta), len(self.tastes)
        # 1 · The modes.
        z = taste_values(block, self.tastes) * self.sd[:, None, None]
        base = mnl_utilities(self.beta, block)
        v, a = person_modes(block, persons, base, z, self.v[persons.codes])
        factor = stacked_cholesky(_with_prior(a))
        utility = base.copy()
        for k in range(q):
            utility += z[k] * np.repeat(v[:, k], persons.runs)
        p = choice_probabilities(utility, block.available).p
        # 2 · Given tastes.
        residual = _residual(p, block) if self.meat else None
        conditional = evaluate_at(utility, block, self.order)
        diagonal = factor[range(q), range(q)]
        penalty = 0.5 * float(weight @ (v**2).sum(axis=1))
        determinant = float(np.log(diagonal).sum(axis=0) @ weight)
        lost, meat, lost_by, by_variance, knowledge = (np.zeros(0) for _ in range(5))
        if self.order == 2:
            # 3 · What the tastes of every person share with β.
            z -= np.einsum("jb,kjb->kb", p, z)[:, None]
            x = np.empty((q, d, len(persons.codes)))
            for k in range(q):
                x[k] = persons.sums(weighted_columns(p * z[k], block))
            inverse = stacked_inverse(factor)  # M = inverse' inverse
            x *= np.sqrt(weight)
            half = np.empty((d, q, len(persons.codes)))
            for k in range(q):
                half[:, k] = inverse[k, k] * x[k]
                for m in range(k):
                    half[:, k] += inverse[k, m] * x[m]
            flat = half.reshape(d, -1)
            lost = flat @ flat.T
            known = stacked_gram(inverse)
            known[range(q), range(q)] -= 1.0
            by_variance = 0.5 * ((v.T**2 + known[range(q), range(q)]) @ weight)
            knowledge = 0.5 * (known**2 @ weight)
            if residual is not None:
                score = persons.sums(weighted_columns(residual, block))
                meat = score @ score.T
                variance = (inverse**2).sum(axis=0)
                lost_by = np.einsum("kdu,ku->dk", x**2, variance)
        found = (penalty, determinant, lost, meat, lost_by, by_variance, knowledge)
        return ModeSums(conditional, *found, (persons.codes,), (v,))


def person_modes(
    block: Block, persons: _Runs, base: Floats, z: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """The mode of every person's tastes by Newton's method, each with a step of its own.

    Persons that are there are not looked at again: a few take many steps.

    Parameters
    ----------
    block, persons
    base
        Utilities without tastes; shape (J, B).
    z
        Times √τ; shape (q, J, B).
    start
        Shape (U, q).

    Returns
    -------
    v, a
        The modes and A there; shape (U, q) and (q, q, U).
    """
    q, count = len(z), len(start)
    out, information = start.copy(), np.zeros((q, q, count))
    if not q:
        return out, information
    work = _Answers(base, z, block.available, block.choice, persons.runs)
    who = np.arange(count)
    v, step = np.ascontiguousarray(start.T), np.zeros((q, count))
    value, size = np.full(count, -np.inf), np.ones(count)
    for _ in range(MODE_STEPS):
        trial = v + size * step
        found = work.at(trial)
        better = found.value >= value - VALUE_ROUNDING * np.abs(found.value)
        size = np.where(better, 1.0, 0.5 * size)
        value = np.where(better, found.value, value)
        move = stacked_solve(stacked_cholesky(_with_prior(found.information)), found.gradient)
        v, step = np.where(better, trial, v), np.where(better, move, step)
        at = who[better]
        information[:, :, at] = found.information[:, :, better]
        out[at] = (trial + move)[:, better].T
        active = ~better | ((found.gradient * move).sum(axis=0) >= MODE_DECREMENT)
        if not active.any():
            break
        if active.mean() < ACTIVE_SHARE:
            who, value, size = who[active], value[active], size[active]
            v, step, work = v[:, active], step[:, active], work.take(active)
    return out, information


def _with_prior(information: Floats) -> Floats:
    """I + A; shape (q, q, U)."""
    out = information.copy()
    places = np.arange(len(out))
    out[places, places] += 1.0
    return out


@dataclass(frozen=True, eq=False)
class _AtTastes:
    """log p - ½ v'v of U persons, its gradient (q, U), and A (q, q, U)."""

    value: Floats
    gradient: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class _Answers:
    """What is needed of the rows of some persons; runs as in `_Runs`, the others as in a block."""

    base: Floats
    z: Floats
    available: Bools | None
    choice: Ints
    runs: Ints

    def at(self, v: Floats) -> _AtTastes:
        """At tastes v; shape (q, U)."""
        z, q, rows = self.z, len(self.z), np.arange(len(self.choice))
        starts = np.cumsum(self.runs) - self.runs
        utility = self.base.copy()
        for k in range(q):
            utility += z[k] * np.repeat(v[k], self.runs)
        logs = utility[self.choice, rows]
        found = choice_probabilities(utility, self.available)
        logs -= found.log_total
        each = np.empty((1 + q + q * (q + 1) // 2, len(rows)))
        each[0] = logs
        mean = each[1 : 1 + q]
        weighted = found.p * z
        weighted.sum(axis=1, out=mean)
        place = 1 + q
        for k in range(q):
            for m in range(k + 1):
                np.einsum("jb,jb->b", weighted[k], z[m], out=each[place])
                each[place] -= mean[k] * mean[m]
                place += 1
        np.subtract(z[:, self.choice, rows], mean, out=mean)
        total = sums_of_runs(each, starts, self.runs)
        information = np.empty((q, q, len(self.runs)))
        lower, upper = np.tril_indices(q)
        information[lower, upper] = information[upper, lower] = total[1 + q :]
        value = total[0] - 0.5 * (v**2).sum(axis=0)
        return _AtTastes(value, total[1 : 1 + q] - v, information)

    def take(self, which: Bools) -> _Answers:
        """Of some of the persons."""
        rows = np.flatnonzero(np.repeat(which, self.runs))
        available = None if self.available is None else self.available[:, rows]
        z = np.take(self.z, rows, axis=2)
        base = np.take(self.base, rows, axis=1)
        return _Answers(base, z, available, self.choice[rows], self.runs[which])


@dataclass(frozen=True, eq=False)
class _Runs:
    """Persons of a block, whose rows follow each other; U of them.

    Attributes
    ----------
    block
        With every person's mean weight in all rows.
    codes, starts, runs
        Code, first row and number of rows; shape (U,) each.
    weight
        Shape (U,).
    """

    block: Block
    codes: Ints
    starts: Ints
    runs: Ints
    weight: Floats

    @classmethod
    def of(cls, block: Block) -> _Runs:
        person = block.person if block.person is not None else np.arange(block.shape[1])
        starts = np.append(0, 1 + np.flatnonzero(person[1:] != person[:-1]))
        runs = np.diff(np.append(starts, len(person)))
        block, weight = person_weights(block, starts, runs)
        return cls(block, np.asarray(person[starts], dtype=np.intp), starts, runs, weight)

    def sums(self, rows: Floats) -> Floats:
        """Over the rows of every person; from (M, B) to (M, U)."""
        return sums_of_runs(rows, self.starts, self.runs)


def person_weights(block: Block, starts: Ints, runs: Ints) -> tuple[Block, Floats]:
    """The block with every person's mean weight in all rows, and these weights; shape (U,)."""
    if block.weight is None:
        return block, np.ones(len(starts))
    weight = np.add.reduceat(block.weight, starts) / runs
    return replace(block, weight=np.repeat(weight, runs)), weight


def _residual(p: Floats, block: Block) -> Floats:
    """W (1[y = j] - P); shape (J, B)."""
    out = -p
    out.reshape(-1)[block.picked] += 1.0
    return out if block.weight is None else out * block.weight


def sums_of_runs(rows: Floats, starts: Ints, runs: Ints) -> Floats:
    """Sums over persons whose rows follow each other; from (M, B) to (M, U)."""
    if len(runs) and (runs == runs[0]).all():
        # Equally many answers of everyone, as in most experiments: a product is faster.
        return np.asarray(rows.reshape(len(rows), len(runs), runs[0]) @ np.ones(runs[0]))
    return np.asarray(np.add.reduceat(rows, starts, axis=1))
