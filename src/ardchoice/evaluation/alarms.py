"""What must be seen first: wrong signs, negative values of time, models that do better."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from ardchoice.data import recognised_kind
from ardchoice.estimation import ALL, Result
from ardchoice.evaluation.checks import SignCheck, sign_checks
from ardchoice.evaluation.post_estimation import WillingnessToPay, willingness_to_pay
from ardchoice.numerics import t_quantile
from ardchoice.record import (
    ALL_SPECIFIC,
    CONSTANTS_ONLY,
    EQUAL_SHARES,
    PLAIN_LINEAR,
    TEXTBOOK,
    Note,
    StudyRecord,
)

BASELINES = {
    CONSTANTS_ONLY: "constants only",
    EQUAL_SHARES: "equal shares",
    TEXTBOOK: "the textbook model (constants and generic linear attributes)",
    ALL_SPECIFIC: "the model with every attribute linear and alternative-specific",
    PLAIN_LINEAR: "the model with every attribute linear",
}
"""Models that stand beside every answer, as a sentence calls them."""
SAME_LOGLIK = 0.01
"""Log-likelihoods closer than this, with as many coefficients, are those of one model."""
BIC_TOLERANCE = 0.01
"""Difference of BIC that is rounding."""
HELD_OUT_LEVEL = 0.05
"""Size of the two-sided t test, over folds, by which a baseline is called better."""
MIN_HELD_OUT_DIFFERENCE = 1.0
"""Log-likelihood by which it must predict better in any case."""
SIGNS_NOT_REQUIRED = (
    'Expected signs are required with signs = "recognised" under [structure] of a study file, '
    'Structure(signs="recognised") in Python, and for a model by hand with fit(..., bounds=...); '
    "if the sign is meant, rename the attribute or give it the other sign."
)
SIGNS_REQUIRED = (
    "The sign was required, and no specification that the search met obeys it there: merge the "
    "levels of the covariates that form these segments, or leave a covariate out of by."
)
NAMED_SEGMENTS = 3


def alarms(record: StudyRecord, wtp: WillingnessToPay | None = None) -> list[Note]:
    """Red crosses: why the selected model must not be used as it is.

    Parameters
    ----------
    record
    wtp
        Willingness to pay, where it was computed before.

    Returns
    -------
    list of Note
        With verdict ``"bad"``: estimates that the family does not admit, such as a scale of a nest
        below 1, wrong signs, a negative value of time, a baseline that does better. ``"look"``: a
        baseline has a lower BIC but wrong signs of its own.
    """
    required = () if record.structure is None else tuple(record.structure.given_signs)
    notes = wrong_signs(sign_checks(record), required)
    if not notes:
        notes = _negative_value_of_time(willingness_to_pay(record) if wtp is None else wtp)
    return [*_inadmissible(record.result), *notes, *beaten_by(record)]


def _inadmissible(result: Result) -> list[Note]:
    reasons = result.family.inadmissible(result.coefficients, result.layout)
    return [Note("bad", "The model is inadmissible", reason) for reason in reasons]


def wrong_signs(checks: list[SignCheck], required: Collection[str] = ()) -> list[Note]:
    """Where utility rises with money, time, waiting or changes, or against a given sign.

    Signs of `required` attributes were asked of the search, so that asking for them is no advice.
    """
    wrong = [check for check in checks if check.wrong]
    if not wrong:
        return []
    segments = sum(len(check.wrong) for check in wrong)
    named = [
        f"{check.attribute} of {check.alternative} ({where})"
        for check in wrong
        for where in check.wrong
    ]
    more = f" and {segments - NAMED_SEGMENTS} more" if segments > NAMED_SEGMENTS else ""
    rises = "falls" if all(check.expected == "+" for check in wrong) else "rises"
    text = (
        f"Utility {rises} with {', '.join(named[:NAMED_SEGMENTS])}{more}. Do not use these "
        "estimates for willingness to pay or forecasts. "
    )
    text += SIGNS_REQUIRED if all(c.attribute in required for c in wrong) else SIGNS_NOT_REQUIRED
    return [Note("bad", "Wrong sign", text)]


def _negative_value_of_time(wtp: WillingnessToPay) -> list[Note]:
    frame = wtp.frame
    if frame is None:
        return []
    times = [recognised_kind(str(name)) in ("time", "wait") for name in frame["attribute"]]
    below = frame[np.array(times, dtype=bool) & (frame["estimate"].to_numpy(float) < 0)]
    if below.empty:
        return []
    row = below.iloc[0]
    where = "" if row["segment"] == ALL else f" for {row['segment']}"
    more = f" and in {len(below) - 1} more rows" if len(below) > 1 else ""
    text = f"{row['attribute']} of {row['alternative']}{where}: {row['estimate']:.3g}{more}."
    return [Note("bad", "Negative value of time", text)]


def beaten_by(record: StudyRecord) -> list[Note]:
    """Baselines that do better than the answer, in sample by BIC or on held-out persons."""
    if record.evaluation is None or record.evaluation.comparisons is None:
        return []
    frame = record.evaluation.comparisons
    own, folds, notes = frame.iloc[0], record.evaluation.folds, []
    for _, other in frame.iloc[1:].iterrows():
        name = BASELINES.get(str(other["model"]))
        if name is None or is_same_model(own, other):
            continue
        texts = [*_lower_bic(own, other), *predicts_better(own, other, folds)]
        if not texts:
            continue
        signs = int(other.get("wrong_signs", 0) or 0)
        verb = "do" if name.startswith(("constants", "equal")) else "does"
        title = f"{name[0].upper()}{name[1:]} {verb} better"
        text = f"{'; '.join(texts)}."
        if signs:
            text += (
                f" But there utility changes the wrong way in {signs} "
                f"segment{'s' if signs > 1 else ''}, so it is no model to use."
            )
        notes.append(Note("look" if signs else "bad", title, text))
    return notes


def is_same_model(own: pd.Series, other: pd.Series) -> bool:
    """Whether two rows of a comparison are one model under two names."""
    same_size = own["coefficients"] == other["coefficients"]
    return bool(same_size and abs(own["loglik"] - other["loglik"]) < SAME_LOGLIK)


def _lower_bic(own: pd.Series, other: pd.Series) -> list[str]:
    if not own["bic"] > other["bic"] + BIC_TOLERANCE:
        return []
    return [f"BIC {other['bic']:,.1f} against {own['bic']:,.1f} of the selected model"]


def predicts_better(own: pd.Series, other: pd.Series, folds: int) -> list[str]:
    """A clause where another model predicts held-out persons better, beyond chance."""
    gain = float(other["held_out"] - own["held_out"])
    error = float(other.get("held_out_se", np.nan))
    if folds < 2 or np.isnan(error):
        return []
    clear = error * float(t_quantile(1 - HELD_OUT_LEVEL / 2, folds - 1))
    if not gain > max(clear, MIN_HELD_OUT_DIFFERENCE):
        return []
    return [
        f"held-out log-likelihood {other['held_out']:,.1f} against {own['held_out']:,.1f} "
        f"(difference {gain:,.1f}, standard error {error:,.1f})"
    ]
