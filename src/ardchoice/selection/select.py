"""`select`: from relevance to a specification, with a reason for every candidate."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.ard import ArdFit, Newton, fit_ard, sample_size
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData
from ardchoice.design import Design, running
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning, SpecificationError
from ardchoice.estimation import FoldScore, cross_validate
from ardchoice.numerics import single_blas_thread
from ardchoice.selection.compile import compile_structure, forbidding
from ardchoice.selection.constraints import Constraints, TermSet
from ardchoice.selection.criterion import Criterion, bic, ebic_gamma
from ardchoice.selection.divergence import MOST_DIVERGENCE_ROUNDS, diverging_terms
from ardchoice.selection.prices import criterion_of, design_effects, formula_of
from ardchoice.selection.reasons import explain_search, explain_threshold, some_segments
from ardchoice.selection.refits import RefitCache
from ardchoice.selection.rules import (
    Bic,
    Ebic,
    Evidence,
    FalseDiscovery,
    HeldOut,
    LambdaAbove,
    Rule,
    Searched,
    Threshold,
    must_be_rule,
)
from ardchoice.selection.search import Found, Problem, SearchStep, search
from ardchoice.selection.signs import SignRules, with_expected_signs
from ardchoice.selection.structure import Sign, Structure
from ardchoice.selection.surrogate import Surrogate
from ardchoice.space import Specification

Progress = Callable[[SearchStep], None]

START_PENALTY_SHARES = (1.0, 0.6)
"""Where the search starts: terms whose statistic exceeds these shares of their penalty."""


def select(
    fit: ArdFit,
    rule: Rule | None = None,
    *,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    progress: Progress | None = None,
    keep: Checkpointer = NOTHING,
) -> Specification:
    """Decide which candidates make the specification.

    Parameters
    ----------
    fit
        How relevant each candidate is.
    rule
        `Ebic()` (the default), `Bic()`, `HeldOut()`, `LambdaAbove()`, `Evidence()`,
        `FalseDiscovery()`.
    structure
        What every specification must obey; None for no rules at all.
    progress
        Called after every round of a search.
    keep
        Where a search that may be broken off lays down its refits.

    Returns
    -------
    Specification
        With a reason for every candidate, near-ties and rivals.

    Raises
    ------
    SpecificationError
        Rules that contradict one another.
    """
    if not isinstance(fit, ArdFit):
        raise ArdchoiceError(
            f"Expected a relevance fit, got {type(fit).__name__}: ac.select(ac.fit_ard(data, "
            "space)), or ac.specify(data, space) for everything at once."
        )
    rule = Ebic() if rule is None else rule
    must_be_rule(rule)
    structure = with_expected_signs(structure, fit.data, fit.terms)
    constraints = compile_structure(structure, fit.space)
    signs = SignRules({} if structure is None else structure.given_signs, fit.encoding, fit.data)
    with running(fit.execution), single_blas_thread():
        found = _select(fit, rule, constraints, signs, progress, keep)
    found = replace(found, alerts=(*constraints.notes, *found.alerts))
    for alert in found.alerts:
        warnings.warn(alert, ArdchoiceWarning, stacklevel=2)
    return found


def _select(
    fit: ArdFit,
    rule: Rule,
    constraints: Constraints,
    signs: SignRules,
    progress: Progress | None,
    keep: Checkpointer,
) -> Specification:
    if isinstance(rule, Threshold):
        return _by_threshold(fit, rule, constraints, signs)
    if fit.continues:
        raise ArdchoiceError(
            "This fit continues from previous data that are no longer at hand, and a search "
            "compares specifications on all of them. Fit all data at once, or select by "
            "LambdaAbove, Evidence or FalseDiscovery."
        )
    if not isinstance(rule, HeldOut):
        return _by_search(fit, rule, constraints, signs, progress, keep)
    best, note = best_weight(fit, rule, constraints, signs.signs, keep)
    found = _by_search(fit, best, constraints, signs, progress, keep)
    return replace(found, notes=(note, *found.notes))


# -- Thresholds ----------------------------------------------------------------------------------


def _by_threshold(
    fit: ArdFit, rule: Threshold, constraints: Constraints, signs: SignRules
) -> Specification:
    """What the rule wants, made valid."""
    passed, shown = _passed(fit, rule)
    selected = constraints.build(fit.lam, np.flatnonzero(passed))
    problem = Problem(RefitCache.of(fit), constraints, bic(len(fit.data)), signs)
    valid = with_signs(problem, selected)
    alerts = _sign_alerts(problem, valid, problem.models.refit(valid).beta)
    explained = explain_threshold(problem, rule.name, passed, shown, selected, valid)
    return replace(explained, alerts=alerts)


def _passed(fit: ArdFit, rule: Threshold) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """Which terms a rule wants, and the figure it looked at."""
    if isinstance(rule, LambdaAbove):
        values = fit.lam
        return values > rule.threshold, [f"λ = {v:.3g}" for v in values]
    if isinstance(rule, Evidence):
        values = np.nan_to_num(fit.evidence, nan=np.inf)
        effects = design_effects(fit) if rule.cluster else None
        values = values if effects is None else values / effects
        return values > rule.above, [f"log evidence {v:.1f}" for v in values]
    assert isinstance(rule, FalseDiscovery)  # noqa: S101 - the last of the three
    values = fit.relevance()["p_adjusted"].to_numpy()
    return values <= rule.q, [f"adjusted p = {v:.2g}" for v in values]


def with_signs(problem: Problem, selected: TermSet) -> TermSet:
    """Terms leave one by one until every sign is as expected, or until none can leave.

    Terms of an attribute that goes the wrong way, while there are any; those that nothing depends
    on first; and of these the one that is missed least, if that helps.
    """
    models, constraints = problem.models, problem.constraints
    fitted = models.refit(selected)
    while True:
        where = problem.signs.violations(selected, models.raw(fitted.beta))
        if not where:
            return selected
        wrong_sign_terms = {wrong.attribute for wrong in where}
        able = smaller_sets(
            constraints, selected, [t for t in selected if _what(problem, t) in wrong_sign_terms]
        )
        able = able or smaller_sets(constraints, selected, selected)
        if not able:
            return selected
        fewest = min(len(selected - s) for s in able)
        fits = [models.refit(s, fitted.beta) for s in able if len(selected - s) == fewest]
        now = len(where)
        fitted = min(
            fits,
            key=lambda f: (problem.wrong(f.selected, f.beta) >= now, -f.loglik),
        )
        selected = fitted.selected


def _what(problem: Problem, t: int) -> str | None:
    return problem.constraints.terms[t].what


def smaller_sets(
    constraints: Constraints, selected: TermSet, terms: Iterable[int]
) -> list[TermSet]:
    """Valid sets without one of some terms."""
    without = (constraints.without(selected, [t]) for t in sorted(terms))
    return list(dict.fromkeys(s for s in without if s is not None))


def _sign_alerts(problem: Problem, selected: TermSet, beta: Floats) -> tuple[str, ...]:
    where = problem.signs.violations(selected, problem.models.raw(beta))
    if not where:
        return ()
    return (
        "No specification with the expected signs was found; in this one utility goes the wrong "
        f"way for {some_segments(where)}. Look at what is forced.",
    )


# -- Search --------------------------------------------------------------------------------------


def _by_search(
    fit: ArdFit,
    rule: Searched,
    constraints: Constraints,
    signs: SignRules,
    progress: Progress | None,
    keep: Checkpointer,
) -> Specification:
    few = few_passes(fit)
    models = (RefitCache.of_many if few else RefitCache.of)(fit, keep.journal("refits"))
    criterion = criterion_of(rule, fit, models.n, constraints)
    problem = Problem(models, constraints, criterion, signs)
    near = Surrogate(models.around_relevance(fit), models.columns) if few else None
    found = _from_starts(fit, problem, near, progress)
    for _ in range(MOST_DIVERGENCE_ROUNDS):
        banned = diverging_terms(fit, problem.constraints, found.best, few)
        if not banned:
            break
        try:
            problem = replace(problem, constraints=forbidding(problem.constraints, banned))
        except SpecificationError:
            break
        found = _from_starts(fit, problem, near, progress)
    alerts = _sign_alerts(problem, found.best.selected, found.best.beta)
    formula = formula_of(criterion, fit.data.n_persons)
    explained = replace(explain_search(problem, found), alerts=alerts, formula=formula)
    if not few:
        return explained
    note = (
        f"Relevance took {fit.passes:.0f} passes over all data, after a sample of them, and the "
        f"search {models.passes}."
    )
    return replace(explained, notes=(*explained.notes, note))


def _from_starts(
    fit: ArdFit, problem: Problem, near: Surrogate | None, progress: Progress | None
) -> Found:
    begin = starts(fit, problem.constraints, problem.criterion)
    begin += [s for s in map(partial(without_wrong_signs, problem), begin) if s not in begin]
    return search(problem, begin, progress=progress, surrogate=near)


def few_passes(fit: ArdFit) -> bool:
    """Whether relevance began with a sample, so that the search begins with its quadratic."""
    sample = fit.solver.sample if isinstance(fit.solver, Newton) else 0
    return sample_size(sample, Design(fit.data, fit.encoding)) > 0 and fit.converged


def starts(
    fit: ArdFit, constraints: Constraints, criterion: Criterion | None = None
) -> list[TermSet]:
    """Valid sets to search from: what relevance finds strong or fair, the textbook, the least."""
    strength = np.nan_to_num(fit.evidence, nan=0.0)
    free = ~np.isfinite(fit.lam)
    n, p = max(len(fit.data), 2), len(fit.terms)
    penalty = constraints.columns * np.log(n) + 2 * ebic_gamma(n, p) * np.log(p)
    clustered = criterion is not None and criterion.design_effect is not None
    if criterion is not None and criterion.effective is not None and clustered:
        penalty = np.maximum(penalty, criterion.per_coefficient * criterion.effective)
    out = [
        constraints.build(
            strength, np.flatnonzero(free | ((fit.lam > 0) & (fit.statistic > share * penalty)))
        )
        for share in START_PENALTY_SHARES
    ]
    if clustered:
        out.append(constraints.build(fit.tests.gain, np.flatnonzero(fit.tests.in_model)))
    if constraints.textbook:
        out.append(constraints.build(strength, sorted(constraints.textbook)))
    return list(dict.fromkeys([*out, constraints.least()]))


def without_wrong_signs(problem: Problem, selected: TermSet) -> TermSet:
    """A start without the attributes that go the wrong way in it, until none does.

    An attribute with the wrong sign hides what others would say without it, and a search that
    drops its terms one by one may end before these come in.
    """
    constraints = problem.constraints
    wanted = sorted(selected)
    while problem.signs.signs:
        beta = problem.models.raw(problem.models.refit(selected).beta)
        wrong = {w.attribute for w in problem.signs.violations(selected, beta)}
        left = [t for t in wanted if constraints.terms[t].what not in wrong]
        if len(left) == len(wanted):
            break
        wanted = left
        selected = constraints.build(np.ones(len(constraints.terms)), wanted)
    return selected


def best_weight(
    fit: ArdFit,
    rule: HeldOut,
    constraints: Constraints,
    signs: Mapping[str, Sign],
    keep: Checkpointer = NOTHING,
) -> tuple[Bic, str]:
    """The weight of the BIC penalty that predicts held-out persons best, by cross-validation."""

    def score_weights(train: ChoiceData, held_out: ChoiceData) -> list[FoldScore]:
        inside = fit_ard(train, fit.space, family=fit.family, solver=fit.solver, prior=fit.prior)
        models = RefitCache.of(inside)
        rules = SignRules(signs, inside.encoding, train)
        out = []
        for weight in rule.weights:
            criterion = criterion_of(Bic(weight, rule.cluster), inside, models.n, constraints)
            begin = starts(inside, constraints, criterion)
            found = search(Problem(models, constraints, criterion, rules), begin)
            out.append(FoldScore(models.loglik_on(held_out, found.best)))
        return out

    validated = cross_validate(
        fit.data, rule.folds, score_weights, seed=rule.seed, keep=keep, stage="weights"
    )
    total = np.array([validated.loglik(i) for i in range(len(rule.weights))])
    best = rule.weights[int(total.argmax())]
    shown = ", ".join(f"{t:,.1f} at {w:g}" for w, t in zip(rule.weights, total, strict=True))
    return Bic(best, rule.cluster), (
        f"Held-out persons are predicted best with {best:g} times the penalty of BIC "
        f"({rule.folds}-fold cross-validation, log-likelihood {shown})."
    )
