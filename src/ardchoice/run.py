"""`run_study`: everything that settings describe, from a table to a folder of results.

Stages are checkpointed in a folder as they are done. Everything is deterministic, so that a run
which was interrupted, however and wherever, ends with the same results when it is resumed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from ardchoice.data import ChoiceData
from ardchoice.design import running
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning, FileError
from ardchoice.evaluation import evaluate
from ardchoice.exports import FORMATS, export
from ardchoice.files import checksum, file_lock, remove_stale_temporaries, write
from ardchoice.progress import Listener, PhaseProgress
from ardchoice.report import Table, to_csv, write_figures, write_report, write_tables
from ardchoice.saved import Checkpoint, changed, clear, differences, must_fit, save_record, to_json
from ardchoice.settings import StudySettings, agree
from ardchoice.space import SearchSpace
from ardchoice.study import Study, load, specify, study_of

RUN_FILE = "run.json"
"""Says from what the results of a folder were made, and which files are ours; written last."""
STARTED, FINISHED = "started", "finished"
CHECKPOINTS, LOCK_FILE = "checkpoints", ".lock"
FOLDERS = STUDY, TABLES, FIGURES, EXPORTS = "study", "tables", "figures", "exports"
TEXTS = SPECIFICATION, ESTIMATES, RELEVANCE = (
    "specification.txt",
    "estimates.csv",
    "relevance.csv",
)
REPORT = "report.html"

Jobs = dict[str, Callable[[Study, Path], object]]


def run_study(
    settings: StudySettings,
    folder: str | Path,
    *,
    base: str | Path = ".",
    resume: bool = False,
    force: bool = False,
    listener: Listener | None = None,
    command: str | None = None,
    executor: Any = None,
) -> Study:
    """Read, find relevance, search, estimate, evaluate, and write everything.

    Parameters
    ----------
    settings
        Of the study.
    folder
        Where to write: report.html, specification.txt, estimates.csv, relevance.csv, and folders
        tables, figures, exports and study (which `ac.load` loads).
    base
        To which the table's path is relative.
    resume
        Resume a run that was interrupted; start where there is none.
    force
        Start again, and overwrite results that are there.
    listener
        Called with the progress.
    command
        What to type to do it again, for the report.
    executor
        A Dask client whose workers process the data. Default: this process. Results do not depend
        on it.

    Raises
    ------
    ArdchoiceError
        The folder has something in it; what it has was made from other data or settings; nothing
        can be written to it.
    """
    place, base = _RunFolder(Path(folder)), Path(base)
    made_from = fingerprint(settings, base)
    if place.is_done(made_from, resume=resume, force=force):
        return load(place.folder / STUDY)
    # 1 · From the table to an estimated specification; nothing is written before all agrees.
    report_progress = PhaseProgress("read", listener)
    data = settings.read_choices(base)
    space = agree(settings, data)
    report_progress(1, 1, f"{len(data):,} choice situations")
    with place.lock():
        keep = place.begin(made_from, restart=force)
        with running(executor):
            study = _estimated_and_evaluated(settings, data, space, keep, listener)
        # 3 · Everything on disk; the checkpoints have done their work.
        place.fill(study, made_from, outputs(settings, command), listener)
        clear(keep.folder)
    place.tidy()
    return study


def _estimated_and_evaluated(
    settings: StudySettings,
    data: ChoiceData,
    space: SearchSpace,
    keep: Checkpoint,
    listener: Listener | None,
) -> Study:
    """The study with its evaluation, stage by stage."""
    study = specify(
        data,
        space,
        family=settings.make_family(),
        structure=settings.make_structure(),
        rule=settings.make_rule(),
        solver=settings.make_solver(),
        honest=settings.selection.honest,
        seed=settings.selection.seed,
        progress=listener or False,
        keep=keep,
    )
    # 2 · How well it predicts, beside other models.
    output = settings.output
    evaluation = evaluate(
        study,
        folds=output.folds,
        search_in_folds=output.search_in_folds,
        stability_pairs=output.stability_pairs,
        compare=output.compare,
        scenarios=settings.make_scenarios(),
        listener=listener,
        keep=keep,
    )
    for note in evaluation.notes:
        warnings.warn(str(note), ArdchoiceWarning, stacklevel=3)
    return study_of(replace(study, evaluation=evaluation))


def fingerprint(settings: StudySettings, base: Path) -> dict[str, Any]:
    """What results are made from: the version, the table by its checksum, the settings."""
    # Where results go does not change them.
    values = settings.model_dump(mode="json", exclude={"output": {"folder"}, "data": {"guesses"}})
    out: dict[str, Any] = {"ardchoice": version("ardchoice"), "settings": values}
    if settings.data.table is not None:
        path = base / settings.data.table
        with suppress(OSError):  # reading the table says what is wrong with it
            out[f"the table '{path.name}'"] = _checksums(path)
    return out


def _checksums(path: Path) -> str | dict[str, str]:
    """Of a file, or of every file of a folder that is one table."""
    if not path.is_dir():
        return checksum(path)
    files = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    return {file.relative_to(path).as_posix(): checksum(file) for file in files}


# -- The folder ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RunFolder:
    """The folder of a run: what may be written there, and what is."""

    folder: Path

    def is_done(self, made_from: dict[str, Any], *, resume: bool, force: bool) -> bool:
        """Whether all is there already; an error where what is there must not be touched."""
        if resume and force:
            raise ArdchoiceError(
                "resume continues with what is there and force starts again: give one of the two."
            )
        if self.folder.exists() and not self.folder.is_dir():
            raise ArdchoiceError(f"Results are written to a folder, and '{self.folder}' is a file.")
        if force or not self.folder.exists() or not any(self.folder.iterdir()):
            return False
        last = self._last()
        finished = last.get("state") == FINISHED
        unfinished = not finished and (bool(last) or self.checkpoints.is_dir())
        if unfinished and resume:
            must_fit(self.checkpoints, made_from)
            return False
        if unfinished:
            raise ArdchoiceError(
                f"'{self.folder}' has a run that was interrupted. Resume it with --resume "
                "(resume=True), start again with --force (force=True), or write to another folder."
            )
        if not resume or not finished:
            raise ArdchoiceError(
                f"'{self.folder}' is there already and is not empty. Write to another folder, or "
                "overwrite results that are there with --force (force=True)."
            )
        changes = differences(last.get("made_from", {}), made_from)
        if changes:
            raise changed(self.folder, changes)
        clear(self.checkpoints)
        self.tidy()
        # What somebody has removed since is made again.
        return all((self.folder / name).exists() for name in self._ours())

    def begin(self, made_from: dict[str, Any], *, restart: bool) -> Checkpoint:
        """The checkpoints of a run; without earlier ones where it starts again."""
        if restart:
            if self._last():
                self._write_state(STARTED, made_from, self._ours())
            clear(self.checkpoints)
        return Checkpoint(self.checkpoints, made_from)

    def lock(self) -> AbstractContextManager[None]:
        """Two runs at once would take one another's stages and files."""
        return file_lock(
            self.checkpoints / LOCK_FILE,
            f"Another run is at work in '{self.folder}'. Wait until it is done, stop it, or write "
            "to another folder.",
        )

    def tidy(self) -> None:
        """No folder of stages is left when there are none."""
        with suppress(OSError):
            (self.checkpoints / LOCK_FILE).unlink(missing_ok=True)
            self.checkpoints.rmdir()

    @property
    def checkpoints(self) -> Path:
        """The folder of stages."""
        return self.folder / CHECKPOINTS

    def _ours(self) -> list[str]:
        """Files that the last run here wrote."""
        found = self._last().get("files")
        return [str(name) for name in found] if isinstance(found, list) else []

    def _last(self) -> dict[str, Any]:
        """The state of the last run here, as it wrote it."""
        path = self.folder / RUN_FILE
        try:
            found = json.loads(path.read_bytes()) if path.is_file() else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def fill(
        self, study: Study, made_from: dict[str, Any], jobs: Jobs, listener: Listener | None
    ) -> None:
        """Write every file, then say that all are there; those of an earlier run that are not go.

        Parameters
        ----------
        study
        made_from
        jobs
            What is written -> how.
        listener
        """
        before, ours = self._files(), self._ours()
        self._write_state(STARTED, made_from, ours)
        report_progress = PhaseProgress("report", listener, even=False)
        for done, (name, job) in enumerate(jobs.items()):
            report_progress(done, len(jobs), name)
            job(study, self.folder)
        # A file is never changed, only replaced by another.
        written = [name for name, which in self._files().items() if before.get(name) != which]
        for name in before:
            if name in ours and name not in written:
                with suppress(OSError):
                    (self.folder / name).unlink()
        self._write_state(FINISHED, made_from, written)
        report_progress(len(jobs), len(jobs), f"{len(written)} files")

    def _write_state(self, state: str, made_from: dict[str, Any], files: list[str]) -> None:
        content = {"state": state, "made_from": made_from, "files": sorted(files)}
        write(self.folder / RUN_FILE, to_json(content))

    def _files(self) -> dict[str, tuple[int, int]]:
        """Files where results go -> which ones these are."""
        for where in (self.folder, *(self.folder / name for name in FOLDERS)):
            remove_stale_temporaries(where)
        paths = [self.folder / name for name in (REPORT, *TEXTS)]
        paths += [path for name in FOLDERS for path in (self.folder / name).rglob("*")]
        status = {
            path.relative_to(self.folder).as_posix(): path.stat()
            for path in paths
            if path.is_file()
        }
        return {name: (found.st_ino, found.st_mtime_ns) for name, found in status.items()}


