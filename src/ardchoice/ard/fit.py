"""`fit_ard`: how relevant each candidate term is."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from ardchoice.ard.constants import diverging_constants
from ardchoice.ard.dsvi import Dsvi, DsviPaper
from ardchoice.ard.groups import FREE, Groups
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.newton import Newton
from ardchoice.ard.online_state import OnlineState
from ardchoice.ard.result import ArdFit
from ardchoice.ard.solving import Outcome, Solver, solve, solve_with_tastes
from ardchoice.ard.spreads import SpreadCandidates, SpreadRelevance, spread_candidates
from ardchoice.ard.standardization import (
    ColumnMoments,
    Standardization,
    moments_of,
    standardization_of,
)
from ardchoice.ard.subsample_start import SubsampleStart, subsample_start
from ardchoice.ard.trace import Progress, ProgressTrace
from ardchoice.data import ChoiceData, grouped_by_person, must_be_choice_data
from ardchoice.design import Design, Execution, Rows, refuse_far_from_zero, running
from ardchoice.errors import ArdchoiceError, ConvergenceWarning
from ardchoice.families import Family, Mnl, ParameterLayout, candidate_shapes, must_be_family
from ardchoice.numerics import single_blas_thread
from ardchoice.space import SearchSpace, Term, matches

PAPER_LAMBDA_CUTOFF = 0.002
"""λ above which the paper keeps a term."""
MOVING_NAMED = 5
"""Terms that are named where relevance did not converge."""


def must_be_solver(solver: object) -> Solver:
    """A solver, or an error with what could be meant."""
    if not isinstance(solver, Newton | Dsvi | DsviPaper):
        raise ArdchoiceError(
            "A solver is a value such as ac.Newton(), ac.Dsvi() or ac.Dsvi.paper(), not "
            f"{solver!r}."
        )
    return solver


@dataclass(frozen=True)
class Prior:
    """β of a term's columns ~ N(0, λ), one λ per term.

    Attributes
    ----------
    shrink_constants
        Whether constants are shrunk like the rest, as in the paper. Default: not, as every
        modeller keeps them.
    tied
        Patterns such as ``"*: noise*"``: the terms that fit one share a single λ.
    common
        One λ for all terms.
    fixed
        The value of that λ. Default: optimised.
    standardised
        The rows over which columns are centred and scaled, the scale on which λ is reported:
        those where their alternative is available, or all, as in the paper, a column being zero
        elsewhere.
    """

    shrink_constants: bool = False
    tied: tuple[str, ...] = ()
    common: bool = False
    fixed: float | None = None
    standardised: Rows = "available"


def fit_ard(
    data: ChoiceData,
    space: SearchSpace,
    *,
    family: Family = Mnl(),  # noqa: B008 - frozen
    solver: Solver | None = None,
    prior: Prior | None = None,
    previous: ArdFit | OnlineState | None = None,
    progress: Progress | None = None,
    executor: Any = None,
    n_threads: int | None = None,
) -> ArdFit:
    """Find how relevant each candidate is, by maximising the evidence over the λ of every term.

    Or rather the bound on it that the paper maximises; `Newton(posterior="full")`, the evidence.

    Parameters
    ----------
    data
        The choices.
    space
        The candidates.
    family
        How utilities become probabilities and how persons differ. Default: `Mnl()`.
    solver
        `Newton()` (the default), `Dsvi()` or `Dsvi.paper()`.
    prior
        What is shrunk, and together with what.
    previous
        A fit to earlier data: these data come on top of them. It remembers all its rows, so that
        the result is that of fitting all together; `fit.memory(share)` remembers some of them.
    progress
        Called with every step (iteration, objective, active terms, time).
    executor
        A Dask client whose workers go through the data, here and in what follows from the fit.
    n_threads
        Threads that process large data. Default: as many as cores. The result is the same to
        the last bit.

    Returns
    -------
    ArdFit

    Warns
    -----
    ConvergenceWarning
        `Newton()` stopped before λ and the means stood still; the terms that move are named.
    """
    must_be_choice_data(data)
    must_be_family(family)
    execution = Execution.of(executor, n_threads)
    solver, prior = must_be_solver(solver or Newton()), prior or Prior()
    _must_have_candidates(space)
    data.chosen()
    memory = previous.memory() if isinstance(previous, ArdFit) else previous
    if memory is not None and not isinstance(family, Mnl):
        raise ArdchoiceError(
            f"Continuing from previous data is for the multinomial logit, not for the "
            f"{family.title.lower()}: fit all data at once."
        )
    started = time.perf_counter()
    with running(execution), single_blas_thread():
        problem = _meet_data(data, space, family, solver, prior, memory, progress)
        found = _maximise(problem, solver, prior, memory)
    # Back to terms.
    outcome, likelihood = found.outcome, found.likelihood
    grouped = zip(space.terms, problem.term_group, strict=True)
    moving = tuple(t for t, g in grouped if g in outcome.moving)
    reason = outcome.reason
    if isinstance(solver, Newton) and not outcome.converged:
        reason += _still_moving(moving)
        warnings.warn(f"Relevance did not converge: {reason}.", ConvergenceWarning, stacklevel=2)
    return ArdFit(
        space=space,
        family=found.family,
        extras=likelihood.extras,
        encoding=problem.design.encoding,
        centre=likelihood.centre,
        scale=likelihood.scale,
        spread=problem.spread,
        prior=prior,
        solver=solver,
        lam=np.append(outcome.lam, np.inf)[problem.term_group],
        mean=outcome.mean,
        sd=outcome.sd,
        quadratic=outcome.quadratic,
        log_evidence=outcome.post.log_evidence,
        trace=tuple(outcome.trace),
        converged=outcome.converged,
        reason=reason,
        moving=moving,
        passes=outcome.passes,
        seconds=time.perf_counter() - started,
        version=version("ardchoice"),
        n_situations=len(data),
        data=data,
        revisited=outcome.revisited,
        earlier=memory,
        execution=execution,
        spreads=found.spreads,
    )


def _must_have_candidates(space: object) -> None:
    if not isinstance(space, SearchSpace):
        raise ArdchoiceError(
            f"Expected a search space, got {type(space).__name__}: ac.SearchSpace(data, ...)."
        )
    if not len(space):
        raise ArdchoiceError(
            "The search space is empty: every candidate was excluded. print(space) says why."
        )


@dataclass(frozen=True, eq=False)
class _Problem:
    """Candidates that have met data, on columns of unit spread.

    Attributes
    ----------
    design
    likelihood
        Of all columns, standardised.
    groups, term_group
        As `make_groups` has them.
    spread
        Moments of the columns, with those of previous data.
    standard
        Where columns are centred, and how they are scaled.
    family
        Of the model; that of `likelihood` is the multinomial logit where spreads are candidates.
    candidates
        Spreads of random coefficients that have a λ of their own.
    early
        Found on some of the rows.
    report
        What is called with every pass.
    """

    design: Design
    likelihood: FamilyLikelihood
    groups: Groups
    term_group: npt.NDArray[np.intp]
    spread: ColumnMoments
    standard: Standardization
    family: Family
    candidates: SpreadCandidates | None
    early: SubsampleStart | None
    report: ProgressTrace


def _meet_data(
    data: ChoiceData,
    space: SearchSpace,
    family: Family,
    solver: Solver,
    prior: Prior,
    memory: OnlineState | None,
    progress: Progress | None,
) -> _Problem:
    """What there is to maximise."""
    design = _design(data, space, prior, memory)
    refuse_far_from_zero(data, design.encoding.terms)
    diverging = diverging_constants(data, design.encoding)
    candidates = spread_candidates(family, design.encoding)
    searched = family if candidates is None else Mnl()
    groups, term_group = make_groups(searched.layout(design.encoding), prior, diverging)
    report = ProgressTrace(0.0 if isinstance(solver, Newton) else PAPER_LAMBDA_CUTOFF, progress)
    early = None
    whole = memory is not None or prior.fixed is not None or not isinstance(family, Mnl)
    if isinstance(solver, Newton) and not whole:
        early = subsample_start(solver, design, groups, prior.standardised, report)
    spread = moments_of(design, prior.standardised) if early is None else early.spread
    spread = spread if memory is None else memory.spread + spread
    standard = standardization_of(spread, design.encoding)
    if candidates is not None:
        standard = candidates.uncentred(standard, design.encoding)
    likelihood = FamilyLikelihood(design, standard.centre, standard.scale, searched)
    return _Problem(
        design,
        likelihood,
        groups,
        term_group,
        spread,
        standard,
        family,
        candidates,
        early,
        report,
    )


@dataclass(frozen=True, eq=False)
class _Maximum:
    """Where the evidence is highest, and of which family."""

    outcome: Outcome
    family: Family
    likelihood: FamilyLikelihood
    spreads: SpreadRelevance | None = None


def _maximise(
    problem: _Problem, solver: Solver, prior: Prior, memory: OnlineState | None
) -> _Maximum:
    """The evidence, over λ of coefficients and of spreads that are candidates."""
    likelihood, groups, report = problem.likelihood, problem.groups, problem.report
    if problem.candidates is not None:
        outcome, tastes = solve_with_tastes(
            solver, likelihood, groups, prior.fixed, report, problem.candidates
        )
        return _Maximum(outcome, tastes.family, tastes.likelihood, tastes.spreads)
    before = None if memory is None else memory.earlier(problem.standard)
    outcome = solve(solver, likelihood, groups, prior.fixed, report, before, problem.early)
    if likelihood.extras:
        likelihood.sums(outcome.mean)
    return _Maximum(outcome, problem.family, likelihood)


def _still_moving(terms: Sequence[Term]) -> str:
    """Which terms move, and what to do."""
    if not terms:
        return ""
    more = f" and {len(terms) - MOVING_NAMED} more" if len(terms) > MOVING_NAMED else ""
    named = ", ".join(str(t) for t in terms[:MOVING_NAMED])
    return f"; still moving: {named}{more}. Remove highly correlated terms, or raise max_passes"


# -- Columns and groups --------------------------------------------------------------------------


def _design(
    data: ChoiceData, space: SearchSpace, prior: Prior, memory: OnlineState | None
) -> Design:
    """Candidates met with data, as they were with earlier ones."""
    if memory is None:
        _refuse_too_large(data, space)
        design = Design(grouped_by_person(data), space.terms)
        encoding = candidate_shapes(design.data, design.encoding)
        return design if encoding is design.encoding else Design(design.data, encoding)
    if memory.terms != space.terms:
        raise ArdchoiceError(
            "The earlier fit has other candidates: continue with its own space, fit.space."
        )
    if memory.spread.over != prior.standardised:
        raise ArdchoiceError(
            f"The earlier fit has columns standardised over {memory.spread.over} rows, this prior "
            f"over {prior.standardised}: continue with Prior(standardised={memory.spread.over!r})."
        )
    return Design(grouped_by_person(data), memory.encoding)


def make_groups(
    layout: ParameterLayout, prior: Prior, diverging: frozenset[Term] = frozenset()
) -> tuple[Groups, npt.NDArray[np.intp]]:
    """Which columns share a λ, and the group of every term (the count of groups where free).

    Parameters
    ----------
    layout
        In the order of the terms.
    prior
    diverging
        Constants that are shrunk in any case, having no finite estimate otherwise.
    """
    numbers: dict[Term | str, int] = {}
    term_group: dict[Term | None, int] = {}
    coefficients = layout.parameters[: layout.n_columns]
    for p in coefficients:
        if p.term is None or p.term in term_group:
            continue
        if p.is_shrunk or prior.shrink_constants or p.term in diverging:
            pattern = "*: *" if prior.common else _first_match(prior.tied, p.term)
            term_group[p.term] = numbers.setdefault(pattern or p.term, len(numbers))
        else:
            term_group[p.term] = FREE
    of = [term_group[p.term] for p in coefficients]
    each, n = np.array(list(term_group.values()), dtype=np.intp), len(numbers)
    return Groups(np.array(of, dtype=np.intp), n), np.where(each == FREE, n, each)


def _first_match(patterns: Sequence[str], term: Term) -> str | None:
    return next((p for p in patterns if matches(p, term)), None)


def _refuse_too_large(data: ChoiceData, space: SearchSpace) -> None:
    """Say before allocating that the space does not fit, with the sizes."""
    d = space.n_columns
    matrices = 4 * 8 * d * d  # curvature, its factor, its inverse, one to spare
    # Data on disk are read as they are needed; rows become columns block by block.
    bases = 0 if data.is_memory_mapped else 8 * len(data)
    need = matrices + bases
    free = _free_memory()
    if free is not None and need > free:
        raise ArdchoiceError(
            f"The space has {d:,} columns: relevance needs about {need / 1e9:.1f} GB "
            f"({matrices / 1e9:.1f} for {d:,} x {d:,} matrices, {bases / 1e9:.1f} for the values "
            f"of {len(data):,} situations), and {free / 1e9:.1f} GB are free. Use fewer forms or "
            "interactions, a smaller depth, or remove terms."
        )


def _free_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
