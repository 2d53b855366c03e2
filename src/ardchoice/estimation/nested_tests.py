"""Tests of a result against a larger one that contains it, clustered by person.

With θ_t the coefficients that only the larger model has, A the classical and C the clustered
covariance of their estimates, twice the gain in log-likelihood is distributed, where they are zero,
as Σ_k λ_k χ²_1 with λ the eigenvalues of A⁻¹C: all one if answers are independent and the model is
right. Their mean is the design effect. W = θ_t'C⁻¹θ_t is χ² whatever they are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ardchoice._types import Floats, Ints
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning
from ardchoice.estimation.estimates import Covariance
from ardchoice.estimation.result import Result
from ardchoice.numerics import chi2_sf
from ardchoice.text import p_value


@dataclass(frozen=True)
class LikelihoodRatio:
    """A likelihood-ratio test: 2 (ℓ_full - ℓ_restricted), with `df` degrees of freedom.

    Attributes
    ----------
    statistic, df
    p
        Against Σ λ χ²_1 where answers are clustered by person, else against χ².
    design_effect
        Mean of the λ; one where answers count as independent.
    """

    statistic: float
    df: int
    p: float
    design_effect: float = 1.0

    def __str__(self) -> str:
        clustered = (
            f" (clustered by person, design effect {self.design_effect:.1f})"
            if self.design_effect != 1
            else ""
        )
        return (
            f"LR = {self.statistic:.3f}, {self.df} degrees of freedom, "
            f"p = {p_value(self.p)}{clustered}"
        )


@dataclass(frozen=True)
class Wald:
    """A Wald test that some coefficients are zero: θ'C⁻¹θ against χ² with `df` degrees."""

    statistic: float
    df: int
    p: float
    cov: str

    def __str__(self) -> str:
        kinds = {"cluster": "clustered by person", "robust": "robust", "classical": "classical"}
        kinds["bootstrap"] = "bootstrap"
        return (
            f"Wald = {self.statistic:.3f}, {self.df} degrees of freedom, p = {p_value(self.p)} "
            f"({kinds[self.cov]})"
        )


def likelihood_ratio_test(
    restricted: Result, full: Result, *, cluster: bool | None = None
) -> LikelihoodRatio:
    """Test a result against one that contains it.

    Parameters
    ----------
    restricted, full
        Estimated on the same choices.
    cluster
        Whether the answers of one person may resemble each other. Default: where some person has
        several answers and the parameters of the first are among those of the second.

    Examples
    --------
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real")
    >>> small, large = (ac.fit_mnl(data, text) for text in ("*: TT", "*: TT + CO"))
    >>> test = ac.likelihood_ratio_test(small, large)
    >>> test.df, test.design_effect > 1
    (1, True)
    """
    same_data([restricted, full])
    df = full.n_parameters - restricted.n_parameters
    if df <= 0:
        raise ArdchoiceError(
            f"The second model must have more parameters than the first: it has "
            f"{full.n_parameters}, the first {restricted.n_parameters}."
        )
    if not set(restricted.specification.terms) <= set(full.specification.terms):
        extra = [t for t in restricted.specification.terms if t not in full.specification.terms]
        warnings.warn(
            f"'{extra[0]}' is in the restricted model but not in the full one: the test is valid "
            "only if the models are nested all the same.",
            ArdchoiceWarning,
            stacklevel=2,
        )
    statistic = 2 * (full.loglik - restricted.loglik)
    tested = _tested_by_ratio(full, restricted)
    own = np.diag(full._full_covariance("classical"))[tested]
    by_name = len(tested) == df and not np.isnan(own).any()
    wanted = cluster if cluster is not None else _persons_repeat(full) and by_name
    if not wanted:
        return LikelihoodRatio(statistic, df, float(chi2_sf(statistic, df)))
    if "cluster" not in full.covariances:
        raise ArdchoiceError("The data have no person ids: cluster=True needs them.")
    if not by_name:
        raise ArdchoiceError(
            "A clustered test needs parameters of the first model that are, by name, among those "
            "of the second, and none of which diverges."
        )
    a, c = _block(full, "classical", tested), _block(full, "cluster", tested)
    weights = np.maximum(linalg.eigh(c, a, eigvals_only=True), 0.0)
    p = chi2_mixture_sf(statistic, weights)
    return LikelihoodRatio(statistic, df, p, float(weights.mean()))


