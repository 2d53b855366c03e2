"""Where utility goes the wrong way, by looking at it value by value in every segment."""

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

import ardchoice as ac
from ardchoice.design.encoding import Encoding

Floats = npt.NDArray[np.float64]
Where = tuple[str, str, frozenset[str]]
"""Alternative, attribute, and the levels that make the segment."""

ROUNDING = 1e-9
"""A rise of utility that is none."""


def pieces(x: Floats, knots: Sequence[float]) -> Floats:
    ends = [-np.inf, *knots, np.inf]
    starts = [0.0, *knots]
    return np.array(
        [np.clip(x, a, b) - s for a, b, s in zip(ends[:-1], ends[1:], starts, strict=True)]
    )


def form(term: ac.Term, x: Floats, parameters: tuple[float, ...]) -> dict[str, Floats]:
    """Label -> column of a term before its interactions."""
    name = term.how.name
    if name in ("segments", "quantiles"):
        cuts = [-np.inf, *parameters]
        return {str(i + 1): ((x >= a) & (x < b)) * 1.0 for i, (a, b) in enumerate(pairwise(cuts))}
    if name == "piecewise":
        return dict(zip(term.how.labels(()), pieces(x, term.how.arguments()), strict=True))
    simple = {"linear": x, "log1p": np.log1p(x), "square": x**2}
    return {"": simple[name]}


def contribution(
    data: ac.ChoiceData,
    term: ac.Term,
    parameters: tuple[float, ...],
    estimates: Mapping[str, float],
    x: Floats,
    segment: Mapping[str, object],
) -> Floats:
    """What a term adds to utility at every value of its attribute, for one kind of person."""
    times = 1.0
    level_names = []
    for name in term.by:
        covariate, value = data.covariates[name], segment[name]
        if covariate.levels is None:
            times *= float(value)  # type: ignore[arg-type]
        elif value == covariate.levels[covariate.reference]:
            times = 0.0
        else:
            level_names.append(str(value))
    if not times:
        return np.zeros(len(x))
    out = np.zeros(len(x))
    for label, column in form(term, x, parameters).items():
        labels = [*([label] if label else []), *level_names]
        name = f"{term} [{', '.join(labels)}]" if labels else str(term)
        out += estimates[name] * column * times
    return out


def wrong_by_hand(
    data: ac.ChoiceData,
    encoding: Encoding,
    estimates: Mapping[str, float],
    signs: Mapping[str, str],
    steps: int | None = None,
) -> set[Where]:
    """Alternative, attribute and segment wherever utility rises (or falls) against its sign.

    From every value of the attribute to the next, unless the number of steps is given.
    """
    wrong = set()
    for (j, place), attribute in product(enumerate(data.alternatives), signs):
        terms = [t for t in encoding.terms if t.term.what == attribute and j in t.alternatives]
        here = data.available[j]
        values = data.attributes[attribute].of(j)[here]
        x = np.unique(
            values if steps is None else np.quantile(values, np.arange(steps + 1) / steps)
        )
        knots = [k for t in terms if t.term.how.name == "piecewise" for k in t.term.how.arguments()]
        x = np.unique([*x, *(k for k in knots if x[0] < k < x[-1])])
        names = list(dict.fromkeys(name for t in terms for name in t.term.by))
        kinds: list[list[object]] = []
        for name in names:
            covariate = data.covariates[name]
            seen = covariate.values[here]
            ends = [seen.min(), seen.max()]
            kinds.append(list(covariate.levels) if covariate.levels is not None else ends)
        for kind in product(*kinds):
            segment = dict(zip(names, kind, strict=True))
            utility = np.zeros(len(x))
            for t in terms:
                utility += contribution(data, t.term, t.parameters, estimates, x, segment)
            rises = np.diff(utility) if signs[attribute] == "-" else -np.diff(utility)
            if (rises > ROUNDING).any():
                levels = {
                    f"{k} {v}" if isinstance(v, str) else f"{k} {v:g}" for k, v in segment.items()
                }
                wrong.add((place, attribute, frozenset(levels)))
    return wrong


def wrong_after_estimation(
    data: ac.ChoiceData, specification: ac.Specification, signs: Mapping[str, str]
) -> set[Where]:
    result = ac.fit_mnl(data, specification)
    return wrong_by_hand(data, result.encoding, result.estimates.to_dict(), signs)
