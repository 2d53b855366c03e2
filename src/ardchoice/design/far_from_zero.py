"""Numbers so far from zero that a coefficient of their own cannot be estimated with any precision.

A column c + x with |c| many times the spread of x is the constant c in all but its last digits.
Sums of squares lose twice as many digits: at 10⁴ standard deviations what is left of x
beyond the constant is 1e-8 of its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ardchoice._types import Floats
from ardchoice.data import ChoiceData
from ardchoice.design.encoding import TermColumns
from ardchoice.errors import SpecificationError
from ardchoice.space import Linear

MOST_STANDARD_DEVIATIONS = 1e4
"""Distance from zero beyond which a number is refused, in standard deviations."""
SAMPLED_RANGES, SAMPLED_ROWS = 64, 512
"""Rows that are looked at: so many ranges, evenly over all rows, of so many rows each."""


def refuse_far_from_zero(data: ChoiceData, terms: Iterable[TermColumns]) -> None:
    """Raise where a term needs a number that lies too far from zero.

    A shift that all alternatives share changes no probability, so a linear attribute with one
    coefficient for all of them may lie anywhere, as long as it lies there for all of them.
    """
    found: dict[str, str] = {}
    for term in terms:
        for name in term.attributes:
            if name not in found and (text := _far_attribute(data, term, name)):
                found[name] = text
        for name in (*term.times, *(factor.name for factor in term.functions)):
            if name not in found and (text := _far_covariate(data, name)):
                found[name] = text
    if not found:
        return
    raise SpecificationError(
        f"{'; '.join(found.values())}. So far from zero, a coefficient cannot be distinguished "
        "from a constant. Subtract that number, the same one in every row: derive new columns "
        "(under [data.derive] of a study file, derive= in Python) or change the table."
    )


def _far_attribute(data: ChoiceData, term: TermColumns, name: str) -> str:
    """What is wrong with an attribute of a term; empty for nothing."""
    attribute = data.attributes[name]
    if attribute.levels is not None or (name == term.term.what and term.term.how.is_classes):
        return ""
    centre, spread = data.cached(("far from zero", name), lambda: _location(data, name))
    at = [attribute.alternatives.index(j) for j in term.alternatives]
    at = [k for k in at if spread[k] > 0]
    if not at:
        return ""
    shared = len(term.alternatives) == len(data.alternatives)
    free = shared and isinstance(term.term.how, Linear) and not term.products
    zero = float(np.median(centre[at])) if free else 0.0
    far = [k for k in at if abs(centre[k] - zero) > MOST_STANDARD_DEVIATIONS * spread[k]]
    if not far:
        return ""
    k = far[0]
    where = f"{name} of {data.alternatives[attribute.alternatives[k]]}"
    beside = f" (that of other alternatives around {zero:.3g})" if free else ""
    return (
        f"{where} lies around {centre[k]:.3g} with a standard deviation of {spread[k]:.2g}{beside}"
    )


def _far_covariate(data: ChoiceData, name: str) -> str:
    """The same for a covariate that columns are multiplied by."""
    if name not in data.covariates:
        return ""

    def location() -> tuple[float, float]:
        numbers = data.covariates[name].numbers
        return _mean_and_sd(np.concatenate([numbers(rows) for rows in _sampled(len(data))]))

    centre, spread = data.cached(("far from zero", name, "covariate"), location)
    if not 0 < spread < abs(centre) / MOST_STANDARD_DEVIATIONS:
        return ""
    return f"{name} lies around {centre:.4g} with a standard deviation of {spread:.2g}"


def _location(data: ChoiceData, name: str) -> tuple[Floats, Floats]:
    """Mean and standard deviation of an attribute where available, by alternative; shape (A,)."""
    attribute, ranges = data.attributes[name], _sampled(len(data))
    centre, spread = np.zeros((2, len(attribute.alternatives)))
    for k, j in enumerate(attribute.alternatives):
        parts = [attribute.at([k], rows)[0][data.available[j, rows]] for rows in ranges]
        centre[k], spread[k] = _mean_and_sd(np.concatenate(parts))
    return centre, spread


def _mean_and_sd(values: Floats) -> tuple[float, float]:
    """Zero for a number that is the same everywhere, whatever rounding makes of its mean."""
    if not len(values) or values.min() == values.max():
        return float(values[0]) if len(values) else 0.0, 0.0
    return float(values.mean()), float(values.std())


def _sampled(n: int) -> Sequence[slice]:
    """All rows, or ranges of them where they are many."""
    if n <= SAMPLED_RANGES * SAMPLED_ROWS:
        return [slice(0, n)]
    starts = np.linspace(0, n - SAMPLED_ROWS, SAMPLED_RANGES).astype(int)
    return [slice(int(a), int(a) + SAMPLED_ROWS) for a in starts]
