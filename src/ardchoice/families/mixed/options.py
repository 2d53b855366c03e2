"""The options of a mixed logit met with the columns of a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from ardchoice.design import Encoding
from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.families.mixed.distributions import CORRELATABLE, SIGNED, Distribution
from ardchoice.families.mixed.structure import Correlation, Spread
from ardchoice.families.parameters import term_like
from ardchoice.space import Term, matches, parse_term

Space = Literal["preference", "wtp"]
"""What coefficients are: of utility, or willingness to pay."""
MOST_LABELLED = 30
"""Alternatives up to which each may have an error component of its own."""
SHARED = "shared "
"""Before the distribution of a taste that several terms share."""
FIRST_SPREAD = 0.5
"""Standard deviation before anything is known of its size."""


@dataclass(frozen=True)
class Draw:
    """How a coefficient is distributed: the distribution, and its sign; 0 while not known.

    One that `is_shared` varies together in several terms of an attribute, around their own means.
    """

    distribution: Distribution
    sign: int
    is_shared: bool = False

    @classmethod
    def parse(cls, text: object) -> Draw:
        """From ``normal``, ``lognormal``, ``-lognormal``, ``shared normal``."""
        known = get_args(Distribution)
        name = str(text).strip()
        is_shared = name.startswith(SHARED)
        name = name.removeprefix(SHARED).strip()
        sign = {"-": -1, "+": 1}.get(name[:1], 0)
        bare = name.lstrip("+-").strip()
        bare = "truncated" if bare in ("truncated normal", "truncated_normal") else bare
        if bare not in known:
            raise SpecificationError(
                f"There is no distribution {text!r} of a random coefficient. "
                f"{did_you_mean(bare, known)}"
            )
        if sign and bare not in SIGNED:
            raise SpecificationError(
                f"{text!r}: only lognormal and truncated coefficients have a sign; a {bare} one "
                "may be positive for some persons and negative for others."
            )
        if is_shared and bare in SIGNED:
            raise SpecificationError(
                f"{text!r}: a shared taste varies around several coefficients, so that it is "
                "normal, triangular or uniform."
            )
        return cls(cast(Distribution, bare), sign if bare in SIGNED else 1, is_shared)

    def __str__(self) -> str:
        if self.is_shared:
            return SHARED + self.distribution
        if self.distribution not in SIGNED or not self.sign:
            return self.distribution
        return f"{'-' if self.sign < 0 else '+'}{self.distribution}"


def set_by_estimation() -> Any:
    """A field of the family that is no option, and that makes no other family."""
    return field(default=None, compare=False, repr=False, metadata={"internal": True})


def check_space(space: str, cost: str | None) -> None:
    """Refuse a space that there is not, and a cost without its space or a space without it."""
    known = get_args(Space)
    if space not in known:
        raise SpecificationError(f"There is no space {space!r}. {did_you_mean(str(space), known)}")
    if space == "wtp" and cost is None:
        raise SpecificationError(
            'space="wtp" needs the attribute that stands for money: Mixed(..., space="wtp", '
            'cost="CO").'
        )
    if space != "wtp" and cost is not None:
        raise SpecificationError(
            f'cost={cost!r} belongs to WTP space: add space="wtp", or remove it.'
        )


def spreads_of(random: Mapping[str, str], encoding: Encoding) -> tuple[Spread, ...]:
    """The random coefficients that the keys of `random` name, in their order."""
    out: dict[str, Spread] = {}
    for key, text in random.items():
        drawn = Draw.parse(text)
        for spread in _named(key, drawn, encoding):
            if spread.name in out:
                raise SpecificationError(
                    f"{spread.name[3:-1]} is named twice among the random coefficients."
                )
            out[spread.name] = spread
    return tuple(out.values())


def must_be_candidates(random: Mapping[str, str], candidates: Encoding) -> None:
    """Refuse keys that name no candidate, nor one of the same attribute in another form."""
    for key, text in random.items():
        try:
            spreads_of({key: text}, candidates)
        except SpecificationError:
            if term_like(key, candidates) is None:
                raise


def _named(key: str, drawn: Draw, encoding: Encoding) -> list[Spread]:
    """What one key stands for: a term, a coefficient, a pattern, or an error component."""
    if drawn.is_shared:
        return [_shared(key, drawn, encoding)]
    columns = [
        (t.term, name, t.start + k) for t in encoding.terms for k, name in enumerate(t.names)
    ]
    wanted = " ".join(str(key).split())
    found = [c for c in columns if wanted in (str(c[0]), c[1])]
    if not found and ":" in wanted:
        is_interaction = " x " in wanted
        found = [c for c in columns if bool(c[0].by) == is_interaction and matches(wanted, c[0])]
    if not found:
        found = [c for c in columns if wanted == c[0].what and not c[0].by]
    if found:
        return [_spread(name, drawn, term, column) for term, name, column in found]
    return [_component(wanted, drawn, encoding)]


def _spread(name: str, drawn: Draw, term: Term, column: int | None) -> Spread:
    return Spread(
        f"sd({name})",
        "sd",
        term,
        column,
        start=FIRST_SPREAD,
        bounds=(0.0, float("inf")),
        distribution=drawn.distribution,
        sign=drawn.sign or 1,
    )


def _component(key: str, drawn: Draw, encoding: Encoding) -> Spread:
    """An error component: a random constant that alternatives share, with mean zero."""
    try:
        term = parse_term(key)
    except SpecificationError:
        term = None
    if term is None or term.what is not None or term.by or not term.where:
        names = [str(t.term) for t in encoding.terms]
        raise SpecificationError(
            f"{key!r} is no term of the model, so it cannot be random. "
            f"{did_you_mean(key, names)} An error component is written as the constant of some "
            "alternatives: 'TRAIN+SM: ASC'."
        )
    unknown = [a for a in term.where if a not in encoding.alternatives]
    if unknown:
        raise SpecificationError(
            f"{key!r}: there is no alternative {unknown[0]!r}. "
            f"{did_you_mean(unknown[0], encoding.alternatives)}"
        )
    if drawn.distribution in SIGNED:
        raise SpecificationError(
            f"{key!r} is an error component: it has mean zero, so it cannot be {drawn.distribution}"
        )
    places = tuple(sorted(encoding.alternatives.index(a) for a in term.where))
    spread = _spread(str(term), drawn, term, None)
    return Spread(**{**spread.__dict__, "alternatives": places})


def _shared(key: str, drawn: Draw, encoding: Encoding) -> Spread:
    """A taste that alternatives share around means of their own."""
    term = parse_term(key)
    found = [
        t
        for t in encoding.terms
        if (t.term.what, t.term.how, t.term.by) == (term.what, term.how, ())
        and len(t.names) == 1
        and t.term.where
        and (not term.where or set(t.term.where) <= set(term.where))
    ]
    covered = {a for t in found for a in t.term.where}
    if term.what is None or term.by or len(found) < 2 or not covered >= set(term.where):
        raise SpecificationError(
            f"{key!r} cannot be {drawn}: a shared taste varies around several coefficients of one "
            "attribute in one form, such as 'TRAIN: TT' and 'SM: TT' for 'TRAIN+SM: TT'. The "
            f"model has: {', '.join(str(t.term) for t in encoding.terms)}."
        )
    spread = _spread(str(term), drawn, term, None)
    return replace(spread, shared=tuple(t.start for t in found))


def constants_without_term(encoding: Encoding) -> tuple[int, ...]:
    """Alternatives without a constant of their own, where others have one; by position.

    Their utilities may vary between persons too, as error components. Alternatives that have no
    constants at all are taken to have no names that mean anything.
    """
    constants = [t.term for t in encoding.terms if t.term.what is None and not t.term.by]
    if not constants or len(encoding.alternatives) > MOST_LABELLED:
        return ()
    own = {term.where[0] for term in constants if len(term.where) == 1}
    return tuple(j for j, name in enumerate(encoding.alternatives) if name not in own)


def correlations_of(
    correlated: bool | Sequence[Sequence[str]], spreads: tuple[Spread, ...], encoding: Encoding
) -> tuple[Correlation, ...]:
    """A correlation for every pair within a group of correlated coefficients."""
    if correlated is False:
        return ()
    names = [s.name[3:-1] for s in spreads]
    if correlated is True:
        groups = [[k for k, s in enumerate(spreads) if s.distribution in CORRELATABLE]]
        if len(groups[0]) < 2:
            raise SpecificationError(
                "correlated=True needs at least two normal or lognormal random coefficients; "
                f"there {'is' if len(groups[0]) == 1 else 'are'} {len(groups[0])}."
            )
    else:
        groups = [_group(keys, names, spreads) for keys in correlated]
    seen: set[int] = set()
    out = []
    for group in groups:
        if seen & set(group):
            raise SpecificationError("A random coefficient can be in one correlated group only.")
        seen |= set(group)
        out += [
            Correlation(
                f"cor({names[i]}, {names[j]})",
                "correlation",
                start=0.0,
                bounds=(-1.0, 1.0),
                first=i,
                second=j,
            )
            for i in group
            for j in group
            if j < i
        ]
    return tuple(out)


def _group(keys: Sequence[str], names: list[str], spreads: tuple[Spread, ...]) -> list[int]:
    for key in keys:
        if key not in names:
            raise SpecificationError(
                f"{key!r} is no random coefficient, so it cannot be correlated with others. "
                f"{did_you_mean(key, names)}"
            )
    group = sorted(names.index(key) for key in keys)
    for k in group:
        if spreads[k].distribution not in CORRELATABLE:
            raise SpecificationError(
                f"{names[k]} is {spreads[k].distribution}: correlations are defined between normal "
                "and lognormal coefficients only."
            )
    return group
