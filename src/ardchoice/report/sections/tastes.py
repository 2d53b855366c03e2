"""How persons differ: random coefficients beside the MNL, or whether there should be any."""

from __future__ import annotations

from scipy.special import ndtr

from ardchoice.record import SIGNIFICANT, Note, TermsAndTastes
from ardchoice.report.document import (
    FIGURES,
    Cell,
    Part,
    Section,
    Table,
    Text,
    bold,
)
from ardchoice.report.findings import Findings

TITLE = "How persons differ"
MAX_ROWS_SHOWN = 20
EXPLAINED_EFFECT = 1.2
"""Median design effect up to which random coefficients explain how answers are alike."""


def tastes(found: Findings) -> Section:
    """Random coefficients beside the multinomial logit; or the test that there should be some."""
    record = found.record
    if record.joint is not None:
        return Section("tastes", TITLE, _decided(found, record.joint))
    if record.differences is None:
        return Section("tastes", TITLE, [])
    differ = record.differences.p < SIGNIFICANT
    note = Note(
        "look" if differ else "good",
        "Persons differ" if differ else "Persons do not differ",
        str(record.differences),
    )
    return Section("tastes", TITLE, [note])


def _decided(found: Findings, joint: TermsAndTastes) -> list[Part]:
    selection = joint.selection
    text = (
        "Terms and random coefficients were decided together: an omitted interaction "
        "looks like a random coefficient, and the other way round. What is known of persons is in "
        "the interactions; what is not is in the random coefficients."
    )
    explained = selection.design_effect_left <= EXPLAINED_EFFECT
    effect = Note(
        "good" if explained else "look",
        "Design effect",
        f"{selection.design_effect:.1f} in the multinomial logit, "
        f"{selection.design_effect_left:.2f} with the random coefficients (median over "
        f"{selection.medians_of}): "
        + (
            "they explain why answers of a person are alike."
            if explained
            else "answers of a person are still more alike than they explain."
        ),
    )
    parts: list[Part] = [Text(text), effect]
    if selection.random:
        parts.append(_distributions(found))
    return [*parts, _reasons(joint), *_beside(found, joint), *_both_ways(found)]


def _distributions(found: Findings) -> Table:
    """Mean, standard deviation and share beyond zero of every random coefficient."""
    frame = found.record.result.to_frame()
    estimate = frame["estimate"]
    rows: list[list[Cell]] = []
    for name in [str(n)[3:-1] for n in frame.index if str(n).startswith("sd(")]:
        sd = float(estimate[f"sd({name})"])
        mean = float(estimate[name]) if name in estimate.index else None
        beyond = None
        if mean is not None and sd > 0 and not name.endswith(": ASC"):
            beyond = 100 * float(ndtr(-abs(mean) / sd))
        rows.append([name, mean, sd, beyond])
    return Table(
        "random",
        "Random coefficients",
        ["coefficient", "mean", "standard deviation", "% of persons beyond zero"],
        ["", FIGURES, FIGURES, ".0f"],
        rows,
        note=(
            "The mean of reference levels; a taste that several terms share varies around the "
            "coefficient of each. Beyond zero: persons whose coefficient has the other sign, if "
            "it is normally distributed. A normal distribution always has some: signs hold for "
            "means."
        ),
    )


def _reasons(joint: TermsAndTastes) -> Table:
    candidates = joint.selection.candidates
    inside = [k for k, c in enumerate(candidates) if c.selected]
    return Table(
        "random_candidates",
        "Candidates for random coefficients, and why they are in or out",
        ["coefficient", "distribution", "reason"],
        ["", "", ""],
        [[c.name, c.distribution if c.selected else "–", c.reason] for c in candidates],
        marks=bold(inside),
        shown=MAX_ROWS_SHOWN,
    )


def _both_ways(found: Findings) -> list[Part]:
    """Both models on the same folds, persons jointly and single answers."""
    models = found.evaluation.both_ways
    if not models:
        return []
    rows: list[list[Cell]] = [
        [m.title, m.held_out, m.held_out_se if k else None, m.each, m.each_se if k else None]
        for k, m in enumerate(models)
    ]
    return [
        Table(
            "both_ways",
            "Held-out persons, predicted both ways",
            ["model", "answers of a person jointly", "± of difference", "single answers", "±"],
            ["", ",.1f", ",.1f", ",.1f", ",.1f"],
            rows,
            note=(
                "Log-likelihood, each model with its own terms, on the same folds. Jointly: the "
                "first answers of a person say something of the next ones. Single answers: those "
                "of persons of whom nothing is known. ±: a standard error of the difference from "
                "the multinomial logit."
            ),
        )
    ]


def _beside(found: Findings, joint: TermsAndTastes) -> list[Part]:
    """The multinomial logit, and what it has that tastes explain."""
    mnl, result, selection = joint.mnl_result, found.record.result, joint.selection
    rows: list[list[Cell]] = [
        [result.family.title, len(found.record.specification), result.n_parameters, result.loglik],
        [mnl.family.title, len(selection.mnl), mnl.n_parameters, mnl.loglik],
    ]
    table = Table(
        "beside",
        "Beside it: what the multinomial logit selects by itself",
        ["model", "terms", "parameters", "log-likelihood"],
        ["", ",d", ",d", ",.1f"],
        rows,
        marks=bold([0]),
        note=(
            "Its interactions cost more where answers of a person are alike. The terms of the "
            "mixed logit belong to the mixed logit: estimated without random coefficients they "
            "predict worse."
        ),
    )
    if not selection.explained:
        return [table]
    explained = Table(
        "explained",
        "Interactions of the multinomial logit that random coefficients explain",
        ["term", "explained by"],
        ["", ""],
        [[term, taste] for term, taste in selection.explained.items()],
        shown=MAX_ROWS_SHOWN,
    )
    return [table, explained]
