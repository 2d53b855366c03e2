"""How utilities become probabilities and how persons differ: one folder per model family."""

from ardchoice.families.mnl.bounds import proves_maximum
from ardchoice.families.mnl.identification import check_identification, must_be_identified
from ardchoice.families.mnl.kernel import (
    choice_probabilities,
    evaluate,
    evaluate_at,
    evaluate_with_scores,
    one_pass,
    utilities,
    weighted_columns,
)
from ardchoice.families.mnl.separation import check_separation, vanished_directions
from ardchoice.families.mnl.start import Start, start_near

__all__ = [
    "Start",
    "check_identification",
    "check_separation",
    "choice_probabilities",
    "evaluate",
    "evaluate_at",
    "evaluate_with_scores",
    "must_be_identified",
    "one_pass",
    "proves_maximum",
    "start_near",
    "utilities",
    "vanished_directions",
    "weighted_columns",
]
