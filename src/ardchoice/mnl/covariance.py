"""Covariances of the estimates: classical, robust, clustered by person."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ardchoice.logit import Block, Sums, evaluate_with_scores
from ardchoice.logit.block import Floats


@dataclass(frozen=True, eq=False)
class ScoredSums(Sums):
    """Sums with those of the outer products of scores s.

    Attributes
    ----------
    meat
        Σ s s' over situations; shape (D, D).
    by_person
        Σ s of every person; shape (persons, D). None without persons.
    """

    meat: Floats
    by_person: Floats | None


def scored_pass(
    beta: Floats, blocks: Iterable[Block], person: npt.NDArray[np.intp] | None
) -> ScoredSums:
    """The pass that estimation ends with: all that the covariances need, at once.

    Parameters
    ----------
    beta
        Shape (D,).
    blocks
        Of a design, in the order of the data.
    person
        Shape (N,); None without persons.
    """
    n = len(beta)
    total, meat = Sums(0.0, np.zeros(n), np.zeros((n, n))), np.zeros((n, n))
    by_person = None if person is None else np.zeros((int(person.max()) + 1, n))
    start = 0
    for block in blocks:
        sums, s = evaluate_with_scores(beta, block)
        total += sums
        meat += s @ s.T
        if by_person is not None and person is not None:
            _add_by_person(by_person, s, person[start : start + s.shape[1]])
        start += s.shape[1]
    return ScoredSums(total.loglik, total.gradient, total.curvature, meat, by_person)


def covariances(sums: ScoredSums, gone: Floats | None = None) -> dict[str, Floats]:
    """H⁻¹, and H⁻¹ (Σ s s') H⁻¹ with scores s per situation and summed per person.

    None has a small-sample correction.

    Parameters
    ----------
    sums
        At the estimates.
    gone
        Directions in which the estimates run to infinity, shape (D, r): coefficients that take part
        have no variance (not a number), the others that of a fit without these directions.
    """
    infinite = np.zeros(len(sums.gradient), dtype=bool)
    if gone is not None and gone.shape[1]:
        inverse = inverse_without(sums.curvature, gone)
        infinite = (gone != 0).any(axis=1)
    else:
        inverse = inverse_curvature(sums.curvature)
    out = {"classical": inverse, "robust": inverse @ sums.meat @ inverse}
    if sums.by_person is not None:
        out["cluster"] = inverse @ (sums.by_person.T @ sums.by_person) @ inverse
    if infinite.any():
        for matrix in out.values():
            matrix[infinite] = np.nan
            matrix[:, infinite] = np.nan
    return out


def inverse_without(curvature: Floats, gone: Floats) -> Floats:
    """The inverse of H on what is orthogonal to some directions, where these are zero; (D, D)."""
    scale = 1 / np.sqrt(np.maximum(np.diag(curvature), 1e-300))
    scaled = curvature * scale * scale[:, None]
    # In units of `scale` a direction v is v / scale.
    basis = linalg.null_space((gone / scale[:, None]).T)
    middle = np.linalg.inv(basis.T @ scaled @ basis)
    return np.asarray(scale[:, None] * (basis @ middle @ basis.T) * scale)


def inverse_curvature(curvature: Floats) -> Floats:
    """H⁻¹ by Cholesky, on the scale where H has a unit diagonal; shape (D, D)."""
    scale = 1 / np.sqrt(np.diag(curvature))
    factor = linalg.cholesky(curvature * scale * scale[:, None], lower=True)
    root = linalg.solve_triangular(factor, np.diag(scale), lower=True)
    return np.asarray(root.T @ root)


def _add_by_person(total: Floats, s: Floats, person: npt.NDArray[np.intp]) -> None:
    ordered, columns = person, s
    if (person[1:] < person[:-1]).any():
        order = np.argsort(person, kind="stable")
        ordered, columns = person[order], s[:, order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    total[ordered[starts]] += np.add.reduceat(columns, starts, axis=1).T
