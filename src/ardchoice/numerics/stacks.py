"""Cholesky factors of many small matrices at once: matrices first, their number last.

LAPACK takes a microsecond or more for every matrix of a stack; loops over the q² elements, each
over the whole stack, take a tenth of that where q is small and the stack is long.
"""

from __future__ import annotations

import numpy as np

from ardchoice._types import Floats


def stacked_cholesky(a: Floats) -> Floats:
    """L with L L' = A of every matrix; shape (q, q, U).

    Parameters
    ----------
    a
        Positive definite; the lower triangles are used; shape (q, q, U).
    """
    q = len(a)
    out = np.zeros_like(a)
    for j in range(q):
        for i in range(j, q):
            rest = a[i, j].copy()
            for k in range(j):
                rest -= out[i, k] * out[j, k]
            out[i, j] = np.sqrt(rest) if i == j else rest / out[j, j]
    return out


def stacked_inverse(factor: Floats) -> Floats:
    """L⁻¹ of lower triangular matrices, which is one as well; shape (q, q, U)."""
    q = len(factor)
    out = np.zeros_like(factor)
    for j in range(q):
        np.reciprocal(factor[j, j], out=out[j, j])
        for i in range(j + 1, q):
            rest = factor[i, j] * out[j, j]
            for k in range(j + 1, i):
                rest += factor[i, k] * out[k, j]
            out[i, j] = -rest * (1 / factor[i, i])
    return out


def stacked_solve(factor: Floats, right: Floats) -> Floats:
    """(L L')⁻¹ r; shape (q, U).

    Parameters
    ----------
    factor
        L; shape (q, q, U).
    right
        R; shape (q, U).
    """
    q = len(factor)
    out = right.copy()
    for i in range(q):
        for k in range(i):
            out[i] -= factor[i, k] * out[k]
        out[i] /= factor[i, i]
    for i in reversed(range(q)):
        for k in range(i + 1, q):
            out[i] -= factor[k, i] * out[k]
        out[i] /= factor[i, i]
    return out


def stacked_gram(half: Floats) -> Floats:
    """B'B of lower triangular matrices: (L L')⁻¹ where B is L⁻¹; shape (q, q, U)."""
    q = len(half)
    out = np.empty_like(half)
    for i in range(q):
        for j in range(i + 1):
            total = half[i, i] * half[i, j]
            for k in range(i + 1, q):
                total += half[k, i] * half[k, j]
            out[i, j] = out[j, i] = total
    return out
