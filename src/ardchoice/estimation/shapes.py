"""Standard errors of exponents and thresholds, and of coefficients together with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Encoding, Part
from ardchoice.errors import IdentificationError
from ardchoice.estimation.covariance import covariances
from ardchoice.estimation.model import Move
from ardchoice.families import (
    Family,
    Mnl,
    Nested,
    Parameter,
    ParameterLayout,
    Profile,
    ProfilePoint,
    ScoredSums,
    Shape,
    person_rows,
    scored_pass,
    shapes_of,
    with_shapes,
)

FLAT_SHARE = 1e-9
"""Of the information on a shape without knowing the coefficients: below it nothing is left."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """Exponents and thresholds estimated with the coefficients; m of them.

    Attributes
    ----------
    names
        Such as ``exponent(*: boxcox(TT))``.
    kinds
        ``"exponent"`` or ``"threshold"``.
    values
        Shape (m,).
    covariances
        As of the result, of its P parameters and of these; shape (P + m, P + m) each. Not a number
        for shapes on which standard errors are conditional.
    """

    names: tuple[str, ...]
    kinds: tuple[Literal["exponent", "threshold"], ...]
    values: Floats
    covariances: Mapping[str, Floats]

    def moved(self, encoding: Encoding, place: int, step: float) -> Encoding:
        """The columns with one of them changed."""
        values = self.values.copy()
        values[place] += step
        return self.at(encoding, values)

    def at(self, encoding: Encoding, values: Floats) -> Encoding:
        """The columns with other values of them; shape (m,)."""
        return with_shapes(encoding, shapes_of(encoding), values.tolist())

    def moves(self, encoding: Encoding, data: ChoiceData) -> tuple[Move, ...]:
        """Each a step up and down, for derivatives by them.

        Parameters
        ----------
        encoding
            With these values.
        data
            As estimated on: steps are in proportion to its values.
        """
        steps = Profile(data, encoding, Mnl()).steps()
        return tuple(
            Move(self.moved(encoding, s, h), self.moved(encoding, s, -h), 2 * h)
            for s, h in enumerate(steps.tolist())
        )

    def reordered(self, back: Ints) -> Shapes:
        """The same with the parameters in another order.

        Parameters
        ----------
        back
            Where every parameter stands now; shape (P,).
        """
        m = len(self.values)
        place = np.concatenate([back, len(back) + np.arange(m)])
        found = {kind: full[place[:, None], place] for kind, full in self.covariances.items()}
        return replace(self, covariances=found)

    def of_parameters(self) -> dict[str, Floats]:
        """Covariances of the parameters alone, the shapes not given; shape (P, P) each."""
        m = len(self.values)
        return {kind: full[:-m, :-m] for kind, full in self.covariances.items()}


@dataclass(frozen=True, eq=False)
class ShapedErrors:
    """What estimation says of its shapes.

    Attributes
    ----------
    shapes
    notes
        A sentence each.
    """

    shapes: Shapes
    notes: tuple[str, ...]


class _Augmented:
    """Blocks with ∂V/∂ψ of every shape as columns of all alternatives, behind the others."""

    def __init__(self, profile: Profile, point: ProfilePoint, which: list[int]) -> None:
        self.profile, self.point, self.which = profile, point, which
        self.design = profile.design(point.values)

    def __iter__(self) -> Iterator[Block]:
        d, m = self.design.n_columns, len(self.which)
        for rows in self.design.ranges():
            block, z = self.profile.directions(self.point, rows, self.design)
            z = z[self.which]
            if block.available is not None:
                z = np.where(block.available, z, 0.0)
            part = Part(tuple(range(block.shape[0])), slice(d, d + m), z)
            yield replace(block, parts=(*block.parts, part))


def shaped_errors(
    data: ChoiceData,
    encoding: Encoding,
    family: Family,
    theta: Floats,
    conditional: ScoredSums,
    gone: Floats | None,
) -> ShapedErrors:
    """Covariances of all parameters and shapes.

    In a multinomial or nested logit, utility is linear in the coefficients: ∂V/∂ψ is a column more,
    with a coefficient of zero, and scores follow. By exponents the Hessian is the exact one; by
    thresholds, where the derivative jumps, the expected one. In families whose tastes vary, scores
    by exponents are central differences person by person, and errors are conditional on
    thresholds; for steps they always are.

    Parameters
    ----------
    data
        As estimated on, rows of a person together.
    encoding
        At the estimated shapes.
    family
        As estimated.
    theta
        In block order; shape (P,).
    conditional
        Sums at the estimates, at given shapes.
    gone
        Directions in which estimates diverge; shape (P, r).
    """
    profile = Profile(data, encoding, family)
    shapes, values = profile.shapes, profile.start
    point = ProfilePoint(values, theta, conditional.loglik, conditional.curvature)
    is_linear = isinstance(family, Mnl | Nested)
    least = 1 if is_linear else 2
    which = [s for s, x in enumerate(shapes) if x.parameter.smoothness >= least]
    which = which if is_linear or family.panel else []
    make = _augmented_sums if is_linear else _sums_by_person
    low, high = profile.limits if len(shapes) else np.zeros((2, 0))
    bound = [s for s in which if not low[s] < values[s] < high[s]]
    which = [s for s in which if s not in bound]
    flat: list[int] = []
    found = None
    while which and found is None:
        sums = make(profile, point, which, conditional)
        weakest = _flat(sums, which, len(theta), gone)
        if weakest is None:
            wider = (
                None if gone is None else np.vstack([gone, np.zeros((len(which), gone.shape[1]))])
            )
            try:
                found = covariances(sums, wider)
            except IdentificationError:
                weakest = which[-1]
        if weakest is not None:
            flat.append(weakest)
            which = [s for s in which if s != weakest]
    if found is None:
        found = covariances(conditional, gone)
    matrices = {kind: _spread(m, len(theta), which, len(shapes)) for kind, m in found.items()}
    known = Shapes(
        tuple(s.name for s in shapes), tuple(s.parameter.kind for s in shapes), values, matrices
    )
    return ShapedErrors(known, _notes(shapes, values, which, bound, flat))


def _augmented_sums(
    profile: Profile, point: ProfilePoint, which: list[int], _: ScoredSums
) -> ScoredSums:
    """Sums with the shapes behind the parameters, (P + m, P + m)."""
    d, m, p = profile.layout.n_columns, len(which), len(point.theta)
    layout = _with_columns(profile.layout, [profile.shapes[s].name for s in which])
    theta = np.concatenate([point.theta[:d], np.zeros(m), point.theta[d:]])
    family, person = profile.family, profile.data.person
    sums = scored_pass(family, layout, theta, _Augmented(profile, point, which), person)
    order = np.concatenate([np.arange(d), np.arange(d + m, p + m), np.arange(d, d + m)])
    at = np.ix_(order, order)
    curvature = sums.curvature[at].copy()
    smooth = [a for a, s in enumerate(which) if profile.shapes[s].parameter.smoothness == 2]
    exact = profile.derivatives(point, [which[a] for a in smooth])
    for a, column in enumerate(smooth):
        curvature[:p, p + column] = curvature[p + column, :p] = exact.cross[:, a]
        for b, other in enumerate(smooth):
            curvature[p + column, p + other] = exact.own[a, b]
    return ScoredSums(
        sums.loglik,
        sums.gradient[order],
        curvature,
        sums.meat[at],
        None if sums.clustered is None else sums.clustered[at],
    )


def _sums_by_person(
    profile: Profile, point: ProfilePoint, which: list[int], conditional: ScoredSums
) -> ScoredSums:
    """The same for a family whose unit is the person, by differences of their log-likelihoods."""
    p, m = len(point.theta), len(which)
    exact = profile.derivatives(point, which)
    curvature = np.block([[conditional.curvature, exact.cross], [exact.cross.T, exact.own]])
    meat = np.zeros((p + m, p + m))
    design = profile.design(point.values)
    for rows in design.ranges():
        block = design.block(rows)
        each = profile.family.scores(point.theta, block, profile.layout).each
        scores = np.vstack([each, np.zeros((m, each.shape[1]))])
        for a, s in enumerate(which):
            scores[p + a] = _differences_by_person(profile, point, s, rows)
        meat += scores @ scores.T
    clustered = None if conditional.clustered is None else meat
    gradient = np.concatenate([conditional.gradient, exact.gradient])
    return ScoredSums(conditional.loglik, gradient, curvature, meat, clustered)


def _differences_by_person(
    profile: Profile, point: ProfilePoint, place: int, rows: slice
) -> Floats:
    """The derivative of every person's log-likelihood by a shape; shape (persons of the rows,)."""
    step, ends = profile.steps()[place], []
    for sign in (1, -1):
        values = point.values.copy()
        values[place] += sign * step
        block = profile.design(values).block(rows)
        units = person_rows(block)
        each = [
            profile.family.evaluate(
                point.theta, block.take(np.flatnonzero(units.of_row == u)), profile.layout, 0
            ).loglik
            for u in range(len(units.starts))
        ]
        ends.append(np.array(each))
    return np.asarray((ends[0] - ends[1]) / (2 * step))


