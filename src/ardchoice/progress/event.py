"""`Event`: something to tell of a run; and who makes events of what solvers and searches say."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from ardchoice.ard import Dsvi, DsviPaper, Solver, Step
from ardchoice.selection import SearchStep

Phase = Literal["read", "relevance", "search", "estimate", "evaluate", "report"]
PHASES: tuple[Phase, ...] = get_args(Phase)
"""What a run consists of, in order."""

Value = float | int | str | bool | None


@dataclass(frozen=True)
class Event:
    """One thing to tell of a run.

    Attributes
    ----------
    phase
        What is being done.
    done, of
        How much of it; `of` is 0 where it is not known beforehand.
    text
        The same for people, a few words.
    values
        The same for programs: passes, terms, evidence, criterion, refits.
    seconds
        Since the phase began.
    seconds_left
        For the rest of what `of` counts, at the pace so far; None where nothing can be said.
    """

    phase: Phase
    done: int = 0
    of: int = 0
    text: str = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    seconds: float = 0.0
    seconds_left: float | None = None


Listener = Callable[[Event], None]


@dataclass(frozen=True)
class PhaseProgress:
    """Makes events of one phase, works out time and pace, and passes them on.

    >>> tell = Telling("evaluate", listener)
    >>> tell(2, 5, "fold 2 of 5")

    Attributes
    ----------
    phase
    listener
        None for nobody.
    even
        Whether pieces take about the same time each; without that there is no pace.
    """

    phase: Phase
    listener: Listener | None
    even: bool = True
    started: float = field(default_factory=time.perf_counter)

    def __call__(self, done: int = 0, of: int = 0, text: str = "", **values: Value) -> None:
        """Tell that `done` of `of` is over."""
        if self.listener is None:
            return
        seconds = time.perf_counter() - self.started
        # Without a first piece there is no pace, without an end nothing that is left.
        left = seconds * (of - done) / done if self.even and 0 < done <= of else None
        self.listener(Event(self.phase, done, of, text, values, seconds, left))


def relevance_callback(listener: Listener | None, solver: Solver) -> Callable[[Step], None] | None:
    """What `fit_ard(progress=...)` takes; only the published schedule has an end that is known."""
    if listener is None:
        return None
    tell = PhaseProgress("relevance", listener)
    unit, ends = {Dsvi: ("epoch", False), DsviPaper: ("step", True)}.get(
        type(solver), ("pass", False)
    )

    def progress(step: Step) -> None:
        tell(
            step.iteration,
            step.of if ends else 0,
            f"{unit} {step.iteration:,}"
            + (f" of {step.of:,}" if ends else "")
            + f", {step.active} terms active, evidence {step.objective:,.1f}",
            **{unit: step.iteration},
            terms=step.active,
            evidence=step.objective,
        )

    return progress


def search_callback(listener: Listener | None) -> Callable[[SearchStep], None] | None:
    """What `select(progress=...)` takes; how many rounds there will be nobody knows."""
    if listener is None:
        return None
    tell = PhaseProgress("search", listener)

    def progress(step: SearchStep) -> None:
        tell(
            step.round,
            0,
            f"round {step.round}, {step.terms} terms, best {step.measure} {step.criterion:,.1f}"
            f"{f' (higher, {step.higher})' if step.higher else ''}, {step.refits} refits",
            round=step.round,
            terms=step.terms,
            criterion=step.criterion,
            refits=step.refits,
        )

    return progress
