"""The mixed logit: coefficients that differ between persons."""

from ardchoice.families.mixed.family import Mixed
from ardchoice.families.mixed.heterogeneity import (
    FamilyHeterogeneityMeasure,
    HeterogeneitySums,
    HeterogeneityTest,
    MnlHeterogeneityMeasure,
    candidate_parameters,
    difference_steps,
    heterogeneity_test,
)
from ardchoice.families.mixed.options import constants_without_term

__all__ = [
    "FamilyHeterogeneityMeasure",
    "HeterogeneitySums",
    "HeterogeneityTest",
    "Mixed",
    "MnlHeterogeneityMeasure",
    "candidate_parameters",
    "constants_without_term",
    "difference_steps",
    "heterogeneity_test",
]
