"""`Findings`: a study and what `ardchoice.evaluation` computes from it, once for all sections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ardchoice.evaluation import (
    alarms,
    cut_off,
    elasticities,
    relevance_table,
    sign_checks,
    willingness_to_pay,
)
from ardchoice.record import Evaluation, StudyRecord
from ardchoice.report.utilities import equations


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

    @property
    def class_curve(self) -> dict[int, float]:
        """BIC by number of classes; empty where the number was given, or there are no classes."""
        curve = getattr(self.record.result.family, "curve", None) or {}
        return {int(classes): float(value) for classes, value in curve.items()}

    equations = cached_property(lambda self: equations(self.record.result))
    wtp = cached_property(lambda self: willingness_to_pay(self.record))
    elasticities = cached_property(lambda self: elasticities(self.record))
    alarms = cached_property(lambda self: alarms(self.record, self.wtp))
    signs = cached_property(lambda self: sign_checks(self.record))
    cut_off = cached_property(lambda self: cut_off(self.record))
    relevance = cached_property(lambda self: relevance_table(self.record))


def listed(names: list[str], most: int = 6) -> str:
    """Names in a sentence: ``A, B and C``; of many, only the first."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