def _with_columns(layout: ParameterLayout, names: list[str]) -> ParameterLayout:
    """A layout with so many coefficients more behind those of the columns."""
    d = layout.n_columns
    more = tuple(Parameter(name, column=d + k) for k, name in enumerate(names))
    parameters = (*layout.parameters[:d], *more, *layout.extras)
    return replace(layout, parameters=parameters, n_columns=d + len(more))


def _flat(sums: ScoredSums, which: list[int], p: int, gone: Floats | None) -> int | None:
    """A shape that the choices say nothing about beside the coefficients; None without one."""
    curvature = sums.curvature
    kept = np.arange(p) if gone is None else np.flatnonzero(~(gone != 0).any(axis=1))
    inside = curvature[np.ix_(kept, kept)]
    for a, s in enumerate(which):
        own, cross = curvature[p + a, p + a], curvature[kept, p + a]
        left = own - cross @ np.linalg.lstsq(inside, cross, rcond=None)[0]
        if not left > FLAT_SHARE * max(abs(own), 1e-12):
            return s
    return None


def _spread(matrix: Floats, p: int, which: list[int], m: int) -> Floats:
    """A covariance of parameters and some shapes, with nothing known of the other shapes."""
    out = np.full((p + m, p + m), np.nan)
    place = np.concatenate([np.arange(p), p + np.array(which, dtype=int)])
    out[np.ix_(place, place)] = matrix
    return out


def _notes(
    shapes: tuple[Shape, ...],
    values: Floats,
    which: list[int],
    bound: list[int],
    flat: list[int],
) -> tuple[str, ...]:
    """What is conditional, and what cannot be known."""
    out = [
        f"{shapes[s].name} is at its limit, {values[s]:.4g}: its standard error is not defined, "
        "and the others are conditional on it."
        for s in bound
    ]
    out += [
        f"{shapes[s].name} is not identified: the likelihood hardly changes with it. It has no "
        "standard error, and the others are conditional on it."
        for s in flat
    ]
    rest = [s for s in range(len(shapes)) if s not in {*which, *bound, *flat}]
    if rest:
        out.append(
            f"Standard errors are conditional on {', '.join(shapes[s].name for s in rest)}: "
            "estimated with the coefficients and counted as parameters, without a standard error "
            "of their own."
        )
    return tuple(out)
