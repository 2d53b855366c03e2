"""The model: estimates, fit, prediction of persons left out, checks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ardchoice.estimation import KIND, Result
from ardchoice.record import CONSTANTS, EQUAL, FOUND, LINEAR
from ardchoice.report.checks import convergence, sanity
from ardchoice.report.document import FIGURES, P_VALUE, Cell, Figure, Note, Section, Table, Text
from ardchoice.report.findings import Findings
from ardchoice.text import percent

MOST_ROWS = 60

VALID = (
    "Terms were selected on one half of the persons and estimated on the other, who had no part in "
    "the selection."
)
MODELS = {
    FOUND: "the one found",
    CONSTANTS: "constants only",
    EQUAL: "equal shares",
    LINEAR: "every attribute linear",
}
"""How a page calls them; given ones keep their names."""


def _cells(values: np.ndarray) -> list[Cell]:
    return [float(v) for v in values]


def estimates(found: Findings) -> Section:
    """Coefficients with standard errors; side by side where persons were divided."""
    record = found.record
    result, other = record.result, record.selection_result
    parts: list[Text | Note | Table] = []
    if other is None:
        text = "As said at the top, they are too small: the same choices selected the terms."
        parts.append(Note("look", "p-values are conditional on the selection", text))
        parts.append(_one(result))
    else:
        parts.append(Note("good", "p-values are valid", VALID))
        parts.append(_both(other, result))
    parts += [Note("look", "A note on the estimates", note) for note in record.notes]
    return Section("estimates", "Estimates", [*parts])


def conditional() -> Note:
    """What must be known of p-values when the same persons selected and estimated."""
    return Note(
        "look",
        "p-values are conditional on the selection",
        "The same choices selected the terms, so standard errors and p-values are conditional on "
        "that selection and too small. To select on one half of the persons and estimate on the "
        "other: honest = true in [selection] of study.toml, honest=True in Python.",
    )


def _one(result: Result) -> Table:
    frame = result.to_frame()
    columns = ["estimate", "std_err", "z", "p", "low", "high"]
    rows = [
        [name, *_cells(row)]
        for name, row in zip(result.names, frame[columns].to_numpy(float), strict=True)
    ]
    return Table(
        "estimates",
        "Coefficients",
        ["coefficient", "estimate", "std. error", "z", "p", "2.5 %", "97.5 %"],
        ["", FIGURES, FIGURES, ".2f", P_VALUE, FIGURES, FIGURES],
        rows,
        shown=MOST_ROWS,
        note=_errors(result),
    )


def _errors(result: Result) -> str:
    kind = KIND[result.default_cov]
    return f"{kind[0].upper()}{kind[1:]}; 95 % intervals."


def _both(left: Result, right: Result) -> Table:
    columns = ["estimate", "std_err", "p"]
    a, b = left.to_frame()[columns].to_numpy(float), right.to_frame()[columns].to_numpy(float)
    return Table(
        "estimates",
        "Coefficients, from those who selected and from those who did not",
        [
            "coefficient",
            *("selecting", "std. error", "p (too small)"),
            *("estimating", "std. error", "p (valid)"),
        ],
        ["", *[FIGURES, FIGURES, P_VALUE] * 2],
        [[name, *_cells(x), *_cells(y)] for name, x, y in zip(left.names, a, b, strict=True)],
        shown=MOST_ROWS,
        note=_errors(right).removesuffix("; 95 % intervals.") + ".",
    )


def fit(found: Findings) -> Section:
    """Fit statistics beside simpler models and given ones."""
    result = found.record.result
    frame = found.evaluation.comparisons
    if frame is None:
        frame = pd.DataFrame(
            {
                "model": [FOUND],
                "coefficients": [result.n_parameters],
                "loglik": [result.loglik],
                "aic": [result.aic],
                "bic": [result.bic],
                "rho2": [result.rho2],
                "rho2_bar": [result.rho2_bar],
            }
        )
    names = ["coefficients", "loglik", "aic", "bic", "rho2", "rho2_bar"]
    rows: list[list[Cell]] = [
        [MODELS.get(str(model), str(model)), int(row[0]), *_cells(row[1:])]
        for model, row in zip(frame["model"], frame[names].to_numpy(float), strict=True)
    ]
    table = Table(
        "fit",
        "Fit on the persons that it was estimated on",
        ["model", "coefficients", "log-likelihood", "AIC", "BIC", "ρ²", "ρ̄²"],
        ["", ",d", ",.1f", ",.1f", ",.1f", ".4f", ".4f"],
        rows,
        marks={"0,0": "true"},
        note=(
            f"{result.n_situations:,} choice situations. With equal shares the log-likelihood is "
            f"{result.null_loglik:,.1f}, with constants only {result.constants_loglik:,.1f}. "
            "AIC and BIC: smaller is better."
        ).replace(" -", " −"),
    )
    return Section("fit", "Fit beside other models", [table])


def held_out(found: Findings) -> Section:
    """How well persons left out are predicted."""
    evaluation, record = found.evaluation, found.record
    frame = evaluation.comparisons
    if frame is None or not evaluation.folds:
        text = "Not worked out: folds = 5 under [output] of study.toml leaves persons out by turns."
        return Section("heldout", "Prediction of persons left out", [Text(text)])
    unit = "persons" if record.data.person is not None else "choices"
    n = float(record.result.data.weights.sum())
    rows: list[list[Cell]] = [
        [MODELS.get(str(m), str(m)), float(ll), float(ll) / n, float(acc)]
        for m, ll, acc in zip(frame["model"], frame["held_out"], frame["accuracy"], strict=True)
    ]
    table = Table(
        "heldout",
        f"Prediction of {unit} left out, {evaluation.folds} folds",
        ["model", "log-likelihood", "per choice", "predicted right"],
        ["", ",.1f", ".4f", ".1%"],
        rows,
        marks={"0,0": "true"},
        note=_knows(found, unit),
    )
    parts: list[Text | Table | Figure] = [Text(_gain(found, unit)), table]
    if evaluation.calibration is not None and len(evaluation.calibration):
        parts += [Figure("calibration", _calibrated(unit)), _calibration(evaluation.calibration)]
    return Section("heldout", f"Prediction of {unit} left out", [*parts])


def _gain(found: Findings, unit: str) -> str:
    frame, record = found.evaluation.comparisons, found.record
    assert frame is not None  # noqa: S101 - asked before
    n = float(record.result.data.weights.sum())
    chance = np.exp(frame["held_out"].to_numpy(float) / n)
    others = [
        f"{percent(float(c))} by {MODELS.get(str(m), str(m))}"
        for m, c in list(zip(frame["model"], chance, strict=True))[1:]
    ]
    beside = f", {' and '.join(others[:2])}" if others else ""
    return (
        f"{'The choices of persons' if unit == 'persons' else 'Choices'} left out were given a "
        f"probability of {percent(float(chance[0]))} by the model found{beside} (geometric mean)."
    )


def _knows(found: Findings, unit: str) -> str:
    if found.evaluation.searched:
        return f"Selection and estimation were repeated in every fold, without the {unit} left out."
    if found.record.honest:
        return f"No one of these {unit} had a part in the selection; estimates are of the others."
    return (
        f"Coefficients were estimated without the {unit} left out; the terms were selected with "
        "them, so the model found looks a little too good. search_in_folds = true repeats the "
        "selection in every fold."
    )


def _calibrated(unit: str) -> str:
    return (
        f"Calibration of {unit} left out: mean probability and observed share in classes, with "
        "95 % intervals. On the line, what is predicted happens."
    )


def _calibration(frame: pd.DataFrame) -> Table:
    columns = ["predicted", "observed", "low", "high"]
    rows: list[list[Cell]] = [
        [str(name), int(n), *_cells(row)]
        for name, n, row in zip(
            frame["alternative"], frame["n"], frame[columns].to_numpy(float), strict=True
        )
    ]
    return Table(
        "calibration",
        "Calibration",
        ["alternative", "choices", "predicted", "observed", "2.5 %", "97.5 %"],
        ["", ",d", ".3f", ".3f", ".3f", ".3f"],
        rows,
        shown=0,
    )


def checks(found: Findings) -> Section:
    """Convergence, signs, sanity."""
    parts: list[Note | Table | Text] = [*convergence(found.record), *sanity(found.record)]
    if found.signs:
        parts.append(_signs(found))
    return Section("checks", "Convergence, signs and sanity", [*parts])


def _signs(found: Findings) -> Table:
    rows: list[list[Cell]] = [
        [
            check.alternative,
            check.attribute,
            "−" if check.expected == "-" else "+",
            check.segments,
            len(check.wrong),
            "; ".join(check.wrong[:5]) + (" …" if len(check.wrong) > 5 else "") or "–",
        ]
        for check in found.signs
    ]
    return Table(
        "signs",
        "Expected signs, in every segment that the model tells apart",
        ["alternative", "attribute", "expected", "segments", "wrong", "where"],
        ["", "", "", ",d", ",d", ""],
        rows,
        shown=MOST_ROWS,
    )
