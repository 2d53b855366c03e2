"""`StudyPlots`: the figures of a study, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ardchoice.errors import ArdchoiceError
from ardchoice.evaluation import evaluate, selection_path
from ardchoice.record import Evaluation, StudyRecord
from ardchoice.report import draw_figure
from ardchoice.selection import Bic, Ebic

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class StudyPlots:
    """Figures of a study, as its report shows them; made by `Study.plot`.

    Each returns a `matplotlib.figure.Figure`: a notebook shows it, ``figure.savefig(path)`` writes
    it.

    Attributes
    ----------
    record
        The study. What its figures need and it does not have yet is computed for them.
    """

    record: StudyRecord

    def relevance(self) -> Figure:
        """λ of the selected terms and of the closest others, and what decided about them.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> study = ac.specify(data, ac.SearchSpace(data, base="CAR"))
        >>> study.plot.relevance().axes[0].get_title(loc="left")
        'TRAIN'
        """
        return self._drawn("relevance", self.record, "no candidate has an alternative to show.")

    def path(self) -> Figure:
        """Criterion and held-out log-likelihood as terms enter in order of relevance.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> study = ac.specify(data, ac.SearchSpace(data, base="CAR"))
        >>> study.plot.path().axes[-1].get_xlabel()
        'coefficients'
        """
        return self._drawn("path", self._with_path, "fewer than two specifications are on it.")

    def wtp(self) -> Figure:
        """Willingness to pay for the first attribute that has one, by alternative and segment.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> study = ac.specify(data, ac.SearchSpace(data, base="CAR", generic=True))
        >>> len(study.plot.wtp().axes)
        1
        """
        return self._drawn(
            "wtp",
            self.record,
            "no attribute of the specification is called like a cost, or nothing else is in it: "
            "result.wtp(attribute, cost) takes any two.",
        )

    def calibration(self) -> Figure:
        """Observed shares of held-out persons against their predicted probabilities.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> study = ac.specify(data, ac.SearchSpace(data, base="CAR"))
        >>> [axes.get_title(loc="left") for axes in study.plot.calibration().axes]
        ['TRAIN', 'SM', 'CAR']
        """
        return self._drawn("calibration", self._evaluated, "there are too few persons to hold out.")

    @cached_property
    def _evaluated(self) -> StudyRecord:
        found = self.record.evaluation
        if found is not None and found.calibration is not None:
            return self.record
        return replace(self.record, evaluation=evaluate(self.record))

    @cached_property
    def _with_path(self) -> StudyRecord:
        record = self.record
        found = record.evaluation or Evaluation()
        if found.path is not None:
            return record
        rule = record.rule if isinstance(record.rule, (Bic, Ebic)) else None
        path = selection_path(record.fit, rule=rule, structure=record.structure, seed=record.seed)
        return replace(record, evaluation=replace(found, path=path))

    @staticmethod
    def _drawn(name: str, record: StudyRecord, otherwise: str) -> Figure:
        picture = draw_figure(name, record)
        if picture is None:
            raise ArdchoiceError(f"There is no figure {name!r} of this study: {otherwise}")
        return picture
