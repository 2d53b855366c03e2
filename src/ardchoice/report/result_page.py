"""`write_result_report`: the page of a model that was estimated by hand."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import cast

from ardchoice.data import ChoiceData
from ardchoice.estimation import Result
from ardchoice.files import write
from ardchoice.record import Evaluation, Note, StudyRecord
from ardchoice.report.document import Section, Text, Verbatim
from ardchoice.report.findings import Findings, listed
from ardchoice.report.page import render_page
from ardchoice.report.sections import families, implied
from ardchoice.report.sections.answer import Answer, Tile, notes_on_estimates
from ardchoice.report.sections.model import estimates_table
from ardchoice.text import number


@dataclass(frozen=True)
class _ResultRecord:
    """What sections on what a model implies need of a study."""

    result: Result
    data: ChoiceData
    structure: None = None
    evaluation: Evaluation | None = None
    families: None = None
    joint: None = None
    version: str = version("ardchoice")


def write_result_report(result: Result, path: Path | str) -> Path:
    """Write a model as one self-contained HTML file: utilities, estimates, WTP, elasticities.

    Parameters
    ----------
    result
    path
        The file.
    """
    found = Findings(cast(StudyRecord, _ResultRecord(result, result.data)))
    sections = [
        Section("estimates", "Estimates", [estimates_table(result)]),
        families.own(found),
        implied.willingness(found),
        implied.elasticities(found),
    ]
    sections.append(_specification(result))
    path = Path(path)
    write(path, render_page(found, _answer(found, result), sections))
    return path


def _answer(found: Findings, result: Result) -> Answer:
    names = list(result.data.alternatives)
    among = listed(names) if len(names) <= 6 else f"{len(names)} alternatives"
    persons = "" if result.n_persons is None else f" of {result.n_persons:,} persons"
    lead = (
        f"{result.family.title} with {result.n_parameters} parameters, estimated on "
        f"{result.n_situations:,} choices{persons}. {result.family.assumption}"
    )
    tiles = [
        Tile(f"{result.rho2_bar:.3f}", "adjusted ρ²", f"log-likelihood {_minus(result.loglik)}"),
        Tile(_minus(result.bic), "BIC", f"AIC {_minus(result.aic)}"),
    ]
    # What forbids to use the model stands before everything else.
    notes = list(found.alarms)
    if result.converged:
        steps = f"in {result.iterations} Newton steps" if result.iterations else "from its starts"
        notes += [Note("good", "Converged", f"Estimation {steps}.")]
    else:
        text = f"{number(result.decrement)} of log-likelihood is still to be gained."
        notes += [Note("bad", "Not converged", text)]
    notes += notes_on_estimates(found)
    return Answer(f"Choice between {among}", lead, found.equations, tiles, notes)


def _specification(result: Result) -> Section:
    text = "In the grammar of ardchoice; the terms were given, not selected."
    body = Verbatim(result.specification.to_text())
    return Section("specification", "Specification", [Text(text), body])


def _minus(value: float) -> str:
    return f"{value:,.1f}".replace("-", "−")
