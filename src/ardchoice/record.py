"""`StudyRecord`: everything from one run, for whoever tells, keeps or hands it on."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version

import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.data import ChoiceData
from ardchoice.mnl import MnlResult
from ardchoice.selection import Path, Structure
from ardchoice.selection.rules import Rule
from ardchoice.space import SearchSpace, Specification

FOUND, EQUAL, CONSTANTS, LINEAR = "found", "equal shares", "constants only", "plain linear"
ALWAYS = (FOUND, EQUAL, CONSTANTS, LINEAR)
"""Models that stand in every comparison, as far as the data bear them."""


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
    result: MnlResult
    selection_result: MnlResult | None
    structure: Structure | None
    rule: Rule
    honest: bool
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()
    evaluation: Evaluation | None = None
    version: str = field(default_factory=lambda: version("ardchoice"))
