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
OBJECTIVE_ROUNDING = 1e-10
"""Share of an objective that is rounding."""
SMALLEST_STEP = 1e-4
"""Share of a Newton step below which nothing is gained any more."""
MOST_GROWTHS = 12
"""Passes in which variances and coefficients grow together."""
GROWN_LOGLIK = 0.3
"""Log-likelihood that growing may still gain."""
GROWTH_NOISE = 1.0
"""Log-likelihood that a step may lose: the gradient leaves out how curvature moves with tastes."""
SMALLEST_GROWTH = 0.1
LARGEST_GROWTH = 1.4
"""Of the logarithm of a variance in a step: a factor of four."""
WIDENING, MOST_WIDENINGS = 1.0, 3
"""Step of the logarithm of all variances, and how many are tried."""
VARIANCE_RIDGE = 1e-9
"""Information on the logarithm of a variance that is added, should answers say nothing of it."""
SAFE_GAIN = 3.0
"""How many times what a Newton step promises a refit may still gain."""


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
        out._marginals = {}
        return out

    _v: Floats
    _marginals: dict[TermSet, ModeSums]

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
        self._known.clear()
        self._marginals.clear()

    @property
    def scale_in_blocks(self) -> Floats:
        """Of every column, in the order of blocks; shape (D,)."""
        return np.asarray(self.scale[self.likelihood.design.order])

    # -- Refits -------------------------------------------------------------------------------

    def _refit(self, selected: TermSet, start: Floats | None, wanted: float) -> Refit:
        if not self.tastes:
            return super()._refit(selected, start, wanted)
        blocks, inside, measure = self._working(selected)
        own = np.flatnonzero(np.isin(inside, columns_of(self.columns, selected)))
        beta = np.zeros(len(inside))
        if start is not None:
            beta[own] = start[inside[own]]
        precision = self.ridge[inside]
        step, size, last = np.zeros_like(beta), 1.0, -np.inf
        loglik, below = -np.inf, -np.inf
        for _ in range(MAX_STEPS):
            trial = beta + size * step
            here = self._measured(replace(measure, beta=trial, v=self._v), blocks)
            value = here.objective - 0.5 * float(precision @ trial**2)
            if not value >= last - OBJECTIVE_ROUNDING * abs(value):
                if size < SMALLEST_STEP:
                    break
                size *= 0.5
                continue
            beta, last, size = trial, value, 1.0
            self._v = here.people(self._v)
            found = here.marginal
            gradient = found.gradient[own] - precision[own] * beta[own]
            h = found.curvature[np.ix_(own, own)] + np.diag(precision[own])
            step = np.zeros_like(beta)
            step[own] = np.linalg.solve(h, gradient)
            gain = 0.5 * float(gradient @ step[own])
            loglik = found.loglik
            if gain <= REFIT_TOLERANCE:
                # What the last step gains is not in the log-likelihood of where it was measured.
                beta, loglik = beta + step, loglik + gain
                break
            if loglik + SAFE_GAIN * gain < wanted:
                below = wanted
                break
        out = np.zeros(len(self.scale))
        out[inside] = beta
        return Refit(selected, loglik, out, below)

    def grow(self, fitted: Refit) -> Refit:
        """The variances of the tastes and the coefficients together, by Laplace's approximation.

        Every pass gives a step of both: what F gains by the variances is known at the modes.
        """
        if not self.tastes:
            return fitted
        blocks, inside, measure = self._working(fitted.selected)
        own = np.flatnonzero(np.isin(inside, columns_of(self.columns, fitted.selected)))
        beta, log_variance = fitted.beta[inside], np.log(self.variance)
        precision, size, last = self.ridge[inside], 1.0, -np.inf
        step, widen = np.zeros_like(beta), np.zeros_like(log_variance)
        for _ in range(MOST_GROWTHS):
            sd = np.exp(0.5 * (log_variance + size * widen))
            v = self._v * (np.sqrt(self.variance) / sd)
            trial = beta + size * step
            here = self._measured(replace(measure, beta=trial, sd=sd, v=v), blocks)
            found = here.marginal
            value = found.loglik - 0.5 * float(precision @ trial**2)
            if value < last - GROWTH_NOISE and size > SMALLEST_GROWTH:
                size *= 0.4
                continue
            beta, last, size = trial, value, 1.0
            log_variance = 2 * np.log(sd)
            self.variance, self._v = sd**2, here.people(v)
            gradient = found.gradient[own] - precision[own] * beta[own]
            h = found.curvature[np.ix_(own, own)] + np.diag(precision[own])
            step[own] = np.linalg.solve(h, gradient)
            widen = _variance_step(here)
            gain = 0.5 * float(gradient @ step[own]) + 0.5 * abs(float(here.by_variance @ widen))
            if gain < GROWN_LOGLIK:
                break
        self._known.clear()
        self._marginals.clear()
        start = np.zeros_like(fitted.beta)
        start[inside] = beta
        return self.refit(fitted.selected, start)

    def widen(self, fitted: Refit) -> Refit:
        """All variances larger by one factor, and the coefficients refitted, while F rises.

        Steps of variances leave out how the curvature moves with tastes, and stop too early: at
        strong heterogeneity by a factor of two.
        """
        if not self.tastes:
            return fitted
        base, logs, values = self.variance, [0.0], [fitted.loglik]
        best = (fitted, self.variance, self._v)
        while len(logs) <= MOST_WIDENINGS:
            if len(logs) > 1 and values[-1] < values[-2]:
                break
            logs.append(logs[-1] + WIDENING)
            found = self._scaled(best, base * np.exp(logs[-1]))
            values.append(found.loglik)
            if found.loglik > best[0].loglik:
                best = (found, self.variance, self._v)
        if len(logs) > 2 and values[-1] < values[-2]:
            fall, rise = values[-2] - values[-1], values[-2] - values[-3]
            vertex = logs[-2] + 0.5 * WIDENING * (rise - fall) / (rise + fall)
            found = self._scaled(best, base * np.exp(vertex))
            if found.loglik > best[0].loglik:
                best = (found, self.variance, self._v)
        if self.variance is not best[1]:
            self.set_tastes(self.tastes, best[1], best[2])
            self._known[fitted.selected] = best[0]
        return best[0]

    def _scaled(self, near: tuple[Refit, Floats, Floats], variance: Floats) -> Refit:
        """The same terms with variances that are some factor larger, and what grows with them."""
        fitted, before, people = near
        self.set_tastes(self.tastes, variance, people)
        grown = fitted.beta * float(np.sqrt(variance[0] / before[0]))
        return self.refit(fitted.selected, grown)

    def _working(self, selected: TermSet) -> tuple[Iterable[Block], Ints, ModeMeasure]:
        """Blocks with the columns of a set and those that tastes multiply, and which these are."""
        wanted = selected.union(*(taste.needs for taste in self.tastes))
        blocks, inside = self._some(wanted, columns_of(self.columns, wanted))
        place = np.zeros(len(self.scale), dtype=np.intp)
        place[inside] = np.arange(len(inside))
        columns = tuple(taste.column.moved(place) for taste in self.tastes)
        sd = np.sqrt(self.variance)
        return blocks, inside, ModeMeasure(np.zeros(len(inside)), columns, sd, self._v)

    def _measured(self, measure: ModeMeasure, blocks: Iterable[Block]) -> ModeSums:
        self.passes += 1
        return map_reduce(measure, blocks)

    def marginal(self, fitted: Refit, *, meat: bool = False) -> ModeSums:
        """Sums over all candidates at a refit; one pass, unless they are known."""
        known = self._marginals.get(fitted.selected)
        if known is not None and not meat:
            return known
        columns = tuple(taste.column for taste in self.tastes)
        measure = ModeMeasure(fitted.beta, columns, np.sqrt(self.variance), self._v, meat=meat)
        found = self._measured(measure, self._blocks)
        self._v = found.people(self._v)
        self._marginals[fitted.selected] = found
        return found

    def quadratic(self, fitted: Refit) -> Quadratic:
        """F over all candidates around a refit, held by the ridge; one pass."""
        if not self.tastes:
            return super().quadratic(fitted)
        return self.quadratic_of(self.marginal(fitted).marginal, fitted)

    def quadratic_of(self, found: Sums, fitted: Refit) -> Quadratic:
        """The same from sums that are at hand."""
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
        self.passes += 1
        return map_reduce(measure, blocks), len(own)

    def modes_at(self, fitted: Refit) -> Floats:
        """The tastes of all persons at a refit; shape (persons, q)."""
        blocks, inside, measure = self._working(fitted.selected)
        found = self._measured(replace(measure, beta=fitted.beta[inside], order=0), blocks)
        self._v = found.people(self._v)
        return self._v

    def _shifts(self, fitted: Refit, candidates: Sequence[Taste]) -> Floats:
        """U of every person along the candidate tastes; (persons, E)."""
        out = np.zeros((len(self._v), len(candidates)))
        if self.tastes:
            u = self.modes_at(fitted) * np.sqrt(self.variance)
            names = [taste.name for taste in candidates]
            for k, taste in enumerate(self.tastes):
                if taste.name in names:
                    out[:, names.index(taste.name)] = u[:, k]
        return out


def _variance_step(here: ModeSums) -> Floats:
    """Of the logarithms of the variances; shape (q,)."""
    information = here.variance_information.copy()
    information.flat[:: len(information) + 1] += VARIANCE_RIDGE
    step = np.linalg.solve(information, here.by_variance)
    return np.asarray(np.clip(step, -LARGEST_GROWTH, LARGEST_GROWTH))


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
