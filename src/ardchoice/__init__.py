"""ardchoice: find, estimate and explain the utility functions of discrete choice models."""

from importlib.metadata import version as _version

from ardchoice.ard import ArdFit, Dsvi, Newton, Prior, fit_ard
from ardchoice.cluster import connect, local_cluster
from ardchoice.data import Categorical, ChoiceData, Cut, Numeric, datasets, read_long, read_wide
from ardchoice.design import Design
from ardchoice.errors import (
    ArdchoiceError,
    ArdchoiceWarning,
    ConvergenceWarning,
    DataError,
    IdentificationError,
    SeparationError,
    SettingsError,
    SpecificationError,
    TransformError,
)
from ardchoice.estimation import (
    Result,
    compare,
    fit,
    fit_mnl,
    likelihood_ratio_test,
    simulate_choices,
)
from ardchoice.evaluation import held_out, selection_path, stability
from ardchoice.export import export
from ardchoice.families import Mnl
from ardchoice.record import Path
from ardchoice.selection import (
    Bic,
    Ebic,
    Evidence,
    FalseDiscovery,
    HeldOut,
    LambdaAbove,
    Structure,
    select,
)
from ardchoice.space import (
    Rival,
    SearchSpace,
    Specification,
    Term,
    parse_specification,
    parse_term,
    swissmetro_space,
)
from ardchoice.study import Study, load, specify

__version__ = _version("ardchoice")

__all__ = [
    "ArdFit",
    "ArdchoiceError",
    "ArdchoiceWarning",
    "Bic",
    "Categorical",
    "ChoiceData",
    "ConvergenceWarning",
    "Cut",
    "DataError",
    "Design",
    "Dsvi",
    "Ebic",
    "Evidence",
    "FalseDiscovery",
    "HeldOut",
    "IdentificationError",
    "LambdaAbove",
    "Mnl",
    "Newton",
    "Numeric",
    "Path",
    "Prior",
    "Result",
    "Rival",
    "SearchSpace",
    "SeparationError",
    "SettingsError",
    "Specification",
    "SpecificationError",
    "Structure",
    "Study",
    "Term",
    "TransformError",
    "compare",
    "connect",
    "datasets",
    "export",
    "fit",
    "fit_ard",
    "fit_mnl",
    "held_out",
    "likelihood_ratio_test",
    "load",
    "local_cluster",
    "parse_specification",
    "parse_term",
    "read_long",
    "read_wide",
    "select",
    "selection_path",
    "simulate_choices",
    "specify",
    "stability",
    "swissmetro_space",
]
