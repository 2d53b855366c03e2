"""`StudyRecord`: the data of a study, for reports, exports and saved studies."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result
from ardchoice.families import Family
from ardchoice.selection import JointSelection, Rule, Structure
from ardchoice.space import SearchSpace, Specification
from ardchoice.text import WIDTH, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SELECTED, EQUAL_SHARES = "found", "equal shares"
CONSTANTS_ONLY, TEXTBOOK, ALL_SPECIFIC = "constants only", "textbook", "all specific"
PLAIN_LINEAR = "plain linear"
"""In studies saved by earlier versions: linear, alternative-specific where the space had such."""
RESERVED_MODEL_NAMES = (
    SELECTED,
    EQUAL_SHARES,
    CONSTANTS_ONLY,
    TEXTBOOK,
    ALL_SPECIFIC,
    PLAIN_LINEAR,
)
"""Models of every comparison, as far as the data identify them."""


SELECTED_MODEL, AVERAGED, POSTERIOR = "selected", "averaged", "relevance posterior"
"""What `Evaluation.predictors` compares."""


@dataclass(frozen=True)
class Note:
    """What a modeller must know of a study: whether something is as it should be.

    Attributes
    ----------
    verdict
        ``"good"``, ``"look"`` (needs a look), ``"bad"`` or ``"plain"``.
    title, text
    """

    verdict: Literal["good", "look", "bad", "plain"]
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.title}: {self.text}"


@dataclass(frozen=True, eq=False)
class Path:
    """Nested specifications, from what must be in to the last active term.

    Attributes
    ----------
    frame
        A row per step: entered (terms added), parameters, loglik, criterion, held_out (held-out
        log-likelihood by cross-validation, summed over folds; missing without folds). Coefficients
        are estimated without the held-out persons; the order of the terms is not, so that late
        steps are slightly optimistic. `ac.held_out` repeats everything.
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
        """The step with the best held-out log-likelihood; None without folds."""
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
        best = "" if self.best_held_out is None else "; * best held-out log-likelihood"
        return f"{body}\n< smallest {self.criterion}{best}"

    @property
    def _shown(self) -> list[str]:
        names = ["log-lik.", self.criterion if len(self.criterion) <= 8 else "criterion"]
        return names if self.best_held_out is None else [*names, "held-out"]

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
class ScenarioRecord:
    """A scenario of a study: what changes, and what the model predicts then.

    Attributes
    ----------
    name, changes, by, where
        As given.
    shares
        segment, alternative, base, scenario, change, low, high, choices (change of their number);
        the whole sample first.
    surplus
        segment, n, unit, estimate, std_err, low, high, total; None where the family has none.
    notes
        What to know of it, a sentence each.
    """

    name: str
    changes: tuple[str, ...]
    by: tuple[str, ...]
    where: str | None
    shares: pd.DataFrame
    surplus: pd.DataFrame | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Held-out prediction, calibration, path and stability of a study; None: not computed.

    Attributes
    ----------
    path
        Fit and held-out prediction as terms enter.
    comparisons
        A row per model (the selected one, constants only, the textbook model, every attribute
        alternative-specific, given ones): model, coefficients, loglik, aic, bic, rho2, rho2_bar,
        held_out (held-out log-likelihood, summed over folds), accuracy (held-out hit rate),
        held_out_se (standard error of the difference of held_out from the selected model's),
        wrong_signs (segments in which a recognised attribute has the wrong sign). The last two
        are missing in studies of earlier versions.
    calibration
        Of held-out persons, a row per alternative and bin of predicted probability: alternative,
        predicted (mean), observed (share), n, low, high (interval of the share).
    stability
        As `ac.stability` gives it.
    inclusion
        As `Study.inclusion` gives it.
    both_ways
        Of a study with random coefficients: the multinomial logit beside it and the model, on the
        same folds, the answers of a held-out person jointly and every answer alone.
    predictors
        Held-out prediction by the selected model, by the average over specifications and by the
        relevance posterior, everything repeated in every fold: predictor, held_out, difference
        (from the selected model), difference_se.
    folds
        Of the cross-validation; 0 for none.
    searched
        Whether the selection was repeated in every fold, or only the estimation.
    notes
        What could not be computed, and why.
    scenarios
        Those that were asked for.
    """

    path: Path | None = None
    comparisons: pd.DataFrame | None = None
    calibration: pd.DataFrame | None = None
    stability: pd.DataFrame | None = None
    folds: int = 0
    searched: bool = False
    notes: tuple[Note, ...] = ()
    scenarios: tuple[ScenarioRecord, ...] = ()
    inclusion: pd.DataFrame | None = None
    both_ways: tuple[ComparedFamily, ...] = ()
    predictors: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class ComparedFamily:
    """One model family of a comparison.

    Attributes
    ----------
    result
        Its estimates.
    bic
        -2ℓ + P log(persons), whatever the family.
    held_out, held_out_se
        Log-likelihood of held-out persons, the answers of each jointly; standard error of its
        difference from the multinomial logit's.
    each, each_se
        The same, every answer alone.
    seconds
        Processor time of the estimation.
    """

    result: Result
    bic: float
    held_out: float
    held_out_se: float
    each: float
    each_se: float
    seconds: float

    @property
    def tag(self) -> str:
        """The name of the family in study files."""
        return self.result.family.tag

    @property
    def title(self) -> str:
        """Such as ``Nested logit``."""
        return self.result.family.title


@dataclass(frozen=True, eq=False, repr=False)
class FamilyComparison:
    """Model families on the same terms, side by side.

    Attributes
    ----------
    families
        The multinomial logit first.
    selected
        The tag of the family with the lowest BIC, of those that are admissible.
    reason
        Why, in a sentence or two.
    n_units
        What BIC counts: persons, or situations without persons.
    folds
        Of persons, for held-out figures; 0 for none.
    notes
        Families that could not be compared, and why; what else to know.
    """

    families: tuple[ComparedFamily, ...]
    selected: str
    reason: str
    n_units: int
    folds: int
    notes: tuple[str, ...] = ()

    @property
    def results(self) -> dict[str, Result]:
        """Tag -> the estimates of that family."""
        return {one.tag: one.result for one in self.families}

    @property
    def result(self) -> Result:
        """The estimates of the selected family."""
        return self.results[self.selected]

    @property
    def frame(self) -> pd.DataFrame:
        """A row per family.

        family (its tag), model (title), details (nests, random coefficients, number of classes),
        parameters, loglik, bic, held_out, held_out_se, each, each_se, seconds.
        """
        return pd.DataFrame(
            [
                {
                    "family": one.tag,
                    "model": one.title,
                    "details": one.result.family.details,
                    "parameters": one.result.n_parameters,
                    "loglik": one.result.loglik,
                    "bic": one.bic,
                    "held_out": one.held_out,
                    "held_out_se": one.held_out_se,
                    "each": one.each,
                    "each_se": one.each_se,
                    "seconds": one.seconds,
                }
                for one in self.families
            ]
        )

    def __str__(self) -> str:
        head = ["family", "parameters", "log-lik.", "BIC", "held-out", "each", "s"]
        rows = [
            [
                one.title + (" <" if one.tag == self.selected else ""),
                str(one.result.n_parameters),
                f"{one.result.loglik:,.1f}",
                f"{one.bic:,.1f}",
                _number_or_dash(one.held_out),
                _number_or_dash(one.each),
                f"{one.seconds:.1f}",
            ]
            for one in self.families
        ]
        described = [(one.title, one.result.family.details) for one in self.families]
        details = [fill(f"{title}: {text}", WIDTH) for title, text in described if text]
        words = [fill(text, WIDTH) for text in (self.reason, *self.notes)]
        body = [table(rows, head)]
        if any(one.each == one.each for one in self.families):
            body.append("held-out: all answers of a person together; each: every answer alone")
        return "\n\n".join("\n".join(part) for part in (body, details, words) if part)

    def __repr__(self) -> str:
        return f"<FamilyComparison: {', '.join(self.results)}; {self.selected} selected>"


def _number_or_dash(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:,.1f}"


@dataclass(frozen=True)
class PersonDifferences:
    """Whether persons differ in what the model does not explain.

    Attributes
    ----------
    p
        Of the score test of no heterogeneity, jointly of all coefficients.
    strongest
        Coefficients with the largest statistics, and these: ``(("SM: ASC", 55.2), ...)``.
    answers
        Mean number of choices of a person.
    worth
        Independent answers that they are worth: divided by the part of the design effect that comes
        from several answers of a person.
    """

    p: float
    strongest: tuple[tuple[str, float], ...]
    answers: float
    worth: float

    def __str__(self) -> str:
        names = " and ".join(f"{name} (z = {z:.1f})" for name, z in self.strongest)
        if self.p >= SIGNIFICANT:
            return (
                "Persons do not differ beyond what the model explains (score test of no "
                f"heterogeneity, p = {self.p:.2g})."
            )
        return (
            f"Persons differ in what the model does not explain (score test of no heterogeneity, "
            f"p {'< 0.0001' if self.p < 1e-4 else f'= {self.p:.2g}'}; most in {names}): "
            f"{self.answers:.3g} answers of a person are worth about {self.worth:.2g} independent "
            "ones. To decide terms and random coefficients together: family=ac.Mixed() in Python, "
            'family = "mixed" under [model] of a study file.'
        )


SIGNIFICANT = 0.05
"""Below it persons differ."""


@dataclass(frozen=True, eq=False)
class TermsAndTastes:
    """What a study shows whose terms and random coefficients were decided together.

    Attributes
    ----------
    selection
        Both, with reasons.
    mnl_result
        What the multinomial logit selects by itself, estimated on the same persons.
    """

    selection: JointSelection
    mnl_result: Result


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
        What was selected, and why.
    result
        The specification estimated: on all data, or with `honest` on the persons that did not
        select it.
    selection_result
        With `honest`, the same estimated on the persons that selected it; None otherwise.
    structure, rule, honest, seed
        Settings.
    notes
        What to know of the estimates, a sentence each.
    evaluation
        Held-out prediction, calibration, path, stability; None until computed.
    seconds, version
    family
        As requested, where terms were not selected with it; None: that of `fit`.
    families
        With ``family="auto"``, the families that were compared.
    joint
        With ``family=Mixed()``, how terms and random coefficients were decided together.
    differences
        Of a multinomial logit where persons repeat: whether they differ.
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
    family: Family | None = None
    families: FamilyComparison | None = None
    joint: TermsAndTastes | None = None
    differences: PersonDifferences | None = None
