"""The path: how fit and prediction change as terms enter in order of relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.errors import ArdchoiceError
from ardchoice.logit import one_thread
from ardchoice.selection.compile import compile_structure
from ardchoice.selection.constraints import Chosen, Constraints
from ardchoice.selection.models import Models
from ardchoice.selection.rules import Bic, Ebic
from ardchoice.selection.structure import Structure
from ardchoice.text import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def selection_path(
    fit: ArdFit,
    *,
    rule: Bic | Ebic | None = None,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    folds: int = 5,
    seed: int = 0,
    most: int = 40,
) -> Path:
    """Let terms in one by one, most relevant first, each with what it needs.

    Parameters
    ----------
    fit
        Relevance.
    rule
        Whose criterion is shown; `Ebic()` unless told.
    structure
        Terms that it excludes once others are in are passed over; None for no rules.
    folds
        Of persons, for the held-out log-likelihood; 0 for none.
    seed
        Of the folds.
    most
        Most steps.
    """
    if fit.continues:
        raise ArdchoiceError("A path needs all data at hand; this fit goes on from earlier ones.")
    rule = Ebic() if rule is None else rule
    if not isinstance(rule, (Bic, Ebic)):
        raise ArdchoiceError(f"A path shows the criterion of ac.Ebic() or ac.Bic(), not {rule!r}.")
    constraints = compile_structure(structure, fit.space)
    with one_thread():
        models = Models.of(fit)
        criterion = rule.criterion(models.n, np.asarray(fit.space.columns))
        sets = nested(fit, constraints, most)
        held_out = np.full(len(sets), np.nan)
        if folds:
            held_out = np.zeros(len(sets))
            for rest, left_out in fit.data.folds(folds, seed=seed):
                inside, start = Models(rest, fit.encoding, fit.scale), None
                for i, chosen in enumerate(sets):
                    fitted = inside.refit(chosen, start)
                    held_out[i] += inside.loglik_on(left_out, fitted)
                    start = fitted.beta
        rows, before, start = [], frozenset[int](), None
        for i, chosen in enumerate(sets):
            fitted = models.refit(chosen, start)
            start, count = fitted.beta, constraints.count(chosen)
            new = ", ".join(str(fit.terms[t]) for t in sorted(chosen - before))
            value = criterion.value(fitted.loglik, count, len(chosen))
            rows.append((new or "(nothing)", count, fitted.loglik, value, held_out[i]))
            before = chosen
    names = ["entered", "parameters", "loglik", "criterion", "held_out"]
    return Path(pd.DataFrame(rows, columns=names), criterion.name)


def nested(fit: ArdFit, constraints: Constraints, most: int) -> list[Chosen]:
    """Valid sets, each with one more of the relevant terms and what it needs."""
    frame = fit.relevance()
    lam = fit.lam
    order = np.lexsort((-frame["statistic"].to_numpy(), -lam))
    sets = [constraints.least()]
    for t in order:
        if lam[t] <= 0 or len(sets) > most:
            break
        new = constraints.needed(sets[-1], int(t))
        if not new or any(not sets[-1].isdisjoint(constraints.conflicts[u]) for u in new):
            continue
        if constraints.within_limits(sets[-1] | new):
            sets.append(sets[-1] | new)
    return sets
