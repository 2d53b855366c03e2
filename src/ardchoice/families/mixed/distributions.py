"""Distributions of a random coefficient: β as a function of its parameters and a normal draw.

Every random coefficient k has a location b_k and loadings λ on standard normal draws z. The linear
ones are β = b + Σ λ ξ(z) with ξ known; a lognormal is ±exp of that; a truncated normal is not
linear in its parameters. Uniform and triangular are scaled so that λ is the standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ardchoice._types import Floats

Distribution = Literal["normal", "uniform", "triangular", "lognormal", "truncated"]
DISTRIBUTIONS: tuple[Distribution, ...] = (
    "normal",
    "uniform",
    "triangular",
    "lognormal",
    "truncated",
)
SIGNED: frozenset[str] = frozenset({"lognormal", "truncated"})
"""Distributions on one side of zero."""
CORRELATABLE: frozenset[str] = frozenset({"normal", "lognormal"})
"""Distributions that correlations are defined for: linear in normal draws, or exp of that."""
LARGEST_EXPONENT = 30.0
"""Of a lognormal: larger coefficients mean a choice that is certain anyway."""
UNIFORM_HALF_WIDTH = float(np.sqrt(3.0))
"""Half the width of a uniform distribution with standard deviation 1."""
TRIANGULAR_HALF_WIDTH = float(np.sqrt(6.0))
"""Half the width of a symmetric triangular distribution with standard deviation 1."""
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Draws:
    """One random coefficient at some nodes; arrays have the shape of the nodes, (n, R).

    Attributes
    ----------
    value
        β.
    by_location
        ∂β/∂b; None where it is 1.
    by_loading
        ∂β/∂λ of every loading of the coefficient.
    second
        Second derivatives by (b, λ...), [i][j] with j ≤ i; None where all are zero.
    """

    value: Array
    by_location: Array | None
    by_loading: tuple[Array, ...]
    second: tuple[tuple[Array, ...], ...] | None = None


def basis(distribution: Distribution, z: Array) -> Array:
    """ξ(z): what a loading multiplies."""
    if distribution == "uniform":
        return np.asarray(UNIFORM_HALF_WIDTH * (2 * _ndtr(z) - 1), dtype=z.dtype)
    if distribution == "triangular":
        return np.asarray(TRIANGULAR_HALF_WIDTH * _triangular(z), dtype=z.dtype)
    return z


def basis_slope(distribution: Distribution, z: Floats) -> Floats:
    """ξ'(z)."""
    if distribution == "uniform":
        return np.asarray(2 * UNIFORM_HALF_WIDTH * _density(z))
    if distribution == "triangular":
        tail = np.maximum(_ndtr(-np.abs(z)), 1e-300)
        return np.asarray(TRIANGULAR_HALF_WIDTH * _density(z) / np.sqrt(2 * tail))
    return np.ones_like(z)


def draw(
    distribution: Distribution,
    sign: int,
    location: float,
    loadings: Floats,
    bases: tuple[Array, ...],
) -> Draws:
    """β and its derivatives by location and loadings at some nodes.

    Parameters
    ----------
    distribution, sign
        The sign of all values where the distribution has one.
    location, loadings
        b and λ, shape (m,).
    bases
        ξ of every loading; shape (n, R) each.
    """
    if distribution == "truncated":
        return _truncated(sign, location, float(loadings[0]), bases[0])
    index = np.full_like(bases[0], location)
    for loading, xi in zip(loadings, bases, strict=True):
        index += bases[0].dtype.type(loading) * xi
    if distribution != "lognormal":
        return Draws(index, None, bases)
    value = sign * np.exp(np.minimum(index, LARGEST_EXPONENT))
    first = (value, *(value * xi for xi in bases))
    ones = (None, *bases)
    second = tuple(
        tuple(first[i] if (b := ones[j]) is None else first[i] * b for j in range(i + 1))
        for i in range(len(first))
    )
    return Draws(value, first[0], first[1:], second)


def slope_by_draw(
    distribution: Distribution, sign: int, location: float, loadings: Floats, z: Floats
) -> Floats:
    """∂β/∂z_l of every loading at single nodes z, shape (m, n) -> (m, n)."""
    if distribution == "truncated":
        return _truncated_slope(sign, location, float(loadings[0]), z[0])[None]
    slopes = loadings[:, None] * np.stack([basis_slope(distribution, row) for row in z])
    if distribution == "lognormal":
        value = sign * np.exp(np.minimum(location + loadings @ z, LARGEST_EXPONENT))
        slopes = slopes * value
    return np.asarray(slopes)


