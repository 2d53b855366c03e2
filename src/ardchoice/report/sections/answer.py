"""What a report opens with: the answer, and how sure one can be of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice.record import CONSTANTS, EQUAL
from ardchoice.report.checks import convergence, sanity
from ardchoice.report.document import Note
from ardchoice.report.findings import Findings, listed
from ardchoice.report.sections.model import MODELS, VALID, conditional
from ardchoice.report.utilities import Equation
from ardchoice.selection import Bic, Ebic
from ardchoice.space import Term
from ardchoice.text import percent

SHORT = 26
"""Characters that are kept together."""
SAFE = 0.8
"""Share of the halves in which a term that is safe comes back."""


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
        How sure one can be.
    """

    title: str
    lead: str
    equations: list[Equation]
    tiles: list[Tile]
    notes: list[Note]


EXPLAINED: dict[type, str] = {
    Ebic: " EBIC is twice the log-likelihood lost, plus a price for every coefficient as in BIC, "
    "plus one for having searched so many candidates; the lowest wins.",
    Bic: " BIC is twice the log-likelihood lost, plus a price for every coefficient; the lowest "
    "wins.",
}
"""What a rule is, where it is first named."""


def answer(found: Findings) -> Answer:
    """The top of the page."""
    record = found.record
    names = list(record.data.alternatives)
    among = listed(names) if len(names) <= 6 else f"{len(names)} alternatives"
    return Answer(
        title=f"What decides between {among}",
        lead=_lead(found),
        equations=found.equations,
        tiles=_tiles(found),
        notes=_sure(found),
    )


def _lead(found: Findings) -> str:
    record, result = found.record, found.record.result
    data, terms = record.data, record.specification.terms
    persons = "" if data.n_persons is None else f" of {data.n_persons:,} persons"
    attributes = list(dict.fromkeys(t.what for t in terms if t.what is not None))
    people = list(dict.fromkeys(name for t in terms for name in t.by))
    made = f" Utility depends on {listed(attributes, 8)}" if attributes else ""
    if made and people:
        made += f", and differs by {listed(people, 8)}"
    halves = " One half selected the terms, the other estimated them." if record.honest else ""
    return (
        f"{len(data):,} choices{persons}.{halves} Of {len(record.fit.terms):,} candidate terms "
        f"{record.rule.name} kept {len(terms)}, with {result.n_parameters} coefficients."
        f"{made}{'.' if made else ''}{EXPLAINED.get(type(record.rule), '')}"
    )


def _tiles(found: Findings) -> list[Tile]:
    record, result, frame = found.record, found.record.result, found.evaluation.comparisons
    tiles = [
        Tile(
            f"{result.rho2_bar:.3f}",
            "adjusted ρ²",
            f"log-likelihood {_minus(f'{result.loglik:,.1f}')}",
        ),
        Tile(f"{_minus(f'{result.bic:,.0f}')}", "BIC", f"{result.n_parameters} coefficients"),
    ]
    if frame is not None and found.evaluation.folds:
        unit = "persons" if record.data.person is not None else "choices"
        simple = frame[frame["model"].isin([CONSTANTS, EQUAL])]
        beside = [
            f"{MODELS[str(model)]}: {percent(float(accuracy))}"
            for model, accuracy in zip(simple["model"], simple["accuracy"], strict=True)
        ]
        tiles.append(
            Tile(
                percent(float(frame["accuracy"].iloc[0])),
                f"of choices{' of persons' if unit == 'persons' else ''} left out predicted right",
                ", ".join(beside),
            )
        )
    ties = len(record.specification.near_ties)
    if record.specification.criterion is not None:
        tiles.append(
            Tile(
                str(ties),
                "near-tie" if ties == 1 else "near-ties",
                "that the data hardly tell apart",
            )
        )
    return tiles


def _held(term: Term) -> str:
    """A term that stays on one line, if it is short."""
    text = str(term)
    return text.replace(" ", "\N{NO-BREAK SPACE}") if len(text) <= SHORT else text


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _sure(found: Findings) -> list[Note]:
    """Verdicts, the gravest first within what a reader asks first."""
    record = found.record
    notes = [*_converged(found), *_predicts(found), *_p_values(found), *_ties(found)]
    notes += _stable(found)
    notes += [n for n in sanity(record) if n.verdict != "plain" or n.title == "Signs"]
    family = record.result.family
    notes.append(Note("plain", f"A {family.title.lower()}", family.assumption))
    notes += [Note("look", "A note on the selection", text) for text in record.specification.notes]
    return notes + [
        Note("look", "A note on the estimates", text)
        for text in (*record.notes, *record.result.notes)
    ]


def _converged(found: Findings) -> list[Note]:
    both = convergence(found.record)
    if any(note.verdict != "good" for note in both):
        return [note for note in both if note.verdict != "good"]
    fit, result = found.record.fit, found.record.result
    text = f"Relevance in {fit.passes:.0f} passes, estimation in {result.iterations} Newton steps."
    return [Note("good", "Converged", text)]


def _predicts(found: Findings) -> list[Note]:
    frame, record = found.evaluation.comparisons, found.record
    if frame is None or not found.evaluation.folds or len(frame) < 2:
        return []
    unit = "persons" if record.data.person is not None else "choices"
    others = frame.iloc[1:]
    own, best = float(frame["held_out"].iloc[0]), int(np.argmax(others["held_out"].to_numpy(float)))
    rival = others.iloc[best]
    name = MODELS.get(str(rival["model"]), str(rival["model"]))
    theirs = float(rival["held_out"])
    text = (
        f"Log-likelihood of {unit} left out {_minus(f'{own:,.1f}')}; the best of the others "
        f"({name}) {_minus(f'{theirs:,.1f}')}."
    )
    if own > theirs:
        return [Note("good", f"Predicts {unit} left out better than the models beside it", text)]
    return [Note("look", f"{name} predicts {unit} left out better", text)]


def _p_values(found: Findings) -> list[Note]:
    return [Note("good", "p-values are valid", VALID) if found.record.honest else conditional()]


def _ties(found: Findings) -> list[Note]:
    specification = found.record.specification
    if specification.criterion is None:
        return []
    ties = specification.near_ties
    if not ties:
        return [
            Note(
                "good",
                "No near-ties",
                f"No other specification is within 2 {specification.measure}.",
            )
        ]
    unsure = dict.fromkeys(_held(t) for rival in ties for t in rival.out)
    more = dict.fromkeys(_held(t) for rival in ties if not rival.out for t in rival.into)
    pieces = []
    if unsure:
        pieces.append(f"{listed(list(unsure), 4)} could leave or take another form")
    if more:
        pieces.append(f"{listed(list(more), 4)} could come in")
    count = (
        "1 other specification is" if len(ties) == 1 else f"{len(ties)} other specifications are"
    )
    text = f"{count} within 2 {specification.measure}: {'; '.join(pieces)}."
    return [Note("look", "The data leave some terms open", text)]


def _stable(found: Findings) -> list[Note]:
    frame = found.evaluation.stability
    if frame is None:
        return []
    kept = {str(t) for t in found.record.specification.terms}
    part = frame[frame["term"].isin(kept)]
    weak = [str(t) for t in part[part["selected"] < SAFE]["term"]]
    safe = len(part) - len(weak)
    text = f"{safe} of {len(part)} terms come back in at least {percent(SAFE)} of the halves."
    if weak:
        text += f" Less often: {listed(weak, 5)}."
    return [Note("look" if weak else "good", "Stability", text)]
