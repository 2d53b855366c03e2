"""Random choices and an expansion of terms by plain loops, to hold designs against."""

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ardchoice.data import Attribute, ChoiceData, Covariate
from ardchoice.design import Design, TermColumns
from ardchoice.space import parse_specification

ALTERNATIVES = ("TRAIN", "SM", "CAR")
GARBAGE = (np.nan, -np.inf, np.inf, -1e300, 0.0)

TERMS = tuple(
    parse_specification("""
    TRAIN: ASC + TT + log(TT) + CO + log1p(CO) x GA + ASC x AGE x GA + HE + COMFORT
    SM: TT x INCOME + sqrt(CO) x PURPOSE x AGE + segments(TT, 3) x GA + COMFORT x AGE x INCOME
    SM: ASC x INCOME x DIST + boxcox(CO) x AGE + thresholds(TT, 2) x GA + steps(CO, 3)
    CAR: square(TT) + boxcox(TT) + piecewise(TT, 40, 60) x AGE + quantiles(CO, 4) + HE x INCOME x GA
    *: HE + TT x PURPOSE + COMFORT + log(TT) x DIST x INCOME + segments(CO, 4) + ASC x PURPOSE
    TRAIN+SM: CO x INCOME + quantiles(TT, 3) x PURPOSE x GA + ASC + boxcox(TT, 2)
    CAR+TRAIN: TT + COMFORT x PURPOSE + piecewise(CO, 10) + HE x AGE + ASC x AGE x PURPOSE x GA
    """)
)
"""Every place, transform and interaction; alternatives 0 and 2 are not neighbours."""


def random_choices(n: int, seed: int = 0, *, all_available: bool = False) -> ChoiceData:
    """Choices with every kind of variable, and garbage in the cells of unavailable alternatives."""
    rng = np.random.default_rng(seed)
    available = rng.random((3, n)) < (1.0 if all_available else 0.7)
    available[rng.integers(0, 3, n), np.arange(n)] = True
    choice = np.array([rng.choice(np.flatnonzero(available[:, i])) for i in range(n)])

    def numeric(name: str, alternatives: tuple[int, ...], values: np.ndarray) -> Attribute:
        there = available[list(alternatives)]
        garbage = rng.choice(GARBAGE, values.shape)
        return Attribute(name, alternatives, np.where(there, values, garbage))

    comfort = rng.integers(0, 3, (3, n))
    comfort = np.where(available, comfort, rng.choice([-7, -1, 99], (3, n))).astype(np.int32)
    attributes = (
        numeric("TT", (0, 1, 2), rng.gamma(9, 6, (3, n)) + 1),
        numeric("CO", (0, 1, 2), np.where(rng.random((3, n)) < 0.2, 0, rng.gamma(4, 5, (3, n)))),
        numeric("HE", (0, 2), rng.choice([10.0, 30.0, 60.0], (2, n))),
        Attribute("COMFORT", (0, 1, 2), comfort, ("low", "mid", "high"), reference=1),
    )

    def category(name: str, levels: tuple[str, ...], reference: int) -> Covariate:
        return Covariate(name, rng.integers(0, len(levels), n, dtype=np.int32), levels, reference)

    covariates = (
        category("GA", ("no", "yes"), 0),
        category("AGE", ("young", "middle", "old"), 2),
        category("PURPOSE", ("work", "leisure, other", "", "3"), 1),
        Covariate("INCOME", rng.normal(2, 1, n)),
        Covariate("DIST", np.where(rng.random(n) < 0.3, 0.0, rng.exponential(1, n))),
    )
    return ChoiceData(
        alternatives=ALTERNATIVES,
        available=available,
        choice=choice,
        attributes={a.name: a for a in attributes},
        covariates={c.name: c for c in covariates},
        person=np.arange(n) // 2,
        weight=rng.uniform(0.5, 2, n),
        situation=1000 + np.arange(n),
    )


def with_values(data: ChoiceData, name: str, values: np.ndarray) -> ChoiceData:
    """The same choices with other values of one attribute."""
    changed = replace(data.attributes[name], values=values.copy())
    return replace(data, attributes={**data.attributes, name: changed})


