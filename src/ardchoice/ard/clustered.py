"""Score tests clustered by person, and how much less a panel says than independent answers.

With R the columns that are in the model, without those of a term t itself, the quadratic of the
log-likelihood and the scores s_n of every person n (of every situation without persons) give

    S = H_tt - H_tR H_RR⁻¹ H_Rt,   q = b_t - H_tR H_RR⁻¹ b_R,   J = Σ_n u_n u_n',

u_n = s_tn - H_tR H_RR⁻¹ s_Rn being the scores less what the rest explains. Where answers are
independent and the model is right, J is S on average; answers of one person that resemble each
other make it larger:

    design effect   tr(S⁻¹J) / K,
    statistic       q'J⁻¹q, χ² with K degrees of freedom when the term is noise.

For a term of the model this is the Wald test with the clustered sandwich H⁻¹JH⁻¹, for another one
the score test. Nothing is shrunk here. Which terms are in the model is decided on the same
quadratic: terms enter while they gain more than their price, and leave when they do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ardchoice._types import Bools, Floats, Ints
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.quadratic import Quadratic
from ardchoice.families import scored_pass

COLLINEAR_SHARE = 1e-8
"""Share of a column's information below which what the model leaves of it is rounding."""
RIDGE_SHARE = 1e-11
"""Of its information that is added to every column of the model, should two of them be alike."""
MAX_STEPS = 200
"""Most terms that enter or leave; a cycle would end here."""


@dataclass(frozen=True, eq=False)
class TermTests:
    """Of every candidate term given the others that are in the model; shape (T,) each.

    Attributes
    ----------
    in_model
        Which terms are.
    gain
        q'S⁻¹q: twice the log-likelihood that the term adds.
    statistic
        q'J⁻¹q.
    degrees
        Of freedom: columns of which the model leaves something.
    design_effect
        tr(S⁻¹J) / K; one where nothing is left to test.
    """

    in_model: Bools
    gain: Floats
    statistic: Floats
    degrees: Ints
    design_effect: Floats

    @property
    def p_value(self) -> Floats:
        """Of the statistic; one where nothing is left to test."""
        p = stats.chi2.sf(self.statistic, np.maximum(self.degrees, 1))
        return np.where(self.degrees > 0, p, 1.0)


def clustered_meat(likelihood: FamilyLikelihood, mean: Floats) -> tuple[Floats, Floats]:
    """Σ s s' of scores summed by person (by situation without persons), and H; (D, D) each.

    One pass, at coefficients in the order of the terms. What a family has besides coefficients is
    profiled out of both, as it is out of the quadratic.
    """
    design, layout = likelihood.design, likelihood.layout
    theta = likelihood.theta(mean[design.order])
    found = scored_pass(
        likelihood.family,
        layout,
        theta,
        likelihood.blocks,
        design.data.person,
        clustered_only=True,
    )
    meat = found.meat if found.clustered is None else found.clustered
    d, h = layout.n_columns, found.curvature
    free = d + np.flatnonzero(~layout.at_bound(theta)[d:])
    project = np.eye(len(theta))[:d]
    if len(free):
        project[:, free] = -np.linalg.solve(h[np.ix_(free, free)], h[free, :d]).T
    back = np.ix_(design.position, design.position)
    return (project @ meat @ project.T)[back], (project @ h @ project.T)[back]


def term_prices(
    n: int,
    columns: Ints,
    design_effect: Floats | None = None,
    per_coefficient: float | None = None,
) -> Floats:
    """What every term must gain in twice the log-likelihood to be worth its coefficients; (T,).

    Twice the log-likelihood that a noise term of K columns gains is about d χ²_K, d its design
    effect. The price is w K, as if answers were independent, or where that is more

        d Q_K(α),   α = P(χ²_1 > w ln(n/d) / ln n),   Q_K(α) the upper quantile of χ²_K:

    noise of K columns gets in as rarely as noise of one column would by BIC on n/d independent
    answers. For one column and w = ln n it is d ln(n/d). A design effect below one counts as one.

    Parameters
    ----------
    n
        Choice situations.
    columns, design_effect
        Of every term; shape (T,). None: one.
    per_coefficient
        w. Default: ln n, as in BIC.
    """
    w = float(np.log(n)) if per_coefficient is None else per_coefficient
    plain = w * np.asarray(columns, dtype=float)
    if design_effect is None:
        return plain
    d = np.clip(design_effect, 1.0, n / math.e)
    chance = stats.chi2.sf(w * (1 - np.log(d) / np.log(n)), 1)
    clustered = d * stats.chi2.isf(chance, columns)
    # Rounding of the quantile must not change the price of BIC.
    return np.asarray(np.where(d > 1, np.maximum(plain, clustered), plain))


