"""Several results side by side."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from ardchoice.errors import ArdchoiceError, ArdchoiceWarning
from ardchoice.estimation.result import Covariance, Result
from ardchoice.text import p_value

STATISTICS = {
    "parameters": "n_parameters",
    "situations": "n_situations",
    "log-likelihood": "loglik",
    "rho2": "rho2",
    "rho2 bar": "rho2_bar",
    "AIC": "aic",
    "BIC": "bic",
}


@dataclass(frozen=True)
class LikelihoodRatio:
    """A likelihood-ratio test: 2 (ℓ_full - ℓ_restricted) against χ² with `df` degrees."""

    statistic: float
    df: int
    p: float

    def __str__(self) -> str:
        return f"LR = {self.statistic:.3f}, {self.df} degrees of freedom, p = {p_value(self.p)}"


def likelihood_ratio_test(restricted: Result, full: Result) -> LikelihoodRatio:
    """Test a result against one that contains it.

    Valid for independent choices; with several choices per person the likelihood overstates the
    evidence, and clustered z statistics are the safer guide.
    """
    _same_data([restricted, full])
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
    return LikelihoodRatio(statistic, df, float(stats.chi2.sf(statistic, df)))


def compare(
    results: Mapping[str, Result], *, cov: Covariance | None = None, estimates: bool = False
) -> pd.DataFrame:
    """Fit statistics of several results, a column each; estimates below them when asked for.

    Parameters
    ----------
    results
        Name -> result.
    cov
        Which standard errors stand behind the stars: * 5 %, ** 1 %, *** 0.1 %.
    estimates
        Whether to list the coefficients as well, as text with stars.
    """
    if not isinstance(results, Mapping):
        raise ArdchoiceError(
            "Give each result a name: compare({'simple': first, 'richer': second})."
        )
    columns = {
        name: {label: getattr(result, field) for label, field in STATISTICS.items()}
        for name, result in results.items()
    }
    frame = pd.DataFrame(columns, dtype=object)  # counts stay whole numbers
    if not estimates:
        return frame
    rows = list(dict.fromkeys(n for r in results.values() for n in r.names))
    text = pd.DataFrame(
        {name: _starred(result, cov).reindex(rows).fillna("") for name, result in results.items()}
    )
    shown = pd.DataFrame(
        {name: {k: f"{v:,.6g}" for k, v in values.items()} for name, values in columns.items()}
    )
    return pd.concat([shown, text])


def _starred(result: Result, cov: Covariance | None) -> pd.Series:
    frame = result.to_frame(cov)
    stars = [sum(p < cut for cut in (0.05, 0.01, 0.001)) for p in frame["p"]]
    values = [f"{b:.4g}{'*' * s}" for b, s in zip(frame["estimate"], stars, strict=True)]
    return pd.Series(values, index=frame.index)


def _same_data(results: list[Result]) -> None:
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
