"""Relevance and estimates, as they stand in a file."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ardchoice.ard import (
    ArdFit,
    ColumnMoments,
    Dsvi,
    DsviPaper,
    Newton,
    OnlineState,
    Prior,
    Quadratic,
    Standardization,
    Step,
)
from ardchoice.design import Encoding, Levels, Rows, TermColumns
from ardchoice.estimation import Result
from ardchoice.saved.choices import SavedChoices, SavedSpace, SavedSpecification
from ardchoice.saved.plain import Saved, one_of
from ardchoice.saved.shelf import Archive, Key

SavedSolver = Annotated[Any, one_of(Newton, Dsvi, DsviPaper)]


class SavedColumns(Saved):
    """`TermColumns`."""

    term: str
    alternatives: tuple[int, ...]
    parameters: tuple[float, ...]
    base: Levels | None
    by: tuple[Levels, ...]
    times: tuple[str, ...]
    names: tuple[str, ...]
    start: int


class SavedEncoding(Saved):
    """`Encoding`."""

    alternatives: tuple[str, ...]
    terms: tuple[SavedColumns, ...]

    @classmethod
    def of(cls, encoding: Encoding, shelf: Archive) -> SavedEncoding:
        """To be written."""
        terms = [
            SavedColumns(
                term=shelf.text(t.term),
                alternatives=t.alternatives,
                parameters=t.parameters,
                base=t.base,
                by=t.by,
                times=t.times,
                names=t.names,
                start=t.start,
            )
            for t in encoding.terms
        ]
        return cls(alternatives=encoding.alternatives, terms=tuple(terms))

    def restore(self, shelf: Archive) -> Encoding:
        """As it was."""
        terms = [
            TermColumns(
                term=shelf.term(t.term),
                alternatives=t.alternatives,
                parameters=t.parameters,
                base=t.base,
                by=t.by,
                times=t.times,
                names=t.names,
                start=t.start,
            )
            for t in self.terms
        ]
        return Encoding(self.alternatives, tuple(terms))


class SavedQuadratic(Saved):
    """`Quadratic`."""

    constant: float
    b: Key
    curvature: Key

    @classmethod
    def of(cls, name: str, quadratic: Quadratic, shelf: Archive) -> SavedQuadratic:
        """To be written."""
        return cls(
            constant=quadratic.constant,
            b=shelf.put(f"{name}/b", quadratic.b),
            curvature=shelf.put(f"{name}/curvature", quadratic.curvature),
        )

    def restore(self, shelf: Archive) -> Quadratic:
        """As it was."""
        return Quadratic(self.constant, shelf.array(self.b), shelf.array(self.curvature))


class SavedSpread(Saved):
    """`ColumnMoments`."""

    count: Key
    mean: Key
    sd: Key
    over: Rows

    @classmethod
    def of(cls, spread: ColumnMoments, shelf: Archive) -> SavedSpread:
        """To be written."""
        return cls(
            count=shelf.put("relevance/spread/count", spread.count),
            mean=shelf.put("relevance/spread/mean", spread.mean),
            sd=shelf.put("relevance/spread/sd", spread.sd),
            over=spread.over,
        )

    def restore(self, shelf: Archive) -> ColumnMoments:
        """As it was."""
        return ColumnMoments(
            shelf.array(self.count), shelf.array(self.mean), shelf.array(self.sd), self.over
        )


class SavedTrace(Saved):
    """Steps, a row each; λ in a matrix."""

    iteration: Key
    of_most: Key
    objective: Key
    active: Key
    seconds: Key
    lam: Key

    @classmethod
    def of(cls, steps: tuple[Step, ...], shelf: Archive) -> SavedTrace:
        """To be written."""

        def put(name: str, values: list[Any], kind: type) -> Key:
            return shelf.put(f"relevance/trace/{name}", np.array(values, dtype=kind))

        return cls(
            iteration=put("iteration", [s.iteration for s in steps], int),
            of_most=put("of_most", [s.of for s in steps], int),
            objective=put("objective", [s.objective for s in steps], float),
            active=put("active", [s.active for s in steps], int),
            seconds=put("seconds", [s.seconds for s in steps], float),
            lam=put("lambda", [s.lam for s in steps], float),
        )

    def restore(self, shelf: Archive) -> tuple[Step, ...]:
        """As they were."""
        keys = (self.iteration, self.of_most, self.objective, self.active, self.seconds)
        columns: list[list[Any]] = [shelf.array(key).tolist() for key in keys]
        rows = zip(*columns, shelf.array(self.lam), strict=True)
        return tuple(Step(*row) for row in rows)


class SavedMemory(Saved):
    """`OnlineState`."""

    terms: tuple[str, ...]
    encoding: SavedEncoding
    spread: SavedSpread
    centre: Key
    scale: Key
    mean: Key
    quadratic: SavedQuadratic
    base: SavedQuadratic
    rows: tuple[int | SavedChoices, ...]

    @classmethod
    def of(cls, memory: OnlineState, shelf: Archive) -> SavedMemory:
        """To be written."""
        return cls(
            terms=shelf.texts(memory.terms),
            encoding=SavedEncoding.of(memory.encoding, shelf),
            spread=SavedSpread.of(memory.spread, shelf),
            centre=shelf.put("earlier/centre", memory.standard.centre),
            scale=shelf.put("earlier/scale", memory.standard.scale),
            mean=shelf.put("earlier/mean", memory.mean),
            quadratic=SavedQuadratic.of("earlier/quadratic", memory.quadratic, shelf),
            base=SavedQuadratic.of("earlier/base", memory.base, shelf),
            rows=tuple(shelf.share(data, SavedChoices.of) for data in memory.rows),
        )

    def restore(self, shelf: Archive) -> OnlineState:
        """As it was."""
        return OnlineState(
            terms=shelf.terms(self.terms),
            encoding=self.encoding.restore(shelf),
            spread=self.spread.restore(shelf),
            standard=Standardization(shelf.array(self.centre), shelf.array(self.scale)),
            mean=shelf.array(self.mean),
            quadratic=self.quadratic.restore(shelf),
            base=self.base.restore(shelf),
            rows=tuple(shelf.take(data) for data in self.rows),
        )


class SavedFit(Saved):
    """`ArdFit`."""

    data: int | SavedChoices
    space: int | SavedSpace
    encoding: SavedEncoding
    centre: Key
    scale: Key
    spread: SavedSpread
    prior: Prior
    solver: SavedSolver
    lam: Key
    mean: Key
    sd: Key
    quadratic: SavedQuadratic
    log_evidence: float
    trace: SavedTrace
    converged: bool
    reason: str
    moving: tuple[str, ...]
    passes: float
    seconds: float
    version: str
    n_situations: int
    recalled: int
    earlier: SavedMemory | None

    @classmethod
    def of(cls, fit: ArdFit, shelf: Archive) -> SavedFit:
        """To be written."""
        return cls(
            data=shelf.share(fit.data, SavedChoices.of),
            space=shelf.share(fit.space, SavedSpace.of),
            encoding=SavedEncoding.of(fit.encoding, shelf),
            centre=shelf.put("relevance/centre", fit.centre),
            scale=shelf.put("relevance/scale", fit.scale),
            spread=SavedSpread.of(fit.spread, shelf),
            prior=fit.prior,
            solver=fit.solver,
            lam=shelf.put("relevance/lambda", fit.lam),
            mean=shelf.put("relevance/mean", fit.mean),
            sd=shelf.put("relevance/sd", fit.sd),
            quadratic=SavedQuadratic.of("relevance/quadratic", fit.quadratic, shelf),
            log_evidence=fit.log_evidence,
            trace=SavedTrace.of(fit.trace, shelf),
            converged=bool(fit.converged),
            reason=fit.reason,
            moving=shelf.texts(fit.moving),
            passes=fit.passes,
            seconds=fit.seconds,
            version=fit.version,
            n_situations=fit.n_situations,
            recalled=int(fit.revisited),
            earlier=None if fit.earlier is None else SavedMemory.of(fit.earlier, shelf),
        )

    def restore(self, shelf: Archive) -> ArdFit:
        """As it was."""
        return ArdFit(
            data=shelf.take(self.data),
            space=shelf.take(self.space),
            encoding=self.encoding.restore(shelf),
            centre=shelf.array(self.centre),
            scale=shelf.array(self.scale),
            spread=self.spread.restore(shelf),
            prior=self.prior,
            solver=self.solver,
            lam=shelf.array(self.lam),
            mean=shelf.array(self.mean),
            sd=shelf.array(self.sd),
            quadratic=self.quadratic.restore(shelf),
            log_evidence=self.log_evidence,
            trace=self.trace.restore(shelf),
            converged=self.converged,
            reason=self.reason,
            moving=shelf.terms(self.moving),
            passes=self.passes,
            seconds=self.seconds,
            version=self.version,
            n_situations=self.n_situations,
            revisited=self.recalled,
            earlier=None if self.earlier is None else self.earlier.restore(shelf),
        )


class SavedResult(Saved):
    """`Result`."""

    data: int | SavedChoices
    specification: int | SavedSpecification
    encoding: SavedEncoding
    coefficients: Key
    covariances: dict[str, Key]
    loglik: float
    null_loglik: float
    n_situations: int
    n_persons: int | None
    converged: bool
    iterations: int
    decrement: float

    @classmethod
    def of(cls, result: Result, shelf: Archive) -> SavedResult:
        """To be written."""
        return cls(
            data=shelf.share(result.data, SavedChoices.of),
            specification=shelf.share(result.specification, SavedSpecification.of),
            encoding=SavedEncoding.of(result.encoding, shelf),
            coefficients=shelf.put("estimates/coefficients", result.coefficients),
            covariances={
                kind: shelf.put(f"estimates/{kind}", matrix)
                for kind, matrix in result.covariances.items()
            },
            loglik=result.loglik,
            null_loglik=result.null_loglik,
            n_situations=result.n_situations,
            n_persons=result.n_persons,
            converged=bool(result.converged),
            iterations=int(result.iterations),
            decrement=result.decrement,
        )

    def restore(self, shelf: Archive) -> Result:
        """As it was."""
        return Result(
            data=shelf.take(self.data),
            specification=shelf.take(self.specification),
            encoding=self.encoding.restore(shelf),
            coefficients=shelf.array(self.coefficients),
            covariances={kind: shelf.array(key) for kind, key in self.covariances.items()},
            loglik=self.loglik,
            null_loglik=self.null_loglik,
            n_situations=self.n_situations,
            n_persons=self.n_persons,
            converged=self.converged,
            iterations=self.iterations,
            decrement=self.decrement,
        )
