"""Beginning on a sample of persons, then one pass over the whole sample from where that led.

That pass tells both how the columns lie and what the log-likelihood is like near its top: sums are
taken on columns that the sample standardised, and changed to the spread over all data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import FamilyLikelihood, ordered
from ardchoice.ard.newton import Newton, NewtonRun, run_newton
from ardchoice.ard.quadratic import Quadratic, expand
from ardchoice.ard.sample import sample_rows, sample_size
from ardchoice.ard.standardization import (
    ColumnMoments,
    Standardization,
    change_basis,
    moments_of,
    standardization_of,
)
from ardchoice.ard.trace import ProgressTrace
from ardchoice.design import Block, Design, Deviations, Rows, deviations
from ardchoice.errors import ArdchoiceError
from ardchoice.families import evaluate
from ardchoice.numerics import Sums, map_reduce

ENOUGH = 4
"""Situations per column that a sample must have: fewer are predicted perfectly by chance."""


@dataclass(frozen=True, eq=False)
class SubsampleStart:
    """Where to begin.

    Attributes
    ----------
    spread
        Of the columns, over all data.
    run
        λ and mean where the sample led, and the quadratic of all data there.
    said
        How to say that there was a sample.
    """

    spread: ColumnMoments
    run: NewtonRun
    said: str


@dataclass(frozen=True, eq=False)
class _Both:
    """Sums, and how the columns lie."""

    sums: Sums
    lie: Deviations

    def __add__(self, other: _Both) -> _Both:
        return _Both(self.sums + other.sums, self.lie + other.lie)


def _both(beta: Floats, block: Block) -> _Both:
    return _Both(evaluate(beta, block), deviations("available", block))


def term_columns(design: Design) -> list[npt.NDArray[np.intp]]:
    """The columns of every term."""
    return [np.arange(t.start, t.start + t.n_columns) for t in design.encoding.terms]


def subsample_start(
    solver: Newton, design: Design, groups: Groups, over: Rows, report: ProgressTrace
) -> SubsampleStart | None:
    """Where a sample and one pass over all data lead; None where all data are as good a start.

    Parameters
    ----------
    solver, design, groups, report
    over
        The rows over which columns are standardised.
    """
    size = sample_size(solver.sample, design)
    rows = (
        sample_rows(design.data, size)
        if size and over == "available"
        else np.empty(0, dtype=np.intp)
    )
    if len(rows) < ENOUGH * design.n_columns or _independent(design, rows) < design.n_columns:
        return None
    locally = replace(design.execution, workers=None)
    some = Design(design.data.take(rows), design.encoding, execution=locally)
    first = standardization_of(moments_of(some, over), design.encoding)
    try:
        part = FamilyLikelihood(some, first.centre, first.scale)
        run = run_newton(solver, part, groups, term_columns(design), report)
    except ArdchoiceError:
        return None  # too few to tell all constants apart
    if not run.converged:
        return None
    # One pass over the whole sample.
    likelihood = FamilyLikelihood(design, first.centre, first.scale)
    found = map_reduce(partial(_both, run.mean[design.order]), likelihood.blocks)
    # A sample that is nearly separated leads far away, to where all data do worse than nothing.
    if not found.sums.loglik > -_log_available(design):
        return None
    spread = _spread(found.lie, first, design)
    change = change_basis(first, standardization_of(spread, design.encoding), design.encoding)
    here = expand(ordered(found.sums, design), run.mean)
    quadratic = Quadratic(here.constant, change.linear(here.b), change.curvature(here.curvature))
    begin = replace(run, mean=change.coefficients(run.mean), quadratic=quadratic)
    return SubsampleStart(spread, begin, f"{run.passes} more on a sample of {len(rows):,}")


def _independent(design: Design, rows: npt.NDArray[np.intp]) -> int:
    """How many persons some rows are of, or rows: so many directions they can tell apart."""
    person = design.data.person
    return len(rows) if person is None else len(np.unique(person[rows]))


def _log_available(design: Design) -> float:
    """Σ w log of the number of available alternatives: minus the log-likelihood at zero."""
    data, total = design.data, 0.0
    for rows in data.ranges():
        total += float(data.weights_of(rows) @ np.log(data.available[:, rows].sum(axis=0)))
    return total


def _spread(lie: Deviations, standard: Standardization, design: Design) -> ColumnMoments:
    """Of the columns as they are, from how they lie once standardised."""
    back = design.position
    sd = np.sqrt(lie.squares / np.maximum(lie.count, 1))[back]
    mean = standard.centre + standard.scale * lie.mean[back]
    return ColumnMoments(lie.count[back], mean, standard.scale * sd)
