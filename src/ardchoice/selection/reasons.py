"""Why each candidate was kept or dropped, what came close, and what had to give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice.selection.constraints import TermSet
from ardchoice.selection.neighbours import NOTHING, Neighbours
from ardchoice.selection.search import (
    CRITERION_TOLERANCE,
    NEAR_TIE_MARGIN,
    NEAR_TIE_REFITS,
    PREDICTION_MARGIN,
    Found,
    Problem,
    Score,
)
from ardchoice.selection.signs import WrongSign
from ardchoice.space import Rival, Specification

MAX_SIGN_REFITS = 10
"""Changes with a lower criterion that are refitted to see what the expected signs cost."""
SIGNS_NOT_MET = "Signs not as expected, whatever is selected: "
"""How the note begins."""
SEGMENTS_NAMED = 3
"""Segments that are named."""


@dataclass(frozen=True)
class _Option:
    """A neighbour of the best set and its score."""

    selected: TermSet
    score: Score


def explain_search(problem: Problem, found: Found) -> Specification:
    """The specification that a search found, with the reasons that its neighbours give."""
    best, terms = found.best.selected, problem.constraints.terms
    around = found.around
    tried = _refit_near(problem, found, around)
    with_term = _best_with(problem, found, around, tried)
    without = _best_without(problem, found, around, tried)
    name = problem.criterion.name
    value = found.score[1] - problem.constraints.cost(best)
    reasons, rivals, margins = {}, {}, {}
    for t, term in enumerate(terms):
        lost, rival = without.get(t, (None, None))
        other = lost if t in best else with_term.get(t)
        if other is not None:
            margins[term] = _plain(problem, other.selected, other.score) - value
        if t in best:
            reasons[term] = _why_kept(problem, t, lost, value, name, found.score[0])
            if rival is not None:
                rivals[term] = _rival(problem, best, rival, value)
        else:
            reasons[term] = _why_dropped(problem, found, t, with_term.get(t), name)
    ties = [
        _rival(problem, best, _Option(s, score), value)
        for s, score in tried.items()
        if s != best
        and score[0] <= found.score[0]
        and _plain(problem, s, score) <= value + NEAR_TIE_MARGIN
    ]
    ties.sort(key=lambda rival: rival.cost)
    return Specification(
        terms=tuple(terms[t] for t in sorted(best)),
        reasons=reasons,
        near_ties=tuple(ties),
        rivals=rivals,
        margins=margins,
        notes=tuple(_notes(problem, found, around)),
        criterion=value,
        measure=name,
    )


def _refit_near(problem: Problem, found: Found, around: Neighbours) -> dict[TermSet, Score]:
    """Everything refitted so far, and the neighbours that may be near-ties as well."""
    tried = dict(found.tried)
    for i in around.best(NEAR_TIE_REFITS):
        selected = around.at(i)
        predicted = around.values[i] - problem.constraints.cost(selected)
        if (
            predicted
            > found.score[1]
            - problem.constraints.cost(found.best.selected)
            + NEAR_TIE_MARGIN
            + PREDICTION_MARGIN
        ):
            continue
        if selected not in tried:
            fitted = problem.models.refit(selected, found.surrogate.beta(selected))
            tried[selected] = problem.score(fitted)
    return tried


def _score(
    problem: Problem, found: Found, selected: TermSet, predicted: float, tried: dict[TermSet, Score]
) -> Score:
    """Exact where it was refitted, predicted otherwise."""
    if selected in tried:
        return tried[selected]
    return problem.predicted_violations(selected, found.surrogate), predicted


def _best_with(
    problem: Problem, found: Found, around: Neighbours, tried: dict[TermSet, Score]
) -> dict[int, _Option]:
    """Dropped term -> the best neighbour that has it."""
    best = found.best.selected
    cheapest: dict[int, tuple[float, int]] = {}
    for i in np.argsort(around.values, kind="stable"):
        t = int(around.term[i])
        new: Iterable[int] = [t] if t != NOTHING else around.at(int(i)) - best
        for u in new:
            cheapest.setdefault(u, (float(around.values[i]), int(i)))
    out = {}
    for t, (value, i) in cheapest.items():
        selected = around.at(i)
        out[t] = _Option(selected, _score(problem, found, selected, value, tried))
    return out


def _best_without(
    problem: Problem, found: Found, around: Neighbours, tried: dict[TermSet, Score]
) -> dict[int, tuple[_Option | None, _Option | None]]:
    """Kept term -> (the set without it, the best set with something else in its place)."""
    best = found.best.selected
    dropped: dict[int, _Option] = {}
    replaced: dict[int, _Option] = {}
    for i in np.argsort(around.values, kind="stable"):
        selected = around.at(int(i))
        store = replaced if selected - best else dropped
        missing = [t for t in best - selected if t not in store]
        if not missing:
            continue
        option = _Option(selected, _score(problem, found, selected, float(around.values[i]), tried))
        # Nothing with a wrong sign can stand in for what has the right one.
        if store is dropped or option.score[0] <= found.score[0]:
            store.update(dict.fromkeys(missing, option))
    return {t: (dropped.get(t), replaced.get(t)) for t in best}


def _why_kept(
    problem: Problem, t: int, lost: _Option | None, value: float, name: str, wrong: int
) -> str:
    if t in problem.constraints.forced:
        return f"kept: it must be in ({problem.constraints.why_forced.get(t, 'forced')})"
    if lost is None:
        return "kept: others need it"
    rise = _plain(problem, lost.selected, lost.score) - value
    if lost.score[0] > wrong:
        return f"kept: without it {name} {rise:+.1f}, and {_wrong(lost.score[0])}"
    if rise < 0:
        return f"kept: the simpler form ({name} {rise:+.1f} without it)"
    return f"kept: {name} would rise by {rise:.1f} without it"


def _why_dropped(problem: Problem, found: Found, t: int, option: _Option | None, name: str) -> str:
    constraints, best = problem.constraints, found.best.selected
    if t in constraints.impossible:
        return f"dropped: {constraints.impossible[t]}"
    if option is None:
        return "dropped: no valid specification near this one has it"
    rivals = [u for u in sorted(best - option.selected) if u in constraints.conflicts[t]]
    value = found.score[1] - constraints.cost(best)
    rise = _plain(problem, option.selected, option.score) - value
    instead = ""
    if rivals:
        instead = f"'{constraints.terms[rivals[0]]}' takes its place; "
    if option.score[0] > found.score[0]:
        return f"dropped: {instead}with it {_wrong(option.score[0])} ({name} {rise:+.1f})"
    if rise < 0:
        costlier = constraints.cost(option.selected) > constraints.cost(best)
        why = "too little for a form that is not linear" if costlier else "by a rough prediction"
        return f"dropped: {instead}{name} would fall by {-rise:.1f} with it, {why}"
    return f"dropped: {instead}{name} would rise by {rise:.1f} with it"


def _plain(problem: Problem, selected: TermSet, score: Score) -> float:
    """The criterion itself, without what forms cost."""
    return score[1] - problem.constraints.cost(selected)


def _wrong(segments: int) -> str:
    return f"{segments} segment{'s' if segments > 1 else ''} would have the wrong sign"


def _rival(problem: Problem, best: TermSet, option: _Option, value: float) -> Rival:
    terms = problem.constraints.terms
    return Rival(
        tuple(terms[t] for t in sorted(best - option.selected)),
        tuple(terms[t] for t in sorted(option.selected - best)),
        _plain(problem, option.selected, option.score) - value,
    )


def _notes(problem: Problem, found: Found, around: Neighbours) -> list[str]:
    """What had to give for the expected signs, known by refits."""
    if not problem.signs.signs:
        return []
    models, signs, best = problem.models, problem.signs, found.best.selected
    if found.score[0]:
        where = signs.violations(best, models.raw(found.best.beta))
        return [f"{SIGNS_NOT_MET}{some_segments(where)}."]
    for i in around.best(MAX_SIGN_REFITS):
        if around.values[i] >= found.score[1]:
            break
        selected = around.at(i)
        fitted = models.refit(selected, found.surrogate.beta(selected))
        score = problem.score(fitted)
        if score[0] and score[1] < found.score[1] - CRITERION_TOLERANCE:
            rival = _rival(problem, best, _Option(selected, score), 0.0)
            return [
                f"{problem.criterion.name} would be lower by {found.score[1] - score[1]:.1f} "
                f"({rival.change()}), but utility would go the wrong way: "
                f"{some_segments(signs.violations(selected, models.raw(fitted.beta)))}."
            ]
    return []


def some_segments(where: Sequence[WrongSign]) -> str:
    """Where signs are wrong, the first few named."""
    more = f" and {len(where) - SEGMENTS_NAMED} more" if len(where) > SEGMENTS_NAMED else ""
    return ", ".join(map(str, where[:SEGMENTS_NAMED])) + more


def explain_threshold(
    problem: Problem,
    rule: str,
    passed: npt.NDArray[np.bool_],
    shown: list[str],
    wanted: TermSet,
    valid: TermSet,
) -> Specification:
    """What a threshold wants, made valid, and why.

    Parameters
    ----------
    problem
    rule
        Its name.
    passed, shown
        Which terms the rule wants, and the figure it looked at; T of each.
    wanted
        With structure, before signs were looked at.
    valid
        After.
    """
    constraints = problem.constraints
    reasons = {}
    for t, term in enumerate(constraints.terms):
        if t in valid:
            if passed[t]:
                reasons[term] = f"kept: {shown[t]} ({rule})"
            else:
                forced = t in constraints.forced
                why = "it must be in" if forced else "others need it"
                reasons[term] = f"kept: {why} ({shown[t]})"
        elif t in constraints.impossible:
            reasons[term] = f"dropped: {constraints.impossible[t]}"
        elif not passed[t]:
            reasons[term] = f"dropped: {shown[t]} ({rule})"
        elif t in wanted:
            reasons[term] = f"dropped: a sign would be wrong with it ({shown[t]})"
        else:
            rivals = [u for u in sorted(wanted) if u in constraints.conflicts[t]]
            place = (
                f"'{constraints.terms[rivals[0]]}' takes its place" if rivals else "no room for it"
            )
            reasons[term] = f"dropped: {place} ({shown[t]})"
    notes = []
    gone = wanted - valid
    if gone:
        names = ", ".join(str(constraints.terms[t]) for t in sorted(gone))
        notes.append(f"Dropped so that signs are as expected: {names}.")
    return Specification(
        tuple(constraints.terms[t] for t in sorted(valid)), reasons, notes=tuple(notes)
    )
