"""The sections of a report, in order."""

from __future__ import annotations

from ardchoice.report.document import Section
from ardchoice.report.findings import Findings
from ardchoice.report.sections import about, families, implied, model, scenarios, search, tastes


def contents(found: Findings, command: str | None = None) -> list[Section]:
    """Everything after the answer."""
    sections = [
        model.estimates(found),
        families.own(found),
        tastes.tastes(found),
        families.comparison(found),
        model.fit(found),
        model.held_out(found),
        implied.willingness(found),
        implied.elasticities(found),
        scenarios.scenarios(found),
        search.relevance(found),
        search.path(found),
        search.rivals(found),
        search.inclusion(found),
        model.checks(found),
        search.stability(found),
        about.data(found),
        search.dropped(found),
        about.settings(found, command),
    ]
    return [section for section in sections if section.parts]
