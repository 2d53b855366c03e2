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
from itertools import combinations

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, Values, values_of
from ardchoice.design import Block, CachedBlocks, Design, Encoding, StreamedBlocks
from ardchoice.families.estimate import climb
from ardchoice.families.family import Family, ParameterLayout, family_pass
from ardchoice.families.mnl import Mnl
from ardchoice.families.mnl.kernel import utilities
from ardchoice.numerics import Sums, penalised
from ardchoice.space import ShapeParameter, Term

RIDGE_SHARE = 1e-9
"""Share of its own information that is added to every parameter, so that what the terms do not
identify does not stop the search for shapes."""
PROFILE_TOLERANCE = 1e-8
"""Log-likelihood still to be gained by θ at given shapes."""
SHAPE_TOLERANCE = 1e-9
"""Log-likelihood still to be gained by the shapes."""
EXPONENT_STEP = 5e-4
"""Of central differences by an exponent: second differences lose half of the digits."""
THRESHOLD_STEP_SHARE = 1e-4
"""Of the range of a threshold, the same."""
EXPONENTS_TRIED = (-1.0, 0.0, 0.5, 1.0, 2.0)
"""Where the climb may start: a profile can have several maxima."""
CUTS_TRIED = 24
"""On a first grid of a threshold, at quantiles."""
COMBINED_CUTS = {2: 12, 3: 9}
"""Of a form with several thresholds: places on a grid of all their combinations."""
GOLDEN = 0.5 * (5**0.5 - 1)
GOLDEN_STEPS = 24
"""Each shortens the bracket of a threshold by 0.618: to 1e-5 of it."""
MAX_SWEEPS = 6
"""Rounds over all shapes."""
MAX_CLIMB = 30
LARGEST_MOVE = 1.5
"""Of an exponent in one step."""
INNER_STEPS = 40
MOST_ROWS = 40_000
"""Situations on which grids are searched: the end is found on all of them."""


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


def estimated_shapes(data: ChoiceData, encoding: Encoding) -> Encoding:
    """An encoding whose shapes maximise the likelihood of a multinomial logit; itself without any.

    Parameters
    ----------
    data
        With choices, or the shapes stay as they were learned from the values.
    encoding
        As learned from the values.
    """
    shapes = shapes_of(encoding)
    if not shapes or data.choice is None:
        return encoding
    some = _some_rows(data)
    coarse = _Search(Profile(some, encoding, Mnl()))
    point = coarse.climb(coarse.grids(coarse.profile.at(coarse.profile.start)))
    if len(some) < len(data):
        whole = _Search(Profile(data, encoding, Mnl()))
        point = whole.climb(whole.profile.at(point.values))
    return with_shapes(encoding, shapes, point.values.tolist())


def refined_shapes(
    data: ChoiceData, encoding: Encoding, family: Family, theta: Floats
) -> tuple[Encoding, float]:
    """The shapes of another family from near, and the log-likelihood that they gain.

    Parameters
    ----------
    data
        Rows of a person together, for families that need it.
    encoding
        With shapes that are nearly the best.
    family
        As estimated at these, with whatever it adapts to its parameters kept as it is.
    theta
        Its estimates in block order; shape (P,).
    """
    search = _Search(Profile(data, encoding, family))
    profile = search.profile
    start = ProfilePoint(profile.start, theta, -np.inf, np.empty((0, 0)))
    begin = profile.at(profile.start, start)
    point = search.climb(begin)
    found = with_shapes(encoding, profile.shapes, point.values.tolist())
    return found, point.loglik - begin.loglik


def _some_rows(data: ChoiceData) -> ChoiceData:
    """Situations spread evenly over the table, whole persons where rows of each are together."""
    if len(data) <= MOST_ROWS:
        return data
    rows = np.linspace(0, len(data) - 1, MOST_ROWS).astype(np.intp)
    return data.take(np.unique(rows))


