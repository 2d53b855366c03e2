"""Draws from the estimated distribution of tastes, for tables and figures of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.families.family import ParameterLayout
from ardchoice.families.mixed.prediction import population
from ardchoice.families.mixed.structure import structure_of, to_loadings

TASTE_NODES = 4_096
"""Of the distribution of tastes in the population; a power of two."""


@dataclass(frozen=True, eq=False)
class TasteDraws:
    """Persons drawn from the population.

    Attributes
    ----------
    names
        Of the q random coefficients.
    columns
        The coefficient that each is, by position; None for error components and shared tastes.
    distributions
    values
        Shape (q, R).
    """

    names: tuple[str, ...]
    columns: tuple[int | None, ...]
    distributions: tuple[str, ...]
    values: Floats


def taste_draws(
    theta: Floats, layout: ParameterLayout, seed: int, count: int = TASTE_NODES
) -> TasteDraws:
    """Random coefficients of persons of whom nothing is known.

    Parameters
    ----------
    theta
        In the order of the layout; shape (P,).
    layout
    seed, count
        Of the quasi-random nodes.
    """
    structure = structure_of(layout)
    d = structure.n_columns
    phi = np.concatenate([theta[:d], to_loadings(structure, theta[d:])])
    spreads = structure.spreads
    return TasteDraws(
        tuple(s.name[3:-1] for s in spreads),
        tuple(s.column for s in spreads),
        tuple(s.distribution for s in spreads),
        population(structure, phi, seed, count).beta,
    )
