"""What needs no environment of its own: `specify`, stepwise by BIC, a group lasso.

`python run_ours.py RUN_FOLDER`, with `method` in its task. Stepwise and lasso tell of every set of
terms that they estimate. `specify` hands over one model, at its end: it looks at others afterwards,
to say what came close, and these are not what it found.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from incumbents import Incumbents, read_task

import ardchoice as ac
from ardchoice.numerics import single_blas_thread
from ardchoice.selection.constraints import TermSet
from ardchoice.selection.refits import Refit, RefitCache

sys.path.append(str(Path(__file__).parents[1]))
import group_lasso
from rival_problem import as_case, read_problem

import recovery


def watch(incumbents: Incumbents, *, as_found: bool) -> None:
    """Tell of every set of terms that is refitted, or only count them."""
    refit = RefitCache._refit

    def watched(self: RefitCache, selected: TermSet, start: object, wanted: float) -> Refit:
        fitted = refit(self, selected, start, wanted)  # type: ignore[arg-type]
        coefficients = sum(len(self.columns[t]) for t in selected)
        bic = -2 * fitted.loglik + coefficients * np.log(self.n)
        terms = [str(self.encoding.terms[t].term) for t in sorted(selected)]
        incumbents.tell(bic if as_found and fitted.below == -np.inf else np.inf, terms)
        return fitted

    RefitCache._refit = watched  # type: ignore[method-assign]


def lasso(case: recovery.Case) -> None:
    """The active set of every penalty, refitted without one."""
    with single_blas_thread():
        models = RefitCache.for_terms(case.data, case.space.terms)
        likelihood, groups = group_lasso.problem(case.data, case.space.terms)
        for _, beta in group_lasso.path(likelihood, groups):
            active = (groups.norms(beta) > 0) | (groups.price == 0)
            models.refit(frozenset(np.flatnonzero(active).tolist()))


METHODS: dict[str, Callable[[recovery.Case], recovery.Outcome | None]] = {
    "specify": recovery.as_it_comes,
    "unstructured": recovery.without_structure,
    "stepwise": recovery.stepwise,
    "lasso": lasso,
}
AT_THE_END = ("specify", "unstructured")


def main(folder: Path) -> None:
    """Search until it ends or is stopped."""
    task, incumbents = read_task(folder), Incumbents(folder)
    case = as_case(*read_problem(Path(task["data"])), seed=task["seed"])
    watch(incumbents, as_found=task["method"] not in AT_THE_END)
    incumbents.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        outcome = METHODS[task["method"]](case)
    if outcome is not None:
        incumbents.tell(outcome.bic, list(map(str, outcome.terms)))
    incumbents.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
