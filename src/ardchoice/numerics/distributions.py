"""Tail probabilities and quantiles, without the second that importing `scipy.stats` takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from ardchoice._types import Floats

Numbers = npt.ArrayLike


def _floats(values: Numbers) -> Floats:
    return np.asarray(values, dtype=np.float64)


def chi2_sf(x: Numbers, degrees: Numbers) -> Floats:
    """P(X > x) of a χ² with so many degrees of freedom; one below zero."""
    return _floats(special.chdtrc(_floats(degrees), np.maximum(_floats(x), 0.0)))


def chi2_isf(probability: Numbers, degrees: Numbers) -> Floats:
    """The value that a χ² exceeds with this probability."""
    return _floats(special.chdtri(_floats(degrees), _floats(probability)))


def normal_sf(x: Numbers) -> Floats:
    """P(Z > x)."""
    return _floats(special.ndtr(-_floats(x)))


def normal_quantile(probability: Numbers) -> Floats:
    """The value below which Z is with this probability."""
    return _floats(special.ndtri(_floats(probability)))


def t_quantile(probability: Numbers, degrees: Numbers) -> Floats:
    """The value below which Student's t is with this probability."""
    return _floats(special.stdtrit(_floats(degrees), _floats(probability)))


def adjusted_p_values(p: Floats) -> Floats:
    """P-values of Benjamini and Hochberg: at or below q for those kept at a false discovery rate q.

    Parameters
    ----------
    p
        Shape (T,).
    """
    order = np.argsort(p)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    out = np.empty(len(p))
    out[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.clip(out, 0.0, 1.0)
