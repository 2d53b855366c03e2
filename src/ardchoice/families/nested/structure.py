"""Which alternatives share a nest: checked, and as arrays that the kernel works with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ardchoice._types import Bools, Floats, Ints
from ardchoice.errors import SpecificationError, did_you_mean

Nests = dict[str, tuple[str, ...]]
"""Name of a nest -> its alternatives."""
ALLOCATION_TOLERANCE = 1e-9
"""How far the given allocations of an alternative may add up beside one."""
SCALE_BOUNDS = (0.02, 50.0)
"""Of μ. Below 1 an estimate is inadmissible and reported; at a bound it has diverged."""


def checked_nests(nests: object, *, cross: bool) -> Nests:
    """Nests as given by a user: names, with two or more distinct alternatives each."""
    if not isinstance(nests, Mapping):
        raise SpecificationError(
            f"Nests are a name and its alternatives each, such as {{'rail': ['TRAIN', 'SM']}}, "
            f"not {nests!r}; None to search for them."
        )
    if not nests:
        raise SpecificationError(
            "There is no nest: name at least one, such as {'rail': ['TRAIN', 'SM']}, or use Mnl()."
        )
    out = {str(name): _members(str(name), members) for name, members in nests.items()}
    if not cross:
        _refuse_overlap(out)
    return out


def _members(name: str, members: object) -> tuple[str, ...]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise SpecificationError(
            f"Nest {name!r} needs a list of alternatives, such as ['TRAIN', 'SM'], not {members!r}."
        )
    listed = tuple(str(member) for member in members)
    twice = sorted({m for m in listed if listed.count(m) > 1})
    if twice:
        raise SpecificationError(f"Nest {name!r} names {', '.join(twice)} twice.")
    if len(listed) < 2:
        held = f"only {listed[0]}" if listed else "nothing"
        raise SpecificationError(
            f"Nest {name!r} holds {held}: a nest needs two alternatives or more, since one alone "
            "has nothing to be correlated with. Leave it out: alternatives that no nest names "
            "stand alone."
        )
    return listed


def _refuse_overlap(nests: Nests) -> None:
    seen: dict[str, str] = {}
    for name, members in nests.items():
        for member in members:
            if member in seen:
                raise SpecificationError(
                    f"{member} is in two nests, {seen[member]!r} and {name!r}. Keep it in one of "
                    "them, or let it belong to both: Nested(..., cross=True)."
                )
            seen[member] = name


def checked_allocation(
    allocation: Mapping[str, Mapping[str, float]], nests: Nests
) -> dict[str, dict[str, float]]:
    """Given allocations: alternative -> nest -> share; all nests of it, adding up to one."""
    out = {}
    for alternative, shares in allocation.items():
        named = {nest for nest, members in nests.items() if alternative in members}
        if set(shares) != named or not named:
            raise SpecificationError(
                f"The allocation of {alternative} must give a share to each of its nests "
                f"({', '.join(sorted(named)) or 'it is in none'}), not to "
                f"{', '.join(shares) or 'none'}."
            )
        total = sum(shares.values())
        if min(shares.values()) <= 0 or abs(total - 1) > ALLOCATION_TOLERANCE:
            raise SpecificationError(
                f"The allocation of {alternative} must be positive shares that add up to 1, not "
                f"{', '.join(f'{nest} {share:g}' for nest, share in shares.items())}."
            )
        out[alternative] = {nest: float(share) for nest, share in shares.items()}
    return out


def check_alternatives(nests: Nests, alternatives: tuple[str, ...]) -> None:
    """Refuse nests of unknown alternatives, and one of all of them."""
    for name, members in nests.items():
        for member in members:
            if member not in alternatives:
                hint = did_you_mean(member, alternatives)
                raise SpecificationError(
                    f"Nest {name!r}: there is no alternative {member!r}. {hint}"
                )
        if len(members) == len(alternatives):
            raise SpecificationError(
                f"Nest {name!r} holds every alternative: its scale is not identified beside the "
                "scale of utility. Leave at least one alternative out of it."
            )


@dataclass(frozen=True, eq=False)
class NestArrays:
    """A structure as arrays: R memberships of J alternatives in L nests, grouped by nest.

    An alternative that no nest names is a nest of its own, with scale 1. In a nested logit every
    alternative is a member of one nest, R = J; in a cross-nested logit of several.

    Attributes
    ----------
    alternative, nest
        Of every membership; shape (R,).
    starts
        The first membership of every nest; shape (L,).
    names
        Of the first M nests, those with a scale.
    scale_of
        The scale parameter of each of these; shape (M,).
    scale_names
        S of them.
    allocation_base, allocation_slopes
        α = base + slopes a of every membership: shapes (R,) and (R, A), with A allocation
        parameters a.
    allocation_names
        A of them.
    """

    alternative: Ints
    nest: Ints
    starts: Ints
    names: tuple[str, ...]
    scale_of: Ints
    scale_names: tuple[str, ...]
    allocation_base: Floats
    allocation_slopes: Floats
    allocation_names: tuple[str, ...]

    @property
    def n_nests(self) -> int:
        """L."""
        return len(self.starts)

    @property
    def n_scales(self) -> int:
        """S."""
        return len(self.scale_names)

    @cached_property
    def is_cross(self) -> bool:
        """Whether some alternative is in several nests."""
        return len(np.unique(self.alternative)) < len(self.alternative)

    @cached_property
    def several(self) -> Bools:
        """Whether an alternative is in several nests; shape (J,)."""
        return np.bincount(self.alternative) > 1

    def scales(self, values: Floats) -> Floats:
        """μ of every nest, one for alternatives alone; shape (L,)."""
        mu = np.ones(self.n_nests)
        mu[: len(self.scale_of)] = values[self.scale_of]
        return mu

    def allocations(self, values: Floats) -> Floats:
        """α of every membership; shape (R,)."""
        return np.asarray(self.allocation_base + self.allocation_slopes @ values)


Key = tuple[tuple[str, tuple[str, ...]], ...]
AllocationKey = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]


@lru_cache(maxsize=256)
def nest_arrays(
    nests: Key, alternatives: tuple[str, ...], *, equal: bool, allocation: AllocationKey
) -> NestArrays:
    """The arrays of a structure.

    Parameters
    ----------
    nests
        Names and members.
    alternatives
        All J, in their order.
    equal
        Whether all nests share one scale.
    allocation
        Given shares of alternatives in several nests; the others are estimated.
    """
    check_alternatives(dict(nests), alternatives)
    given = {alternative: dict(shares) for alternative, shares in allocation}
    place = {name: j for j, name in enumerate(alternatives)}
    groups = [sorted(place[member] for member in members) for _, members in nests]
    inside = {j for group in groups for j in group}
    groups += [[j] for j in range(len(alternatives)) if j not in inside]
    sizes = [len(group) for group in groups]
    alternative = np.concatenate(groups).astype(np.intp)
    nest = np.repeat(np.arange(len(groups)), sizes)
    names = tuple(name for name, _ in nests)
    base, slopes, free = _allocation(alternative, nest, names, alternatives, given)
    return NestArrays(
        alternative=alternative,
        nest=nest,
        starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp),
        names=names,
        scale_of=np.zeros(len(names), np.intp) if equal else np.arange(len(names)),
        scale_names=("mu",) if equal else tuple(f"mu({name})" for name in names),
        allocation_base=base,
        allocation_slopes=slopes,
        allocation_names=free,
    )


def _allocation(
    alternative: Ints,
    nest: Ints,
    names: tuple[str, ...],
    alternatives: tuple[str, ...],
    given: Mapping[str, Mapping[str, float]],
) -> tuple[Floats, Floats, tuple[str, ...]]:
    """α = base + slopes a: the last nest of an alternative has what its other nests leave."""
    base, columns, free = np.ones(len(alternative)), [], []
    for j in np.flatnonzero(np.bincount(alternative) > 1):
        own = np.flatnonzero(alternative == j)
        if alternatives[j] in given:
            base[own] = [given[alternatives[j]][names[nest[r]]] for r in own]
            continue
        base[own[:-1]] = 0.0
        for r in own[:-1]:
            column = np.zeros(len(alternative))
            column[r], column[own[-1]] = 1.0, -1.0
            columns.append(column)
            free.append(f"alpha({alternatives[j]} in {names[nest[r]]})")
    slopes = np.array(columns).T if columns else np.empty((len(alternative), 0))
    return base, slopes, tuple(free)
