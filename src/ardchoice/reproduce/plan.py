"""How much is done, and what an item of the reproduction is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ardchoice.reproduce.document import Section
from ardchoice.reproduce.jobs import Job

Json = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How much is done.

    Attributes
    ----------
    draws
        Draws of choices on which `Newton` is compared with the published λ.
    paper_draws
        Those on which the published schedule is run in full, by space.
    held_out
        Splits of drawn choices.
    splits
        Splits of the real choices.
    noise_to
        Columns of every alternative in the extreme space.
    steps
        Of the published schedule where only a part of it is run; None for all.
    """

    quick: bool
    draws: int
    paper_draws: Mapping[str, int]
    held_out: int
    splits: int
    noise_to: int
    steps: int | None


FULL = Plan(
    quick=False,
    draws=5,
    paper_draws={"medium": 3, "large": 1},
    held_out=4,
    splits=10,
    noise_to=1000,
    steps=None,
)
QUICK = Plan(
    quick=True,
    draws=1,
    paper_draws={"medium": 0, "large": 0},
    held_out=1,
    splits=2,
    noise_to=300,
    steps=4000,
)


@dataclass(frozen=True)
class Results:
    """Results of jobs."""

    by_key: Mapping[str, Json]

    def __getitem__(self, job: Job) -> Json:
        return self.by_key[job.key]


@dataclass(frozen=True)
class Item:
    """One table or figure of the paper.

    Attributes
    ----------
    name
        What ``--only`` calls it.
    jobs
        What is to be done first.
    section
        What to say once that is done.
    """

    name: str
    jobs: Callable[[Plan], list[Job]]
    section: Callable[[Plan, Results], Section]


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean of several values and its standard error; None for a single one."""
    if len(values) < 2:
        return float(np.mean(values)), None
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
