"""`fit`: a specification estimated by maximum likelihood, in any family."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, grouped_by_person, must_be_choice_data
from ardchoice.design import Design, refuse_far_from_zero, running
from ardchoice.errors import ArdchoiceError, ConvergenceWarning, SeparationError
from ardchoice.estimation.baselines import null_loglik
from ardchoice.estimation.constraints import (
    Bounds,
    Constraints,
    Equal,
    Fixed,
    constraints_of,
    full_covariances,
    maximise_constrained,
)
from ardchoice.estimation.covariance import covariances
from ardchoice.estimation.result import Result
from ardchoice.families import (
    EstimationTask,
    Family,
    Mnl,
    ScoredSums,
    Separation,
    family_pass,
    must_be_family,
    scored_pass,
)
from ardchoice.numerics import Sums, single_blas_thread
from ardchoice.space import Specification, Term, as_specification

TOLERANCE_PER_SITUATION = 1e-14
"""Log-likelihood still to be gained, per situation: repeating all rows, or doubling all weights,
does not change where estimation ends."""


def fit(
    data: ChoiceData,
    spec: Specification | str | Iterable[Term | str],
    *,
    family: Family = Mnl(),  # noqa: B008 - frozen
    fixed: Fixed | None = None,
    start: Fixed | None = None,
    equal: Equal = (),
    bounds: Bounds | None = None,
    max_iterations: int = 100,
    separation: Separation = "refuse",
    executor: Any = None,
    n_threads: int | None = None,
) -> Result:
    """Estimate a specification by maximum likelihood.

    Parameters
    ----------
    data
        The observed choices.
    spec
        A specification, its text in the grammar, or a list of terms.
    family
        How utilities become probabilities and how persons differ. Default: `Mnl()`.
    fixed
        Parameter -> value that it keeps, such as ``{"*: CO": -1.0}``; a term stands for all its
        coefficients. An offset is an attribute whose coefficient is fixed at 1. Default: none.
    start
        Parameter -> where estimation starts. Default: where the family starts.
    equal
        Groups of parameters with one value, such as ``[["TRAIN: TT", "CAR: TT"]]``. Default: none.
    bounds
        Parameter -> smallest and largest value, None for none: ``{"*: CO": (None, 0)}``. Default:
        none.
    max_iterations
        Most Newton steps; six or seven are usual, three or four where rows are many.
    separation
        What to do when an estimate diverges (complete or quasi-complete separation). ``"allow"``
        stops far out instead of raising: the log-likelihood and the probabilities are as good as
        at the limit, the coefficients concerned and their standard errors mean nothing.
    executor
        A Dask client whose workers process the data. Default: this process.
    n_threads
        Threads that process large data. Default: as many as cores. The result is the same to the
        last bit.

    Returns
    -------
    Result

    Raises
    ------
    SpecificationError
        A term names what the data do not have.
    IdentificationError
        Some coefficients are not identified (collinear); they are named.
    SeparationError
        An estimate diverges; the direction is named.

    Warns
    -----
    ConvergenceWarning
        Newton's method stopped before the maximum.

    Examples
    --------
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real")
    >>> result = ac.fit(data, "*: TT + CO", family=ac.Mnl())
    >>> result.n_parameters
    2
    """
    must_be_choice_data(data)
    must_be_family(family)
    with running(executor, n_threads), single_blas_thread():
        specification = as_specification(spec)
        constraints = constraints_of(fixed, equal, bounds, start)
        result = estimate(data, specification, family, max_iterations, separation, constraints)
    if not result.converged:
        warnings.warn(result.notes[-1], ConvergenceWarning, stacklevel=2)
    return result


def fit_mnl(
    data: ChoiceData,
    spec: Specification | str | Iterable[Term | str],
    *,
    fixed: Fixed | None = None,
    start: Fixed | None = None,
    equal: Equal = (),
    bounds: Bounds | None = None,
    max_iterations: int = 100,
    separation: Separation = "refuse",
    executor: Any = None,
    n_threads: int | None = None,
) -> Result:
    """Estimate a multinomial logit: short for ``fit(data, spec, family=Mnl())``, which see.

    Examples
    --------
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real")
    >>> ac.fit_mnl(data, "*: TT + CO").converged
    True
    """
    return fit(
        data,
        spec,
        family=Mnl(),
        fixed=fixed,
        start=start,
        equal=equal,
        bounds=bounds,
        max_iterations=max_iterations,
        separation=separation,
        executor=executor,
        n_threads=n_threads,
    )


def fit_anyway(
    data: ChoiceData, spec: Specification, family: Family
) -> tuple[Result, tuple[str, ...]]:
    """`fit`, also where some estimates diverge; then with a note that says which."""
    try:
        return fit(data, spec, family=family), ()
    except SeparationError as error:
        note = str(error).partition("; separation=")[0] + (
            ". Coefficients concerned are shown as large numbers without standard errors."
        )
        return fit(data, spec, family=family, separation="allow"), (note,)


def estimate(
    data: ChoiceData,
    specification: Specification,
    family: Family,
    max_iterations: int = 100,
    separation: Separation = "refuse",
    constraints: Constraints = Constraints(),  # noqa: B008 - frozen
) -> Result:
    """The same as `fit`, where data are processed as the context says; warns of nothing."""
    # 1 · Terms meet data; a weight of zero is as good as no row.
    if data.weight is not None and not data.weight.all():
        data = data.take(data.weight > 0)
    if not len(data.chosen()):
        raise ArdchoiceError("There are no choice situations to estimate from.")
    used = grouped_by_person(data)
    design = Design(used, specification.terms)
    refuse_far_from_zero(data, design.encoding.terms)
    resolved = family.resolve(design)
    family = resolved.family
    design = design.with_covariates(family.covariates)
    layout = family.layout(design.encoding)
    inside = layout.reordered(design.order)
    blocks = design.blocks()

    def evaluate(theta: Floats, last: bool) -> Sums:
        # The last pass has all that the covariances need.
        if last:
            return scored_pass(family, inside, theta, blocks, used.person)
        return family_pass(family, inside, theta, blocks)

    def finish(ending: Family, theta: Floats) -> Sums:
        return scored_pass(ending, inside, theta, blocks, used.person)

    # 2 · Newton's method, from where the family starts.
    task = EstimationTask(
        design=design,
        blocks=blocks,
        layout=inside,
        evaluate=evaluate,
        null_loglik=null_loglik(data),
        tolerance=TOLERANCE_PER_SITUATION * data.total_weight,
        max_iterations=max_iterations,
        separation=separation,
        finish=finish,
    )
    restriction = None
    if constraints.is_empty:
        maximum = family.maximise(task)
        family, newton, notes = maximum.family or family, maximum.fit, maximum.notes
        theta, gone = newton.beta, maximum.diverging
    else:
        restriction = constraints.resolved(layout).reordered(inside)
        constrained = maximise_constrained(family, task, restriction)
        family, newton, notes = constrained.family, constrained.fit, constrained.notes
        theta, gone = constrained.theta, constrained.diverging
    # 3 · How sure we are, and what we compare with.
    ended = newton.sums
    if not isinstance(ended, ScoredSums):  # the end was not predicted
        ended = scored_pass(family, inside, theta, blocks, used.person)
    found = covariances(ended, gone)
    if restriction is not None:
        found = full_covariances(found, restriction)
    notes = (*resolved.notes, *notes)
    if not newton.converged:
        notes = (*notes, _not_converged(newton.iterations, newton.decrement))
    back = layout.permutation(design.position)
    return Result(
        family=family,
        specification=specification,
        encoding=design.encoding,
        coefficients=theta[back],
        covariances={kind: matrix[back[:, None], back] for kind, matrix in found.items()},
        loglik=ended.loglik,
        null_loglik=task.null_loglik,
        n_situations=len(data),
        n_persons=data.n_persons,
        converged=newton.converged,
        iterations=newton.iterations,
        decrement=newton.decrement,
        notes=notes,
        data=data,
        constraints=None if constraints.is_empty else constraints,
    )


def _not_converged(iterations: int, decrement: float) -> str:
    return (
        f"Estimation stopped after {iterations} Newton steps with {decrement:.3g} of "
        "log-likelihood still to be gained: do not use these estimates. Raise max_iterations, or "
        "look for nearly collinear terms."
    )
