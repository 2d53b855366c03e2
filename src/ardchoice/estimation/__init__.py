"""Maximum likelihood of any family: estimates, covariances, prediction, willingness to pay."""

from ardchoice.estimation.baselines import null_loglik
from ardchoice.estimation.bootstrap import Bootstrap
from ardchoice.estimation.compare import compare
from ardchoice.estimation.constraints import Constraints
from ardchoice.estimation.cost_names import cost_of, is_cost, is_time, sloped_attributes
from ardchoice.estimation.cross_validation import CrossValidation, FoldScore, cross_validate
from ardchoice.estimation.elasticities import ALL
from ardchoice.estimation.estimates import Covariance
from ardchoice.estimation.maximum_likelihood import estimate, fit, fit_anyway, fit_mnl
from ardchoice.estimation.model import Model, Predicted, prediction, probabilities
from ardchoice.estimation.nested_tests import (
    LikelihoodRatio,
    Wald,
    likelihood_ratio_test,
    wald_test,
)
from ardchoice.estimation.nests import nest_allocations
from ardchoice.estimation.predict import predict_table, predict_with
from ardchoice.estimation.refit_near import joint_loglik, refit_near
from ardchoice.estimation.result import Result, Score
from ardchoice.estimation.scenarios import (
    Change,
    Curve,
    Scenario,
    ScenarioOptions,
    Scenarios,
    apply_changes,
    parse_changes,
)
from ardchoice.estimation.simulate import simulate_choices
from ardchoice.estimation.summary import KIND, design_effect_sentence, infinity, units_sentence
from ardchoice.estimation.taste_distributions import (
    Taste,
    distributions,
    draw_tastes,
    taste_correlations,
)
from ardchoice.estimation.tastes import mean_of_classes
from ardchoice.estimation.wtp import is_saved, levels_of

__all__ = [
    "ALL",
    "KIND",
    "Bootstrap",
    "Change",
    "Constraints",
    "Covariance",
    "CrossValidation",
    "Curve",
    "FoldScore",
    "LikelihoodRatio",
    "Model",
    "Predicted",
    "Result",
    "Scenario",
    "ScenarioOptions",
    "Scenarios",
    "Score",
    "Taste",
    "Wald",
    "apply_changes",
    "compare",
    "cost_of",
    "cross_validate",
    "design_effect_sentence",
    "distributions",
    "draw_tastes",
    "estimate",
    "fit",
    "fit_anyway",
    "fit_mnl",
    "infinity",
    "is_cost",
    "is_saved",
    "is_time",
    "joint_loglik",
    "levels_of",
    "likelihood_ratio_test",
    "mean_of_classes",
    "nest_allocations",
    "null_loglik",
    "parse_changes",
    "predict_table",
    "predict_with",
    "prediction",
    "probabilities",
    "refit_near",
    "simulate_choices",
    "sloped_attributes",
    "taste_correlations",
    "units_sentence",
    "wald_test",
]
