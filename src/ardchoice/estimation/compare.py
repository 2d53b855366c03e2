"""Several results side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.estimates import Covariance
from ardchoice.estimation.result import Result
from ardchoice.text import tex

STATISTICS = {
    "parameters": "n_parameters",
    "situations": "n_situations",
    "log-likelihood": "loglik",
    "rho2": "rho2",
    "rho2 bar": "rho2_bar",
    "AIC": "aic",
    "BIC": "bic",
}


class Comparison(pd.DataFrame):
    """The table of `compare`: a data frame whose LaTeX prints every name as it is."""

    @property
    def _constructor(self) -> type[Comparison]:
        return Comparison

    def to_latex(self, *args: Any, **options: Any) -> Any:
        """The table in LaTeX, for the package booktabs; arguments are those of pandas.

        Names come from the data and may hold what LaTeX takes for its own: they are escaped,
        unless ``escape`` is given.
        """
        if "escape" in options:
            return pd.DataFrame(self).to_latex(*args, **options)
        shown = pd.DataFrame(self).rename(index=_printed, columns=_printed)
        return shown.to_latex(*args, escape=False, **options)


def _printed(name: object) -> str:
    return tex(str(name))


def compare(
    results: Mapping[str, Result] | Sequence[Result],
    *,
    cov: Covariance | None = None,
    estimates: bool = False,
) -> Comparison:
    """Fit statistics of several results, a column each; estimates below them when asked for.

    Parameters
    ----------
    results
        Name -> result, or a list of results, which are numbered. The table is a data frame:
        ``compare([first, second], estimates=True).to_latex()``.
    cov
        Which standard errors stand behind the stars: * 5 %, ** 1 %, *** 0.1 %.
    estimates
        Whether to list the coefficients as well, as text with stars; estimated exponents and
        thresholds too (an exponent has stars where it differs from 1).
    """
    if isinstance(results, Sequence) and all(isinstance(one, Result) for one in results):
        results = {f"({k})": one for k, one in enumerate(results, 1)}
    if not isinstance(results, Mapping) or not results:
        raise ArdchoiceError(
            "Give each result a name: compare({'simple': first, 'richer': second})."
        )
    columns = {
        name: {label: getattr(result, field) for label, field in STATISTICS.items()}
        for name, result in results.items()
    }
    frame = Comparison(columns, dtype=object)  # counts stay whole numbers
    if not estimates:
        return frame
    rows = list(dict.fromkeys(n for r in results.values() for n in r.all_names))
    text = pd.DataFrame(
        {name: _starred(result, cov).reindex(rows).fillna("") for name, result in results.items()}
    )
    shown = pd.DataFrame(
        {name: {k: f"{v:,.6g}" for k, v in values.items()} for name, values in columns.items()}
    )
    return Comparison(pd.concat([shown, text]))


def _starred(result: Result, cov: Covariance | None) -> pd.Series:
    frame = result.to_frame(cov)
    stars = [sum(p < cut for cut in (0.05, 0.01, 0.001)) for p in frame["p"]]
    values = [f"{b:.4g}{'*' * s}" for b, s in zip(frame["estimate"], stars, strict=True)]
    return pd.Series(values, index=frame.index)