class _Search:
    """The maximum of a profile: grids, brackets and Newton's method, shape by shape."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.smooth = [s for s, x in enumerate(profile.shapes) if x.parameter.smoothness == 2]
        self.cuts = [s for s, x in enumerate(profile.shapes) if x.parameter.smoothness < 2]

    def grids(self, point: ProfilePoint) -> ProfilePoint:
        """The best of a grid for every shape, the others as they are."""
        for members in self._together():
            point = self._combinations(point, members)
        for s in range(len(self.profile.shapes)):
            low, high = self.profile.limits[:, s]
            tried = self._quantiles(s) if s in self.cuts else np.array(EXPONENTS_TRIED)
            point = self._best(point, s, tried[(tried > low) & (tried < high)])
        return point

    def _together(self) -> list[list[int]]:
        """Thresholds of one form, where it has several."""
        forms: dict[tuple[int, ...], list[int]] = {}
        for s in self.cuts:
            forms.setdefault(self.profile.shapes[s].terms, []).append(s)
        return [members for members in forms.values() if len(members) > 1]

    def _combinations(self, point: ProfilePoint, members: list[int]) -> ProfilePoint:
        """The best ascending combination on a grid: one after the other may end elsewhere."""
        places = self._places(members[0])
        count = min(len(places), COMBINED_CUTS[len(members)])
        grid = places[np.linspace(0, len(places) - 1, count).astype(int)]
        best = point
        for cuts in combinations(grid.tolist(), len(members)):
            values = point.values.copy()
            values[members] = cuts
            trial = self.profile.at(values, best)
            best = max((best, trial), key=lambda p: p.loglik)
        return best

    def climb(self, point: ProfilePoint) -> ProfilePoint:
        """From near the maximum, until nothing moves."""
        for _ in range(MAX_SWEEPS):
            before = point.loglik
            for s in self.cuts:
                point = self._bracketed(point, s)
            if self.smooth:
                point = self._newton(point)
            if point.loglik - before <= PROFILE_TOLERANCE or not (
                self.cuts and len(point.values) > 1
            ):
                break
        return point

    def near(self, values: Floats) -> ProfilePoint:
        """From shapes that were found on some of the rows, or in another family."""
        return self.climb(self.profile.at(values))

    # -- Cuts -------------------------------------------------------------------------------

    def _quantiles(self, s: int) -> Floats:
        """Places between different values, denser where values are."""
        inside = self._places(s)
        if len(inside) <= CUTS_TRIED:
            return inside
        return np.asarray(inside[np.linspace(0, len(inside) - 1, CUTS_TRIED).astype(int)])

    def _places(self, s: int) -> Floats:
        """Middles between neighbouring values within the limits, as often as values repeat."""
        known = self.profile.values_of(self.profile.shapes[s])
        low, high = self.profile.limits[:, s]
        values = np.sort(known.values)
        values = values[:: max(1, len(values) // 4000)]
        distinct = np.unique(known.values)
        middle = 0.5 * (distinct[1:] + distinct[:-1])
        places = np.clip(np.searchsorted(distinct, values, side="right") - 1, 0, len(middle) - 1)
        wanted = np.unique(middle[places])
        return np.asarray(wanted[(wanted >= low) & (wanted <= high)])

    def _best(self, point: ProfilePoint, s: int, tried: Floats) -> ProfilePoint:
        """The best of some values of one shape, and what it is already."""
        best = point
        for value in tried:
            trial = self._with(point, s, float(value))
            if trial is not None and trial.loglik > best.loglik:
                best = trial
        return best

    def _with(self, point: ProfilePoint, s: int, value: float) -> ProfilePoint | None:
        """With another value of one shape; None where thresholds would not ascend."""
        values = point.values.copy()
        values[s] = value
        shape = self.profile.shapes[s]
        same = [q for q, x in enumerate(self.profile.shapes) if x.terms == shape.terms]
        if len(same) > 1 and not (np.diff(values[same]) > 0).all():
            return None
        return self.profile.at(values, point)

    def _bracketed(self, point: ProfilePoint, s: int) -> ProfilePoint:
        """Between the neighbours of a threshold on the grid, ever closer."""
        places = self._places(s)
        if not len(places):
            return point
        if self.profile.shapes[s].parameter.smoothness == 0:
            return self._nearest_cut(point, s, places)
        grid = self._quantiles(s)
        low, high = self.profile.limits[:, s]
        at = int(np.searchsorted(grid, point.values[s]))
        left = float(grid[at - 2]) if at >= 2 else low
        right = float(grid[at + 1]) if at + 1 < len(grid) else high
        return self._golden(point, s, left, right)

    def _golden(self, point: ProfilePoint, s: int, left: float, right: float) -> ProfilePoint:
        """Golden-section search: kinks of the profile do not matter to it."""
        best, inner = point, {}
        for _ in range(GOLDEN_STEPS):
            a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
            for value in (a, b):
                if value not in inner:
                    inner[value] = self._with(best, s, value)
            low, high = inner[a], inner[b]
            if low is None or high is None:
                break
            best = max((best, low, high), key=lambda p: p.loglik)
            if low.loglik >= high.loglik:
                right = b
            else:
                left = a
            # Rounding moves the golden points: the one that stays is known by its value.
            kept = a if low.loglik >= high.loglik else b
            inner = {self._near(left, right, kept): inner[kept]}
        return self._at_a_value(best, s)

    def _at_a_value(self, point: ProfilePoint, s: int) -> ProfilePoint:
        """The nearest observed value where it is no worse: profiles have their kinks there."""
        known = self.profile.values_of(self.profile.shapes[s]).values
        value = float(known[np.argmin(np.abs(known - point.values[s]))])
        trial = self._with(point, s, value)
        rounding = PROFILE_TOLERANCE + 1e-12 * abs(point.loglik)
        near = trial is not None and trial.loglik >= point.loglik - rounding
        return trial if trial is not None and near else point

    @staticmethod
    def _near(left: float, right: float, kept: float) -> float:
        """The golden point of a bracket that an earlier one is."""
        points = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        return min(points, key=lambda p: abs(p - kept))

    def _nearest_cut(self, point: ProfilePoint, s: int, places: Floats) -> ProfilePoint:
        """The best cut between any two values near by: finer grids, until every place is tried."""
        grid = places
        while True:
            at = int(np.argmin(np.abs(places - point.values[s])))
            step = max(1, len(grid) // CUTS_TRIED)
            near = places[max(0, at - step) : at + step + 1]
            grid = near
            tried = near if len(near) <= CUTS_TRIED else near[:: max(1, len(near) // CUTS_TRIED)]
            point = self._best(point, s, tried)
            if len(near) <= CUTS_TRIED:
                return point

    # -- Exponents --------------------------------------------------------------------------

    def _newton(self, point: ProfilePoint) -> ProfilePoint:
        """Newton's method on the profile; steps are halved until it rises."""
        which = self.smooth
        low, high = self.profile.limits[:, which]
        for _ in range(MAX_CLIMB):
            found = self.profile.derivatives(point, which)
            now = point.values[which]
            step = _ascent(found.profile_curvature(point.curvature), found.gradient)
            step = np.clip(now + np.clip(step, -LARGEST_MOVE, LARGEST_MOVE), low, high) - now
            promised = float(found.gradient @ step)
            if promised <= SHAPE_TOLERANCE:
                break
            trial = self._risen(point, step)
            if trial is None:
                break
            point = trial
        return point

    def _risen(self, point: ProfilePoint, step: Floats) -> ProfilePoint | None:
        """A point that is higher in the direction of a step; None where rounding is left."""
        for _ in range(12):
            values = point.values.copy()
            values[self.smooth] += step
            trial = self.profile.at(values, point)
            if trial.loglik > point.loglik:
                return trial
            step = step / 2
        return None


