"""Whether a study is what it should be: signs, convergence, shares, twins among the estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice.estimation import Result, infinity
from ardchoice.record import StudyRecord
from ardchoice.report.document import Note
from ardchoice.selection import SignRules, WrongSign
from ardchoice.text import number, percent

TWINS = 0.95
"""Correlation from which two estimates can hardly be told apart."""
SHARES = 0.005
"""Difference of shares that deserves a look."""
WEAK = 1.96
NOTHING = 1e-6
"""Log-likelihood that is not worth a number."""


@dataclass(frozen=True)
class SignCheck:
    """Whether utility goes the expected way with an attribute of an alternative.

    Attributes
    ----------
    alternative, attribute, expected
    segments
        Combinations of levels that the model tells apart.
    wrong
        Those in which it goes the wrong way.
    """

    alternative: str
    attribute: str
    expected: str
    segments: int
    wrong: tuple[str, ...]


def sign_checks(record: StudyRecord) -> list[SignCheck]:
    """Expected signs against the estimates, by alternative and attribute."""
    signs = {} if record.structure is None else record.structure.signs
    result = record.result
    rules = SignRules(signs, result.encoding, result.data)
    chosen = range(len(result.encoding.terms))
    wrong: dict[tuple[str, str], list[WrongSign]] = {}
    for where in rules.violations(chosen, result.coefficients):
        wrong.setdefault((where.alternative, where.attribute), []).append(where)
    out = []
    for (alternative, attribute), count in rules.segments(chosen).items():
        here = wrong.get((alternative, attribute), [])
        out.append(
            SignCheck(
                alternative,
                attribute,
                signs[attribute],
                count,
                tuple(w.segment or "everybody" for w in here),
            )
        )
    return out


def convergence(record: StudyRecord) -> list[Note]:
    """Whether the two solvers may be believed."""
    fit, result = record.fit, record.result
    moving = ""
    if fit.moving:
        moving = f" Still moving: {', '.join(map(str, fit.moving[:5]))}."
    passes = f"{fit.solver.name} made {fit.passes:.0f} passes over the data in {fit.seconds:.1f} s"
    why = f"{passes} and stopped: {fit.reason}."
    relevance = (
        Note("good", "Relevance converged", why)
        if fit.converged
        else Note("bad", "Relevance did not converge", f"{why}{moving}")
    )
    return [relevance, _estimation(result)]


def _estimation(result: Result) -> Note:
    left = "nothing" if result.decrement < NOTHING else f"at most {number(result.decrement, 2)}"
    if not result.converged:
        text = (
            f"{number(result.decrement)} of log-likelihood is still to be gained: do not use these "
            "estimates."
        )
        return Note("bad", "Estimation did not converge", text)
    steps = f"{result.iterations} Newton steps, after which {left} of log-likelihood is left to be"
    infinite = int(result.is_infinite.sum())
    if infinite:
        text = (
            f"{steps} gained by the others. Of what runs to infinity only the sign means anything; "
            "it has no standard error."
        )
        return Note("look", f"Estimated, apart from {infinity(infinite)}", text)
    return Note("good", "Estimation converged", f"{steps} gained.")


def sanity(record: StudyRecord) -> list[Note]:
    """Signs, shares, estimates that cannot be told from zero or from one another."""
    return [
        *_signs(record),
        _shares(record),
        *_twins(record),
        *_weak(record),
        *_codes_for_missing(record),
    ]


def _codes_for_missing(record: StudyRecord) -> list[Note]:
    """Values that reading found suspicious, and that were estimated with all the same."""
    found = [p.message for p in record.data.warnings if p.code == "sentinel"]
    more = f" So it is in {len(found) - 1} more." if len(found) > 1 else ""
    return [Note("look", "A value may stand for missing", text + more) for text in found[:1]]


def _signs(record: StudyRecord) -> list[Note]:
    checks = sign_checks(record)
    if not checks:
        text = "No expected signs were given, so none were asked for or checked."
        return [Note("plain", "Signs", text)]
    segments = sum(check.segments for check in checks)
    wrong = sum(len(check.wrong) for check in checks)
    names = ", ".join(f"{k} ({_sign(v)})" for k, v in _expected(record).items())
    if wrong:
        return [
            Note(
                "bad",
                "Signs not as expected",
                f"Utility goes the wrong way in {wrong} of {segments} segments; expected {names}.",
            )
        ]
    return [
        Note(
            "good",
            "Signs as expected",
            f"{names}: in all {segments} combinations of alternative, attribute and segment that "
            "the model tells apart.",
        )
    ]


def _expected(record: StudyRecord) -> dict[str, str]:
    return {} if record.structure is None else dict(record.structure.signs)


def _sign(sign: str) -> str:
    return "−" if sign == "-" else "+"


def _shares(record: StudyRecord) -> Note:
    shares = record.result.score().shares
    off = (shares["predicted"] - shares["observed"]).abs()
    if float(off.max()) <= SHARES:
        text = "Predicted and observed shares of the alternatives agree to 0.5 percentage points."
        return Note("good", "Shares are met", text)
    if not any(t.what is None for t in record.result.specification.terms):
        text = "The model has no constants, so nothing ties predicted shares to observed ones."
        return Note("plain", "Shares are free", text)
    name = str(off.idxmax())
    text = (
        f"{name}: observed {percent(float(shares['observed'][name]))}, predicted "
        f"{percent(float(shares['predicted'][name]))}. With a constant for every alternative but "
        "one, shares are met exactly."
    )
    return Note("look", "Shares are not met", text)


def _twins(record: StudyRecord) -> list[Note]:
    result = record.result
    if result.n_parameters < 2:
        return []
    matrix = result.covariances["classical"]
    with np.errstate(invalid="ignore", divide="ignore"):
        sd = np.sqrt(np.diag(matrix))
        correlation = np.abs(matrix / sd / sd[:, None])
    correlation = np.nan_to_num(np.triu(correlation, 1))
    a, b = np.unravel_index(int(correlation.argmax()), correlation.shape)
    count = int((correlation > TWINS).sum())
    text = (
        f"{result.names[a]} and {result.names[b]} are correlated most, "
        f"{correlation[a, b]:.3f} in size."
    )
    if not count:
        return [Note("good", "Estimates can be told apart", text)]
    pairs = "1 pair is" if count == 1 else f"{count} pairs are"
    return [Note("look", "Some estimates are near-twins", f"{pairs} above {TWINS}. {text}")]


def _weak(record: StudyRecord) -> list[Note]:
    result = record.result
    z = np.abs(result.to_frame()["z"].to_numpy())
    weak = int((z < WEAK).sum())
    notes = []
    if weak:
        text = (
            f"{weak} of {result.n_parameters} coefficients are within two standard errors of zero. "
            "The levels of a covariate enter together, so some may well be."
        )
        notes.append(Note("plain", "Weak coefficients", text))
    return notes
