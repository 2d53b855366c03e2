"""`PreviousData`: the log-likelihood of earlier data, as far as they are remembered.

    ℓ(β) = base(β) + Σ ℓ_row(β) over the rows that are remembered,

with a quadratic base for the rest. All rows: no base, and exact. None: the quadratic of a fit
around its mean. Some, weighted to count for all: the base is that quadratic less the same of these
rows, so that value, slope and curvature at the mean are those of all rows, and the sample judges
only what goes beyond a quadratic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ardchoice._types import Floats
from ardchoice.ard.likelihood import Likelihood
from ardchoice.ard.quadratic import Quadratic, expand
from ardchoice.numerics import Sums

STALE = 0.03
"""Move, in standard deviations, from which a quadratic is made again: what it puts the mean off by
grows with the square, so that this leaves about a thousandth of a standard deviation."""
SINGULAR = 1e-8
"""Share of its diagonal by which a curvature may fall short of being one."""


@dataclass(frozen=True, eq=False)
class PreviousData:
    """Earlier data and their quadratic around a point; D columns.

    Attributes
    ----------
    base
        What rows that are not remembered say.
    rows
        Those that are.
    at
        Where the quadratic was made; shape (D,).
    quadratic
        Of base and rows, exact at that point.
    terms
        Which of the rows' terms the D columns are of; None for all.
    """

    base: Quadratic
    rows: tuple[Likelihood, ...]
    at: Floats
    quadratic: Quadratic
    terms: tuple[int, ...] | None = None

    @property
    def n(self) -> int:
        """Rows that are remembered."""
        return sum(rows.n for rows in self.rows)

    def is_near(self, beta: Floats, sd: Floats, within: float = STALE) -> bool:
        """Whether the quadratic will do at these coefficients.

        Parameters
        ----------
        beta, sd
            The coefficients and their standard deviations; shape (D,) each.
        within
            How many of these they may be away.
        """
        return not self.rows or bool(np.all(np.abs(beta - self.at) <= within * sd))

    def revisit(self, beta: Floats) -> PreviousData:
        """One pass over the rows: the quadratic at other coefficients."""
        # Fewer columns are made when they are first needed: often they are not.
        rows = self.rows if self.terms is None else _restrict(self.rows, self.terms)
        here = reduce(Quadratic.__add__, (expand(r.sums(beta), beta) for r in rows), self.base)
        if self.base.curvature.any() and not _is_concave(here):
            # A sample can be wrong about curvature where the mean moved far. The slope decides
            # where the search ends, and is kept; a curvature is needed on the way.
            slope = here.b - here.curvature @ beta
            curvature = self.quadratic.curvature
            here = expand(Sums(here.value(beta), slope, curvature), beta)
        return PreviousData(self.base, rows, beta, here)

    def take(self, terms: Sequence[int], columns: npt.NDArray[np.intp]) -> PreviousData:
        """The same with the columns of some terms only, all other coefficients at zero."""
        return PreviousData(
            self.base.take(columns),
            self.rows if self.terms is None else _restrict(self.rows, self.terms),
            self.at[columns],
            self.quadratic.take(columns),
            tuple(terms),
        )


def _restrict(rows: tuple[Likelihood, ...], terms: Sequence[int]) -> tuple[Likelihood, ...]:
    return tuple(some.restrict(terms) for some in rows)


def _is_concave(quadratic: Quadratic) -> bool:
    slack = SINGULAR * np.abs(np.diag(quadratic.curvature)).max(initial=1e-300)
    matrix = quadratic.curvature + slack * np.eye(len(quadratic.b))
    return int(linalg.lapack.dpotrf(matrix, overwrite_a=1)[1]) == 0
