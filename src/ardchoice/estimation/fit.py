"""`fit_mnl`: a specification estimated by maximum likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, must_be_choice_data
from ardchoice.design import Block, Design
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning
from ardchoice.estimation.baselines import null_loglik
from ardchoice.estimation.covariance import ScoredSums, covariances, scored_pass
from ardchoice.estimation.result import Result
from ardchoice.families import (
    Start,
    check_identification,
    check_separation,
    one_pass,
    proves_maximum,
    start_near,
    vanished_directions,
)
from ardchoice.numerics import NewtonFit, Sums, maximise, single_blas_thread
from ardchoice.space import Specification, Term, as_specification

TOLERANCE = 1e-14
"""Log-likelihood still to be gained, per situation: repeating all rows, or doubling all weights,
does not change where estimation ends."""
EXTRA_PRECISION = 1e-4
"""Of that, so that covariances do not change with the order of rows, either."""
MOST_STEPS_NEAR = 20
"""A start that needs more was not near the maximum."""


def fit_mnl(
    data: ChoiceData,
    spec: Specification | str | Iterable[Term | str],
    *,
    max_iterations: int = 100,
    separation: Literal["refuse", "allow"] = "refuse",
    executor: Any = None,
    n_threads: int | None = None,
) -> Result:
    """Estimate a multinomial logit.

    Parameters
    ----------
    data
        The observed choices.
    spec
        A specification, its text in the grammar, or a list of terms.
    max_iterations
        Most Newton steps; six or seven are usual, three or four where rows are many.
    separation
        What to do when an estimate runs to infinity. ``"allow"`` stops far out instead of raising:
        the log-likelihood and the probabilities are as good as at the limit, the coefficients
        concerned and their standard errors mean nothing.
    executor
        A Dask client whose workers go through the data; this process unless told.
    n_threads
        Threads that go through large data; as many as cores unless told. The result is the same to
        the last bit.

    Returns
    -------
    MnlResult

    Raises
    ------
    SpecificationError
        A term names what the data do not have.
    IdentificationError
        Some coefficients cannot be told apart; they are named.
    SeparationError
        An estimate runs to infinity; the direction is named.
    """
    must_be_choice_data(data)
    on = data.at_work(executor, n_threads)
    with single_blas_thread():
        result = _fit(on, as_specification(spec), max_iterations, separation)
    if on is data:
        return result
    # What is asked of the result later does not need the workers.
    return replace(result, data=data if result.data is on else result.data.on(data.executor))


def _fit(
    data: ChoiceData, specification: Specification, max_iterations: int, separation: str
) -> Result:
    # 1 · Terms meet data; a weight of zero is as good as no row.
    if data.weight is not None and not data.weight.all():
        data = data.take(data.weight > 0)
    if not len(data.chosen()):
        raise ArdchoiceError("There are no choice situations to estimate from.")
    design = Design(data, specification.terms)
    blocks = design.blocks()
    null = null_loglik(data)
    # 2 · Climb from near the maximum, if a sample of the rows leads there.
    near = start_near(blocks, design.n_columns, null)
    steps = min(max_iterations, MOST_STEPS_NEAR)
    fit = None if near is None else _climb(near, data, blocks, steps)
    gone = None
    if fit is None or not fit.converged or not proves_maximum(fit.curvature, design, blocks):
        # 3 · Else from zero. Every alternative has a chance there, so rank shows in the curvature;
        # an estimate that runs away is found by the curvature that vanishes with it.
        zero = _identified_zero(design, blocks)
        at_zero = zero.sums.curvature
        if fit is None or not fit.converged or vanished_directions(fit.curvature, at_zero).size:
            fit = _climb(zero, data, blocks, max_iterations)
        if separation == "allow":
            gone = vanished_directions(fit.curvature, at_zero)
        else:
            check_separation(fit, at_zero, design, blocks)
    if not fit.converged:
        warnings.warn(
            f"Estimation stopped after {fit.iterations} steps with {fit.decrement:.3g} of "
            "log-likelihood still to be gained: do not use these estimates. Raise max_iterations, "
            "or look for nearly collinear terms.",
            ArdchoiceWarning,
            stacklevel=3,
        )
    # 4 · How sure we are, and what we compare with.
    ended = fit.sums
    if not isinstance(ended, ScoredSums):  # the end was not foreseen
        ended = scored_pass(fit.beta, blocks, data.person)
    back = design.position
    return Result(
        specification=specification,
        encoding=design.encoding,
        coefficients=fit.beta[back],
        covariances={
            kind: matrix[back[:, None], back] for kind, matrix in covariances(ended, gone).items()
        },
        loglik=ended.loglik,
        null_loglik=null,
        n_situations=len(data),
        n_persons=data.n_persons,
        converged=fit.converged,
        iterations=fit.iterations,
        decrement=fit.decrement,
        data=data,
    )


def _identified_zero(design: Design, blocks: Iterable[Block]) -> Start:
    """Zero, once it is known that there is full rank."""
    beta = np.zeros(design.n_columns)
    sums = one_pass(beta, blocks)
    check_identification(sums.curvature, design, blocks)
    return Start(beta, sums)


def _climb(
    start: Start, data: ChoiceData, blocks: Iterable[Block], max_iterations: int
) -> NewtonFit:
    """Newton's method, its last pass with all that the covariances need."""

    def evaluate(beta: Floats, last: bool) -> Sums:
        return scored_pass(beta, blocks, data.person) if last else one_pass(beta, blocks)

    return maximise(
        evaluate,
        start.beta,
        first=start.sums,
        max_iterations=max_iterations,
        tolerance=TOLERANCE * data.total_weight,
        extra_precision=EXTRA_PRECISION,
    )
