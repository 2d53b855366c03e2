"""`fit`: a specification estimated by maximum likelihood, in any family."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, grouped_by_person, must_be_choice_data
from ardchoice.design import Design, Encoding, refuse_far_from_zero, running
from ardchoice.errors import (
    ArdchoiceError,
    ConvergenceWarning,
    IdentificationError,
    SeparationError,
    SpecificationError,
)
from ardchoice.estimation.baselines import null_loglik
from ardchoice.estimation.constraints import (
    Bounds,
    Constraints,
    Equal,
    Fixed,
    Restriction,
    constraints_of,
    full_covariances,
    maximise_constrained,
)
from ardchoice.estimation.covariance import covariances
from ardchoice.estimation.result import Result
from ardchoice.estimation.shapes import Shapes, shaped_errors
from ardchoice.families import (
    EstimationTask,
    Family,
    Information,
    Mnl,
    ScoredSums,
    Separation,
    estimated_shapes,
    family_pass,
    must_be_family,
    refined_shapes,
    scored_pass,
    shapes_of,
)
from ardchoice.numerics import NewtonFit, Sums, single_blas_thread
from ardchoice.space import Specification, Term, as_specification

TOLERANCE_PER_SITUATION = 1e-14
"""Log-likelihood still to be gained, per situation: repeating all rows, or doubling all weights,
does not change where estimation ends."""
SHAPE_ROUNDS = 4
"""How often shapes and whatever a family adapts to its parameters take turns."""
WITHOUT_CASES = (
    "Fixed at zero, as no row has such a case: {}. Merge or pool levels to be rid of them."
)
SHAPE_GAIN = 1e-3
"""Log-likelihood to be gained by shapes that is worth another turn."""


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
    """`fit`, also where some estimates diverge, or levels do not occur; notes say which."""
    try:
        return _fit_divergent(data, spec, family)
    except IdentificationError as error:
        if not error.without_cases:
            raise
        result, notes = _fit_divergent(
            data, spec, family, fixed=dict.fromkeys(error.without_cases, 0.0)
        )
        named = ", ".join(error.without_cases)
        return result, (*notes, WITHOUT_CASES.format(named))


def _fit_divergent(
    data: ChoiceData, spec: Specification, family: Family, fixed: Fixed | None = None
) -> tuple[Result, tuple[str, ...]]:
    """`fit`, also where some estimates diverge; then with a note that says which."""
    try:
        return fit(data, spec, family=family, fixed=fixed), ()
    except SeparationError as error:
        note = str(error).partition("; separation=")[0] + (
            ". Coefficients concerned are shown as large numbers without standard errors."
        )
        return fit(data, spec, family=family, fixed=fixed, separation="allow"), (note,)


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
    has_shapes = bool(shapes_of(design.encoding))
    if has_shapes and not constraints.is_empty:
        raise _shapes_under_constraints(design)
    # Exponents and thresholds first, by their profile; what follows is at the best of them.
    design = Design(used, estimated_shapes(used, design.encoding)) if has_shapes else design
    resolved = family.resolve(design)
    design = design.with_covariates(resolved.family.covariates)
    null = null_loglik(data)
    # 2 · Newton's method, from where the family starts.
    climb = _Climb(resolved.family, design, null, max_iterations, separation)
    restriction = None
    if not constraints.is_empty:
        restriction = constraints.resolved(climb.layout).reordered(climb.inside)
    with climb.blocks.in_processes():
        found = climb.maximum(restriction)
        if has_shapes and not isinstance(resolved.family, Mnl):
            climb, found = _with_refined_shapes(climb, found)
        family, design, theta = found.family, climb.design, found.theta
        # 3 · How sure we are, and what we compare with.
        ended, matrices, shapes, notes = _errors(climb, found, restriction, has_shapes=has_shapes)
    # Closures keep them until cycles are collected, which may be several estimations later.
    climb.blocks.release()
    back = climb.layout.permutation(design.position)
    notes = (*resolved.notes, *found.notes, *notes)
    newton = found.newton
    if not newton.converged:
        notes = (*notes, _not_converged(newton.iterations, newton.decrement))
    information = tuple(str(note) for note in notes if isinstance(note, Information))
    return Result(
        family=family,
        specification=specification,
        encoding=design.encoding,
        coefficients=theta[back],
        covariances=matrices,
        loglik=ended.loglik,
        null_loglik=null,
        n_situations=len(data),
        n_persons=data.n_persons,
        converged=newton.converged,
        iterations=newton.iterations,
        decrement=newton.decrement,
        notes=tuple(map(str, notes)),
        information=information,
        data=data,
        constraints=None if constraints.is_empty else constraints,
        shapes=shapes,
    )


def _errors(
    climb: _Climb, found: _Found, restriction: Restriction | None, *, has_shapes: bool
) -> _Errors:
    """How sure the estimates are, in the order of the terms; exponents and thresholds too."""
    used, design = climb.design.data, climb.design
    ended = found.newton.sums
    if not isinstance(ended, ScoredSums):  # the end was not predicted
        ended = scored_pass(found.family, climb.inside, found.theta, climb.blocks, used.person)
    back = climb.layout.permutation(design.position)
    if has_shapes:
        errors = shaped_errors(used, design.encoding, found.family, found.theta, ended, found.gone)
        shapes = errors.shapes.reordered(back)
        return _Errors(ended, shapes.of_parameters(), shapes, errors.notes)
    matrices = covariances(ended, found.gone)
    if restriction is not None:
        matrices = full_covariances(matrices, restriction)
    return _Errors(ended, {kind: matrix[back[:, None], back] for kind, matrix in matrices.items()})


class _Errors(NamedTuple):
    """The sums of the last pass, covariances by kind, and what there is of shapes."""

    ended: ScoredSums
    matrices: dict[str, Floats]
    shapes: Shapes | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Found:
    """Where Newton's method ended; θ in block order, as `Maximum` and `ConstrainedMaximum`."""

    family: Family
    newton: NewtonFit
    theta: Floats
    gone: Floats | None
    notes: tuple[str, ...]