# -- What is written -------------------------------------------------------------------------------


def outputs(settings: StudySettings, command: str | None) -> Jobs:
    """Everything that is written of a study, the study itself first."""
    jobs: Jobs = {
        "study": lambda study, folder: save_record(study, folder / STUDY),
        "specification": lambda study, folder: write(
            folder / SPECIFICATION, study.specification.to_text() + "\n"
        ),
        "estimates": lambda study, folder: write(folder / ESTIMATES, _estimates(study)),
        "relevance": lambda study, folder: write(folder / RELEVANCE, _relevance(study)),
        "tables": lambda study, folder: write_tables(study, folder / TABLES),
        "figures": lambda study, folder: write_figures(study, folder / FIGURES),
    }
    for package in settings.output.exports:
        jobs[f"export to {package}"] = partial(_export, package)
    jobs["report"] = lambda study, folder: write_report(study, folder / REPORT, command=command)
    return jobs


def _export(package: str, study: Study, folder: Path) -> None:
    """A model that another package cannot have is no reason to be without a report."""
    try:
        export(study, package, folder / EXPORTS / FORMATS[package].file_name)
    except FileError:
        raise
    except ArdchoiceError as error:
        warnings.warn(f"Not exported to {package}: {error}", ArdchoiceWarning, stacklevel=2)


def _estimates(study: Study) -> str:
    return _csv(study.result.to_frame().reset_index())


def _relevance(study: Study) -> str:
    return _csv(study.fit.table().drop(columns=["mean", "sd"]))


def _csv(frame: pd.DataFrame) -> str:
    rows = frame.astype(object).to_numpy().tolist()
    return to_csv(Table("", "", list(frame.columns), [], rows))
