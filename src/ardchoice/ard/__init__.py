"""Relevance: the ARD prior, evidence maximisation, and the solvers."""

from ardchoice.ard.clustered import (
    FORM_SHARE,
    INTERACTION_SHARE,
    TermTests,
    design_effect_shares,
    term_prices,
)
from ardchoice.ard.dsvi import Dsvi, DsviPaper
from ardchoice.ard.evidence import laplace_evidence
from ardchoice.ard.fit import PAPER_LAMBDA_CUTOFF, Prior, fit_ard, must_be_solver
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.newton import Newton
from ardchoice.ard.online_state import OnlineState
from ardchoice.ard.predict import posterior_probabilities
from ardchoice.ard.quadratic import Quadratic, expand
from ardchoice.ard.result import ArdFit
from ardchoice.ard.sample import sample_size
from ardchoice.ard.solving import Solver
from ardchoice.ard.spreads import SpreadRelevance
from ardchoice.ard.standardization import (
    ColumnMoments,
    Standardization,
    change_basis,
    free_centre,
)
from ardchoice.ard.trace import Step

__all__ = [
    "FORM_SHARE",
    "INTERACTION_SHARE",
    "PAPER_LAMBDA_CUTOFF",
    "ArdFit",
    "ColumnMoments",
    "Dsvi",
    "DsviPaper",
    "FamilyLikelihood",
    "Newton",
    "OnlineState",
    "Prior",
    "Quadratic",
    "Solver",
    "SpreadRelevance",
    "Standardization",
    "Step",
    "TermTests",
    "change_basis",
    "design_effect_shares",
    "expand",
    "fit_ard",
    "free_centre",
    "laplace_evidence",
    "must_be_solver",
    "posterior_probabilities",
    "sample_size",
    "term_prices",
]
