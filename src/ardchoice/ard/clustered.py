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
quadratic: terms enter while they gain more than their price, and leave when they do not. Scores are
taken at the estimates of such a model: where noise is in it, those of rare levels are too small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Bools, Floats, Ints
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.quadratic import Quadratic, expand
from ardchoice.families import scored_pass
from ardchoice.numerics import Sums, chi2_isf, chi2_sf
from ardchoice.space import Linear, Term

COLLINEAR_SHARE = 1e-8
"""Share of a column's information below which what the model leaves of it is rounding."""
RIDGE_SHARE = 1e-11
"""Of its information that is added to every column of the model, should two of them be alike."""
INTERACTION_SHARE, FORM_SHARE = 1.4, 0.5
"""Shares of the excess of design effects over one in prices, tuned on simulated panels (seeds below
100 of benchmarks/panel.py): tastes that differ mimic interactions, of which a search tries many.
Forms with all of it were named better still there, but predicted held-out persons worse on real
answers (by 87 ± 73 of log-likelihood)."""
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
    substitute_effect
        The same for an interaction without others of the model that have its covariates at the
        same place, for which it could stand in; never less.
    """

    in_model: Bools
    gain: Floats
    statistic: Floats
    degrees: Ints
    design_effect: Floats
    substitute_effect: Floats

    @property
    def p_value(self) -> Floats:
        """Of the statistic; one where nothing is left to test."""
        p = chi2_sf(self.statistic, np.maximum(self.degrees, 1))
        return np.where(self.degrees > 0, p, 1.0)


def clustered_meat(likelihood: FamilyLikelihood, mean: Floats) -> tuple[Floats, Quadratic]:
    """Σ s s' of scores summed by person (by situation without persons), (D, D); and the quadratic.

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
    sums = Sums(
        found.loglik, (project @ found.gradient)[design.position], (project @ h @ project.T)[back]
    )
    return (project @ meat @ project.T)[back], expand(sums, mean)


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
    chance = chi2_sf(w * (1 - np.log(d) / np.log(n)), 1)
    clustered = d * chi2_isf(chance, columns)
    # Rounding of the quantile must not change the price of BIC.
    return np.asarray(np.where(d > 1, np.maximum(plain, clustered), plain))


def design_effect_shares(terms: Sequence[Term]) -> Floats:
    """Of the excess of its design effect over one, what every term is priced with; shape (T,).

    More than all of it for interactions, for the search tries many, and tastes that differ mimic
    them; none for main terms and constants, as true terms of cost and time would be dropped. A form
    that is not linear has half of it where the linear one is a candidate, too: tastes that differ
    bend the utility of the average person.
    """
    linear = {(t.where, t.what) for t in terms if t.what and not t.by and t.how == Linear()}
    bent = [(t.where, t.what) in linear and t.how != Linear() for t in terms]
    return np.array(
        [INTERACTION_SHARE if t.by else FORM_SHARE * b for t, b in zip(terms, bent, strict=True)]
    )


def restricted_estimate(quadratic: Quadratic, groups: Groups, inside: Bools) -> Floats:
    """Where the quadratic has its maximum over some terms; zero elsewhere; shape (D,)."""
    at = np.flatnonzero(inside[groups.of])
    own = np.diag(quadratic.curvature)[at]
    matrix = quadratic.curvature[at[:, None], at]
    matrix.flat[:: len(at) + 1] += RIDGE_SHARE * np.where(own > 0, own, 1.0)
    out = np.zeros(len(quadratic.b))
    out[at] = np.linalg.solve(matrix, quadratic.b[at])
    return out


def clustered_tests(
    quadratic: Quadratic,
    meat: Floats,
    groups: Groups,
    start: Bools,
    forced: Bools,
    shares: Floats,
    n: int,
    parents: Sequence[frozenset[int]] = (),
    rivals: Sequence[frozenset[int]] = (),
) -> TermTests:
    """Test every term given those that are worth their price, and those it needs.

    An interaction with a covariate that says nothing still has a score that is not zero on average
    where its main term is missing: it is tested given its main term, in the model or not.

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
    shares
        Of `design_effect_shares`.
    n
        Choice situations.
    parents
        Of every term, those it needs; none where it is empty.
    rivals
        Of every term, those that it could stand in for; none where it is empty.
    """
    tester = _Tester(quadratic, meat, groups)
    inside, seen = start | forced, set()
    tests = tester.given(inside)
    for _ in range(MAX_STEPS):
        deff = 1.0 + shares * (np.maximum(tests.design_effect, 1.0) - 1.0)
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
    return _without_rivals(tester, _given_parents(tester, tests, parents), parents, rivals)


