"""What people read: summaries, and how well a study predicts."""

from ardchoice.report.evaluate import evaluate
from ardchoice.report.summary import summarise_study

__all__ = ["evaluate", "summarise_study"]
