"""A study on one page of a terminal: what was found, how sure one can be, what came close."""

from __future__ import annotations

import textwrap

from ardchoice.ard import ArdFit
from ardchoice.mnl import MnlResult
from ardchoice.space import Specification
from ardchoice.text import WIDTH, number, p_value, table

MOST_TIES = 8
"""Near-ties that are listed; the specification has all."""

CONDITIONAL = (
    "The same choices selected the terms, so these p-values are conditional on the selection and "
    "too small. specify(..., honest=True) selects on one half of the persons and estimates on the "
    "other."
)
VALID = (
    "Left: persons that selected the terms; these p-values are too small. Right: the other "
    "persons, who had no part in the selection; these p-values are valid."
)


def summarise_study(
    specification: Specification,
    fit: ArdFit,
    result: MnlResult,
    selection_result: MnlResult | None,
    rule: str,
    seconds: float,
    notes: tuple[str, ...] = (),
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
    """
    parts = [_head(specification, fit, result, rule, seconds), str(specification)]
    parts += [_fill(note) for note in specification.notes]
    if selection_result is None:
        parts += [result.summary(), *map(_fill, notes), _fill(CONDITIONAL)]
    else:
        head = result.summary().split("\n\ncoefficient")[0]
        table_of_both = _side_by_side(selection_result, result)
        parts += [head, table_of_both, *map(_fill, notes), _fill(VALID)]
    if specification.near_ties:
        parts.append(_near_ties(specification))
    return "\n\n".join(parts)


def _head(
    specification: Specification, fit: ArdFit, result: MnlResult, rule: str, seconds: float
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


def _side_by_side(left: MnlResult, right: MnlResult) -> str:
    columns = ["estimate", "std_err", "p"]
    a, b = left.to_frame()[columns].to_numpy(float), right.to_frame()[columns].to_numpy(float)
    rows = []
    for i, name in enumerate(left.names):
        cells = [[number(x, 3), number(s, 2), p_value(p)] for x, s, p in (a[i], b[i])]
        rows.append([name, *cells[0], "", *cells[1]])
    head = ["coefficient", "selecting", "std err", "p", "", "estimating", "std err", "p"]
    return table(rows, head, gap=1)


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
