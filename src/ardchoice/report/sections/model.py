"""The model: estimates, fit, held-out prediction, checks."""

from __future__ import annotations

import pandas as pd

from ardchoice.estimation import KIND, Result
from ardchoice.evaluation import best_predictor, mean_probabilities, model_of_search
from ardchoice.record import (
    ALL_SPECIFIC,
    CONSTANTS_ONLY,
    EQUAL_SHARES,
    PLAIN_LINEAR,
    SELECTED,
    TEXTBOOK,
    Note,
)
from ardchoice.report.checks import SIGNS, convergence, sanity
from ardchoice.report.document import (
    FIGURES,
    P_VALUE,
    Cell,
    Figure,
    Part,
    Section,
    Table,
    Text,
    bold,
    frame_table,
)
from ardchoice.report.findings import Findings
from ardchoice.text import percent

MAX_ROWS_SHOWN = 60

VALID = (
    "Terms were selected on one half of the persons and estimated on the other, who had no part in "
    "the selection."
)
CONDITIONAL = Note(
    "look",
    "p-values are conditional on the selection",
    "The same choices selected the terms, so standard errors and p-values are conditional on "
    "that selection and too small. To select on one half of the persons and estimate on the "
    "other: honest = true in [selection] of study.toml, honest=True in Python.",
)
"""When the same persons selected and estimated."""
MODEL_NAMES = {
    SELECTED: "selected",
    CONSTANTS_ONLY: "constants only",
    EQUAL_SHARES: "equal shares",
    TEXTBOOK: "textbook (constants, generic linear)",
    ALL_SPECIFIC: "every attribute specific",
    PLAIN_LINEAR: "every attribute linear",
}
"""How a page calls them; given ones keep their names."""
FIT_COLUMNS = {
    "model": ("model", ""),
    "coefficients": ("coefficients", ",d"),
    "loglik": ("log-likelihood", ",.1f"),
    "aic": ("AIC", ",.1f"),
    "bic": ("BIC", ",.1f"),
    "rho2": ("ρ²", ".4f"),
    "rho2_bar": ("ρ̄²", ".4f"),
}


def model_name(model: object) -> str:
    """How a page calls a model."""
    return MODEL_NAMES.get(str(model), str(model))


def estimates(found: Findings) -> Section:
    """Coefficients with standard errors; side by side where persons were divided."""
    record = found.record
    result, other = record.result, record.selection_result
    if other is None:
        text = (
            "See the top of the page: they are too small, as the same choices selected the terms."
        )
        parts: list[Part] = [Note("look", CONDITIONAL.title, text), estimates_table(result)]
    else:
        parts = [Note("good", "p-values are valid", VALID), _both(other, result)]
    parts += [Note("look", "A note on the estimates", note) for note in record.notes]
    return Section("estimates", "Estimates", parts)


def estimates_table(result: Result) -> Table:
    """Coefficients with standard errors, z, p and intervals."""
    columns = {
        "name": ("coefficient", ""),
        "estimate": ("estimate", FIGURES),
        "std_err": ("std. error", FIGURES),
        "z": ("z", ".2f"),
        "p": ("p", P_VALUE),
        "low": ("2.5 %", FIGURES),
        "high": ("97.5 %", FIGURES),
    }
    frame = result.to_frame()
    frame = frame.assign(name=frame.index)
    note = f"{_errors(result)}; 95 % intervals."
    if result.family.tag == "nested":
        note += " z and p of a scale μ are against 1."
    return frame_table("estimates", "Coefficients", frame, columns, shown=MAX_ROWS_SHOWN, note=note)


def _errors(result: Result) -> str:
    kind = KIND[result.default_cov]
    return f"{kind[0].upper()}{kind[1:]}"


def _both(left: Result, right: Result) -> Table:
    columns = {"name": ("coefficient", "")}
    for half, validity in (("selecting", "too small"), ("estimating", "valid")):
        columns[f"estimate_{half}"] = (half, FIGURES)
        columns[f"std_err_{half}"] = ("std. error", FIGURES)
        columns[f"p_{half}"] = (f"p ({validity})", P_VALUE)
    halves = [left.to_frame().add_suffix("_selecting"), right.to_frame().add_suffix("_estimating")]
    return frame_table(
        "estimates",
        "Coefficients, from those who selected and from those who did not",
        pd.concat(halves, axis=1).assign(name=halves[0].index),
        columns,
        shown=MAX_ROWS_SHOWN,
        note=f"{_errors(right)}.",
    )


def fit(found: Findings) -> Section:
    """Fit statistics beside simpler models and given ones."""
    result = found.record.result
    frame = found.evaluation.comparisons
    if frame is None:
        names = [name for name in FIT_COLUMNS if name not in ("model", "coefficients")]
        alone = {"model": SELECTED, "coefficients": result.n_parameters}
        frame = pd.DataFrame([alone | {name: getattr(result, name) for name in names}])
    note = (
        f"{result.n_situations:,} choice situations. With equal shares the log-likelihood is "
        f"{result.null_loglik:,.1f}, with constants only {result.constants_loglik:,.1f}. "
        "AIC and BIC: smaller is better."
    ).replace(" -", " −")
    if result.n_units != result.n_situations:
        note += f" BIC counts {result.n_units:,} persons in every row."
    if result.family.tag != "mnl":
        note += (
            " Models that every modeller estimates first are multinomial logits; those that were "
            f"given to compare with are of the same family, a {result.family.title.lower()}, with "
            "as many of the terms that it names as they have."
        )
    table = frame_table(
        "fit",
        "Fit on the persons that it was estimated on",
        frame.assign(model=frame["model"].map(model_name)),
        FIT_COLUMNS,
        marks=bold([0]),
        note=note,
    )
    return Section("fit", "Fit beside other models", [table])


