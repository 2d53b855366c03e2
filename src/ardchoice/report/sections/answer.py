"""The top of a report: the utility functions, figures to remember, and how certain they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice.estimation import Result, design_effect_sentence
from ardchoice.evaluation import is_same_model, predicts_better
from ardchoice.record import CONSTANTS_ONLY, EQUAL_SHARES, Note
from ardchoice.report.checks import convergence, sanity
from ardchoice.report.findings import Findings, listed
from ardchoice.report.sections.model import CONDITIONAL, MODEL_NAMES, VALID, model_name
from ardchoice.report.utilities import Equation
from ardchoice.space import Term
from ardchoice.text import percent

UNBROKEN_CHARACTERS = 26
"""Characters of a term that are not broken across lines."""
STABLE_SHARE = 0.8
"""Share of the halves in which a stable term is selected."""


@dataclass(frozen=True)
class Tile:
    """A figure to remember."""

    value: str
    label: str
    detail: str = ""


@dataclass(frozen=True)
class Answer:
    """The top of the page.

    Attributes
    ----------
    title, lead
    equations
    tiles
    notes
        How certain it is.
    """

    title: str
    lead: str
    equations: list[Equation]
    tiles: list[Tile]
    notes: list[Note]


CRITERIA = {
    "Ebic": " EBIC = −2 LL + penalty for coefficients + penalty for the size of the search; the "
    "lowest is selected.",
    "Bic": " BIC = −2 LL + penalty for coefficients; the lowest is selected.",
}
"""What a rule is, where it is first named."""


def answer(found: Findings) -> Answer:
    """The top of the page."""
    names = list(found.record.data.alternatives)
    among = listed(names) if len(names) <= 6 else f"{len(names)} alternatives"
    title = f"What decides between {among}"
    return Answer(title, _lead(found), found.equations, _tiles(found), _notes(found))


def _lead(found: Findings) -> str:
    record, data = found.record, found.record.data
    terms = record.specification.terms
    persons = "" if data.n_persons is None else f" of {data.n_persons:,} persons"
    attributes = list(dict.fromkeys(t.what for t in terms if t.what is not None))
    covariates = list(dict.fromkeys(name for t in terms for name in t.by))
    made = f" Utility depends on {listed(attributes, 8)}" if attributes else ""
    if made and covariates:
        made += f", and differs by {listed(covariates, 8)}"
    halves = " One half selected the terms, the other estimated them." if record.honest else ""
    return (
        f"{len(data):,} choices{persons}.{halves} Of {len(record.fit.terms):,} candidate terms "
        f"{record.rule.name} selected {len(terms)}, with {_parameters(record.result)}."
        f"{made}{'.' if made else ''}{CRITERIA.get(type(record.rule).__name__, '')}"
    )


def _tiles(found: Findings) -> list[Tile]:
    specification, result = found.record.specification, found.record.result
    frame = found.evaluation.comparisons
    fit = f"log-likelihood {_minus(result.loglik, 1)}"
    tiles = [
        Tile(f"{result.rho2_bar:.3f}", "adjusted ρ²", fit),
        Tile(_minus(result.bic), "BIC", _parameters(result)),
    ]
    if frame is not None and found.evaluation.folds:
        simple = frame[frame["model"].isin([CONSTANTS_ONLY, EQUAL_SHARES])]
        beside = [
            f"{MODEL_NAMES[model]}: {percent(accuracy)}"
            for model, accuracy in zip(simple["model"], simple["accuracy"].tolist(), strict=True)
        ]
        label = f"held-out accuracy (hit rate), by {found.unit[:-1]}"
        tiles.append(Tile(percent(float(frame["accuracy"].iloc[0])), label, ", ".join(beside)))
    if specification.criterion is not None:
        ties = len(specification.near_ties)
        label = "near-tie" if ties == 1 else "near-ties"
        tiles.append(Tile(str(ties), label, "that the data hardly distinguish"))
    return tiles


def _parameters(result: Result) -> str:
    """How many; beside coefficients a family may have scales, spreads or those of membership."""
    count = result.n_parameters
    return f"{count} coefficients" if result.family.tag == "mnl" else f"{count} parameters"


def _minus(value: float, decimals: int = 0) -> str:
    return f"{value:,.{decimals}f}".replace("-", "−")


def _notes(found: Findings) -> list[Note]:
    """Verdicts, in the order in which a reader asks."""
    record = found.record
    valid = Note("good", "p-values are valid", VALID)
    # What forbids to use the model stands before everything else.
    notes = list(found.alarms)
    predicts = [] if any("better" in note.title for note in notes) else _predicts(found)
    notes += [*_converged(found), *predicts, valid if record.honest else CONDITIONAL]
    notes += [*_ties(found), *_stable(found)]
    # Wrong signs stand at the top already.
    notes += [
        n
        for n in sanity(record)
        if (n.verdict != "plain" or n.title == "Signs") and n.title != "Signs not as expected"
    ]
    family = record.result.family
    notes.append(Note("plain", f"A {family.title.lower()}", family.assumption))
    formula, effect = record.specification.formula, design_effect_sentence(record.result)
    notes += [Note("plain", "The criterion", formula)] if formula else []
    notes += [Note("plain", "Effective number of answers", effect)] if effect else []
    notes += [Note("look", "A note on the selection", text) for text in record.specification.notes]
    notes += [Note("look", "A note on the estimates", text) for text in record.notes]
    return [*notes, *notes_on_estimates(found), *found.evaluation.notes]


def notes_on_estimates(found: Findings) -> list[Note]:
    """What to know of the estimates, marked where something may be wrong with them."""
    result = found.record.result
    known, above = frozenset(result.information), {alarm.text for alarm in found.alarms}
    return [
        Note("plain" if text in known else "look", "A note on the estimates", text)
        for text in result.notes
        if text not in above
    ]


def _converged(found: Findings) -> list[Note]:
    failed = [note for note in convergence(found.record) if note.verdict != "good"]
    fit, result = found.record.fit, found.record.result
    text = f"Relevance in {fit.passes:.0f} passes, estimation in {result.iterations} Newton steps."
    return failed or [Note("good", "Converged", text)]


def _predicts(found: Findings) -> list[Note]:
    frame, unit = found.evaluation.comparisons, found.unit
    if frame is None or not found.evaluation.folds or len(frame) < 2:
        return []
    first = frame.iloc[0]
    # The same model under another name is no other.
    rest = [row for _, row in frame.iloc[1:].iterrows() if not is_same_model(first, row)]
    if not rest:
        return []
    own, others = float(first["held_out"]), [float(row["held_out"]) for row in rest]
    best = int(np.argmax(others))
    name = model_name(rest[best]["model"])
    text = (
        f"Log-likelihood of held-out {unit} {_minus(own, 1)}; the best of the others "
        f"({name}) {_minus(others[best], 1)}."
    )
    same = [model_name(r["model"]) for _, r in frame.iloc[1:].iterrows() if is_same_model(first, r)]
    text += f" {same[0]} is the selected model itself." if same else ""
    if own > others[best]:
        return [Note("good", f"Predicts held-out {unit} better than the models beside it", text)]
    is_known = not np.isnan(float(rest[best].get("held_out_se", np.nan)))
    if is_known and not predicts_better(first, rest[best], found.evaluation.folds):
        return [Note("good", f"Predicts held-out {unit} as well as the models beside it", text)]
    return [Note("look", f"{name} predicts held-out {unit} better", text)]


def _unbroken(term: Term) -> str:
    """A term that stays on one line, if it is short."""
    text = str(term)
    short = len(text) <= UNBROKEN_CHARACTERS
    return text.replace(" ", "\N{NO-BREAK SPACE}") if short else text


def _ties(found: Findings) -> list[Note]:
    specification = found.record.specification
    ties, within = specification.near_ties, f"within 2 {specification.measure}"
    if specification.criterion is None:
        return []
    if not ties:
        return [Note("good", "No near-ties", f"No other specification is {within}.")]
    uncertain = dict.fromkeys(_unbroken(t) for rival in ties for t in rival.out)
    more = dict.fromkeys(_unbroken(t) for rival in ties if not rival.out for t in rival.into)
    pieces = []
    if uncertain:
        pieces.append(f"{listed(list(uncertain), 4)} could leave or take another form")
    if more:
        pieces.append(f"{listed(list(more), 4)} could enter")
    count = "1 other specification is"
    if len(ties) > 1:
        count = f"{len(ties)} other specifications are"
    text = f"{count} {within}: {'; '.join(pieces)}."
    return [Note("look", "The data leave some terms open", text)]


def _stable(found: Findings) -> list[Note]:
    frame = found.evaluation.stability
    if frame is None:
        return []
    part = frame[frame["term"].isin([str(t) for t in found.record.specification.terms])]
    weak = [str(t) for t in part[part["selected"] < STABLE_SHARE]["term"]]
    text = (
        f"{len(part) - len(weak)} of {len(part)} terms are selected in at least "
        f"{percent(STABLE_SHARE)} of the halves."
    )
    if weak:
        text += f" Less often: {listed(weak, 5)}."
    return [Note("look" if weak else "good", "Stability", text)]
