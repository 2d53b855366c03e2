"""`Event`: one step of a run; callbacks that turn steps of solvers and searches into events."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from ardchoice.ard import Dsvi, DsviPaper, Solver, Step
from ardchoice.selection import SearchStep

Phase = Literal["read", "relevance", "search", "estimate", "evaluate", "report"]
PHASES: tuple[Phase, ...] = get_args(Phase)
"""The phases of a run, in order."""

Value = float | int | str | bool | None


@dataclass(frozen=True)
class Event:
    """One step of a run.

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
        For the rest of what `of` counts, at the pace so far; None where that is unknown.
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
    """Makes the events of one phase, with time and pace, and calls a callback with them.

    >>> progress = PhaseProgress("evaluate", print)
    >>> progress(2, 5, "fold 2 of 5")  # doctest: +ELLIPSIS
    Event(phase='evaluate', done=2, of=5, text='fold 2 of 5', ...)

    Attributes
    ----------
    phase
    listener
        The callback; None for no progress.
    even
        Whether steps take about the same time each; without that there is no pace.
    started
        On the clock of `time.perf_counter`.
    """

    phase: Phase
    listener: Listener | None
    even: bool = True
    started: float = field(default_factory=time.perf_counter)

    def __call__(self, done: int = 0, of: int = 0, text: str = "", **values: Value) -> None:
        """Report that `done` of `of` steps are finished."""
        if self.listener is None:
            return
        seconds = time.perf_counter() - self.started
        # Without a first step there is no pace, without a known end nothing remains.
        left = seconds * (of - done) / done if self.even and 0 < done <= of else None
        self.listener(Event(self.phase, done, of, text, values, seconds, left))


def relevance_callback(listener: Listener | None, solver: Solver) -> Callable[[Step], None] | None:
    """The callback of `fit_ard`; only the published schedule knows its number of steps."""
    if listener is None:
        return None
    report = PhaseProgress("relevance", listener)
    unit, ends = {Dsvi: ("epoch", False), DsviPaper: ("step", True)}.get(
        type(solver), ("pass", False)
    )

    def progress(step: Step) -> None:
        report(
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
    """The callback of `select`; the number of rounds is not known beforehand."""
    if listener is None:
        return None
    report = PhaseProgress("search", listener)

    def progress(step: SearchStep) -> None:
        report(
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
