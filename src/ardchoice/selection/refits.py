"""Exact refits of sets of candidate terms, and quadratics around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.ard import (
    ArdFit,
    ColumnMoments,
    FamilyLikelihood,
    Quadratic,
    Standardization,
    change_basis,
    expand,
    free_centre,
)
from ardchoice.checkpoints import Journal
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import (
    BLOCK_BYTES,
    Block,
    CachedBlocks,
    Design,
    Encoding,
    Part,
    StreamedBlocks,
)
from ardchoice.estimation import Model, null_loglik, prediction
from ardchoice.families import Family, Mnl, climb, family_pass
from ardchoice.numerics import Sums, map_reduce, newton_step, penalised, profile_out
from ardchoice.selection.constraints import TermSet
from ardchoice.selection.surrogate import columns_of
from ardchoice.space import Term

RIDGE_SHARE = 1e-7
"""Share of the curvature at zero added as a prior precision: it holds an estimate that would run to
infinity, and moves a log-likelihood by far less than a criterion can notice."""
CONSTANT_COLUMN_SHARE = 1e-12
"""Share of its squares below which the spread of a column is rounding."""
BAD_START_DECREMENT = 100.0
"""Log-likelihood to be gained at a start that is no help."""
REFIT_TOLERANCE = 2e-3
"""Log-likelihood still to be gained at which a refit is exact enough to be compared."""


@dataclass(frozen=True, eq=False)
class Refit:
    """A set of terms at its maximum.

    Attributes
    ----------
    selected
    loglik
    beta
        Coefficients of all candidates, zero outside; scaled, in the order of blocks; shape (D,).
    below
        Not exact, only known to be below this log-likelihood; minus infinity where it is exact.
    extras
        Parameters of the family besides coefficients, by name.
    """

    selected: TermSet
    loglik: float
    beta: Floats
    below: float = -np.inf
    extras: Mapping[str, float] = field(default_factory=dict)


class RefitCache:
    """Everything that is estimated from one data set, one list of candidates and one family.

    Columns are scaled to unit spread but not centred, unless that needs no constant: a set of terms
    may lack the one that centring leans on. They stand in the order in which blocks hold them.

    Parameters
    ----------
    data, encoding
        D columns.
    scale
        In the order of the terms; shape (D,).
    journal
        Of refits, if what is asked for in the same order need not be fitted again.
    spread
        Of the columns over the rows of these data where available, if it is known.
    family
        Default: `Mnl()`.
    extras
        Parameters of the family besides coefficients, by name, near their best.
    centre
        Of columns far from zero whose shift changes nothing; shape (D,). Default: zero.
    """

    def __init__(
        self,
        data: ChoiceData,
        encoding: Encoding,
        scale: Floats,
        journal: Journal | None = None,
        spread: ColumnMoments | None = None,
        *,
        family: Family = Mnl(),  # noqa: B008 - frozen
        extras: Mapping[str, float] | None = None,
        centre: Floats | None = None,
    ) -> None:
        data = with_unit_weights(grouped_by_person(data))
        self.data, self.encoding, self.scale = data, encoding, scale
        self.centre = np.zeros(len(scale)) if centre is None else centre
        design = Design(data, encoding)
        self.family = family
        self.likelihood = FamilyLikelihood(design, self.centre, scale, family, extras)
        self.layout, self._extras = self.likelihood.layout, self.likelihood.extras
        self.position = design.position
        self.columns: tuple[Ints, ...] = tuple(
            design.position[t.start : t.columns.stop] for t in encoding.terms
        )
        self.refits, self.passes, self.journal = 0, 0, journal
        self._known: dict[TermSet, Refit] = {}
        if spread is not None:
            self.__dict__["ridge"] = _ridge_of(spread, scale, encoding)[design.order]

    @classmethod
    def of(cls, fit: ArdFit, journal: Journal | None = None) -> RefitCache:
        """For the candidates of a relevance fit."""
        return cls._of(fit, journal, None)

    @classmethod
    def of_many(cls, fit: ArdFit, journal: Journal | None = None) -> RefitCache:
        """The same for large data: moments of columns that relevance took are not taken again."""
        weight = fit.data.weight
        same = fit.spread.over == "available" and (weight is None or bool(weight.all()))
        return cls._of(fit, journal, fit.spread if same else None)

    @classmethod
    def _of(cls, fit: ArdFit, journal: Journal | None, spread: ColumnMoments | None) -> RefitCache:
        family, extras = fit.family, fit.extras
        centre = free_centre(fit.centre, fit.scale, fit.encoding)
        return cls(
            fit.data,
            fit.encoding,
            fit.scale,
            journal,
            spread,
            family=family,
            extras=extras,
            centre=centre,
        )

    def around_relevance(self, fit: ArdFit) -> Quadratic:
        """The quadratic of a relevance fit on these columns, held by the ridge; no pass.

        Its columns were centred, and their constants knew: these take it up.
        """
        change = change_basis(
            Standardization(fit.centre, fit.scale),
            Standardization(self.centre, self.scale),
            self.encoding,
        )
        old, order = fit.quadratic, self.likelihood.design.order
        weight = 1.0 if fit.data.weight is None else len(self.data) / fit.data.total_weight
        b, h = change.linear(old.b)[order], change.curvature(old.curvature)[np.ix_(order, order)]
        beta = change.coefficients(fit.mean)[order]
        constant = weight * old.constant + 0.5 * float(self.ridge @ beta**2)
        return Quadratic(constant, weight * b, weight * h + np.diag(self.ridge))

    @classmethod
    def for_terms(cls, data: ChoiceData, terms: Iterable[Term]) -> RefitCache:
        """For terms that are learned from the data, on columns of unit spread."""
        design = Design(data, tuple(terms))
        spread = design.moments(design.passing())
        scale = np.where(spread.sd > 0, spread.sd, 1.0)
        centre = free_centre(spread.mean, scale, design.encoding)
        return cls(data, design.encoding, scale, centre=centre)

    @property
    def n(self) -> int:
        """Choice situations."""
        return len(self.data)

    def model(self, fitted: Refit) -> Model:
        """What a refit predicts with, in the user's units."""
        kept = sorted(fitted.selected)
        encoding = self.encoding.restrict(kept)
        extras = self.family.layout(encoding).extra_values(fitted.extras)
        beta = self.raw(fitted.beta)[self.encoding.columns_of(kept)]
        return Model(np.concatenate([beta, extras]), encoding, self.family)

    def raw(self, beta: Floats) -> Floats:
        """Coefficients in the user's units and in the order of the terms; shape (D,)."""
        return np.asarray(beta[self.position] / self.scale)

    # -- Refits -------------------------------------------------------------------------------

    def refit(
        self, selected: TermSet, start: Floats | None = None, wanted: float = -np.inf
    ) -> Refit:
        """The maximum likelihood of a set of terms; what is known well enough is not fitted again.

        Parameters
        ----------
        selected
        start
            Coefficients near the maximum; shape (D,).
        wanted
            A log-likelihood below which the result need not be exact.
        """
        known = self._known.get(selected)
        if known is None or known.below > wanted:
            known = self._known[selected] = self._noted(selected, start, wanted)
        return known

    def _noted(self, selected: TermSet, start: Floats | None, wanted: float) -> Refit:
        """The next refit: from the journal if it is there, else fitted and put there."""
        at, self.refits = self.refits, self.refits + 1
        if self.journal is None:
            return self._refit(selected, start, wanted)
        columns, terms = columns_of(self.columns, selected), sorted(selected)
        if at < len(self.journal) and self.journal[at]["terms"] == terms:
            entry = self.journal[at]
            beta = np.zeros(len(self.scale))
            beta[columns] = entry["beta"]
            loglik, below = float(entry["loglik"]), float(entry["below"])
            return Refit(selected, loglik, beta, below, dict(entry.get("extras", {})))
        fitted = self._refit(selected, start, wanted)
        if at == len(self.journal):
            self.journal.append(
                {
                    "terms": terms,
                    "loglik": fitted.loglik,
                    "below": fitted.below,
                    "beta": fitted.beta[columns],
                    "extras": dict(fitted.extras),
                }
            )
        return fitted

    def _refit(self, selected: TermSet, start: Floats | None, wanted: float) -> Refit:
        columns = columns_of(self.columns, selected)
        out = np.zeros(len(self.scale))
        if not len(columns):
            return Refit(selected, null_loglik(self.data), out)
        blocks, columns = self._some(selected, columns)
        layout, d = self.layout.subset(columns), len(columns)
        extras = layout.extra_values(self._extras)
        precision = np.concatenate([self.ridge[columns], np.zeros(len(extras))])

        def evaluate(theta: Floats, _: bool) -> Sums:
            self.passes += 1
            return family_pass(self.family, layout, theta, blocks)

        begin, first = self._begin(evaluate, precision, start, columns, extras)
        fit = climb(
            self.family,
            layout,
            evaluate,
            begin,
            first=first,
            precision=precision,
            tolerance=REFIT_TOLERANCE,
            wanted=wanted,
        )
        out[columns] = fit.beta[:d]
        # What the last step gains is not in the log-likelihood of where it was measured.
        loglik = fit.loglik + fit.decrement + 0.5 * float(precision @ fit.beta**2)
        below = -np.inf if fit.converged else wanted
        values = fit.beta[d:].tolist()
        return Refit(selected, loglik, out, below, dict(zip(layout.names[d:], values, strict=True)))

    def _begin(
        self,
        evaluate: Callable[[Floats, bool], Sums],
        precision: Floats,
        start: Floats | None,
        columns: Ints,
        extras: Floats,
    ) -> tuple[Floats, Sums | None]:
        """Where a refit starts, and the penalised sums there if they were taken."""
        zero = np.concatenate([np.zeros(len(columns)), extras])
        if start is None:
            return zero, None
        begin = np.concatenate([start[columns], extras])
        first = penalised(evaluate(begin, False), begin, precision)
        # Where a surrogate was wrong by far, the curvature may be gone: zero is a safer start.
        if 0.5 * float(first.gradient @ newton_step(first)) > BAD_START_DECREMENT:
            return zero, None
        return begin, first

    def quadratic(self, fitted: Refit) -> Quadratic:
        """The log-likelihood over all candidates around a refit, held by the ridge; one pass.

        What the ridge takes from the refit itself is given back: coefficients that only the ridge
        holds can be large, and a quadratic that is below its own refit underrates all around it.
        """
        self.passes += 1
        extras, d = self.layout.extra_values({**self._extras, **fitted.extras}), len(fitted.beta)
        theta = np.concatenate([fitted.beta, extras])
        sums = family_pass(self.family, self.layout, theta, self._blocks)
        if len(extras):
            sums = profile_out(sums, d, self.layout.at_bound(theta)[d:]).sums
        around = expand(sums, fitted.beta)
        constant = around.constant + 0.5 * float(self.ridge @ fitted.beta**2)
        return Quadratic(constant, around.b, around.curvature + np.diag(self.ridge))

    @cached_property
    def ridge(self) -> Floats:
        """Prior precision of every column; shape (D,)."""
        squares, sums, count = map_reduce(_sizes, self._blocks)
        beyond = squares - sums**2 / np.maximum(count, 1)
        return _ridge(squares, beyond, len(self.encoding.alternatives))

    def loglik_on(self, data: ChoiceData, fitted: Refit) -> float:
        """The log-likelihood of other data at the coefficients of a refit."""
        if not fitted.selected:
            return null_loglik(data)
        return prediction(self.model(fitted), data).loglik

    # -- Blocks -------------------------------------------------------------------------------

    @property
    def _blocks(self) -> CachedBlocks | StreamedBlocks:
        return self.likelihood.blocks

    def _some(self, selected: TermSet, columns: Ints) -> tuple[Iterable[Block], Ints]:
        """Blocks with the columns of some terms only, and which these are."""
        if isinstance(self._blocks, CachedBlocks):
            return subset(self._blocks, columns), columns
        restricted = self.likelihood.restrict(sorted(selected))
        inside = np.concatenate([self.columns[t] for t in sorted(selected)])
        return restricted.blocks, inside[restricted.design.order]


