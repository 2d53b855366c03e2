"""Draws from the estimated distribution of tastes, for tables and figures of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats
from ardchoice.families.mixed.prediction import population
from ardchoice.families.mixed.structure import structure_of, to_loadings
from ardchoice.families.parameters import ParameterLayout

TASTE_NODES = 16_384
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
    shared
        The coefficients that each moves together, by position; empty for all but shared tastes.
    distributions
    values
        Shape (q, R).
    """

    names: tuple[str, ...]
    columns: tuple[int | None, ...]
    shared: tuple[tuple[int, ...], ...]
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
        tuple(s.shared for s in spreads),
        tuple(s.distribution for s in spreads),
        population(structure, phi, seed, count).beta,
    )


def coefficient_draws(drawn: TasteDraws, theta: Floats) -> dict[int, tuple[Floats, str]]:
    """Values of every coefficient that varies, whatever makes it vary, and its distribution.

    Parameters
    ----------
    drawn
    theta
        Where the coefficients that are not random themselves have their means; shape (P,).
    """
    out: dict[int, tuple[Floats, str]] = {}
    for k, column in enumerate(drawn.columns):
        if column is not None:
            out[column] = drawn.values[k], drawn.distributions[k]
    for k, columns in enumerate(drawn.shared):
        for column in columns:
            values, kind = out.get(column, (np.full(drawn.values.shape[1], theta[column]), ""))
            kind = f"{kind} + {drawn.distributions[k]}" if kind else drawn.distributions[k]
            out[column] = values + drawn.values[k], kind
    return out
