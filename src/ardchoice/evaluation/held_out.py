"""Prediction of persons left out: of a specification, or of the whole way to one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ardchoice.ard import Solver, fit_ard
from ardchoice.data import ChoiceData, must_be_choice_data
from ardchoice.design import learn_encoding
from ardchoice.numerics import single_blas_thread
from ardchoice.selection import RefitCache, Rule, Structure, select
from ardchoice.space import SearchSpace, Specification, Term, as_specification
from ardchoice.text import table


@dataclass(frozen=True)
class HeldOutScore:
    """How well persons left out are predicted.

    Attributes
    ----------
    loglik
        Summed over all folds, so over all choices.
    by_fold
    specifications
        The one of every fold.
    """

    loglik: float
    by_fold: tuple[float, ...]
    specifications: tuple[Specification, ...] = field(repr=False)

    def __str__(self) -> str:
        rows = [
            [str(i + 1), f"{loglik:,.1f}", str(len(specification))]
            for i, (loglik, specification) in enumerate(
                zip(self.by_fold, self.specifications, strict=True)
            )
        ]
        body = table(rows, ["fold", "log-likelihood", "terms"])
        return f"Held-out log-likelihood {self.loglik:,.1f}\n\n{body}"


def held_out(
    data: ChoiceData,
    what: SearchSpace | Specification | str | Iterable[Term | str],
    *,
    folds: int = 5,
    seed: int = 0,
    rule: Rule | None = None,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    solver: Solver | None = None,
    executor: Any = None,
) -> HeldOutScore:
    """The log-likelihood of persons left out, fold by fold.

    Parameters
    ----------
    data
        The choices.
    what
        A specification, which is estimated anew in every fold; or a search space: relevance and
        selection are repeated in every fold as well, so that nothing is known of those left out.
    folds, seed
        How persons are divided.
    rule, structure, solver
        How to select, as for `specify`.
    executor
        A Dask client whose workers go through the data; this process unless told.
    """
    must_be_choice_data(data)
    data = data if executor is None else data.on(executor)
    scores, found = [], []
    for rest, left_out in data.folds(folds, seed=seed):
        if isinstance(what, SearchSpace):
            fit = fit_ard(rest, what, solver=solver)
            specification = select(fit, rule, structure=structure)
        else:
            specification = as_specification(what)
        with single_blas_thread():
            encoding = learn_encoding(rest, specification.terms)
            models = RefitCache(rest, encoding, np.ones(encoding.n_columns))
            fitted = models.refit(frozenset(range(len(specification))))
            scores.append(models.loglik_on(left_out, fitted))
        found.append(specification)
    return HeldOutScore(float(sum(scores)), tuple(scores), tuple(found))
