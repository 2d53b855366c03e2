"""A whole study, as it stands in a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import AfterValidator

from ardchoice.record import Evaluation, Path, StudyRecord
from ardchoice.saved.choices import SavedChoices, SavedSpace, SavedSpecification
from ardchoice.saved.fits import SavedFit, SavedResult
from ardchoice.saved.plain import Saved, one_of
from ardchoice.saved.shelf import Archive, SavedValues
from ardchoice.selection import Bic, Ebic, Evidence, FalseDiscovery, HeldOut, LambdaAbove, Structure

SavedRule = Annotated[Any, one_of(Bic, Ebic, Evidence, FalseDiscovery, HeldOut, LambdaAbove)]


def _in_tuples(structure: Structure) -> Structure:
    """JSON has lists only; rules that are equal shall be so after loading, too."""

    def patterns(given: Any) -> Any:
        return given if isinstance(given, str) else tuple(given)

    return replace(
        structure,
        force=patterns(structure.force),
        forbid=patterns(structure.forbid),
        exclusive=tuple(map(patterns, structure.exclusive)),
        together=tuple(map(patterns, structure.together)),
    )


SavedStructure = Annotated[Structure, AfterValidator(_in_tuples)]


class SavedFrame(Saved):
    """A table; `index` is None where rows are only counted."""

    index: SavedValues | None
    index_name: str | None
    names: tuple[str, ...]
    columns: tuple[SavedValues, ...]

    @classmethod
    def of(cls, name: str, frame: pd.DataFrame, shelf: Archive) -> SavedFrame:
        """To be written."""
        counted = frame.index.equals(pd.RangeIndex(len(frame)))
        named = frame.index.name
        return cls(
            index=None if counted else SavedValues.of(f"{name}/index", _array(frame.index), shelf),
            index_name=None if named is None else str(named),
            names=tuple(map(str, frame.columns)),
            columns=tuple(
                SavedValues.of(f"{name}/{i}", _array(frame.iloc[:, i]), shelf)
                for i in range(frame.shape[1])
            ),
        )

    def restore(self, shelf: Archive) -> pd.DataFrame:
        """As it was, texts as pandas takes them."""
        columns = {i: _column(column, shelf) for i, column in enumerate(self.columns)}
        frame = pd.DataFrame(columns)
        frame.columns = pd.Index(list(self.names))
        if self.index is not None:
            frame.index = pd.Index(_column(self.index, shelf))
        frame.index.name = self.index_name
        return frame


def _array(column: pd.Series[Any] | pd.Index[Any]) -> Any:
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.to_numpy(object)


def _column(column: SavedValues, shelf: Archive) -> Any:
    values = column.restore(shelf)
    return values if values.dtype != object else values.tolist()


class SavedPath(Saved):
    """`Path`."""

    frame: SavedFrame
    criterion: str

    @classmethod
    def of(cls, path: Path, shelf: Archive) -> SavedPath:
        """To be written."""
        return cls(
            frame=SavedFrame.of("evaluation/path", path.frame, shelf), criterion=path.criterion
        )

    def restore(self, shelf: Archive) -> Path:
        """As it was."""
        return Path(self.frame.restore(shelf), self.criterion)


class SavedEvaluation(Saved):
    """`Evaluation`."""

    path: SavedPath | None
    comparisons: SavedFrame | None
    calibration: SavedFrame | None
    stability: SavedFrame | None
    folds: int
    searched: bool

    @classmethod
    def of(cls, evaluation: Evaluation, shelf: Archive) -> SavedEvaluation:
        """To be written."""

        def frame(name: str, given: pd.DataFrame | None) -> SavedFrame | None:
            return None if given is None else SavedFrame.of(f"evaluation/{name}", given, shelf)

        path = evaluation.path
        return cls(
            path=None if path is None else SavedPath.of(path, shelf),
            comparisons=frame("comparisons", evaluation.comparisons),
            calibration=frame("calibration", evaluation.calibration),
            stability=frame("stability", evaluation.stability),
            folds=evaluation.folds,
            searched=evaluation.searched,
        )

    def restore(self, shelf: Archive) -> Evaluation:
        """As it was."""

        def frame(saved: SavedFrame | None) -> pd.DataFrame | None:
            return None if saved is None else saved.restore(shelf)

        path = self.path
        return Evaluation(
            path=None if path is None else path.restore(shelf),
            comparisons=frame(self.comparisons),
            calibration=frame(self.calibration),
            stability=frame(self.stability),
            folds=self.folds,
            searched=self.searched,
        )


class SavedRecord(Saved):
    """`StudyRecord`."""

    data: int | SavedChoices
    space: int | SavedSpace
    specification: int | SavedSpecification
    fit: SavedFit
    result: SavedResult
    selection_result: SavedResult | None
    structure: SavedStructure | None
    rule: SavedRule
    honest: bool
    seed: int
    seconds: float
    notes: tuple[str, ...]
    evaluation: SavedEvaluation | None
    version: str

    @classmethod
    def of(cls, record: StudyRecord, shelf: Archive) -> SavedRecord:
        """To be written."""
        other, evaluation = record.selection_result, record.evaluation
        return cls(
            data=shelf.share(record.data, SavedChoices.of),
            space=shelf.share(record.space, SavedSpace.of),
            specification=shelf.share(record.specification, SavedSpecification.of),
            fit=SavedFit.of(record.fit, shelf),
            result=SavedResult.of(record.result, shelf),
            selection_result=None if other is None else SavedResult.of(other, shelf),
            structure=record.structure,
            rule=record.rule,
            honest=record.honest,
            seed=record.seed,
            seconds=record.seconds,
            notes=record.notes,
            evaluation=None if evaluation is None else SavedEvaluation.of(evaluation, shelf),
            version=record.version,
        )

    def restore(self, shelf: Archive) -> StudyRecord:
        """As it was."""
        other, evaluation = self.selection_result, self.evaluation
        return StudyRecord(
            data=shelf.take(self.data),
            space=shelf.take(self.space),
            specification=shelf.take(self.specification),
            fit=self.fit.restore(shelf),
            result=self.result.restore(shelf),
            selection_result=None if other is None else other.restore(shelf),
            structure=self.structure,
            rule=self.rule,
            honest=self.honest,
            seed=self.seed,
            seconds=self.seconds,
            notes=self.notes,
            evaluation=None if evaluation is None else evaluation.restore(shelf),
            version=self.version,
        )
