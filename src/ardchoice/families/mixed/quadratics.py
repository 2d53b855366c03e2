"""The log-likelihood of every person as a quadratic about common coefficients.

log p_n(b + u) ≈ l_n + s_n'u - ½ u'A_n u: one pass, no simulation. The score test of no
heterogeneity, first standard deviations and the search for random coefficients rest on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.design import Block
from ardchoice.families.mixed.persons import Component, PersonGroup, persons_of

LARGEST_UTILITY = 600.0
"""Differences of utilities are cut there: exponentials would overflow."""


@dataclass(frozen=True, eq=False)
class PersonQuadratics:
    """Of U persons, over E columns.

    Attributes
    ----------
    value
        l; shape (U,).
    score
        s; shape (U, E).
    information
        A; shape (U, E, E).
    weight
        Shape (U,).
    """

    value: Floats
    score: Floats
    information: Floats
    weight: Floats

    def __add__(self, other: PersonQuadratics) -> PersonQuadratics:
        return PersonQuadratics(
            np.concatenate([self.value, other.value]),
            np.concatenate([self.score, other.score]),
            np.concatenate([self.information, other.information]),
            np.concatenate([self.weight, other.weight]),
        )

    def about(self, away: Floats) -> PersonQuadratics:
        """Quadratics made at b + e, written about b.

        Parameters
        ----------
        away
            e of every person; shape (U, E).
        """
        pulled = np.einsum("uij,uj->ui", self.information, away)
        value = (
            self.value
            - np.einsum("ui,ui->u", self.score, away)
            - 0.5 * np.einsum("ui,ui->u", pulled, away)
        )
        return PersonQuadratics(value, self.score + pulled, self.information, self.weight)

    def columns(self, which: Ints) -> PersonQuadratics:
        """Over some of the columns."""
        inside = self.information[:, which[:, None], which]
        return PersonQuadratics(self.value, self.score[:, which], inside, self.weight)


def person_quadratics(
    block: Block,
    beta: Floats,
    components: tuple[Component, ...] = (),
    shift: Floats | None = None,
) -> PersonQuadratics:
    """Of all persons of a block.

    Parameters
    ----------
    block
        With whole persons.
    beta
        Common coefficients in block order; shape (D,). Error components have none.
    components
        Columns behind the D.
    shift
        What each person's coefficients differ by where the quadratic is made; shape (U, E).
    """
    persons = persons_of(block, components)
    u, e = len(persons.code), len(beta) + len(components)
    value, score = np.empty(u), np.empty((u, e))
    information = np.empty((u, e, e))
    common = np.concatenate([beta, np.zeros(len(components))])
    for group in persons.groups:
        at = common if shift is None else common + shift[group.unit]
        found = _group(group, at)
        value[group.unit], score[group.unit], information[group.unit] = found
    return PersonQuadratics(value, score, information, persons.weight)


def _group(group: PersonGroup, beta: Floats) -> tuple[Floats, Floats, Floats]:
    a, n, t, e = group.x.shape
    v = (group.x @ (beta if beta.ndim == 1 else beta[..., None])).reshape(a, n, t)
    np.minimum(v, LARGEST_UTILITY, out=v)
    if group.absent is not None:
        v[group.absent] = -np.inf
    p = np.exp(v)
    total = 1 + p.sum(axis=0)
    p /= total
    mean = np.einsum("ant,ante->nte", p, group.x)
    flat = group.x.transpose(1, 0, 2, 3).reshape(n, a * t, e)
    weighted = flat * p.transpose(1, 0, 2).reshape(n, a * t, 1)
    information = flat.swapaxes(1, 2) @ weighted - mean.swapaxes(1, 2) @ mean
    return -np.log(total).sum(axis=1), -mean.sum(axis=1), information


@dataclass(frozen=True, eq=False)
class ScoreTest:
    """Of no heterogeneity, for every column: U_k = ½ Σ (s² - A), information J_k = ½ Σ A².

    Attributes
    ----------
    u, information
        Shape (E,).
    squares
        Σ of the squared contributions of persons, (E, E): errors clustered by person.
    """

    u: Floats
    information: Floats
    squares: Floats

    def __add__(self, other: ScoreTest) -> ScoreTest:
        return ScoreTest(
            self.u + other.u,
            self.information + other.information,
            self.squares + other.squares,
        )

    @property
    def variance(self) -> Floats:
        """The first guess of every coefficient's variance, U/J; negative where there is none."""
        return np.asarray(self.u / np.maximum(self.information, 1e-300))


def score_test(quadratics: PersonQuadratics) -> ScoreTest:
    """Summed over persons."""
    diagonal = np.einsum("uee->ue", quadratics.information)
    each = 0.5 * (quadratics.score**2 - diagonal) * quadratics.weight[:, None]
    information = 0.5 * (quadratics.weight[:, None] * diagonal**2).sum(axis=0)
    return ScoreTest(each.sum(axis=0), information, each.T @ each)


@dataclass(frozen=True, eq=False)
class ScoreTestMeasure:
    """`score_test` of a block; can be sent to another process."""

    beta: Floats
    components: tuple[Component, ...] = ()

    def __call__(self, block: Block) -> ScoreTest:
        """Of one block."""
        return score_test(person_quadratics(block, self.beta, self.components))
