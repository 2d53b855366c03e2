"""Log-likelihood, gradient and Hessian of latent classes, as functions of arrays.

With the choices of person n, p_n(β_q) their probability in class q (a product of logits) and
π_nq = softmax_q(w_n'γ_q), γ_1 = 0:

    L_n = Σ_q π_nq p_n(β_q),   h_nq = π_nq p_n(β_q) / L_n
    g_n = Σ_q h_nq q_nq,       q_nq = ∇ log(π_nq p_n(β_q))
    -∇² log L_n = g_n g_n' + Σ_q h_nq (B_nq - q_nq q_nq'),   B_nq = -∇² log(π_nq p_n(β_q))

Σ_n Σ_q h_nq B_nq alone is the Hessian of the complete-data log-likelihood: with it, a Newton step
is a step of EM.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.design import Block
from ardchoice.families.mnl.kernel import (
    choice_probabilities,
    evaluate_at,
    utilities,
    weighted_columns,
)
from ardchoice.families.parameters import ParameterLayout
from ardchoice.families.persons import PersonRows, person_rows
from ardchoice.numerics import Order, Sums

ABSENT = -1
"""In place of a parameter: a coefficient that is zero in a class."""


@dataclass(frozen=True, eq=False)
class ClassArrays:
    """Where the parameters of Q classes stand in θ.

    Attributes
    ----------
    place
        The parameter of every column in every class, `ABSENT` where it is zero; shape (Q, D).
    membership
        The parameters γ of every class but the first: a constant, then covariates; shape
        (Q - 1, 1 + M).
    """

    place: Ints
    membership: Ints

    @property
    def n_classes(self) -> int:
        """Q."""
        return len(self.place)

    def betas(self, theta: Floats) -> Floats:
        """Coefficients of every class; shape (Q, D)."""
        return np.asarray(np.append(theta, 0.0)[self.place])


def class_arrays(layout: ParameterLayout, n_classes: int) -> ClassArrays:
    """Of a layout."""
    place = np.full((n_classes, layout.n_columns), ABSENT, dtype=np.intp)
    membership: list[list[int]] = [[] for _ in range(n_classes - 1)]
    for k, parameter in enumerate(layout.parameters):
        if parameter.kind == "class":
            membership[parameter.classes[0] - 1].append(k)
        elif parameter.column is not None:
            place[list(parameter.classes or range(n_classes)), parameter.column] = k
    width = len(membership[0]) if membership else 1
    return ClassArrays(place, np.array(membership, dtype=np.intp).reshape(-1, width))


@dataclass(frozen=True, eq=False)
class ClassState:
    """Classes at given parameters; Q classes, n persons, B rows.

    Attributes
    ----------
    rows
        Which rows belong to which person.
    covariates
        One, then what membership depends on; shape (1 + M, n).
    prior
        π; shape (Q, n).
    utilities, probabilities
        Of every class; shape (J, B) each.
    posterior
        h; shape (Q, n).
    loglik
        log L_n; shape (n,).
    """

    rows: PersonRows
    covariates: Floats
    prior: Floats
    utilities: tuple[Floats, ...]
    probabilities: tuple[Floats, ...]
    posterior: Floats
    loglik: Floats


def class_state(theta: Floats, block: Block, arrays: ClassArrays) -> ClassState:
    """Probabilities in every class, and of every class."""
    rows = person_rows(block)
    covariates = person_covariates(block, rows)
    log_prior = _log_softmax(membership_utilities(theta, covariates, arrays))
    v, p, each = [], [], []
    for beta in arrays.betas(theta):
        here = utilities(beta, block)
        found = choice_probabilities(here, block.available)
        v.append(here)
        p.append(found.p)
        each.append(rows.sums(here.ravel()[block.picked] - found.log_total))
    joint = log_prior + np.array(each)
    top = joint.max(axis=0)
    total = top + np.log(np.exp(joint - top).sum(axis=0))
    return ClassState(
        rows, covariates, np.exp(log_prior), tuple(v), tuple(p), np.exp(joint - total), total
    )


def person_covariates(block: Block, rows: PersonRows) -> Floats:
    """One, then the covariates of every person; shape (1 + M, n)."""
    ones = np.ones((1, len(rows.starts)))
    if block.covariates is None:
        return ones
    return np.concatenate([ones, block.covariates[:, rows.first_rows]])


def membership_utilities(theta: Floats, covariates: Floats, arrays: ClassArrays) -> Floats:
    """w'γ of every class, zero for the first; shape (Q, n)."""
    first = np.zeros((1, covariates.shape[1]))
    if not len(arrays.membership):
        return first
    return np.concatenate([first, theta[arrays.membership] @ covariates])


