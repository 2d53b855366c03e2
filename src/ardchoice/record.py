"""`StudyRecord`: everything from one run, for whoever tells, keeps or hands it on."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result
from ardchoice.selection import Rule, Structure
from ardchoice.space import SearchSpace, Specification
from ardchoice.text import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOUND, EQUAL, CONSTANTS, LINEAR = "found", "equal shares", "constants only", "plain linear"
ALWAYS = (FOUND, EQUAL, CONSTANTS, LINEAR)
"""Models that stand in every comparison, as far as the data bear them."""


@dataclass(frozen=True, eq=False)
class Path:
    """Nested specifications, from what must be in to the last term in play.

    Attributes
    ----------
    frame
        A row per step: entered (terms that came in), parameters, loglik, criterion, held_out (the
        log-likelihood of persons left out, summed over folds; missing without folds). Coefficients
        do not know those left out; the order of the terms does, so that late steps look a little
        too good. `held_out` repeats everything.
    criterion
        Its name.
    """

    frame: pd.DataFrame
    criterion: str

    @property
    def best(self) -> int:
        """The step with the smallest criterion."""
        return int(self.frame["criterion"].to_numpy().argmin())

    @property
    def best_held_out(self) -> int | None:
        """The step that predicts persons left out best; None without folds."""
        values = self.frame["held_out"].to_numpy(dtype=float)
        return None if np.isnan(values).all() else int(np.nanargmax(values))

    def __str__(self) -> str:
        rows = []
        for i, row in enumerate(self.frame.itertuples(index=False)):
            mark = "<" if i == self.best else ""
            mark += "*" if i == self.best_held_out else ""
            cells = [f"{row.loglik:,.1f}", f"{row.criterion:,.1f}", f"{row.held_out:,.1f}"]
            rows.append([str(row.entered), str(row.parameters), *cells[: len(self._shown)], mark])
        body = table(rows, ["enters", "coefficients", *self._shown, ""])
        best = "" if self.best_held_out is None else "; * best prediction of persons left out"
        return f"{body}\n< smallest {self.criterion}{best}"

    @property
    def _shown(self) -> list[str]:
        names = ["log-lik.", self.criterion if len(self.criterion) <= 8 else "criterion"]
        return names if self.best_held_out is None else [*names, "held out"]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Criterion and held-out log-likelihood against the number of parameters."""
        import matplotlib.pyplot as plt
        from matplotlib.ticker import MaxNLocator

        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
        x = self.frame["parameters"]
        ax.plot(x, self.frame["criterion"], "o-", color="#1f4e79", ms=4, label=self.criterion)
        ax.axvline(x.iloc[self.best], color="#1f4e79", lw=0.8, ls=":")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("coefficients (dotted: the best by either measure)")
        ax.set_ylabel(f"{self.criterion} (smaller is better)", color="#1f4e79")
        if self.best_held_out is not None:
            right = ax.twinx()
            right.plot(x, self.frame["held_out"], "s-", color="#c55a11", ms=4)
            right.axvline(x.iloc[self.best_held_out], color="#c55a11", lw=0.8, ls=":")
            right.set_ylabel("held-out log-likelihood (larger is better)", color="#c55a11")
            right.spines["top"].set_visible(False)
        ax.spines["top"].set_visible(False)
        ax.set_title("Terms enter in order of relevance", loc="left", fontsize=11)
        return ax


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What is worked out besides the model, because it takes passes of its own; None: not asked.

    Attributes
    ----------
    path
        How fit and prediction change as terms enter.
    comparisons
        A row per model (the one found, constants only, plain linear, given ones): model,
        coefficients, loglik, aic, bic, rho2, rho2_bar, held_out (log-likelihood of persons left
        out, summed over folds), accuracy (of persons left out).
    calibration
        Of persons left out, a row per alternative and class of predicted probability: alternative,
        predicted (mean), observed (share), n, low, high (interval of the share).
    stability
        As `ac.stability` gives it.
    folds
        Of the held-out figures; 0 for none.
    searched
        Whether the selection was repeated in every fold, or only the estimation.
    """

    path: Path | None = None
    comparisons: pd.DataFrame | None = None
    calibration: pd.DataFrame | None = None
    stability: pd.DataFrame | None = None
    folds: int = 0
    searched: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class StudyRecord:
    """Everything from one run.

    Attributes
    ----------
    data
        All choices.
    space
        What could matter.
    fit
        How relevant each candidate is.
    specification
        What was kept, and why.
    result
        The specification estimated: on all data, or with `honest` on the persons that did not
        choose it.
    selection_result
        With `honest`, the same estimated on the persons that chose it; None otherwise.
    structure, rule, honest, seed
        Settings.
    notes
        What to know of the estimates, a sentence each.
    evaluation
        Held-out prediction, calibration, path, stability; None until worked out.
    seconds, version
    """

    data: ChoiceData
    space: SearchSpace
    fit: ArdFit
    specification: Specification
    result: Result
    selection_result: Result | None
    structure: Structure | None
    rule: Rule
    honest: bool
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()
    evaluation: Evaluation | None = None
    version: str = field(default_factory=lambda: version("ardchoice"))
