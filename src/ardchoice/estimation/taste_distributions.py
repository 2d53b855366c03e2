"""`Result.tastes`: how tastes and willingness to pay are distributed over persons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.cost_names import cost_of
from ardchoice.estimation.delta import check_level
from ardchoice.estimation.display import BELOW, DisplayFrame
from ardchoice.estimation.wtp import is_saved
from ardchoice.families import Mixed, coefficient_draws, structure_of, taste_draws
from ardchoice.space import Linear, Term

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ardchoice.estimation.result import Result

PARAMETER_DRAWS = 200
"""From the sampling distribution of the estimates, for intervals."""
INTERVAL_NODES = 512
"""Of the tastes at each of them."""
SHARES = (0.1, 0.5, 0.9)
DIVISIBLE = frozenset({"lognormal", "fixed"})
"""Distributions of a cost by which one may divide. A truncated normal has a density above zero at
zero, so that the mean of 1 / cost does not exist: ∫ dx / x diverges there."""
SHOWN_SHARE = 0.98
"""Of the persons that a figure shows: tails would leave no room for the rest."""
MOST_PANELS = 12
BINS = 40
BLUE, ORANGE = "#1f4e79", "#c55a11"
TASTE, WTP, CONSTANT = "taste", "WTP", "constant"
COMPONENT, SHARED = "component", "shared"
"""Kinds of distributions."""
BELOW_OF_KIND = {
    COMPONENT: (
        "component: an error component is what alternatives have in common for a person beside "
        "their constants. It has mean zero, and no right or wrong sign."
    ),
    SHARED: (
        "shared: how far a person is from the coefficients of several terms, each of which is the "
        "mean in its alternatives. The distance has mean zero, and no right or wrong sign."
    ),
}
"""What distributions without a coefficient of their own are."""


@dataclass(frozen=True, eq=False)
class Taste:
    """A distribution over persons.

    Attributes
    ----------
    name
    kind
        ``taste``, ``WTP``, ``constant``, ``component`` (of an error component) or ``shared`` (a
        taste that several terms share, around the coefficient of each).
    distribution
        Of the coefficient, or of numerator and denominator.
    values
        Of persons drawn from the population; shape (R,).
    has_moments
        Whether its mean and standard deviation exist.
    """

    name: str
    kind: str
    distribution: str
    values: Floats
    has_moments: bool = True

    @property
    def has_sign(self) -> bool:
        """Whether it could have a wrong one: constants and deviations with mean zero could not."""
        return self.kind in (TASTE, WTP)


def distributions(
    result: Result, theta: Floats, cost: str | None, count: int | None = None
) -> list[Taste]:
    """Of every random coefficient, and of every ratio of an attribute and the cost."""
    options = {} if count is None else {"count": count}
    seed = result.family.seed if isinstance(result.family, Mixed) else 0
    drawn = taste_draws(theta, result.layout, seed, **options)
    constants = {t.start for t in result.encoding.terms if t.term.what is None and not t.term.by}
    kinds = [
        (CONSTANT if column in constants else TASTE)
        if column is not None
        else (SHARED if shared else COMPONENT)
        for column, shared in zip(drawn.columns, drawn.shared, strict=True)
    ]
    each = zip(drawn.names, kinds, drawn.distributions, drawn.values, strict=True)
    out = [Taste(*one) for one in each]
    money = result.family.cost if isinstance(result.family, Mixed) else None
    if money is not None:  # in WTP space most are willingness to pay already
        return [_in_money(one, result, money) for one in out]
    if cost is None:
        return out
    by_column = coefficient_draws(drawn, theta)
    terms = _simple_terms(result)
    for column, term in terms.items():
        below = _cost_of_term(terms, term, cost)
        if term.what == cost or below is None or not {column, below} & set(by_column):
            continue
        top, bottom = (
            by_column.get(c, (np.full(drawn.values.shape[1], theta[c]), "fixed"))
            for c in (column, below)
        )
        # What would be paid for is positive, as in `Result.wtp`.
        sign = 1.0 if is_saved(str(term.what)) else -1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = sign * top[0] / bottom[0]
        has_moments = bottom[1] in DIVISIBLE
        name = f"{result.names[column]} / {cost}"
        out.append(Taste(name, WTP, f"{top[1]} / {bottom[1]}", ratio, has_moments))
    return out


def _in_money(taste: Taste, result: Result, cost: str) -> Taste:
    is_cost = any(taste.name == str(t.term) and t.term.what == cost for t in result.encoding.terms)
    if taste.kind not in (TASTE, CONSTANT) or is_cost:
        return taste
    if taste.kind == CONSTANT:
        return replace(taste, name=f"{taste.name} / {cost}")
    return replace(taste, name=f"{taste.name} / {cost}", kind=WTP)


def _simple_terms(result: Result) -> dict[int, Term]:
    """Attributes in linear form that are in no interaction, by column."""
    interacted = {t.term.what for t in result.encoding.terms if t.term.by}
    return {
        t.start: t.term
        for t in result.encoding.terms
        if t.term.what is not None
        and t.n_columns == 1
        and isinstance(t.term.how, Linear)
        and t.term.what not in interacted
    }


def _cost_of_term(terms: dict[int, Term], term: Term, cost: str) -> int | None:
    """The column of the cost that stands where a term does."""
    for column, other in terms.items():
        if other.what == cost and (not other.where or set(term.where) <= set(other.where)):
            return column if term.where or not other.where else None
    return None


def must_be_random(result: Result) -> None:
    """Refuse what has no distribution of tastes."""
    if not isinstance(result.family, Mixed):
        raise ArdchoiceError(
            f"Tastes have distributions in a mixed logit; this is a {result.family.title.lower()}. "
            "Estimate with family=ac.Mixed({'*: TT': 'normal'}), or ac.Mixed() to find what is "
            "random."
        )


def _spread(values: Floats) -> float:
    """Standard deviation; exactly zero where all are one number."""
    return float(values.std()) if np.ptp(values) > 0 else 0.0


def tastes(result: Result, cost: str | None, level: float, covariance: Floats) -> pd.DataFrame:
    """A row per random coefficient and willingness to pay; see `Result.tastes`."""
    must_be_random(result)
    check_level(level)
    cost = cost_of(result.encoding) if cost is None else cost
    found = distributions(result, result.coefficients, cost)
    intervals = _intervals(result, cost, level, covariance)
    rows = []
    for taste, (low, high) in zip(found, intervals, strict=True):
        inside = taste.values[np.isfinite(taste.values)]
        middle = float(np.median(inside))
        mean, sd = (inside.mean(), _spread(inside)) if taste.has_moments else (np.nan, np.nan)
        quantiles = np.quantile(inside, SHARES)
        opposite = float((np.sign(inside) == -np.sign(middle)).mean())
        if not taste.has_sign:
            opposite = low = high = np.nan
        if taste.kind in (COMPONENT, SHARED):  # all are symmetric about zero
            mean, quantiles[1] = 0.0, 0.0
        rows.append(
            (taste.name, taste.kind, taste.distribution, mean, sd, *quantiles, opposite, low, high)
        )
    names = ["taste", "kind", "distribution", "mean", "sd", "p10", "median", "p90"]
    columns = [*names, "opposite", "low", "high"]
    frame = DisplayFrame(pd.DataFrame(rows, columns=columns))
    frame.attrs[BELOW] = taste_notes(found)
    return frame


def taste_notes(found: Iterable[Taste]) -> str:
    """What to know of distributions that have no coefficient of their own; empty without any."""
    kinds = {taste.kind for taste in found}
    return " ".join(text for kind, text in BELOW_OF_KIND.items() if kind in kinds)


def _intervals(
    result: Result, cost: str | None, level: float, covariance: Floats
) -> list[tuple[float, float]]:
    """Of the shares of persons with the opposite sign, by draws of the estimates."""
    theta, known = result.coefficients, np.flatnonzero(~np.isnan(np.diag(covariance)))
    values, vectors = np.linalg.eigh(covariance[np.ix_(known, known)])
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(0)
    bounds = result.layout.bounds
    reference = [np.sign(np.median(t.values)) for t in distributions(result, theta, cost)]
    shares = []
    for _ in range(PARAMETER_DRAWS):
        drawn = theta.copy()
        drawn[known] += root @ rng.standard_normal(len(known))
        if bounds is not None:
            drawn = np.clip(drawn, bounds[0] + 1e-6 * (bounds[0] == -1), bounds[1])
        with np.errstate(invalid="ignore"):
            each = distributions(result, drawn, cost, INTERVAL_NODES)
        shares.append(
            [float((np.sign(t.values) == -s).mean()) for t, s in zip(each, reference, strict=True)]
        )
    tail = 0.5 * (1 - level)
    low, high = np.quantile(np.array(shares), [tail, 1 - tail], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class ResultPlots:
    """Figures of a result."""

    result: Result

    def tastes(self, cost: str | None = None, ax: Axes | None = None) -> Axes:
        """How tastes and willingness to pay are distributed over persons.

        Parameters
        ----------
        cost
            The attribute that willingness to pay is measured in. Default: one called like a cost.
        ax
            Where the first distribution is drawn, and nothing else. Default: a new figure with a
            panel for each.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> result = ac.fit(data, "*: TT + CO", family=ac.Mixed({"*: TT": "normal"}))
        >>> result.plot.tastes().get_xlabel()
        '*: TT'
        """
        must_be_random(self.result)
        cost = cost_of(self.result.encoding) if cost is None else cost
        found = distributions(self.result, self.result.coefficients, cost)[:MOST_PANELS]
        if ax is not None:
            draw_taste(ax, found[0])
            return ax
        import matplotlib.pyplot as plt

        columns = min(3, len(found))
        rows = -(-len(found) // columns)
        _, axes = plt.subplots(
            rows, columns, figsize=(3.2 * columns, 2.3 * rows), layout="constrained", squeeze=False
        )
        draw_tastes(list(axes.flat), found)
        first: Axes = axes.flat[0]
        return first


@dataclass(frozen=True)
class TasteCorrelations:
    """Between random coefficients; pairs by position, the first behind the second."""

    names: tuple[str, ...]
    pairs: tuple[tuple[int, int, float], ...]


def taste_correlations(result: Result) -> TasteCorrelations:
    """As estimated; no pairs where tastes are independent."""
    structure = structure_of(result.layout)
    first = structure.n_columns + structure.q
    values = result.coefficients[first:].tolist() if structure.correlations else []
    pairs = tuple(
        (max(c.first, c.second), min(c.first, c.second), value)
        for c, value in zip(structure.correlations, values, strict=True)
    )
    return TasteCorrelations(tuple(s.name[3:-1] for s in structure.spreads), pairs)


def draw_tastes(axes: list[Axes], found: list[Taste]) -> None:
    """A panel each; those that are left over are hidden."""
    for place, taste in zip(axes, found, strict=False):
        draw_taste(place, taste)
    for place in axes[len(found) :]:
        place.set_visible(False)


def draw_taste(ax: Axes, taste: Taste) -> None:
    """The density over persons; persons with the sign that most do not have in orange."""
    inside = taste.values[np.isfinite(taste.values)]
    tail = 0.5 * (1 - SHOWN_SHARE)
    low, high = np.quantile(inside, [tail, 1 - tail])
    middle = float(np.median(inside))
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    if low < 0 < high:  # no bar has both signs
        edges = edges - edges[np.abs(edges).argmin()]
    height, _ = np.histogram(inside, edges)
    centre = 0.5 * (edges[1:] + edges[:-1])
    wrong = -np.sign(middle) if taste.has_sign else np.nan
    colour = [ORANGE if np.sign(c) == wrong else BLUE for c in centre]
    ax.bar(centre, height / len(inside), np.diff(edges), color=colour, lw=0, alpha=0.85)
    ax.axvline(middle, color="#222222", lw=1)
    ax.axvline(0.0, color="#888888", lw=0.8, ls=":")
    if not taste.has_sign:
        words = {SHARED: "around its means", COMPONENT: "error component"}
        what = words.get(taste.kind, f"median {middle:.3g}")
        ax.set_title(f"{what}, sd {inside.std():.3g}", fontsize=8.5, loc="left")
    else:
        _title_with_sign(ax, inside, middle)
    ax.set_xlabel(taste.name, fontsize=8.5)
    ax.set_yticks([])
    ax.tick_params(axis="x", labelsize=8)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)


def _title_with_sign(ax: Axes, inside: Floats, middle: float) -> None:
    opposite = float((np.sign(inside) == -np.sign(middle)).mean())
    sign = "negative" if middle > 0 else "positive"
    ax.set_title(f"median {middle:.3g}, {100 * opposite:.0f} % {sign}", fontsize=8.5, loc="left")
