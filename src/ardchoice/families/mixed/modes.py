"""The mode of every person's tastes, and the log-likelihood once tastes are integrated out.

Utilities are V = x'β + z'(√τ ∘ v_n) with v_n ~ N(0, I), n a person and z the q columns whose
coefficients differ between persons. With R = 1[y = j] - P and z̄ = Σ_j P z (both at β and v_n, z
times √τ), the sums over the situations of a person

    g_n = Σ R z - v_n,   A_n = Σ P (z - z̄)(z - z̄)',   X_n = Σ x P (z - z̄)',   M_n = (I + A_n)⁻¹

give a Newton step of Σ_n [log p_n(β, v_n) - ½ v_n'v_n], which is concave in everything:

    H = Σ P (x - x̄)(x - x̄)' - Σ_n X_n M_n X_n',
    δ = H⁻¹ (g_x - Σ_n X_n M_n g_n),   Δv_n = M_n (g_n - X_n' δ).

At the modes H is the information on β that remains once tastes are integrated out (to first order:
Laplace), F = Σ_n [log p_n - ½ v_n'v_n - ½ log|I + A_n|] the log-likelihood, and both together the
marginal quadratic that a search over terms works on. It is positive definite by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.design import Block
from ardchoice.families.mnl.kernel import choice_probabilities, evaluate_at, weighted_columns
from ardchoice.families.mnl.kernel import utilities as mnl_utilities
from ardchoice.numerics import Sums


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
    pulled
        Σ X M g; shape (W,).
    person_decrement
        Σ ½ g'M g: what moving tastes alone would gain.
    meat
        Σ s s' of the persons' marginal scores; shape (W, W), empty if not asked for.
    codes, steps, slopes
        Persons, their M g and M X', (U,), (U, q) and (U, q, W) of every block; empty if not
        asked for.
    """

    conditional: Sums
    penalty: float
    log_determinant: float
    lost: Floats
    pulled: Floats
    person_decrement: float
    meat: Floats
    codes: tuple[Ints, ...] = ()
    steps: tuple[Floats, ...] = ()
    slopes: tuple[Floats, ...] = ()

    def __add__(self, other: ModeSums) -> ModeSums:
        return ModeSums(
            self.conditional + other.conditional,
            self.penalty + other.penalty,
            self.log_determinant + other.log_determinant,
            self.lost + other.lost,
            self.pulled + other.pulled,
            self.person_decrement + other.person_decrement,
            self.meat + other.meat,
            self.codes + other.codes,
            self.steps + other.steps,
            self.slopes + other.slopes,
        )

    @property
    def objective(self) -> float:
        """Σ [log p - ½ v'v]: what the modes maximise."""
        return self.conditional.loglik - self.penalty

    @property
    def marginal(self) -> Sums:
        """F, its gradient by β at the modes, and the information that remains."""
        return Sums(
            self.conditional.loglik - self.penalty - self.log_determinant,
            self.conditional.gradient - self.pulled,
            self.conditional.curvature - self.lost,
        )


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
        Tastes of every person by code; shape (persons, q).
    steps
        Whether what moves the persons is wanted.
    meat
        Whether products of scores are.
    """

    beta: Floats
    tastes: tuple[TasteColumn, ...]
    sd: Floats
    v: Floats
    steps: bool = False
    meat: bool = False

    def __call__(self, block: Block) -> ModeSums:
        """Of one block, whose persons are whole and stand together."""
        person = block.person if block.person is not None else np.arange(block.shape[1])
        starts = np.append(0, 1 + np.flatnonzero(person[1:] != person[:-1]))
        codes = np.asarray(person[starts], dtype=np.intp)
        runs = np.diff(np.append(starts, len(person)))
        v, q = self.v[codes], len(self.tastes)
        block, weight = person_weights(block, starts, runs)
        # 1 · Given tastes.
        z = taste_values(block, self.tastes) * self.sd[:, None, None]
        utility = mnl_utilities(self.beta, block)
        if q:
            utility += np.einsum("kjb,bk->jb", z, np.repeat(v, runs, axis=0))
        p = choice_probabilities(utility, block.available).p
        residual = _residual(p, block) if self.meat else None
        conditional = evaluate_at(utility, block)
        # 2 · What every person's tastes share with β.
        picked = z.reshape(q, block.choice.size * block.shape[0])[:, block.picked]
        mean = np.einsum("jb,kjb->kb", p, z)
        g = sums_of_runs(picked - mean, starts, runs).T - v
        z -= mean[:, None]
        weighted = p * z
        a = np.empty((len(codes), q, q))
        x = np.empty((q, len(self.beta), len(codes)))
        for k in range(q):
            rows = np.einsum("jb,ljb->lb", weighted[k], z[: k + 1])
            a[:, k, : k + 1] = a[:, : k + 1, k] = sums_of_runs(rows, starts, runs).T
            x[k] = sums_of_runs(weighted_columns(weighted[k], block), starts, runs)
        # 3 · Tastes integrated out.
        a[:, range(q), range(q)] += 1.0
        factor = np.linalg.cholesky(a)
        inverse = np.linalg.inv(factor)  # M = inverse' inverse
        half = np.einsum("ukl,ldu->dku", inverse, x)
        own = np.einsum("ukl,ul->ku", inverse, g)
        half *= np.sqrt(weight)
        flat = half.reshape(len(self.beta), -1)
        pulled = flat @ (own * np.sqrt(weight)).ravel()
        diagonal = np.diagonal(factor, axis1=1, axis2=2)
        meat = np.zeros((0, 0))
        if residual is not None:
            score = sums_of_runs(weighted_columns(residual, block), starts, runs)
            score -= np.einsum("dku,ku->du", half, own * np.sqrt(weight))
            meat = score @ score.T
        out = ModeSums(
            conditional,
            0.5 * float(weight @ (v**2).sum(axis=1)),
            float(weight @ np.log(diagonal).sum(axis=1)),
            flat @ flat.T,
            pulled,
            0.5 * float((own**2).sum(axis=0) @ weight),
            meat,
        )
        if not self.steps:
            return out
        step = np.einsum("ukl,ku->ul", inverse, own)
        slope = np.einsum("ukl,dku->uld", inverse, half / np.sqrt(weight))
        return replace(out, codes=(codes,), steps=(step,), slopes=(slope,))


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
