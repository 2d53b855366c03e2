"""`Specification`: the terms of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ardchoice.space.terms import Term
from ardchoice.text import WIDTH


@dataclass(frozen=True)
class Specification:
    """An ordered set of terms and, where they were selected, why.

    Attributes
    ----------
    terms
    reasons
        Candidate -> why it was kept or dropped; empty for a specification written by hand.
    """

    terms: tuple[Term, ...]
    reasons: Mapping[Term, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def to_text(self) -> str:
        """The specification in the grammar, a line per place (going on with ``+`` where long).

        `parse_specification` reads it back.
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

    def __str__(self) -> str:
        return self.to_text()
