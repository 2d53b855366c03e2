"""SearchLibrium's simulated annealing; runs in its environment, `run_searchlibrium.py RUN_FOLDER`.

Candidates are the columns of the space, one variable each, zero for every other alternative: its
variables have one coefficient, so that a term of several columns cannot come or go as one.
Constants are candidates too. It is called as its README calls it: `call_siman`, by BIC, over
multinomial logits, with the control values that it estimates itself.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from incumbents import Incumbents, read_task

GTOL = 1e-2
"""On the sum of the scores of ten thousand choices, with columns of unit spread."""


def names_of(n_columns: int) -> list[str]:
    """Plain names: a dot means something to SearchLibrium."""
    return [f"x{k:03d}" for k in range(n_columns)]


def parameters(package: Any, file: Any, settings: dict[str, Any]) -> Any:
    """The problem in SearchLibrium's words, from the arrays of a `DenseProblem`."""
    x, available, choice = file["x"], file["available"], file["choice"]
    n, n_alternatives, n_columns = x.shape
    names, labels = names_of(n_columns), np.arange(1, n_alternatives + 1)
    return package.Parameters(
        criterions=[("bic", -1)],
        df=pd.DataFrame(x.reshape(-1, n_columns), columns=names),
        varnames=names,
        asvarnames=names,
        isvarnames=[],
        choice_set=labels.tolist(),
        choices=(choice[:, None] == np.arange(n_alternatives)).ravel().astype(int),
        alt_var=np.tile(labels, n),
        choice_id=np.repeat(np.arange(n), n_alternatives),
        ind_id=np.repeat(np.arange(n), n_alternatives),
        avail=available.ravel().astype(float),
        base_alt=int(labels[-1]),
        models=["multinomial"],
        allow_random=False,
        report_auto_as_is=False,
        **settings,
    )


def watch(search: Any, incumbents: Incumbents, coefficients: list[str]) -> None:
    """Tell of every model that it evaluates; changes nothing."""
    evaluate = search._evaluate_solution
    known = dict(zip(names_of(len(coefficients)), coefficients, strict=True))

    def reported(self: Any, sol: Any, track_best: bool = True) -> Any:
        sol, converged = evaluate(self, sol, track_best)
        bic = float(sol["bic"]) if converged else float("inf")
        incumbents.tell(bic, [known[name] for name in sol["asvars"]])
        return sol, converged

    search._evaluate_solution = reported


# -- What lets it run ------------------------------------------------------------------------------


def no_collinearity(self: Any, *_: Any, **__: Any) -> None:
    """In place of `Search._precompute_correlations`."""
    self._corr_matrix, self._vif_scores, self._high_corr_pairs = None, {}, []
    self._corr_threshold, self._vif_threshold = 1.0, np.inf


def no_pairs(self: Any, sol: Any) -> None:
    """In place of `Search._register_singularity_pairs`."""


def patch(search: Any, incumbents: Incumbents) -> dict[str, Any]:
    """The smallest changes with which it accepts models; settings to go with them."""
    search._precompute_correlations = no_collinearity
    incumbents.patch(
        "Search._precompute_correlations does nothing, to save its minutes: all candidates have a "
        "variance inflation above its limit of 10, and where all would be dropped it drops none."
    )
    search._register_singularity_pairs = no_pairs
    incumbents.patch(
        "Search._register_singularity_pairs does nothing: its `if array` raises ValueError on "
        "every model, because with unavailable alternatives the Hessian is not a number and all "
        "standard errors are taken for zero; the model is then rejected."
    )
    incumbents.patch(
        f"Setting gtol={GTOL:g} instead of 1e-6, as its README advises where models do not "
        "converge: BFGS stops short of 1e-6 'due to precision loss', and they are rejected."
    )
    incumbents.patch(
        "Setting l1_penalty=0 instead of 0.1: BFGS wants a gradient, which the penalty lacks at "
        "zero; where a coefficient comes near zero it stalls, and on S2 all models are rejected."
    )
    return {"gtol": GTOL, "l1_penalty": 0.0}


def main(folder: Path) -> None:
    """Search until it ends or is stopped."""
    task, incumbents = read_task(folder), Incumbents(folder)
    package, search = (import_module(m) for m in ("SearchLibrium", "SearchLibrium.search"))
    random.seed(task["seed"])
    np.random.seed(task["seed"])  # noqa: NPY002 - it draws from NumPy's global generator
    incumbents.patch("matplotlib installed beside it: it imports it and does not require it.")
    settings = patch(search.Search, incumbents) if task["patched"] else {}
    with np.load(Path(task["data"]) / "columns.npz", allow_pickle=False) as file:
        problem = parameters(package, file, settings)
        watch(search.Search, incumbents, [str(name) for name in file["names"]])
    incumbents.start()
    package.call_siman(problem)
    incumbents.end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
