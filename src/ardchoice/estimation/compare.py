"""Several results side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.display import BELOW
from ardchoice.estimation.estimates import Covariance
from ardchoice.estimation.result import Result
from ardchoice.notebook import html_table, paragraph
from ardchoice.text import WIDTH, tex

STATISTICS = {
    "parameters": "n_parameters",
    "situations": "n_situations",
    "log-likelihood": "loglik",
    "rho2": "rho2",
    "rho2 bar": "rho2_bar",
    "AIC": "aic",
    "BIC": "bic",
}


STATISTIC_FORMATS = {
    "parameters": ",.0f",
    "situations": ",.0f",
    "log-likelihood": ",.3f",
    "rho2": ".4f",
    "rho2 bar": ".4f",
    "AIC": ",.1f",
    "BIC": ",.1f",
}
"""As many digits as a summary shows."""

MOST_IN_NOTEBOOK = 200
"""Rows of the table in a notebook, estimates included."""


class Comparison(pd.DataFrame):
    """The table of `compare`: a data frame whose LaTeX prints every name as it is.

    Numbers are printed as in a summary; the frame has all their digits.
    """

    @property
    def _constructor(self) -> type[Comparison]:
        return Comparison

    def __repr__(self) -> str:
        lines = [self._rounded().to_string()]
        below = str(self.attrs.get(BELOW, ""))
        return "\n".join(lines + ([textwrap.fill(below, WIDTH)] if below else []))

    def _repr_html_(self) -> str:
        shown = self._rounded()
        rows = [
            [str(label), *map(str, row)]
            for label, row in zip(shown.index, shown.to_numpy(), strict=True)
        ]
        html = html_table(rows, ["", *map(str, self.columns)], most=MOST_IN_NOTEBOOK)
        return html + paragraph(str(self.attrs.get(BELOW, "")))

    def _rounded(self) -> pd.DataFrame:
        """Statistics as text; what is made of the table, such as one column, may lack some."""
        rows = [
            [_as_text(str(label), value) for value in row]
            for label, row in zip(self.index, self.to_numpy(dtype=object), strict=True)
        ]
        return pd.DataFrame(rows, index=self.index, columns=self.columns, dtype=object)

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


def _as_text(label: str, value: object) -> str:
    known = label in STATISTIC_FORMATS and isinstance(value, (int, float))
    return format(value, STATISTIC_FORMATS[label]) if known else str(value)


def compare(
    results: Mapping[str, Result] | Sequence[Result],
    *,
    cov: Covariance | None = None,
    estimates: bool = False,
) -> Comparison:
    """Fit statistics of several results, a column each; estimates below them when asked for.

    Where some families count persons in BIC, as a mixed logit does, and others choices, all of
    the table count persons, if they are of the same persons: BIC can be compared then.

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
    columns: dict[str, dict[str, Any]] = {
        name: {label: getattr(result, field) for label, field in STATISTICS.items()}
        for name, result in results.items()
    }
    note = _count_alike(columns, list(results.values()))
    frame = Comparison({n: pd.Series(v, dtype=object) for n, v in columns.items()}, dtype=object)
    frame.attrs[BELOW] = note
    if not estimates:
        return frame
    rows = list(dict.fromkeys(n for r in results.values() for n in r.all_names))
    text = pd.DataFrame(
        {name: _starred(result, cov).reindex(rows).fillna("") for name, result in results.items()}
    )
    both = Comparison(pd.concat([frame._rounded(), text]))
    both.attrs[BELOW] = note
    return both


def _count_alike(columns: dict[str, dict[str, Any]], results: Sequence[Result]) -> str:
    """BIC of all by persons where that of some is; a note on it, empty where all agree."""
    counts = {result.n_units for result in results}
    if len(counts) == 1 or len({result.n_situations for result in results}) > 1:
        return ""
    persons = {result.n_persons for result in results}
    if len(persons) > 1 or None in persons:
        return "BIC counts persons in some columns and choices in others: do not compare it."
    n = persons.pop() or 0
    for column, result in zip(columns.values(), results, strict=True):
        column["BIC"] = result.bic_counting(n)
    return (
        f"BIC counts {n:,} persons in every column, as in families of differences between persons; "
        "that of a multinomial or nested logit by itself counts choices."
    )


def _starred(result: Result, cov: Covariance | None) -> pd.Series:
    frame = result.to_frame(cov)
    stars = [sum(p < cut for cut in (0.05, 0.01, 0.001)) for p in frame["p"]]
    values = [f"{b:.4g}{'*' * s}" for b, s in zip(frame["estimate"], stars, strict=True)]
    return pd.Series(values, index=frame.index)
