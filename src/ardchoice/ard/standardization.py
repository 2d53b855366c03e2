"""Columns of unit spread: what makes them so, over data of several fits together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats
from ardchoice.design import Design, Encoding, Rows

CONSTANT_COLUMN = 1e-12
"""A spread below this share of the mean is none: the column is left as it is."""


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """How the values of every column lie; shape (D,) each.

    Attributes
    ----------
    count
        Values seen.
    mean, sd
        Of these.
    over
        The rows where the column's alternatives are available, or all.
    """

    count: Floats
    mean: Floats
    sd: Floats
    over: Rows = "available"

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        """Of both data together."""
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        away = other.mean - self.mean
        variance = (1 - share) * self.sd**2 + share * other.sd**2 + share * (1 - share) * away**2
        return ColumnMoments(count, self.mean + share * away, np.sqrt(variance), self.over)


def moments_of(design: Design, over: Rows) -> ColumnMoments:
    """One pass over the columns of a design."""
    moments, data = design.moments(design.passing(), over), design.data
    count = np.zeros(design.n_columns)
    for term in design.encoding.terms:
        here = data.times_available[list(term.alternatives)]
        count[term.columns] = here.sum() if over == "available" else len(here) * len(data)
    return ColumnMoments(count, moments.mean, moments.sd, over)


FAR_FROM_ZERO = 1e3
"""Mean of a column in standard deviations beyond which its square has lost half its digits."""


@dataclass(frozen=True, eq=False)
class Standardization:
    """Columns are (x - centre) / scale; shape (D,) each."""

    centre: Floats
    scale: Floats


def standardization_of(spread: ColumnMoments, encoding: Encoding) -> Standardization:
    """Mean zero where constants can undo it, standard deviation one."""
    constant = spread.sd <= CONSTANT_COLUMN * np.maximum(np.abs(spread.mean), 1e-300)
    centre = np.where(constant | ~may_centre(encoding), 0.0, spread.mean)
    return Standardization(centre, np.where(constant, 1.0, spread.sd))


def may_centre(encoding: Encoding) -> npt.NDArray[np.bool_]:
    """Where a shift of the column is a shift of constants that are in the model; shape (D,)."""
    return _by_constants(encoding)[2]


def free_centre(centre: Floats, scale: Floats, encoding: Encoding) -> Floats:
    """Centres of columns far from zero whose shift moves all alternatives alike; else zero; (D,).

    Such a shift changes no probability, whatever other terms there are. Left where they are, such
    columns (a time plus 3e7) lose their digits in sums of squares.
    """
    alike = shifts_alike(encoding)
    far = np.abs(centre) > FAR_FROM_ZERO * np.where(scale > 0, scale, 1.0)
    return np.where(alike & far, centre, 0.0)


def shifts_alike(encoding: Encoding) -> npt.NDArray[np.bool_]:
    """Where a shift of the column moves all alternatives by the same; shape (D,)."""
    _, parts, can = _by_constants(encoding)
    return np.asarray(can & (np.abs(parts) < 1e-9).all(axis=0))


@dataclass(frozen=True, eq=False)
class BasisChange:
    """How coefficients change with the standard: old = T new, for the same utilities.

    T is a diagonal and, in the rows of constants, what they take up.

    Attributes
    ----------
    ratio
        Of the scales, old by new; shape (D,).
    constants
        Which coefficients are constants; M of them.
    shift
        What each constant takes up where a column is centred elsewhere; shape (M, D).
    """

    ratio: Floats
    constants: npt.NDArray[np.intp]
    shift: Floats

    def coefficients(self, old: Floats) -> Floats:
        """The new coefficients of the same utilities, up to a common shift; shape (D,)."""
        new = old / self.ratio
        new[self.constants] -= self.shift @ new
        return new

    def linear(self, b: Floats) -> Floats:
        """T'b; shape (D,)."""
        return np.asarray(self.ratio * b + b[self.constants] @ self.shift)

    def curvature(self, h: Floats) -> Floats:
        """T'HT; shape (D, D)."""
        half = h * self.ratio + h[:, self.constants] @ self.shift
        return np.asarray(self.ratio[:, None] * half + self.shift.T @ half[self.constants])


def change_basis(old: Standardization, new: Standardization, encoding: Encoding) -> BasisChange:
    """How coefficients change with the standard."""
    constants, parts, _ = _by_constants(encoding)
    shift = parts * ((old.centre - new.centre) / new.scale)
    return BasisChange(old.scale / new.scale, constants, shift)


def _by_constants(
    encoding: Encoding,
) -> tuple[npt.NDArray[np.intp], Floats, npt.NDArray[np.bool_]]:
    """Which coefficients are constants, what each does to shift a column, and whether they can.

    A shift moves the utilities of the term's alternatives together. Constants can undo it when they
    span that move, up to the same for all alternatives. Shapes (M,), (M, D) and (D,).
    """
    j, d = len(encoding.alternatives), encoding.n_columns
    constants = [t for t in encoding.terms if t.term.what is None and not t.term.by]
    span = np.ones((1 + len(constants), j))
    for row, term in enumerate(constants, start=1):
        span[row] = 0.0
        span[row, list(term.alternatives)] = 1.0
    answers: dict[tuple[int, ...], tuple[Floats, bool]] = {}
    parts, can = np.zeros((len(constants), d)), np.zeros(d, dtype=bool)
    for term in encoding.terms:
        if term.alternatives not in answers:
            move = np.zeros(j)
            move[list(term.alternatives)] = 1.0
            each = np.asarray(np.linalg.lstsq(span.T, move, rcond=None)[0], dtype=np.float64)
            answers[term.alternatives] = each, bool(np.abs(move - span.T @ each).max() < 1e-9)
        each, can[term.columns] = answers[term.alternatives]
        parts[:, term.columns] = each[1:, None]
    return np.array([t.start for t in constants], dtype=np.intp), parts, can
