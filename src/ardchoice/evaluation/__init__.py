"""Held-out prediction: cross-validation, baselines, calibration, stability, selection path.

And what is computed from a finished study: checks, willingness to pay, elasticities.
"""

from ardchoice.evaluation.alarms import alarms, is_same_model, predicts_better
from ardchoice.evaluation.averaging import (
    best_predictor,
    inclusion_table,
    model_of_search,
    predict_averaged,
)
from ardchoice.evaluation.baselines import baselines
from ardchoice.evaluation.calibration import calibration
from ardchoice.evaluation.checks import (
    HIGH_CORRELATION,
    WHOLE_SAMPLE,
    CutOff,
    SignCheck,
    correlated_estimates,
    cut_off,
    expected_signs,
    expected_taste_signs,
    mean_probabilities,
    relevance_table,
    sign_checks,
)
from ardchoice.evaluation.cross_validation import HeldOutScore, held_out, score_refit
from ardchoice.evaluation.evaluate import evaluate
from ardchoice.evaluation.families import compare_families
from ardchoice.evaluation.path import selection_path
from ardchoice.evaluation.post_estimation import (
    MAX_ELASTICITY_ALTERNATIVES,
    Elasticities,
    WillingnessToPay,
    attribute_label,
    cost_attribute,
    elasticities,
    willingness_to_pay,
)
from ardchoice.evaluation.scenarios import check_scenario, study_scenarios
from ardchoice.evaluation.stability import stability

__all__ = [
    "HIGH_CORRELATION",
    "MAX_ELASTICITY_ALTERNATIVES",
    "WHOLE_SAMPLE",
    "CutOff",
    "Elasticities",
    "HeldOutScore",
    "SignCheck",
    "WillingnessToPay",
    "alarms",
    "attribute_label",
    "baselines",
    "best_predictor",
    "calibration",
    "check_scenario",
    "compare_families",
    "correlated_estimates",
    "cost_attribute",
    "cut_off",
    "elasticities",
    "evaluate",
    "expected_signs",
    "expected_taste_signs",
    "held_out",
    "inclusion_table",
    "is_same_model",
    "mean_probabilities",
    "model_of_search",
    "predict_averaged",
    "predicts_better",
    "relevance_table",
    "score_refit",
    "selection_path",
    "sign_checks",
    "stability",
    "study_scenarios",
    "willingness_to_pay",
]