# -- The truncated normal: N(b, λ²) given that its sign is as it must be --------------------------


def _truncated_parts(
    sign: int, location: float, loading: float, z: Floats
) -> tuple[float, float, Floats, Floats]:
    """s, c = b/s (signed) and, of t = Φ⁻¹(Φ(-z) Φ(c)): t and ∂t/∂c. The value is s (c - t)."""
    from scipy import special

    s = max(abs(loading), 1e-8)
    c = sign * location / s
    log_left = special.log_ndtr(-z)
    t = special.ndtri_exp(log_left + special.log_ndtr(c))
    slope = np.exp(log_left - 0.5 * c * c + 0.5 * t * t)
    return s, c, t, slope


def _truncated(sign: int, location: float, loading: float, z: Array) -> Draws:
    s, c, t, t_c = _truncated_parts(sign, location, loading, np.asarray(z, dtype=float))
    t_cc = t_c * (t * t_c - c)
    turn = 1.0 if loading >= 0 else -1.0
    cast = z.dtype.type

    def as_given(array: Array) -> Array:
        return array.astype(cast, copy=False)

    by_scale = turn * sign * (c * t_c - t)
    return Draws(
        as_given(sign * s * (c - t)),
        as_given(1 - t_c),
        (as_given(by_scale),),
        (
            (as_given(-sign * t_cc / s),),
            (as_given(turn * t_cc * c / s), as_given(-sign * t_cc * c * c / s)),
        ),
    )


def _truncated_slope(sign: int, location: float, loading: float, z: Floats) -> Floats:
    from scipy import special

    s, c, t, _ = _truncated_parts(sign, location, loading, z)
    return np.asarray(sign * s * np.exp(0.5 * (t * t - z * z) + special.log_ndtr(c)))


# -- Moments and quantiles -------------------------------------------------------------------------


def quantile(
    distribution: Distribution, sign: int, location: float, spread: float, share: Floats
) -> Floats:
    """Values of β that have a given share of persons below them.

    Parameters
    ----------
    distribution, sign, location
    spread
        λ, or the length of all loadings of a correlated coefficient.
    share
        Between 0 and 1.
    """
    from scipy import special

    z = special.ndtri(share if sign > 0 or distribution not in SIGNED else 1 - share)
    found = draw(distribution, sign, location, np.array([spread]), (basis(distribution, z),))
    return np.asarray(found.value)


def moments(
    distribution: Distribution, sign: int, location: float, spread: float
) -> tuple[float, float]:
    """Mean and standard deviation of β."""
    if distribution == "lognormal":
        mean = sign * float(np.exp(location + spread**2 / 2))
        return mean, abs(mean) * float(np.sqrt(np.expm1(spread**2)))
    if distribution == "truncated":
        from scipy import special

        s = max(abs(spread), 1e-8)
        c = sign * location / s
        ratio = float(np.exp(-0.5 * c * c - special.log_ndtr(c)) / np.sqrt(2 * np.pi))
        return location + sign * s * ratio, s * float(np.sqrt(max(1 - ratio * (c + ratio), 0.0)))
    return location, abs(spread)


def share_positive(distribution: Distribution, sign: int, location: float, spread: float) -> float:
    """Share of persons whose β is positive."""
    if distribution in SIGNED:
        return float(sign > 0)
    if spread == 0:
        return float(location > 0)
    ratio = location / abs(spread)
    inside: dict[str, Callable[[float], float]] = {
        "normal": lambda r: float(_ndtr(np.array(r))),
        "uniform": lambda r: 0.5 * (1 + r / UNIFORM_HALF_WIDTH),
        "triangular": lambda r: _triangular_share(r / TRIANGULAR_HALF_WIDTH),
    }
    return float(np.clip(inside[distribution](ratio), 0.0, 1.0))


def _triangular_share(r: float) -> float:
    r = float(np.clip(r, -1, 1))
    return 0.5 * (1 + r) ** 2 if r < 0 else 1 - 0.5 * (1 - r) ** 2


def _triangular(z: Array) -> Array:
    """Inverse distribution function of the triangular distribution on [-1, 1] at Φ(z)."""
    return np.asarray(np.sign(z) * (1 - np.sqrt(2 * _ndtr(-np.abs(z)))))


def _ndtr(z: Array) -> Array:
    from scipy import special

    return np.asarray(special.ndtr(z))


def _density(z: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
