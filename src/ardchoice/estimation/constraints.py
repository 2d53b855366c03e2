"""`Constraints`: fixed and equal parameters, bounds and starting values, and their estimation.

Free parameters φ are what is left: θ = T φ + t. The log-likelihood of φ has the gradient T'g and
the Hessian T'HT, whatever the family.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import linalg

from ardchoice._types import Bools, Floats, Ints
from ardchoice.errors import (
    IdentificationError,
    SeparationError,
    SpecificationError,
    did_you_mean,
)
from ardchoice.families import (
    LOCATIONS,
    EstimationTask,
    Family,
    Mnl,
    ParameterLayout,
    ScoredSums,
    family_pass,
    vanished_directions,
)
from ardchoice.numerics import NewtonFit, Sums, maximise

Fixed = Mapping[str, float]
Equal = Sequence[Sequence[str]]
Bounds = Mapping[str, tuple[float | None, float | None]]

NULL_CURVATURE = 1e-11
"""Of a scaled Hessian, relative to its largest eigenvalue: below it a direction is flat."""
TAKES_PART = 1e-4
"""Share of the largest element from which a parameter takes part in a flat direction."""
SHOWN_NAMES = 6
ANCHOR_ROUNDS = 8
"""How often nodes of a simulated likelihood are adapted again."""
ANCHOR_TOLERANCE = 1e-6
"""Relative change of parameters at which nodes stay."""


@dataclass(frozen=True)
class Constraints:
    """What was imposed on the parameters of a model, by their names.

    Attributes
    ----------
    fixed
        Parameter, or a term for all its coefficients -> its value.
    equal
        Groups of parameters that have one value.
    bounds
        Parameter or term -> smallest and largest value, None for none.
    start
        Parameter or term -> where estimation starts.

    Examples
    --------
    >>> from ardchoice.estimation import Constraints
    >>> Constraints(fixed={"*: CO": -1.0}).is_empty
    False
    """

    fixed: Fixed = field(default_factory=dict)
    equal: tuple[tuple[str, ...], ...] = ()
    bounds: Bounds = field(default_factory=dict)
    start: Fixed = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is imposed."""
        return not (self.fixed or self.equal or self.bounds or self.start)

    def resolved(self, layout: ParameterLayout) -> Restriction:
        """What it means for the parameters of a layout, in its order."""
        return _resolved(self, layout)


def constraints_of(
    fixed: Fixed | None, equal: Equal, bounds: Bounds | None, start: Fixed | None
) -> Constraints:
    """From the arguments of `fit`."""
    if isinstance(equal, str) or any(isinstance(group, str) for group in equal):
        raise SpecificationError(
            "equal is a list of groups: equal=[['TRAIN: TT', 'CAR: TT']] gives both one value."
        )
    for what, given in (("fixed", fixed), ("start", start), ("bounds", bounds)):
        if given is not None and not isinstance(given, Mapping):
            raise SpecificationError(f"{what} is a dict name -> value, not {given!r:.80}.")
    return Constraints(
        {str(k): _number("fixed", k, v) for k, v in (fixed or {}).items()},
        tuple(tuple(map(str, group)) for group in equal),
        {str(k): _limits(k, v) for k, v in (bounds or {}).items()},
        {str(k): _number("start", k, v) for k, v in (start or {}).items()},
    )


