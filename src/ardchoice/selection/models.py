"""Exact refits of sets of candidate terms, and quadratics around them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ardchoice.ard import ArdFit
from ardchoice.ard.likelihood import LogitLikelihood
from ardchoice.ard.quadratic import Quadratic, expand
from ardchoice.data import ChoiceData
from ardchoice.design import Design, Encoding
from ardchoice.logit import Block, Part, Sums, maximise, one_pass
from ardchoice.selection.constraints import Chosen

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

RIDGE = 1e-7
"""Share of the curvature at zero added as a prior precision: it holds an estimate that would run to
infinity, and moves a log-likelihood by far less than a criterion can notice."""
CLOSE = 1e-4
"""Log-likelihood still to be gained at which a refit is exact enough to be compared."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A set of terms at its maximum.

    Attributes
    ----------
    chosen
    loglik
    beta
        Coefficients of all candidates, zero outside; scaled, in the order of blocks; shape (D,).
    """

    chosen: Chosen
    loglik: float
    beta: Floats


class Models:
    """Everything that is estimated from one data set and one list of candidates.

    Columns are scaled to unit spread but not centred: a set of terms may lack the constant that
    centring leans on. They stand in the order in which blocks hold them.

    Parameters
    ----------
    data, encoding
        D columns.
    scale
        In the order of the terms; shape (D,).
    """

    def __init__(self, data: ChoiceData, encoding: Encoding, scale: Floats) -> None:
        self.data, self.encoding, self.scale = data, encoding, scale
        design = Design(data, encoding)
        self.likelihood = LogitLikelihood(design, np.zeros(len(scale)), scale)
        self.position = design.position
        self.columns: tuple[Ints, ...] = tuple(
            design.position[t.start : t.columns.stop] for t in encoding.terms
        )
        self.refits = 0
        self._known: dict[Chosen, Fitted] = {}

    @classmethod
    def of(cls, fit: ArdFit) -> Models:
        """For the candidates of a relevance fit."""
        return cls(fit.data, fit.encoding, fit.scale)

    @property
    def n(self) -> int:
        """Choice situations."""
        return len(self.data)

    def columns_of(self, chosen: Iterable[int]) -> Ints:
        """The columns of a set of terms, ascending."""
        return np.sort(np.concatenate([np.arange(0), *(self.columns[t] for t in chosen)]))

    def raw(self, beta: Floats) -> Floats:
        """Coefficients in the user's units and in the order of the terms; shape (D,)."""
        return np.asarray(beta[self.position] / self.scale)

    # -- Refits -------------------------------------------------------------------------------

    def refit(self, chosen: Chosen, start: Floats | None = None) -> Fitted:
        """The maximum likelihood of a set of terms; known sets are not fitted again.

        Parameters
        ----------
        chosen
        start
            Coefficients near the maximum; shape (D,).
        """
        if chosen not in self._known:
            self._known[chosen] = self._refit(chosen, start)
        return self._known[chosen]

    def _refit(self, chosen: Chosen, start: Floats | None) -> Fitted:
        self.refits += 1
        columns = self.columns_of(chosen)
        out = np.zeros(len(self.scale))
        if not len(columns):
            return Fitted(chosen, float(one_pass(out, self._blocks, 0).loglik), out)
        blocks, columns = self._some(chosen, columns)
        ridge = self.ridge[columns]
        begin = np.zeros(len(columns)) if start is None else start[columns]

        def penalised(beta: Floats, _: int) -> Sums:
            sums = one_pass(beta, blocks)
            return Sums(
                sums.loglik - 0.5 * float(ridge @ beta**2),
                sums.gradient - ridge * beta,
                sums.curvature + np.diag(ridge),
            )

        fit = maximise(penalised, begin, tolerance=CLOSE)
        out[columns] = fit.beta
        # What the last step gains is not in the log-likelihood of where it was measured.
        return Fitted(chosen, fit.loglik + fit.decrement + 0.5 * float(ridge @ fit.beta**2), out)

    def quadratic(self, fitted: Fitted) -> Quadratic:
        """The log-likelihood over all candidates around a refit, ridge included; one pass."""
        around = expand(one_pass(fitted.beta, self._blocks), fitted.beta)
        return Quadratic(around.constant, around.b, around.curvature + np.diag(self.ridge))

    @cached_property
    def ridge(self) -> Floats:
        """Prior precision of every column; shape (D,)."""
        # Squares of the columns tell the size of the curvature well enough.
        squares = np.zeros(len(self.scale))
        for block in self._blocks:
            for part in block.parts:
                squares[part.columns] += np.einsum("kab,kab->k", part.x, part.x)
        return RIDGE * squares / len(self.encoding.alternatives)

    def loglik_on(self, data: ChoiceData, fitted: Fitted) -> float:
        """The log-likelihood of other data at the coefficients of a refit."""
        kept = sorted(fitted.chosen)
        if not kept:
            return float(-np.log(data.available.sum(axis=0)) @ data.weights)
        zero = np.zeros(len(self.scale))
        some = LogitLikelihood(Design(data, self.encoding), zero, self.scale).restrict(kept)
        columns = np.concatenate([self.columns[t] for t in kept])[some.design.order]
        return float(one_pass(fitted.beta[columns], some._blocks, 0).loglik)

    # -- Blocks -------------------------------------------------------------------------------

    @property
    def _blocks(self) -> Iterable[Block]:
        return self.likelihood._blocks

    def _some(self, chosen: Chosen, columns: Ints) -> tuple[Iterable[Block], Ints]:
        """Blocks with the columns of some terms only, and which these are."""
        if isinstance(self._blocks, list):
            return [subset(block, columns) for block in self._blocks], columns
        restricted = self.likelihood.restrict(sorted(chosen))
        inside = np.concatenate([self.columns[t] for t in sorted(chosen)])
        return restricted._blocks, inside[restricted.design.order]


def subset(block: Block, columns: Ints) -> Block:
    """A block with some of its columns, ascending."""
    parts, start = [], 0
    for part in block.parts:
        first, last = np.searchsorted(columns, [part.columns.start, part.columns.stop])
        if last > first:
            inside = columns[first:last] - part.columns.start
            width = last - first
            parts.append(Part(part.alternatives, slice(start, start + width), part.x[inside]))
            start += width
    return Block(tuple(parts), block.available, block.choice, block.weight, block.shape)
