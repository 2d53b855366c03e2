"""The best prior variance λ of a term, given what the rest of the model leaves to it.

With everything else held fixed, the log evidence depends on the λ of one term through the
eigenvalues s of what the data know of it and the matching gradient q (for one column: precision and
precision times mean):

    f(λ) = ½ Σ_k [ λ q_k² / (1 + λ s_k) - log(1 + λ p_k) ],   f(0) = 0,

with p = s. For the mean-field bound p is the term's own precision, diag H, whose logarithms sum to
no less: where no λ is worth its price by the evidence, none is by the bound.

One column: the maximum is λ = max(0, (q² - s) / s²), or the root of a quadratic where p is not s.
Several: a search on a line.
"""

from __future__ import annotations

import numpy as np

from ardchoice._types import Floats

GRID = 10.0 ** np.arange(-10, 6.01, 0.5)
"""Where f is looked at first: it can have more than one hill, but none narrower than this."""
REFINEMENTS = 50
"""Most Newton steps on the best hill, each kept inside its bracket; five are usual."""
EXACT = 1e-11
"""Change of log λ that ends the search."""


def gain(lam: Floats, s: Floats, q: Floats, p: Floats | None = None) -> Floats:
    """f(λ) of every term.

    Parameters
    ----------
    lam
        Shape (T,).
    s, q, p
        Shape (T, K), zero beyond a term's own columns; p is s by default.
    """
    lam, p = lam[:, None], s if p is None else p
    return np.asarray(0.5 * (lam * q**2 / (1 + lam * s) - np.log1p(lam * p)).sum(axis=1))


def best_lambda(s: Floats, q: Floats, p: Floats | None = None) -> Floats:
    """The λ that maximises f, zero where no λ beats zero; shape (T,).

    Parameters
    ----------
    s, q, p
        Shape (T, K), zero beyond a term's own columns; p is s by default.
    """
    one = _one_column if p is None or p is s else _one_column_field
    p = s if p is None else p
    out = one(s[:, 0], q[:, 0], p[:, 0])
    several = (s[:, 1:] > 0).any(axis=1)
    # λ f' = ½ Σ λ (q² - s - λ s²) / (1 + λ s)² is never positive unless some q² exceeds its s.
    out[several] = 0.0
    hopeful = np.flatnonzero(several & (q**2 > s).any(axis=1))
    if len(hopeful):
        out[hopeful] = _several_columns(s[hopeful], q[hopeful], p[hopeful])
    return out


def _several_columns(s: Floats, q: Floats, p: Floats) -> Floats:
    size = s.max(axis=1)
    s, q2, p = s / size[:, None], q**2 / size[:, None], p / size[:, None]
    # 1 · The best hill on a grid of λ s.
    lam = GRID[None, :, None]
    values = lam * q2[:, None, :] / (1 + lam * s[:, None, :]) - np.log1p(lam * p[:, None, :])
    values = values.sum(axis=2)
    best = values.argmax(axis=1)
    flat = values.max(axis=1) <= 0
    low = np.log(GRID[np.maximum(best - 1, 0)])
    high = np.log(GRID[np.minimum(best + 1, len(GRID) - 1)])
    x = np.log(GRID[best])
    # 2 · Its top, by Newton on the slope in log λ, bisecting where a step would leave the bracket.
    for _ in range(REFINEMENTS):
        slope, bend = _slope(np.exp(x), s, q2, p)
        low, high = np.where(slope > 0, x, low), np.where(slope > 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = x - slope / bend
        inside = (bend < 0) & (new >= low) & (new <= high)
        new = np.where(inside, new, 0.5 * (low + high))
        moved = np.abs(new - x)[~flat].max(initial=0.0)
        x = new
        if moved < EXACT:
            break
    found = np.exp(x)
    worth = ~flat & (gain(found, s, np.sqrt(q2), p) > 0)
    return np.where(worth, found / size, 0.0)


def _one_column(s: Floats, q: Floats, _: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        lam = (q**2 - s) / s**2
    return np.where((s > 0) & (lam > 0), lam, 0.0)


def _one_column_field(s: Floats, q: Floats, p: Floats) -> Floats:
    """The larger root of q² (1 + λp) = p (1 + λs)², where f comes down again."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = 0.5 * (q**2 - 2 * s)
        inner = half**2 + s**2 * (q**2 - p) / p
        lam = (half + np.sqrt(inner)) / s**2
    lam = np.where((s > 0) & (inner >= 0) & (lam > 0), lam, 0.0)
    return np.where(gain(lam, s[:, None], q[:, None], p[:, None]) > 0, lam, 0.0)


def _slope(lam: Floats, s: Floats, q2: Floats, p: Floats) -> tuple[Floats, Floats]:
    """First and second derivative of f by log λ; shape (T,) each."""
    lam = lam[:, None]
    u, v = 1 / (1 + lam * s), 1 / (1 + lam * p)
    first = 0.5 * lam * (q2 * u**2 - p * v)
    second = first + 0.5 * lam**2 * (-2 * q2 * s * u**3 + p**2 * v**2)
    return first.sum(axis=1), second.sum(axis=1)