def clustered_tests(
    quadratic: Quadratic,
    meat: Floats,
    groups: Groups,
    start: Bools,
    forced: Bools,
    is_clustered: Bools,
    n: int,
) -> TermTests:
    """Test every term given those that are worth their price.

    Parameters
    ----------
    quadratic
        Of D columns.
    meat
        Σ s s' of the scores, summed by person; shape (D, D).
    groups
        The columns of every term.
    start
        Terms to begin with; shape (T,).
    forced
        Terms that are always in the model.
    is_clustered
        Terms whose price has their design effect in it: interactions.
    n
        Choice situations.
    """
    tester = _Tester(quadratic, meat, groups)
    inside, seen = start | forced, set()
    tests = tester.given(inside)
    for _ in range(MAX_STEPS):
        deff = np.where(is_clustered, tests.design_effect, 1.0)
        margin = tests.gain - term_prices(n, groups.sizes, deff)
        # In the model and worth less than its price, or out of it and worth more.
        improvement = np.where(inside, -margin, margin)
        improvement[forced] = -np.inf
        t = int(improvement.argmax())
        if improvement[t] <= 0:
            break
        inside = inside.copy()
        inside[t] = not inside[t]
        if inside.tobytes() in seen:
            break
        seen.add(inside.tobytes())
        tests = tester.given(inside)
    return tests


class _Tester:
    """Tests of all terms of a quadratic, whatever is in the model."""

    def __init__(self, quadratic: Quadratic, meat: Floats, groups: Groups) -> None:
        self.h, self.b, self.meat, self.groups = quadratic.curvature, quadratic.b, meat, groups
        own = np.diag(self.h)
        self.own = np.where(own > 0, own, 1.0)

    def given(self, inside: Bools) -> TermTests:
        """Of every term, given the terms inside without itself."""
        h, meat, groups = self.h, self.meat, self.groups
        active = np.flatnonzero(inside[groups.of])
        matrix = h[active[:, None], active]
        matrix.flat[:: len(active) + 1] += RIDGE_SHARE * self.own[active]
        inverse = np.linalg.inv(matrix)
        # 1 · Terms of the model, from the inverse and the sandwich.
        estimates = inverse @ self.b[active]
        sandwich = inverse @ meat[active[:, None], active] @ inverse
        # 2 · The others: S, q and J less what the model explains.
        spread = inverse @ h[active]
        residual = self.b - spread.T @ self.b[active]
        cross = meat[active]
        half = spread.T @ cross
        rest = spread.T @ (cross[:, active] @ spread)
        place = np.full(len(self.b), -1)
        place[active] = np.arange(len(active))
        found = np.zeros((4, groups.n))
        for members, columns in groups.by_size.values():
            here = inside[members]
            for terms, at in ((members[here], columns[here]), (members[~here], columns[~here])):
                if not len(terms):
                    continue
                rows, cols = at[:, :, None], at[:, None, :]
                if inside[terms[0]]:
                    r, c = place[rows], place[cols]
                    s = np.linalg.inv(inverse[r, c])
                    q = np.einsum("gij,gj->gi", s, estimates[place[at]])
                    j = s @ sandwich[r, c] @ s
                else:
                    mine = np.swapaxes(spread[:, at], 0, 1)  # (G, A, K)
                    s = (
                        h[rows, cols]
                        - np.swapaxes(np.swapaxes(h[active][:, at], 0, 1), 1, 2) @ mine
                    )
                    q = residual[at]
                    j = meat[rows, cols] - half[rows, cols] - half[cols, rows] + rest[rows, cols]
                found[:, terms] = _tests(s, q, j, self.own[at])
        return TermTests(inside, found[0], found[1], found[2].astype(np.intp), found[3])


def _tests(s: Floats, q: Floats, j: Floats, own: Floats) -> Floats:
    """Gain, statistic, degrees and design effect of terms of one size; shape (4, G)."""
    root = 1 / np.sqrt(own)
    scaled = 0.5 * (s + np.swapaxes(s, 1, 2)) * root[:, :, None] * root[:, None, :]
    values, vectors = np.linalg.eigh(scaled)
    kept = values > COLLINEAR_SHARE
    # Directions in which S is the identity; those of which nothing is left are zero.
    size = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    turn = root[:, :, None] * vectors * size[:, None, :]
    score = np.einsum("gki,gk->gi", turn, q)
    spread = np.swapaxes(turn, 1, 2) @ j @ turn
    sizes, axes = np.linalg.eigh(0.5 * (spread + np.swapaxes(spread, 1, 2)))
    largest = sizes.max(axis=1, keepdims=True)
    seen = sizes > COLLINEAR_SHARE * np.maximum(largest, np.finfo(float).tiny)
    along = np.einsum("gki,gk->gi", axes, score)
    statistic = np.where(seen, along**2 / np.where(seen, sizes, 1.0), 0.0).sum(axis=1)
    known = kept.sum(axis=1)
    trace = np.einsum("gii->g", spread)
    deff = np.where(known > 0, trace / np.maximum(known, 1), 1.0)
    degrees = np.minimum(known, seen.sum(axis=1))
    return np.stack([(score**2).sum(axis=1), statistic, degrees.astype(float), deff])
