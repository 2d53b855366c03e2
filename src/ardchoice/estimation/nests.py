"""`Result.nests`: every candidate nest of a multinomial logit, screened in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice.data import grouped_by_person
from ardchoice.design import Design
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.display import DisplayFrame
from ardchoice.families import SCALE_BOUNDS, Mnl, Nested, candidate_subsets, screen_nests
from ardchoice.numerics import normal_sf

if TYPE_CHECKING:
    from ardchoice.estimation.result import Result

FEWEST_ALTERNATIVES = 3
"""With fewer a nest would hold them all."""


def own_nests(result: Result) -> pd.DataFrame:
    """A row per nest of a nested logit, in their order; see `Result.nests`."""
    family, frame = result.family, result.to_frame()
    assert isinstance(family, Nested)  # noqa: S101 - asked before
    arrays, d = family.arrays(result.encoding.alternatives), result.encoding.n_columns
    scales = frame.iloc[d + np.asarray(arrays.scale_of)]
    mu = scales["estimate"].to_numpy(float)
    members = family.nests or {}
    is_finding = (mu >= 1) & (mu < SCALE_BOUNDS[1])
    return DisplayFrame(
        pd.DataFrame(
            {
                "nest": list(arrays.names),
                "alternatives": [", ".join(members[name]) for name in arrays.names],
                "mu": mu,
                "std_err": scales["std_err"].to_numpy(float),
                "low": scales["low"].to_numpy(float),
                "high": scales["high"].to_numpy(float),
                "lambda": 1 / mu,
                "correlation": np.where(is_finding, 1 - 1 / mu**2, np.nan),
                "p": scales["p"].to_numpy(float),
                "admissible": is_finding,
            }
        )
    )


def nest_allocations(result: Result) -> pd.DataFrame:
    """α of a cross-nested logit: a row per alternative in several nests, a column per nest."""
    family, names = result.family, result.encoding.alternatives
    if not isinstance(family, Nested) or not family.cross:
        return pd.DataFrame()
    arrays, d = family.arrays(names), result.encoding.n_columns
    alpha = arrays.allocations(result.coefficients[d + arrays.n_scales :])
    found = np.zeros((len(names), arrays.n_nests))
    found[arrays.alternative, arrays.nest] = alpha
    # Alternatives alone are nests without a name.
    frame = pd.DataFrame(found, index=list(names)).iloc[:, : len(arrays.names)]
    return frame.set_axis(list(arrays.names), axis=1)[arrays.several]


def nests(result: Result, largest: int | None) -> pd.DataFrame:
    """A row per candidate nest, the most significant first; see `Result.nests`."""
    if not isinstance(result.family, Mnl):
        raise ArdchoiceError(
            "Nests are screened at a multinomial logit, and this is a "
            f"{result.family.title.lower()}: ac.fit_mnl(data, result.specification).nests()."
        )
    names = result.encoding.alternatives
    if len(names) < FEWEST_ALTERNATIVES:
        raise ArdchoiceError(
            f"With {len(names)} alternatives there is no nest: a nest holds two or more of them, "
            "and not all."
        )
    if largest is not None and not 2 <= largest < len(names):
        raise ArdchoiceError(
            f"A nest holds between 2 and {len(names) - 1} of {len(names)} alternatives, not "
            f"{largest}."
        )
    design = Design(grouped_by_person(result.data), result.encoding)
    subsets = candidate_subsets(len(names), largest)
    beta = result.coefficients[design.order]
    found = screen_nests(beta, design.passing(), subsets, len(names))
    p = normal_sf(found.z)
    frame = pd.DataFrame(
        {
            "alternatives": [", ".join(names[j] for j in subset) for subset in subsets],
            "admissible": found.z > 0,
            "z": found.z,
            "p": p,
            "p_adjusted": np.minimum(1.0, p * len(p)),
            "mu": np.where(found.information > 0, found.scale, np.nan),
            "gain": np.where(found.z > 0, found.gain, 0.0),
        }
    )
    frame = frame.sort_values("z", ascending=False, kind="stable").reset_index(drop=True)
    return DisplayFrame(frame)
