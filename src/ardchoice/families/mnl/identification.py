"""Rank: which coefficients no data of this design could tell apart.

At β = 0 every available alternative has a chance, so a direction v has zero curvature there exactly
when x_in'v is the same for all alternatives of every situation: adding it changes no probability.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from scipy import linalg

from ardchoice._types import Floats
from ardchoice.design import Block, Design
from ardchoice.errors import IdentificationError
from ardchoice.families.mnl.kernel import one_pass, utilities
from ardchoice.numerics import is_definite, map_reduce, single_blas_thread

SUSPECT = 1e-8
"""An eigenvalue of the curvature (unit diagonal) below this is looked into: a Gram matrix squares
the condition of its columns, so it cannot decide by itself."""
FLAT = 1e-13
"""The same for a column by itself, relative to its mean square: rounding leaves about 1e-16."""
ROUNDING = 1e-13
"""A column by itself cancels only if it is the same in all alternatives but for rounding."""
SAME = 1e-7
"""Columns that differ by less than this share of their size are the same: the curvature, which
holds squares, cannot tell them apart."""
INVOLVED = 1e-6
"""A coefficient takes part in a direction from this share of the largest on."""


def check_identification(curvature: Floats, design: Design, blocks: Iterable[Block]) -> None:
    """Raise `IdentificationError` naming every set of coefficients that is collinear.

    Parameters
    ----------
    curvature
        At β = 0, in block order; shape (D, D).
    design, blocks
        What it came from.
    """
    rms = _root_mean_squares(blocks)
    size = np.where(rms > 0, rms, 1.0)
    vectors = _null_vectors(curvature, size, design.data.total_weight)
    directions = [v for v in vectors if _spread(v, blocks) < _same(v)]
    if not directions:
        return
    messages = [_explain(v[design.position], design, rms[design.position]) for v in directions]
    count = "" if len(messages) == 1 else f" ({len(messages)} reasons)"
    raise IdentificationError(
        f"Some coefficients cannot be estimated from any data{count}:\n"
        + "\n".join(f"  {i}. {m}" for i, m in enumerate(messages, 1)),
        [_terms_of(v[design.position], design) for v in directions],
        _levels_without_cases([v[design.position] for v in directions], design, rms),
    )


def _levels_without_cases(
    directions: Sequence[Floats], design: Design, rms: Floats
) -> tuple[str, ...]:
    """Names of columns that are zero in every row, if all directions are of levels beside others.

    Parameters
    ----------
    directions
        In the order of the terms; each of shape (D,).
    design
    rms
        Of the columns, in the order of the blocks; shape (D,).
    """
    size = rms[design.position]
    names = []
    for direction in directions:
        involved = np.flatnonzero(direction)
        terms = [design.encoding.terms[t] for t in _terms_of(direction, design)]
        if len(involved) > 1 or size[involved[0]] > 0 or not size[terms[0].columns].any():
            return ()
        names.append(design.names[involved[0]])
    return tuple(names)


def _terms_of(direction: Floats, design: Design) -> frozenset[int]:
    """Which terms have a column that takes part; shape of the direction: (D,), by terms."""
    each = enumerate(design.encoding.terms)
    return frozenset(t for t, term in each if direction[term.columns].any())


def must_be_identified(design: Design) -> None:
    """The same for a design by itself, before anything is estimated; takes a pass."""
    blocks = design.blocks()
    with single_blas_thread():
        curvature = one_pass(np.zeros(design.n_columns), blocks).curvature
        check_identification(curvature, design, blocks)


def _same(direction: Floats) -> float:
    """The spread below which a direction counts as none."""
    return ROUNDING if np.count_nonzero(direction) == 1 else SAME


def _null_vectors(curvature: Floats, size: Floats, total_weight: float) -> list[Floats]:
    """Sparse directions of (nearly) no curvature, later coefficients given by earlier ones."""
    flat = np.diag(curvature) < FLAT * total_weight * size**2
    found = [np.eye(len(size))[k] for k in np.flatnonzero(flat)]
    if not found and is_definite(curvature - SUSPECT * np.diag(np.diag(curvature))):
        return []
    keep = np.flatnonzero(~flat)
    scale = 1 / np.sqrt(np.diag(curvature)[keep])
    values, vectors = linalg.eigh(curvature[np.ix_(keep, keep)] * scale * scale[:, None])
    null = vectors[:, values < SUSPECT]
    if null.shape[1]:
        for row in _echelon(null.T):
            direction = np.zeros(len(size))
            direction[keep] = row * scale
            direction[np.abs(direction * size) < INVOLVED * np.abs(direction * size).max()] = 0
            found.append(direction)
    return found


def _echelon(rows: Floats) -> Floats:
    """Reduced echelon form with the pivots as far right as they go; shape (r, D)."""
    rows = rows.copy()
    free = list(range(len(rows)))
    for column in reversed(range(rows.shape[1])):
        if not free:
            break
        pivot = max(free, key=lambda i: abs(rows[i, column]))
        if abs(rows[pivot, column]) < INVOLVED:
            continue
        rows[pivot] /= rows[pivot, column]
        for i in range(len(rows)):
            if i != pivot:
                rows[i] -= rows[i, column] * rows[pivot]
        free.remove(pivot)
    return rows


def _spread(direction: Floats, blocks: Iterable[Block]) -> float:
    """How much x'v differs within situations, relative to the size of what it is made of."""
    differing, size = map_reduce(partial(_differing, direction), blocks)
    return float(np.sqrt(differing / size)) if size > 0 else 0.0


