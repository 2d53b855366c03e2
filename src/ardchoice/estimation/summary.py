"""What `result.summary()` prints: fit first, then estimates."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ardchoice.notebook import block, html_table, paragraph
from ardchoice.text import WIDTH, decimals, number, p_value, table

if TYPE_CHECKING:
    from ardchoice.estimation.estimates import Covariance
    from ardchoice.estimation.result import Result

ESTIMATES_HEAD = ["coefficient", "estimate", "std err", "z", "p"]
MOST_IN_NOTEBOOK = 60
"""Coefficients that a notebook shows."""
NO_DESIGN_EFFECT = 1.05
"""Below it the design effect is 1.0 or less as printed: answers of a person are not alike."""
NOTEWORTHY_EFFECT = 1.2
"""A design effect from which its causes are distinguished."""
KIND = {
    "classical": "classical standard errors",
    "robust": "robust standard errors",
    "cluster": "standard errors clustered by person",
    "bootstrap": "standard errors by the bootstrap over persons",
}


def summarise(result: Result, cov: Covariance) -> str:
    """Fit statistics, estimates and what to know of them, in 80 columns."""
    notes = [textwrap.fill(note, WIDTH) for note in result.notes]
    effect = [textwrap.fill(design_effect_sentence(result), WIDTH)]
    effect += [textwrap.fill(units_sentence(result), WIDTH)]
    parts = [_head(result), _fit(result), _estimates(result, cov), *filter(None, effect), *notes]
    return "\n\n".join(parts)


def units_sentence(result: Result) -> str:
    """What the attributes and covariates of the terms stand for; empty where nothing was given."""
    names = dict.fromkeys(n for t in result.encoding.terms for n in t.columns_used)
    text = result.data.units_text(names)
    return f"Units and labels: {text}." if text else ""


def result_html(result: Result) -> str:
    """The same as compact HTML for notebooks; whatever is a name is escaped."""
    title, *more = _head(result).split("\n")
    fit = [
        ["log-likelihood", f"{result.loglik:,.3f}", "AIC", f"{result.aic:,.1f}"],
        ["at equal shares", f"{result.null_loglik:,.3f}", "BIC", f"{result.bic:,.1f}"],
        ["constants only", f"{result.constants_loglik:,.3f}", "rho² bar", f"{result.rho2_bar:.4f}"],
    ]
    cov = result.default_cov
    return block(
        title,
        paragraph(" ".join(more)),
        html_table(fit, ["", "", "", ""]),
        html_table(_estimate_rows(result, cov), ESTIMATES_HEAD, most=MOST_IN_NOTEBOOK),
        paragraph(f"{KIND[cov]}. {design_effect_sentence(result)}"),
        paragraph(units_sentence(result)),
        *(paragraph(note) for note in result.notes),
    )


def design_effect_sentence(result: Result) -> str:
    """What the answers of one person are worth; empty where no person has several."""
    effect, persons = result.design_effect, result.n_persons
    if effect is None or persons is None or persons >= result.n_situations:
        return ""
    if effect < NO_DESIGN_EFFECT:
        return (
            f"Design effect {effect:.1f}: estimates are as precise as from as many independent "
            "answers."
        )
    answers = f"{result.n_situations:,} answers say as much as {result.n_situations / effect:,.0f}"
    within = result.person_effect or effect
    if effect <= max(NOTEWORTHY_EFFECT, within**2):  # most of it is due to persons
        return (
            f"Design effect {effect:.1f}: with several answers per person, variances of estimates "
            f"are {effect:.1f} times those of as many independent answers; {answers}."
        )
    others = "what the model gets wrong of single answers"
    if result.data.weight is not None:
        others = f"unequal weights or {others}"
    return (
        f"Design effect {effect:.1f}: variances of estimates are {effect:.1f} times those of as "
        f"many independent answers of equal weight; {answers}. Several answers per person account "
        f"for a factor of {within:.1f} of it, and {others} for {effect / within:.1f}."
    )


def _head(result: Result) -> str:
    persons = "" if result.n_persons is None else f" of {result.n_persons:,} persons"
    verdict = (
        f"converged in {result.iterations} Newton steps"
        if result.converged
        else f"DID NOT CONVERGE: {number(result.decrement)} of log-likelihood still to be gained"
    )
    infinite = int(result.is_infinite.sum())
    if infinite:
        verdict += f",\napart from {infinity(infinite)}"
    return (
        f"{result.family.title}, {result.n_parameters} parameters\n"
        f"{result.n_situations:,} choice situations{persons}; {verdict}"
    ) + _weights(result)


def _weights(result: Result) -> str:
    """A line on weights that are not counts."""
    text = result.data.weights_text()
    return f"\n{text}" if text else ""


def infinity(count: int) -> str:
    """How many coefficients diverge."""
    if count == 1:
        return "1 coefficient that diverges"
    return f"{count} coefficients that diverge"


def _fit(result: Result) -> str:
    left = [
        ("Log-likelihood", f"{result.loglik:,.3f}"),
        ("  at equal shares", f"{result.null_loglik:,.3f}"),
        ("  with constants only", f"{result.constants_loglik:,.3f}"),
    ]
    right = [
        ("AIC", f"{result.aic:,.1f}", "rho2", f"{result.rho2:.4f}"),
        ("BIC", f"{result.bic:,.1f}", "rho2 bar", f"{result.rho2_bar:.4f}"),
        ("", "", "", ""),
    ]
    rows = [[*a, f"   {b[0]}", b[1], f"   {b[2]}", b[3]] for a, b in zip(left, right, strict=True)]
    return table(rows)


def _estimates(result: Result, cov: Covariance) -> str:
    body = table(_estimate_rows(result, cov), ESTIMATES_HEAD)
    return f"{body}\n{KIND[cov]}"


def _estimate_rows(result: Result, cov: Covariance) -> list[list[str]]:
    frame = result.to_frame(cov)
    cells = frame[["estimate", "std_err", "z", "p"]].to_numpy(dtype=float)
    return [
        [str(name), number(estimate), number(std_err), decimals(z), p_value(p)]
        for name, (estimate, std_err, z, p) in zip(frame.index, cells, strict=True)
    ]
