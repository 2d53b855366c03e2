"""`export`: an estimated model as a script for another package, as text or as LaTeX."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ardchoice.errors import ArdchoiceError, did_you_mean
from ardchoice.estimation import Result, units_sentence
from ardchoice.exports.description import describe
from ardchoice.exports.families import family_context, must_be_expressible
from ardchoice.exports.readable import latex_context, text_context
from ardchoice.exports.scripts import script_context
from ardchoice.exports.sizes import sizes_of
from ardchoice.exports.templates import must_have_template, render
from ardchoice.files import write
from ardchoice.formats import FORMATS
from ardchoice.record import StudyRecord

SELECTED = (
    "The terms were chosen on the choices that they are estimated on: errors and p-values are too "
    "small."
)
HELD = (
    "Estimated with the coefficients: {}. Here they stay as they are: the log-likelihood is the "
    "same, and standard errors of this script are conditional on them."
)
TAKEN = {*sys.stdlib_module_names, *FORMATS, "numpy", "pandas", "scipy", "jax", "statsmodels"}
"""A script of such a name would be imported in place of the package."""


def export(study: StudyRecord | Result, package: str, path: str | os.PathLike[str]) -> Path:
    """Write an estimated model for another package.

    A script is complete: it reads the table that the choices were read from, excludes the same
    rows, makes the same columns, declares the coefficients under conventional names
    (``ASC_TRAIN``, ``B_LOG_TT_TRAIN``), estimates from zero, and prints its estimates beside ours.
    Where the choices did not come from a file, or the file has changed, they are
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
        What to know of the estimates, a sentence each; the file shows them.
    """
    if package not in FORMATS:
        raise ArdchoiceError(
            f"Models are not exported to {package!r}. {did_you_mean(str(package), FORMATS)}"
        )
    must_have_template(result.family, package)
    must_be_expressible(result, package)
    if result.constraints is not None and FORMATS[package].is_script:
        raise ArdchoiceError(
            "The model was estimated under constraints on its parameters, which scripts do not "
            "have: they would estimate another model. Export to 'text' or 'latex'."
        )
    sentence = units_sentence(result)
    notes = (*notes, sentence) if sentence else notes
    form, file = FORMATS[package], Path(path)
    if form.is_script and result.shapes is not None:
        notes = (*notes, HELD.format(", ".join(result.shapes.names)))
    file = file / form.file_name if file.is_dir() else file
    if form.is_script and file.suffix.lower() == ".py" and file.stem.lower() in TAKEN:
        raise ArdchoiceError(
            f"A script named {file.name} would be imported in place of the package "
            f"{file.stem.lower()}. Name it otherwise, such as {form.file_name}."
        )
    if form.is_script:
        model = describe(result, file)
        if not model.parameters:
            raise ArdchoiceError(
                f"The model has no coefficients, so a script for {form.title} would have nothing "
                "to estimate. Export to 'text' or 'latex'."
            )
        context = script_context(model, form, file.name, notes) | family_context(result, model)
        context |= {"sizes": sizes_of(result, model)}
        write(file, render(result, package, context))
    else:
        write(file, readable_text(result, package, notes))
    return file


def readable_text(result: Result, package: str, notes: tuple[str, ...] = ()) -> str:
    """The document that `export` writes for ``"text"`` or ``"latex"``."""
    must_have_template(result.family, package)
    context = text_context if package == "text" else latex_context
    return render(result, package, context(result, notes))
