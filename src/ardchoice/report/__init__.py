"""What people read: summaries."""

from ardchoice.report.summary import summarise_study

__all__ = ["summarise_study"]
