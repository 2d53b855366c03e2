"""Progress and the trace of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Step:
    """One entry of the trace.

    Attributes
    ----------
    iteration, of
        Which, and the most there can be: passes (Newton), epochs (Dsvi) or steps (the paper).
    objective
        What is maximised: the bound on the evidence, or the evidence, `Newton(posterior="full")`.
        In the trace of `Newton()` that of passes which led to the end, all with the curvature
        there, and it never falls; while it runs, with the curvature of the pass.
    active
        Active terms.
    seconds
        Since the start.
    lam
        λ of every group of terms; shape (G,).
    mean
        Standardised coefficients there, in the trace of `Newton()`; shape (D,).
    """

    iteration: int
    of: int
    objective: float
    active: int
    seconds: float
    lam: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64] | None = None

    @property
    def seconds_left(self) -> float:
        """At the pace so far, were all iterations needed."""
        return self.seconds * (self.of - self.iteration) / max(self.iteration, 1)


Progress = Callable[[Step], None]


@dataclass(frozen=True)
class ProgressTrace:
    """Makes steps and passes them on to whoever listens.

    Attributes
    ----------
    line
        λ above which a term counts as active.
    listen
        Called with every step; None for nobody.
    """

    line: float = 0.0
    listen: Progress | None = None
    started: float = field(default_factory=time.perf_counter)

    def __call__(
        self,
        iteration: int,
        of: int,
        objective: float,
        lam: npt.NDArray[np.float64],
        active: int,
        mean: npt.NDArray[np.float64] | None = None,
    ) -> Step:
        """Record one iteration."""
        seconds = time.perf_counter() - self.started
        step = Step(iteration, of, objective, active, seconds, lam.copy(), mean)
        if self.listen is not None:
            self.listen(step)
        return step
