"""`SearchSpace`: an ordered set of candidate terms, made from data and a few words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations

import numpy as np

from ardchoice.data import Attribute, ChoiceData, must_be_choice_data
from ardchoice.errors import ArdchoiceError, SpecificationError, did_you_mean
from ardchoice.notebook import block, folded, html_table, paragraph
from ardchoice.space.candidates import Candidates
from ardchoice.space.factors import column_of
from ardchoice.space.grammar import parse_specification, parse_term
from ardchoice.space.terms import Term
from ardchoice.space.transforms import TRANSFORMS, Linear, Transform
from ardchoice.text import table

Transforms = Sequence[str | Transform]

_CALL = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*")


@dataclass(frozen=True)
class SpaceOptions:
    """The options of a `SearchSpace`, under the names of its parameters."""

    transforms: tuple[Transform, ...] | Mapping[str, tuple[Transform, ...]] = (Linear(),)
    by: tuple[str, ...] = ()
    base: str | None = None
    attributes: tuple[str, ...] | None = None
    depth: int = 1
    constants: bool = True
    generic: bool | tuple[str, ...] = False
    specific: bool = True
    interact_classes: bool = False
    add: tuple[Term, ...] = ()
    remove: tuple[str, ...] = ()
    force: tuple[Term, ...] = ()


class SearchSpace:
    """Candidate terms: every attribute in every form, alone and interacted with covariates.

    Candidates that cannot be (a logarithm of zero, an attribute that never varies, a combination
    of levels that never occurs, a duplicate of another candidate) are excluded, with the reason.

    Parameters
    ----------
    data
        The choices.
    transforms
        Functional forms for all attributes, such as ``["linear", "log1p", "segments(4)"]``; or a
        dict attribute -> forms, where ``"SM: CO"`` speaks of one alternative only.
    by
        Covariates to interact with.
    base
        The alternative without a constant. Default: the last.
    attributes
        Attributes to consider. Default: all of them.
    depth
        How many covariates at once: 2 gives ``CO x GA x PURPOSE``.
    constants
        Whether alternatives have constants (and constants interacted with covariates); False where
        alternatives are unlabelled.
    generic
        Attributes that also enter with one coefficient shared by all alternatives; True for all.
        Default: none. Default in a study file: all.
    specific
        Whether attributes have alternative-specific coefficients. Constants do not depend on it.
    interact_classes
        Whether ``segments`` and ``quantiles`` are interacted with covariates too.
    add
        Further terms, in the grammar.
    remove
        Terms to leave out, in the grammar, with wildcards: ``"SM: segments(*"``, ``"*: * x AGE"``.
    force
        Terms that any specification must have, in the grammar; added if they are not there.

    Attributes
    ----------
    terms
        The candidates, in order.
    forced
        Those that must stay.
    dropped
        What was excluded -> why.
    columns
        How many columns each term has; shape (T,).
    options
        The options it was made from.
    """

    def __init__(
        self,
        data: ChoiceData,
        transforms: Transforms | Mapping[str, Transforms] = ("linear",),
        by: Sequence[str] = (),
        base: str | None = None,
        *,
        attributes: Sequence[str] | None = None,
        depth: int = 1,
        constants: bool = True,
        generic: bool | Sequence[str] = False,
        specific: bool = True,
        interact_classes: bool = False,
        add: str | Iterable[str | Term] = (),
        remove: str | Iterable[str] = (),
        force: str | Iterable[str | Term] = (),
    ) -> None:
        must_be_choice_data(data)
        self.base = data.alternatives[-1] if base is None else base
        self.alternatives = data.alternatives
        data.alternative(self.base)
        by = (by,) if isinstance(by, str) else tuple(by)
        for name in by:
            column = column_of(name, data.covariates)
            known = {**data.covariates, **data.attributes}
            must_know(column, known, f"There is no covariate {name!r} to interact with")
        if depth < 0:
            raise ArdchoiceError(f"depth counts the covariates of an interaction, not {depth}.")
        for name in attributes or ():
            must_know(name, data.attributes, f"There is no attribute {name!r}")
        self.options = SpaceOptions(
            transforms=_parsed_forms(data, transforms),
            by=by,
            base=base,
            attributes=None if attributes is None else tuple(attributes),
            depth=depth,
            constants=constants,
            generic=generic if isinstance(generic, bool) else tuple(generic),
            specific=specific,
            interact_classes=interact_classes,
            add=tuple(dict.fromkeys(_given(add))),
            remove=(remove,) if isinstance(remove, str) else tuple(remove),
            force=tuple(dict.fromkeys(_given(force))),
        )
        forced, patterns = self.options.force, self.options.remove
        wanted = dict.fromkeys(
            [*_crossed(data, self.options, self.base), *self.options.add, *forced]
        )
        candidates = Candidates(data)
        self.dropped: dict[Term, str] = {}
        kept: list[Term] = []
        for term in wanted:
            reason = candidates.refuse(term)
            pattern = next((p for p in patterns if matches(p, term)), None)
            if pattern is not None and term not in forced:
                reason = f"removed by '{pattern}'"
            if reason is None:
                kept.append(term)
            elif term in forced:
                raise SpecificationError(f"'{term}' is forced but cannot be: {reason}.")
            else:
                self.dropped[term] = reason
        self.terms = tuple(kept)
        self.forced = forced
        self.columns = np.array([candidates.n_columns[t] for t in kept], dtype=np.intp)

    @classmethod
    def of_parts(
        cls,
        *,
        base: str,
        alternatives: tuple[str, ...],
        terms: Iterable[Term],
        forced: Iterable[Term],
        dropped: Mapping[Term, str],
        columns: Sequence[int],
        options: SpaceOptions,
    ) -> SearchSpace:
        """A space as it was made before, without the data; for loading."""
        space = cls.__new__(cls)
        space.base, space.alternatives, space.options = base, alternatives, options
        space.terms, space.forced, space.dropped = tuple(terms), tuple(forced), dict(dropped)
        space.columns = np.array(columns, dtype=np.intp)
        return space

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    @property
    def n_columns(self) -> int:
        """Columns of all terms together."""
        return int(self.columns.sum())

    def __repr__(self) -> str:
        return f"<SearchSpace: {len(self)} terms, {self.n_columns} columns>"

    def _repr_html_(self) -> str:
        excluded = [f"{term}: {reason}" for term, reason in self.dropped.items()]
        forced = f"Always in: {', '.join(map(str, self.forced))}" if self.forced else ""
        return block(
            f"{len(self):,} candidate terms, {self.n_columns:,} columns",
            html_table(self._by_place(), ["alternative", "terms", "columns"]),
            paragraph(f"Base alternative {self.base}. {forced}"),
            folded("candidates", [str(term) for term in self.terms], most=100),
            folded("excluded", excluded, most=100),
        )

    def _by_place(self) -> list[list[str]]:
        """Alternative, terms and columns as text; all of them last."""
        counts: dict[str, list[int]] = {}
        for term, columns in zip(self.terms, self.columns, strict=True):
            row = counts.setdefault(term.place, [0, 0])
            row[0] += 1
            row[1] += int(columns)
        rows = [[place, f"{t:,}", f"{c:,}"] for place, (t, c) in counts.items()]
        return [*rows, ["all", f"{len(self):,}", f"{self.n_columns:,}"]]

    def duplicates(self) -> list[str]:
        """Terms with the same columns as a candidate, a sentence each."""
        return [
            f"{term} is {reason}: excluded."
            for term, reason in self.dropped.items()
            if reason.startswith("the same as")
        ]

    def __str__(self) -> str:
        free = len(self) - len(self.forced)
        size = f"2^{free}" + (f" = {2**free:.1e}" if 10 < free < 1000 else "")
        lines = [
            table(self._by_place(), ["alternative", "terms", "columns"]),
            f"{size} specifications; base alternative {self.base}",
        ]
        if self.forced:
            lines.append(f"always in: {', '.join(map(str, self.forced))}")
        reasons: dict[str, list[Term]] = {}
        for term, reason in self.dropped.items():
            reasons.setdefault(reason, []).append(term)
        for reason, terms in reasons.items():
            shown = ", ".join(map(str, terms[:3])) + (", ..." if len(terms) > 3 else "")
            lines.append(f"excluded ({len(terms)}): {shown}: {reason}")
        return "\n".join(lines)


def matches(pattern: str, term: Term) -> bool:
    """Whether a term fits a pattern such as ``TRAIN: log(*) x *``; a place ``*`` fits any."""
    place, colon, content = pattern.partition(":")
    if not colon:
        raise SpecificationError(
            f"{pattern!r} is not a pattern of terms: write 'TRAIN: log(*)' or '*: * x AGE'."
        )
    place, content = place.strip(), " ".join(content.split())
    return (place == "*" or fnmatchcase(term.place, place)) and _fits(content, term.content)


def _fits(pattern: str, text: str) -> bool:
    # Only * is a wildcard: brackets and question marks may stand in names.
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch(".*".join(parts), text, flags=re.DOTALL) is not None


def parse_transform(text: str | Transform) -> Transform:
    """A form without its attribute: ``log1p``, ``segments(4)``, ``boxcox(1)``."""
    if isinstance(text, Transform):
        return text
    if text.strip().startswith("/"):  # CO / INCOME
        return parse_term(f"*: v {text}").how
    found = _CALL.fullmatch(text)
    if not found or found[1] not in TRANSFORMS:
        name = found[1] if found else text
        raise SpecificationError(
            f"There is no transform {name!r}. {did_you_mean(name, TRANSFORMS)}"
        )
    try:
        arguments = tuple(float(a) for a in found[2].split(",")) if found[2] else ()
    except ValueError:
        raise SpecificationError(f"{text!r}: arguments of a transform are numbers.") from None
    return TRANSFORMS[found[1]](arguments)


def must_know(name: str, known: Collection[str], problem: str) -> None:
    """Raise with the nearest valid name where a name is not known."""
    if name not in known:
        raise SpecificationError(f"{problem}. {did_you_mean(name, known)}")


Forms = tuple[Transform, ...] | dict[str, tuple[Transform, ...]]


def _parsed_forms(data: ChoiceData, given: Transforms | Mapping[str, Transforms]) -> Forms:
    """Functional forms for all attributes, or by attribute or alternative and attribute."""
    if not isinstance(given, Mapping):
        return _distinct(given)
    for key in given:
        term = parse_term(key) if ":" in key else Term((), key)
        what = str(term.what)
        must_know(what, data.attributes, f"transforms: there is no attribute {term.what!r}")
        for name in term.where:
            data.alternative(name)
    return {key: _distinct(forms) for key, forms in given.items()}


def _distinct(forms: Transforms) -> tuple[Transform, ...]:
    return tuple(dict.fromkeys(map(parse_transform, [forms] if isinstance(forms, str) else forms)))


def _crossed(data: ChoiceData, options: SpaceOptions, base: str) -> Iterator[Term]:
    """Every attribute in every form, alone and interacted."""
    depths = range(min(options.depth, len(options.by)) + 1)
    subsets = [c for k in depths for c in combinations(options.by, k)]
    names = data.attributes if options.attributes is None else options.attributes
    shared = options.generic if isinstance(options.generic, tuple) else names
    for name in shared if options.generic else ():
        must_know(name, data.attributes, f"generic: there is no attribute {name!r}")

    def forms(attribute: Attribute, place: str) -> tuple[Transform, ...]:
        if attribute.levels is not None:
            return (Linear(),)
        if not isinstance(options.transforms, Mapping):
            return options.transforms
        usual = options.transforms.get(attribute.name, (Linear(),))
        return options.transforms.get(f"{place}: {attribute.name}", usual)

    def interacted(where: tuple[str, ...], what: str | None, how: Transform) -> list[Term]:
        alone = how.is_classes and not options.interact_classes
        return [
            Term(where, what, how, by)
            for by in (subsets[:1] if alone else subsets)
            # An attribute times itself is its square, times a constant it is itself.
            if not any(
                what is None or column == what
                for column in (column_of(name, data.covariates) for name in by)
                if column not in data.covariates
            )
        ]

    for position, place in enumerate(data.alternatives):
        # Constants belong to labelled alternatives, whether or not coefficients are shared.
        if options.constants and place != base:
            yield from interacted((place,), None, Linear())
        for attribute in (data.attributes[name] for name in names if options.specific):
            for how in forms(attribute, place) if position in attribute.alternatives else ():
                yield from interacted((place,), attribute.name, how)
    for name in shared if options.generic else ():
        for how in forms(data.attributes[name], ""):
            yield from interacted((), name, how)


def _given(terms: str | Iterable[str | Term]) -> list[Term]:
    if isinstance(terms, str):
        return list(parse_specification(terms).terms) if terms.strip() else []
    return [
        t for g in terms for t in ([g] if isinstance(g, Term) else parse_specification(g).terms)
    ]
