"""The likelihood: pure functions of arrays, and the one pass that sums them over blocks."""

from ardchoice.logit.block import Block, Part
from ardchoice.logit.likelihood import Sums, choice_probabilities, evaluate, scores, utilities
from ardchoice.logit.newton import NewtonFit, maximise
from ardchoice.logit.passes import one_pass

__all__ = [
    "Block",
    "NewtonFit",
    "Part",
    "Sums",
    "choice_probabilities",
    "evaluate",
    "maximise",
    "one_pass",
    "scores",
    "utilities",
]
