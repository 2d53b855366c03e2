"""`Specification`: the terms of a model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ardchoice.errors import SpecificationError
from ardchoice.notebook import block, folded, html_table, paragraph
from ardchoice.space.terms import Term
from ardchoice.text import WIDTH


@dataclass(frozen=True)
class Rival:
    """Another specification: what leaves, what comes instead, and how much worse it is.

    Attributes
    ----------
    out, into
    cost
        By how much the criterion that selected would rise.
    """

    out: tuple[Term, ...]
    into: tuple[Term, ...]
    cost: float

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.change()}: {self.cost:+.2f}{reason}"

    def __repr__(self) -> str:
        return f"<Rival: {self}>"

    @property
    def reason(self) -> str:
        """Why it was not selected although the criterion is lower; empty where it is not."""
        return "a form that is not linear gains too little" if self.cost < 0 else ""

    def change(self) -> str:
        """What is different, in words."""
        out, into = (", ".join(map(str, terms)) for terms in (self.out, self.into))
        if out and into:
            return f"{into} instead of {out}"
        return f"also {into}" if into else f"without {out}"


@dataclass(frozen=True)
class Specification:
    """An ordered set of terms and, where they were selected, why.

    Attributes
    ----------
    terms
        No two alike; ``A+B: TT x GA x AGE`` is ``B+A: TT x AGE x GA``.
    reasons
        Candidate -> why it was kept or dropped; empty for a specification written by hand.
    near_ties
        Specifications that the criterion hardly tells from this one, closest first.
    rivals
        Kept term -> the best specification with something else in its place.
    notes
        What a reader should know of the selection, a sentence each.
    alerts
        What a user must act on, a sentence each; `select` and `specify` warn of them.
    criterion, measure
        Value and name of the criterion that selected; None and empty without one.
    formula
        The criterion in words: formula, n and design effect; empty without one.
    margins
        Candidate -> by how much the criterion would rise without it (kept) or with it (dropped),
        each in the best way near by; those that a search had no choice about are missing.
    """

    terms: tuple[Term, ...]
    reasons: Mapping[Term, str] = field(default_factory=dict, hash=False)
    near_ties: tuple[Rival, ...] = field(default=(), compare=False)
    rivals: Mapping[Term, Rival] = field(default_factory=dict, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    criterion: float | None = field(default=None, compare=False)
    measure: str = field(default="", compare=False)
    margins: Mapping[Term, float] = field(default_factory=dict, compare=False)
    alerts: tuple[str, ...] = field(default=(), compare=False)
    formula: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        seen: dict[object, Term] = {}
        for term in self.terms:
            alike = (frozenset(term.where), term.what, term.how, frozenset(term.by))
            if alike in seen:
                first = "" if seen[alike] == term else f", first as '{seen[alike]}'"
                raise SpecificationError(f"The term '{term}' is given twice{first}.")
            seen[alike] = term

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def to_text(self) -> str:
        """The specification in the grammar, a line per place (going on with ``+`` where long).

        `parse_specification` reads it back to the same terms, those of a place together.
        """
        places: dict[str, list[str]] = {}
        for term in self.terms:
            places.setdefault(term.place, []).append(term.content)
        width = max((len(place) for place in places), default=0) + 1
        lines: list[str] = []
        for place, contents in places.items():
            lines.append(f"{place + ':':<{width}} {contents[0]}")
            for content in contents[1:]:
                if len(lines[-1]) + 3 + len(content) > WIDTH:
                    lines.append(" " * (width - 1) + f"+ {content}")
                else:
                    lines[-1] += f" + {content}"
        return "\n".join(lines)

    def explain(self) -> str:
        """Why every candidate was kept or dropped, in 80 columns; kept ones first."""
        inside = set(self.terms)
        names = {str(t): reason for t, reason in self.reasons.items() if t in inside}
        names |= {str(t): reason for t, reason in self.reasons.items() if t not in inside}
        width = min(max(map(len, names), default=0), WIDTH // 2)
        lines: list[str] = []
        for name, reason in names.items():
            body = textwrap.wrap(reason, WIDTH - width - 2)
            if len(name) <= width:
                lines.append(f"{name:<{width}}  {body.pop(0)}")
            else:
                lines.append(name)
            lines += [" " * (width + 2) + line for line in body]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        places: dict[str, list[str]] = {}
        for term in self.terms:
            places.setdefault(term.place, []).append(term.content)
        rows = [[place, " + ".join(contents)] for place, contents in places.items()]
        kept = set(self.terms)
        criterion = "" if self.criterion is None else f", {self.measure} {self.criterion:,.1f}"
        return block(
            f"{len(self)} term{'' if len(self) == 1 else 's'}{criterion}",
            html_table(rows, ["alternative", "utility"], left=2, most=len(rows)),
            paragraph(self.formula),
            *(paragraph(note) for note in (*self.alerts, *self.notes)),
            folded("why kept", [f"{t}: {why}" for t, why in self.reasons.items() if t in kept]),
            folded("near-ties", map(str, self.near_ties)),
        )
