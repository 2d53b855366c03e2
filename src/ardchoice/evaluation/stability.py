"""Stability selection: how often a term is selected on random halves of the persons."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ardchoice.ard import Newton, Solver, fit_ard
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData, must_be_choice_data
from ardchoice.design import running
from ardchoice.errors import ArdchoiceError
from ardchoice.families import Family, Mnl
from ardchoice.numerics import seeded
from ardchoice.selection import Rule, Structure, select
from ardchoice.space import SearchSpace


def stability(
    data: ChoiceData,
    space: SearchSpace,
    *,
    family: Family = Mnl(),  # noqa: B008 - frozen
    pairs: int = 10,
    rule: Rule | None = None,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    solver: Solver | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    keep: Checkpointer = NOTHING,
    executor: Any = None,
) -> pd.DataFrame:
    """Repeat the selection on halves of the persons, in complementary pairs.

    Parameters
    ----------
    data, space, family, rule, structure, solver
        As for `specify`.
    pairs
        How often persons are divided in two; twice as many selections are made.
    seed
        Of the divisions.
    progress
        Called with (selections made, selections in all).
    keep
        Where the selection of every half is checkpointed.
    executor
        A Dask client whose workers process the data. Default: this process.

    Returns
    -------
    DataFrame
        A row per candidate, most stable first: term, selected (share of the halves that select it),
        both (share of the pairs in which both halves do).
    """
    must_be_choice_data(data)
    if pairs < 1:
        raise ArdchoiceError(f"At least one pair of halves is needed, not {pairs}.")
    is_selected = np.zeros((pairs, 2, len(space)), dtype=bool)
    position = {term: t for t, term in enumerate(space.terms)}
    rng = seeded(seed)

    def selected(part: ChoiceData) -> list[int]:
        fit = fit_ard(part, space, family=family, solver=solver or Newton())
        return [position[term] for term in select(fit, rule, structure=structure)]

    for pair in range(pairs):
        halves = data.split(0.5, seed=int(rng.integers(2**31)))
        for half, part in enumerate(halves):
            with running(executor):
                found = keep.stage(f"stability-{2 * pair + half}", partial(selected, part))
            is_selected[pair, half, found] = True
            if progress is not None:
                progress(2 * pair + half + 1, 2 * pairs)
    frame = pd.DataFrame(
        {
            "term": [str(t) for t in space.terms],
            "selected": is_selected.mean(axis=(0, 1)),
            "both": is_selected.all(axis=1).mean(axis=0),
        }
    )
    frame = frame.sort_values(["selected", "both"], ascending=False, kind="stable")
    return frame.reset_index(drop=True)