def _ridge_of(spread: ColumnMoments, scale: Floats, encoding: Encoding) -> Floats:
    """The ridge, from how the columns lie; shape (D,)."""
    beyond = spread.count * (spread.sd / scale) ** 2
    squares = beyond + spread.count * (spread.mean / scale) ** 2
    return _ridge(squares, beyond, len(encoding.alternatives))


def _ridge(squares: Floats, beyond: Floats, alternatives: int) -> Floats:
    """From the squares of columns, and those beyond their means.

    What a column says beyond its mean; a constant has nothing else to say. Where rows have none of
    it at all, a weight of one holds the coefficient at zero.
    """
    size = np.where(beyond > CONSTANT_COLUMN_SHARE * squares, beyond, squares)
    return np.where(squares > 0, RIDGE_SHARE * size / alternatives, 1.0)


def _sizes(block: Block) -> Floats:
    """Squares, sum and count of the values of every column; shape (3, D)."""
    out = np.zeros((3, block.n_columns))
    for part in block.parts:
        here = block.available
        x, k = part.x, part.columns
        out[0, k] = np.einsum("kab,kab->k", x, x)
        out[1, k] = x.sum(axis=(1, 2))
        out[2, k] = x[0].size if here is None else here[list(part.alternatives)].sum()
    return out


