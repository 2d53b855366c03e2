"""A study as compact HTML for notebooks."""

from __future__ import annotations

from ardchoice.evaluation import alarms
from ardchoice.notebook import block, html_table, paragraph
from ardchoice.record import StudyRecord
from ardchoice.report.style import one_line
from ardchoice.report.summary import CONDITIONAL
from ardchoice.text import number, p_value

ESTIMATED_APART = (
    "Other persons selected the terms: these p-values are valid, clustered by person where persons "
    "are known."
)


def study_html(record: StudyRecord) -> str:
    """What was selected, what to look at first, and the estimates; whatever is a name is escaped.

    The page of `Study.report` has everything.
    """
    specification, result = record.specification, record.result
    criterion = ""
    if specification.criterion is not None:
        measure = "" if specification.measure == record.rule.name else f"{specification.measure} "
        criterion = f", {measure}{specification.criterion:,.1f}"
    title = (
        f"{len(specification)} of {len(record.fit.terms)} candidate terms selected by "
        f"{record.rule.name}{criterion}"
    )
    words = {"bad": "✗", "look": "!"}
    rows = [
        [str(name), number(float(estimate)), number(float(std_err)), p_value(float(p))]
        for name, estimate, std_err, p in result.to_frame()[
            ["estimate", "std_err", "p"]
        ].itertuples()
    ]
    return block(
        title,
        *(paragraph(f"{words[note.verdict]} {one_line(str(note))}") for note in alarms(record)),
        html_table(_utilities(record), ["alternative", "utility"], left=2),
        paragraph(
            f"{result.family.title}, log-likelihood {result.loglik:,.3f}, BIC {result.bic:,.1f}, "
            f"{result.n_parameters} parameters, {result.n_situations:,} choice situations"
        ),
        html_table(rows, ["coefficient", "estimate", "std err", "p"], most=60),
        *(paragraph(note) for note in record.notes),
        paragraph(ESTIMATED_APART if record.honest else CONDITIONAL),
    )


def _utilities(record: StudyRecord) -> list[list[str]]:
    """The terms of every place on a line."""
    places: dict[str, list[str]] = {}
    for term in record.specification.terms:
        places.setdefault(term.place, []).append(term.content)
    return [[place, " + ".join(contents)] for place, contents in places.items()]