def _given_parents(
    tester: _Tester, tests: TermTests, parents: Sequence[frozenset[int]]
) -> TermTests:
    """The same, but for terms whose parents are not all in the model given these too."""
    children: dict[frozenset[int], list[int]] = {}
    for t, needed in enumerate(parents):
        missing = frozenset(u for u in needed if not tests.in_model[u])
        if missing:
            children.setdefault(missing, []).append(t)
    found = {
        name: getattr(tests, name).copy()
        for name in ("gain", "statistic", "degrees", "design_effect")
    }
    for missing, terms in children.items():
        inside = tests.in_model.copy()
        inside[list(missing)] = True
        only = np.array(terms)
        given = tester.given(inside, only)
        for name, values in found.items():
            values[only] = getattr(given, name)[only]
    return replace(tests, **found, substitute_effect=found["design_effect"])


def _without_rivals(
    tester: _Tester,
    tests: TermTests,
    parents: Sequence[frozenset[int]],
    rivals: Sequence[frozenset[int]],
) -> TermTests:
    """The same with design effects of terms in place of their rivals.

    What only differs within persons once a rival is in the model has a small design effect. In
    place of the rival it says as much about differences between persons, and as little.
    """
    replaced: dict[tuple[frozenset[int], frozenset[int]], list[int]] = {}
    for t, others in enumerate(rivals):
        gone = frozenset(u for u in others if tests.in_model[u])
        if gone:
            replaced.setdefault((gone, parents[t]), []).append(t)
    out = tests.substitute_effect.copy()
    for (gone, needed), terms in replaced.items():
        inside = tests.in_model.copy()
        inside[list(gone)] = False
        inside[list(needed)] = True
        only = np.array(terms)
        out[only] = np.maximum(out[only], tester.given(inside, only).design_effect[only])
    return replace(tests, substitute_effect=out)


class _Tester:
    """Tests of all terms of a quadratic, whatever is in the model."""

    def __init__(self, quadratic: Quadratic, meat: Floats, groups: Groups) -> None:
        self.h, self.b, self.meat, self.groups = quadratic.curvature, quadratic.b, meat, groups
        own = np.diag(self.h)
        self.own = np.where(own > 0, own, 1.0)

    def given(self, inside: Bools, only: Ints | None = None) -> TermTests:
        """Of every term, or of some only, given the terms inside without itself."""
        h, groups = self.h, self.groups
        wanted = np.zeros(groups.n, dtype=bool)
        wanted[slice(None) if only is None else only] = True
        active = np.flatnonzero(inside[groups.of])
        matrix = h[active[:, None], active]
        matrix.flat[:: len(active) + 1] += RIDGE_SHARE * self.own[active]
        inverse = np.linalg.inv(matrix)
        inner = self.meat[active[:, None], active]
        found = np.zeros((4, groups.n))
        # 1 · Terms of the model, from the inverse and the sandwich.
        estimates, sandwich = inverse @ self.b[active], inverse @ inner @ inverse
        place = np.full(len(self.b), -1)
        place[active] = np.arange(len(active))
        for members, columns in groups.by_size.values():
            mine = inside[members] & wanted[members]
            if mine.any():
                at = place[columns[mine]]
                rows, cols = at[:, :, None], at[:, None, :]
                s = np.linalg.inv(inverse[rows, cols])
                q = np.einsum("gij,gj->gi", s, estimates[at])
                j = s @ sandwich[rows, cols] @ s
                found[:, members[mine]] = _tests(s, q, j, self.own[columns[mine]])
        # 2 · The others: S, q and J less what the model explains.
        outside = np.flatnonzero((wanted & ~inside)[groups.of])
        cross, scores = h[active[:, None], outside], self.meat[active[:, None], outside]
        spread = inverse @ cross
        residual = self.b[outside] - spread.T @ self.b[active]
        half, rest = spread.T @ scores, spread.T @ (inner @ spread)
        place = np.full(len(self.b), -1)
        place[outside] = np.arange(len(outside))
        for members, columns in groups.by_size.values():
            mine = wanted[members] & ~inside[members]
            if mine.any():
                full, at = columns[mine], place[columns[mine]]
                rows, cols = at[:, :, None], at[:, None, :]
                explained = np.einsum("agi,agj->gij", cross[:, at], spread[:, at])
                s = h[full[:, :, None], full[:, None, :]] - explained
                j = self.meat[full[:, :, None], full[:, None, :]] + rest[rows, cols]
                j = j - half[rows, cols] - half[cols, rows]
                found[:, members[mine]] = _tests(s, residual[at], j, self.own[full])
        degrees = found[2].astype(np.intp)
        return TermTests(inside, found[0], found[1], degrees, found[3], found[3])


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
