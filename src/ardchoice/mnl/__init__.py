"""Maximum likelihood: estimation, covariance, statistics, what-if."""

from ardchoice.mnl.compare import LikelihoodRatio, compare, likelihood_ratio_test
from ardchoice.mnl.fit import fit_mnl
from ardchoice.mnl.result import MnlResult, Score
from ardchoice.mnl.simulate import simulate_choices

__all__ = [
    "LikelihoodRatio",
    "MnlResult",
    "Score",
    "compare",
    "fit_mnl",
    "likelihood_ratio_test",
    "simulate_choices",
]