def _differing(direction: Floats, block: Block) -> Floats:
    """Squares of x'v within situations, and of what it is made of."""
    v = utilities(direction, block)
    made_of = np.zeros_like(v)
    for part in block.parts:
        x = np.abs(part.x).reshape(len(part.x), -1)
        share = np.abs(direction[part.columns]) @ x
        made_of[list(part.alternatives)] += share.reshape(part.x.shape[1:])
    if block.available is None:
        v = v - v.mean(axis=0)
    else:
        mean = np.where(block.available, v, 0).sum(axis=0) / block.available.sum(axis=0)
        v = np.where(block.available, v - mean, 0.0)
    return np.array([(v**2).sum(), (made_of**2).sum()])


def _root_mean_squares(blocks: Iterable[Block]) -> Floats:
    """The size of every column over rows and alternatives, in the order of the blocks."""
    found = map_reduce(_squares, blocks)
    return np.asarray(np.sqrt(found[:-1] / max(found[-1], 1)))


def _squares(block: Block) -> Floats:
    """Of every column, over its alternatives on average; last, the number of rows."""
    out = np.empty(block.n_columns + 1)
    for part in block.parts:
        out[part.columns] = part.squares() / len(part.alternatives)
    out[-1] = block.shape[1]
    return out


def _explain(direction: Floats, design: Design, rms: Floats) -> str:
    """Why this direction has no curvature, and what to do about it."""
    involved = np.flatnonzero(direction)
    names = [design.names[k] for k in involved]
    terms = [
        next(t for t in design.encoding.terms if t.start <= k < t.start + t.n_columns)
        for k in involved
    ]
    if len(involved) == 1:
        if rms[involved[0]] == 0:
            return (
                f"'{names[0]}' is zero in every row where its alternative is available: such a "
                "case does not occur. Merge or pool levels, or leave the term out."
            )
        return (
            f"'{names[0]}' is the same for every alternative a person can choose from, so it "
            "cancels out of every comparison. Let it differ: leave it out of one alternative."
        )
    everywhere = {j for t in terms for j in t.alternatives} == set(
        range(len(design.encoding.alternatives))
    )
    if everywhere and all(t.term.what is None for t in terms):
        if not any(t.term.by for t in terms):
            return (
                f"Every alternative has a constant ({', '.join(names)}), and only differences "
                "count. Leave the constant of one alternative out."
            )
        by = sorted({c for t in terms for c in t.term.by})
        if all(set(t.term.by) == set(by) for t in terms):
            return (
                f"{' x '.join(by)} enters every alternative ({', '.join(names)}), and only "
                "differences count. Leave it out of one alternative."
            )
    last = involved[-1]
    others = [
        f"{-direction[k] / direction[last]:+.4g} x '{design.names[k]}'" for k in involved[:-1]
    ]
    shown = " ".join(others[:6]) + (f" and {len(others) - 6} more" if len(others) > 6 else "")
    return (
        f"'{design.names[last]}' says nothing new: it equals {shown} (up to what is the same for "
        "all alternatives). Leave one of them out."
    )
