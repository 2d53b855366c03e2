"""`export`: an estimated model as a script for another package, as text or as LaTeX."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ardchoice.errors import ArdchoiceError, did_you_mean
from ardchoice.estimation import Result
from ardchoice.export.description import describe
from ardchoice.export.readable import write_latex, write_text
from ardchoice.export.scripts import SCRIPTS, write_script
from ardchoice.files import write
from ardchoice.record import StudyRecord

FILE_NAMES = {
    "biogeme": "model_biogeme.py",
    "pylogit": "model_pylogit.py",
    "xlogit": "model_xlogit.py",
    "apollo": "model_apollo.R",
    "text": "model.txt",
    "latex": "model.tex",
}
"""Package -> the name of its file in a folder."""
PACKAGES = tuple(FILE_NAMES)
SELECTED = (
    "The terms were chosen on the choices that they are estimated on: errors and p-values are too "
    "small."
)
TAKEN = {*sys.stdlib_module_names, *SCRIPTS, "numpy", "pandas", "scipy", "jax", "statsmodels"}
"""A script of such a name would be imported in place of the package."""


def export(study: StudyRecord | Result, package: str, path: str | os.PathLike[str]) -> Path:
    """Write an estimated model for another package.

    A script is complete: it reads the table that the choices were read from, leaves out the same
    rows, makes the same columns, declares the coefficients under conventional names
    (``ASC_TRAIN``, ``B_LOG_TT_TRAIN``), estimates from zero, and prints its estimates beside ours.
    Where the choices did not come from a file, or the file no longer says the same, they are
    written as a CSV file beside the script.

    Parameters
    ----------
    study
        A study, or the result of `fit_mnl`.
    package
        ``"biogeme"``, ``"pylogit"``, ``"xlogit"``, ``"apollo"``, ``"text"`` or ``"latex"``.
    path
        The file to write, or a folder that there is, in which it gets a name of its own.

    Returns
    -------
    Path
        The file written.
    """
    if not isinstance(study, StudyRecord | Result):
        raise ArdchoiceError(
            f"Expected a study or the result of ac.fit_mnl, got {type(study).__name__}."
        )
    if isinstance(study, Result):
        return export_result(study, package, path)
    notes = study.notes if study.honest else (SELECTED, *study.notes)
    return export_result(study.result, package, path, notes=notes)


def export_result(
    result: Result,
    package: str,
    path: str | os.PathLike[str],
    *,
    notes: tuple[str, ...] = (),
) -> Path:
    """Write an estimated model for another package; see `export`.

    Parameters
    ----------
    result, package, path
    notes
        What to know of the estimates, a sentence each; they are said in the file.
    """
    if package not in FILE_NAMES:
        raise ArdchoiceError(
            f"Models are not exported to {package!r}. {did_you_mean(str(package), PACKAGES)}"
        )
    file = Path(path)
    file = file / FILE_NAMES[package] if file.is_dir() else file
    if package in SCRIPTS and file.suffix.lower() == ".py" and file.stem.lower() in TAKEN:
        raise ArdchoiceError(
            f"A script named {file.name} would be imported in place of the package "
            f"{file.stem.lower()}. Name it otherwise, such as {FILE_NAMES[package]}."
        )
    if package in SCRIPTS:
        text = write_script(describe(result, file), package, file.name, notes)
    else:
        text = (write_text if package == "text" else write_latex)(result, notes)
    write(file, text)
    return file