class _Climb:
    """Newton's method for a family on a design."""

    def __init__(
        self,
        family: Family,
        design: Design,
        null: float,
        max_iterations: int,
        separation: Separation,
    ) -> None:
        self.family, self.design = family, design
        self.blocks = design.blocks(is_costly=family.is_costly)
        self.options = (null, max_iterations, separation)
        self.layout = family.layout(design.encoding)
        self.inside = self.layout.reordered(design.order)
        person = design.data.person

        def evaluate(theta: Floats, last: bool) -> Sums:
            # The last pass has all that the covariances need.
            if last:
                return scored_pass(family, self.inside, theta, self.blocks, person)
            return family_pass(family, self.inside, theta, self.blocks)

        def finish(ending: Family, theta: Floats) -> Sums:
            return scored_pass(ending, self.inside, theta, self.blocks, person)

        self.task = EstimationTask(
            design=design,
            blocks=self.blocks,
            layout=self.inside,
            evaluate=evaluate,
            null_loglik=null,
            tolerance=TOLERANCE_PER_SITUATION * design.data.total_weight,
            max_iterations=max_iterations,
            separation=separation,
            finish=finish,
        )

    def on(self, encoding: Encoding) -> _Climb:
        """The same with other exponents and thresholds."""
        return _Climb(self.family, Design(self.design.data, encoding), *self.options)

    def maximum(self, restriction: Restriction | None = None) -> _Found:
        """Where it ends, with the constraints on the parameters if there are any."""
        if restriction is None:
            maximum = self.family.maximise(self.task)
            family, fit = maximum.family or self.family, maximum.fit
            return _Found(family, fit, fit.beta, maximum.diverging, maximum.notes)
        constrained = maximise_constrained(self.family, self.task, restriction)
        return _Found(
            constrained.family,
            constrained.fit,
            constrained.theta,
            constrained.diverging,
            constrained.notes,
        )


def _with_refined_shapes(climb: _Climb, found: _Found) -> tuple[_Climb, _Found]:
    """Shapes of a family other than the multinomial logit, from those of that, in turns with θ."""
    for _ in range(SHAPE_ROUNDS):
        encoding, gain = refined_shapes(
            climb.design.data, climb.design.encoding, found.family, found.theta
        )
        if gain <= SHAPE_GAIN:
            break
        climb = climb.on(encoding)
        found = climb.maximum()
    return climb, found


def _shapes_under_constraints(design: Design) -> SpecificationError:
    """Why constraints and estimated shapes do not go together, and what to write instead."""
    shape = shapes_of(design.encoding)[0]
    term = design.encoding.terms[shape.terms[0]].term
    instead = (
        "a power of the attribute as a derived column"
        if shape.kind == "exponent"
        else f"piecewise({term.what}, threshold)"
    )
    return SpecificationError(
        f"'{term}': fixed, equal, bounds and start cannot be combined with an estimated "
        f"{shape.kind}. Estimate without them, then write {instead} in place of {term.form}."
    )


def _not_converged(iterations: int, decrement: float) -> str:
    return (
        f"Estimation stopped after {iterations} Newton steps with {decrement:.3g} of "
        "log-likelihood still to be gained: do not use these estimates. Raise max_iterations, or "
        "look for nearly collinear terms."
    )