def wald_test(restricted: Result, full: Result, *, cov: Covariance | None = None) -> Wald:
    """Test that what only the second result has is zero, from its estimates alone.

    Parameters
    ----------
    restricted, full
        Every parameter of the first is, by name, one of the second.
    cov
        Which covariance. Default: clustered by person where there are persons, else robust.

    Examples
    --------
    >>> import ardchoice as ac
    >>> data = ac.datasets.swissmetro_choices("real")
    >>> small, large = (ac.fit_mnl(data, text) for text in ("*: TT", "*: TT + CO"))
    >>> ac.wald_test(small, large).df
    1
    """
    same_data([restricted, full])
    if restricted.restriction is not None:
        return _constraint_test(restricted, full, cov or full.default_cov)
    tested = _only_in(full, restricted)
    missing = [name for name in restricted.names if name not in set(full.names)]
    if missing or not len(tested):
        what = f"it lacks '{missing[0]}'" if missing else "it has no other parameters"
        raise ArdchoiceError(f"The second model must contain the first and more: {what}.")
    kind = cov or full.default_cov
    matrix, beta = full.covariance(kind).to_numpy()[np.ix_(tested, tested)], full.coefficients
    if np.isnan(matrix).any():
        raise ArdchoiceError("Some of the coefficients to be tested diverge: there is no test.")
    statistic = float(beta[tested] @ np.linalg.solve(matrix, beta[tested]))
    p = float(chi2_sf(statistic, len(tested)))
    return Wald(statistic, len(tested), p, kind)


def _constraint_test(restricted: Result, full: Result, kind: Covariance) -> Wald:
    """That the constraints of the first result hold: N'(θ - t) = 0, with N orthogonal to T."""
    restriction = restricted.restriction
    if restriction is None or restricted.names != full.names or full.restriction is not None:
        raise ArdchoiceError(
            "A Wald test of constraints needs the same terms in both models, and the second "
            "without constraints."
        )
    normal = linalg.null_space(restriction.turn.T)
    if not normal.shape[1]:
        raise ArdchoiceError("The first model has no constraint that could be tested.")
    gap = normal.T @ (full.coefficients - restriction.offset)
    matrix = normal.T @ full._covariance(kind) @ normal
    if np.isnan(matrix).any():
        raise ArdchoiceError("Some of the coefficients to be tested diverge: there is no test.")
    statistic = float(gap @ np.linalg.solve(matrix, gap))
    return Wald(statistic, len(gap), float(chi2_sf(statistic, len(gap))), kind)


def chi2_mixture_sf(x: float, weights: Floats) -> float:
    """P(Σ λ_k χ²_1 > x), by Imhof's inversion of the characteristic function.

    Where the tail is smaller than its rounding, by matching mean and variance (Satterthwaite).

    Parameters
    ----------
    x
    weights
        λ, zero or more; shape (K,).
    """
    weights = weights[weights > 0]
    if not len(weights) or x <= 0:
        return float(x <= 0)
    scale, k = float((weights**2).sum() / weights.sum()), weights.sum() ** 2 / (weights**2).sum()
    matched = float(chi2_sf(x / scale, k))
    if len(weights) == 1 or np.ptp(weights) < 1e-9 * weights.max() or matched < SMALLEST_INVERTED:
        return matched
    lam, u = weights / weights.max(), np.linspace(0, IMHOF_END, IMHOF_POINTS + 1)
    y, u = x / weights.max(), 0.5 * (u[1:] + u[:-1])
    theta = 0.5 * np.arctan(np.outer(u, lam)).sum(axis=1) - 0.5 * y * u
    rho = np.exp(0.25 * np.log1p(np.outer(u, lam) ** 2).sum(axis=1))
    area = float((np.sin(theta) / (u * rho)).sum() * (u[1] - u[0]))
    found = 0.5 + area / np.pi
    return found if found > SMALLEST_INVERTED else matched


SMALLEST_INVERTED = 1e-4
"""Below it the integral has no digits left."""
IMHOF_END, IMHOF_POINTS = 400.0, 400_000


def _only_in(full: Result, restricted: Result) -> Ints:
    known = set(restricted.names)
    return np.array([i for i, name in enumerate(full.names) if name not in known], dtype=np.intp)


def _block(result: Result, kind: Covariance, at: Ints) -> Floats:
    return result._full_covariance(kind)[np.ix_(at, at)]


def _tested_by_ratio(full: Result, restricted: Result) -> Ints:
    """What the full model estimates and the restricted one does not; none where that is not clear.

    Against the same model with an attribute as it is, exponents that were estimated are tested
    against 1.
    """
    shapes = full.shapes
    if shapes is None or (restricted.shapes and restricted.shapes.names == shapes.names):
        return _only_in(full, restricted)
    p, is_linear = len(full.names), restricted.shapes is None
    is_power = is_linear and p == len(restricted.names) and set(shapes.kinds) == {"exponent"}
    return p + np.arange(len(shapes.names)) if is_power else np.arange(0)


def _persons_repeat(result: Result) -> bool:
    return result.n_persons is not None and result.n_persons < result.n_situations


def same_data(results: list[Result]) -> None:
    """Raise where results were estimated on different choices."""
    first = results[0]
    for other in results[1:]:
        same = np.array_equal(other.data.chosen(), first.data.chosen()) and np.array_equal(
            other.data.weights, first.data.weights
        )
        if not same:
            raise ArdchoiceError(
                "The models were estimated on different data (situations, choices or weights): "
                f"{first.n_situations} and {other.n_situations} situations."
            )
