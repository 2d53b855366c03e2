"""Candidates for random coefficients: what may differ between persons beyond the terms.

One constant for every alternative (an error component), and every attribute in the form that the
terms have it in: of one alternative, and shared by all alternatives with that form. Interactions
are none: they say how persons differ by what is known of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.families import TasteColumn
from ardchoice.selection.constraints import TermSet
from ardchoice.space import Term

MOST_LABELLED = 30
"""Alternatives up to which each may have a random constant."""


@dataclass(frozen=True)
class Taste:
    """A coefficient that may differ between persons.

    Attributes
    ----------
    term
        What it multiplies: ``SM: ASC``, ``SM: TT``, ``*: TT``.
    needs
        Positions of the terms that hold its mean; empty for error components, whose mean may be
        zero.
    column
        What it multiplies in blocks of all candidates, of about unit spread.
    scale
        Its standard deviation in the user's units is that of the column's divided by this.
    """

    term: Term
    needs: tuple[int, ...]
    column: TasteColumn
    scale: float = 1.0

    @property
    def name(self) -> str:
        """As in tables."""
        return str(self.term)

    @property
    def distribution(self) -> str:
        """As `Mixed` takes it."""
        return "shared normal" if len(self.needs) > 1 else "normal"

    @property
    def in_words(self) -> str:
        """Such as: a random constant of SM."""
        if self.is_constant:
            return f"a random constant of {self.term.place}"
        where = f" of {self.term.place}" if self.term.where else ""
        return f"a taste for {self.term.form}{where} that differs between persons"

    @property
    def is_constant(self) -> bool:
        """Whether it is an error component."""
        return self.term.what is None


@dataclass(frozen=True)
class RandomCandidate:
    """A coefficient that may differ between persons, and why it does or does not.

    Attributes
    ----------
    name
        ``SM: ASC``, ``SM: TT``, ``*: TT``.
    distribution
        ``"normal"``, or ``"shared normal"`` for one that several terms share.
    selected
    gain
        By how much -2 LL falls with it, less its price ln(persons): what the criterion rises
        without it, or falls by taking it in. NaN where only its score is known.
    z
        Score statistic of a candidate that is out: above about 1.6 where its tastes differ.
    reason
    """

    name: str
    distribution: str
    selected: bool
    gain: float
    z: float
    reason: str


def candidate_tastes(
    terms: Sequence[Term],
    selected: TermSet,
    columns: Sequence[Ints],
    scale: Floats,
    alternatives: Sequence[str],
) -> tuple[Taste, ...]:
    """All of them for a set of terms.

    Parameters
    ----------
    terms
        All candidates of the space.
    selected
    columns
        Of every term, in blocks of all candidates.
    scale
        Of every column of these blocks; shape (D,).
    alternatives
        All J of them.
    """
    labelled = any(t.what is None for t in terms) and len(alternatives) <= MOST_LABELLED
    out = [
        Taste(Term((name,)), (), TasteColumn(alternatives=(j,)))
        for j, name in enumerate(alternatives)
        if labelled
    ]
    if len(alternatives) == 2:
        # Only the variance of the difference is identified.
        out = out[:1]
    forms: dict[tuple[object, ...], list[int]] = {}
    for t in sorted(selected):
        term = terms[t]
        if term.what is None or term.by or len(columns[t]) != 1:
            continue
        forms.setdefault((term.what, term.how), []).append(t)
        out.append(_taste(term, [t], columns, scale))
    for members in forms.values():
        if len(members) > 1:
            where = _places(terms, members, alternatives)
            out.append(_taste(replace(terms[members[0]], where=where), members, columns, scale))
    return tuple(out)


def _places(
    terms: Sequence[Term], members: Sequence[int], alternatives: Sequence[str]
) -> tuple[str, ...]:
    """Where some terms of an attribute are; empty for wherever it is."""
    what = terms[members[0]].what
    every = {a for t in terms if t.what == what for a in t.where or alternatives}
    inside = {a for t in members for a in terms[t].where}
    return () if inside >= every else tuple(a for a in alternatives if a in inside)


def _taste(term: Term, members: Sequence[int], columns: Sequence[Ints], scale: Floats) -> Taste:
    at = [int(columns[t][0]) for t in members]
    sizes = scale[at]
    common = float(np.exp(np.log(sizes).mean()))
    weights = tuple((sizes / common).tolist())
    return Taste(term, tuple(members), TasteColumn((), tuple(at), weights), common)


def in_other_forms(tastes: Sequence[Taste], candidates: Sequence[Taste]) -> list[tuple[Taste, int]]:
    """The same tastes among other candidates, each with the position of what it was.

    A taste for an attribute in a form that is no candidate any more becomes one for the forms in
    which its alternatives have the attribute now; all columns are of about unit spread.
    """
    by_name = {taste.name: taste for taste in candidates}
    out: list[tuple[Taste, int]] = []
    for k, taste in enumerate(tastes):
        if taste.name in by_name:
            out.append((by_name[taste.name], k))
            continue
        alike = [c for c in candidates if c.term.what == taste.term.what and not c.is_constant]
        for c in sorted(alike, key=lambda c: -len(c.needs)):
            inside = not taste.term.where or set(c.term.where) <= set(taste.term.where)
            if inside and is_allowed([*(t for t, _ in out), c]):
                out.append((c, k))
    return out


def is_allowed(chosen: Iterable[Taste]) -> bool:
    """Whether random coefficients can be together.

    Not a shared taste for an attribute beside that of one alternative.
    """
    chosen = list(chosen)
    several = [t for t in chosen if len(t.needs) > 1]
    return not any(set(a.needs) & set(b.needs) for a in several for b in chosen if a is not b)
