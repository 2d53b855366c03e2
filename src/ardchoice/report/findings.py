"""`Findings`: a study and what `ardchoice.evaluation` computes from it, once for all sections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from ardchoice.evaluation import (
    CutOff,
    Elasticities,
    SignCheck,
    WillingnessToPay,
    cut_off,
    elasticities,
    relevance_table,
    sign_checks,
    willingness_to_pay,
)
from ardchoice.record import Evaluation, StudyRecord
from ardchoice.report.utilities import Equation, equations


@dataclass(frozen=True, eq=False)
class Findings:
    """What a report shows, as numbers."""

    record: StudyRecord

    @property
    def evaluation(self) -> Evaluation:
        """What was computed; empty where nothing was."""
        return self.record.evaluation or Evaluation()

    @property
    def unit(self) -> str:
        """What cross-validation holds out: persons or choices."""
        return "choices" if self.record.data.person is None else "persons"

    @cached_property
    def equations(self) -> list[Equation]:
        """The utility functions."""
        return equations(self.record.result)

    @cached_property
    def wtp(self) -> WillingnessToPay:
        """Willingness to pay."""
        return willingness_to_pay(self.record)

    @cached_property
    def elasticities(self) -> Elasticities:
        """Elasticities, and why some attributes have none."""
        return elasticities(self.record)

    @cached_property
    def signs(self) -> list[SignCheck]:
        """Expected signs against the estimates."""
        return sign_checks(self.record)

    @cached_property
    def cut_off(self) -> CutOff:
        """What decided."""
        return cut_off(self.record)

    @cached_property
    def relevance(self) -> pd.DataFrame:
        """A row per candidate, most relevant first."""
        return relevance_table(self.record)


def listed(names: list[str], most: int = 6) -> str:
    """Names in a sentence: ``A, B and C``; of many, only the first."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
