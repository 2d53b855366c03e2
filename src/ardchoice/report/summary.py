"""A study on one page of a terminal: specification, estimates, held-out prediction, near-ties."""

from __future__ import annotations

import textwrap

from ardchoice.estimation import ALL, Result, is_saved
from ardchoice.evaluation import (
    alarms,
    attribute_label,
    best_predictor,
    model_of_search,
    willingness_to_pay,
)
from ardchoice.record import Evaluation, StudyRecord
from ardchoice.report.style import one_line
from ardchoice.space import Specification
from ardchoice.text import WIDTH, number, p_value, percent, table

MAX_TIES_LISTED = 8
"""The specification has all."""
MAX_WTP_LISTED = 8
MAX_OPEN_LISTED = 12
SURE, WORTH_A_LINE = 0.95, 0.1
"""Inclusion probabilities from which a term is sure, and from which a dropped one is listed."""

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

    Held-out prediction is on it once it was computed, willingness to pay where something in the
    model is called like a cost.
    """
    specification, result, other = record.specification, record.result, record.selection_result
    parts = [_head(record), *_alarms(record), str(specification), _fill(specification.formula)]
    parts += map(_fill, specification.notes)
    if other is None:
        parts += [result.summary(), *map(_fill, record.notes), _fill(CONDITIONAL)]
    else:
        fit = result.summary().split("\n\ncoefficient")[0]
        parts += [fit, _side_by_side(other, result), *map(_fill, record.notes), _fill(VALID)]
    compared = "" if record.families is None else str(record.families)
    parts += ["" if record.differences is None else _fill(str(record.differences))]
    parts += [_terms_and_tastes(record)]
    parts += [compared, _held_out(record.evaluation), _predictors(record), _wtp(record)]
    parts += [_near_ties(specification), _inclusion(record)]
    return "\n\n".join(part for part in parts if part)


def _head(record: StudyRecord) -> str:
    specification, fit, rule = record.specification, record.fit, record.rule.name
    verdict = "" if fit.converged else "; RELEVANCE DID NOT CONVERGE"
    value = ""
    if specification.criterion is not None:
        measure = "" if specification.measure == rule else f"{specification.measure} "
        value = f", {measure}{specification.criterion:,.1f},"
    # Spreads, nests, membership: parameters of the family, which are no candidates.
    own = min(record.result.encoding.n_columns, record.result.n_parameters)
    more = record.result.n_parameters - own
    parameters = f" and {more} more parameter{'s' if more > 1 else ''}" if more else ""
    return (
        f"{len(specification)} of {len(fit.terms)} candidate terms, "
        f"{own} of {fit.encoding.n_columns} coefficients{parameters}\n"
        f"selected by {rule}{value} in {record.seconds:.1f} s{verdict}"
        + "".join(f"\n{_fill(one_line(line))}" for line in _duplicates(record))
    )


def _duplicates(record: StudyRecord) -> list[str]:
    """Candidates that are others under another name."""
    found = record.space.duplicates()
    more = len(found) - MAX_TIES_LISTED
    return [*found[:MAX_TIES_LISTED], *([f"and {more} more such"] if more > 0 else [])]


def _alarms(record: StudyRecord) -> list[str]:
    """Why the model must not be used as it is, before it is shown."""
    words = {"bad": "✗", "look": "!"}
    return [_fill(f"{words[note.verdict]} {one_line(str(note))}") for note in alarms(record)]


def _terms_and_tastes(record: StudyRecord) -> str:
    """How terms and random coefficients were decided, beside what the MNL selects."""
    if record.joint is None:
        return ""
    selection, mnl = record.joint.selection, record.joint.mnl_result
    lines = ["Random coefficients, decided together with the terms"]
    for c in selection.candidates:
        drawn = f" ({c.distribution})" if c.selected else ""
        lines += textwrap.wrap(
            f"{one_line(c.name)}{drawn}: {one_line(c.reason)}",
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
        )
    text = (
        f"Design effect of {selection.medians_of} (median): {selection.design_effect:.1f} in the "
        f"multinomial logit, {selection.design_effect_left:.2f} with these random coefficients; "
        "about 1 where they explain why answers of a person are alike."
    )
    beside = (
        f"Beside it, the multinomial logit selects {len(selection.mnl)} terms with "
        f"{mnl.n_parameters} coefficients, log-likelihood {mnl.loglik:,.1f}."
    )
    parts = ["\n".join(lines), _fill(text), _fill(beside)]
    both = () if record.evaluation is None else record.evaluation.both_ways
    if both:
        rows = [[m.title, f"{m.held_out:,.1f}", f"{m.each:,.1f}"] for m in both]
        parts.append(table(rows, ["held-out persons", "answers jointly", "single answers"]))
    if selection.explained:
        each = [f"{term} ({taste})" for term, taste in selection.explained.items()]
        parts.append(_fill("Its terms that tastes explain: " + "; ".join(each) + "."))
    return "\n\n".join(parts)


def _side_by_side(left: Result, right: Result) -> str:
    columns = ["estimate", "std_err", "p"]
    names, a = left.to_frame().index, left.to_frame()[columns].to_numpy(float)
    b = right.to_frame()[columns].to_numpy(float)
    rows = []
    for i, name in enumerate(map(str, names)):
        cells = [[number(x, 3), number(s, 2), p_value(p)] for x, s, p in (a[i], b[i])]
        rows.append([name, *cells[0], "", *cells[1]])
    head = ["coefficient", "selecting", "std err", "p", "", "estimating", "std err", "p"]
    return table(rows, head, gap=1)


def _held_out(evaluation: Evaluation | None) -> str:
    if evaluation is None or evaluation.comparisons is None or not evaluation.folds:
        return ""
    frame = evaluation.comparisons[["model", "coefficients", "held_out", "accuracy"]]
    rows = [
        [one_line(str(model)), str(int(k)), f"{loglik:,.1f}", percent(accuracy)]
        for model, k, loglik, accuracy in frame.itertuples(index=False)
    ]
    head = [f"held-out, {evaluation.folds} folds", "coefficients", "log-likelihood", "accuracy"]
    note = "" if evaluation.searched else "\nestimated again in every fold, not selected again"
    return table(rows, head) + note


def _predictors(record: StudyRecord) -> str:
    evaluation = record.evaluation
    if evaluation is None or evaluation.predictors is None:
        return ""
    rows = [
        [predictor, f"{loglik:,.1f}", f"{apart:+,.1f}", f"{error:,.1f}"]
        for predictor, loglik, apart, error in evaluation.predictors.itertuples(index=False)
    ]
    rows[0][2:] = ["", ""]
    head = ["held-out, selection repeated", "log-likelihood", "difference", "std err"]
    unit = "choices" if record.data.person is None else "persons"
    searched = model_of_search(record)
    note = f"\nall of the {searched}, which terms are searched with" if searched else ""
    return f"{table(rows, head)}{note}\n{_fill(best_predictor(evaluation.predictors, unit))}"


def _inclusion(record: StudyRecord) -> str:
    """Terms that are open, and how many are not."""
    evaluation, searched = record.evaluation, model_of_search(record)
    if evaluation is None or evaluation.inclusion is None:
        return ""
    frame = evaluation.inclusion
    p = frame["probability"]
    open_ = frame[(p < SURE) & (frame["selected"] | (p >= WORTH_A_LINE))]
    text = (
        f"Inclusion probabilities{f' in the {searched}' if searched else ''}: "
        f"{int((p >= SURE).sum())} terms of {SURE:g} or more; "
        f"{len(open_)} that are open"
    )
    rows = [
        [one_line(str(term)), f"{p:.2f}", "selected" if selected else ""]
        for term, selected, p in open_[["term", "selected", "probability"]]
        .head(MAX_OPEN_LISTED)
        .itertuples(index=False)
    ]
    if not rows:
        return _fill(f"{text}.")
    more = f"\n  and {len(open_) - len(rows)} more" if len(open_) > len(rows) else ""
    return f"{_fill(f'{text}:')}\n{table(rows, ['term', 'probability', ''])}{more}"


def _wtp(record: StudyRecord) -> str:
    found = willingness_to_pay(record)
    if found.frame is None:
        return ""
    frame = found.frame[found.frame["segment"] == ALL]
    data = record.result.data
    names = ["attribute", "level", "alternative", "n", "estimate", "low", "high", "unit"]
    rows = []
    for attribute, level, alternative, n, estimate, low, high, per in frame[names].itertuples(
        index=False
    ):
        label = attribute_label(data.label(attribute), level)
        hour = "an hour " if per.endswith(" per hour") else ""
        unit = "" if level else f" ({hour}saved)" if is_saved(attribute) else f" ({hour}more)"
        rows.append(
            [
                one_line((label if alternative == "*" else f"{label} of {alternative}") + unit),
                f"{n:,}",
                number(estimate, 3),
                f"{number(low, 3)} to {number(high, 3)}",
            ]
        )
    cost = one_line(data.unit(str(found.cost)) or data.label(str(found.cost)), 20)
    text = table(
        rows[:MAX_WTP_LISTED],
        ["WTP for (+: would be paid)", "choices", f"in {cost}", "95% interval"],
    )
    if len(rows) > MAX_WTP_LISTED:
        text += f"\n  and {len(rows) - MAX_WTP_LISTED} more"
    if len(found.frame) > len(frame):
        text += "\nby segment: study.result.wtp(attribute, cost)"
    return text


def _near_ties(specification: Specification) -> str:
    ties = specification.near_ties
    if not ties:
        return ""
    lines = [f"Near-ties: {specification.measure} within 2 of this specification's"]
    for rival in ties[:MAX_TIES_LISTED]:
        lines += textwrap.wrap(
            str(rival), WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False
        )
    if len(ties) > MAX_TIES_LISTED:
        lines.append(f"  and {len(ties) - MAX_TIES_LISTED} more")
    return "\n".join(lines)


def _fill(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False)
