"""`Findings`: a study and whatever follows from it, worked out once for all who tell it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from ardchoice.record import Evaluation, StudyRecord
from ardchoice.report.checks import SignCheck, sign_checks
from ardchoice.report.post_estimation import Worth, demand, worth
from ardchoice.report.utilities import Equation, equations
from ardchoice.selection import Evidence, FalseDiscovery, LambdaAbove

Measure = Literal["margin", "lambda", "evidence", "p_adjusted"]


@dataclass(frozen=True)
class CutOff:
    """What decided about terms.

    Attributes
    ----------
    measure
        Column of `Findings.relevance`.
    at
        Where it was cut.
    words
    """

    measure: Measure
    at: float
    words: str


@dataclass(frozen=True, eq=False)
class Findings:
    """What a report says, as numbers."""

    record: StudyRecord

    @property
    def evaluation(self) -> Evaluation:
        """What was worked out; nothing where nothing was."""
        return self.record.evaluation or Evaluation()

    @cached_property
    def equations(self) -> list[Equation]:
        """The utility functions."""
        return equations(self.record.result)

    @cached_property
    def worth(self) -> Worth:
        """Willingness to pay."""
        return worth(self.record)

    @cached_property
    def demand(self) -> tuple[pd.DataFrame | None, dict[str, str]]:
        """Elasticities, and why some attributes have none."""
        return demand(self.record)

    @cached_property
    def signs(self) -> list[SignCheck]:
        """Expected signs against the estimates."""
        return sign_checks(self.record)

    @cached_property
    def cut_off(self) -> CutOff:
        """What decided."""
        rule, specification = self.record.rule, self.record.specification
        if isinstance(rule, LambdaAbove):
            return CutOff("lambda", rule.threshold, f"λ above {rule.threshold:g}")
        if isinstance(rule, Evidence):
            return CutOff("evidence", rule.above, f"log evidence above {rule.above:g}")
        if isinstance(rule, FalseDiscovery):
            return CutOff("p_adjusted", rule.q, f"adjusted p-value up to {rule.q:g}")
        return CutOff("margin", 0.0, specification.measure or rule.name)

    @cached_property
    def relevance(self) -> pd.DataFrame:
        """As `fit.table()`, with `kept`, `margin` and `why`; most relevant first.

        The margin is by how much the criterion would rise without a kept term, and minus by how
        much with a dropped one: below zero lies what was left out.
        """
        record = self.record
        frame = record.fit.relevance().drop(columns=["mean", "sd"])
        kept = set(record.specification.terms)
        margins, reasons = record.specification.margins, record.specification.reasons
        frame["kept"] = [t in kept for t in record.fit.terms]
        frame["margin"] = [
            (1 if t in kept else -1) * margins.get(t, np.nan) for t in record.fit.terms
        ]
        frame["why"] = [
            reasons.get(t, "").partition(": ")[2] or reasons.get(t, "") for t in record.fit.terms
        ]
        frame = frame.sort_values(["lambda", "statistic"], ascending=False, kind="stable")
        return frame.reset_index(drop=True)


def listed(names: list[str], most: int = 6) -> str:
    """Names in a sentence: ``A, B and C``; of many, only the first."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