def dense(design: Design, ranges: Sequence[slice] | None = None) -> np.ndarray:
    """All columns of a design in the order of its coefficients; shape (D, J, N)."""
    n = len(design.data)
    out = np.zeros((design.n_columns, len(design.data.alternatives), n))
    for rows in [slice(0, n)] if ranges is None else ranges:
        for part in design.block(rows).parts:
            for a, j in enumerate(part.alternatives):
                out[design.order[part.columns], j, rows] = part.x[:, a]
    return out


# -- By plain loops ----------------------------------------------------------------------------


def expected(data: ChoiceData, encoded: TermColumns) -> tuple[list[str], np.ndarray]:
    """Names and values of a term's columns, one cell after the other; shape (C, J, N)."""
    term = encoded.term
    having = range(3) if term.what is None else data.attributes[term.what].alternatives
    places = [data.alternatives.index(a) for a in term.where] if term.where else list(having)
    first = base_labels(data, encoded)
    others = [level_labels(data, name) for name in term.by]
    names, columns = [], []
    for combination in itertools.product(first, *others):
        shown = [label for label in combination if label is not None]
        names.append(f"{term} [{', '.join(shown)}]" if shown else str(term))
        column = np.zeros((3, len(data)))
        for j in places:
            for i in range(len(data)):
                if data.available[j, i]:
                    column[j, i] = base_value(data, encoded, j, i, combination[0])
                    for name, label in zip(term.by, combination[1:], strict=True):
                        column[j, i] *= multiplier(data, name, i, label)
        columns.append(column)
    return names, np.array(columns)


def base_labels(data: ChoiceData, encoded: TermColumns) -> list[str | None]:
    what, how = encoded.term.what, encoded.term.how
    if what is not None and data.attributes[what].levels is not None:
        attribute = data.attributes[what]
        return [v for i, v in enumerate(attribute.levels) if i != attribute.reference]
    if how.is_classes:
        return [str(i + 1) for i in range(len(encoded.parameters))]
    if how.name == "piecewise":
        ends = [f"{k:g}" for k in how.knots]
        inner = [f"{a}-{b}" for a, b in itertools.pairwise(ends)]
        return [f"<{ends[0]}", *inner, f">{ends[-1]}"]
    if how.name == "thresholds":
        return [str(i + 1) for i in range(len(encoded.parameters) + 1)]
    return [None]


def level_labels(data: ChoiceData, name: str) -> list[str | None]:
    covariate = data.covariates[name]
    if covariate.levels is None:
        return [None]
    return [v for i, v in enumerate(covariate.levels) if i != covariate.reference]


def base_value(data: ChoiceData, encoded: TermColumns, j: int, i: int, label: str | None) -> float:
    what, how = encoded.term.what, encoded.term.how
    if what is None:
        return 1.0
    attribute = data.attributes[what]
    value = attribute.values[attribute.alternatives.index(j), i]
    if attribute.levels is not None:
        return float(attribute.levels[value] == label)
    if how.is_classes:
        return float(bisect.bisect_right(encoded.parameters, value) + 1 == int(label))
    if how.name in ("piecewise", "thresholds"):
        k = base_labels(data, encoded).index(label)
        knots = how.knots if how.name == "piecewise" else encoded.parameters
        low = knots[k - 1] if k else 0.0
        high = knots[k] if k < len(knots) else math.inf
        return min(value, high) - low if k == 0 else min(max(value, low), high) - low
    if how.name == "boxcox":
        exponent, shift = encoded.parameters
        return math.expm1(exponent * math.log(value + shift)) / exponent
    forms = {"linear": float, "log": math.log, "log1p": math.log1p, "sqrt": math.sqrt}
    return forms[how.name](value) if how.name in forms else value * value


def multiplier(data: ChoiceData, name: str, i: int, label: str | None) -> float:
    covariate = data.covariates[name]
    value = covariate.values[i]
    return value if label is None else float(covariate.levels[value] == label)
