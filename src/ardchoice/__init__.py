"""ardchoice: find, estimate and explain the utility functions of discrete choice models."""

from importlib.metadata import version as _version

from ardchoice.ard import ArdFit, Dsvi, Newton, Prior, fit_ard
from ardchoice.data import (
    Categorical,
    ChoiceData,
    Cut,
    Numeric,
    datasets,
    read_long,
    read_wide,
)
from ardchoice.design import Design
from ardchoice.errors import (
    ArdchoiceError,
    ArdchoiceWarning,
    DataError,
    IdentificationError,
    SeparationError,
    SpecificationError,
    TransformError,
)
from ardchoice.mnl import (
    MnlResult,
    compare,
    fit_mnl,
    likelihood_ratio_test,
    simulate_choices,
)
from ardchoice.space import (
    SearchSpace,
    Specification,
    Term,
    parse_specification,
    parse_term,
    swissmetro_space,
)

__version__ = _version("ardchoice")

__all__ = [
    "ArdFit",
    "ArdchoiceError",
    "ArdchoiceWarning",
    "Categorical",
    "ChoiceData",
    "Cut",
    "DataError",
    "Design",
    "Dsvi",
    "IdentificationError",
    "MnlResult",
    "Newton",
    "Numeric",
    "Prior",
    "SearchSpace",
    "SeparationError",
    "Specification",
    "SpecificationError",
    "Term",
    "TransformError",
    "compare",
    "datasets",
    "fit_ard",
    "fit_mnl",
    "likelihood_ratio_test",
    "parse_specification",
    "parse_term",
    "read_long",
    "read_wide",
    "simulate_choices",
    "swissmetro_space",
]