def _log_softmax(eta: Floats) -> Floats:
    top = eta.max(axis=0)
    return np.asarray(eta - top - np.log(np.exp(eta - top).sum(axis=0)))


@dataclass(frozen=True, eq=False)
class ClassSums(Sums):
    """Sums with the Hessian of the complete-data log-likelihood.

    Attributes
    ----------
    complete
        Shape (P, P).
    share
        Weight of the persons of each class, by h; shape (Q,).
    """

    complete: Floats
    share: Floats

    def __add__(self, other: ClassSums) -> ClassSums:  # type: ignore[override]
        added = Sums.__add__(self, other)
        return ClassSums(
            added.loglik,
            added.gradient,
            added.curvature,
            self.complete + other.complete,
            self.share + other.share,
        )


def evaluate(theta: Floats, block: Block, arrays: ClassArrays, order: Order = 2) -> ClassSums:
    """ℓ, and with `order` 1 its gradient, with 2 its (negative) Hessian as well."""
    return evaluate_with_scores(theta, block, arrays, order)[0]


def evaluate_with_scores(
    theta: Floats, block: Block, arrays: ClassArrays, order: Order = 2
) -> tuple[ClassSums, Floats]:
    """The same with the weighted gradient of every person; shape (P, n)."""
    state = class_state(theta, block, arrays)
    weight = state.rows.weights(block)
    loglik, empty = float(weight @ state.loglik), np.empty(0)
    share = state.posterior @ weight
    if order == 0:
        return ClassSums(loglik, empty, empty, empty, share), empty
    by_class = [_class_gradient(q, state, block, arrays) for q in range(arrays.n_classes)]
    each = np.zeros((len(theta), len(weight)))
    for h, (at, gradient) in zip(state.posterior, by_class, strict=True):
        each[at] += h * gradient
    weighted = each * weight
    if order == 1:
        return ClassSums(loglik, weighted.sum(axis=1), empty, empty, share), weighted
    complete = _complete(state, block, arrays, weight, len(theta)).curvature
    hessian = complete + weighted @ each.T
    for h, (at, gradient) in zip(state.posterior, by_class, strict=True):
        hessian[np.ix_(at, at)] -= (gradient * (h * weight)) @ gradient.T
    hessian = 0.5 * (hessian + hessian.T)
    return ClassSums(loglik, weighted.sum(axis=1), hessian, complete, share), weighted


def evaluate_for_em(theta: Floats, block: Block, arrays: ClassArrays) -> Sums:
    """ℓ and its gradient, with the Hessian of the complete-data log-likelihood.

    Each class is a weighted multinomial logit: the scores of persons are not needed.
    """
    state = class_state(theta, block, arrays)
    weight = state.rows.weights(block)
    complete = _complete(state, block, arrays, weight, len(theta))
    return Sums(float(weight @ state.loglik), complete.gradient, complete.curvature)


def _class_gradient(
    q: int, state: ClassState, block: Block, arrays: ClassArrays
) -> tuple[Ints, Floats]:
    """∇ log(π_nq p_n(β_q)) of every person where it is not zero: parameters (R,) and (R, n)."""
    residual = -state.probabilities[q]
    np.add.at(residual.reshape(-1), block.picked, 1.0)
    by_column = state.rows.sums(weighted_columns(residual, block))
    free = arrays.place[q] != ABSENT
    at, rows = [arrays.place[q][free]], [by_column[free]]
    for r, places in enumerate(arrays.membership, 1):
        at.append(places)
        rows.append(((1.0 if q == r else 0.0) - state.prior[r]) * state.covariates)
    return np.concatenate(at), np.concatenate(rows)


def _complete(
    state: ClassState, block: Block, arrays: ClassArrays, weight: Floats, size: int
) -> Sums:
    """∇ℓ, also that of the complete-data log-likelihood, and Σ_n Σ_q h_nq B_nq; (P,) and (P, P)."""
    out, gradient = np.zeros((size, size)), np.zeros(size)
    for q, h in enumerate(state.posterior):
        counted = replace(block, weight=(h * weight)[state.rows.of_row])
        found = evaluate_at(state.utilities[q].copy(), counted)
        free = np.flatnonzero(arrays.place[q] != ABSENT)
        places = arrays.place[q][free]
        gradient[places] += found.gradient[free]
        out[np.ix_(places, places)] += found.curvature[np.ix_(free, free)]
    w = state.covariates
    for r, rows in enumerate(arrays.membership, 1):
        gradient[rows] += w @ ((state.posterior[r] - state.prior[r]) * weight)
        for s, columns in enumerate(arrays.membership, 1):
            spread = ((r == s) - state.prior[s]) * state.prior[r] * weight
            out[np.ix_(rows, columns)] += (w * spread) @ w.T
    return Sums(0.0, gradient, out)