def _number(what: str, name: object, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise SpecificationError(f"{what}: the value of {name!r} is a number, not {value!r:.80}.")
    if not np.isfinite(value):
        raise SpecificationError(f"{what}: the value of {name!r} is finite, not {value}.")
    return float(value)


def _limits(name: object, value: object) -> tuple[float | None, float | None]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise SpecificationError(
            f"bounds: {name!r} needs a smallest and a largest value, such as (None, 0), not "
            f"{value!r:.80}."
        )
    low, high = (None if v is None else _number("bounds", name, v) for v in value)
    if low is not None and high is not None and low >= high:
        raise SpecificationError(
            f"bounds: {name!r} from {low:g} to {high:g} leaves no room. To fix it, use fixed."
        )
    return low, high


@dataclass(frozen=True, eq=False)
class Restriction:
    """θ = T φ + t, with bounds and starts of the F free parameters φ.

    Attributes
    ----------
    turn
        T; shape (P, F).
    offset
        t; shape (P,).
    bounds
        Shape (2, F); None for none.
    start
        Of θ, not a number where it is not given; shape (P,).
    names
        Of θ; P of them.
    """

    turn: Floats
    offset: Floats
    bounds: Floats | None
    start: Floats
    names: tuple[str, ...]

    @property
    def is_fixed(self) -> Bools:
        """Which parameters are fixed; shape (P,)."""
        return np.asarray(~self.turn.any(axis=1))

    @property
    def free_names(self) -> tuple[str, ...]:
        """Of φ: the names that share each."""
        return tuple(
            " = ".join(self.names[k] for k in np.flatnonzero(column)) for column in self.turn.T
        )

    def full(self, phi: Floats) -> Floats:
        """θ; shape (P,)."""
        return np.asarray(self.turn @ phi + self.offset)

    def free(self, theta: Floats) -> Floats:
        """φ nearest to a θ: means over what is equal; shape (F,)."""
        return np.asarray((self.turn.T @ theta) / self.turn.sum(axis=0))

    def sums(self, sums: Sums) -> Sums:
        """By φ."""
        t = self.turn
        return Sums(sums.loglik, t.T @ sums.gradient, t.T @ sums.curvature @ t)

    def scored(self, sums: ScoredSums) -> ScoredSums:
        """By φ, with what covariances need."""
        t, inside = self.turn, self.sums(sums)
        return ScoredSums(
            inside.loglik,
            inside.gradient,
            inside.curvature,
            t.T @ sums.meat @ t if sums.meat.size else sums.meat,
            None if sums.clustered is None else t.T @ sums.clustered @ t,
        )

    def reordered(self, layout: ParameterLayout) -> Restriction:
        """The same for parameters in the order of another layout, by name."""
        place = [self.names.index(name) for name in layout.names]
        return replace(
            self,
            turn=self.turn[place],
            offset=self.offset[place],
            start=self.start[place],
            names=layout.names,
        )


def _resolved(given: Constraints, layout: ParameterLayout) -> Restriction:
    names, p = layout.names, len(layout.parameters)
    fixed = {k: v for name, v in given.fixed.items() for k in _places(name, layout, "fixed")}
    group = np.arange(p)
    for members in given.equal:
        places = [k for name in members for k in _places(name, layout, "equal", single=True)]
        if len(places) < 2:
            raise SpecificationError(f"equal: a group has two parameters or more, not {members}.")
        for k in places:
            if k in fixed:
                raise SpecificationError(f"equal: '{names[k]}' is fixed: fix all of its group.")
            group[group == group[k]] = group[places[0]]
    classes = [g for g in np.unique(group) if g not in fixed]
    turn = np.stack([(group == g).astype(float) for g in classes], axis=1) if classes else None
    if turn is None:
        raise SpecificationError("All parameters are fixed: there is nothing to estimate.")
    offset, start = np.zeros(p), np.full(p, np.nan)
    for k, value in fixed.items():
        offset[k] = value
    for name, value in given.start.items():
        for k in _places(name, layout, "start"):
            start[k] = value
    return Restriction(turn, offset, _bounds(given, layout, turn, fixed), start, names)


def _bounds(
    given: Constraints, layout: ParameterLayout, turn: Floats, fixed: Mapping[int, float]
) -> Floats | None:
    limits = np.array([p.bounds for p in layout.parameters], dtype=float).reshape(-1, 2).T
    for k, value in fixed.items():
        if not limits[0, k] <= value <= limits[1, k]:
            raise SpecificationError(
                f"fixed: '{layout.names[k]}' lies between {limits[0, k]:g} and {limits[1, k]:g}, "
                f"and {value:g} does not."
            )
    for name, (low, high) in given.bounds.items():
        for k in _places(name, layout, "bounds"):
            limits[0, k] = max(limits[0, k], -np.inf if low is None else low)
            limits[1, k] = min(limits[1, k], np.inf if high is None else high)
    inside = turn.astype(bool)
    ends = np.array([[limits[0, c].max(), limits[1, c].min()] for c in inside.T]).T
    if (ends[0] > ends[1]).any():
        k = int(np.flatnonzero(ends[0] > ends[1])[0])
        named = " and ".join(layout.names[i] for i in np.flatnonzero(inside[:, k]))
        raise SpecificationError(f"No value lies within the bounds of {named}.")
    return ends if np.isfinite(ends).any() else None


def _places(name: str, layout: ParameterLayout, what: str, *, single: bool = False) -> list[int]:
    """Positions of the parameter of that name, or of all coefficients of that term."""
    if name in layout.names:
        return [layout.names.index(name)]
    found = [
        k
        for k, p in enumerate(layout.parameters)
        if p.kind in LOCATIONS and p.term is not None and str(p.term) == " ".join(name.split())
    ]
    if not found:
        known = [*layout.names, *dict.fromkeys(str(p.term) for p in layout.parameters if p.term)]
        raise SpecificationError(
            f"{what}: the model has no parameter {name!r}. {did_you_mean(name, known)}"
        )
    if single and len(found) > 1:
        listed = ", ".join(f"'{layout.names[k]}'" for k in found[:SHOWN_NAMES])
        raise SpecificationError(
            f"{what}: {name!r} has several coefficients; name one of {listed}."
        )
    return found


# -- Estimation -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConstrainedMaximum:
    """Where constrained estimation ended.

    Attributes
    ----------
    fit
        φ, and sums by φ.
    theta
        T φ + t in block order; shape (P,).
    diverging
        Directions of φ without a variance, shape (F, r); None for none.
    family
        As estimated, such as with frozen nodes.
    notes
    """

    fit: NewtonFit
    theta: Floats
    diverging: Floats | None
    family: Family
    notes: tuple[str, ...] = ()


def maximise_constrained(
    family: Family, task: EstimationTask, restriction: Restriction
) -> ConstrainedMaximum:
    """Newton's method on the free parameters, for any family; everything in block order.

    The multinomial logit starts at zero. Other families start at their own maximum without
    constraints or, where they have none, at their start.
    """
    if isinstance(family, Mnl):
        start = np.where(np.isnan(restriction.start), 0.0, restriction.start)
        return _maximum(family, task, restriction, restriction.free(start))
    theta, notes = family.start(task.layout), tuple[str, ...]()
    try:
        alone = family.maximise(task)
        theta, notes, family = alone.fit.beta, alone.notes, alone.family or family
    except (IdentificationError, SeparationError):
        pass  # which constraints may fix; if they do not, it is said below
    theta = np.where(np.isnan(restriction.start), theta, restriction.start)
    phi = restriction.free(theta)
    found = _maximum(family, task, restriction, phi)
    # A likelihood that is simulated with nodes adapted to θ: adapt them to where it ended.
    for _ in range(ANCHOR_ROUNDS):
        anchored = family.frozen_at(found.theta)
        if anchored is family:
            break
        again = _maximum(anchored, task, restriction, found.fit.beta)
        apart = np.abs(again.theta - found.theta).max()
        found = again
        if apart <= ANCHOR_TOLERANCE * max(1.0, float(np.abs(found.theta).max())):
            break
    return replace(found, notes=(*notes, *found.notes))


def _maximum(
    family: Family, task: EstimationTask, restriction: Restriction, start: Floats
) -> ConstrainedMaximum:
    """From one start, with nodes as the family has them."""

    def evaluate(phi: Floats, last: bool) -> Sums:
        theta = restriction.full(phi)
        return restriction.sums(family_pass(family, task.layout, theta, task.blocks))

    bounds = restriction.bounds
    start = start if bounds is None else np.clip(start, *bounds)
    first = evaluate(start, False)
    is_mnl = isinstance(family, Mnl)
    if is_mnl:
        _must_be_identified(first.curvature, restriction)
    fit = maximise(
        evaluate,
        start,
        first=first,
        max_iterations=task.max_iterations,
        tolerance=task.tolerance,
        concave=family.concave,
        bounds=bounds,
    )
    theta = restriction.full(fit.beta)
    ended = task.finish(family, theta)
    sums = restriction.scored(ended) if isinstance(ended, ScoredSums) else restriction.sums(ended)
    held = np.zeros(len(fit.beta), dtype=bool)
    if bounds is not None:
        held = (fit.beta <= bounds[0]) | (fit.beta >= bounds[1])
    diverging = np.eye(len(held))[:, held]
    free = np.flatnonzero(~held)
    if is_mnl and len(free):
        inside = np.ix_(free, free)
        vanished = vanished_directions(sums.curvature[inside], first.curvature[inside])
        if vanished.shape[1] and task.separation == "refuse":
            raise _separation(vanished, free, restriction)
        directions = np.zeros((len(held), vanished.shape[1]))
        directions[free] = vanished
        diverging = np.hstack([diverging, directions])
    elif len(free):
        _must_be_identified(sums.curvature[np.ix_(free, free)], restriction, free)
    notes = tuple(
        f"{restriction.free_names[k]} is at its bound, {fit.beta[k]:g}: its standard error is not "
        "defined."
        for k in np.flatnonzero(held)
    )
    fit = replace(fit, sums=sums)
    return ConstrainedMaximum(fit, theta, diverging if diverging.shape[1] else None, family, notes)


def _must_be_identified(
    curvature: Floats, restriction: Restriction, places: Ints | None = None
) -> None:
    """Raise where some direction of the free parameters changes nothing."""
    names = restriction.free_names
    if places is not None:
        names = tuple(names[k] for k in places)
    diagonal = np.diag(curvature)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = linalg.eigh(curvature * scale * scale[:, None])
    flat = values <= NULL_CURVATURE * max(values[-1], 1.0)
    if not flat.any():
        return
    size = np.abs(vectors[:, flat]).max(axis=1)
    involved = [names[k] for k in np.flatnonzero(size > TAKES_PART * size.max())]
    more = f" and {len(involved) - SHOWN_NAMES} more" if len(involved) > SHOWN_NAMES else ""
    listed = ", ".join(f"'{name}'" for name in involved[:SHOWN_NAMES])
    raise IdentificationError(
        f"With these constraints some parameters are not identified (collinear): {listed}{more}. "
        "Fix one of them, or leave its term out."
    )


def _separation(vanished: Floats, free: Ints, restriction: Restriction) -> SeparationError:
    size = np.abs(vanished).max(axis=1)
    names = [
        restriction.free_names[free[k]] for k in np.flatnonzero(size > TAKES_PART * size.max())
    ]
    listed = ", ".join(f"'{name}'" for name in names[:SHOWN_NAMES])
    return SeparationError(
        f"The likelihood has no finite maximum under these constraints: {listed} diverge (complete "
        "or quasi-complete separation). Fix or bound them; separation='allow' estimates all the "
        "same."
    )


def full_covariances(
    covariances: Mapping[str, Floats], restriction: Restriction
) -> dict[str, Floats]:
    """T Σ T': zero for what is fixed, not a number for what has no variance."""
    turn, out = restriction.turn, {}
    for kind, matrix in covariances.items():
        unknown = (turn[:, np.isnan(np.diag(matrix))] != 0).any(axis=1)
        full = turn @ np.nan_to_num(matrix) @ turn.T
        full[unknown] = np.nan
        full[:, unknown] = np.nan
        out[kind] = full
    return out
