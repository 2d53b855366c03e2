"""`Curve`: shares as one attribute runs over a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice.errors import SpecificationError
from ardchoice.estimation.delta import Uncertainty
from ardchoice.estimation.display import DisplayFrame
from ardchoice.estimation.scenarios.changes import Change, parse_changes
from ardchoice.estimation.scenarios.scenario import Scenario, make_scenario
from ardchoice.estimation.scenarios.simulator import Simulator
from ardchoice.text import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_FACTORS = tuple(np.round(np.linspace(0.5, 1.5, 11), 10).tolist())
"""Half to one and a half of what was observed."""
SIGNS = "*/+-="


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Shares as something runs over a grid, such as a price. Made by `Result.curve`.

    Attributes
    ----------
    what
        What changes, such as ``TRAIN: CO *``.
    frame
        value, alternative, share, low, high; a row per value of the grid and alternative.
    notes
        What to know of it: values outside the observed range.
    """

    what: str
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        wide = self.frame.pivot(index="value", columns="alternative", values="share")
        order = list(dict.fromkeys(self.frame["alternative"]))
        text = str(DisplayFrame(wide[order].reset_index()))
        notes = [fill(f"Note: {note}", WIDTH) for note in self.notes]
        return "\n".join([f"Shares as {self.what} value", text, *notes])

    def __repr__(self) -> str:
        return f"<Curve: {self.what}, {self.frame['value'].nunique()} values>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """A line per alternative, with its interval."""
        from ardchoice.estimation.scenarios.plot import plot_curve

        return plot_curve(self, ax)


def make_curve(
    simulator: Simulator,
    what: str,
    grid: Sequence[float] | None,
    uncertainty: Uncertainty,
    where: str | None,
) -> Curve:
    """Shares at every value of a grid, all from one design."""
    if not isinstance(what, str) or not what.strip():
        raise SpecificationError(f"A curve is over something such as 'TRAIN: CO', not {what!r}.")
    text = what.strip()
    text = text if text[-1] in SIGNS else f"{text} *"
    values = DEFAULT_FACTORS if grid is None else tuple(float(v) for v in np.ravel(grid))
    if not values:
        raise SpecificationError("A curve needs values to run over, such as [0.8, 1.0, 1.2].")
    rows: list[tuple[float, str, float, float, float]] = []
    notes: dict[str, None] = {}
    for value in values:
        change = _change(text, value, where)
        scenario = make_scenario(simulator, [change], uncertainty, by=(), cost=None)
        rows += _rows(scenario, value)
        if value in (min(values), max(values)):
            notes |= dict.fromkeys(scenario.notes)
    names = ["value", "alternative", "share", "low", "high"]
    return Curve(text, DisplayFrame(rows, columns=names), tuple(notes))


def _change(text: str, value: float, where: str | None) -> Change:
    changes = parse_changes(f"{text} {value!r}", where=where)
    if len(changes) != 1:
        raise SpecificationError(f"A curve is over one change, and {text!r} has {len(changes)}.")
    return changes[0]


def _rows(scenario: Scenario, value: float) -> list[tuple[float, str, float, float, float]]:
    frame = scenario.intervals()
    frame = frame[frame["of"] == "scenario"]
    numbers = frame[["estimate", "low", "high"]].to_numpy(dtype=float).tolist()
    names = frame["alternative"].tolist()
    return [
        (value, name, share, low, high)
        for name, (share, low, high) in zip(names, numbers, strict=True)
    ]
