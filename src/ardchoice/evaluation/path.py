"""The path: how fit and prediction change as terms enter in order of relevance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice.ard import ArdFit
from ardchoice.errors import ArdchoiceError
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

if TYPE_CHECKING:
    pass


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
    with single_blas_thread():
        models = RefitCache.of(fit)
        criterion = rule.criterion(models.n, np.asarray(fit.space.columns))
        sets = nested(fit, constraints, most)
        held_out = np.full(len(sets), np.nan)
        if folds:
            held_out = np.zeros(len(sets))
            for rest, left_out in fit.data.folds(folds, seed=seed):
                inside, start = RefitCache(rest, fit.encoding, fit.scale), None
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


def nested(fit: ArdFit, constraints: Constraints, most: int) -> list[TermSet]:
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
