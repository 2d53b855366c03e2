"""`Result.heterogeneity`: which coefficients vary between persons, tested in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.data import grouped_by_person, must_be_choice_data
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.display import DisplayFrame
from ardchoice.estimation.model import BlockModel
from ardchoice.families import (
    Component,
    FamilyHeterogeneityMeasure,
    HeterogeneitySums,
    Mnl,
    MnlHeterogeneityMeasure,
    candidate_parameters,
    constants_without_term,
    difference_steps,
    family_pass,
    heterogeneity_test,
)
from ardchoice.numerics import map_reduce

if TYPE_CHECKING:
    from ardchoice.estimation.result import Result

JOINT = "all of them (joint)"
"""The last row."""


def heterogeneity(result: Result) -> pd.DataFrame:
    """A row per coefficient that is not random, the most significant first, then the joint test."""
    must_be_choice_data(result.data)
    result.data.chosen()
    inside = result.model.on(grouped_by_person(result.data))
    if isinstance(result.family, Mnl):
        sums, names, kinds = _of_mnl(inside)
    else:
        sums, names, kinds = _of_family(inside, len(result.data))
    test = heterogeneity_test(sums)
    frame = pd.DataFrame(
        {
            "coefficient": names,
            "kind": kinds,
            "z": test.z,
            "p": test.p,
            "p_adjusted": np.minimum(1.0, test.p * np.isfinite(test.z).sum()),
            "sd": np.sqrt(test.variance),
        }
    )
    frame = frame.sort_values("z", ascending=False, kind="stable", na_position="last")
    z = float(np.sqrt(max(test.joint, 0.0)))
    last = pd.DataFrame(
        [[JOINT, "joint", z, test.joint_p, test.joint_p, np.nan]], columns=frame.columns
    )
    return DisplayFrame(pd.concat([frame, last], ignore_index=True))


def _of_mnl(inside: BlockModel) -> tuple[HeterogeneitySums, list[str], list[str]]:
    """Error components of alternatives without a constant are tested too."""
    encoding = inside.design.encoding
    own = constants_without_term(encoding)
    measure = MnlHeterogeneityMeasure(inside.theta, tuple(Component((j,)) for j in own))
    sums = map_reduce(measure, inside.design.passing())
    names = [inside.layout.names[k] for k in range(inside.layout.n_columns)]
    extra = [f"{encoding.alternatives[j]}: ASC" for j in own]
    kinds = ["coefficient"] * len(names) + ["error component"] * len(extra)
    return sums, [*names, *extra], kinds


def _of_family(
    inside: BlockModel, n_situations: int
) -> tuple[HeterogeneitySums, list[str], list[str]]:
    which = candidate_parameters(inside.layout)
    if not len(which):
        raise ArdchoiceError("All coefficients of this model are random: nothing is left to test.")
    blocks = inside.design.blocks()
    curvature: Floats = family_pass(inside.family, inside.layout, inside.theta, blocks).curvature
    steps = difference_steps(np.diag(curvature)[which], n_situations)
    measure = FamilyHeterogeneityMeasure(inside.family, inside.layout, inside.theta, which, steps)
    sums = map_reduce(measure, blocks)
    return sums, [inside.layout.names[k] for k in which], ["coefficient"] * len(which)
