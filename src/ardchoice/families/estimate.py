"""The one maximum-likelihood estimator, of any family: estimation, refits and modes use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.families.family import Family, family_pass
from ardchoice.families.parameters import ParameterLayout
from ardchoice.families.records import EstimationTask, Maximum
from ardchoice.numerics import NewtonFit, Sums, maximise, penalised

EXTRA_PRECISION = 1e-4
"""Share of the tolerance that estimation continues to, so that covariances do not depend on the
order of rows either."""


def climb(
    family: Family,
    layout: ParameterLayout,
    evaluate: Callable[[Floats, bool], Sums],
    start: Floats,
    *,
    first: Sums | None = None,
    precision: Floats | None = None,
    max_iterations: int = 100,
    tolerance: float,
    extra_precision: float = 1.0,
    wanted: float = -np.inf,
) -> NewtonFit:
    """Newton's method on the (penalised) log-likelihood of a family.

    Parameters
    ----------
    family, layout
    evaluate
        (θ, whether this pass is expected to be the last) -> Sums with gradient and Hessian.
    start, first
        θ, shape (P,), and the sums there where they are known (with the penalty, if any).
    precision
        Of a Gaussian prior with mean zero, shape (P,); None for maximum likelihood.
    max_iterations, tolerance, extra_precision, wanted
        As in `maximise`.
    """

    def target(theta: Floats, last: bool) -> Sums:
        sums = evaluate(theta, last)
        return sums if precision is None else penalised(sums, theta, precision)

    return maximise(
        target,
        start,
        first=first,
        max_iterations=max_iterations,
        tolerance=tolerance,
        extra_precision=extra_precision,
        wanted=wanted,
        concave=family.concave,
        bounds=layout.bounds,
    )


def climb_task(
    family: Family,
    task: EstimationTask,
    start: Floats,
    first: Sums | None = None,
    max_iterations: int | None = None,
) -> NewtonFit:
    """The same for what `fit` asks for."""
    return climb(
        family,
        task.layout,
        task.evaluate,
        start,
        first=first,
        max_iterations=task.max_iterations if max_iterations is None else max_iterations,
        tolerance=task.tolerance,
        extra_precision=EXTRA_PRECISION,
    )


def maximise_from_mnl(family: Family, task: EstimationTask) -> Maximum:
    """Newton's method from a warm start: the multinomial logit of the same terms.

    The multinomial logit also shows what is not identified and what diverges.
    """
    from ardchoice.families.mnl import Mnl

    mnl, d = Mnl(), task.layout.n_columns
    plain = ParameterLayout(task.layout.parameters[:d], d, task.layout.alternatives)

    def evaluate(theta: Floats, last: bool) -> Sums:
        return family_pass(mnl, plain, theta, task.blocks)

    near = mnl.maximise(replace(task, layout=plain, evaluate=evaluate))
    fit = climb_task(family, task, family.start(task.layout, near.fit.beta))
    diverging = _padded(near.diverging, len(fit.beta))
    at_bound = np.eye(len(fit.beta))[:, task.layout.at_bound(fit.beta)]
    if at_bound.shape[1]:
        diverging = at_bound if diverging is None else np.hstack([diverging, at_bound])
    notes = family.diagnose(fit.beta, task.layout)
    return Maximum(fit, diverging, (*near.notes, *notes))


def _padded(directions: Floats | None, size: int) -> Floats | None:
    """Directions of the coefficients as directions of all parameters."""
    if directions is None:
        return None
    return np.vstack([directions, np.zeros((size - len(directions), directions.shape[1]))])
