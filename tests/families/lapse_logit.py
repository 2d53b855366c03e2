"""The lapse logit, a family that is defined here and nowhere else.

With probability ε a person does not look at the alternatives and picks any that is available:
P_n(i) = (1 - ε) S_n(i) + ε / J_n, where S is the multinomial logit and J_n the number of available
alternatives. Its log-likelihood is not concave, and ε is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import Block, Encoding
from ardchoice.families import (
    Family,
    Parameter,
    ParameterLayout,
    Scores,
    choice_probabilities,
    register_family,
    utilities,
)
from ardchoice.numerics import Order, Sums


@register_family
@dataclass(frozen=True)
class Lapse(Family):
    """The lapse logit.

    Attributes
    ----------
    most
        Largest share of lapses.
    """

    most: float = 0.5

    tag: ClassVar[str] = "lapse"
    title: ClassVar[str] = "Lapse logit"
    assumption: ClassVar[str] = "Lapses are as likely for everyone."

    def extra_parameters(self, encoding: Encoding) -> tuple[Parameter, ...]:
        """ε."""
        return (Parameter("lapse", "scale", start=0.05, bounds=(0.0, self.most)),)

    def evaluate(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        order: Order = 2,
        *,
        single_precision: bool = False,
    ) -> Sums:
        """Log-likelihood, gradient and Hessian."""
        chance, lapse, even = self._chances(theta, block, layout)
        weight = np.ones(block.shape[1]) if block.weight is None else block.weight
        chosen = np.maximum((1 - lapse) * chance.ravel()[block.picked] + lapse * even, 1e-300)
        loglik = float(weight @ np.log(chosen))
        if order == 0:
            return Sums(loglik, np.empty(0), np.empty((0, 0)))
        each, x, away, share = self._scores(theta, block, layout)
        gradient = each @ weight
        if order == 1:
            return Sums(loglik, gradient, np.empty((0, 0)))
        # -∂²ℓ: the spread of attributes under S, less what the mixture takes away.
        centred = x - np.einsum("djb,jb->db", x, chance)[:, None]
        inside = np.einsum("djb,jb,b,ejb->de", centred, chance, weight * share, centred)
        outside = (away * (weight * share * (1 - share))) @ away.T
        cross = away @ (weight * share * even / (chosen * (1 - lapse)))
        hessian = np.zeros((len(theta), len(theta)))
        d = layout.n_columns
        hessian[:d, :d] = inside - outside
        hessian[:d, d] = hessian[d, :d] = cross
        hessian[d, d] = weight @ each[d] ** 2
        return Sums(loglik, gradient, hessian)

    def scores(self, theta: Floats, block: Block, layout: ParameterLayout) -> Scores:
        """The same with the gradient of every situation."""
        each = self._scores(theta, block, layout)[0]
        weighted = each if block.weight is None else each * block.weight
        return Scores(self.evaluate(theta, block, layout), weighted)

    def probabilities(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """(1 - ε) S + ε / J."""
        chance, lapse, even = self._chances(theta, block, layout)
        p = (1 - lapse) * chance + lapse * even
        return p if block.available is None else np.where(block.available, p, 0.0)

    def _chances(
        self, theta: Floats, block: Block, layout: ParameterLayout
    ) -> tuple[Floats, float, Floats]:
        """S, ε and 1 / J."""
        v = utilities(theta[: layout.n_columns], block)
        n, b = block.shape
        count = np.full(b, n) if block.available is None else block.available.sum(axis=0)
        return choice_probabilities(v, block.available).p, float(theta[-1]), 1 / count

    def _scores(
        self, theta: Floats, block: Block, layout: ParameterLayout
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Gradient of every situation (P, B), x (D, J, B), x_y - x̄ (D, B), (1 - ε) S_y / P_y."""
        chance, lapse, even = self._chances(theta, block, layout)
        x = np.zeros((layout.n_columns, *block.shape))
        for part in block.parts:
            x[part.columns, list(part.alternatives)] = part.x
        rows = np.arange(block.shape[1])
        away = x[:, block.choice, rows] - np.einsum("djb,jb->db", x, chance)
        logit = chance.ravel()[block.picked]
        chosen = np.maximum((1 - lapse) * logit + lapse * even, 1e-300)
        share = (1 - lapse) * logit / chosen
        return np.vstack([share * away, ((even - logit) / chosen)[None]]), x, away, share
