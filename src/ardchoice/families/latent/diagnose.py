"""What to know of estimated classes: shares, starts, empty, equal and diverging ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import Block
from ardchoice.families.latent.estimate import Starts
from ardchoice.families.latent.kernel import ClassArrays, class_state
from ardchoice.families.mnl.separation import vanished_directions
from ardchoice.families.parameters import ParameterLayout
from ardchoice.families.records import EstimationTask, Information
from ardchoice.numerics import NewtonFit, is_definite, map_reduce

EMPTY_PERSONS = 2.0
"""A class of fewer persons is empty."""
EQUAL_UTILITY = 0.05
"""Two classes whose coefficients differ by less, each times the spread of its column, are equal."""
SMALL_CURVATURE = 1e-6
"""Of a parameter relative to a start: below it the estimate diverges."""
NEGLIGIBLE_LOGLIK = 1e-6
"""That may still be gained along diverging directions, in all, once the rest has converged."""


def diverging_directions(curvature: Floats, reference: Floats) -> Floats | None:
    """Directions without curvature: probabilities in a class at 0 or 1; shape (P, r)."""
    if not np.isfinite(curvature).all():
        return None
    found = vanished_directions(curvature, reference)
    return found if found.shape[1] else None


def converged_apart(fit: NewtonFit, diverging: Floats, tolerance: float) -> NewtonFit:
    """The fit, converged if nothing is left to be gained but along diverging directions.

    Along those the log-likelihood rises for ever, ever more slowly, and no number of steps ends it.
    """
    turned, _ = np.linalg.qr(diverging, mode="complete")
    rest = turned[:, diverging.shape[1] :]
    gradient, hessian = rest.T @ fit.sums.gradient, rest.T @ fit.curvature @ rest
    if fit.converged or fit.decrement > NEGLIGIBLE_LOGLIK or not is_definite(hessian):
        return fit
    decrement = 0.5 * float(gradient @ np.linalg.solve(hessian, gradient))
    if decrement > tolerance:
        return fit
    return replace(fit, converged=True, decrement=decrement)


def class_notes(
    n_classes: int,
    theta: Floats,
    arrays: ClassArrays,
    task: EstimationTask,
    found: Starts,
    diverging: Floats | None,
) -> tuple[str, ...]:
    """A sentence each."""
    if n_classes == 1:
        return (Information("One class: this is the multinomial logit."),)
    measure = _ClassWeights(theta, arrays)
    weights = map_reduce(measure, task.blocks)
    shares = weights / weights.sum()
    listed = ", ".join(f"{q}: {100 * share:.1f}%" for q, share in enumerate(shares, 1))
    notes: list[str] = [Information(f"Shares of classes: {listed}."), _starts_note(found)]
    notes += _empty(weights)
    notes += _equal(theta, arrays, task)
    if diverging is not None:
        notes += _diverging(diverging, task.layout)
    return tuple(notes)


def _starts_note(found: Starts) -> str:
    count = len(found.logliks)
    text = f"{found.n_best} of {count} starts found the highest log-likelihood."
    if found.n_best == 1 and count > 1:
        return text + " A higher one may exist: raise starts to be surer."
    return Information(text)


def _empty(weights: Floats) -> list[str]:
    return [
        f"Class {q} is empty ({weight:.1f} persons): use fewer classes."
        for q, weight in enumerate(weights, 1)
        if weight < EMPTY_PERSONS
    ]


def _equal(theta: Floats, arrays: ClassArrays, task: EstimationTask) -> list[str]:
    betas, notes = arrays.betas(theta), []
    spread = task.design.moments(task.blocks).sd[task.design.order]
    spread = np.where(spread > 0, spread, 1.0)
    for q in range(len(betas)):
        for r in range(q):
            if (np.abs(betas[q] - betas[r]) * spread).max(initial=0.0) < EQUAL_UTILITY:
                notes.append(
                    f"Classes {r + 1} and {q + 1} have equal coefficients: use fewer classes."
                )
    return notes


def _diverging(directions: Floats, layout: ParameterLayout) -> list[str]:
    names = [
        p.name
        for p, row in zip(layout.parameters, directions, strict=True)
        if np.abs(row).max() > 0
    ]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return [
        f"Some estimates diverge (a class that always, or never, chooses an alternative): {shown}. "
        "They are shown without standard errors; use fewer classes, or shared coefficients."
    ]


class _ClassWeights:
    """Weight of the persons of every class; shape (Q,)."""

    def __init__(self, theta: Floats, arrays: ClassArrays) -> None:
        self.theta, self.arrays = theta, arrays

    def __call__(self, block: Block) -> Floats:
        state = class_state(self.theta, block, self.arrays)
        return np.asarray(state.posterior @ state.rows.weights(block))
