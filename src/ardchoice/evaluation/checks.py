"""Checks of a study as numbers: expected signs, correlated estimates, margins of terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.estimation import Result, is_saved
from ardchoice.families import Mixed
from ardchoice.record import StudyRecord
from ardchoice.selection import (
    Evidence,
    FalseDiscovery,
    LambdaAbove,
    Sign,
    SignRules,
    Structure,
    WrongSign,
    recognised_signs,
)

HIGH_CORRELATION = 0.95
"""Correlation from which two estimates are hardly identified apart."""
WHOLE_SAMPLE = "whole sample"


@dataclass(frozen=True)
class SignCheck:
    """Whether utility changes with an attribute of an alternative as expected.

    Attributes
    ----------
    alternative, attribute, expected
    segments
        Combinations of levels that the model distinguishes.
    wrong
        Those with the wrong sign.
    """

    alternative: str
    attribute: str
    expected: str
    segments: int
    wrong: tuple[str, ...]


def expected_signs(result: Result, structure: Structure | None) -> dict[str, Sign]:
    """Of recognised attributes (money, time, waits, changes) and those that were given.

    They are checked whether or not they were required: a positive cost coefficient is a finding
    that a modeller must see.
    """
    terms = [t.term for t in result.encoding.terms]
    given = {} if structure is None else structure.given_signs
    used = {t.what for t in terms}
    return {
        **recognised_signs(result.data, terms),
        **{name: sign for name, sign in given.items() if name in used},
    }


def expected_taste_signs(result: Result, structure: Structure | None) -> dict[str, Sign]:
    """Of random coefficients, by the names of `Result.tastes`; in WTP space, of what they are."""
    signs = expected_signs(result, structure)
    cost = result.family.cost if isinstance(result.family, Mixed) else None
    out: dict[str, Sign] = {}
    for columns in result.encoding.terms:
        what = columns.term.what
        if what not in signs or columns.term.by:
            continue
        out |= dict.fromkeys(columns.names, signs[what])
        if cost is not None:
            # What would be paid for is positive: less of time, more of comfort.
            sign: Sign = "+" if (signs[what] == "-") == is_saved(what) else "-"
            out |= dict.fromkeys((f"{name} / {cost}" for name in columns.names), sign)
    return out


def count_wrong_signs(result: Result, structure: Structure | None) -> int:
    """Segments in which utility changes the wrong way with an attribute."""
    rules = SignRules(expected_signs(result, structure), result.encoding, result.data)
    return rules.count(range(len(result.encoding.terms)), result.mean_coefficients)


def sign_checks(record: StudyRecord) -> list[SignCheck]:
    """Expected signs against the estimates, by alternative and attribute."""
    result = record.result
    signs = expected_signs(result, record.structure)
    rules = SignRules(signs, result.encoding, result.data)
    terms = range(len(result.encoding.terms))
    wrong: dict[tuple[str, str], list[WrongSign]] = {}
    for where in rules.violations(terms, result.mean_coefficients):
        wrong.setdefault((where.alternative, where.attribute), []).append(where)
    return [
        SignCheck(
            alternative,
            attribute,
            signs[attribute],
            count,
            tuple(w.segment or WHOLE_SAMPLE for w in wrong.get((alternative, attribute), [])),
        )
        for (alternative, attribute), count in rules.segments(terms).items()
    ]


@dataclass(frozen=True)
class CorrelatedEstimates:
    """The two estimates that are correlated most, and how many pairs are highly correlated."""

    names: tuple[str, str]
    correlation: float
    n_high: int


def correlated_estimates(result: Result) -> CorrelatedEstimates | None:
    """Of all pairs of coefficients; None where there is no pair."""
    if result.n_parameters < 2:
        return None
    matrix = result.covariances["classical"]
    with np.errstate(invalid="ignore", divide="ignore"):
        sd = np.sqrt(np.diag(matrix))
        correlation = np.abs(matrix / sd / sd[:, None])
    correlation = np.nan_to_num(np.triu(correlation, 1))
    a, b = np.unravel_index(int(correlation.argmax()), correlation.shape)
    high = int((correlation > HIGH_CORRELATION).sum())
    return CorrelatedEstimates((result.names[a], result.names[b]), float(correlation[a, b]), high)


def mean_probabilities(record: StudyRecord) -> Floats:
    """Geometric mean of the held-out probabilities of observed choices, of every model."""
    frame = None if record.evaluation is None else record.evaluation.comparisons
    if frame is None:
        return np.empty(0)
    weight = float(record.result.data.weights.sum())
    return np.asarray(np.exp(frame["held_out"].to_numpy(float) / weight))


@dataclass(frozen=True)
class CutOff:
    """What decided about terms.

    Attributes
    ----------
    measure
        Column of `relevance_table`.
    at
        Where it was cut.
    words
    """

    measure: Literal["margin", "lambda", "evidence", "p_adjusted"]
    at: float
    words: str


def cut_off(record: StudyRecord) -> CutOff:
    """What the rule of a study compares, and with what."""
    rule = record.rule
    if isinstance(rule, LambdaAbove):
        return CutOff("lambda", rule.threshold, f"λ above {rule.threshold:g}")
    if isinstance(rule, Evidence):
        return CutOff("evidence", rule.above, f"log evidence above {rule.above:g}")
    if isinstance(rule, FalseDiscovery):
        return CutOff("p_adjusted", rule.q, f"adjusted p-value up to {rule.q:g}")
    return CutOff("margin", 0.0, record.specification.measure or rule.name)


def relevance_table(record: StudyRecord) -> pd.DataFrame:
    """As `fit.relevance()`, with `is_selected`, `margin` and `why`; most relevant first.

    The margin is the change in the criterion if a selected term is removed, and minus the change
    if another one is added: below zero lies what was not selected.
    """
    terms, specification = record.fit.terms, record.specification
    frame = record.fit.relevance().drop(columns=["mean", "sd"])
    selected, reasons = set(specification.terms), specification.reasons
    frame["is_selected"] = [t in selected for t in terms]
    frame["margin"] = [
        (1 if t in selected else -1) * specification.margins.get(t, np.nan) for t in terms
    ]
    frame["why"] = [reasons.get(t, "").partition(": ")[2] or reasons.get(t, "") for t in terms]
    frame = frame.sort_values(["lambda", "statistic"], ascending=False, kind="stable")
    return frame.reset_index(drop=True)