def held_out(found: Findings) -> Section:
    """Held-out prediction by cross-validation, and calibration."""
    evaluation, frame, unit = found.evaluation, found.evaluation.comparisons, found.unit
    title = "Held-out prediction"
    if frame is None or not evaluation.folds:
        text = "Not computed: folds = 5 under [output] of study.toml asks for cross-validation."
        return Section("heldout", title, [Text(text)])
    n = float(found.record.result.data.weights.sum())
    table = frame_table(
        "heldout",
        f"Held-out prediction: {evaluation.folds}-fold cross-validation by {unit[:-1]}",
        frame.assign(model=frame["model"].map(model_name), mean=frame["held_out"] / n),
        {
            "model": ("model", ""),
            "held_out": ("log-likelihood", ",.1f"),
            "mean": ("per choice", ".4f"),
            "accuracy": ("accuracy (hit rate)", ".1%"),
        },
        marks=bold([0]),
        note=_selected_with(found, unit),
    )
    parts: list[Part] = [Text(_gain(found, unit)), table]
    if evaluation.predictors is not None:
        parts.append(_predictors(evaluation.predictors, unit, model_of_search(found.record)))
    if evaluation.calibration is not None and len(evaluation.calibration):
        caption = (
            f"Calibration on held-out {unit}: mean predicted probability and observed share in "
            "bins, with 95 % intervals. On the line, predictions are calibrated."
        )
        parts += [Figure("calibration", caption), _calibration(evaluation.calibration)]
    return Section("heldout", title, parts)


def _predictors(frame: pd.DataFrame, unit: str, searched: str) -> Table:
    """Selected model, average over specifications, relevance posterior."""
    return frame_table(
        "predictors",
        "Selected model, average over specifications or relevance posterior",
        frame,
        {
            "predictor": ("predicted by", ""),
            "held_out": ("log-likelihood", ",.1f"),
            "difference": ("difference", "+,.1f"),
            "difference_se": ("std. error", ",.1f"),
        },
        marks=bold([int(frame["held_out"].to_numpy().argmax())], 1),
        note=f"Relevance, selection and estimation were repeated in every fold, without the "
        f"held-out {unit}{f', all of the {searched}' if searched else ''}. "
        f"{best_predictor(frame, unit)}",
    )


def _gain(found: Findings, unit: str) -> str:
    frame = found.evaluation.comparisons
    assert frame is not None  # noqa: S101 - asked before
    chances = [percent(float(p)) for p in mean_probabilities(found.record)]
    others = [f"{p} by {model_name(m)}" for m, p in zip(frame["model"], chances, strict=True)]
    beside = f", {' and '.join(others[1:3])}" if len(others) > 1 else ""
    return (
        f"{'The choices of held-out persons' if unit == 'persons' else 'Held-out choices'} were "
        f"given a probability of {chances[0]} by the selected model{beside} (geometric mean)."
    )


def _selected_with(found: Findings, unit: str) -> str:
    if found.evaluation.searched:
        return f"Selection and estimation were repeated in every fold, without the held-out {unit}."
    if found.record.honest:
        return f"None of these {unit} had a part in the selection; estimates are of the others."
    return (
        f"Coefficients were estimated without the held-out {unit}; the terms were selected with "
        "them, so the selected model looks a little too good. search_in_folds = true repeats the "
        "selection in every fold."
    )


def _calibration(frame: pd.DataFrame) -> Table:
    columns = {
        "alternative": ("alternative", ""),
        "n": ("choices", ",d"),
        "predicted": ("predicted", ".3f"),
        "observed": ("observed", ".3f"),
        "low": ("2.5 %", ".3f"),
        "high": ("97.5 %", ".3f"),
    }
    return frame_table("calibration", "Calibration", frame, columns, shown=0)


def checks(found: Findings) -> Section:
    """Convergence, signs, sanity."""
    parts: list[Part] = [*convergence(found.record), *sanity(found.record)]
    if found.signs:
        parts.append(_signs(found))
    return Section("checks", "Convergence, signs and sanity", parts)


def _signs(found: Findings) -> Table:
    rows: list[list[Cell]] = [
        [
            check.alternative,
            check.attribute,
            SIGNS[check.expected],
            check.segments,
            len(check.wrong),
            "; ".join(check.wrong[:5]) + (" …" if len(check.wrong) > 5 else "") or "–",
        ]
        for check in found.signs
    ]
    return Table(
        "signs",
        "Expected signs, in every segment that the model distinguishes",
        ["alternative", "attribute", "expected", "segments", "wrong", "where"],
        ["", "", "", ",d", ",d", ""],
        rows,
        shown=MAX_ROWS_SHOWN,
    )
