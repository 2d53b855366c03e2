"""`Mnl`: the multinomial logit, P_n(i) = exp V_in / Σ_j exp V_jn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import Block
from ardchoice.families.estimate import climb_task
from ardchoice.families.family import Family, family_pass
from ardchoice.families.mnl.bounds import proves_maximum
from ardchoice.families.mnl.identification import check_identification
from ardchoice.families.mnl.kernel import (
    choice_probabilities,
    evaluate,
    evaluate_with_scores,
    utilities,
    weighted_columns,
)
from ardchoice.families.mnl.separation import check_separation, vanished_directions
from ardchoice.families.mnl.start import Start, start_near
from ardchoice.families.parameters import ParameterLayout
from ardchoice.families.records import EstimationTask, Logsum, Maximum, Prediction, Scores
from ardchoice.families.registry import register_family
from ardchoice.numerics import Order, Sums

WARM_START_STEPS = 20
"""Newton steps: a warm start that needs more was not near the maximum."""


@register_family
@dataclass(frozen=True)
class Mnl(Family):
    """The multinomial logit: every parameter is the coefficient of a column.

    Examples
    --------
    >>> import ardchoice as ac
    >>> ac.Mnl().title
    'Multinomial logit'
    """

    tag: ClassVar[str] = "mnl"
    title: ClassVar[str] = "Multinomial logit"
    concave: ClassVar[bool] = True
    assumption: ClassVar[str] = (
        "The model is a multinomial logit and so assumes independence from irrelevant "
        "alternatives: how two alternatives share their choices does not depend on what else is on "
        "offer. Where some resemble each other, try a nested or mixed logit."
    )
    formula: ClassVar[str] = (
        "Choice probabilities are P = exp V / Σ exp V over the available alternatives."
    )

    def evaluate(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        order: Order = 2,
        *,
        single_precision: bool = False,
    ) -> Sums:
        """Log-likelihood, gradient, Hessian."""
        return evaluate(theta, block, order, rough=single_precision)

    def scores(self, theta: Floats, block: Block, layout: ParameterLayout) -> Scores:
        """The same with the gradient of every situation."""
        return Scores(*evaluate_with_scores(theta, block))

    def probabilities(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """Softmax over the available alternatives; shape (J, B)."""
        return choice_probabilities(utilities(theta, block), block.available).p

    def predict(self, theta: Floats, block: Block, layout: ParameterLayout) -> Prediction:
        """Logs from utilities: the probability of a hopeless choice rounds to zero."""
        v = utilities(theta, block)
        found = choice_probabilities(v, block.available)
        return Prediction(found.p, v.ravel()[block.picked] - found.log_total)

    def response(
        self, theta: Floats, block: Block, layout: ParameterLayout, alternative: int
    ) -> Floats:
        """∂P_j/∂V_i = P_j (1[i = j] - P_i); shape (J, B)."""
        p = self.probabilities(theta, block, layout)
        own = np.zeros((len(p), 1))
        own[alternative] = 1.0
        return np.asarray(p * (own - p[alternative]))

    def attribute_response(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        alternative: int,
        slopes: Block,
    ) -> Floats:
        """∂P_j/∂x_i = ∂P_j/∂V_i ∂V_i/∂x_i; shape (J, B)."""
        push = utilities(theta, slopes)[alternative]
        return np.asarray(self.response(theta, block, layout, alternative) * push)

    def share_gradient(
        self, theta: Floats, block: Block, layout: ParameterLayout, weights: Floats
    ) -> Floats:
        """Σ_n a_n P_nj (x_nj - x̄_n); shape (S, J, D)."""
        p = self.probabilities(theta, block, layout)
        mean = weighted_columns(p, block)
        shares = weights[:, None] * p  # (S, J, B)
        out = -(shares.reshape(-1, p.shape[1]) @ mean.T).reshape(*shares.shape[:2], -1)
        for part in block.parts:
            for place, j in enumerate(part.alternatives):
                out[:, j, part.columns] += shares[:, j] @ part.x[:, place].T
        return out

    def logsums(self, theta: Floats, block: Block, layout: ParameterLayout) -> tuple[Logsum]:
        """Expected maximum utility, log Σ_j exp V_j."""
        total = choice_probabilities(utilities(theta, block), block.available).log_total
        return (Logsum(total, theta),)

    def maximise(self, task: EstimationTask) -> Maximum:
        """Newton's method, from near the maximum where a sample of the rows leads there.

        Rank is checked at zero, where every alternative has a chance; separation shows by a Hessian
        that vanishes. Neither takes a pass where a bound proves that there is nothing to find.
        """
        design, blocks = task.design, task.blocks
        near = start_near(blocks, design.n_columns, task.null_loglik)
        steps = min(task.max_iterations, WARM_START_STEPS)
        fit = None if near is None else climb_task(self, task, near.beta, near.sums, steps)
        if fit is not None and fit.converged and proves_maximum(fit.curvature, design, blocks):
            return Maximum(fit)
        zero = self._identified_zero(task)
        at_zero = zero.sums.curvature
        if fit is None or not fit.converged or vanished_directions(fit.curvature, at_zero).size:
            fit = climb_task(self, task, zero.beta, zero.sums)
        if task.separation == "allow":
            return Maximum(fit, vanished_directions(fit.curvature, at_zero))
        check_separation(fit, at_zero, design, blocks)
        return Maximum(fit)

    def _identified_zero(self, task: EstimationTask) -> Start:
        """Zero, once it is known that the design has full rank."""
        beta = np.zeros(task.design.n_columns)
        sums = family_pass(self, task.layout, beta, task.blocks)
        check_identification(sums.curvature, task.design, task.blocks)
        return Start(beta, sums)
