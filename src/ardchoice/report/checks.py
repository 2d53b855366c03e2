"""Verdicts on a study in words: convergence, signs, shares, correlated and weak estimates."""

from __future__ import annotations

import numpy as np

from ardchoice.estimation import Result, infinity
from ardchoice.evaluation import HIGH_CORRELATION, correlated_estimates, sign_checks
from ardchoice.record import Note, StudyRecord
from ardchoice.text import number, percent

SHARE_TOLERANCE = 0.005
"""Difference of shares that needs a look."""
CRITICAL_Z = 1.96
NEGLIGIBLE_LOGLIK = 1e-6
"""Log-likelihood that needs no number."""
SIGNS = {"-": "−", "+": "+"}


def convergence(record: StudyRecord) -> list[Note]:
    """Whether relevance and estimation converged."""
    fit = record.fit
    why = (
        f"{fit.solver.name} made {fit.passes:.0f} passes over the data in {fit.seconds:.1f} s and "
        f"stopped: {fit.reason}."
    )
    if fit.converged:
        return [Note("good", "Relevance converged", why), _estimation(record.result)]
    if fit.moving:
        why += f" Still moving: {', '.join(map(str, fit.moving[:5]))}."
    return [Note("bad", "Relevance did not converge", why), _estimation(record.result)]


def _estimation(result: Result) -> Note:
    if not result.converged:
        text = (
            f"{number(result.decrement)} of log-likelihood is still to be gained: do not use these "
            "estimates."
        )
        return Note("bad", "Estimation did not converge", text)
    negligible = result.decrement < NEGLIGIBLE_LOGLIK
    left = "nothing" if negligible else f"at most {number(result.decrement, 2)}"
    steps = f"{result.iterations} Newton steps, after which {left} of log-likelihood is left to be"
    infinite = int(result.is_infinite.sum())
    if not infinite:
        return Note("good", "Estimation converged", f"{steps} gained.")
    text = (
        f"{steps} gained by the others. Of what diverges (complete or quasi-complete separation) "
        "only the sign means anything; it has no standard error."
    )
    return Note("look", f"Estimated, apart from {infinity(infinite)}", text)


def sanity(record: StudyRecord) -> list[Note]:
    """Signs, shares, estimates that are highly correlated or not different from zero."""
    checks = (_signs, _shares, _correlated, _weak, _codes_for_missing)
    return [note for note in (check(record) for check in checks) if note is not None]


def _signs(record: StudyRecord) -> Note:
    checks = sign_checks(record)
    if not checks:
        text = "No attribute of the model has an expected sign."
        return Note("plain", "Signs", text)
    segments = sum(check.segments for check in checks)
    wrong = sum(len(check.wrong) for check in checks)
    signs = {check.attribute: check.expected for check in checks}
    names = ", ".join(f"{k} ({SIGNS[v]})" for k, v in signs.items())
    if wrong:
        text = f"The sign is wrong in {wrong} of {segments} segments; expected {names}."
        return Note("bad", "Signs not as expected", text)
    text = (
        f"{names}: in all {segments} combinations of alternative, attribute and segment that the "
        "model distinguishes."
    )
    return Note("good", "Signs as expected", text)


def _shares(record: StudyRecord) -> Note:
    shares = record.result.score().shares
    off = (shares["predicted"] - shares["observed"]).abs()
    if float(off.max()) <= SHARE_TOLERANCE:
        text = "Predicted and observed shares of the alternatives agree to 0.5 percentage points."
        return Note("good", "Shares are met", text)
    if not any(t.what is None for t in record.result.specification.terms):
        text = "The model has no constants, so nothing ties predicted shares to observed ones."
        return Note("plain", "Shares are free", text)
    name, family = str(off.idxmax()), record.result.family
    text = (
        f"{name}: observed {percent(float(shares['observed'][name]))}, predicted "
        f"{percent(float(shares['predicted'][name]))}. "
    )
    if family.tag == "mnl":
        text += "With a constant for every alternative but one, shares would be met exactly."
    else:
        text += (
            f"Constants do not make a {family.title.lower()} meet shares exactly, as they do a "
            "multinomial logit; result.calibrate(shares) moves them until it does."
        )
    return Note("look", "Shares are not met", text)


def _correlated(record: StudyRecord) -> Note | None:
    found = correlated_estimates(record.result)
    if found is None:
        return None
    text = f"{' and '.join(found.names)} are correlated most, {found.correlation:.3f} in size."
    if not found.n_high:
        return Note("good", "No highly correlated estimates", text)
    pairs = "1 pair is" if found.n_high == 1 else f"{found.n_high} pairs are"
    text = f"{pairs} above {HIGH_CORRELATION}. {text}"
    return Note("look", "Some estimates are highly correlated", text)


def _weak(record: StudyRecord) -> Note | None:
    z = np.abs(record.result.to_frame()["z"].to_numpy())
    weak = int((z < CRITICAL_Z).sum())
    if not weak:
        return None
    text = (
        f"{weak} of {record.result.n_parameters} coefficients are within two standard errors of "
        "zero. The levels of a covariate enter together, so some may well be."
    )
    return Note("plain", "Weak coefficients", text)


def _codes_for_missing(record: StudyRecord) -> Note | None:
    """Values that reading detected as suspicious, and that were estimated with all the same."""
    found = [p.message for p in record.data.warnings if p.code == "sentinel"]
    if not found:
        return None
    more = f" So it is in {len(found) - 1} more." if len(found) > 1 else ""
    return Note("look", "A value may stand for missing", found[0] + more)
