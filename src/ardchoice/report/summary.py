"""A study on one page of a terminal: what was found, how sure one can be, what came close."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ardchoice.ard import ArdFit
from ardchoice.estimation import ALL, Result
from ardchoice.record import Evaluation, StudyRecord
from ardchoice.report.post_estimation import named, worth
from ardchoice.report.style import one_line
from ardchoice.space import Specification
from ardchoice.text import WIDTH, number, p_value, percent, table

MOST_TIES = 8
"""Near-ties that are listed; the specification has all."""
MOST_WORTH = 8
"""Willingnesses to pay that are listed."""

CONDITIONAL = (
    "The same choices selected the terms, so these p-values are conditional on the selection and "
    "too small. To select on one half of the persons and estimate on the other: honest=True in "
    "Python, honest = true in [selection] of a study file."
)
VALID = (
    "Left: persons that selected the terms; these p-values are too small. Right: the other "
    "persons, who had no part in the selection; these p-values are valid."
)


def summarise_record(record: StudyRecord) -> str:
    """The page of a study: what `print(study)` shows.

    Held-out prediction stands on it once it was worked out, willingness to pay where something in
    the model is called like a cost.
    """
    return summarise_study(
        record.specification,
        record.fit,
        record.result,
        record.selection_result,
        record.rule.name,
        record.seconds,
        record.notes,
        [*_held_out(record.evaluation), *_worth(record)],
    )


def summarise_study(
    specification: Specification,
    fit: ArdFit,
    result: Result,
    selection_result: Result | None,
    rule: str,
    seconds: float,
    notes: tuple[str, ...] = (),
    more: Sequence[str] = (),
) -> str:
    """The page.

    Parameters
    ----------
    specification, fit, result
        What was selected, from what, and its estimates.
    selection_result
        Estimates on the persons that selected, when `result` is of others.
    rule
        Name of the rule that selected.
    seconds
        How long it took.
    notes
        Further sentences about the estimates.
    more
        Further paragraphs, after the estimates.
    """
    parts = [_head(specification, fit, result, rule, seconds), str(specification)]
    parts += [_fill(note) for note in specification.notes]
    if selection_result is None:
        parts += [result.summary(), *map(_fill, notes), _fill(CONDITIONAL)]
    else:
        head = result.summary().split("\n\ncoefficient")[0]
        table_of_both = _side_by_side(selection_result, result)
        parts += [head, table_of_both, *map(_fill, notes), _fill(VALID)]
    parts += more
    if specification.near_ties:
        parts.append(_near_ties(specification))
    return "\n\n".join(parts)


def _head(
    specification: Specification, fit: ArdFit, result: Result, rule: str, seconds: float
) -> str:
    verdict = "" if fit.converged else "; RELEVANCE DID NOT CONVERGE"
    value = ""
    if specification.criterion is not None:
        measure = "" if specification.measure == rule else f"{specification.measure} "
        value = f", {measure}{specification.criterion:,.1f},"
    return (
        f"{len(specification)} of {len(fit.terms)} candidate terms, "
        f"{result.n_parameters} of {fit.encoding.n_columns} coefficients\n"
        f"selected by {rule}{value} in {seconds:.1f} s{verdict}"
    )


def _side_by_side(left: Result, right: Result) -> str:
    columns = ["estimate", "std_err", "p"]
    a, b = left.to_frame()[columns].to_numpy(float), right.to_frame()[columns].to_numpy(float)
    rows = []
    for i, name in enumerate(left.names):
        cells = [[number(x, 3), number(s, 2), p_value(p)] for x, s, p in (a[i], b[i])]
        rows.append([name, *cells[0], "", *cells[1]])
    head = ["coefficient", "selecting", "std err", "p", "", "estimating", "std err", "p"]
    return table(rows, head, gap=1)


def _held_out(evaluation: Evaluation | None) -> list[str]:
    if evaluation is None or evaluation.comparisons is None or not evaluation.folds:
        return []
    frame = evaluation.comparisons
    rows = [
        [one_line(str(model)), str(int(k)), f"{loglik:,.1f}", percent(float(accuracy))]
        for model, k, loglik, accuracy in zip(
            frame["model"],
            frame["coefficients"],
            frame["held_out"],
            frame["accuracy"],
            strict=True,
        )
    ]
    head = [f"left out, {evaluation.folds} folds", "coefficients", "log-likelihood", "right"]
    known = "" if evaluation.searched else "\nestimated anew in every fold, not selected anew"
    return [table(rows, head) + known]


def _worth(record: StudyRecord) -> list[str]:
    found = worth(record)
    if found.frame is None:
        return []
    frame = found.frame[found.frame["segment"] == ALL]
    what = map(named, frame["attribute"], frame["level"])
    rows = [
        [
            one_line(name if alternative == "*" else f"{name} of {alternative}"),
            f"{n:,}",
            number(estimate, 3),
            f"{number(low, 3)} to {number(high, 3)}",
        ]
        for name, alternative, n, estimate, low, high in zip(
            what,
            *(frame[c] for c in ("alternative", "n")),
            *(frame[c].astype(float) for c in ("estimate", "low", "high")),
            strict=True,
        )
    ]
    head = [
        "a unit of" if not frame["level"].any() else "what",
        "choices",
        f"in {one_line(str(found.cost), 20)}",
        "95% interval",
    ]
    text = table(rows[:MOST_WORTH], head)
    if len(rows) > MOST_WORTH:
        text += f"\n  and {len(rows) - MOST_WORTH} more"
    if len(found.frame) > len(frame):
        text += "\nby segment: study.result.wtp(attribute, cost)"
    return [text]


def _near_ties(specification: Specification) -> str:
    lines = [f"Near-ties: {specification.measure} within 2 of this specification's"]
    for rival in specification.near_ties[:MOST_TIES]:
        lines += textwrap.wrap(
            str(rival), WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False
        )
    more = len(specification.near_ties) - MOST_TIES
    if more > 0:
        lines.append(f"  and {more} more")
    if any(rival.cost < 0 for rival in specification.near_ties):
        lines.append("Lower ones have a form that is not linear and gains too little by it.")
    return "\n".join(lines)


def _fill(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False)
