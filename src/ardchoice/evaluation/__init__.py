"""Held-out prediction: cross-validation, baselines, calibration, stability, selection path."""

from ardchoice.evaluation.evaluate import evaluate
from ardchoice.evaluation.held_out import held_out
from ardchoice.evaluation.path import selection_path
from ardchoice.evaluation.stability import stability

__all__ = [
    "evaluate",
    "held_out",
    "selection_path",
    "stability",
]
