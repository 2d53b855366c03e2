"""The selection path: fit and held-out prediction as terms enter in order of relevance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.data import ChoiceData
from ardchoice.design import running
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import FoldScore, cross_validate
from ardchoice.numerics import single_blas_thread
from ardchoice.record import Path
from ardchoice.selection import (
    Bic,
    Constraints,
    Ebic,
    RefitCache,
    Structure,
    TermSet,
    compile_structure,
)


def selection_path(
    fit: ArdFit,
    *,
    rule: Bic | Ebic | None = None,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    folds: int = 5,
    seed: int = 0,
    most: int = 40,
) -> Path:
    """Add terms one by one, most relevant first, each with the terms it requires.

    Parameters
    ----------
    fit
        Relevance.
    rule
        Whose criterion is shown. Default: `Ebic()`.
    structure
        Terms that it excludes once others are in are skipped; None for no structure.
    folds
        Of persons, for the held-out log-likelihood by cross-validation; 0 for none.
    seed
        Of the folds.
    most
        Largest number of steps.
    """
    if fit.continues:
        raise ArdchoiceError("A path needs all data at hand; this fit continues an earlier one.")
    rule = Ebic() if rule is None else rule
    if not isinstance(rule, (Bic, Ebic)):
        raise ArdchoiceError(f"A path shows the criterion of ac.Ebic() or ac.Bic(), not {rule!r}.")
    constraints = compile_structure(structure, fit.space)
    with running(fit.execution), single_blas_thread():
        models = RefitCache.of(fit)
        criterion = rule.criterion(models.n, constraints.searched_columns)
        sets = nested(fit, constraints, most)

        def procedure(train: ChoiceData, test: ChoiceData) -> list[FoldScore]:
            inside, start, scores = RefitCache.of(replace(fit, data=train)), None, []
            for selected in sets:
                fitted = inside.refit(selected, start)
                scores.append(FoldScore(inside.loglik_on(test, fitted)))
                start = fitted.beta
            return scores

        validated = cross_validate(fit.data, folds, procedure, seed=seed)
        rows, before, start = [], frozenset[int](), None
        for i, selected in enumerate(sets):
            fitted = models.refit(selected, start)
            start, count = fitted.beta, constraints.count(selected)
            new = ", ".join(str(fit.terms[t]) for t in sorted(selected - before))
            value = criterion.value(fitted.loglik, count, constraints.searched(selected))
            rows.append((new or "(nothing)", count, fitted.loglik, value, validated.loglik(i)))
            before = selected
    names = ["entered", "parameters", "loglik", "criterion", "held_out"]
    return Path(pd.DataFrame(rows, columns=names), criterion.name)


def nested(fit: ArdFit, constraints: Constraints, most: int) -> list[TermSet]:
    """Valid sets, each with one more relevant term and the terms it requires."""
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
