"""An estimated model on other choices: estimated again from near, and its joint likelihood."""

from __future__ import annotations

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Design
from ardchoice.estimation.model import Model
from ardchoice.estimation.result import Result
from ardchoice.families import climb, family_pass
from ardchoice.numerics import Sums, penalised

RIDGE_SHARE = 1e-7
"""Share of its own information that is added to every parameter: it holds what some choices do not
identify, and moves a log-likelihood by far less than matters."""
REFIT_TOLERANCE = 2e-3
"""Log-likelihood still to be gained at which a refit is exact enough to predict with."""


def refit_near(result: Result, data: ChoiceData) -> Model:
    """The same model estimated on some other choices, from its estimates.

    Transforms, nests and classes are as they were found; a small ridge holds what these choices
    do not identify.

    Parameters
    ----------
    result
        Estimates on nearly the same choices, such as all of them.
    data
        Such as the training persons of a fold.
    """
    family, encoding = result.family, result.encoding
    design = Design(grouped_by_person(data), encoding)
    layout = family.layout(encoding)
    inside = layout.reordered(design.order)
    blocks = design.blocks()

    def evaluate(theta: Floats, last: bool) -> Sums:
        return family_pass(family, inside, theta, blocks)

    start = result.coefficients[layout.permutation(design.order)]
    first = evaluate(start, False)
    own = np.diag(first.curvature)
    precision = np.where(own > 0, RIDGE_SHARE * own, 1.0)
    fit = climb(
        family,
        inside,
        evaluate,
        start,
        first=penalised(first, start, precision),
        precision=precision,
        tolerance=REFIT_TOLERANCE,
    )
    return Model(fit.beta[layout.permutation(design.position)], encoding, family)


def joint_loglik(model: Model, data: ChoiceData) -> float:
    """Log-likelihood of some choices, all those of a person taken together.

    The sum over single choices for a family in which choices are independent.
    """
    inside = model.on(grouped_by_person(data))
    blocks = inside.design.passing()
    return family_pass(inside.family, inside.layout, inside.theta, blocks, 0).loglik
