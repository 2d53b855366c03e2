"""The search for exponents and thresholds: grids, brackets and Newton's method on the profile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, Counts, Values, weighted_quantiles
from ardchoice.design import Design, Encoding
from ardchoice.families.family import Family
from ardchoice.families.mnl import Mnl
from ardchoice.families.shapes import (
    PROFILE_TOLERANCE,
    Profile,
    ProfilePoint,
    shape_values,
    shapes_of,
    with_shapes,
)
from ardchoice.space import Term

SHAPE_TOLERANCE = 1e-9
"""Log-likelihood still to be gained by the shapes."""
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
MOST_ROWS = 40_000
"""Situations on which candidates are searched, and where the search begins with more."""


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
        # A profile over cuts has many maxima: which is the highest, all rows decide.
        whole = _Search(Profile(data, encoding, Mnl()))
        point = whole.climb(whole.cut_grids(whole.profile.at(point.values)))
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


class _Search:
    """The maximum of a profile: grids, brackets and Newton's method, shape by shape."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._known_middles: dict[int, Floats] = {}
        self.smooth = [s for s, x in enumerate(profile.shapes) if x.parameter.smoothness == 2]
        self.cuts = [s for s, x in enumerate(profile.shapes) if x.parameter.smoothness < 2]

    def grids(self, point: ProfilePoint) -> ProfilePoint:
        """The best of a grid for every shape, the others as they are."""
        for members in self._together():
            point = self._combinations(point, members)
        for s in self.smooth:
            low, high = self.profile.limits[:, s]
            tried = np.array(EXPONENTS_TRIED)
            point = self._best(point, s, tried[(tried > low) & (tried < high)])
        return self.cut_grids(point)

    def cut_grids(self, point: ProfilePoint) -> ProfilePoint:
        """The best of a grid for every threshold, the others as they are."""
        for s in self.cuts:
            point = self._best(point, s, self._quantiles(s))
        return point

    def _together(self) -> list[list[int]]:
        """Thresholds of one form, where it has several."""
        forms: dict[tuple[int, ...], list[int]] = {}
        for s in self.cuts:
            forms.setdefault(self.profile.shapes[s].terms, []).append(s)
        return [members for members in forms.values() if len(members) > 1]

    def _combinations(self, point: ProfilePoint, members: list[int]) -> ProfilePoint:
        """The best ascending combination on a grid: one after the other may end elsewhere."""
        grid = self._quantiles(members[0], COMBINED_CUTS[len(members)])
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

    # -- Cuts -------------------------------------------------------------------------------

    def _middles(self, s: int) -> Floats:
        """Every place between two neighbouring values within the limits, ascending."""
        if s not in self._known_middles:
            self._known_middles[s] = self._find_middles(s)
        return self._known_middles[s]

    def _find_middles(self, s: int) -> Floats:
        known = np.unique(self.profile.values_of(self.profile.shapes[s]).values)
        low, high = self.profile.limits[:, s]
        middle = 0.5 * (known[1:] + known[:-1])
        return np.asarray(middle[(middle >= low) & (middle <= high)])

    def _quantiles(self, s: int, most: int = CUTS_TRIED) -> Floats:
        """Some of these places, denser where values are."""
        middle = self._middles(s)
        if len(middle) <= most:
            return middle
        values, counts = self._sorted_values(s)
        wanted = weighted_quantiles(Values(values, counts), np.linspace(0, 1, most + 2)[1:-1])
        at = np.clip(np.searchsorted(middle, wanted), 0, len(middle) - 1)
        return np.asarray(np.unique(middle[at]))

    def _sorted_values(self, s: int) -> tuple[Floats, Counts | None]:
        known = self.profile.values_of(self.profile.shapes[s])
        return (np.sort(known.values) if known.counts is None else known.values), known.counts

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
        grid = self._quantiles(s)
        if not len(grid):
            return point
        low, high = self.profile.limits[:, s]
        at = int(np.searchsorted(grid, point.values[s]))
        left = float(grid[at - 2]) if at >= 2 else low
        right = float(grid[at + 1]) if at + 1 < len(grid) else high
        if self.profile.shapes[s].parameter.smoothness == 0:
            return self._nearest_cut(point, s, left, right)
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

    def _nearest_cut(self, point: ProfilePoint, s: int, left: float, right: float) -> ProfilePoint:
        """The best cut between two places: finer grids, until neighbouring values are tried."""
        middle = self._middles(s)
        near = middle[(middle >= left) & (middle <= right)]
        while True:
            step = max(1, len(near) // CUTS_TRIED)
            point = self._best(point, s, near[::step])
            if step == 1:
                return point
            at = int(np.argmin(np.abs(near - point.values[s])))
            near = near[max(0, at - step) : at + step + 1]

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