def with_unit_weights(data: ChoiceData) -> ChoiceData:
    """Weights that average to one, rows of weight zero dropped: a criterion counts situations."""
    if data.weight is None:
        return data
    if not data.weight.all():
        data = data.take(data.weight > 0)
    weight = data.weights
    return replace(data, weight=weight / weight.mean())


def subset(blocks: Sequence[Block], columns: Ints) -> list[Block]:
    """Blocks with some of their columns, ascending: fewer of them, for they are smaller."""
    width = sum(b - a for a, b in _inside(blocks[0], columns))
    rows = max(1, BLOCK_BYTES // (8 * max(width, 1)))
    out: list[Block] = []
    waiting: list[Block] = []
    for block in blocks:
        waiting.append(block)
        if sum(b.shape[1] for b in waiting) >= rows:
            out.append(_joined(waiting, columns))
            waiting = []
    return [*out, _joined(waiting, columns)] if waiting else out


def _inside(block: Block, columns: Ints) -> list[tuple[int, int]]:
    """Which of the wanted columns each part has: a range of them."""
    return [
        (int(a), int(b))
        for a, b in (
            np.searchsorted(columns, [p.columns.start, p.columns.stop]) for p in block.parts
        )
    ]


def _joined(blocks: Sequence[Block], columns: Ints) -> Block:
    """Some columns of several blocks, one below the other."""
    n = sum(block.shape[1] for block in blocks)
    parts, start = [], 0
    for i, (first, last) in enumerate(_inside(blocks[0], columns)):
        if last == first:
            continue
        part = blocks[0].parts[i]
        inside = columns[first:last] - part.columns.start
        x = np.empty((last - first, len(part.alternatives), n))
        at = 0
        for block in blocks:
            rows = block.shape[1]
            np.take(block.parts[i].x, inside, axis=0, out=x[:, :, at : at + rows], mode="clip")
            at += rows
        parts.append(Part(part.alternatives, slice(start, start + last - first), x))
        start += last - first
    everywhere = all(block.available is None for block in blocks)
    shown = [
        np.ones(block.shape, dtype=bool) if block.available is None else block.available
        for block in blocks
    ]
    weights = [block.weight for block in blocks if block.weight is not None]
    persons = [block.person for block in blocks if block.person is not None]
    covariates = [block.covariates for block in blocks if block.covariates is not None]
    return Block(
        parts=tuple(parts),
        available=None if everywhere else np.concatenate(shown, axis=1),
        choice=np.concatenate([block.choice for block in blocks]),
        weight=np.concatenate(weights) if weights else None,
        shape=(blocks[0].shape[0], n),
        person=np.concatenate(persons) if persons else None,
        covariates=np.concatenate(covariates, axis=1) if covariates else None,
    )
