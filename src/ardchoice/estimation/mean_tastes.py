"""How mean coefficients turn sums over situations into mean marginal utilities."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.estimation.model import Model
from ardchoice.families import Family

DIFFERENCE_STEP = 1e-5
"""Relative step of central differences by a parameter, where tastes vary."""
DIFFERENCE_SCALE = 1e-3
"""Least size of a parameter that the step is relative to."""


class Tastes:
    """How mean coefficients turn sums over situations into mean marginal utilities.

    Where tastes do not vary, Σ_n w_n z_n of every column is summed, and coefficients come last.
    Where they do, Σ_n w_n z_n E[β_n] is summed, at the estimates and, for the gradient, at a step
    up and down from every parameter.
    """

    def __init__(self, model: Model, data: ChoiceData) -> None:
        self.model, self.inside = model, model.on(data)
        own = type(model.family).mean_coefficients
        self.vary = own is not Family.mean_coefficients

    @cached_property
    def steps(self) -> Floats:
        """Of every parameter, in block order; shape (P,)."""
        return DIFFERENCE_STEP * np.maximum(np.abs(self.inside.theta), DIFFERENCE_SCALE)

    @property
    def shape(self) -> tuple[int, int]:
        """Of a sum: every column, at every θ."""
        return self.model.encoding.n_columns, 1 + 2 * len(self.model.theta) if self.vary else 1

    def of(self, rows: slice) -> Floats | None:
        """E[β] of some rows at every θ, in the order of the terms; (M, D, B) or (M, D, 1)."""
        if not self.vary:
            return None
        inside, theta = self.inside, self.inside.theta
        block, moves = inside.design.block(rows), np.diag(self.steps)
        points = [theta, *(theta + sign * move for move in moves for sign in (1, -1))]
        found = [inside.family.mean_coefficients(t, block, inside.layout) for t in points]
        means = np.stack([mean[:, None] if mean.ndim == 1 else mean for mean in found])
        return np.asarray(means[:, inside.design.position])

    def add(self, target: Floats, z: Floats, means: Floats | None, w: Floats) -> None:
        """Σ_n w_n z_n (E[β_n]) on top of a sum; z has the shape (D, B)."""
        if means is None:
            target[:, 0] += z @ w
        elif means.shape[2] == 1:
            target += (z @ w)[:, None] * means[:, :, 0].T
        else:
            target += np.einsum("db,mdb,b->dm", z, means, w, optimize=True)

    def total(self, added: Floats) -> tuple[float, Floats]:
        """A mean marginal utility, and its gradient in the order of the terms; shape (P,)."""
        if not self.vary:
            beta, theta = self.model.beta, self.model.theta
            # What a family has besides coefficients does not change marginal utilities.
            extras = np.zeros(len(theta) - len(beta))
            return float(added[:, 0] @ beta), np.concatenate([added[:, 0], extras])
        totals = added.sum(axis=0)
        return float(totals[0]), self.gradient(totals)

    def gradient(self, values: Floats) -> Floats:
        """Of something known at every θ, in the order of the terms; shape (P,)."""
        inside = self.inside
        slopes = (values[1::2] - values[2::2]) / (2 * self.steps)
        return np.asarray(slopes[inside.layout.permutation(inside.design.position)])
