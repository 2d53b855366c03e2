"""Score tests of no heterogeneity: would the variance of a coefficient rise above zero.

Where coefficient k varies between persons with a small variance τ_k, person n's likelihood changes
by ∂ log L_n / ∂τ_k = ½ (s_nk² + ∂² log L_n / ∂β_k²), with s_n the score of all choices of the
person. In a multinomial logit the second term is -A_nk, the information, and the variance of the
sum under the null is known: with the fourth cumulant κ of every choice's score,
½ A_nkl² + ¼ Σ_t κ_t,kkll; its covariance with the scores of the coefficients is half of the third.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.design import Block
from ardchoice.families.family import Family
from ardchoice.families.mixed.persons import Component, PersonGroup, persons_of
from ardchoice.families.mixed.quadratics import LARGEST_UTILITY
from ardchoice.families.mixed.structure import Spread
from ardchoice.families.parameters import LOCATIONS, ParameterLayout
from ardchoice.families.persons import person_rows

CHUNK_ELEMENTS = 1 << 21
"""Numbers in an array over persons, situations and pairs of columns."""
DIFFERENCE_UTILITY = 1e-3
"""Root mean square utility, over all choices, that a step of central differences causes."""
CONE_DRAWS = 2_000
"""Of the weights of χ² distributions in the joint test."""
NEGLIGIBLE_SHARE = 1e-9
"""Of the variance of a test that is left once coefficients are estimated: it is rounding."""


@dataclass(frozen=True, eq=False)
class HeterogeneitySums:
    """Sums over persons; E candidate columns, P coefficients that were estimated.

    Attributes
    ----------
    u
        Σ ½ (s_k² - A_kk): scores of the variances; shape (E,).
    variance
        Of u under the null; shape (E, E).
    cross
        Covariance of u with the scores of the coefficients; shape (E, P).
    information
        Of the coefficients; shape (P, P).
    """

    u: Floats
    variance: Floats
    cross: Floats
    information: Floats

    def __add__(self, other: HeterogeneitySums) -> HeterogeneitySums:
        return HeterogeneitySums(
            self.u + other.u,
            self.variance + other.variance,
            self.cross + other.cross,
            self.information + other.information,
        )

    @property
    def efficient(self) -> Floats:
        """Variance of u once the coefficients are estimated; shape (E, E)."""
        solved = np.linalg.lstsq(self.information, self.cross.T, rcond=None)[0]
        out = self.variance - self.cross @ solved
        return np.asarray(0.5 * (out + out.T))


@dataclass(frozen=True, eq=False)
class MnlHeterogeneityMeasure:
    """`HeterogeneitySums` of a block at a multinomial logit, by closed forms.

    Attributes
    ----------
    beta
        In block order; shape (D,).
    components
        Columns behind the D, such as error components.
    """

    beta: Floats
    components: tuple[Component, ...] = ()

    def __call__(self, block: Block) -> HeterogeneitySums:
        """Of one block."""
        persons = persons_of(block, self.components)
        common = np.concatenate([self.beta, np.zeros(len(self.components))])
        e, d = len(common), len(self.beta)
        out = HeterogeneitySums(np.zeros(e), np.zeros((e, e)), np.zeros((e, d)), np.zeros((d, d)))
        for group in persons.groups:
            a, n, t, _ = group.x.shape
            size = max(1, CHUNK_ELEMENTS // (t * max(e * e, (a + 1) * 2 * e)))
            for first in range(0, n, size):
                rows = slice(first, first + size)
                out += _moments(group, rows, common, persons.weight[group.unit[rows]], d)
        return out


def _moments(
    group: PersonGroup, rows: slice, beta: Floats, weight: Floats, d: int
) -> HeterogeneitySums:
    x = group.x[:, rows]
    a, n, t, e = x.shape
    v = np.minimum(x @ beta, LARGEST_UTILITY)
    if group.absent is not None:
        v[group.absent[:, rows]] = -np.inf
    p = np.empty((a + 1, n, t))
    p[0] = 1.0
    np.exp(v, out=p[1:])
    p /= p.sum(axis=0)
    # Differences from the mean over alternatives, the chosen one (all zeros) in front; and squares.
    mean = np.einsum("ant,ante->nte", p[1:], x)
    z = np.empty((a + 1, n, t, 2 * e))
    z[0, ..., :e], z[1:, ..., :e] = -mean, x - mean
    np.square(z[..., :e], out=z[..., e:])
    score = -mean.sum(axis=1)
    weighted = z[..., :e] * p[..., None]
    each = np.einsum("antk,antl->ntkl", weighted, z[..., :e], optimize=True)
    own = each.sum(axis=1)
    u = 0.5 * (score**2 - np.einsum("nkk->nk", own))
    # Covariances of differences and of their squares, over the alternatives of every situation.
    full = z.reshape(-1, 2 * e)
    gram = full.T @ (full * (p * weight[:, None]).reshape(-1, 1))
    centre = np.einsum("ntkk->ntk", each).reshape(-1, e)
    repeated = np.repeat(weight, t)
    squares = gram[e:, e:] - centre.T @ (centre * repeated[:, None])
    fourth = squares - 2 * np.einsum("ntkl,ntkl,n->kl", each, each, weight, optimize=True)
    variance = 0.5 * np.einsum("nkl,nkl,n->kl", own, own, weight, optimize=True) + 0.25 * fourth
    return HeterogeneitySums(weight @ u, variance, 0.5 * gram[e:, :d], gram[:d, :d])


# -- Any family ------------------------------------------------------------------------------------


def candidate_parameters(layout: ParameterLayout) -> Ints:
    """Coefficients that are not random yet."""
    random = {p.column for p in layout.parameters if isinstance(p, Spread)}
    return np.array(
        [
            k
            for k, p in enumerate(layout.parameters)
            if p.kind in (*LOCATIONS, "class") and p.column is not None and p.column not in random
        ],
        dtype=np.intp,
    )


@dataclass(frozen=True, eq=False)
class FamilyHeterogeneityMeasure:
    """`HeterogeneitySums` of a block in any family: second derivatives by central differences.

    The variance is that of the persons' own contributions.

    Attributes
    ----------
    family, layout, theta
        In block order.
    which
        Positions of the coefficients to be tested; shape (E,).
    steps
        Of the differences; shape (E,).
    """

    family: Family
    layout: ParameterLayout
    theta: Floats
    which: Ints
    steps: Floats

    def __call__(self, block: Block) -> HeterogeneitySums:
        """Of one block."""
        here = self._scores(self.theta, block)
        rows = person_rows(block)
        weight = rows.weights(block)
        if self.family.panel:
            weight = persons_of(block).weight
        each = np.empty((len(self.which), here.shape[1]))
        for i, (k, step) in enumerate(zip(self.which, self.steps, strict=True)):
            move = np.zeros_like(self.theta)
            move[k] = step
            up, down = (self._scores(self.theta + s * move, block)[k] for s in (1, -1))
            # Scores are weighted once: s² has to be divided by the weight.
            each[i] = 0.5 * (here[k] ** 2 / np.maximum(weight, 1e-300) + (up - down) / (2 * step))
        return HeterogeneitySums(each.sum(axis=1), each @ each.T, each @ here.T, here @ here.T)

    def _scores(self, theta: Floats, block: Block) -> Floats:
        """Of every person; shape (P, persons)."""
        found = self.family.scores(theta, block, self.layout).each
        return found if self.family.panel else person_rows(block).sums(found)


def difference_steps(information: Floats, units: int) -> Floats:
    """Steps that change the utilities of a choice by about `DIFFERENCE_UTILITY`.

    Parameters
    ----------
    information
        Diagonal of the Hessian of the tested coefficients; shape (E,).
    units
        Choices.
    """
    return np.asarray(DIFFERENCE_UTILITY / np.sqrt(np.maximum(information / max(units, 1), 1e-12)))


# -- The tests -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeterogeneityTest:
    """What the sums say; E candidates.

    Attributes
    ----------
    z
        u over its standard deviation: positive where choices vary more between persons than one
        coefficient for everyone explains. NaN where nothing can be said; shape (E,).
    p
        One-sided; shape (E,).
    variance
        Of the coefficient between persons, after one step; shape (E,).
    joint, joint_p
        The largest gain of any non-negative variances together, and its p-value.
    """

    z: Floats
    p: Floats
    variance: Floats
    joint: float
    joint_p: float


def heterogeneity_test(sums: HeterogeneitySums) -> HeterogeneityTest:
    """One-sided tests of every candidate, and of all of them together."""
    from scipy import stats

    own = np.diag(sums.efficient)
    known = own > NEGLIGIBLE_SHARE * np.maximum(np.diag(sums.variance), 1e-300)
    sd = np.sqrt(np.where(known, own, 1.0))
    z = np.where(known, sums.u / sd, np.nan)
    variance = np.where(known, np.maximum(sums.u, 0.0) / sd**2, np.nan)
    inside = np.flatnonzero(known)
    correlation = sums.efficient[np.ix_(inside, inside)] / np.outer(sd[inside], sd[inside])
    joint, joint_p = _cone_test(z[inside], correlation)
    return HeterogeneityTest(z, stats.norm.sf(z), variance, joint, joint_p)


def _cone_test(z: Floats, correlation: Floats) -> tuple[float, float]:
    """Max over τ ≥ 0 of 2 z'τ - τ'Rτ, and its p-value: a mixture of χ² distributions."""
    from scipy import optimize, stats

    if not len(z):
        return 0.0, 1.0
    # A little is added to the diagonal: columns may be functions of each other.
    root = np.linalg.cholesky(correlation + 1e-8 * np.eye(len(z)))
    a = root.T

    def solved(b: Floats) -> tuple[float, int]:
        tau, rest = optimize.nnls(a, b)
        return float(b @ b - rest**2), int((tau > 0).sum())

    statistic = solved(np.linalg.solve(root, z))[0]
    rng = np.random.default_rng(0)
    sizes = np.array([solved(b)[1] for b in rng.standard_normal((CONE_DRAWS, len(z)))])
    share = np.bincount(sizes, minlength=len(z) + 1) / CONE_DRAWS
    tails = stats.chi2.sf(statistic, np.arange(1, len(z) + 1))
    p = float(share[1:] @ tails) + (float(share[0]) if statistic <= 0 else 0.0)
    return statistic, min(p, 1.0)
