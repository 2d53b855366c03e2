"""`Scenario`: shares, surplus, diversion and counts after changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.errors import SpecificationError
from ardchoice.estimation.delta import Uncertainty
from ardchoice.estimation.display import DisplayFrame
from ardchoice.estimation.scenarios.apply import ChangedData, has_changed
from ardchoice.estimation.scenarios.changes import Change
from ardchoice.estimation.scenarios.simulator import Segments, Simulator
from ardchoice.estimation.scenarios.surplus import Surplus, surplus_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLOW_FLOOR = 1e-12
"""Share of all choices: less is rounding, not diversion."""


@dataclass(frozen=True, eq=False)
class Totals:
    """Expected choices, summed over the situations of every segment.

    Attributes
    ----------
    base, scenario
        Shape (S, J).
    """

    base: Floats
    scenario: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """What a model predicts after some changes, beside what it predicts as observed.

    Made by `Result.scenario`. Shares are means of probabilities over the situations, weighted
    (sample enumeration); whatever takes more than two predictions is computed when it is first
    asked for.

    Attributes
    ----------
    changes
    name
        In tables that show several; default: its changes.
    notes
        What to know of it, a sentence each: values outside the observed range, changes without
        effect.

    Examples
    --------
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real")
    >>> result = ac.fit_mnl(data, ["TRAIN: ASC", "SM: ASC", "*: TT + CO"])
    >>> sc = result.scenario("TRAIN: TT * 1.1")
    >>> sc.shares["change"].round(4).tolist()
    [-0.0183, 0.0127, 0.0056]
    """

    changes: tuple[Change, ...]
    by: tuple[str, ...]
    cost: str | None
    name: str
    _simulator: Simulator
    _changed: ChangedData
    _uncertainty: Uncertainty

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of it, a sentence each."""
        return self._changed.notes

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The J names."""
        return self._simulator.model.encoding.alternatives

    @property
    def _segments(self) -> Segments:
        return self._simulator.segments(self.by)

    # -- Numbers ------------------------------------------------------------------------------

    @cached_property
    def totals(self) -> Totals:
        """Expected choices before and after, by segment."""
        weights, inside = self._segments.weights, self._simulator.inside
        j = len(self.alternatives)
        base, scenario = np.zeros((2, len(weights), j))
        for piece, block in self._simulator.pairs(self._changed):
            w, p = weights[:, piece.rows], inside.probabilities(block)
            base += w @ piece.probabilities.T
            scenario += w @ p.T
        return Totals(base, scenario)

    @cached_property
    def _flows(self) -> Floats:
        """Expected choices from every alternative, to every alternative; shape (S, J, J)."""
        weights, inside = self._segments.weights, self._simulator.inside
        parts = [
            _flows(piece.probabilities, inside.probabilities(block), weights[:, piece.rows])
            for piece, block in self._simulator.pairs(self._changed)
        ]
        return np.asarray(sum(parts))

    @cached_property
    def _gradients(self) -> tuple[Floats, Floats]:
        """Of the shares as observed and after; shape (S, J, P) each."""
        total = self._segments.total[:, None, None]
        after = self._simulator.changed_gradient(self._changed, self.by)
        return self._simulator.base_gradient(self.by) / total, after / total

    def predict(self) -> pd.DataFrame:
        """Probabilities after the changes, a row per situation and a column per alternative."""
        data, inside = self._changed.data, self._simulator.inside
        p = [inside.probabilities(block) for _, block in self._simulator.pairs(self._changed)]
        index = pd.Index(data.situation, name="situation")
        return pd.DataFrame(np.hstack(p).T, index=index, columns=list(self.alternatives))

    # -- Tables -------------------------------------------------------------------------------

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Shares: alternative, base, scenario, change, low, high; with `by` also segment.

        `low` and `high` bound the change (delta method). The whole sample comes first, as ``all``.
        """
        total = self._segments.total[:, None]
        base, scenario = self.totals.base / total, self.totals.scenario / total
        before, after = self._gradients
        half = self._half_width(after - before)
        change = scenario - base
        columns = {"base": base, "scenario": scenario, "change": change}
        return self._frame({**columns, "low": change - half, "high": change + half})

    @property
    def shares_without_intervals(self) -> pd.DataFrame:
        """The same without `low` and `high`, which take two more passes with gradients."""
        total = self._segments.total[:, None]
        base, scenario = self.totals.base / total, self.totals.scenario / total
        return self._frame({"base": base, "scenario": scenario, "change": scenario - base})

    def intervals(self) -> pd.DataFrame:
        """Standard errors and intervals of all shares, as observed, after, and of the change.

        Columns: segment, alternative, of (base, scenario, change), estimate, std_err, low, high.
        """
        total = self._segments.total[:, None]
        base, scenario = self.totals.base / total, self.totals.scenario / total
        before, after = self._gradients
        frames = []
        for of, estimate, gradient in (
            ("base", base, before),
            ("scenario", scenario, after),
            ("change", scenario - base, after - before),
        ):
            half = self._half_width(gradient)
            std_err = self._std_err(gradient)
            frame = self._frame(
                {
                    "estimate": estimate,
                    "std_err": std_err,
                    "low": estimate - half,
                    "high": estimate + half,
                },
                segment=True,
            )
            frame.insert(2, "of", of)
            frames.append(frame)
        return DisplayFrame(pd.concat(frames, ignore_index=True))

    @property
    def counts(self) -> pd.DataFrame:
        """Expected choices (weighted): alternative, base, scenario, change; with `by` segment."""
        base, scenario = self.totals.base, self.totals.scenario
        return self._frame({"base": base, "scenario": scenario, "change": scenario - base})

    @property
    def diversion(self) -> pd.DataFrame:
        """From whom gains come: to, from, share, of_gain; with `by` also segment.

        In every situation, what alternatives lose goes to those that gain, in proportion to their
        gains. `share` is in shares of all choices, `of_gain` the part of what `to` gains.
        """
        flows = self._flows / self._segments.total[:, None, None]
        gains = flows.sum(axis=1)
        rows = [
            (segment, self.alternatives[to], self.alternatives[source], flow, flow / gains[s, to])
            for s, segment in enumerate(self._segments.names)
            for to in range(len(self.alternatives))
            for source in range(len(self.alternatives))
            if (flow := float(flows[s, source, to])) > FLOW_FLOOR
        ]
        frame = pd.DataFrame(rows, columns=["segment", "to", "from", "share", "of_gain"])
        return DisplayFrame(frame if self.by else frame.drop(columns="segment"))

    @cached_property
    def _surplus(self) -> Surplus:
        return surplus_of(self._simulator, self._changed, self._segments, self.cost)

    @property
    def surplus(self) -> pd.DataFrame:
        """Change of consumer surplus per choice situation, with delta-method errors.

        Columns: segment, n, unit (the cost, or utility), estimate, std_err, low, high, total.
        Positive: the scenario is better for the choosers.

        Raises
        ------
        SpecificationError
            The family has no formula for the expected maximum utility.
        """
        found = self._surplus
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = found.total / found.weight
            gradient = found.gradient / found.weight[:, None]
        std_err = self._uncertainty.std_err(gradient)
        half = self._uncertainty.half_width(std_err)
        return DisplayFrame(
            {
                "segment": list(self._segments.names),
                "n": found.counts.astype(int),
                "unit": found.unit,
                "estimate": mean,
                "std_err": std_err,
                "low": mean - half,
                "high": mean + half,
                "total": found.total,
            }
        )

    @property
    def surplus_note(self) -> str:
        """Why the surplus is not in money, or not of all situations; empty otherwise."""
        return self._surplus.note

    def arc_elasticities(self) -> pd.DataFrame:
        """Arc elasticities of all shares by the attribute that changed, at the midpoints.

        (ΔS / mean S) / (Δx / mean x), with x the weighted mean of the attribute where the
        alternative is available.

        Raises
        ------
        SpecificationError
            Not one attribute of one alternative changed, or its mean did not.
        """
        attribute, places = self._one_attribute()
        if not places:
            raise SpecificationError(f"{attribute} is the same as observed: there is no arc.")
        segments, data, new = self._segments, self._simulator.data, self._changed.data
        base, scenario = self.totals.base, self.totals.scenario
        old_mean, new_mean = np.zeros((2, len(segments.names)))
        for j in places:
            w = segments.weights * data.available[j]
            old_mean += w @ np.where(data.available[j], data.attributes[attribute].of(j), 0.0)
            new_mean += w @ np.where(data.available[j], new.attributes[attribute].of(j), 0.0)
        moved = 2 * (new_mean - old_mean) / (new_mean + old_mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            arc = 2 * (scenario - base) / (scenario + base) / moved[:, None]
        frame = self._frame({"estimate": arc})
        frame.insert(0, "changed", "+".join(self.alternatives[j] for j in places))
        return DisplayFrame(frame)

    def _one_attribute(self) -> tuple[str, list[int]]:
        names = {c.name for c in self.changes}
        name = next(iter(names))
        data = self._simulator.data
        if len(names) > 1 or name not in data.attributes or self._changed.alternatives:
            raise SpecificationError(
                "An arc elasticity is by one attribute: make a scenario that changes one only, "
                "such as 'TRAIN: CO * 1.1'."
            )
        attribute = data.attributes[name]
        if attribute.levels is not None:
            raise SpecificationError(f"{name} is categorical: there is no elasticity by it.")
        new = self._changed.data.attributes[name]
        return name, [
            j for j in new.alternatives if has_changed(attribute, new, j, data.available[j])
        ]

    # -- Helpers ------------------------------------------------------------------------------

    def _std_err(self, gradient: Floats) -> Floats:
        """Shape (S, J)."""
        flat = gradient.reshape(-1, gradient.shape[-1])
        return self._uncertainty.std_err(flat).reshape(gradient.shape[:-1])

    def _half_width(self, gradient: Floats) -> Floats:
        return self._uncertainty.half_width(self._std_err(gradient))

    def _frame(self, columns: Mapping[str, Floats], *, segment: bool = False) -> pd.DataFrame:
        """A row per segment and alternative, from arrays (S, J)."""
        names = self._segments.names
        keys: dict[str, list[str]] = {}
        if self.by or segment:
            keys["segment"] = [name for name in names for _ in self.alternatives]
        keys["alternative"] = list(self.alternatives) * len(names)
        return DisplayFrame({**keys, **{name: values.ravel() for name, values in columns.items()}})

    # -- Shown --------------------------------------------------------------------------------

    def __str__(self) -> str:
        from ardchoice.estimation.scenarios.display import describe_scenario

        return describe_scenario(self)

    def __repr__(self) -> str:
        return f"<Scenario: {self.name}>"

    def _repr_html_(self) -> str:
        from ardchoice.estimation.scenarios.display import scenario_html

        return scenario_html(self)

    def plot(self, ax: Axes | None = None, *, segment: str | None = None) -> Axes:
        """Shares as observed and after the changes, with the interval of the change.

        Parameters
        ----------
        ax
            Where to draw. Default: a new figure.
        segment
            Which segment. Default: the whole sample.
        """
        from ardchoice.estimation.scenarios.plot import plot_shares

        return plot_shares(self, ax, segment)


def _flows(before: Floats, after: Floats, weights: Floats) -> Floats:
    """From losers to gainers in proportion to gains, summed with weights; shape (S, J, J)."""
    change = after - before
    gain, loss = np.maximum(change, 0.0), np.maximum(-change, 0.0)
    total = gain.sum(axis=0)
    portion = np.divide(gain, total, out=np.zeros_like(gain), where=total > 0)
    return np.stack([(loss * w) @ portion.T for w in weights])


def make_scenario(
    simulator: Simulator,
    changes: Sequence[Change],
    uncertainty: Uncertainty,
    *,
    by: Sequence[str],
    cost: str | None,
    name: str | None = None,
) -> Scenario:
    """Apply changes, and make what is computed from them."""
    changed = simulator.change(changes)
    return Scenario(
        tuple(changes),
        tuple(by),
        cost,
        "; ".join(map(str, changes)) if name is None else name,
        simulator,
        changed,
        uncertainty,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Scenarios:
    """Several scenarios side by side. Made by `Result.scenarios`.

    Attributes
    ----------
    each
        By name.
    """

    each: Mapping[str, Scenario]

    def __getitem__(self, name: str) -> Scenario:
        return self.each[name]

    def __len__(self) -> int:
        return len(self.each)

    @property
    def shares(self) -> pd.DataFrame:
        """As `Scenario.shares`, with the name of each scenario first."""
        return self._below({name: sc.shares for name, sc in self.each.items()})

    @property
    def counts(self) -> pd.DataFrame:
        """As `Scenario.counts`, with the name of each scenario first."""
        return self._below({name: sc.counts for name, sc in self.each.items()})

    @property
    def surplus(self) -> pd.DataFrame:
        """As `Scenario.surplus`, with the name of each scenario first."""
        return self._below({name: sc.surplus for name, sc in self.each.items()})

    @property
    def table(self) -> pd.DataFrame:
        """Shares of every alternative, a column per scenario behind the one as observed."""
        first = next(iter(self.each.values()))
        keys = [k for k in ("segment", "alternative") if k in first.shares]
        frame = first.shares[[*keys, "base"]].copy()
        for name, scenario in self.each.items():
            frame[name] = scenario.totals.scenario.ravel() / np.repeat(
                scenario._segments.total, len(scenario.alternatives)
            )
        return DisplayFrame(frame)

    @property
    def notes(self) -> tuple[str, ...]:
        """Of all of them."""
        return tuple(f"{name}: {note}" for name, sc in self.each.items() for note in sc.notes)

    def _below(self, frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        parts = []
        for name, frame in frames.items():
            part = pd.DataFrame(frame)
            part.insert(0, "name", name)
            parts.append(part)
        return DisplayFrame(pd.concat(parts, ignore_index=True))

    def __str__(self) -> str:
        return "\n\n".join(str(scenario) for scenario in self.each.values())

    def __repr__(self) -> str:
        return f"<Scenarios: {', '.join(self.each)}>"

    def _repr_html_(self) -> str:
        return "".join(scenario._repr_html_() for scenario in self.each.values())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Shares of every alternative as observed and in every scenario."""
        from ardchoice.estimation.scenarios.plot import plot_side_by_side

        return plot_side_by_side(self, ax)
