"""Refits of sets of terms with given random coefficients, tastes integrated out by Laplace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.ard import ArdFit, Quadratic, expand
from ardchoice.checkpoints import Journal
from ardchoice.design import Block, Part
from ardchoice.families import (
    ModeMeasure,
    ModeSums,
    PersonQuadratics,
    person_quadratics,
    taste_values,
)
from ardchoice.numerics import Sums, map_reduce
from ardchoice.selection.constraints import TermSet
from ardchoice.selection.joint.tastes import Taste
from ardchoice.selection.refits import REFIT_TOLERANCE, Refit, RefitCache
from ardchoice.selection.surrogate import columns_of

MAX_STEPS = 25
"""Newton steps of a refit."""
MODES_TOLERANCE = 1e-2
"""Log-likelihood that tastes alone could still gain where a quadratic is made."""
MODES_REMEMBERED = 4
"""Refits whose tastes are kept."""


class TasteRefits(RefitCache):
    """The refits of an MNL search, with some coefficients random.

    What is maximised is F (see `families.mixed.modes`) with the variances of the tastes given. A
    search over terms works on it unchanged.
    """

    tastes: tuple[Taste, ...] = ()
    variance: Floats = np.zeros(0)

    @classmethod
    def with_tastes(
        cls, fit: ArdFit, near: RefitCache | None = None, journal: Journal | None = None
    ) -> TasteRefits:
        """For the candidates of a relevance fit."""
        out = cls.of(fit, journal)
        assert isinstance(out, TasteRefits)  # noqa: S101 - for the type checker
        if near is not None:
            out.likelihood, out.__dict__["ridge"] = near.likelihood, near.ridge
        people = 1 if out.data.person is None else int(out.data.person.max()) + 1
        out._v = np.zeros((people, 0))
        out._modes = {}
        return out

    _v: Floats
    _modes: dict[TermSet, Floats]

    @property
    def people(self) -> Floats:
        """Tastes of every person in units of their standard deviations; shape (persons, q)."""
        return self._v

    def set_tastes(
        self, tastes: Sequence[Taste], variance: Floats, people: Floats | None = None
    ) -> None:
        """Other random coefficients, or other variances: all refits are forgotten."""
        u = self._v * np.sqrt(self.variance)
        before = {taste.name: u[:, k] for k, taste in enumerate(self.tastes)}
        self.tastes, self.variance = tuple(tastes), np.asarray(variance, dtype=float)
        v = np.zeros((len(self._v), len(self.tastes)))
        for k, taste in enumerate(self.tastes):
            if taste.name in before:
                v[:, k] = before[taste.name] / np.sqrt(self.variance[k])
        self._v = v if people is None else people
        self._modes.clear()
        self._known.clear()

    @property
    def scale_in_blocks(self) -> Floats:
        """Of every column, in the order of blocks; shape (D,)."""
        return np.asarray(self.scale[self.likelihood.design.order])

    # -- Refits -------------------------------------------------------------------------------

    def _refit(self, selected: TermSet, start: Floats | None, wanted: float) -> Refit:
        if not self.tastes:
            return super()._refit(selected, start, wanted)
        blocks, inside, measure = self._working(selected)
        own = np.isin(inside, columns_of(self.columns, selected))
        beta = np.zeros(len(inside)) if start is None else np.where(own, start[inside], 0.0)
        precision = self.ridge[inside]
        v, here, gain, loglik, below = self._v, None, np.inf, 0.0, -np.inf
        step, size = _Step(np.zeros_like(beta), {}), 1.0
        last = -np.inf
        for _ in range(MAX_STEPS):
            trial, moved = beta + size * step.beta, _moved(v, step, size)
            here = self._measured(replace(measure, beta=trial, v=moved), blocks)
            value = here.objective - 0.5 * float(precision @ trial**2)
            if value < last - 1e-9 * abs(last) and size > 1e-3:
                size *= 0.5
                continue
            beta, v, last, size = trial, moved, value, 1.0
            step, gain = _step(here, beta, own, precision)
            loglik = here.marginal.loglik + gain
            if gain <= REFIT_TOLERANCE:
                break
            if loglik + gain < wanted:
                below = wanted
                break
        beta, v = beta + step.beta, _moved(v, step, 1.0)
        self._remember(selected, v)
        out = np.zeros(len(self.scale))
        out[inside] = beta
        return Refit(selected, loglik, out, below)

    def _working(self, selected: TermSet) -> tuple[Iterable[Block], Ints, ModeMeasure]:
        """Blocks with the columns of a set and those that tastes multiply, and which these are."""
        wanted = selected.union(*(taste.needs for taste in self.tastes))
        blocks, inside = self._some(wanted, columns_of(self.columns, wanted))
        place = np.zeros(len(self.scale), dtype=np.intp)
        place[inside] = np.arange(len(inside))
        columns = tuple(taste.column.moved(place) for taste in self.tastes)
        sd = np.sqrt(self.variance)
        return blocks, inside, ModeMeasure(np.zeros(len(inside)), columns, sd, self._v, steps=True)

    def _measured(self, measure: ModeMeasure, blocks: Iterable[Block]) -> ModeSums:
        self.passes += 1
        return map_reduce(measure, blocks)

    def _remember(self, selected: TermSet, v: Floats) -> None:
        self._v = self._modes[selected] = v
        while len(self._modes) > MODES_REMEMBERED:
            del self._modes[next(iter(self._modes))]

    def modes(self, fitted: Refit) -> Floats:
        """Tastes of all persons at a refit; (persons, q)."""
        if fitted.selected not in self._modes:
            # Only coefficients were kept: tastes are found again.
            blocks, inside, measure = self._working(fitted.selected)
            beta, v = fitted.beta[inside], self._v
            for _ in range(MAX_STEPS):
                here = self._measured(replace(measure, beta=beta, v=v), blocks)
                none = np.zeros(len(inside), dtype=bool)
                step, gain = _step(here, beta, none, self.ridge[inside])
                v = _moved(v, step, 1.0)
                if gain <= MODES_TOLERANCE:
                    break
            self._remember(fitted.selected, v)
        return self._modes[fitted.selected]

    def marginal(self, fitted: Refit, *, meat: bool = False) -> ModeSums:
        """Sums over all candidates at a refit; one pass."""
        measure = ModeMeasure(
            fitted.beta,
            tuple(taste.column for taste in self.tastes),
            np.sqrt(self.variance),
            self.modes(fitted),
            meat=meat,
        )
        return self._measured(measure, self._blocks)

    def quadratic(self, fitted: Refit) -> Quadratic:
        """F over all candidates around a refit, held by the ridge; one pass."""
        if not self.tastes:
            return super().quadratic(fitted)
        found = self.marginal(fitted).marginal
        around = expand(found, fitted.beta)
        constant = around.constant + 0.5 * float(self.ridge @ fitted.beta**2)
        return Quadratic(constant, around.b, around.curvature + np.diag(self.ridge))

    def person_quadratics(
        self, fitted: Refit, candidates: Sequence[Taste]
    ) -> tuple[PersonQuadratics, int]:
        """Of every person over the columns of a refit and all candidate tastes, about β.

        Returns
        -------
        quadratics
            Made at the modes, written about the common coefficients.
        fixed
            How many columns are the refit's own: d.
        """
        wanted = fitted.selected.union(*(taste.needs for taste in candidates))
        blocks, inside = self._some(wanted, columns_of(self.columns, wanted))
        place = np.zeros(len(self.scale), dtype=np.intp)
        place[inside] = np.arange(len(inside))
        own = columns_of(self.columns, fitted.selected)
        measure = _QuadraticsMeasure(
            place[own],
            fitted.beta[own],
            tuple(taste.column.moved(place) for taste in candidates),
            self._shifts(fitted, candidates),
        )
        # TasteColumn tuples are frozen: blocks of a stream can be measured elsewhere.
        self.passes += 1
        return map_reduce(measure, blocks), len(own)

    def _shifts(self, fitted: Refit, candidates: Sequence[Taste]) -> Floats:
        """U of every person along the candidate tastes; (persons, E)."""
        out = np.zeros((len(self._v), len(candidates)))
        if self.tastes:
            u = self.modes(fitted) * np.sqrt(self.variance)
            names = [taste.name for taste in candidates]
            for k, taste in enumerate(self.tastes):
                if taste.name in names:
                    out[:, names.index(taste.name)] = u[:, k]
        return out


class _Step:
    """Where coefficients and tastes go."""

    def __init__(self, beta: Floats, tastes: dict[int, tuple[Ints, Floats]]) -> None:
        self.beta, self.tastes = beta, tastes


def _step(here: ModeSums, beta: Floats, own: np.ndarray, precision: Floats) -> tuple[_Step, float]:
    """A Newton step of coefficients and tastes, and what it is expected to gain."""
    marginal: Sums = here.marginal
    at = np.flatnonzero(own)
    delta = np.zeros(len(own))
    gradient = marginal.gradient[at] - precision[at] * beta[at]
    if len(at):
        h = marginal.curvature[np.ix_(at, at)] + np.diag(precision[at])
        delta[at] = np.linalg.solve(h, gradient)
    moves = {
        i: (codes, step - slope @ delta)
        for i, (codes, step, slope) in enumerate(
            zip(here.codes, here.steps, here.slopes, strict=True)
        )
    }
    return _Step(delta, moves), here.person_decrement + 0.5 * float(gradient @ delta[at])


def _moved(v: Floats, step: _Step, size: float) -> Floats:
    out = v.copy()
    for codes, move in step.tastes.values():
        out[codes] += size * move
    return out


class _QuadraticsMeasure:
    """`person_quadratics` of a block with columns for candidate tastes."""

    def __init__(self, own, beta, tastes, shift) -> None:  # type: ignore[no-untyped-def]
        self.own, self.beta, self.tastes, self.shift = own, beta, tastes, shift

    def __call__(self, block: Block) -> PersonQuadratics:
        """Of one block."""
        d, e = len(self.own), len(self.tastes)
        everywhere = tuple(range(block.shape[0]))
        x = np.zeros((d + e, *block.shape))
        position = {int(c): k for k, c in enumerate(self.own)}
        for part in block.parts:
            for row, column in enumerate(range(part.columns.start, part.columns.stop)):
                if column in position:
                    x[position[column], list(part.alternatives)] = part.x[row]
        x[d:] = taste_values(block, self.tastes)
        wide = replace(block, parts=(Part(everywhere, slice(0, d + e), x),))
        person = np.arange(block.shape[1]) if block.person is None else block.person
        starts = np.append(0, 1 + np.flatnonzero(person[1:] != person[:-1]))
        shift = np.zeros((len(starts), d + e))
        shift[:, d:] = self.shift[person[starts]]
        beta = np.concatenate([self.beta, np.zeros(e)])
        return person_quadratics(wide, beta, shift=shift).about(shift)
