"""Exponents and thresholds that the likelihood of the choices decides: the profile over them.

A *shape* is a number in a transform, such as the exponent λ of ``boxcox(TT)`` or the cut of
``thresholds(TT, 1)``. For given shapes the model is an ordinary one of its family; the profile
log-likelihood is its maximum, ℓ*(ψ) = max_θ ℓ(θ, ψ). Thresholds are looked for on a grid, exponents
climb by Newton's method: with all derivatives at θ fixed,

    dℓ*/dψ = ∂ℓ/∂ψ,   -d²ℓ*/dψ² = H_ψψ - H_ψθ H_θθ⁻¹ H_θψ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, Values, values_of
from ardchoice.design import Block, CachedBlocks, Design, Encoding, StreamedBlocks
from ardchoice.families.estimate import climb
from ardchoice.families.family import Family, family_pass
from ardchoice.families.mnl.kernel import utilities
from ardchoice.families.parameters import ParameterLayout
from ardchoice.numerics import Sums, penalised
from ardchoice.space import ShapeParameter

RIDGE_SHARE = 1e-9
"""Share of its own information that is added to every parameter, so that what the terms do not
identify does not stop the search for shapes."""
PROFILE_TOLERANCE = 1e-8
"""Log-likelihood still to be gained by θ at given shapes."""
EXPONENT_STEP = 5e-4
"""Of central differences by an exponent: second differences lose half of the digits."""
THRESHOLD_STEP_SHARE = 1e-4
"""Of the range of a threshold, the same."""
INNER_STEPS = 40


@dataclass(frozen=True)
class Shape:
    """One exponent or threshold of a model; terms with one form of an attribute share it.

    Attributes
    ----------
    terms
        Positions of the terms that have it.
    parameter
    name
        Such as ``exponent(*: boxcox(TT))``.
    """

    terms: tuple[int, ...]
    parameter: ShapeParameter
    name: str

    @property
    def kind(self) -> str:
        """``"exponent"`` or ``"threshold"``."""
        return self.parameter.kind


def shapes_of(encoding: Encoding) -> tuple[Shape, ...]:
    """The shapes of a model, in the order of its terms."""
    groups: dict[object, list[int]] = {}
    for t, columns in enumerate(encoding.terms):
        if columns.base is None and columns.term.what is not None and columns.term.how.shapes():
            key = (columns.term.what, columns.term.how, columns.alternatives)
            groups.setdefault(key, []).append(t)
    out = []
    for members in groups.values():
        main = encoding.terms[members[0]].term.main
        several = main.how.shapes()
        for i, parameter in enumerate(several):
            number = f" {i + 1}" if len(several) > 1 else ""
            out.append(Shape(tuple(members), parameter, f"{parameter.kind}{number}({main})"))
    return tuple(out)


def shape_values(encoding: Encoding, shapes: Sequence[Shape]) -> Floats:
    """What the shapes are in an encoding; shape (m,)."""
    return np.array([encoding.terms[s.terms[0]].parameters[s.parameter.place] for s in shapes])


def with_shapes(encoding: Encoding, shapes: Sequence[Shape], values: Sequence[float]) -> Encoding:
    """The same columns with other exponents and thresholds."""
    terms = list(encoding.terms)
    for shape, value in zip(shapes, values, strict=True):
        for t in shape.terms:
            parameters = list(terms[t].parameters)
            parameters[shape.parameter.place] = float(value)
            terms[t] = replace(terms[t], parameters=tuple(parameters))
    return replace(encoding, terms=tuple(terms))


@dataclass(frozen=True, eq=False)
class ProfilePoint:
    """A model at its maximum for given shapes.

    Attributes
    ----------
    values
        ψ; shape (m,).
    theta
        In block order; shape (P,).
    loglik
    curvature
        -∂²ℓ/∂θ∂θ'; shape (P, P).
    """

    values: Floats
    theta: Floats
    loglik: float
    curvature: Floats


@dataclass(frozen=True, eq=False)
class ShapeDerivatives:
    """Derivatives of ℓ at fixed θ and ψ.

    Attributes
    ----------
    gradient
        ∂ℓ/∂ψ; shape (m,).
    cross
        -∂²ℓ/∂θ∂ψ; shape (P, m).
    own
        -∂²ℓ/∂ψ∂ψ'; shape (m, m).
    """

    gradient: Floats
    cross: Floats
    own: Floats

    def profile_curvature(self, curvature: Floats) -> Floats:
        """H_ψψ - H_ψθ H_θθ⁻¹ H_θψ; shape (m, m)."""
        ridged = curvature + np.diag(RIDGE_SHARE * np.abs(np.diag(curvature)) + 1e-300)
        return np.asarray(self.own - self.cross.T @ np.linalg.solve(ridged, self.cross))


class Profile:
    """ℓ*(ψ) of the terms of an encoding on some data.

    Parameters
    ----------
    data
        Rows of a person together, for families that need it.
    encoding
    family
        Whose options are all decided.
    """

    def __init__(self, data: ChoiceData, encoding: Encoding, family: Family) -> None:
        self.data, self.encoding, self.family = data, encoding, family
        self.shapes = shapes_of(encoding)
        self.start = shape_values(encoding, self.shapes)
        # The order of columns does not depend on the shapes.
        order = Design(data, encoding).order
        self.layout: ParameterLayout = family.layout(encoding).reordered(order)
        self.position = np.argsort(order)

    def design(self, values: Sequence[float] | Floats) -> Design:
        """The columns at some shapes."""
        return Design(self.data, with_shapes(self.encoding, self.shapes, list(values)))

    def _blocks(self, values: Sequence[float] | Floats) -> CachedBlocks | StreamedBlocks:
        return self.design(values).blocks()

    def at(
        self, values: Sequence[float] | Floats, near: ProfilePoint | None = None
    ) -> ProfilePoint:
        """The maximum over θ at some shapes."""
        blocks = self._blocks(values)

        def evaluate(theta: Floats, last: bool) -> Sums:
            return family_pass(self.family, self.layout, theta, blocks)

        start = self.layout.starts.copy() if near is None else self._moved(near, values)
        first = evaluate(start, False)
        own = np.diag(first.curvature)
        precision = np.where(own > 0, RIDGE_SHARE * own, 1.0)
        fit = climb(
            self.family,
            self.layout,
            evaluate,
            start,
            first=penalised(first, start, precision),
            precision=precision,
            max_iterations=INNER_STEPS,
            tolerance=PROFILE_TOLERANCE,
        )
        loglik = fit.loglik + 0.5 * float(precision @ fit.beta**2)
        return ProfilePoint(
            np.array(values, dtype=float), fit.beta, loglik, fit.curvature - np.diag(precision)
        )

    def _moved(self, near: ProfilePoint, values: Sequence[float] | Floats) -> Floats:
        """θ with coefficients of columns whose scale changes with the shapes changed likewise."""
        theta = near.theta.copy()
        for shape, old, new in zip(self.shapes, near.values, values, strict=True):
            if shape.kind != "exponent" or old == new:
                continue
            how = self.encoding.terms[shape.terms[0]].term.how
            known = self.encoding.terms[shape.terms[0]].parameters
            x = self.values_of(shape).values
            sample = x[:: max(1, len(x) // 1000)]
            spread = [np.std(how.apply(sample, (v, *known[1:]))) for v in (old, new)]
            if not (spread[1] > 0 and np.isfinite(spread).all()):
                continue
            for t in shape.terms:
                columns = self.encoding.terms[t].columns
                theta[self.position[columns]] *= spread[0] / spread[1]
        return theta

    def values_of(self, shape: Shape) -> Values:
        """The values of the attribute that a shape is of."""
        term = self.encoding.terms[shape.terms[0]]
        return values_of(self.data, self.data.attributes[str(term.term.what)], term.alternatives)

    @cached_property
    def limits(self) -> Floats:
        """Smallest and largest value of every shape; shape (2, m)."""
        out = []
        for shape in self.shapes:
            term, known = self.encoding.terms[shape.terms[0]], self.values_of(shape)
            every = term.term.how.shape_limits(known.values, term.parameters, known.counts)
            out.append(
                every[[p.place for p in term.term.how.shapes()].index(shape.parameter.place)]
            )
        return np.array(out).T

    def steps(self) -> Floats:
        """Of central differences; shape (m,)."""
        low, high = self.limits
        exponent = np.array([s.kind == "exponent" for s in self.shapes])
        return np.where(exponent, EXPONENT_STEP, THRESHOLD_STEP_SHARE * (high - low))

    def derivatives(self, point: ProfilePoint, which: Sequence[int]) -> ShapeDerivatives:
        """By some shapes, by central differences at fixed θ.

        Parameters
        ----------
        point
        which
            Positions of shapes by which ℓ is smooth; m of them.
        """
        steps = self.steps()
        here = self._sums(point, {}).loglik
        ends: dict[tuple[int, int], Sums] = {}
        for s in which:
            for sign in (1, -1):
                ends[s, sign] = self._sums(point, {s: sign * steps[s]}, order=1)
        m, p = len(which), len(point.theta)
        gradient, cross, own = np.empty(m), np.empty((p, m)), np.empty((m, m))
        for a, s in enumerate(which):
            up, down, h = ends[s, 1], ends[s, -1], steps[s]
            gradient[a] = (up.loglik - down.loglik) / (2 * h)
            cross[:, a] = -(up.gradient - down.gradient) / (2 * h)
            own[a, a] = -(up.loglik - 2 * here + down.loglik) / h**2
            for b, r in enumerate(which[:a]):
                both = sum(
                    self._sums(point, {s: sign * h, r: sign * steps[r]}).loglik for sign in (1, -1)
                )
                single = sum(ends[q, sign].loglik for q in (s, r) for sign in (1, -1))
                own[a, b] = own[b, a] = -(both - single + 2 * here) / (2 * h * steps[r])
        return ShapeDerivatives(gradient, cross, own)

    def _sums(self, point: ProfilePoint, moves: dict[int, float], order: int = 0) -> Sums:
        """At fixed θ, with some shapes moved."""
        values = point.values.copy()
        for s, move in moves.items():
            values[s] += move
        blocks = self.design(values).passing()
        return family_pass(
            self.family,
            self.layout,
            point.theta,
            blocks,
            1 if order else 0,
        )

    def directions(self, point: ProfilePoint, rows: slice, design: Design) -> tuple[Block, Floats]:
        """The columns of some rows, and ∂V/∂ψ at fixed θ, for families whose V is linear in θ.

        Returns
        -------
        Block, and an array of shape (m, J, B); of shapes by which V jumps, zeros.
        """
        block, beta = design.block(rows), point.theta[: design.n_columns]
        out = np.zeros((len(self.shapes), *block.shape))
        for s, h in enumerate(self.steps()):
            if self.shapes[s].parameter.smoothness == 0:
                continue
            ends = []
            for sign in (1, -1):
                values = point.values.copy()
                values[s] += sign * h
                ends.append(utilities(beta, self.design(values).block(rows)))
            out[s] = (ends[0] - ends[1]) / (2 * h)
        return block, out
