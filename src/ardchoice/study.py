"""`specify`: from observed choices to an estimated, explained specification in one call."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path as FilePath
from typing import Any, Literal, overload

import pandas as pd

from ardchoice.ard import Newton, Solver, must_be_solver
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.data import ChoiceData, must_be_choice_data
from ardchoice.design import running
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning
from ardchoice.estimation import Result, ScenarioOptions, predict_table
from ardchoice.evaluation import evaluate, inclusion_table, predict_averaged, selection_path
from ardchoice.exports import export
from ardchoice.families import Family, Mixed, Mnl, must_be_family
from ardchoice.numerics import must_be_seed
from ardchoice.plots import StudyPlots
from ardchoice.progress import (
    Progress,
    progress_callback,
)
from ardchoice.record import Path, StudyRecord
from ardchoice.report import study_html, summarise_record, write_report
from ardchoice.saved import is_saved_result, load_record, load_result, save_record
from ardchoice.selection import (
    Bic,
    Ebic,
    HeldOut,
    Rule,
    Structure,
    check_signs,
    compile_structure,
    must_be_rule,
    with_expected_signs,
    with_family_rules,
)
from ardchoice.space import SearchSpace, Specification
from ardchoice.stages import Stages, family_left, searched_with


class Study(StudyRecord):
    """Everything from one run; see `StudyRecord` for what it holds."""

    def explain(self) -> str:
        """Why every candidate was kept or dropped, in 80 columns."""
        return "\n".join([self.specification.explain(), *self.space.duplicates()])

    def path(self, *, folds: int = 5) -> Path:
        """Criterion, fit and prediction as terms enter in order of relevance."""
        rule = self.rule if isinstance(self.rule, (Bic, Ebic)) else None
        return selection_path(
            self.fit, rule=rule, structure=self.structure, folds=folds, seed=self.seed
        )

    def evaluated(
        self,
        *,
        folds: int = 5,
        search_in_folds: bool = False,
        stability_pairs: int = 0,
        compare: Mapping[str, Specification | str] | None = None,
        scenarios: Mapping[str, str | Sequence[str]] | None = None,
    ) -> Study:
        """The same study with what takes passes of its own: prediction of held-out persons, path.

        Parameters
        ----------
        folds
            Of persons; 0 for no held-out figures.
        search_in_folds
            Repeat relevance and selection in every fold, not only the estimation.
        stability_pairs
            How often persons are divided in two to see what is selected again.
        compare
            Name -> specification to be set beside the one found.
        scenarios
            Name -> change or changes, as in `Result.scenario`: a section of the report.
        """
        found = evaluate(
            self,
            folds=folds,
            search_in_folds=search_in_folds,
            stability_pairs=stability_pairs,
            compare=compare,
            scenarios={
                name: ScenarioOptions((one,) if isinstance(one, str) else tuple(one))
                for name, one in (scenarios or {}).items()
            },
        )
        for note in found.notes:
            warnings.warn(str(note), ArdchoiceWarning, stacklevel=2)
        return replace(self, evaluation=found)

    def inclusion(self) -> pd.DataFrame:
        """How sure each candidate is: its inclusion probability, surest first.

        The share of the weight of all specifications around the selected one that has the term.
        They are compared by the criterion that selected, tempered by design effects, and obey the
        same structure and signs.

        Returns
        -------
        DataFrame
            A row per candidate: term, alternative, columns, selected, probability.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(1800))
        >>> study = ac.specify(data, ac.SearchSpace(data, by=["GA"], base="CAR"))
        >>> study.inclusion()["probability"].between(0, 1).all()
        True
        """
        found = None if self.evaluation is None else self.evaluation.inclusion
        return inclusion_table(self) if found is None else found.copy()

    def predict(self, new: object = None, *, average: bool = False) -> pd.DataFrame:
        """Probabilities of new choice situations, read as the study's own were.

        Parameters
        ----------
        new
            A path or a data frame like the study's table; what was chosen, and columns that the
            specification does not use, need not be in it. Or choices that were read already.
            Default: those of the estimation.
        average
            Average over the specifications around the selected one, weighted as in `inclusion`.
            Whether that predicts better is in `evaluated().evaluation.predictors`.

        Returns
        -------
        DataFrame
            A row per situation in the order of the table, a column per alternative; NaN where one
            cannot be predicted, with a warning that says why.
        """
        if average:
            return predict_averaged(self, new)
        if new is None or isinstance(new, ChoiceData):
            return self.result.predict(new)
        return predict_table(self.result, self.data, new)

    def report(self, path: str | FilePath) -> FilePath:
        """Write the study as one HTML page that needs nothing else; returns where.

        What has not been evaluated yet is, as `evaluated()` does.
        """
        return write_report(self if self.evaluation is not None else self.evaluated(), path)

    def summary(self) -> str:
        """The specification, its estimates and what to know of them, in 80 columns."""
        return summarise_record(self)

    def save(self, folder: str | FilePath) -> FilePath:
        """Save it to a folder; `ac.load` has it back, in this version and in all later ones.

        The folder has `study.json` and an array file, both with checksums. A study that was saved
        there before is replaced, at one moment: there is always a whole one.
        """
        return save_record(self, folder)

    def export(self, package: str, path: str | FilePath) -> FilePath:
        """Write the estimated model for another package; see `ardchoice.export`."""
        return export(self, package, path)

    @property
    def plot(self) -> StudyPlots:
        """Figures: ``study.plot.relevance()``, ``.path()``, ``.wtp()``, ``.calibration()``."""
        return StudyPlots(self)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return study_html(self)

    def __repr__(self) -> str:
        return f"<Study: {len(self.specification)} of {len(self.space)} terms>"


@overload
def load(folder: str | FilePath) -> Study: ...


@overload
def load(folder: str | FilePath, *, result: Literal[True]) -> Result: ...


def load(folder: str | FilePath, *, result: bool = False) -> Study | Result:
    """Load a study that `Study.save` or `ardchoice run` saved, or what `Result.save` saved.

    Parameters
    ----------
    folder
        Where it was saved. Nothing in it is executed or unpickled.
    result
        Whether it must be a model that was estimated by hand, for type checkers. Default: whatever
        was saved there.

    Raises
    ------
    ArdchoiceError
        A file is missing or was changed, or a later version of ardchoice wrote it.
    """
    if result or is_saved_result(folder):
        return load_result(folder)
    return study_of(load_record(folder))


def study_of(record: StudyRecord) -> Study:
    """The same with the methods that users call."""
    return Study(**{f.name: getattr(record, f.name) for f in fields(record)})


def specify(
    data: ChoiceData,
    space: SearchSpace,
    *,
    family: Family | Literal["auto"] = Mnl(),  # noqa: B008 - frozen
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    rule: Rule | None = None,
    solver: Solver | None = None,
    honest: bool = False,
    seed: int = 0,
    progress: Progress = False,
    keep: Checkpointer = NOTHING,
    executor: Any = None,
    n_threads: int | None = None,
) -> Study:
    """Find the specification that the data support, and estimate it.

    Parameters
    ----------
    data
        The choices.
    space
        What could matter.
    family
        How utilities become probabilities and how persons differ. ``"auto"``: the terms are
        selected with the multinomial logit, then it, a nested, a mixed and a latent class logit of
        them are compared (`compare_families`), and the one with the lowest BIC over persons is
        kept. ``Mixed()``: terms, and the coefficients that differ between persons, are decided
        together. Default: `Mnl()`.
    structure
        What every specification must obey; None for no rules at all.
    rule
        How many terms are enough. Default: `Ebic()`.
    solver
        Of relevance. Default: `Newton()`.
    honest
        Select on one half of the persons and estimate on the other: p-values of `result` are valid
        then.
    seed
        Of whatever is drawn: halves, folds.
    progress
        True to show on standard error, or in a notebook, how far it is; or a function that is
        called with every `ardchoice.progress.Event`.
    keep
        Where stages are saved so that an interrupted run can be resumed, as `ardchoice run` does.
    executor
        A Dask client whose workers process the data. Default: this process.
    n_threads
        Threads that process large data. Default: as many as cores. The result is the same to the
        last bit.

    Returns
    -------
    Study
    """
    started = time.perf_counter()
    family_searched = _family_of_search(family)
    structure = _check(data, space, structure, family)
    rule = _with_seed(Ebic() if rule is None else must_be_rule(rule), seed)
    solver, seed = must_be_solver(solver or Newton()), must_be_seed(seed)
    selected_on, estimated_on = _halves(data, seed) if honest else (data, data)
    with running(executor, n_threads), progress_callback(progress) as listener:
        stages = Stages(keep, listener)
        # 1 · How relevant is every candidate term?
        relevance = stages.find_relevance(selected_on, space, family_searched, solver)
        # 2 · Which terms do the data support, among those that obey the rules, and why?
        specification = stages.search(relevance, rule, structure)
        # 3 · How do persons differ, if that was not given?
        families = joint = estimated = selection_result = None
        if family == "auto":
            families = stages.compare_families(selected_on, specification, seed)
            family = families.result.family
        asked = family
        if isinstance(family, Mixed) and family.random is None:
            confirmed = stages.decide_jointly(relevance, specification, rule, structure, family)
            decided, estimated = confirmed.selection, confirmed.estimated
            joint = stages.estimate_terms_of_mnl(estimated_on, decided)
            specification, family = decided.specification, decided.family_of(family)
        # 4 · What are the coefficients, by maximum likelihood?
        family, family_notes = family_left(family, selected_on, specification)
        search_notes = searched_with(family_searched, relevance)
        result, notes = stages.estimate(
            estimated_on, specification, family, honest=honest, known=estimated
        )
        differences = stages.differences(result)
        if honest:
            selection_result = stages.estimate_as_selected(
                selected_on, specification, result.family
            )
    study = Study(
        data=data,
        space=space,
        fit=relevance,
        specification=specification,
        result=result,
        selection_result=selection_result,
        structure=structure,
        rule=rule,
        honest=honest,
        seed=seed,
        seconds=time.perf_counter() - started + keep.seconds_saved,
        notes=(*notes, *search_notes, *family_notes),
        family=None if families or (asked == family_searched and not search_notes) else asked,
        families=families,
        joint=joint,
        differences=differences,
    )
    for note in study.notes:
        warnings.warn(note, ArdchoiceWarning, stacklevel=2)
    return study


def _family_of_search(family: object) -> Family:
    """The family that terms are searched with."""
    if family == "auto":
        return Mnl()
    return must_be_family(family).for_selection


def _with_seed(rule: Rule, seed: int) -> Rule:
    """Folds are drawn with the seed of the study unless the rule has its own."""
    return replace(rule, seed=seed) if isinstance(rule, HeldOut) and not rule.seed else rule


def _halves(data: ChoiceData, seed: int) -> tuple[ChoiceData, ChoiceData]:
    """Persons to select on, and persons to estimate on."""
    estimated_on, selected_on = data.split(0.5, seed=seed)
    return selected_on, estimated_on


def _check(
    data: ChoiceData,
    space: SearchSpace,
    structure: Structure | None,
    family: Family | Literal["auto"],
) -> Structure | None:
    """Refuse what cannot go well before anything is fitted; the structure with all its rules."""
    must_be_choice_data(data)
    if not isinstance(space, SearchSpace):
        raise ArdchoiceError(
            f"Expected a search space, got {type(space).__name__}: ac.SearchSpace(data, ...)."
        )
    if family != "auto":
        structure = with_family_rules(structure, must_be_family(family), data, space)
    compile_structure(structure, space)
    structure = with_expected_signs(structure, data, space.terms)
    if structure is not None:
        check_signs(structure.given_signs, data)
    return structure