def _ascent(curvature: Floats, gradient: Floats) -> Floats:
    """H⁻¹g with the absolute values of the eigenvalues: it leads up where H is indefinite too."""
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    size = np.maximum(np.abs(values), 1e-6 * max(float(np.abs(values).max()), 1e-12))
    return np.asarray(vectors @ ((vectors.T @ gradient) / size))


def candidate_shapes(data: ChoiceData, encoding: Encoding) -> Encoding:
    """Shapes of candidates, each by the choices in a plain model around its form.

    That model has the constants, every other attribute as it is, and this one in its form: what the
    exponent or threshold of a candidate would be before anything is selected. Large data are
    searched on rows spread evenly over them.

    Parameters
    ----------
    data
        With choices.
    encoding
        Of all candidates, as learned from the values.
    """
    shapes = shapes_of(encoding)
    if not shapes or data.choice is None:
        return encoding
    some = _some_rows(data)
    terms = [columns.term for columns in encoding.terms]
    values = shape_values(encoding, shapes)
    for members in dict.fromkeys(shape.terms for shape in shapes):
        main = terms[members[0]].main
        reference = Design(some, reference_terms(terms, main)).encoding
        own = [k for k, s in enumerate(shapes) if s.terms == members]
        found = estimated_shapes(some, reference)
        values[own] = shape_values(found, shapes_of(found))
    return with_shapes(encoding, shapes, values.tolist())


def reference_terms(terms: Sequence[Term], main: Term) -> list[Term]:
    """A plain model around one form: constants, every attribute as it is, this one in its form.

    Parameters
    ----------
    terms
        Candidates.
    main
        One of them, without interactions.
    """
    plain = [t for t in terms if not t.by and not t.how.shapes()]
    constants = [t for t in plain if t.what is None]
    forms: dict[tuple[str, tuple[str, ...]], list[Term]] = {}
    for term in plain:
        if term.what is not None:
            forms.setdefault((term.what, term.where), []).append(term)
    # As it is where that is a candidate, else in the first form.
    each = [next((t for t in some if t.how.name == "linear"), some[0]) for some in forms.values()]
    specific = {t.what for t in each if t.where}
    each = [t for t in each if t.where or t.what not in specific]
    own = set(main.where)
    each = [t for t in each if t.what != main.what or (own and t.where and not own & set(t.where))]
    return [*constants, *each, main]
