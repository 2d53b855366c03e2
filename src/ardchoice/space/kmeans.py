"""One-dimensional k-means: classes are intervals, so the best ones can be found, not guessed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Counts = npt.NDArray[np.int64]

MAX_CLASS_STARTS = 400
"""Where classes may begin, for each of two ways to spread them: a second's work at most."""
MAX_LLOYD_ROUNDS = 1000
"""Of Lloyd's iteration, which starts near its end and takes a handful."""


def kmeans_cuts(values: Values, k: int, counts: Counts | None = None) -> Values:
    """Cuts between the k intervals with the least squared distance to their means.

    The optimum over all places where a class may begin (or a spread of them, where there are too
    many), by dynamic programming; Lloyd's iteration then moves the cuts to the exact spot.

    Parameters
    ----------
    values
        Ascending, at least k of them distinct; shape (n,).
    k
        How many classes.
    counts
        How often each occurs; None for once. Shape (n,).

    Returns
    -------
    ndarray of shape (k - 1,)
        Midway between the means of neighbouring classes; a value equal to a cut is in the upper.
    """
    number = np.ones(len(values), dtype=np.int64) if counts is None else counts
    until = np.concatenate([[0], np.cumsum(number)])
    return _lloyd(values, until, _best_edges(values, until, _places(values, k), k))


def _places(values: Values, k: int) -> Places:
    """Positions where a class may begin, always at another value; then the end."""
    gaps = np.diff(values, prepend=-np.inf)
    begins = np.flatnonzero(gaps > 0)
    if len(begins) > 2 * MAX_CLASS_STARTS:
        # Places where values are dense, k of them for certain, and where they are far apart.
        even = np.linspace(0, len(begins) - 1, max(MAX_CLASS_STARTS, k)).astype(np.intp)
        widest = np.argpartition(gaps[begins], -MAX_CLASS_STARTS)[-MAX_CLASS_STARTS:]
        begins = begins[np.union1d(even, widest)]
    return np.append(begins, len(values))


def _best_edges(values: Values, until: Counts, places: Places, k: int) -> Places:
    """The k + 1 edges among the places with the least inertia, by dynamic programming."""
    # Squares of values around zero lose the fewest digits.
    x = values - _middle(values, until)
    weighted = x * np.diff(until)
    total = np.concatenate([[0.0], np.cumsum(weighted)])[places]
    square = np.concatenate([[0.0], np.cumsum(weighted * x)])[places]
    count = np.subtract.outer(-until[places], -until[places])
    inertia = np.subtract.outer(-square, -square)
    inertia -= np.subtract.outer(total, total) ** 2 / np.maximum(count, 1)
    inertia[count <= 0] = np.inf  # a class from place i (rows) to place j (columns) has i < j
    best, begins = inertia[0], []
    for _ in range(k - 1):
        so_far = best[:, None] + inertia
        begins.append(so_far.argmin(axis=0))
        best = so_far.min(axis=0)
    edges = [len(places) - 1]
    for begin in reversed(begins):
        edges.append(int(begin[edges[-1]]))
    return np.asarray(places[[0, *reversed(edges)]])


def _middle(values: Values, until: Counts) -> float:
    """The median, or next to it."""
    return float(values[np.searchsorted(until, until[-1] // 2, side="right") - 1])


def _lloyd(values: Values, until: Counts, edges: Places) -> Values:
    """Cuts midway between the means of the classes, until no value changes its class."""
    middle = _middle(values, until)
    total = np.concatenate([[0.0], np.cumsum((values - middle) * np.diff(until))])
    cuts = values[edges[1:-1]]
    for _ in range(MAX_LLOYD_ROUNDS):
        means = middle + np.diff(total[edges]) / np.diff(until[edges])
        midway = (means[1:] + means[:-1]) / 2
        moved = np.concatenate([[0], np.searchsorted(values, midway), [len(values)]])
        if (np.diff(moved) == 0).any():  # a class would be empty
            return np.asarray(cuts)
        cuts = midway
        if np.array_equal(moved, edges):
            break
        edges = moved
    return cuts
