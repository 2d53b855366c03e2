"""Choices of persons who differ, with a known truth, and real answers with shuffled covariates.

Run by `panel.py`. Utilities are those of a specification fitted to the real Swissmetro choices, and
besides a constant of every alternative but the base, a taste for time and one for cost on
standardised columns, normal with standard deviation sd: one draw per person, or per row as a
control, for which answers are independent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special, stats

import ardchoice as ac
from ardchoice.data import draw_choices
from ardchoice.space import SearchSpace, Term

Floats = npt.NDArray[np.float64]
Unit = Literal["person", "row"]
Mixing = Literal["normal", "two points", "skewed", "correlated", "heavy", "scale"]
MIXINGS: tuple[Mixing, ...] = ("two points", "skewed", "correlated", "heavy", "scale")
"""Other distributions than normal ones."""

TRUTHS = {
    **{name: ac.datasets.swissmetro_specification(name) for name in ("S1", "S2", "S3")},
    "T1": """
        TRAIN: ASC + ASC x GA + log1p(TT) + CO
        SM:    ASC + log1p(TT) + CO + HE
        CAR:   log1p(TT) + CO + CO x PURPOSE
    """,
    "T2": """
        TRAIN: ASC + TT + TT x PURPOSE + CO + HE
        SM:    ASC + ASC x AGE + TT + CO
        CAR:   TT + CO + TT x GA
    """,
    "T3": """
        TRAIN: ASC + log1p(TT) + log1p(CO) + log1p(CO) x AGE
        SM:    ASC + ASC x GA + TT + log1p(CO) + HE
        CAR:   log1p(TT) + log1p(TT) x PURPOSE + CO
    """,
    "T4": """
        TRAIN: ASC + ASC x PURPOSE + TT + CO + HE
        SM:    ASC + ASC x AGE + log1p(TT) + CO
        CAR:   TT + TT x AGE + CO
    """,
}
"""Of the paper, and ours: other places, forms and covariates."""
TUNED_ON = ("S1", "S2", "S3", "T1", "T4")
"""Truths that prices were chosen on; seeds below 100 were, too."""
BASE = "CAR"
"""The alternative without a constant."""
NODES = 256
"""Quasi-random draws of tastes, from which choice probabilities are averaged."""


@dataclass(frozen=True)
class Draw:
    """What is drawn.

    Attributes
    ----------
    truth
        Name of a specification, or "real" for the real answers.
    sd
        Of every taste and constant.
    unit
        What they differ between.
    seed
    shuffled
        Whether covariates are exchanged between persons, so that every interaction is noise.
    mixing
        How tastes are distributed; see `draw_tastes`.
    """

    truth: str
    sd: float = 0.0
    unit: Unit = "person"
    seed: int = 0
    shuffled: bool = False
    mixing: Mixing = "normal"


@dataclass(frozen=True, eq=False)
class Case:
    """Choices with what is known of them.

    Attributes
    ----------
    draw, data, space
    truth
        The true terms; none for real answers.
    probabilities
        True ones, averaged over tastes; shape (J, N); None for real answers.
    """

    draw: Draw
    data: ac.ChoiceData
    space: SearchSpace
    truth: frozenset[Term] = frozenset()
    probabilities: Floats | None = field(default=None, repr=False)

    @cached_property
    def timed_relevance(self) -> tuple[ac.ArdFit, float]:
        """Relevance of all candidates, which many methods share, and its processor time."""
        started = time.process_time()
        fit = ac.fit_ard(self.data, self.space)
        return fit, time.process_time() - started

    @property
    def relevance(self) -> ac.ArdFit:
        """Of all candidates."""
        return self.timed_relevance[0]

    def is_noise(self, term: Term) -> bool:
        """Whether a term is an interaction that is not true."""
        return bool(term.by) and term not in self.truth

    def expected(self) -> ac.ChoiceData:
        """Every situation once with each alternative chosen, weighted by its true probability."""
        if self.probabilities is None:
            raise AssertionError("the real answers have no true probabilities")
        rows, chosen = np.nonzero(self.probabilities.T > 0)
        weight = self.probabilities[chosen, rows]
        repeated = self.data.take(rows).with_choice(chosen)
        return replace(repeated, weight=weight)


def make(draw: Draw) -> Case:
    """Draw choices, and shuffle covariates where that is asked for."""
    if draw.truth == "real":
        data = ac.datasets.swissmetro_choices("real")
        truth, chance = frozenset[Term](), None
    else:
        data, chance = simulate(draw)
        truth = frozenset(ac.parse_specification(TRUTHS[draw.truth]).terms)
    if draw.shuffled:
        data = with_shuffled_covariates(data, draw.seed)
    return Case(draw, data, ac.swissmetro_space(data, "medium"), truth, chance)


def simulate(draw: Draw) -> tuple[ac.ChoiceData, Floats]:
    """Choices, and their probabilities averaged over tastes; (J, N)."""
    real = ac.datasets.swissmetro_choices()
    model = ac.fit_mnl(real, TRUTHS[draw.truth], separation="allow")
    with np.errstate(divide="ignore"):
        utility = np.log(model.probabilities(real))
    which = list(TRUTHS).index(draw.truth)
    rng = np.random.default_rng([draw.seed, round(100 * draw.sd), draw.unit == "row", which])
    columns = taste_columns(real)
    if real.person is None:
        raise AssertionError("Swissmetro has persons")
    who = real.person if draw.unit == "person" else np.arange(len(real))
    normal = rng.standard_normal((int(who.max()) + 1, len(columns) + 1))
    tastes, scale = draw_tastes(draw, normal)
    drawn = softmax(scale[who] * (utility + np.einsum("kjn,nk->jn", columns, tastes[who])))
    data = real.with_choice(draw_choices(drawn, rng))
    if not draw.sd:
        return data, softmax(utility)
    # Everybody's average is over the same draws, whatever the seed.
    sobol = stats.qmc.Sobol(len(columns) + 1, rng=np.random.default_rng(0)).random(NODES)
    total = np.zeros_like(utility)
    for node, size in zip(*draw_tastes(draw, special.ndtri(sobol)), strict=True):
        total += softmax(size * (utility + np.einsum("kjn,k->jn", columns, node)))
    return data, total / NODES


def draw_tastes(draw: Draw, normal: Floats) -> tuple[Floats, Floats]:
    """Tastes with standard deviation sd (n, K), and the scale of utilities (n,).

    Parameters
    ----------
    draw
        Constants at two points; a skewed (exponential) time taste; all correlated by a half; a cost
        taste with the tails of a t(3); or normal ones, and scales that are lognormal besides.
    normal
        Independent; shape (n, K + 1).
    """
    z, k = normal[:, :-1].copy(), normal.shape[1] - 3
    scale = np.ones(len(z))
    if draw.mixing == "two points":
        z[:, :k] = np.sign(z[:, :k])
    elif draw.mixing == "skewed":
        z[:, k] = 1 + np.log(special.ndtr(z[:, k]))
    elif draw.mixing == "correlated":
        z = np.sqrt(0.5) * (z + normal[:, -1:])
    elif draw.mixing == "heavy":
        z[:, k + 1] = stats.t(3).ppf(special.ndtr(z[:, k + 1])) / np.sqrt(3)
    elif draw.mixing == "scale":
        scale = np.exp(0.5 * normal[:, -1])
    return draw.sd * z, scale


def taste_columns(data: ac.ChoiceData) -> Floats:
    """What differs between persons: constants, standardised time and cost; (K, J, N)."""
    j, n = data.available.shape
    constants = np.repeat(np.eye(j)[:, :, None], n, axis=2)
    out = [constants[i] for i, name in enumerate(data.alternatives) if name != BASE]
    for name in ("TT", "CO"):
        values, attribute = np.zeros((j, n)), data.attributes[name]
        for a in attribute.alternatives:
            values[a] = np.where(data.available[a], attribute.of(a), 0.0)
        inside = values[data.available]
        out.append(np.where(data.available, (values - inside.mean()) / inside.std(), 0.0))
    return np.array(out)


def softmax(utility: Floats) -> Floats:
    """Choice probabilities; utilities are minus infinity where unavailable."""
    p = np.exp(utility - utility.max(axis=0))
    return np.asarray(p / p.sum(axis=0))


def with_shuffled_covariates(data: ac.ChoiceData, seed: int) -> ac.ChoiceData:
    """The covariates of a person, all together, are those of another one."""
    if data.person is None:
        raise AssertionError("covariates are shuffled between persons")
    first = np.unique(data.person, return_index=True)[1]
    other = np.random.default_rng([seed, 17]).permutation(len(first))
    rows = first[other][data.person]
    covariates = {
        name: replace(covariate, values=covariate.values[rows])
        for name, covariate in data.covariates.items()
    }
    return replace(data, covariates=covariates)
