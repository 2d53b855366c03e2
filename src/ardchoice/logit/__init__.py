"""The likelihood: pure functions of arrays, and the one pass that sums them over blocks."""

from ardchoice.logit.block import Block, Part
from ardchoice.logit.likelihood import (
    Sums,
    choice_probabilities,
    evaluate,
    evaluate_at,
    evaluate_with_scores,
    penalised,
    utilities,
)
from ardchoice.logit.newton import NewtonFit, maximise
from ardchoice.logit.passes import Measure, Passing, one_pass, one_thread, total

__all__ = [
    "Block",
    "Measure",
    "NewtonFit",
    "Part",
    "Passing",
    "Sums",
    "choice_probabilities",
    "evaluate",
    "evaluate_at",
    "evaluate_with_scores",
    "maximise",
    "one_pass",
    "one_thread",
    "penalised",
    "total",
    "utilities",
]
