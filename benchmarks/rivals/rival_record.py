"""`Run`: what came of one method on one problem; kept as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Key = tuple[str, int, str, float]
"""Data, seed, method, budget: what a run is known by."""


@dataclass(frozen=True)
class Run:
    """One method on one problem.

    Attributes
    ----------
    data, seed, method, budget
    bic, f1, model, terms, coefficients
        Of the best model, estimated by us; None if there is none, F1 also without a known truth.
        `terms` counts those of the space that it has, or has columns of.
    seconds
        When it was found.
    ended
        When the search ended by itself; None if it was stopped.
    tried
        Models it estimated.
    curve
        Seconds and BIC of every incumbent that was better than those before, as we compute it.
    patches
        What was changed to let it run.
    problem
        Why there is nothing, or why it broke off.
    """

    data: str
    seed: int
    method: str
    budget: float
    bic: float | None = None
    f1: float | None = None
    model: tuple[str, ...] = ()
    terms: int | None = None
    coefficients: int | None = None
    seconds: float | None = None
    ended: float | None = None
    tried: int | None = None
    curve: tuple[tuple[float, float], ...] = ()
    patches: tuple[str, ...] = ()
    problem: str = ""

    @property
    def key(self) -> Key:
        """What a run is known by."""
        return self.data, self.seed, self.method, self.budget

    @property
    def status(self) -> str:
        """In a word."""
        if self.problem:
            return "failed"
        if not self.curve:
            return "given"
        return "stopped" if self.ended is None else "ended"


def bests(done: Iterable[Run]) -> dict[tuple[str, int], float]:
    """The lowest BIC on the same choices: of all seeds for the real ones, of one draw for S2."""
    out: dict[tuple[str, int], float] = {}
    for run in done:
        found = run.curve[-1][1] if run.curve else math.inf
        out[where(run)] = min(out.get(where(run), math.inf), found)
    return out


def where(run: Run) -> tuple[str, int]:
    """The choices that a run was on."""
    return run.data, 0 if run.data == "real" else run.seed


def lines(path: Path) -> list[str]:
    """The whole lines of a file; a process may be writing the last."""
    if not path.exists():
        return []
    return [s for s in path.read_text(encoding="utf-8").split("\n")[:-1] if s.strip()]


def read_runs(path: Path) -> dict[Key, Run]:
    """Runs of an earlier call; what could not be installed then is to be tried again."""
    out: dict[Key, Run] = {}
    for text in lines(path):
        record: dict[str, Any] = {k: _frozen(v) for k, v in json.loads(text).items()}
        run = Run(**record)
        if not run.problem.startswith("not installed"):
            out[run.key] = run
    return out


def _frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
